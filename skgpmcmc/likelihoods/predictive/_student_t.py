"""Predictive densities, quantiles and tails with Student-t noise, averaged over posterior draws.

Student-t noise is normal noise of variance ``s2 e^-u`` where u is the logarithm of a
Gamma(nu / 2, nu / 2) variable, so that given a draw ``y ~ N(mean, variance + s2 e^-u)``. Every
function here is a sum over u on equal steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._linalg import Array
from ._lattice_sums import (
    HALF_LOG_2PI,
    LOG_TOLERANCE,
    SMALLEST_STEP,
    exp_remainder,
    lattice_sum,
    log_gamma_nodes,
    log_gamma_window,
    stirling_error,
)
from ._normal import NoiseMixture, exceedance_with_noise, quantiles_with_noise

# The relative error of the smaller tail of the distribution function is about
# exp(-_TAIL_LOG_TOLERANCE); for a first guess, with far fewer nodes, exp(-_GUESS_LOG_TOLERANCE).
_TAIL_LOG_TOLERANCE = 15.0
_GUESS_LOG_TOLERANCE = 4.0
# Tails beyond a threshold have this accuracy down to the probability exp(-_LOG_TAIL), 1e-12.
_LOG_TAIL = 27.6
# Halvings of a bracket of a mode: its width is a fraction of a lattice step, at any scale.
_N_HALVINGS = 40


def student_t_quantiles(
    mean: Array, variance: Array, scale2: Array, degrees_of_freedom: Array, quantiles: ArrayLike
) -> Array:
    """Return quantiles of y = f + sqrt(scale2) t_nu, f ~ N(mean, variance), over equal draws.

    The distribution function is accurate to 1e-6 of its smaller tail, from nu = 0.1 up.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the latent function given each draw; variances may be zero.
    scale2, degrees_of_freedom : ndarray of shape (n_draws,)
        Squared scale of the noise and nu of each draw, positive.
    quantiles : array-like of shape (n_quantiles,)
        Probabilities in [0, 1].

    Returns
    -------
    values : ndarray of shape (n_rows, n_quantiles)

    Examples
    --------
    >>> import numpy as np
    >>> zero, one = np.zeros((1, 1)), np.ones(1)
    >>> student_t_quantiles(zero, zero, one, one, [0.5, 0.75, 1.0]).round(6) + 0.0
    array([[ 0.,  1., inf]])
    """

    def noise(log_tolerance: float) -> NoiseMixture:
        return _noise(scale2, degrees_of_freedom, log_tolerance)

    return quantiles_with_noise(
        mean,
        variance,
        quantiles,
        lambda tail: (noise(_GUESS_LOG_TOLERANCE), noise(_TAIL_LOG_TOLERANCE - np.log(tail))),
    )


def student_t_exceedance(
    threshold: Array, mean: Array, variance: Array, scale2: Array, degrees_of_freedom: Array
) -> Array:
    """Return probabilities that y = f + sqrt(scale2) t_nu is above thresholds, over equal draws.

    Accurate to 1e-6 of the smaller tail, or to 1e-18 where that is less than 1e-12, from nu = 0.1
    up.

    Parameters
    ----------
    threshold : ndarray of shape (n_rows,)
        One for each row, also infinite.
    mean, variance, scale2, degrees_of_freedom
        As for `student_t_quantiles`.

    Returns
    -------
    probability : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> zero, one = np.zeros((1, 1)), np.ones(1)
    >>> student_t_exceedance(one, zero, zero, one, one).round(6)
    array([0.25])
    """
    noise = _noise(scale2, degrees_of_freedom, _TAIL_LOG_TOLERANCE + _LOG_TAIL)
    return exceedance_with_noise(threshold, mean, variance, noise)


def _noise(scale2: Array, degrees_of_freedom: Array, log_tolerance: float) -> NoiseMixture:
    """Return Student-t noise as a mixture of normal ones; see `log_gamma_nodes`."""
    nu = np.asarray(degrees_of_freedom, float)
    nodes, weights = log_gamma_nodes(0.5 * nu, log_tolerance, _n_nodes(nu, log_tolerance))
    with np.errstate(over="ignore"):
        return np.asarray(scale2, float) * np.exp(-nodes), weights


def _n_nodes(nu: Array, log_tolerance: float) -> int:
    """Return how many nodes have an error of exp(-log_tolerance) for the draw that needs most.

    The error is exp(-pi^2 / step) for the integrand's strip of half-width pi / 2, and
    exp(-(2 pi / step)^2 / nu) for the nearly normal u of many degrees of freedom.
    """
    low, high = log_gamma_window(0.5 * nu, log_tolerance)
    per_unit = np.hypot(log_tolerance / np.pi**2, np.sqrt(log_tolerance * nu) / (2.0 * np.pi))
    return int(np.ceil(np.max((high - low) * per_unit))) + 1


def student_t_log_density(
    y: Array, mean: Array, variance: Array, scale2: Array, degrees_of_freedom: Array
) -> Array:
    """Return log densities of y = f + sqrt(scale2) t_nu, f ~ N(mean, variance), draw by draw.

    Accurate to 1e-8 of the density at any distance and any ratio of the two scales, from
    nu = 0.1 up.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Where the densities are evaluated.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the latent function given each draw; variances may be zero.
    scale2, degrees_of_freedom : ndarray of shape (n_draws,)
        Squared scale of the noise and nu of each draw, positive.

    Returns
    -------
    log_density : ndarray of shape (n_draws, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> zero, one = np.zeros((1, 1)), np.ones(1)
    >>> student_t_log_density(np.zeros(1), zero, zero, one, one).round(6)
    array([[-1.14473]])
    """
    distance = np.abs(y - mean).ravel()
    nu = np.repeat(np.asarray(degrees_of_freedom, float), mean.shape[1])
    scale2 = np.repeat(np.asarray(scale2, float), mean.shape[1])
    variance = variance.ravel()
    # In units of the largest scale nothing overflows.
    unit = np.maximum(distance, np.sqrt(np.maximum(variance, scale2)))
    arguments = (
        nu,
        (variance / unit) / unit,
        np.log(scale2) - 2.0 * np.log(unit),
        (distance / unit) ** 2,
    )
    with np.errstate(over="ignore"):
        log_integral = _log_integral(arguments)
    shape = 0.5 * nu
    constant = 0.5 * np.log(shape) - HALF_LOG_2PI - stirling_error(shape)
    return (log_integral + constant - HALF_LOG_2PI - np.log(unit)).reshape(mean.shape)


def _log_joint(u: Array, nu: Array, variance: Array, log_scale2: Array, distance2: Array) -> Array:
    """Return the log density of u and y up to constants; the density of u is one at u = 0."""
    total = np.maximum(variance + np.exp(log_scale2 - u), 1e-300)
    return -0.5 * (nu * exp_remainder(u) + np.log(total) + distance2 / total)


def _derivative_sign(
    u: Array, nu: Array, variance: Array, log_scale2: Array, distance2: Array
) -> Array:
    """Return the sign of the derivative of `_log_joint`, as a number of that sign."""
    noise = np.exp(log_scale2 - u)
    total = np.maximum(variance + noise, 1e-300)
    return noise / total * (1.0 - distance2 / total) - nu * np.expm1(u)


def _log_integral(arguments: tuple[Array, ...]) -> Array:
    """Return log of the integral of exp(_log_joint) over u, around one mode or two."""
    nu = arguments[0]
    mode, two, valley, left = _modes(arguments)
    peak = _log_joint(mode, *arguments)
    some = tuple(argument[two] for argument in arguments)
    peak[two] = np.maximum(peak[two], _log_joint(left, *some))
    # Converged to 1e-9 for log(Gamma) variables of any shape; the modes' curvature is at most
    # (nu + 1) / 2. The left tail falls off at least as fast as exp(nu u / 2).
    step = 0.9 / np.sqrt(0.5 * nu + 4.5)
    step = np.maximum(step, SMALLEST_STEP * 2.0 * LOG_TOLERANCE / nu)

    def log_terms(index: Array, mode: Array, step: Array, peak: Array, *rest: Array) -> Array:
        return _log_joint(mode + index * step, *rest) - peak

    everything = (mode, step, peak, *arguments)
    end = np.full_like(mode, -np.inf)
    end[two] = np.floor((valley - mode[two]) / step[two])
    total = lattice_sum(log_terms, everything, 0.0, 1.0, np.inf)
    total += lattice_sum(log_terms, everything, -1.0, -1.0, end + 1.0)
    some = tuple(argument[two] for argument in everything)
    first = np.minimum(np.rint((left - mode[two]) / step[two]), end[two])
    total[two] += lattice_sum(log_terms, some, first, 1.0, end[two])
    total[two] += lattice_sum(log_terms, some, first - 1.0, -1.0, -np.inf)
    return peak + np.log(step * total)


def _modes(arguments: tuple[Array, ...]) -> tuple[Array, NDArray[np.intp], Array, Array]:
    """Return the mode on the right, which rows have another, and their valley and left mode.

    With x the share of the noise in the total variance, the derivative of `_log_joint` is a
    cubic in x. If it has three roots there are two modes, one for a large deviation of f and one
    for large noise; the two stationary points of the cubic separate the roots.
    """
    nu, variance, log_scale2, distance2 = arguments
    ratio = np.maximum(distance2, 1e-300)
    low = -np.logaddexp(0.0, np.log(ratio) - log_scale2 - np.log(nu))
    high = np.log1p(1.0 / nu)
    linear = 1.0 - variance / ratio
    product = nu * (variance + np.exp(log_scale2)) / ratio
    two = np.flatnonzero((linear > 0.0) & (linear**2 > 3.0 * product) & (variance > 0.0))
    share = (linear[two] + np.sqrt(linear[two] ** 2 - 3.0 * product[two])) / 3.0
    centre = log_scale2[two] - np.log(variance[two])
    left_end = centre + np.log1p(-share) - np.log(share)
    share = product[two] / (3.0 * share)
    right_end = centre + np.log1p(-share) - np.log(share)
    some = tuple(argument[two] for argument in arguments)
    three_roots = (_derivative_sign(left_end, *some) < 0.0) & (
        _derivative_sign(right_end, *some) > 0.0
    )
    two, left_end, right_end = two[three_roots], left_end[three_roots], right_end[three_roots]
    some = tuple(argument[two] for argument in arguments)
    valley = _root(left_end, right_end, -1.0, some)
    left = _root(low[two], left_end, 1.0, some)
    low[two] = right_end
    return _root(low, high, 1.0, arguments), two, valley, left


def _root(low: Array, high: Array, sign: float, arguments: tuple[Array, ...]) -> Array:
    """Halve brackets in which sign times the derivative changes from positive to negative."""
    for _ in range(_N_HALVINGS):
        middle = 0.5 * (low + high)
        rising = sign * _derivative_sign(middle, *arguments) > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return 0.5 * (low + high)
