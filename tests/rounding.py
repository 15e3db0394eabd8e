"""How far rounding alone may move a result: bounds that tests compare differences with.

BLAS adds the same numbers in another order when the shapes, the neighbouring columns, the
alignment in memory, the number of threads or the processor differ. Results of the same
calculation then differ by roundings, times the condition number of what was solved. All bounds
here are for the difference of two computed results, each of them off by half as much.
"""

import numpy as np

from skgpmcmc.estimators._prediction import PosteriorDraws

EPS = np.finfo(float).eps
# Functions of given numbers by some hundreds of operations on positive terms, as probabilities
# and log densities of given moments are: no cancellation, 4500 roundings.
ELEMENTWISE = 1e-12
# A covariance is a few operations and an exponential of ours, whose vectorised and scalar versions
# differ by an ulp or two.
_KERNEL_ULPS = 8


def moment_bounds(draws, X):
    """Return by how much mean and variance of f at each row may differ, given each draw.

    A solve with the triangular matrix L is exact for some L + E with |E| <= n u |L|, u = EPS / 2,
    in whatever order it is computed (Higham 2002, Accuracy and Stability of Numerical Algorithms,
    theorem 8.5). Hence v = L^-1 k is off by at most n u c |v|, where c = |L^-1| |L| is the
    square root of the covariance's condition number, and k, whose elements are off by some u |k|,
    moves v by some u c |v|. The mean is w . v and the variance is k(x, x) - v . v.

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
        kernel, v = draws._project(d, X, np.empty(len(X)))
        lower = np.tril(draws._factor(kernel, d))
        w = np.linalg.solve(lower, draws._values[d] - draws._mean[d])
        # The elementwise bound |E| makes it Frobenius' norm of L, not the spectral one.
        condition = np.linalg.norm(lower) * np.linalg.norm(np.linalg.inv(lower), 2)
        # Far from the data v is so short that the squares of its elements underflow.
        length = np.linalg.norm(v, axis=0) + np.sqrt(np.finfo(float).tiny)
        relative = (len(lower) + _KERNEL_ULPS) * EPS * condition
        offset = np.abs(draws._mean[d])
        bounds[0, d] = relative * np.linalg.norm(w) * length + EPS * offset
        bounds[1, d] = 2.0 * relative * length**2 + EPS * kernel.diag(X)
    return bounds


def remember_moments(monkeypatch):
    """Let the moments of a row be computed once, alone, and be the same in every company.

    What is then predicted must not differ by more than ELEMENTWISE; that the moments do not
    differ by more than `moment_bounds` is for another test.
    """
    original, known = PosteriorDraws._moments, {}

    def moments(self, draw, X):
        which = self.theta[draw].tobytes(), self._values[draw].tobytes()
        for row in X:
            key = (*which, row.tobytes())
            if key not in known:
                known[key] = original(self, draw, row[np.newaxis])
        mean, variance = np.hstack([known[*which, row.tobytes()] for row in X])
        return mean, variance

    monkeypatch.setattr(PosteriorDraws, "_moments", moments)
