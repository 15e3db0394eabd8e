"""Where events were, as users say it."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from .._checks import check_given
from .._linalg import Array
from ..likelihoods._validation import check_rows
from ._checks import Fitted, as_matrix
from ._frames import check_columns_of_events

_TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


def check_events(fitted: Fitted, X: Any, events: Any, n_columns: int) -> Array:
    """Return where events were, a row for each, in the columns of the inputs.

    Parameters
    ----------
    fitted : Fitted
    X : array-like, DataFrame or None
        Where the rate is drawn.
    events : array-like of shape (n_events,) or (n_events, n_columns), or DataFrame
        In the units of the inputs.
    n_columns : int
        Of the inputs.

    Raises
    ------
    ValueError
        For another shape, other columns, dates, and what is not finite.
    """
    check_given("events", events)
    array = np.asarray(events)
    if array.dtype.kind in "mM" or any(isinstance(x, _TIMES) for x in _first_row(array)):
        raise ValueError(
            "events must be in the units of X, which are numbers; got dates or times. Pass those "
            "of an EventGrid: EventGrid.events, or EventGrid.to_inputs(events)."
        )
    is_vector = array.ndim == 1 and n_columns == 1
    if array.size == 0 and (is_vector or array.shape == (0, n_columns)):
        return np.empty((0, n_columns))
    numbers = as_matrix("events", array[:, None] if is_vector else array, n_columns)
    is_finite = np.asarray(np.isfinite(numbers).all(axis=1))
    check_rows(numbers, is_finite, "events", "finite", " Leave it out.")
    check_columns_of_events(fitted, X, events)
    return numbers


def _first_row(array: Any) -> list[Any]:
    """Return objects of all columns."""
    if array.dtype.kind != "O" or not array.size or not array.ndim:
        return []
    return np.atleast_1d(array[0]).tolist()
