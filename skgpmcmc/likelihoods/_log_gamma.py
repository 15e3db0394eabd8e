"""Binomial coefficients whose logarithms do not cancel."""

from __future__ import annotations

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
    following = np.asarray(count, dtype=float) + 1.0
    large, small = np.maximum(following, shape), np.minimum(following, shape)
    return _log_ratio(large, small - 1.0) - gammaln(small)


def _log_ratio(x: NDArray, step: NDArray) -> NDArray:
    """Return log Gamma(x + step) - log Gamma(x) for -1 <= step <= x."""
    series = x >= _LARGE
    base = np.where(series, x, _LARGE)
    offset = np.where(series, step, 0.0)
    end = base + offset
    value = offset * np.log(base) + (end - 0.5) * np.log1p(offset / base) - offset
    value += _stirling_series(end) - _stirling_series(base)
    if series.all():
        return value
    return np.where(series, value, gammaln(x + step) - gammaln(x))


def _stirling_series(x: NDArray) -> NDArray:
    """Return log Gamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2 for large x."""
    series = np.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        series = series / (x * x) + coefficient
    return series / x
