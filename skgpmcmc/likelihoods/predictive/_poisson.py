"""Predictive probabilities and quantiles of counts, averaged over posterior draws.

Given a draw, a count is Poisson with the rate ``exposure exp(f)`` and f is normal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, ndtr, wrightomega

from ..._linalg import Array, slices
from ._lattice_sums import (
    BROAD_VARIANCE,
    HALF_LOG_2PI,
    LOG_TOLERANCE,
    SMALLEST_STEP,
    exp_remainder,
    lattice_sum,
    log_gamma_nodes,
    log_normal_below,
    stirling_error,
)
from ._root_search import Evaluation, Rows, TailTarget, by_row, smallest_reaching, solve_each

Probability = Callable[[Array, Array, Array, float], Array]

# Larger rates overflow; no probability depends on how large they are.
_LARGEST_LOG_RATE = 690.0
_LARGEST_COUNT = 1e307
# That far from the mode nothing of the exponential cancels.
_LARGE_DISTANCE = 50.0
_LARGEST_LOG_COUNT = 709.0
# More standard deviations than that below its mean there is no probability.
_MOST_SCALES = 40.0
_CHUNK = 256
# Either sum behind the distribution function of counts is accurate to about 1e-6 on its side of
# the scale of f at which `_count_probability` changes from one to the other.
_NORMAL_NODES, _NORMAL_WEIGHTS = np.polynomial.hermite_e.hermegauss(8)
_NORMAL_WEIGHTS /= _NORMAL_WEIGHTS.sum()
_GAMMA_LOG_TOLERANCE = 16.0
_N_GAMMA_NODES = 40
# Temme's uniform expansion of the incomplete gamma function is exact to 1e-10 from this shape on,
# where the series that scipy sums become long.
_LARGE_SHAPE = 1000.0
_TEMME_0 = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_TEMME_1 = (-1 / 540, -1 / 288, 1 / 378)


def poisson_log_pmf(y: Array, mean: Array, variance: Array, exposure: Array) -> Array:
    """Return log E[Poisson(y; exposure exp(f))], f ~ N(mean, variance), draw by draw.

    Accurate to 1e-8 of the probability. The integrand is summed on equal steps around its mode,
    which is in closed form through the Wright omega function; of no events, under a broad f, it
    is the probability that f is below the logarithm of an exponential variable.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Counts.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the log rate given each draw; variances may be zero.
    exposure : ndarray of shape (n_rows,)
        Positive.

    Returns
    -------
    log_probability : ndarray of shape (n_draws, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> zero = np.zeros((1, 1))
    >>> poisson_log_pmf(np.array([2.0]), zero, zero, np.ones(1)).round(6)
    array([[-1.693147]])
    >>> poisson_log_pmf(np.array([2.0]), zero, zero + 1.0, np.ones(1)).round(6)
    array([[-1.931934]])
    """
    y = np.broadcast_to(np.asarray(y, dtype=float), mean.shape).ravel()
    log_exposure = np.broadcast_to(np.log(exposure), mean.shape).ravel()
    shape, mean, variance = mean.shape, mean.ravel(), variance.ravel()
    log_rate, correction = mean + log_exposure, np.zeros_like(mean)
    some = np.flatnonzero((variance > 0.0) & ((y > 0.0) | (variance <= BROAD_VARIANCE)))
    log_rate[some], correction[some] = _laplace(y[some], log_rate[some], variance[some])
    value = _log_poisson(y, log_rate) + correction
    broad = np.flatnonzero((y == 0.0) & (variance > BROAD_VARIANCE))
    value[broad] = _log_no_events(mean[broad] + log_exposure[broad], variance[broad])
    return value.reshape(shape)


def _log_no_events(log_rate: Array, variance: Array) -> Array:
    tilt = np.maximum(log_rate, 0.0) / variance
    step = 0.9 / np.hypot(np.sqrt(1.0 + tilt), 2.0)
    scale = np.sqrt(variance)
    return log_normal_below(_log_exponential, (), np.log1p(tilt), step, log_rate, scale)


def _log_exponential(u: Array) -> Array:
    """Return the log density of the logarithm of an exponential variable."""
    return u - np.exp(np.minimum(u, _LARGEST_LOG_RATE))


def _log_poisson(y: Array, log_rate: Array) -> Array:
    """Return Poisson log probabilities; no two large terms cancel."""
    rate = np.exp(np.minimum(log_rate, _LARGEST_LOG_RATE))
    events = np.maximum(y, 1.0)
    relative = (rate - events) / events
    near = np.abs(relative) < 0.5
    log_ratio = np.where(near, np.log1p(np.where(near, relative, 0.0)), log_rate - np.log(events))
    constant = stirling_error(events) + 0.5 * np.log(events) + HALF_LOG_2PI
    return np.where(y > 0.0, events * (log_ratio - relative) - constant, -rate)


def _laplace(y: Array, log_rate: Array, variance: Array) -> tuple[Array, Array]:
    """Return the log rate at the mode, and the log of the integral relative to it.

    With k the rate at the mode, the logarithm of the integrand at a distance w from it is
    lower by ``k (e^w - 1 - w) + w^2 / (2 variance)``.
    """
    scale = np.sqrt(variance)
    with np.errstate(over="ignore"):
        omega = wrightomega(np.log(variance) + log_rate + variance * y)
        # The first form cancels where omega is large, the second where it is small.
        large = omega > 1.0
        mode = np.where(
            large,
            np.log(np.maximum(omega, 1.0)) - np.log(variance),
            log_rate + variance * y - omega,
        )
        rate = np.exp(np.minimum(mode, _LARGEST_LOG_RATE))
        offset = np.where(large, (mode - log_rate) / scale, scale * (y - rate))
        # Exponentials of f need steps of 0.45, normal densities and the mode's curvature 0.9.
        step = 0.9 / np.hypot(np.sqrt(rate), np.maximum(1.0 / scale, 2.0))
        half_range = np.minimum(
            np.sqrt(2.0 * LOG_TOLERANCE) * scale, 2.0 * LOG_TOLERANCE / np.maximum(rate, 1e-300)
        )
        step = np.maximum(step, SMALLEST_STEP * half_range)
        arguments = (step, scale, mode, rate)
        total = lattice_sum(_log_integrand, arguments, 0.0, 1.0, np.inf)
        total += lattice_sum(_log_integrand, arguments, -1.0, -1.0, -np.inf)
        return mode, np.log(step / scale * total) - HALF_LOG_2PI - 0.5 * offset**2


def _log_integrand(index: Array, step: Array, scale: Array, mode: Array, rate: Array) -> Array:
    w = index * step
    fall = rate * exp_remainder(np.minimum(w, _LARGE_DISTANCE))
    # There the rate may be 0 next to an infinite exponential.
    far = np.exp(np.minimum(mode + w, _LARGEST_LOG_RATE)) - rate * (1.0 + w)
    return -np.where(w > _LARGE_DISTANCE, far, fall) - 0.5 * (w / scale) ** 2


def poisson_quantiles(mean: Array, variance: Array, exposure: Array, quantiles: ArrayLike) -> Array:
    """Return quantiles of counts ~ Poisson(exposure exp(f)), f ~ N(mean, variance), over draws.

    The distribution function is accurate to 1e-6, and exact for variances of zero.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the log rate given each draw; variances may be zero.
    exposure : ndarray of shape (n_rows,)
        Positive.
    quantiles : array-like of shape (n_quantiles,)
        Probabilities in [0, 1].

    Returns
    -------
    values : ndarray of shape (n_rows, n_quantiles)
        Whole numbers: the smallest count with a probability of at least q up to it; 0 at 0,
        infinite at 1 and where it is too large for a float.

    Examples
    --------
    >>> import numpy as np
    >>> rate = np.array([[0.5, 100.0]])
    >>> poisson_quantiles(np.log(rate), 0.0 * rate, np.ones(2), [0.0, 0.5, 0.9, 1.0])
    array([[  0.,   0.,   1.,  inf],
           [  0., 100., 113.,  inf]])
    """
    return count_quantiles(mean, variance, exposure, quantiles, _probability, 0.0)


def count_quantiles(
    mean: Array,
    variance: Array,
    exposure: Array,
    quantiles: ArrayLike,
    probability: Probability,
    count_variance: Array | float,
) -> Array:
    """Return quantiles of counts whose distribution function is given.

    Parameters
    ----------
    mean, variance, exposure, quantiles
        As for `poisson_quantiles`.
    probability : callable
        Takes counts (n_rows,), log rates and their scales (n_rows, n_draws), and a sign. Returns
        the probability of counts up to these (1.0) or beyond (-1.0), averaged over the draws.
    count_variance : ndarray of shape (n_draws,) or float
        Variance of the logarithm of a large count given its expectation.

    Returns
    -------
    values : ndarray of shape (n_rows, n_quantiles)
    """
    variances = by_row(variance)
    log_rates = by_row(mean) + np.log(exposure)[:, np.newaxis]
    # All quantiles of larger ones are beyond the largest count.
    log_rates = np.minimum(log_rates, _LARGEST_LOG_COUNT + _MOST_SCALES * np.sqrt(variances))

    def solve(quantile: float) -> Array:
        target = TailTarget(quantile)
        values = np.empty(len(log_rates))
        for rows in slices(len(log_rates), _CHUNK):
            values[rows] = _search(
                log_rates[rows], variances[rows], target, probability, count_variance
            )
        return np.where(values < _LARGEST_COUNT, values, np.inf)

    return solve_each(quantiles, solve, len(log_rates), 0.0)


def _search(
    log_rate: Array,
    variance: Array,
    target: TailTarget,
    probability: Probability,
    count_variance: Array | float,
) -> Array:
    """Search with a normal approximation, and from its root with the accurate probabilities."""
    scale, width = np.sqrt(variance), variance + count_variance

    def rough(count: Array, rows: Rows) -> Evaluation:
        approximation = _approximation(count, log_rate[rows], width[rows], target.sign)
        return target.compare(count, *approximation)

    def accurate(count: Array, rows: Rows) -> Evaluation:
        density = _approximation(count, log_rate[rows], width[rows], target.sign)[1]
        value = probability(count, log_rate[rows], scale[rows], target.sign)
        return target.compare(count, value, density)

    low, high = np.full(len(scale), -1.0), np.full(len(scale), _LARGEST_COUNT)
    guess = np.zeros(len(scale))
    for evaluate in (rough, accurate):
        guess = smallest_reaching(evaluate, low, high, guess, 1.0, whole=True)
    return guess


def _approximation(
    count: Array, log_rate: Array, variance: Array, sign: float
) -> tuple[Array, Array]:
    """Return about the probability of counts up to `count`, or beyond, and the density."""
    shape = (count + 2.0 / 3.0)[:, np.newaxis]
    total = np.sqrt(variance + 1.0 / shape)
    score = (np.log(shape) - log_rate) / total
    density = np.exp(-0.5 * score**2 - HALF_LOG_2PI) / total
    return ndtr(sign * score).mean(axis=1), density.mean(axis=1) / shape[:, 0]


def _probability(count: Array, log_rate: Array, scale: Array, sign: float) -> Array:
    """Return the probability of counts up to `count` (sign 1) or beyond (-1), per row.

    A Poisson count is at most k where a Gamma(k + 1) variable is above the rate. Averages are
    over that variable, of a normal probability, where f is broad, and otherwise over f.
    """
    shape = count + 1.0
    nodes, weights = log_gamma_nodes(shape, _GAMMA_LOG_TOLERANCE, _N_GAMMA_NODES)
    broad = scale > (nodes[1] - nodes[0])[:, np.newaxis]
    probability = np.zeros_like(scale)
    row = np.nonzero(broad)[0]
    score, width = (np.log(shape)[:, np.newaxis] - log_rate)[broad], scale[broad]
    total = np.zeros_like(width)
    for node, weight in zip(nodes, weights, strict=True):
        total += weight[row] * ndtr(sign * (score + node[row]) / width)
    probability[broad] = total
    row = np.nonzero(~broad)[0]
    centre, width = log_rate[~broad], scale[~broad]
    total = np.zeros_like(width)
    for node, weight in zip(_NORMAL_NODES, _NORMAL_WEIGHTS, strict=True):
        total += weight * _gamma_tail(shape[row], centre + node * width, sign)
    probability[~broad] = total
    return probability.mean(axis=1)


def _gamma_tail(shape: Array, log_x: Array, sign: float) -> Array:
    """Return the probability that a gamma variable is above x (sign 1) or below (-1)."""
    tail = np.empty_like(shape)
    large = shape >= _LARGE_SHAPE
    x = np.exp(np.minimum(log_x[~large], _LARGEST_LOG_RATE))
    tail[~large] = (gammaincc if sign > 0.0 else gammainc)(shape[~large], x)
    a = shape[large]
    log_ratio = np.clip(log_x[large] - np.log(a), -50.0, 50.0)
    eta = np.copysign(np.sqrt(2.0 * exp_remainder(log_ratio)), log_ratio)
    series = np.polynomial.polynomial.polyval(eta, _TEMME_0)
    series += np.polynomial.polynomial.polyval(eta, _TEMME_1) / a
    density = np.exp(-0.5 * a * eta**2 - HALF_LOG_2PI) / np.sqrt(a)
    tail[large] = ndtr(-sign * np.sqrt(a) * eta) + sign * density * series
    return np.clip(tail, 0.0, 1.0)
