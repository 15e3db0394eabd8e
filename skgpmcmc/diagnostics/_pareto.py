"""Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024).

The largest importance weights are replaced by the quantiles of a generalized Pareto distribution
that is fitted to them. Its shape k says how heavy the tail is: a mean over the weights has a
finite variance for k below 1/2, and can be relied on in practice up to about 0.7.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from ._draws import FloatArray

# Fewer weights tell nothing of a tail: none are smoothed then, and k is infinite.
_FEWEST_IN_TAIL = 5
_SMALLEST_LOG_WEIGHT = math.log(np.finfo(float).tiny)
# Zhang and Stephens (2009): the grid of their prior, and the share of the first quartile in it.
_N_SMALLEST_GRID, _QUARTILES = 30, 3.0
# Weight and centre of the prior that keeps k of short tails from extremes (Vehtari et al. 2024,
# appendix G).
_PRIOR_SIZE, _PRIOR_SHAPE = 10.0, 0.5
_LARGEST_GOOD_SHAPE = 0.7
#: Draws from which on a good k is one of weights with a finite variance, k < 1/2, at least.
FEWEST_DRAWS = 100


def largest_good_shape(n_draws: int) -> float:
    """Return the k up to which this number of draws is enough (Vehtari et al. 2024, section 3.2.4).

    Examples
    --------
    >>> round(largest_good_shape(400), 2), largest_good_shape(4000)
    (0.62, 0.7)
    """
    if n_draws < 10:
        return 0.0
    return min(1.0 - 1.0 / math.log10(n_draws), _LARGEST_GOOD_SHAPE)


def smoothed_log_weights(
    log_weights: FloatArray, relative_ess: FloatArray | float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return normalised importance weights whose largest ones are smoothed, and the shapes k.

    Parameters
    ----------
    log_weights : ndarray of shape (n_draws, n_rows)
        Logarithms of importance weights, up to a constant for each row.
    relative_ess : float or ndarray of shape (n_rows,)
        Effective number of draws over their number. Of draws that depend on each other more are
        taken as the tail.

    Returns
    -------
    log_weights : ndarray of shape (n_draws, n_rows)
        The exponentials sum to one over the draws.
    shape : ndarray of shape (n_rows,)
        Infinite where there are too few draws to fit one.

    Examples
    --------
    >>> import numpy as np
    >>> heavy = np.random.default_rng(0).standard_exponential((4000, 1))  # weights of k = 1
    >>> weights, shape = smoothed_log_weights(heavy)
    >>> bool(abs(shape[0] - 1.0) < 0.3), float(np.exp(weights).sum().round(6))
    (True, 1.0)
    """
    n_draws, n_rows = log_weights.shape
    each = np.broadcast_to(relative_ess, (n_rows,))
    result = log_weights - log_weights.max(axis=0)
    shape = np.empty(n_rows)
    for row in range(n_rows):
        n_tail = math.ceil(min(n_draws / 5.0, 3.0 * math.sqrt(n_draws / each[row])))
        shape[row] = _smooth(result[:, row], n_tail)
    return result - logsumexp(result, axis=0), shape


def _smooth(values: FloatArray, n_tail: int) -> float:
    """Replace the largest values of log weights, of which the largest is zero; return k."""
    order = np.argsort(values, kind="stable")
    cut = max(values[order[-min(n_tail + 1, len(values))]], _SMALLEST_LOG_WEIGHT)
    tail = order[values[order] > cut]
    if len(tail) < _FEWEST_IN_TAIL:
        return math.inf
    shape, scale = fit_generalized_pareto(np.exp(values[tail]) - math.exp(cut))
    if math.isfinite(shape):
        probabilities = (np.arange(len(tail)) + 0.5) / len(tail)
        excess = _pareto_quantiles(probabilities, shape, scale)
        # None is to exceed the largest weight that was there.
        values[tail] = np.minimum(np.log(math.exp(cut) + excess), 0.0)
    return shape


def fit_generalized_pareto(excess: FloatArray) -> tuple[float, float]:
    """Return shape and scale of a generalized Pareto distribution, with a weak prior of the shape.

    The mean of a posterior of one parameter, b = -k / scale, on a grid (Zhang and Stephens 2009).

    Parameters
    ----------
    excess : ndarray of shape (n,)
        Increasing and positive.
    """
    n = len(excess)
    n_grid = _N_SMALLEST_GRID + math.isqrt(n)
    quartile = excess[math.floor(n / 4.0 + 0.5) - 1]
    steps = 1.0 - np.sqrt(n_grid / (np.arange(n_grid) + 0.5))
    b = 1.0 / excess[-1] + steps / (_QUARTILES * quartile)
    shapes = np.log1p(-np.outer(b, excess)).mean(axis=1)
    log_likelihood = n * (np.log(-b / shapes) - shapes - 1.0)
    posterior = np.exp(log_likelihood - logsumexp(log_likelihood))
    b_mean = float(b @ posterior)
    shape = float(np.log1p(-b_mean * excess).mean())
    scale = -shape / b_mean
    return (n * shape + _PRIOR_SIZE * _PRIOR_SHAPE) / (n + _PRIOR_SIZE), scale


def _pareto_quantiles(probabilities: FloatArray, shape: float, scale: float) -> FloatArray:
    exponential = -np.log1p(-probabilities)
    if shape == 0.0:
        return scale * exponential
    return np.asarray(scale * np.expm1(shape * exponential) / shape)
