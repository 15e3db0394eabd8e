"""Predictive moments, densities, quantiles and probabilities, averaged over posterior draws.

Given a draw, the latent function at a row is normal. The predictive distribution is the equal
mixture over the draws; it is computed, not simulated, and row by row: nothing that these
functions return for a row depends on the other rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import qmc

from ..._linalg import Array
from ._lattice_sums import HALF_LOG_2PI
from ._normal import NoiseMixture, exceedance_with_noise, quantiles_with_noise
from ._root_search import by_row

# For each draw; different draws have different nodes of one sequence.
_N_SOFTMAX_NODES = 64
# Shifts Sobol points, multiples of 2^-30, by half the spacing of 2^13 of them and off zero.
_SHIFT = 2.0**-14 + 2.0**-32


def total_mean(mean: Array) -> Array:
    """Return the mean of an equal mixture, as `total_moments` does.

    Parameters
    ----------
    mean : ndarray of shape (n_draws, n_rows)
        Of the components.

    Returns
    -------
    mean : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> total_mean(np.array([[0.0], [2.0]]))
    array([1.])
    """
    return _centre(by_row(mean))[:, 0]


def total_moments(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Return mean and variance of an equal mixture, by the law of total variance.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the components.

    Returns
    -------
    mean, variance : ndarray of shape (n_rows,)
        The variance is that of the mixture: the mean variance plus the population variance
        of the means.

    Examples
    --------
    >>> import numpy as np
    >>> total_moments(np.array([[0.0], [2.0]]), np.array([[1.0], [0.25]]))
    (array([1.]), array([1.625]))
    """
    means = by_row(mean)
    centre = _centre(means)
    between = ((means - centre) ** 2).mean(axis=1)
    return centre[:, 0], by_row(variance).mean(axis=1) + between


def _centre(means: Array) -> Array:
    """Return the mean of each row, (n_rows, 1): exactly that of its elements if all are equal."""
    return np.asarray(means[:, :1] + (means - means[:, :1]).mean(axis=1, keepdims=True))


def log_mean_exp(log_values: Array) -> Array:
    """Return the logarithm of the mean over draws of exp(log_values).

    Parameters
    ----------
    log_values : ndarray of shape (n_draws, n_rows)
        May be infinite.

    Returns
    -------
    values : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> log_mean_exp(np.array([[-1e4, -np.inf], [-1e4, -np.inf]]))
    array([-10000.,    -inf])
    """
    values = by_row(log_values)
    peak = values.max(axis=1)
    finite = np.isfinite(peak)
    shift = np.where(finite, peak, 0.0)
    mean = np.exp(np.minimum(values - shift[:, np.newaxis], 0.0)).mean(axis=1)
    return np.where(finite, shift + np.log(np.where(finite, mean, 1.0)), peak)


def normal_log_density(y: Array, mean: Array, variance: Array) -> Array:
    """Return log normal densities.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Where the densities are evaluated.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the components. One of no variance has infinite density at its mean, and none
        elsewhere.

    Returns
    -------
    log_density : ndarray of shape (n_draws, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> normal_log_density(np.zeros(2), np.zeros((1, 2)), np.array([[1.0, 0.0]])).round(4)
    array([[-0.9189,     inf]])
    """
    distance = np.abs(y - mean)
    positive = variance > 0.0
    safe = np.where(positive, variance, 1.0)
    with np.errstate(over="ignore"):
        value = -0.5 * (distance / np.sqrt(safe)) ** 2 - 0.5 * np.log(safe) - HALF_LOG_2PI
    return np.where(positive, value, np.where(distance == 0.0, np.inf, -np.inf))


def normal_quantiles(mean: Array, variance: Array, quantiles: ArrayLike) -> Array:
    """Return quantiles of equal mixtures of normal distributions.

    A quantile is the smallest x with a probability of at least q up to x; it is found to 1e-10
    of the smallest standard deviation, or to the next float if there are atoms.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the components; one of no variance is an atom.
    quantiles : array-like of shape (n_quantiles,)
        Probabilities in [0, 1]; at 0 and 1 the quantiles are infinite.

    Returns
    -------
    values : ndarray of shape (n_rows, n_quantiles)

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]])
    >>> normal_quantiles(mean, variance, [0.0, 0.5, 0.975]).round(4)
    array([[  -inf, 1.    , 3.6461]])
    """
    none = _no_noise(mean)
    return quantiles_with_noise(mean, variance, quantiles, lambda tail: (none,))


def normal_exceedance(threshold: Array, mean: Array, variance: Array) -> Array:
    """Return probabilities of values above thresholds, of equal mixtures of normal distributions.

    Parameters
    ----------
    threshold : ndarray of shape (n_rows,)
        One for each row, also infinite.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the components; one of no variance is an atom, which is not above itself.

    Returns
    -------
    probability : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance = np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]])
    >>> normal_exceedance(np.array([3.6461]), mean, variance).round(4)
    array([0.025])
    """
    return exceedance_with_noise(threshold, mean, variance, _no_noise(mean))


def _no_noise(mean: Array) -> NoiseMixture:
    return np.zeros((1, len(mean))), np.ones((1, len(mean)))


def softmax_probabilities(mean: Array, variance: Array, nodes: Array) -> Array:
    """Return the expected softmax of independent normal latent values.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_classes, n_rows)
        Of the latent function of each class.
    nodes : ndarray of shape (n_nodes, n_classes)
        Standard normal, of equal weight; see `normal_nodes`.

    Returns
    -------
    probabilities : ndarray of shape (n_rows, n_classes)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> nodes = normal_nodes(32, 2, block=0)
    >>> softmax_probabilities(np.zeros((2, 1)), np.zeros((2, 1)), nodes)
    array([[0.5, 0.5]])
    """
    scale, total = np.sqrt(variance), np.zeros_like(mean)
    for node in nodes:
        latent = mean + scale * node[:, np.newaxis]
        weights = np.exp(latent - latent.max(axis=0))
        # Python's sum adds class by class, whatever the number of rows.
        total += weights / sum(weights)
    return np.ascontiguousarray((total / sum(total)).T)


def mean_softmax(mean: Array, variance: Array) -> Array:
    """Return the expected softmax averaged over the draws, each with its own block of nodes.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_classes, n_draws, n_rows)
        Of the latent function of each class.

    Returns
    -------
    probabilities : ndarray of shape (n_rows, n_classes)
    """
    n_classes, n_draws, _ = mean.shape
    total = sum(
        softmax_probabilities(
            mean[:, d], variance[:, d], normal_nodes(_N_SOFTMAX_NODES, n_classes, d)
        )
        for d in range(n_draws)
    )
    return np.asarray(total) / n_draws


def normal_nodes(n_nodes: int, n_dims: int, block: int) -> Array:
    """Return one block of a fixed low-discrepancy sequence of standard normal points.

    Give different draws different blocks: their average then uses one long sequence.

    Parameters
    ----------
    n_nodes : int
        Length of a block, a power of two: other lengths are not balanced.
    n_dims : int
        Dimension of a point.
    block : int
        Number of the block, from zero.

    Returns
    -------
    nodes : ndarray of shape (n_nodes, n_dims)
        Finite.

    Examples
    --------
    >>> normal_nodes(4, 1, block=0).round(3).ravel()
    array([-3.842,  0.   ,  0.675, -0.674])
    """
    sequence = qmc.Sobol(n_dims, scramble=False, bits=30)
    if block > 0:
        sequence.fast_forward(n_nodes * block)
    return ndtri((sequence.random(n_nodes) + _SHIFT) % 1.0)
