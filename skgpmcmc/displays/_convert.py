"""From inputs to what an axis shows, dates for example."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._linalg import Array

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
            "convert must change with one column, for a map, that of dates for example; it "
            f"changes with {'both' if found else 'neither'}."
        )
    return found[0]


def convert_rows(rows: Array, convert: Callable[[Array], Any]) -> Any:
    """Return what rows of two columns are converted to; raise a ValueError for another shape."""
    values = np.asarray(convert(rows))
    if values.shape != (len(rows),):
        raise ValueError(
            "convert must return a value for each row, for a map: what the axis of one of the two "
            f"columns shows, as EventGrid.to_dates does. Given rows of shape {rows.shape} it "
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
