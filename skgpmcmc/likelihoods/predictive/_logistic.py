"""Predictive probabilities and quantiles of overdispersed counts, and of numbers of successes.

Given a draw f is normal, and a count negative binomial or binomial: up to a coefficient its
probability is ``sigma(t)^a sigma(-t)^b`` with sigma the logistic function, t = f + constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, expit, log_expit, ndtr, wrightomega

from ..._linalg import Array
from .._special import log_binomial
from ._lattice_sums import (
    BROAD_VARIANCE,
    HALF_LOG_2PI,
    LOG_TOLERANCE,
    SMALLEST_STEP,
    lattice_sum,
    log_normal_below,
)
from ._poisson import count_quantiles
from ._root_search import Evaluation, Rows, smallest_reaching

# The mode of an integrand is found to this fraction of its width.
_MODE_RESOLUTION = 1e-2
# exp() of anything larger overflows.
_LARGEST_EXPONENT = 700.0
# Powers of the logistic function with a smaller exponent fall too slowly for `_log_one_sided`.
_SMALLEST_EXPONENT = 0.05
# Distribution functions are sums of densities; those below exp(-_TAIL_LOG_TOLERANCE) of the
# largest density are left out.
_TAIL_LOG_TOLERANCE = 16.0
# The number of terms of these sums is a power of two, at most this one.
_MOST_NODES = 2**12
# An incomplete beta function costs so many normal distribution functions.
_BETA_COST = 5.0
# That far from the mode exponentials in place of their logarithms might over- or underflow.
_FAR = 600.0
# Closer to the mode than that, and to the centre of a distribution, differences would cancel.
_SMALL_DISTANCE, _SMALL_SCORE = 1e-3, 1e-3
# The beta function's saddle-point approximation is exact to 1e-7 for two shapes from here on.
_LARGE_SHAPE = 1000.0


def negative_binomial_log_pmf(
    y: Array, mean: Array, variance: Array, exposure: Array, dispersion: Array
) -> Array:
    """Return log E[NegativeBinomial(y; exposure exp(f), dispersion)] draw by draw.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Counts.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the log rate f given each draw, normal; variances may be zero.
    exposure : ndarray of shape (n_rows,)
        Positive.
    dispersion : ndarray of shape (n_draws,)
        Positive.

    Returns
    -------
    log_probability : ndarray of shape (n_draws, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> zero, one = np.zeros((1, 1)), np.ones(1)
    >>> negative_binomial_log_pmf(np.array([2.0]), zero, zero, one, one).round(6)
    array([[-2.079442]])
    """
    shape = 1.0 / dispersion[:, np.newaxis]
    t = mean + np.log(exposure) - np.log(shape)
    return log_binomial(y, shape) + log_logistic_mean(y, shape, t, variance)


def binomial_log_pmf(y: Array, trials: Array, mean: Array, variance: Array) -> Array:
    """Return log E[Binomial(y; trials, sigma(f))] draw by draw.

    Parameters
    ----------
    y, trials : ndarray of shape (n_rows,)
        Numbers of successes and of trials.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of f given each draw, normal; variances may be zero.

    Returns
    -------
    log_probability : ndarray of shape (n_draws, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> zero = np.zeros((1, 1))
    >>> np.exp(binomial_log_pmf(np.array([2.0]), np.array([5.0]), zero, zero)).round(6)
    array([[0.3125]])
    """
    failures = trials - y
    return log_binomial(y, failures + 1.0) + log_logistic_mean(y, failures, mean, variance)


def log_logistic_mean(
    successes: ArrayLike, failures: ArrayLike, mean: Array, variance: Array
) -> Array:
    """Return log E[sigma(t)^successes sigma(-t)^failures], t ~ N(mean, variance).

    Accurate to 1e-8 of the expectation for variances up to 1000, and beyond to 1e-7 if an exponent
    is zero or none is below 0.1, else to 1e-3. The integrand is summed on equal steps around its
    mode; with one exponent zero, under a broad t, it is the probability that t is below a
    variable of that distribution function.

    Parameters
    ----------
    successes, failures : array-like
        Non-negative, and not both zero. Broadcast with the others.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Variances may be zero.

    Returns
    -------
    log_mean : ndarray of shape (n_draws, n_rows)
    """
    arrays = np.broadcast_arrays(successes, failures, mean, variance)
    a, b, centre, v = (array.ravel().astype(float) for array in arrays)
    value = a * log_expit(centre) + b * log_expit(-centre)
    tilt = np.where(b == 0.0, -centre, centre)
    one_sided = (np.minimum(a, b) == 0.0) & (v > BROAD_VARIANCE)
    one_sided &= a + b > np.maximum(_SMALLEST_EXPONENT, 2.0 * tilt / np.maximum(v, BROAD_VARIANCE))
    some = np.flatnonzero((v > 0.0) & ~one_sided)
    value[some] = _log_integral(a[some], b[some], centre[some], v[some])
    rows = np.flatnonzero(one_sided)
    value[rows] = _log_one_sided((a + b)[rows], tilt[rows], v[rows])
    return value.reshape(mean.shape)


def _log_one_sided(exponent: Array, mean: Array, variance: Array) -> Array:
    """Return log E[sigma(-t)^exponent], which is P(t < u) of a variable u."""
    tilt = np.maximum(mean, 0.0) / variance
    share = (1.0 + tilt) / (1.0 + exponent)
    centre = np.log1p(tilt) - np.log(exponent - tilt)  # the logit of that share
    step = 0.9 / np.hypot(np.sqrt((1.0 + tilt) * (1.0 - share)), 2.0)
    scale = np.sqrt(variance)
    return log_normal_below(_log_logistic_power, (exponent,), centre, step, mean, scale)


def _log_logistic_power(u: Array, exponent: Array) -> Array:
    """Return the log density of a variable that is above u with probability sigma(-u)^exponent."""
    return np.log(exponent) + log_expit(u) + exponent * log_expit(-u)


def _log_integral(a: Array, b: Array, mean: Array, variance: Array) -> Array:
    mode = _mode(a, b, mean, variance)
    share, other, scale = expit(mode), expit(-mode), np.sqrt(variance)
    information = (a + b) * (share * other)
    derivative = a * other - b * share - (mode - mean) / variance
    # The nearest poles are pi away; a normal density needs steps of 0.9 deviations.
    step = 0.9 / np.sqrt(information + 1.0 / variance + 4.0)
    half_range = np.minimum(
        np.sqrt(2.0 * LOG_TOLERANCE) * scale, _half_width(information, LOG_TOLERANCE)
    )
    step = np.maximum(step, SMALLEST_STEP * half_range)
    arguments = (step, a + b, mode, share, other, derivative, scale)
    total = lattice_sum(_log_integrand, arguments, 0.0, 1.0, np.inf)
    total += lattice_sum(_log_integrand, arguments, -1.0, -1.0, -np.inf)
    peak = a * log_expit(mode) + b * log_expit(-mode) - 0.5 * ((mode - mean) / scale) ** 2
    return peak + np.log(step / scale * total) - HALF_LOG_2PI


def _log_integrand(
    index: Array,
    step: Array,
    total: Array,
    mode: Array,
    share: Array,
    other: Array,
    derivative: Array,
    scale: Array,
) -> Array:
    w = index * step
    gap = np.where(np.abs(w) < _FAR, _tangent_gap(w, share, other), _far_tangent_gap(w, mode))
    return derivative * w - total * gap - 0.5 * (w / scale) ** 2


def _far_tangent_gap(w: Array, start: Array) -> Array:
    """Return what `_tangent_gap` does, also where the derivative at `start` underflows."""
    w, start = np.where(start > 0.0, -w, w), -np.abs(start)
    return np.logaddexp(0.0, start + w) - np.log1p(np.exp(start)) - expit(start) * w


def _tangent_gap(w: Array, share: Array, other: Array) -> Array:
    """Return how far log(1 + exp(t)) is above its tangent, a distance w from where they touch.

    The tangent has the slope `share`; `other` is one minus `share`.
    """
    # It is the same from the other side, and there the smaller of the two has all its digits.
    w, share = np.where(share > other, -w, w), np.minimum(share, other)
    value = np.log1p(share * np.expm1(np.minimum(w, _LARGEST_EXPONENT))) - share * w
    product, skew = share * (1.0 - share), 1.0 - 2.0 * share
    series = 1.0 + w / 3.0 * (skew + w / 4.0 * (1.0 - 6.0 * product))
    return np.where(np.abs(w) < _SMALL_DISTANCE, 0.5 * product * w**2 * series, value)


def _half_width(information: Array, log_tolerance: float) -> Array:
    """Return a distance from the mode of sigma^a sigma^b with lower values beyond it.

    Lower than exp(-log_tolerance) of the value at the mode.

    Its logarithm falls by at least the information times e^-|w| - 1 + |w| >= w^2 / (2 + |w|).
    """
    with np.errstate(divide="ignore", over="ignore"):
        ratio = log_tolerance / information
        return 0.5 * (ratio + np.sqrt(ratio * (ratio + 8.0)))


def _mode(a: Array, b: Array, mean: Array, variance: Array) -> Array:
    """Return the modes of sigma(t)^a sigma(-t)^b N(t; mean, variance), almost.

    Between the mean and the mode of the first two factors; where that is at infinity, the mode
    with an exponential in place of the logistic function is a bound.
    """
    total = a + b
    with np.errstate(divide="ignore"):
        other = np.log(a) - np.log(b)
    log_scale = np.log(variance * total)
    other = np.where(a == 0.0, mean - wrightomega(log_scale + mean), other)
    other = np.where(b == 0.0, mean + wrightomega(log_scale - mean), other)

    def evaluate(t: Array, rows: Rows) -> Evaluation:
        success, failure, precision = expit(t), expit(-t), 1.0 / variance[rows]
        derivative = a[rows] * failure - b[rows] * success - (t - mean[rows]) * precision
        curvature = total[rows] * success * failure + precision
        return derivative <= 0.0, t + derivative / curvature

    start = 0.5 * (mean + other)
    width = 1.0 / np.sqrt(0.25 * total + 1.0 / variance)
    low, high = np.minimum(mean, other), np.maximum(mean, other)
    return smallest_reaching(evaluate, low, high, start, _MODE_RESOLUTION * width)


def negative_binomial_quantiles(
    mean: Array, variance: Array, exposure: Array, dispersion: Array, quantiles: ArrayLike
) -> Array:
    """Return quantiles of counts ~ NegativeBinomial(exposure exp(f), dispersion), over draws.

    The distribution function is accurate to 1e-6.

    Parameters
    ----------
    mean, variance, exposure, dispersion
        As for `negative_binomial_log_pmf`.
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
    >>> parts = np.log(rate), 0.0 * rate, np.ones(2), np.ones(1)
    >>> negative_binomial_quantiles(*parts, [0.0, 0.5, 0.9, 1.0])
    array([[  0.,   0.,   2.,  inf],
           [  0.,  69., 231.,  inf]])
    """
    shape = 1.0 / dispersion

    def probability(count: Array, log_rate: Array, scale: Array, sign: float) -> Array:
        arrays = np.broadcast_arrays(count[:, np.newaxis] + 1.0, shape, log_rate, scale)
        a, b, t, s = (array.ravel() for array in arrays)
        return _tail(a, b, t - np.log(b), s, sign).reshape(log_rate.shape).mean(axis=1)

    return count_quantiles(mean, variance, exposure, quantiles, probability, dispersion)


def _tail(a: Array, b: Array, mean: Array, scale: Array, sign: float) -> Array:
    """Return P(U > T) (sign 1) or P(U < T) (-1), T ~ N(mean, scale^2).

    U is the logarithm of a Gamma(a) over a Gamma(b) variable, of density proportional to
    sigma(u)^a sigma(-u)^b: a negative binomial count is at most k where U with a = k + 1 is above
    log(rate) - log(b). Averages are over U, of a normal probability, or over T, whichever takes
    less time.
    """
    information = a * (b / (a + b))
    per_unit = np.sqrt(information + 4.0)
    half = _half_width(information, _TAIL_LOG_TOLERANCE)
    normal_half = np.sqrt(2.0 * _TAIL_LOG_TOLERANCE)
    over_t = _BETA_COST * normal_half * scale < half
    n_nodes = np.where(over_t, normal_half * np.hypot(1.0, scale * per_unit), half)
    with np.errstate(divide="ignore"):
        n_nodes = np.where(over_t, n_nodes, half * np.hypot(1.0 / scale, per_unit))
    size = np.exp2(np.ceil(np.log2(2.0 * n_nodes + 1.0)))
    size = np.minimum(size, _MOST_NODES)
    value = np.empty_like(mean)
    for n in np.unique(size):
        for method, average in ((over_t, _average_over_t), (~over_t, _average_over_u)):
            rows = np.flatnonzero((size == n) & method)
            if rows.size:
                nodes = np.linspace(-1.0, 1.0, int(n))
                value[rows] = average(nodes, a[rows], b[rows], mean[rows], scale[rows], sign)
    return value


def _average_over_t(
    nodes: Array, a: Array, b: Array, mean: Array, scale: Array, sign: float
) -> Array:
    nodes = np.sqrt(2.0 * _TAIL_LOG_TOLERANCE) * nodes
    weights = np.exp(-0.5 * nodes**2)
    weights /= weights.sum()
    total = np.zeros_like(mean)
    for node, weight in zip(nodes, weights, strict=True):
        total += weight * _beta_tail(a, b, mean + scale * node, sign)
    return total


def _average_over_u(
    nodes: Array, a: Array, b: Array, mean: Array, scale: Array, sign: float
) -> Array:
    half = _half_width(a * (b / (a + b)), _TAIL_LOG_TOLERANCE)
    share, other, distance = a / (a + b), b / (a + b), np.log(a) - np.log(b) - mean
    total, mass = np.zeros_like(mean), np.zeros_like(mean)
    for node in nodes:
        w = half * node
        weight = np.exp(-(a + b) * _tangent_gap(w, share, other))
        mass += weight
        total += weight * ndtr(sign * (distance + w) / scale)
    return total / mass


def _beta_tail(a: Array, b: Array, t: Array, sign: float) -> Array:
    """Return P(U > t) (sign 1) or P(U < t) (-1); see `_tail`."""
    tail = np.empty_like(t)
    large = np.minimum(a, b) >= _LARGE_SHAPE
    tail[large] = _saddle_point_tail(a[large], b[large], t[large], sign)
    a, b, t = a[~large], b[~large], t[~large]
    # The smaller of sigma(t) and sigma(-t) has all its digits.
    above = t > 0.0
    beyond = betainc(np.where(above, b, a), np.where(above, a, b), expit(-np.abs(t)))
    tail[~large] = np.where(above == (sign > 0.0), beyond, 1.0 - beyond)
    return tail


def _saddle_point_tail(a: Array, b: Array, t: Array, sign: float) -> Array:
    """Return `_beta_tail` by the leading terms of Temme's uniform expansion (1992)."""
    share, rest = a / (a + b), b / (a + b)
    w = t - (np.log(a) - np.log(b))
    score = np.copysign(np.sqrt(2.0 * (a + b) * _tangent_gap(w, share, rest)), w)
    information = a * (b / (a + b))
    rise = np.expm1(np.minimum(w, _LARGEST_EXPONENT))
    other = np.sqrt(information) * rise / (1.0 + share * rise)
    near = np.abs(score) < _SMALL_SCORE
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = 1.0 / score - 1.0 / other
    limit = (rest - share) / (3.0 * np.sqrt(information))
    correction = np.where(near, limit, correction)
    density = np.exp(-0.5 * score**2 - HALF_LOG_2PI)
    return np.clip(ndtr(-sign * score) - sign * density * correction, 0.0, 1.0)
