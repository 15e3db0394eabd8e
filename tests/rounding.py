"""How far rounding alone may move a result: the bounds that tests allow, and why.

BLAS adds the same numbers in another order when the shapes, the neighbouring columns, the
alignment in memory, the number of threads or the processor differ; elementary functions differ by
an ulp or two between processors, and between whole vectors and their ends. Two results of the
same calculation then differ by roundings, times the condition of what was calculated. Bounds here
are for the difference of two computed results. The theorems are those of Higham (2002), Accuracy
and Stability of Numerical Algorithms.

Equality to the last bit is only tested where the same operations are applied to the same numbers
in arrays of the same shapes.
"""

import pickle

import numpy as np

from skgpmcmc._prediction._dense import PosteriorDraws

EPS = float(np.finfo(float).eps)
# For results of a handful of operations without cancellation, elementary functions among them, each
# of which may be off by an ulp or two: 45 roundings.
FEW_OPERATIONS = 1e-14
# For results of tens of them, and of a handful that cancel in part.
TENS_OF_OPERATIONS = 1e-13
# For results of hundreds of them: sums of terms, probabilities and log densities of given numbers,
# quadrature.
ELEMENTWISE = 1e-12


def product_bound(a, b):
    """Return the bound for each element of A B: inner products of n terms, and a factor or two.

    Section 3.5.
    """
    return (np.shape(a)[-1] + 2) * EPS * (np.abs(a) @ np.abs(b))


def stable_bound(matrix, result):
    """Return the bound for all elements of what a stable method makes of an n x n matrix.

    Cholesky factors, solutions and inverses are exact for some A + E with |E| <= c n u |A|, in
    whatever order they are computed (theorems 8.5, 9.3, 10.3), and are off by the condition
    number times that (theorem 10.8 for the factor).
    """
    condition = np.linalg.cond(matrix)
    return 4.0 * len(matrix) * EPS * condition * np.linalg.norm(result, 2)


def moment_bounds(draws, X):
    """Return by how much mean and variance of f at each row may differ, given each draw.

    A solve with the triangular matrix L is exact for some L + E with |E| <= n u |L|, u = EPS / 2
    (theorem 8.5). Hence v = L^-1 k is off by at most n u c |v|, where c = |L^-1| |L| is the
    square root of the covariance's condition number; and k, whose elements are a few operations
    and an exponential, moves v by some u c |v|. The mean is m + w . v, the variance is
    k(x, x) - v . v.

    Parameters
    ----------
    draws : PosteriorDraws
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    mean, variance : ndarray of shape (n_draws, n_rows)
    """
    bounds = np.empty((2, len(draws), len(X)))
    for d in range(len(draws)):
        given = draws._given(d)
        kernel, v = given.cross.kernel, given.project(X, np.empty(len(X)))
        lower = np.tril(draws._factor(kernel, d))
        w = np.linalg.solve(lower, draws._values[d] - draws._mean[d])
        # The bound of E is elementwise: hence Frobenius' norm of L, not the spectral one.
        condition = np.linalg.norm(lower) * np.linalg.norm(np.linalg.inv(lower), 2)
        relative = (len(lower) * EPS + FEW_OPERATIONS) * condition
        # Far from the data v is so short that the squares of its elements underflow.
        length = np.linalg.norm(v, axis=0) + np.sqrt(np.finfo(float).tiny)
        bounds[0, d] = relative * np.linalg.norm(w) * length + EPS * np.abs(draws._mean[d])
        bounds[1, d] = 2.0 * relative * length**2 + EPS * kernel.diag(X)
    return bounds


def remember_moments(monkeypatch):
    """Let the moments of a row be computed once, alone, and be the same in every company.

    What is then predicted must not differ by more than ELEMENTWISE, or than the resolution to
    which quantiles are found. That the moments themselves do not differ by more than
    `moment_bounds` is tested in `test_copies`.
    """
    original, known = PosteriorDraws._moments, {}

    def moments(self, draw, X):
        which = self.theta[draw].tobytes(), self._values[draw].tobytes()
        keys = [(*which, pickle.dumps(row)) for row in X]
        for i, key in enumerate(keys):
            if key not in known:
                known[key] = original(self, draw, X[i : i + 1])
        mean, variance = np.hstack([known[key] for key in keys])
        return mean, variance

    monkeypatch.setattr(PosteriorDraws, "_moments", moments)
    monkeypatch.setattr(PosteriorDraws, "_means", lambda *which: moments(*which)[0])
