"""Rates, exposures and expected counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_rows
from .._linalg import Array
from ._inputs import number_per_row

# The largest overall rate, reciprocal of it, and weighted count: larger ones would overflow.
_LARGEST_UNIT = 1e100
_LARGEST_WEIGHTED_COUNT = 1e16
# The sum of weighted deviances from larger ones, or smaller than the reciprocal, would overflow.
_LARGEST_EXPECTATION = 1e280


def check_exposure(exposure: Any, n_samples: int, *, zero: bool = False) -> Array:
    """Return the exposure of each row; raise a ValueError that names the first bad one.

    Parameters
    ----------
    exposure : float, array-like of shape (n_samples,) or None
        None is 1.
    n_samples : int
        Number of rows.
    zero : bool
        Whether rows may have none: such can be predicted, but say nothing in `fit`.
    """
    return number_per_row("exposure", 1.0 if exposure is None else exposure, n_samples, zero=zero)


def check_possible(y: Array, exposure: Array) -> None:
    """Raise a ValueError that names the first row with events and without exposure."""
    hint = (
        " There can be no events there, and the deviance would be infinite: check exposure, or "
        "drop the row. (log_predictive_density is -inf there.)"
    )
    check_rows(y, (y == 0.0) | (exposure > 0.0), "y", "0 where exposure is 0", hint)


def check_rate(y: Array, exposure: Array, weights: Array | None) -> float:
    """Return the overall rate; raise a ValueError where numbers are too large to compute with."""
    if weights is not None:
        hint = " Divide all weights by the same number."
        allowed = weights * y <= _LARGEST_WEIGHTED_COUNT
        check_rows(weights * y, allowed, "sample_weight times y", "at most 1e16", hint)
    with np.errstate(over="ignore"):
        rate = overall_rate(y, exposure, weights)
    if not 1.0 / _LARGEST_UNIT < rate < _LARGEST_UNIT:
        raise ValueError(
            f"exposure must be in a unit in which the overall rate, total count / total exposure, "
            f"is between {1.0 / _LARGEST_UNIT:g} and {_LARGEST_UNIT:g}; got the rate {rate:.3g}. "
            "Change the unit of exposure."
        )
    return rate


def overall_rate(y: Array, exposure: Array, weights: Array | None) -> float:
    """Return total count / total exposure, as if half an event had been seen where none was."""
    total = np.average(y, weights=weights) or 0.5 / _n_copies(y, weights)
    return float(total / np.average(exposure, weights=weights))


def deviance_reduction(y: Array, expected: Array, constant: Array) -> Array:
    """Return by how much the Poisson deviance of each count falls from one expectation to another.

    ``2 (y log(expected / constant) - (expected - constant))``: finite, and exact where the two are
    close, which the difference of two deviances is not.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Counts.
    expected, constant : ndarray of shape (n_rows,)
        Expectations, the second of the two with the deviance to be reduced.

    Returns
    -------
    reduction : ndarray of shape (n_rows,)
        Negative where the deviance rises.
    """
    ends = 1.0 / _LARGEST_EXPECTATION, _LARGEST_EXPECTATION
    expected, constant = np.clip(expected, *ends), np.clip(constant, *ends)
    difference = expected - constant
    near = np.abs(difference) < 0.5 * constant
    relative = np.divide(difference, constant, where=near, out=np.zeros_like(difference))
    log_ratio = np.where(near, np.log1p(relative), np.log(expected) - np.log(constant))
    return np.asarray(2.0 * (y * log_ratio - difference))


def deviance_of_constant(y: Array, constant: Array, weights: Array | None) -> float:
    """Return the mean Poisson deviance of counts from their expectations; never zero.

    All rows together have at least 1: what half an event expected where none was seen amounts to.
    """
    mean = np.average(deviance_reduction(y, y, constant), weights=weights)
    return max(float(mean), 1.0 / _n_copies(y, weights))


def _n_copies(y: Array, weights: Array | None) -> float:
    """Return the number of rows, each as often as its weight says, and at least 1."""
    return float(len(y)) if weights is None else max(float(weights.sum()), 1.0)
