"""Sums on equal steps, which converge exponentially for the smooth integrands of predictions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, log_ndtr

from ..._linalg import Array

# A sum leaves out what is below exp(-LOG_TOLERANCE) of its largest term.
LOG_TOLERANCE = 23.0
# Steps of any lattice are at least this fraction of the range that it has to cover.
SMALLEST_STEP = 1e-3
# From that variance on a normal density is so broad that a sum over it has too few steps to see
# where another factor falls to zero.
BROAD_VARIANCE = 1000.0
HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
# log(x!) minus Stirling's formula in odd powers of 1 / x; exact to rounding from _LARGE on.
_LARGE = 16.0
_STIRLING = (1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0)


def lattice_sum(
    log_terms: Callable[..., Array],
    arguments: tuple[Array, ...],
    first: Array | float,
    direction: float,
    last: Array | float,
) -> Array:
    """Return the sum of exp(log_terms(j, *arguments)) over j = first, first + direction, ...

    Parameters
    ----------
    log_terms : callable
        Logarithms of the terms, the largest near zero.
    arguments : tuple of ndarray of shape (n,)
        One entry for each sum.
    first, last : ndarray of shape (n,) or float
        Whole numbers; an empty sum where `last` comes before `first`. A sum also ends once
        its terms are negligible: they must decrease from there on.
    direction : float
        1.0 or -1.0.

    Returns
    -------
    total : ndarray of shape (n,)
    """
    n = arguments[0].size
    total = np.zeros(n)
    last = np.broadcast_to(last, n)
    index = np.broadcast_to(np.asarray(first, dtype=float), n)
    rows = np.flatnonzero(direction * (last - index) >= 0.0)
    index, last = index[rows], last[rows]
    arguments = tuple(argument[rows] for argument in arguments)
    while rows.size:
        value = log_terms(index, *arguments)
        total[rows] += np.exp(value)
        index = index + direction
        more = (value > -LOG_TOLERANCE) & (direction * (last - index) >= 0.0)
        if not more.all():
            rows, index, last = rows[more], index[more], last[more]
            arguments = tuple(argument[more] for argument in arguments)
    return total


def log_normal_below(
    log_density: Callable[..., Array],
    arguments: tuple[Array, ...],
    centre: Array,
    step: Array,
    mean: Array,
    scale: Array,
) -> Array:
    """Return log P(f < U) of a normal f and a variable U that varies much less.

    Parameters
    ----------
    log_density : callable
        ``log_density(u, *arguments)``, that of U.
    arguments : tuple of ndarray of shape (n,)
        One entry for each variable.
    centre : ndarray of shape (n,)
        About where the density times the probability is largest.
    step : ndarray of shape (n,)
        In which the density is summed.
    mean, scale : ndarray of shape (n,)
        Of f; the scale is many steps.

    Returns
    -------
    log_probability : ndarray of shape (n,)
    """

    def log_value(u: Array, mean: Array, scale: Array, *parameters: Array) -> Array:
        return log_density(u, *parameters) + log_ndtr((u - mean) / scale)

    def log_terms(index: Array, centre: Array, step: Array, peak: Array, *others: Array) -> Array:
        return log_value(centre + index * step, *others) - peak

    peak = log_value(centre, mean, scale, *arguments)
    arguments = (centre, step, peak, mean, scale, *arguments)
    total = lattice_sum(log_terms, arguments, 0.0, 1.0, np.inf)
    total += lattice_sum(log_terms, arguments, -1.0, -1.0, -np.inf)
    return peak + np.log(step * total)


def exp_remainder(x: Array) -> Array:
    """Return e^x - 1 - x, also where x is so small that this would cancel."""
    series = 0.5 * x**2 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0)))
    return np.where(np.abs(x) < 1e-3, series, np.expm1(x) - x)


def log_gamma_window(shape: Array, log_tolerance: Array | float) -> tuple[Array, Array]:
    """Return bounds of the u where the density of `log_gamma_nodes` is above exp(-log_tolerance).

    The density is exp(-shape (e^u - 1 - u)) up to a constant. With r = log_tolerance / shape the
    bounds follow from e^u - 1 - u >= u^2 / 2 and >= e^u / 2 - log(2) for u > 0, and from
    e^u - 1 - u >= u^2 / (2 - u) for u < 0.
    """
    ratio = log_tolerance / shape
    low = -0.5 * (ratio + np.sqrt(ratio * (ratio + 8.0)))
    return low, np.minimum(np.sqrt(2.0 * ratio), np.log(2.0 + 2.0 * ratio))


def log_gamma_nodes(shape: Array, log_tolerance: float, n_nodes: int) -> tuple[Array, Array]:
    """Return equally spaced nodes and weights for the mean over u = log(G / shape), G ~ Gamma.

    Parameters
    ----------
    shape : ndarray of shape (n,)
        Of the gamma distribution, positive.
    log_tolerance : float
        Densities below exp(-log_tolerance) of the largest are left out.
    n_nodes : int
        At least two.

    Returns
    -------
    nodes, weights : ndarray of shape (n_nodes, n)
        The weights sum to one.
    """
    low, high = log_gamma_window(shape, log_tolerance)
    nodes = low + (high - low) * np.linspace(0.0, 1.0, n_nodes)[:, np.newaxis]
    weights = np.exp(-shape * exp_remainder(nodes))
    return nodes, weights / weights.sum(axis=0)


def stirling_error(x: Array) -> Array:
    """Return log Gamma(x + 1) - (x + 1/2) log(x) + x - log(2 pi) / 2 for x > 0."""
    large = np.maximum(x, _LARGE)
    series = np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series / large**2 + coefficient
    small = np.minimum(x, _LARGE)
    direct = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - HALF_LOG_2PI
    return np.where(x >= _LARGE, series / large, direct)
