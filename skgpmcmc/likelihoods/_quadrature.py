"""Moments of one-dimensional site posteriors by quadrature, vectorised over sites."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._modes import LogSite, find_peak, standardised

# Gauss-Legendre nodes and weights on [0, 1] for the three panels on each side of the mode.
_PEAK_RULE, _FLANK_RULE, _TAIL_RULE = (
    (0.5 * (nodes + 1.0).reshape(-1, 1, 1), 0.5 * weights.reshape(-1, 1, 1))
    for nodes, weights in map(np.polynomial.legendre.leggauss, (24, 40, 24))
)

# Drops of the log density from its peak: the first measures the scale near the mode, the second
# bounds the bulk (1 - exp(-10) of the mass), the last is where the integral is cut off.
_DROPS = np.array([0.5, 10.0, 40.0]).reshape(3, 1, 1)
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
        spread = (mass * (offset - shift) ** 2).sum(axis=(0, 1)) / total
        log_normaliser = peak + np.log(total) - 0.5 * np.log(2.0 * np.pi)
    return SiteMoments(log_normaliser, centre + shift, spread)


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


def _half_widths(log_density: LogSite, centre: NDArray, spacing: NDArray) -> NDArray:
    """Distances from the peak of each of `_DROPS` in the log density, (side, drop, n).

    Of the first such place for the smallest drop, which measures the peak itself, and of the last
    one found for the others: other peaks count.
    """
    top = log_density(centre)
    lower = np.log2(spacing)[np.newaxis, np.newaxis] - 3.0
    length = _LARGEST_EXPONENT - lower
    for n_intervals in _WIDTH_ROUNDS:
        length = length / n_intervals
        inner = np.arange(1.0, n_intervals)[:, np.newaxis]
        distance = np.exp2(lower[..., np.newaxis, :] + length[..., np.newaxis, :] * inner)
        drop = top - log_density(centre + _SIDES * distance)
        inside = drop < _DROPS
        inside[:, 0] = np.logical_and.accumulate(inside[:, 0], axis=1)
        from_last = np.argmax(inside[:, :, ::-1], axis=2)
        lower = lower + length * np.where(inside.any(axis=2), inner.size - from_last, 0)
        if drop.shape[1] > 1 and not np.isposinf(drop).any():
            break
    return np.exp2(lower + length)
