"""Draws of Polya-Gamma variables, vectorised over the entries.

The logistic likelihood is a mixture of Gaussian ones over a Polya-Gamma precision (Polson, Scott
and Windle 2013). ``PG(b, c) = J / 4``; for b = 1, J is the time at which a Brownian motion with
drift ``z = |c| / 2`` leaves the interval (-1, 1). Its density is an alternating series (Devroye
2009, section 2; for any b Biane, Pitman and Yor 2001, section 3).

For 0 < b <= 1 the rejection sampler here evaluates that series, but from another proposal than
Devroye's and Polson, Scott and Windle's: the time at which the drifting motion first meets b. That
is the inverse Gaussian distribution with mean b / z and shape b^2, which needs neither a truncation
nor mixture weights. ``(1 + exp(-2 z))^b`` times its density bounds the density of J (for b = 1
because J is the earlier of the times of +1 and -1), so a draw takes at most two proposals on
average. Few numpy calls count for more than few proposals: a call's overhead is the cost of
hundreds of proposals. Larger shapes are sums of such variables.

The largest shapes are drawn at a cost that does not depend on the shape. ``PG(b, c)`` is the sum of
``g_k / (2 pi^2 ((k - 1/2)^2 + d^2))`` over k = 1, 2, ..., with ``d = c / (2 pi)`` and independent
g_k ~ Gamma(b, 1) (Polson, Scott and Windle 2013, equation 1). The first terms are drawn, and the
sum of all others is replaced by a constant and an inverse Gaussian variable that have the sum's
mean, variance and third cumulant. An inverse Gaussian is what the whole sum becomes for a large c,
so that no number of terms has to grow with c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_N_LEADING_TERMS = 8
_HALF_INTEGERS = np.arange(_N_LEADING_TERMS)[:, np.newaxis] + 0.5

# The integrals below have their nearest poles at (1 +- i) / 2: 20 nodes are exact to rounding.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = 0.5 * (_NODES.reshape(-1, 1) + 1.0), 0.5 * _WEIGHTS.reshape(-1, 1)


def polya_gamma_series(shape: NDArray, tilt: NDArray, rng: np.random.Generator) -> NDArray:
    """Draw independent PG(shape, tilt), almost exactly.

    Parameters
    ----------
    shape, tilt : ndarray of shape (n,)
        Positive, and non-negative. NaN tilts give NaN.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    Mean, variance and third cumulant are exact to 1e-8 of themselves; the excess kurtosis is wrong
    by less than 0.0024 / shape, most where the tilt is near 200.

    References
    ----------
    Michael, J. R., Schucany, W. R. and Haas, R. W. (1976). Generating random variates using
    transformations with multiple roots. The American Statistician 30, 88-90.
    """
    # In units of 1 / (2 pi^2 unit) nothing overflows, and the mean is of order one.
    unit = _N_LEADING_TERMS + tilt / (2.0 * np.pi)
    first = rng.standard_gamma(shape, size=(_N_LEADING_TERMS, shape.size))
    first /= (_HALF_INTEGERS / unit) ** 2 + (1.0 - _N_LEADING_TERMS / unit) ** 2
    sums = _sums_of_powers(unit)
    # An inverse Gaussian variable's third cumulant times its mean is 3 variances squared.
    mean = 1.5 * sums[1] ** 2 / sums[2]
    rest = mean * inverse_gaussian(shape * mean**2 / sums[1] * unit, 1, rng)[0]
    total = first.sum(axis=0) / unit + shape * (np.maximum(sums[0] - mean, 0.0) + rest)
    return total / (2.0 * np.pi**2 * unit)


def inverse_gaussian(shape: NDArray, n_rows: int, rng: np.random.Generator) -> NDArray:
    """Draw from inverse Gaussians with mean 1 and shapes (n,), (n_rows, n).

    Michael, Schucany and Haas (1976): the draw and its inverse belong to the same chi-square
    draw. Written so that nothing cancels or overflows.
    """
    normal = rng.standard_normal((n_rows, shape.size))
    half_square = normal * normal * (0.5 / shape)
    draw = np.sqrt(half_square * (half_square + 2.0))
    draw += half_square
    draw += 1.0
    smaller_root = rng.random(draw.shape) * (draw + 1.0) < draw
    return np.where(smaller_root, 1.0 / draw, draw)


def _sums_of_powers(unit: NDArray) -> list[NDArray]:
    """Return unit^(2 p - 1) times the sum over the other terms of ((k - 1/2)^2 + d^2)^-p.

    For p = 1, 2, 3, by the Euler-Maclaurin formula at midpoints. The integral over k is one over
    v in (0, 1) with ``k = K + unit v / (1 - v)``.
    """
    near = _N_LEADING_TERMS / unit
    left = 1.0 - _NODES
    inverse = 1.0 / ((near * left + _NODES) ** 2 + ((1.0 - near) * left) ** 2)
    powers = [inverse * (left * left * inverse) ** (p - 1) for p in (1, 2, 3)]
    integrals = [(_WEIGHTS * power).sum(axis=0) for power in powers]
    inverse, step2 = 1.0 / (near**2 + (1.0 - near) ** 2), (1.0 / unit) ** 2
    return [
        integral
        - step2 * _derivative(p, near, inverse) / 24.0
        + step2**2 * _third_derivative(p, near, inverse) * 7.0 / 5760.0
        for p, integral in enumerate(integrals, start=1)
    ]


def _derivative(p: int, t: NDArray, inverse: NDArray) -> NDArray:
    """Return minus the derivative of (t^2 + c)^-p, given 1 / (t^2 + c)."""
    return 2.0 * p * t * inverse ** (p + 1)


def _third_derivative(p: int, t: NDArray, inverse: NDArray) -> NDArray:
    """Return minus the third derivative of (t^2 + c)^-p."""
    cubic = 8.0 * p * (p + 1) * (p + 2) * t**3 * inverse ** (p + 3)
    return cubic - 12.0 * p * (p + 1) * t * inverse ** (p + 2)


# Densities for a smaller drift agree with this one to rounding, and nothing divides by zero.
_SMALLEST_DRIFT = 1e-9
# The square of a smaller shape would underflow.
_SMALLEST_LEVEL = 1e-150

# A round makes so many proposals (several for each undecided entry) at hardly more than the cost
# of one, so that the number of rounds hardly grows with the number of entries.
_ROUND_SIZE = 256

# Polya-Gamma variables with shape one that are drawn together: bounds the memory.
_CHUNK_SIZE = 2**17

# Larger shapes take the series, whose cost does not depend on the shape.
_LARGEST_EXACT = 4.0

# Of the series for shapes below one: so many terms are exact to 1e-16 up to the latest time, and
# the acceptance is below 3e-14 beyond.
_N_SERIES_TERMS = 24
_LATEST_TIME = 30.0


def polya_gamma(shape: ArrayLike, tilt: ArrayLike, rng: np.random.Generator) -> NDArray:
    """Draw independent Polya-Gamma variables PG(shape, tilt).

    Parameters
    ----------
    shape : array-like, scalar or of shape (n,)
        Finite and >= 0; zero gives zero.
    tilt : array-like of shape (n,)
        Finite; only the absolute values, at most 1e300, matter. NaN gives NaN.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n,)
        The draws, finite, and positive but for shapes of zero. Their means are
        ``shape * tanh(tilt / 2) / (2 * tilt)``.

    Notes
    -----
    For shapes up to 4 the distribution is exact up to rounding: PG(b, c) is the sum of as many
    independent PG(1, c) as b is long, and of one of the fractional shape that is left, at a cost
    that is proportional to b. Larger shapes take a series of gamma variables, with the exact mean,
    variance and third cumulant, and an excess kurtosis that is wrong by less than 0.0024 / b: the
    total variation distance is about 4e-5 at most, which no Monte Carlo run of fewer than 1e8
    draws can see. The cost does not depend on the shape.

    References
    ----------
    Biane, P., Pitman, J. and Yor, M. (2001). Probability laws related to the Jacobi theta and
    Riemann zeta functions, and Brownian excursions. Bulletin of the American Mathematical Society
    38, 435-465.

    Devroye, L. (2009). On exact simulation algorithms for some distributions related to Jacobi
    theta functions. Statistics and Probability Letters 79, 2251-2259.

    Polson, N. G., Scott, J. G. and Windle, J. (2013). Bayesian inference for logistic models
    using Polya-Gamma latent variables. Journal of the American Statistical Association 108,
    1339-1349.
    """
    drift = np.maximum(0.5 * np.abs(tilt), _SMALLEST_DRIFT)
    shapes = np.broadcast_to(np.asarray(shape, dtype=float), drift.shape)
    if (shapes == 1.0).all():
        return 0.25 * _exit_times(drift, rng)
    large = np.flatnonzero(shapes > _LARGEST_EXACT)
    exact = np.where(shapes > _LARGEST_EXACT, 0.0, shapes)
    whole = np.floor(exact)
    level = exact - whole
    times = _sums_of_exit_times(whole.astype(np.int64), drift, rng)
    some = np.flatnonzero(level)
    if some.size:
        times[some] += _exit_times(drift[some], rng, level[some])
    draws = 0.25 * times
    if large.size:
        draws[large] = polya_gamma_series(shapes[large], np.abs(tilt)[large], rng)
    return draws


def _sums_of_exit_times(counts: NDArray, drift: NDArray, rng: np.random.Generator) -> NDArray:
    """Return sums of so many independent exit times each."""
    ends = counts.cumsum()
    n_summands = int(ends[-1]) if ends.size else 0
    total = np.zeros(drift.shape)
    for start in range(0, n_summands, _CHUNK_SIZE):
        summands = np.arange(start, min(start + _CHUNK_SIZE, n_summands))
        owner = np.searchsorted(ends, summands, side="right")
        total += np.bincount(owner, _exit_times(drift[owner], rng), minlength=total.size)
    return total


def _exit_times(drift: NDArray, rng: np.random.Generator, level: NDArray | None = None) -> NDArray:
    """Draw the times at which Brownian motions with drifts (n,) > 0 leave (-1, 1).

    With levels b in (0, 1), what they are for b = 1: 4 PG(b, c), of the drift c / 2.
    """
    times = np.empty(drift.shape)
    undecided = np.arange(drift.size)
    while undecided.size:
        n_proposals = max(1, _ROUND_SIZE // undecided.size)
        if level is None:
            proposals = _passage_times(drift[undecided], n_proposals, rng)
            rejected = _rejected(proposals, rng)
        else:
            b = np.maximum(level[undecided], _SMALLEST_LEVEL)
            scaled = np.maximum(b * drift[undecided], _SMALLEST_DRIFT)
            proposals = b * b * _passage_times(scaled, n_proposals, rng)
            rejected = _rejected_below_one(proposals, b, rng)
        first, columns = rejected.argmin(axis=0), np.arange(undecided.size)
        # Entries without an accepted proposal are written again in a later round.
        times[undecided] = proposals[first, columns]
        undecided = undecided[rejected[first, columns]]
    return times


def _passage_times(drift: NDArray, n_rows: int, rng: np.random.Generator) -> NDArray:
    """Draw from inverse Gaussians with means ``1 / drift`` and shape 1, (n_rows, n)."""
    return inverse_gaussian(drift, n_rows, rng) / drift


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


def _rejected_below_one(times: NDArray, level: NDArray, rng: np.random.Generator) -> NDArray:
    """Reject proposals (n_rows, n) for levels (n,) below one; NaN stays."""
    uniform = rng.random(times.shape)
    # Again the first two terms of the series are a lower bound.
    rejected = uniform >= 1.0 - (2.0 + level) * np.exp(-2.0 * (1.0 + level) / times)
    doubtful = np.nonzero(rejected)
    rejected[doubtful] = uniform[doubtful] >= _acceptance_below_one(
        times[doubtful], level[doubtful[1]]
    )
    return rejected


def _acceptance_below_one(times: NDArray, level: NDArray) -> NDArray:
    """Density of 4 PG(b, 0) over 2^b times that of the first time at the level b < 1.

    With the binomial coefficient C of -b over n the terms are ``C (b + 2 n) / b`` times
    ``exp(-2 n (n + b) / x)`` (Biane, Pitman and Yor 2001). Between 0 and 1, and decreasing in x.
    """
    order = np.arange(1.0, _N_SERIES_TERMS + 1.0)[:, np.newaxis]
    steps = np.cumprod(1.0 + level / order, axis=0)
    coefficient = (level + 2.0 * order) / order * np.roll(steps, 1, axis=0)
    coefficient[0] = level + 2.0
    coefficient[::2] *= -1.0
    series = coefficient * np.exp(-2.0 * order * (order + level) / np.minimum(times, _LATEST_TIME))
    return np.where(times < _LATEST_TIME, np.maximum(1.0 + series.sum(axis=0), 0.0), 0.0)
