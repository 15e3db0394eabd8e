"""Logarithms of gamma functions, in combinations that would cancel if each were taken alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

# From here on Stirling's series is exact to rounding.
_LARGE = 16.0
_STIRLING = (1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0)


def log_binomial(count: ArrayLike, shape: ArrayLike) -> NDArray:
    """Return log Gamma(count + shape) - log Gamma(shape) - log(count!).

    The coefficient of the negative binomial distribution; with ``shape = n - count + 1`` it is
    that of the binomial distribution. The error is one of rounding of the smaller of the two
    arguments' own logarithms, however large the other one is.

    Parameters
    ----------
    count : array-like
        Whole numbers >= 0.
    shape : array-like
        Positive. Broadcast with `count`.

    Examples
    --------
    >>> round(float(log_binomial(3.0, 1e8)), 6)
    53.470283
    >>> float(np.exp(log_binomial(2.0, 5.0 - 2.0 + 1.0)).round(6))
    10.0
    """
    count, shape = np.asarray(count, dtype=float), np.asarray(shape, dtype=float)
    large, small = np.maximum(count + 1.0, shape), np.minimum(count + 1.0, shape)
    series = large >= _LARGE
    base = np.where(series, large, _LARGE)
    step = np.where(series, small - 1.0, 0.0)
    # log Gamma(base + step) - log Gamma(base), for -1 <= step <= base.
    end = base + step
    value = step * np.log(base) + (end - 0.5) * np.log1p(step / base) - step
    value += _stirling_series(end) - _stirling_series(base)
    if not series.all():
        value = np.where(series, value, gammaln(count + shape) - gammaln(large))
    return value - gammaln(small)


def log_stirling_ratio(x: float) -> float:
    """Return x log x - x - log Gamma(x), accurate for any positive x."""
    if x < _LARGE:
        return x * math.log(x) - x - math.lgamma(x)
    square = x**-2
    series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x
    return 0.5 * math.log(x / (2.0 * math.pi)) - series


def _stirling_series(x: NDArray) -> NDArray:
    """Return log Gamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2 for large x."""
    inverse = 1.0 / x
    series = np.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        series = series * inverse**2 + coefficient
    return series * inverse
