"""Gaussian fits to one-dimensional site posteriors, vectorised over sites.

A site posterior is ``L_i(f_i) N(f_i; m_i, K_ii)`` (Murray and Adams 2010, section 3.2). Everything
here works on the standardised latent ``z = (f - m) / sqrt(K)``, whose prior is standard normal:
its digits do not drown in a large mean or vanish in a small variance. No function raises, warns or
iterates without a bound; a site where a fit fails keeps the prior (precision and shift zero).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LogSite = Callable[[NDArray], NDArray]
SiteDerivatives = Callable[[NDArray], tuple[NDArray, NDArray]]

# Gauss-Legendre nodes and weights on [0, 1] for the three panels on each side of the mode.
_PEAK_RULE, _FLANK_RULE, _TAIL_RULE = (
    (0.5 * (nodes + 1.0).reshape(-1, 1, 1), 0.5 * weights.reshape(-1, 1, 1))
    for nodes, weights in map(np.polynomial.legendre.leggauss, (24, 40, 24))
)

# Starting points for the search of a mode, in prior standard deviations.
_START_GRID = np.linspace(-8.0, 8.0, 33)

# Drops of the log density from its peak: the first measures the scale near the mode, the second
# bounds the bulk (1 - exp(-10) of the mass), the last is where the integral is cut off.
_DROPS = np.array([0.5, 10.0, 40.0]).reshape(1, 3, 1)
_SIDES = np.array([-1.0, 1.0]).reshape(2, 1, 1)
_N_BISECTIONS = 25
_WIDTH_EXPONENTS = (-60.0, 6.0)

_MAX_MODE_STEPS = 200
_MODE_TOLERANCE = 1e-7  # relative to the width of the posterior

# A prior so wide that it only bounds the search for the maximum of a likelihood on its own.
_FLAT_VARIANCE = 1e12

# Five-point stencils, fourth-order accurate. The step is a power of two: f + k h is exact.
_STENCIL = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
_FIRST = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0
_SECOND = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
_LARGEST_STEP = 2.0**-5
_STEP_RATIO = 8.0
_MAX_STEP_REDUCTIONS = 6
_DERIVATIVE_RTOL = 1e-7


class Sites(NamedTuple):
    """Gaussian sites ``exp(-precision f^2 / 2 + shift f)``, one per latent value.

    Attributes
    ----------
    precision : ndarray of shape (n_latent,)
        ``W``, the inverse of the pseudo-noise variance. May be negative where the likelihood is
        not log-concave; zero means that the site says nothing.
    shift : ndarray of shape (n_latent,)
        ``h``, the precision times the pseudo-observation.
    """

    precision: NDArray
    shift: NDArray


class SiteMoments(NamedTuple):
    """Moments of site posteriors over ``z = (f - mean) / sqrt(variance)``, each (n,)."""

    log_normaliser: NDArray
    mean: NDArray
    variance: NDArray


def numerical_derivatives(log_site: LogSite, latent: NDArray) -> tuple[NDArray, NDArray]:
    """First and second derivative of each site by central differences.

    The step starts at 2^-5, good for likelihoods that vary on the scale of one, and is reduced
    site by site until the second derivative stops changing, so that likelihoods that vary on a
    much smaller scale are differentiated correctly too.
    """
    latent = np.asarray(latent, dtype=float)
    with np.errstate(all="ignore"):
        step = np.full(latent.shape, _LARGEST_STEP)
        first, second, _ = _stencil_derivatives(log_site, latent, step)
        unsettled = np.ones(latent.shape, dtype=bool)
        for _ in range(_MAX_STEP_REDUCTIONS):
            step = np.where(unsettled, step / _STEP_RATIO, step)
            new_first, new_second, new_noise = _stencil_derivatives(log_site, latent, step)
            # Rounding spoils only the second derivative: the first is better at the smaller step.
            first = np.where(unsettled, new_first, first)
            change = np.abs(new_second - second)
            # A NaN or a change that rounding explains settles the site at the larger step.
            unsettled &= change > _DERIVATIVE_RTOL * np.abs(new_second) + new_noise
            if not unsettled.any():
                break
            second = np.where(unsettled, new_second, second)
    return first, second


def _stencil_derivatives(
    log_site: LogSite, latent: NDArray, step: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return both derivatives and the rounding error to expect in the second."""
    offsets = _STENCIL.reshape(-1, *([1] * latent.ndim))
    values = log_site(latent + offsets * step)
    first = np.tensordot(_FIRST, values, axes=1) / step
    second = np.tensordot(_SECOND, values, axes=1) / step**2
    noise = 16.0 * np.finfo(float).eps * np.abs(values[2]) / step**2
    return first, second, noise


def find_mode(
    log_site: LogSite,
    derivatives: SiteDerivatives,
    mean: NDArray,
    variance: NDArray,
) -> NDArray:
    """Mode of each site posterior, as ``z = (f - mean) / sqrt(variance)``.

    Newton's method on the slope, kept inside a bracket of points where the slope changes sign. A
    Newton step that leaves the bracket, or is not half as long as the one before, is replaced by
    bisection, or while one end of the bracket is still open by twice the last move.
    """
    scale = np.sqrt(variance)
    z = _best_start(log_site, mean, scale)
    low, high = np.full(z.shape, -np.inf), np.full(z.shape, np.inf)
    last_newton, move = np.full(z.shape, np.inf), np.full(z.shape, 0.5)
    done = np.zeros(z.shape, dtype=bool)
    for _ in range(_MAX_MODE_STEPS):
        first, second = derivatives(mean + scale * z)
        # Where the likelihood has no slope (it is zero there) the prior shows the way back.
        slope = np.where(np.isnan(first), 0.0, scale * first) - z
        newton = slope / (1.0 - np.fmin(variance * second, 0.0))
        low, high = np.where(slope >= 0.0, z, low), np.where(slope <= 0.0, z, high)
        proposal, middle = z + newton, 0.5 * (low + high)
        trusted = (proposal >= low) & (proposal <= high) & (np.abs(newton) < 0.5 * last_newton)
        fallback = np.where(np.isfinite(middle), middle, z + np.sign(slope) * 2.0 * move)
        proposal = np.where(trusted, proposal, fallback)
        last_newton, move = np.abs(newton), np.abs(proposal - z)
        z = np.where(done, z, proposal)
        width = 1.0 / np.sqrt(1.0 + np.abs(np.nan_to_num(variance * second)))
        done |= move <= _MODE_TOLERANCE * width + 4.0 * np.finfo(float).eps * np.abs(z)
        if done.all():
            break
    return z


def _best_start(log_site: LogSite, mean: NDArray, scale: NDArray) -> NDArray:
    """Pick the best of a grid of points: modes are told apart only by their height."""
    grid = _START_GRID[:, np.newaxis]
    values = log_site(mean + scale * grid) - 0.5 * grid**2
    values = np.where(np.isfinite(values), values, -np.inf)
    found = np.isfinite(values).any(axis=0)
    return np.where(found, _START_GRID[np.argmax(values, axis=0)], 0.0)


def laplace_sites(
    log_site: LogSite, derivatives: SiteDerivatives, mean: NDArray, variance: NDArray
) -> Sites:
    """Sites that match the mode of each site posterior and the second derivative there.

    Parameters
    ----------
    log_site : callable
        Maps latent values of shape (..., n) to the log of each site, same shape.
    derivatives : callable
        Maps latent values to the first and second derivatives of ``log_site``.
    mean, variance : ndarray of shape (n,)
        Of the Gaussian prior at each site.
    """
    with np.errstate(all="ignore"):
        scale = np.sqrt(variance)
        z = find_mode(log_site, derivatives, mean, variance)
        mode = mean + scale * z
        precision = -derivatives(mode)[1]
        return _or_prior(precision, precision * mode + z / scale, variance)


def moment_sites(
    log_site: LogSite, derivatives: SiteDerivatives, mean: NDArray, variance: NDArray
) -> Sites:
    """Sites that match the mean and the variance of each site posterior.

    Parameters are those of `laplace_sites`.
    """
    with np.errstate(all="ignore"):
        scale = np.sqrt(variance)
        _, z_mean, z_variance = site_moments(log_site, derivatives, mean, variance)
        precision = (1.0 - z_variance) / (z_variance * variance)
        shift = z_mean / (scale * z_variance) + mean * precision
        return _or_prior(precision, shift, variance)


def site_moments(
    log_site: LogSite, derivatives: SiteDerivatives, mean: NDArray, variance: NDArray
) -> SiteMoments:
    """Normaliser, mean and variance of each site posterior, standardised by the prior.

    Gauss-Legendre quadrature on each side of the mode separately, out to where the density has
    fallen by a factor exp(40). The nodes of each side are graded towards both of its ends, so
    that heavy tails, sites much narrower than the prior, and a steep flank far from the mode (a
    label that cuts off a wide prior) are integrated as well as a Gaussian.
    """
    with np.errstate(all="ignore"):
        scale = np.sqrt(variance)

        def log_density(z: NDArray) -> NDArray:
            value = log_site(mean + scale * z) - 0.5 * z**2
            return np.where(np.isnan(value), -np.inf, value)

        mode = find_mode(log_site, derivatives, mean, variance)
        distance, weight = _graded_rule(*_half_widths(log_density, mode).swapaxes(0, 1))
        offset = _SIDES[:, :, 0] * distance
        log_value = log_density(mode + offset)
        peak = log_value.max(axis=(0, 1))
        mass = weight * np.exp(log_value - peak)
        total = mass.sum(axis=(0, 1))
        shift = (mass * offset).sum(axis=(0, 1)) / total
        spread = (mass * (offset - shift) ** 2).sum(axis=(0, 1)) / total
        log_normaliser = peak + np.log(total) - 0.5 * np.log(2.0 * np.pi)
    return SiteMoments(log_normaliser, mode + shift, spread)


def _graded_rule(local: NDArray, bulk: NDArray, reach: NDArray) -> tuple[NDArray, NDArray]:
    """Nodes and weights on [0, reach], fine near zero and on the inside of ``bulk``.

    A steep flank ends the bulk; the tail's length, seen from there, measures how steep it is.
    """
    half = 0.5 * bulk
    tail = np.maximum(reach - bulk, 1e-6 * reach)
    peak, peak_weight = _sinh_rule(*_PEAK_RULE, local, half)
    flank, flank_weight = _sinh_rule(*_FLANK_RULE, 0.1 * tail, half)
    beyond, tail_weight = _sinh_rule(*_TAIL_RULE, bulk, tail)
    nodes = np.concatenate([peak, bulk - flank, bulk + beyond])
    return nodes, np.concatenate([peak_weight, flank_weight, tail_weight])


def _sinh_rule(
    nodes: NDArray, weights: NDArray, scale: NDArray, length: NDArray
) -> tuple[NDArray, NDArray]:
    """Map a rule from t in [0, 1] to ``scale * sinh(c t)`` in [0, length]."""
    span = np.arcsinh(length / scale)
    growth = np.exp(span * nodes)
    return (
        scale * 0.5 * (growth - 1.0 / growth),
        weights * span * scale * 0.5 * (growth + 1.0 / growth),
    )


def _half_widths(log_density: LogSite, mode: NDArray) -> NDArray:
    """Distances from the mode of each of `_DROPS` in the log density, (side, drop, n)."""
    peak = log_density(mode)
    low = np.full((2, 3, mode.size), _WIDTH_EXPONENTS[0])
    high = np.full((2, 3, mode.size), _WIDTH_EXPONENTS[1])
    for _ in range(_N_BISECTIONS):
        middle = 0.5 * (low + high)
        inside = peak - log_density(mode + _SIDES * np.exp2(middle)) < _DROPS
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.exp2(high)


def taylor_sites(log_site: LogSite, derivatives: SiteDerivatives, n_sites: int) -> Sites:
    """Second-order expansion of each log site at its own maximum (M&A equation "taylor").

    A site whose maximum lies at infinity, or that is flat, gets precision and shift zero.
    """
    mean, variance = np.zeros(n_sites), np.full(n_sites, _FLAT_VARIANCE)
    with np.errstate(all="ignore"):
        scale = np.sqrt(_FLAT_VARIANCE)
        mode = scale * find_mode(log_site, derivatives, mean, variance)
        first, second = derivatives(mode)
        # At a maximum at infinity only the wide prior stops the search, and the curvature there
        # is no larger than the prior's times a few logarithms.
        proper = -second * _FLAT_VARIANCE > 1e3
        for _ in range(2):  # remove the prior's small pull
            mode = np.where(proper, mode - first / second, mode)
            first, second = derivatives(mode)
        proper &= np.abs(first) < 1e-3 * np.sqrt(-second)
        second = np.where(proper, second, 0.0)
        return _or_prior(-second, -second * mode, variance)


def _or_prior(precision: NDArray, shift: NDArray, variance: NDArray) -> Sites:
    """Replace sites that are not finite, or make an improper posterior, by empty ones."""
    usable = np.isfinite(precision) & np.isfinite(shift)
    usable &= 1.0 / variance + precision > 0.0
    return Sites(np.where(usable, precision, 0.0), np.where(usable, shift, 0.0))
