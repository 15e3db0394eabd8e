"""Moments of one-dimensional site posteriors, vectorised over sites: modes and quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Gauss-Legendre nodes and weights on [0, 1] for the three panels on each side of the mode.
_PEAK_RULE, _FLANK_RULE, _TAIL_RULE = (
    (0.5 * (nodes + 1.0).reshape(-1, 1, 1), 0.5 * weights.reshape(-1, 1, 1))
    for nodes, weights in map(np.polynomial.legendre.leggauss, (24, 40, 24))
)

# Levels of the log density below its peak: the first measures the scale near the mode, the second
# bounds the bulk (1 - exp(-10) of the mass), the last is where the integral is cut off.
_LEVELS_BELOW_PEAK = np.array([0.5, 10.0, 40.0]).reshape(3, 1, 1)
_SIDES = np.array([-1.0, 1.0]).reshape(2, 1, 1, 1)
# Their distances are searched on a logarithmic scale, in rounds of so many intervals. Two are
# enough unless the density ends there; then the quadrature must know where.
_WIDTH_ROUNDS = (24, 8, 8, 8, 8)
_LARGEST_EXPONENT = 6.0


class SiteMoments(NamedTuple):
    """Moments of site posteriors over ``z = (f - mean) / sqrt(variance)``, each (n,)."""

    log_normaliser: NDArray
    mean: NDArray
    variance: NDArray


def site_moments(log_site: LogSite, mean: NDArray, variance: NDArray) -> SiteMoments:
    """Normaliser, mean and variance of each site posterior, standardised by the prior.

    Gauss-Legendre quadrature on each side of the peak separately, out to where the density has
    fallen by a factor exp(40). The nodes of each side are graded towards both of its ends, so
    that heavy tails, sites much narrower than the prior, and a steep flank far from the mode (a
    label that cuts off a wide prior) are integrated as well as a Gaussian.
    """
    with np.errstate(all="ignore"):
        log_density = standardised(log_site, mean, variance)
        centre, spacing = find_peak(log_density, mean.size)
        widths = _half_widths(log_density, centre, spacing)
        distance, weight = _graded_rule(*widths.swapaxes(0, 1))
        offset = _SIDES[:, 0, 0] * distance
        log_value = log_density(centre + offset)
        peak = log_value.max(axis=(0, 1))
        mass = weight * np.exp(log_value - peak)
        total = mass.sum(axis=(0, 1))
        shift = (mass * offset).sum(axis=(0, 1)) / total
        z_variance = (mass * (offset - shift) ** 2).sum(axis=(0, 1)) / total
        log_normaliser = peak + np.log(total) - 0.5 * np.log(2.0 * np.pi)
    return SiteMoments(log_normaliser, centre + shift, z_variance)


def _graded_rule(local: NDArray, bulk: NDArray, end: NDArray) -> tuple[NDArray, NDArray]:
    """Nodes and weights on [0, end], fine near zero and on the inside of ``bulk``.

    A steep flank ends the bulk; the tail's length, seen from there, measures how steep it is.
    """
    half = 0.5 * bulk
    tail = np.maximum(end - bulk, 1e-6 * end)
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


def _half_widths(log_density: LogSite, centre: NDArray, spacing: NDArray) -> NDArray:
    """Distances from the peak to each of `_LEVELS_BELOW_PEAK`, of the shape (side, level, n).

    For the first level, which measures the peak itself, the distance to the nearest point that is
    so low; for the others, to the farthest one found: other peaks count.
    """
    top = log_density(centre)
    lower = np.log2(spacing)[np.newaxis, np.newaxis] - 3.0
    length = _LARGEST_EXPONENT - lower
    for n_intervals in _WIDTH_ROUNDS:
        length = length / n_intervals
        inner = np.arange(1.0, n_intervals)[:, np.newaxis]
        distance = np.exp2(lower[..., np.newaxis, :] + length[..., np.newaxis, :] * inner)
        below = top - log_density(centre + _SIDES * distance)
        inside = below < _LEVELS_BELOW_PEAK
        inside[:, 0] = np.logical_and.accumulate(inside[:, 0], axis=1)
        from_last = np.argmax(inside[:, :, ::-1], axis=2)
        lower = lower + length * np.where(inside.any(axis=2), inner.size - from_last, 0)
        if below.shape[1] > 1 and not np.isposinf(below).any():
            break
    return np.exp2(lower + length)


LogSite = Callable[[NDArray], NDArray]
SiteDerivatives = Callable[[NDArray], tuple[NDArray, NDArray]]

# Where the search for a peak starts, in prior standard deviations.
PRIOR_GRID = np.linspace(-8.0, 8.0, 33)
# Each further round of it looks at points on both sides of the best one.
_ROUND_SIZE = 8
_ROUND = np.linspace(-1.0, 1.0, 2 * _ROUND_SIZE + 1)[:, np.newaxis]
_GROWTH = 4.0
_MAX_ROUNDS = 40
_SMALLEST_SPACING = 1e-14  # relative: finer points are not told apart

_MAX_NEWTON_STEPS = 200
_MODE_TOLERANCE = 1e-7  # relative to the width of the posterior

# Five-point stencils, fourth-order accurate: weights of the first and of the second derivative.
# The steps are powers of two: f + k h is exact.
_STENCIL = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
_STENCIL_WEIGHTS = np.array([[1.0, -8.0, 0.0, 8.0, -1.0], [-1.0, 16.0, -30.0, 16.0, -1.0]]) / 12.0
_STEPS = 2.0 ** -np.arange(5.0, 26.0, 3.0)
_DERIVATIVE_RTOL = 1e-7


def numerical_derivatives(log_site: LogSite, latent: NDArray) -> tuple[NDArray, NDArray]:
    """First and second derivative of each site by central differences.

    The step starts at 2^-5, good for likelihoods that vary on the scale of one, and is reduced
    site by site until the second derivative stops changing, so that likelihoods that vary on a
    much smaller scale are differentiated correctly too.
    """
    latent = np.asarray(latent, dtype=float)
    with np.errstate(all="ignore"):
        # Two steps in one call, because most sites settle there and the calls cost the time.
        firsts, seconds, noises = _stencil_derivatives(log_site, latent, _STEPS[:2])
        first, (second, finer), noise = firsts[1], seconds, noises[1]
        unsettled = np.ones(latent.shape, dtype=bool)
        for step in _STEPS[2:, np.newaxis]:
            # A NaN or a change that rounding explains settles the site at the larger step.
            change = np.abs(finer - second)
            unsettled &= change > _DERIVATIVE_RTOL * np.abs(finer) + noise
            if not unsettled.any():
                break
            second = np.where(unsettled, finer, second)
            (smaller,), (finer,), (noise,) = _stencil_derivatives(log_site, latent, step)
            # Rounding spoils only the second derivative: the first is better at a smaller step.
            first = np.where(unsettled, smaller, first)
    return first, second


def _stencil_derivatives(
    log_site: LogSite, latent: NDArray, steps: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return both derivatives and the rounding error to expect in the second, for each step."""
    steps = steps.reshape(-1, *([1] * latent.ndim))
    values = log_site(latent + _STENCIL.reshape(-1, *([1] * steps.ndim)) * steps)
    sums = (_STENCIL_WEIGHTS @ values.reshape(5, -1)).reshape(2, *values.shape[1:])
    noise = 16.0 * np.finfo(float).eps * np.abs(values[2]) / steps**2
    return sums[0] / steps, sums[1] / steps**2, noise


def standardised(log_site: LogSite, mean: NDArray, variance: NDArray) -> LogSite:
    """Log density of each site posterior, not normalised, over ``z = (f - mean) / sd``."""
    scale = np.sqrt(variance)

    def log_density(z: NDArray) -> NDArray:
        return np.fmax(log_site(mean + scale * z) - 0.5 * z**2, -np.inf)  # no NaN

    return log_density


def find_peak(
    log_density: LogSite, n_sites: int, grid: NDArray = PRIOR_GRID
) -> tuple[NDArray, NDArray]:
    """Find a point near the top of each density, and a distance on which it varies little.

    Modes are told apart only by their height: the search starts from the best point of the grid.
    It goes on with finer points around the best one, or coarser ones where that was the last of
    them, until the density at both neighbours is at most a factor ``e`` lower. This takes few
    calls, and neither derivatives nor a smooth density.

    Returns
    -------
    centre, spacing : ndarray of shape (n_sites,)
    """
    points = np.broadcast_to(grid[:, np.newaxis], (grid.size, n_sites))
    for _ in range(_MAX_ROUNDS):
        value = log_density(points)
        best = np.argmax(value, axis=0)
        inner = np.clip(best, 1, len(points) - 2)
        centre, top = _pick(points, best), _pick(value, best)
        left, right = _pick(value, inner - 1), _pick(value, inner + 1)
        middle = _pick(points, inner)
        spacing = np.maximum(_pick(points, inner + 1) - middle, middle - _pick(points, inner - 1))
        # A density that is zero on one side of its peak has an edge there, which has no width.
        lowest = np.minimum(left, right)
        lowest = np.where(np.isneginf(lowest), np.maximum(left, right), lowest)
        settled = ((best == inner) & (top - lowest <= 1.0)) | ~np.isfinite(top)
        settled |= spacing <= _SMALLEST_SPACING * np.maximum(np.abs(centre), 1e-4)
        if settled.all():
            break
        half_width = np.where(best == inner, spacing, _GROWTH * _ROUND_SIZE * spacing)
        points = centre + _ROUND * np.where(settled, _ROUND_SIZE * spacing, half_width)
    return centre, spacing


def find_mode(
    log_site: LogSite,
    derivatives: SiteDerivatives,
    mean: NDArray,
    variance: NDArray,
    grid: NDArray = PRIOR_GRID,
) -> NDArray:
    """Mode of each site posterior, as ``z = (f - mean) / sqrt(variance)``.

    Newton's method on the derivative, from the point that `find_peak` finds, kept inside a
    bracket where the derivative changes sign. A Newton step that leaves the bracket, or is more
    than half as long as the one before, is replaced by bisection, or by twice the last move while
    one end of the bracket is still open. The first step is at most the spacing at the peak: the
    mode is no further, and where the posterior is not concave a Newton step means nothing.
    """
    scale = np.sqrt(variance)
    z, spacing = find_peak(standardised(log_site, mean, variance), mean.size, grid)
    low, high = np.full(z.shape, -np.inf), np.full(z.shape, np.inf)
    last_newton, move = 2.0 * spacing, 0.5 * spacing
    done, was_trusted = np.zeros((2, *z.shape), dtype=bool)
    for _ in range(_MAX_NEWTON_STEPS):
        first, second = derivatives(mean + scale * z)
        # Where the likelihood is zero it has no derivative: the prior shows the way back.
        derivative = np.where(np.isnan(first), 0.0, scale * first) - z
        newton = derivative / (1.0 - np.fmin(variance * second, 0.0))
        low, high = np.where(derivative >= 0.0, z, low), np.where(derivative <= 0.0, z, high)
        proposal, middle = z + newton, 0.5 * (low + high)
        ratio = np.abs(newton) / last_newton
        trusted = (proposal >= low) & (proposal <= high) & (ratio < 0.5)
        fallback = np.where(np.isfinite(middle), middle, z + np.sign(derivative) * 2.0 * move)
        proposal = np.where(trusted, proposal, fallback)
        last_newton, move = np.abs(newton), np.abs(proposal - z)
        z = np.where(done, z, proposal)
        width = 1.0 / np.sqrt(1.0 + np.abs(np.nan_to_num(variance * second)))
        # A third Newton step in a row would be shorter by at least this ratio, and is not made.
        remaining = np.where(trusted & was_trusted, ratio, 1.0) * move
        was_trusted = trusted
        done |= remaining <= _MODE_TOLERANCE * width + 4.0 * np.finfo(float).eps * np.abs(z)
        if done.all():
            break
    return z


def _pick(table: NDArray, row: NDArray) -> NDArray:
    """Return one entry of each column."""
    return table[row, np.arange(row.size)]
