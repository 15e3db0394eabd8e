"""Columns of events, and what the other parameters say about each of them, as numbers."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks import as_elements, check_container, check_given, is_masked, refuse_inexact
from ._calendar import Calendar, is_date

# Beyond it not every whole number is a double.
_LARGEST_INTEGER = 2**53


class Where(NamedTuple):
    """What errors add to names of parameters, if a grid is given other events than it counted.

    Attributes
    ----------
    values : str
        To that of the values.
    counted : str
        To those of the events that were counted, and of their bins and window.
    """

    values: str
    counted: str


HERE = Where("", "")


class Columns(NamedTuple):
    """Columns of events, as users pass them.

    Attributes
    ----------
    values : list of ndarray of shape (n_events,)
        Numbers or dates.
    labels : tuple of str
        What errors call them.
    names : tuple or None
        Those of a data frame.
    """

    values: list[NDArray]
    labels: tuple[str, ...]
    names: tuple[Any, ...] | None


@dataclass(frozen=True, eq=False)
class Axes:
    """How the columns of events become inputs.

    Attributes
    ----------
    labels : tuple of str
        What errors call the columns.
    names : tuple or None
        Those of the columns of a data frame.
    date_axis : int or None
        The column that holds dates.
    calendar : Calendar or None
        Of that column.
    """

    labels: tuple[str, ...]
    names: tuple[Any, ...] | None = None
    date_axis: int | None = None
    calendar: Calendar | None = None

    def numbers(self, name: str, values: Any, axis: int, where: Where = HERE) -> NDArray:
        """Return values of one axis as finite floats; raise a ValueError that says what is bad."""
        name = f"{name} of {self.labels[axis]}{where.values}"
        if axis == self.date_axis and self.calendar is not None:
            return self.calendar.to_numbers(name, values, where.counted)
        return _read_numbers(name, values, where)

    def inputs(self, name: str, columns: Columns, where: Where = HERE) -> NDArray:
        """Return columns of events as inputs of shape (n_events, n_axes)."""
        self.check_names(name, columns.names)
        if len(columns.values) != len(self.labels):
            raise ValueError(
                f"{name}{where.values} must have {len(self.labels)} columns, "
                f"{', '.join(self.labels)}; got {len(columns.values)}."
            )
        return np.column_stack(
            [self.numbers(name, column, axis, where) for axis, column in enumerate(columns.values)]
        )

    def check_names(self, name: str, names: tuple[Any, ...] | None) -> None:
        """Raise a ValueError for columns of other names, or in another order, as scikit-learn.

        Names that are no strings, such as pandas' own of 0, 1, ..., may be others.
        """
        own = self.names
        if own is None or names is None or names == own:
            return
        text = f"The column names of {name} should match those of the events that were counted.\n"
        if set(names) == set(own):
            raise ValueError(text + "Column names must be in the same order as they were there.\n")
        if not all(isinstance(column, str) for column in (*own, *names)):
            return
        text += _listed("Column names unseen there", names, own)
        raise ValueError(text + _listed("Column names that are now missing", own, names))

    def describe(self, point: NDArray) -> str:
        """Return a point as text, its date as a date."""
        parts = [f"{number:.6g}" for number in point]
        if self.date_axis is not None and self.calendar is not None:
            date = self.calendar.to_dates(point[self.date_axis])
            parts[self.date_axis] = f"{date} UTC" if self.calendar.zoned else str(date)
        return f"({', '.join(parts)})"


def _listed(title: str, names: tuple[Any, ...], others: tuple[Any, ...]) -> str:
    """Return a list of the names that are not among the others, nothing if there are none."""
    missing = [column for column in names if column not in others]
    return "\n- ".join([f"{title}:", *missing]) + "\n" if missing else ""


def column_names(events: Any) -> tuple[Any, ...] | None:
    """Return the names of a data frame's columns, None for anything else."""
    is_frame = hasattr(events, "columns") and hasattr(events, "__getitem__")
    return tuple(events.columns) if is_frame else None


def split_columns(name: str, events: Any) -> Columns:
    """Return the columns of events, and what to call them.

    Parameters
    ----------
    name : str
        Of the parameter, for errors.
    events : array-like of shape (n_events,) or (n_events, n_axes), Series or DataFrame

    Raises
    ------
    ValueError
        For another number of dimensions, no columns, and masked entries.
    TypeError
        For what holds no values in memory, or holds them in no order.
    """
    names = column_names(events)
    if names is not None:
        columns = _read_frame(name, events, names)
        labels = tuple(f"column {column!r}" for column in names)
    else:
        check_container(name, events)
        if is_masked(events):
            raise ValueError(f"{name} must not be masked; pass {name}.compressed() or rows of it.")
        try:
            array = _as_array(events)
        except ValueError:  # ragged
            array = np.empty(0).reshape(1, 1, 0)
        if array.ndim not in (1, 2):
            raise ValueError(
                f"{name} must be times or dates of shape (n_events,), or coordinates of shape "
                f"(n_events, n_axes), one row for each event; got {reprlib.repr(events)}."
            )
        columns = [array] if array.ndim == 1 else list(array.T)
        labels = tuple(f"column {axis}" for axis in range(len(columns)))
    if not columns or any(column.ndim != 1 for column in columns):
        raise ValueError(f"{name} must have one or more columns, all of different names.")
    return Columns(columns, labels, names)


def _read_frame(name: str, frame: Any, names: tuple[Any, ...]) -> list[NDArray]:
    try:
        return [_as_array(frame[column]) for column in names]
    except TypeError as error:
        raise ValueError(
            f"{name} must be an array or a data frame whose columns can be read; got a "
            f"{type(frame).__name__}. Pass its values, such as {name}.collect() of polars."
        ) from error


def _as_array(values: Any) -> NDArray:
    """Return an array; of dates of polars with a time zone, which numpy drops, objects."""
    if getattr(getattr(values, "dtype", None), "time_zone", None) is None:
        return np.asarray(values)
    dates = np.empty(len(values), dtype=object)
    dates[:] = values.to_list()
    return dates


def find_date_axis(columns: Columns) -> int | None:
    """Return the column that holds dates; raise a ValueError where several do."""
    found = [axis for axis, column in enumerate(columns.values) if is_date(column)]
    if len(found) > 1:
        names = ", ".join(columns.labels[axis] for axis in found)
        raise ValueError(f"events must have one column of dates at most; got dates in {names}.")
    return found[0] if found else None


def split_bins(bins: Any, labels: tuple[str, ...]) -> list[Any]:
    """Return what `bins` says about each axis: an int, or a sequence of edges."""
    if is_whole(bins):
        return [bins] * len(labels)
    entries = _entries(bins)
    if len(labels) == 1 and len(entries) > 1:
        return [entries]
    if len(entries) != len(labels):
        raise ValueError(
            "bins must be a whole number, one for each column of the events, or a sequence of "
            f"edges for each column, of which there are {len(labels)}; got {reprlib.repr(bins)}."
        )
    return entries


def split_window(window: Any, labels: tuple[str, ...]) -> list[Any]:
    """Return what `window` says about each axis: a pair of bounds, or None."""
    if window is None:
        return [None] * len(labels)
    entries = _entries(window)
    if len(entries) == 2 and all(entry is not None and is_scalar(entry) for entry in entries):
        return [entries] * len(labels)
    pairs = [entry if entry is None else _entries(entry) for entry in entries]
    if len(pairs) != len(labels) or any(pair is not None and len(pair) != 2 for pair in pairs):
        raise ValueError(
            "window must be (lower, upper), for every column of the events, or one such pair for "
            f"each, of which there are {len(labels)}; got {reprlib.repr(window)}."
        )
    return pairs


def is_whole(value: Any) -> bool:
    """Whether a number of cells is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_scalar(value: Any) -> bool:
    """Whether a value is one number or date rather than several."""
    if isinstance(value, str):
        return True
    try:
        iter(value)
    except TypeError:
        return True
    return False


def _entries(values: Any) -> list[Any]:
    """Return the elements of a sequence; of what is none, nothing."""
    if is_scalar(values) or isinstance(values, Mapping | Set):
        return []
    try:
        return list(values)
    except TypeError:  # such as polars' lazy frames
        return []


def _read_numbers(name: str, values: Any, where: Where) -> NDArray:
    check_given(name, values)
    array = np.asarray(values)
    if is_date(array):
        raise ValueError(
            f"{name} holds dates, but the events{where.counted} are numbers. Pass both as dates, "
            "or both as numbers."
        )
    try:
        if array.dtype.kind not in "iufO" or any(isinstance(x, str) for x in array.flat):
            raise TypeError
        numbers = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be real numbers or dates; got {reprlib.repr(array.tolist())}. Strings "
            "become dates by pandas.to_datetime or numpy.array(..., dtype='datetime64[s]')."
        ) from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(
            f"{name} must be finite; entry {bad[0]} is {numbers.flat[bad[0]]}, one of {bad.size} "
            "that are not. Leave them out."
        )
    if array.dtype.kind in "iuO" and (abs(numbers) > _LARGEST_INTEGER).any():
        raise ValueError(
            f"{name} must be between -2**53 and 2**53, where float64 holds all whole numbers; got "
            f"{numbers.flat[np.argmax(abs(numbers))]:.17g}. Subtract an origin, or pass dates."
        )
    elements = as_elements(values)
    if elements is not None:
        refuse_inexact(name, "it", elements)
    return numbers
