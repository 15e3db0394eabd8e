"""Derivatives and modes of one-dimensional site posteriors, vectorised over sites."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
        reach = np.where(best == inner, spacing, _GROWTH * _ROUND_SIZE * spacing)
        points = centre + _ROUND * np.where(settled, _ROUND_SIZE * spacing, reach)
    return centre, spacing


def find_mode(
    log_site: LogSite,
    derivatives: SiteDerivatives,
    mean: NDArray,
    variance: NDArray,
    grid: NDArray = PRIOR_GRID,
) -> NDArray:
    """Mode of each site posterior, as ``z = (f - mean) / sqrt(variance)``.

    Newton's method on the slope from the point that `find_peak` finds, kept inside a bracket of
    points where the slope changes sign. A Newton step that leaves the bracket, or is not half as
    long as the one before, is replaced by bisection, or while one end of the bracket is still open
    by twice the last move. The first step is at most the spacing at the peak: the mode is no
    further, and where the posterior is not concave a Newton step means nothing.
    """
    scale = np.sqrt(variance)
    z, spacing = find_peak(standardised(log_site, mean, variance), mean.size, grid)
    low, high = np.full(z.shape, -np.inf), np.full(z.shape, np.inf)
    last_newton, move = 2.0 * spacing, 0.5 * spacing
    done, was_trusted = np.zeros((2, *z.shape), dtype=bool)
    for _ in range(_MAX_NEWTON_STEPS):
        first, second = derivatives(mean + scale * z)
        # Where the likelihood has no slope (it is zero there) the prior shows the way back.
        slope = np.where(np.isnan(first), 0.0, scale * first) - z
        newton = slope / (1.0 - np.fmin(variance * second, 0.0))
        low, high = np.where(slope >= 0.0, z, low), np.where(slope <= 0.0, z, high)
        proposal, middle = z + newton, 0.5 * (low + high)
        ratio = np.abs(newton) / last_newton
        trusted = (proposal >= low) & (proposal <= high) & (ratio < 0.5)
        fallback = np.where(np.isfinite(middle), middle, z + np.sign(slope) * 2.0 * move)
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
