"""From inputs to what an axis shows, dates for example."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._checks import check_given, check_rows
from .._linalg import Array
from ._checks import Fitted, as_matrix
from ._frames import check_columns_of_events

Convert = Callable[[Array], Any] | None


def check_convert(convert: Any) -> None:
    """Raise a ValueError unless it is None or can be called."""
    if convert is not None and not callable(convert):
        raise ValueError(
            "convert must be a function from inputs to what their axis shows, such as "
            f"EventGrid.to_dates, or None; got {convert!r}."
        )


def convert_numbers(numbers: Array, convert: Convert) -> Any:
    """Return what numbers of a single column are converted to, one for each."""
    values = np.asarray(numbers if convert is None else convert(numbers))
    if values.shape != numbers.shape:
        raise ValueError(
            "convert must return a value for each number; given numbers of shape "
            f"{numbers.shape} it returned the shape {values.shape}."
        )
    return values


def convert_edges(edges: Sequence[Array], convert: Callable[[Array], Any]) -> tuple[int, Any]:
    """Return which of two columns is converted, and its edges converted.

    It is the one that makes a difference to `convert`.
    """
    found = []
    for axis, edge in enumerate(edges):
        rows = np.tile([float(each[0]) for each in edges], (len(edge), 1))
        rows[:, axis] = edge
        values = convert_rows(rows, convert)
        if values[0] != values[-1]:
            found.append((axis, values))
    if len(found) != 1:
        raise ValueError(
            "convert must change with one column of a map only, for example the dates; it changes "
            f"with {'both' if found else 'neither'}."
        )
    return found[0]


def convert_rows(rows: Array, convert: Callable[[Array], Any]) -> Any:
    """Return what rows of two columns are converted to; raise a ValueError for another shape."""
    values = np.asarray(convert(rows))
    if values.shape != (len(rows),):
        raise ValueError(
            "convert must return a value for each row: for a map, the value that the axis of one "
            f"column shows, as EventGrid.to_dates does. Given rows of shape {rows.shape} it "
            f"returned the shape {values.shape}."
        )
    return values


def are_dates(values: Any) -> bool:
    """Whether values are dates, numpy's or Python's."""
    array = np.asarray(values)
    return array.dtype.kind == "M" or (
        array.dtype.kind == "O"
        and array.size > 0
        and all(isinstance(x, datetime.date) for x in array.flat)
    )


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
