"""Exact draws of Polya-Gamma variables, vectorised over the entries.

The logistic likelihood is a mixture of Gaussian ones over a Polya-Gamma precision (Polson, Scott
and Windle 2013). ``PG(1, c) = J / 4``, where J is the time at which a Brownian motion with drift
``z = |c| / 2`` leaves the interval (-1, 1). Its density is ``cosh(z) exp(-z^2 x / 2)`` times an
alternating series that is known in two forms, one fast for small and one for large x (Devroye
2009, section 2).

The rejection sampler here evaluates the series of Devroye, and of Polson, Scott and Windle, but
from another proposal: the time at which the drifting motion first meets +1, whether or not it met
-1 before. This is the inverse Gaussian distribution with mean 1 / z and shape 1, which needs
neither a truncation nor mixture weights. ``1 + exp(-2 z)`` times its density bounds the density
of J, since J is the earlier of the times of +1 and -1, so a draw takes at most two proposals on
average. Few numpy calls count for more than few proposals: a call's overhead is the cost of
hundreds of proposals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Densities for a smaller drift agree with this one to rounding, and nothing divides by zero.
_SMALLEST_DRIFT = 1e-9

# A round makes so many proposals (several for each undecided entry) at hardly more than the cost
# of one, so that the number of rounds hardly grows with the number of entries.
_ROUND_SIZE = 256

# Polya-Gamma variables with shape one that are drawn together: bounds the memory.
_CHUNK_SIZE = 2**17


def polya_gamma(shape: ArrayLike, tilt: ArrayLike, rng: np.random.Generator) -> NDArray:
    """Draw independent Polya-Gamma variables PG(shape, tilt).

    Parameters
    ----------
    shape : array-like of int, scalar or of shape (n,)
        Whole numbers >= 1. A draw takes time proportional to its entry.
    tilt : array-like of shape (n,)
        Finite; only the absolute values, at most 1e300, matter. NaN gives NaN.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n,)
        The draws, positive and finite. Their means are ``shape * tanh(tilt / 2) / (2 * tilt)``.

    Notes
    -----
    The distribution is exact up to rounding (Polson, Scott and Windle 2013, sections 2 and 4).
    PG(b, c) is drawn as the sum of b independent PG(1, c).

    References
    ----------
    Devroye, L. (2009). On exact simulation algorithms for some distributions related to Jacobi
    theta functions. Statistics and Probability Letters 79, 2251-2259.

    Michael, J. R., Schucany, W. R. and Haas, R. W. (1976). Generating random variates using
    transformations with multiple roots. The American Statistician 30, 88-90.

    Polson, N. G., Scott, J. G. and Windle, J. (2013). Bayesian inference for logistic models
    using Polya-Gamma latent variables. Journal of the American Statistical Association 108,
    1339-1349.
    """
    counts = np.asarray(shape, dtype=np.int64)
    drift = np.maximum(0.5 * np.abs(tilt), _SMALLEST_DRIFT)
    if (counts == 1).all():
        return 0.25 * _exit_times(drift, rng)
    ends = np.broadcast_to(counts, drift.shape).cumsum()
    n_summands = int(ends[-1]) if ends.size else 0
    total = np.zeros(drift.shape)
    for start in range(0, n_summands, _CHUNK_SIZE):
        summands = np.arange(start, min(start + _CHUNK_SIZE, n_summands))
        owner = np.searchsorted(ends, summands, side="right")
        total += np.bincount(owner, _exit_times(drift[owner], rng), minlength=total.size)
    return 0.25 * total


def _exit_times(drift: NDArray, rng: np.random.Generator) -> NDArray:
    """Draw the times at which Brownian motions with drifts (n,) > 0 leave (-1, 1)."""
    times = np.empty(drift.shape)
    undecided = np.arange(drift.size)
    while undecided.size:
        n_proposals = max(1, _ROUND_SIZE // undecided.size)
        proposals = _passage_times(drift[undecided], n_proposals, rng)
        rejected = _rejected(proposals, rng)
        first, columns = rejected.argmin(axis=0), np.arange(undecided.size)
        # Entries without an accepted proposal are written again in a later round.
        times[undecided] = proposals[first, columns]
        undecided = undecided[rejected[first, columns]]
    return times


def _passage_times(drift: NDArray, n_rows: int, rng: np.random.Generator) -> NDArray:
    """Draw from inverse Gaussians with means ``1 / drift`` and shape 1, (n_rows, n).

    Michael, Schucany and Haas (1976), for the ratio of the draw to its mean: the ratio and its
    inverse belong to the same chi-square draw. Written so that nothing cancels or overflows.
    """
    normal = rng.standard_normal((n_rows, drift.size))
    excess = normal * normal * (0.5 / drift)
    ratio = np.sqrt(excess * (excess + 2.0))
    ratio += excess
    ratio += 1.0
    smaller_root = rng.random(ratio.shape) * (ratio + 1.0) < ratio
    return np.where(smaller_root, 1.0 / ratio, ratio) / drift


def _rejected(times: NDArray, rng: np.random.Generator) -> NDArray:
    """Reject passage times that are no exit times; NaN stays, or the rounds would never end."""
    uniform = rng.random(times.shape)
    # The first two terms of the series for small times are a lower bound that settles most.
    rejected = uniform >= 1.0 - 3.0 * np.exp(-4.0 / times)
    doubtful = np.nonzero(rejected)
    rejected[doubtful] = uniform[doubtful] >= _acceptance(times[doubtful])
    return rejected


def _acceptance(times: NDArray) -> NDArray:
    """Density of the exit time over its bound, which is twice the density of the time of +1.

    The two forms of the series mirror each other around the time ``2 / pi`` (near the point of
    truncation 0.64 of Polson, Scott and Windle). On its own side each is a power series in a
    number below ``exp(-2 pi)``: with four terms its relative error is below 1e-25, so there is
    no need for bounds from partial sums.
    """
    late = np.maximum(0.5 * np.pi * times, 1.0)
    power = np.exp(-np.maximum(4.0 / times, np.pi**2 * times))
    square = power * power
    series = 1.0 - power * (3.0 - square * (5.0 - 7.0 * power * square))
    return late * np.sqrt(late) * np.exp(0.25 * np.pi * (1.0 / late - late)) * series
