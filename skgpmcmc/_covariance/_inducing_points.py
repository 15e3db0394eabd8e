"""The choice of inducing points among the rows, and how much they lose."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._checks import check_whole
from .._linalg import Array, slices
from ._kernel_call import covariances, noiseless_variances
from ._low_rank import project_on_points, root_of_points
from ._low_rank_structure import LowRankStructure
from ._structure import CovarianceStructure

_ROWS_AT_ONCE = 4096


def greedy_points(kernel: Kernel, X: Any, n_points: int, tolerance: float = 1e-6) -> Any:
    """Choose inducing points among the rows of X, each where the most variance is left.

    A Cholesky decomposition with pivoting: each point is the row of the largest variance given the
    latent function at the points before it. Among equal ones it is the first, so that the choice is
    the same every time, and the first m of more points are those that m would be. It takes
    n n_points^2 operations and n n_points numbers of memory.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Of the latent function, at the hyperparameters that the points are to serve. Where these
        are not known, rather too short length scales than too long ones: points chosen at long
        length scales make short ones look worse than they are.
    X : array-like of length n
        Inputs.
    n_points : int
        Points at most.
    tolerance : float, default=1e-6
        There are no more points once no row has a larger variance left, relative to the largest
        variance of all. A row that equals a point has none.

    Returns
    -------
    points : array-like
        Rows of X, in the order in which they were chosen.

    See Also
    --------
    skgpmcmc.core.certificate : What inducing points lose.
    skgpmcmc.core.LowRankStructure : The structure of a model with inducing points.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc.core import greedy_points
    >>> X = np.array([[0.0], [0.1], [3.0], [3.0], [1.5]])
    >>> greedy_points(RBF(1.0), X, 3).ravel()
    array([0. , 3. , 1.5])
    """
    check_whole("n_points", n_points, 1)
    left = noiseless_variances(kernel, X)
    least = tolerance * float(left.max())
    columns = np.empty((min(n_points, len(X)), len(X)))
    chosen: list[int] = []
    for column in columns:
        row = int(np.argmax(left))
        if not left[row] > least:
            break
        column[:] = covariances(kernel, X, X[row : row + 1])[:, 0]
        before = columns[: len(chosen)]
        column -= before[:, row] @ before
        column /= math.sqrt(left[row])
        left -= column**2
        left[row] = 0.0
        chosen.append(row)
    return X[chosen] if isinstance(X, np.ndarray) else [X[row] for row in chosen]


def variance_left(kernel: Kernel, X: Any, points: Any) -> float:
    """Return the mean share of the latent function's variance that inducing points leave.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Of the latent function. White noise is left out.
    X : array-like of length n
        Rows.
    points : array-like of length m
        Inducing points.

    Returns
    -------
    share : float
        Mean of (k_ii - q_ii) / k_ii over the rows, between 0 and 1.
    """
    structure, shares = LowRankStructure(points), []
    for some in slices(len(X), _ROWS_AT_ONCE):
        rows = X[some]
        cross = structure.cross_kernel(kernel, rows).at(kernel.theta)
        root = None if cross is None else root_of_points(cross)
        if cross is None or root is None:
            return math.nan
        explained = project_on_points(
            cross, _linalg.RowSolver(root), np.empty((len(rows), len(root)))
        )
        shares.append(1.0 - cross.amplitude * explained / noiseless_variances(kernel, rows))
    return float(np.maximum(np.concatenate(shares), 0.0).mean())


class Certificate(NamedTuple):
    """How much inducing points lose, over some draws of the hyperparameters.

    Attributes
    ----------
    variance_left : float
        Mean share of the latent function's variance that the points do not explain.
    evidence_variance : float
        Variance over the draws of the difference of two log evidences, the reference's and that
        of the points: how much the posterior of the hyperparameters would change. Far below 1,
        nothing that matters does; a constant difference would not.
    """

    variance_left: float
    evidence_variance: float


def certificate(
    kernel: Kernel,
    X: Any,
    points: Any,
    reference: CovarianceStructure,
    theta: Array,
    noise: Array,
    deviation: Array,
    jitter: float = 1e-6,
) -> Certificate:
    """Compare inducing points with more of them, or with the exact covariance.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Of the latent function.
    X : array-like of length n
        Rows.
    points : array-like of length m
        Inducing points.
    reference : CovarianceStructure
        ``LowRankStructure`` of twice as many points, or ``DenseStructure()``.
    theta : ndarray of shape (n_draws, n_kernel_parameters)
        Draws of the logarithms of the kernel's hyperparameters, at least two.
    noise, deviation : ndarray of shape (n_draws, n) or (n,)
        Gaussian data, or what stands for the data: their variances, and how far they are from the
        prior mean.
    jitter : float
        As the chains used it.

    Returns
    -------
    certificate : Certificate
        NaN where a covariance has no root.

    See Also
    --------
    skgpmcmc.core.greedy_points : Choose inducing points.
    """
    size = len(theta), len(X)
    data = np.broadcast_to(noise, size), np.broadcast_to(deviation, size)
    differences = _log_evidences(kernel, X, reference, theta, data, jitter)
    differences -= _log_evidences(kernel, X, LowRankStructure(points), theta, data, jitter)
    shares = [variance_left(kernel.clone_with_theta(one), X, points) for one in theta]
    return Certificate(float(np.mean(shares)), float(np.var(differences, ddof=1)))


def _log_evidences(
    kernel: Kernel,
    X: Any,
    structure: CovarianceStructure,
    theta: Array,
    data: tuple[Array, Array],
    jitter: float,
) -> Array:
    """Return log N(c; m, K + S) at each theta, but for a constant."""
    covariance = structure.covariance(kernel, X, jitter, 0.0, gradient=False)
    values = np.full(len(theta), math.nan)
    for i, (one, noise, deviation) in enumerate(zip(theta, *data, strict=True)):
        factor = covariance.factor(one)
        if factor is not None:
            factor = covariance.noisy_factor(one, noise, factor)
        if factor is not None:
            values[i] = factor.log_normal(factor.whiten(deviation))
    return values
