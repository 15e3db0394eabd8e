"""Quantiles and tails of mixtures of normal distributions, with or without noise on top."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ..._linalg import Array, slices
from ._lattice_sums import HALF_LOG_2PI
from ._root_search import Evaluation, Rows, TailTarget, by_row, smallest_reaching, solve_each

# Variances of normal noise, and their weights, both of shape (n_nodes, n_draws).
NoiseMixture = tuple[Array, Array]

# Rows are searched together in chunks: arrays of so many numbers stay in the processor's cache.
_CHUNK = 2**14
# Quantiles of normal mixtures are found to this fraction of the smallest component's scale, and
# first guesses with fewer nodes to a larger one.
_RESOLUTION = 1e-10
_ROUGH_RESOLUTION = 1e-2
_LARGEST = 1e308
_NORMAL_PEAK = float(np.exp(-HALF_LOG_2PI))


def quantiles_with_noise(
    mean: Array,
    variance: Array,
    quantiles: ArrayLike,
    noise: Callable[[float], tuple[NoiseMixture, ...]],
) -> Array:
    """Return quantiles of mixtures over draws whose noise is itself a mixture of normals.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the latent function.
    quantiles : array-like of shape (n_quantiles,)
        Probabilities in [0, 1].
    noise : callable
        Returns, given the smaller tail's probability, noises of increasing accuracy; the
        search with one starts from the root of the one before.

    Returns
    -------
    values : ndarray of shape (n_rows, n_quantiles)
        Non-decreasing in the quantile.
    """
    means, variances = by_row(mean), by_row(variance)

    def solve(quantile: float) -> Array:
        target = TailTarget(quantile)
        stages = noise(target.tail)
        values = np.empty(len(means))
        for rows in _row_chunks(means):
            width = np.sqrt(variances[rows].mean(axis=1) + means[rows].var(axis=1))
            guess = means[rows].mean(axis=1) + target.score * width
            for stage in stages[:-1]:
                guess = _search(
                    means[rows], variances[rows], stage, target, guess, _ROUGH_RESOLUTION
                )
            values[rows] = _search(
                means[rows], variances[rows], stages[-1], target, guess, _RESOLUTION
            )
        return values

    return solve_each(quantiles, solve, len(means), -np.inf)


def exceedance_with_noise(
    threshold: Array, mean: Array, variance: Array, noise: NoiseMixture
) -> Array:
    """Return probabilities of values above thresholds, where `quantiles_with_noise` has quantiles.

    Parameters
    ----------
    threshold : ndarray of shape (n_rows,)
        One for each row, also infinite.
    mean, variance : ndarray of shape (n_draws, n_rows)
        Of the latent function.
    noise : tuple of two ndarray of shape (n_nodes, n_draws)
        Variances of normal noise, and their weights.

    Returns
    -------
    probability : ndarray of shape (n_rows,)
        Of values that are strictly larger.
    """
    means, variances = by_row(mean), by_row(variance)
    probability = np.empty(len(means))
    for rows in _row_chunks(means):
        x = threshold[rows, np.newaxis]
        probability[rows] = _normal_mixture(x, means[rows], variances[rows], noise, -1.0)[0]
    # Where noise overflows, it has no side of minus infinity; and weights sum to one but for
    # rounding.
    return np.where(np.isneginf(threshold), 1.0, np.minimum(probability, 1.0))


def _search(
    mean: Array,
    variance: Array,
    noise: NoiseMixture,
    target: TailTarget,
    guess: Array,
    resolution: float,
) -> Array:
    """Search between the smallest and the largest quantile of a component."""
    extra = noise[0]
    narrow = np.sqrt(variance + extra.min(axis=0))
    wide = np.minimum(np.sqrt(variance + extra.max(axis=0)), _LARGEST)
    inner, outer = (narrow, wide) if target.score > 0.0 else (wide, narrow)
    with np.errstate(over="ignore"):
        low = (mean + target.score * inner).min(axis=1)
        high = (mean + target.score * outer).max(axis=1)
    low = np.nextafter(np.maximum(low, -_LARGEST), -np.inf)
    high = np.minimum(high, _LARGEST)

    def evaluate(x: Array, rows: Rows) -> Evaluation:
        probability, density = _normal_mixture(
            x[:, np.newaxis], mean[rows], variance[rows], noise, target.sign
        )
        return target.compare(x, probability, density)

    width = resolution * narrow.min(axis=1)
    return smallest_reaching(evaluate, low, high, np.clip(guess, low, high), width)


def _normal_mixture(
    x: Array, mean: Array, variance: Array, noise: NoiseMixture, sign: float
) -> tuple[Array, Array]:
    """Return the probability of values up to x (sign 1) or beyond (-1), and the density."""
    with np.errstate(over="ignore"):
        distance = x - mean
    probability, density = np.zeros(len(mean)), np.zeros(len(mean))
    for extra, weight in zip(*noise, strict=True):
        with np.errstate(all="ignore"):
            scale = np.sqrt(variance + extra)
            score = distance / scale
            if np.isnan(score.sum()) or not scale.all():
                # An atom at x itself belongs to the values up to x.
                score = np.where(np.isnan(score), np.inf, score)
                scale = np.maximum(scale, 1e-300)
            probability += (weight * ndtr(sign * score)).mean(axis=1)
            score *= score
            score *= -0.5
            np.exp(score, out=score)
            score /= scale
            score *= weight
        density += _NORMAL_PEAK * score.mean(axis=1)
    return probability, density


def _row_chunks(means: Array) -> list[slice]:
    return slices(len(means), max(1, _CHUNK // means.shape[1]))
