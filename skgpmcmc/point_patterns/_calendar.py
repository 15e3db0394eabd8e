"""Dates as numbers: so many units of time since an origin."""

from __future__ import annotations

import datetime
import re
import reprlib
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks import as_floats, check_given, is_missing
from ._zones import check_same_zone, read_offset, zone_of_all

# 290,000 years fit into 64 bits; the calendar's resolution.
_RESOLUTION = "datetime64[us]"
# Of one unit: everything that has the same length at every date.
_MICROSECONDS = {
    "W": 604_800_000_000,
    "D": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
# That many fit into 64 bits, in either direction.
_MOST_MICROSECONDS = 2.0**62
_ALLOWED_UNITS = (
    "a number and one of W, D, h, m, s, ms, us, such as 'D' or '365.25D'; a numpy.timedelta64 or "
    "a datetime.timedelta. Months and years have no fixed length: pass '365.25D' for years"
)


class Dates(NamedTuple):
    """Dates to the microsecond.

    Attributes
    ----------
    values : ndarray of datetime64
        In UTC, if they had a time zone.
    zoned : bool or None
        Whether they had; None of no dates.
    """

    values: NDArray[np.datetime64]
    zoned: bool | None


@dataclass(frozen=True)
class Calendar:
    """Both ways between dates and units of time since the origin.

    Attributes
    ----------
    origin : numpy.datetime64
        The date whose number is 0.
    unit : int
        Microseconds.
    source : str
        Of which parameter the origin is, for errors.
    zoned : bool or None
        Whether that had a time zone.
    """

    origin: np.datetime64
    unit: int
    source: str
    zoned: bool | None

    def to_numbers(self, name: str, values: Any, where: str = "") -> NDArray:
        """Return the units of time since the origin.

        Parameters and errors are those of `read_dates`; `where` is what errors add to the source.
        """
        dates = read_dates(name, values)
        check_same_zone(name, dates.zoned, f"{self.source}{where}", self.zoned)
        return (dates.values - self.origin).astype(np.int64) / self.unit

    def to_dates(self, numbers: Any) -> NDArray[np.datetime64]:
        """Return the dates of so many units since the origin, to the microsecond."""
        numbers = as_floats("X", numbers)
        with np.errstate(invalid="ignore", over="ignore"):
            steps = numbers * self.unit
            is_date = np.abs(steps) < _MOST_MICROSECONDS
        if not is_date.all():
            raise ValueError(
                "X must be finite, and dates within 140,000 years of the origin "
                f"{self.origin}; got {numbers[~is_date].flat[0]}."
            )
        return self.origin + np.rint(steps).astype("timedelta64[us]")


def make_calendar(name: str, origin: Any, unit: Any) -> Calendar:
    """Return a calendar; raise a ValueError for what is no date or no unit of time.

    Parameters
    ----------
    name : str
        Of the parameter that the origin comes from, for errors.
    origin : date
        As users pass it.
    unit : object
        As users pass it; None is a day.
    """
    date = read_dates(name, origin)
    if date.values.ndim:
        raise ValueError(f"{name} must be one date; got {reprlib.repr(origin)}.")
    start = np.datetime64(date.values.item(), "us")
    return Calendar(start, parse_unit("D" if unit is None else unit), name, date.zoned)


def refuse_calendar(unit: Any, origin: Any) -> None:
    """Raise a ValueError for parameters that only dates have."""
    for name, value in (("unit", unit), ("origin", origin)):
        if value is not None:
            raise ValueError(
                f"{name} is for dates, but the events are numbers; got {name}={value!r}. Leave it "
                "out, or pass the events as numpy.datetime64, datetime or pandas dates. (An empty "
                "list has no dates: if there are no events, pass an empty part of the dates of the "
                "bins, bins[:0].)"
            )


def parse_unit(unit: Any) -> int:
    """Return a unit of time in microseconds; raise a ValueError that says what a unit is."""
    if isinstance(unit, datetime.timedelta):
        return _positive(unit // datetime.timedelta(microseconds=1), unit)
    if isinstance(unit, np.timedelta64):
        # numpy has no name for the unit but in the type's.
        name, step = np.datetime_data(unit.dtype)
        if name in _MICROSECONDS and not np.isnat(unit):
            # In Python's integers: numpy's wrap around without a word.
            return _positive(int(unit.astype(np.int64)) * step * _MICROSECONDS[name], unit)
    elif isinstance(unit, str):
        match = re.fullmatch(r"\s*(\d*\.?\d*)\s*([A-Za-z]+)\s*", unit)
        if match and match[2] in _MICROSECONDS and match[1] != ".":
            microseconds = float(match[1] or 1) * _MICROSECONDS[match[2]]
            return _positive(round(min(microseconds, _MOST_MICROSECONDS)), unit)
    raise ValueError(f"unit must be {_ALLOWED_UNITS}; got {unit!r}.")


def _positive(microseconds: int, unit: Any) -> int:
    if not 1 <= microseconds < _MOST_MICROSECONDS:
        raise ValueError(f"unit must be from 1 microsecond to 140,000 years; got {unit!r}.")
    return microseconds


def is_date(values: NDArray) -> bool:
    """Whether an array holds dates, of numpy or as objects; strings are none."""
    if values.dtype.kind == "M":
        return True
    return values.dtype.kind == "O" and any(
        isinstance(value, datetime.date | np.datetime64) for value in values.flat
    )


def read_dates(name: str, values: Any) -> Dates:
    """Return dates, in UTC where they have a time zone, to the microsecond.

    Parameters
    ----------
    name : str
        Of the parameter, for errors.
    values : array-like
        Of numpy's, pandas' or Python's dates, or strings in ISO 8601.

    Raises
    ------
    ValueError
        For what is no date, missing ones, those too early or late for 64 bits, and such with a
        time zone beside such without.
    """
    check_given(name, values)
    array = np.asarray(values)
    try:
        dates = _parse(array)
    except (TypeError, ValueError, OverflowError, Warning):
        raise ValueError(
            f"{name} must hold dates; got {reprlib.repr(array.tolist())}. Pass numpy.datetime64, "
            "datetime or pandas.Timestamp objects, or strings such as '1851-03-15'."
        ) from None
    missing = np.flatnonzero(np.isnat(dates))
    if missing.size:
        raise ValueError(
            f"{name} must not hold missing dates (NaT), but holds {missing.size} of {dates.size}, "
            f"the first as entry {missing[0]}. Leave them out."
        )
    result = dates.astype(_RESOLUTION)
    years = dates.astype("datetime64[Y]")
    # The cast to a finer resolution wraps around without a word.
    is_near = abs(years.astype(np.int64)) < 140_000
    if not (is_near & (result.astype("datetime64[Y]") == years)).all():
        raise ValueError(f"{name} must hold dates within 140,000 years of 1970.")
    # An array of numpy's dates is of one kind.
    each = array.flat if array.dtype.kind in "OU" else array.flat[:1]
    return Dates(result, zone_of_all(name, each))


def _parse(array: NDArray) -> NDArray[np.datetime64]:
    if array.dtype.kind in "OU":
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy's, of time zones that it does not know
            dates = [_in_utc(value) for value in array.astype(object).flat]
        return np.array(dates, dtype=_RESOLUTION).reshape(array.shape)
    if array.dtype.kind != "M":
        raise TypeError
    return array


def _in_utc(value: Any) -> np.datetime64:
    if is_missing(value):  # pandas' NaT is no date that numpy can read
        return np.datetime64("NaT")
    if isinstance(value, str):
        value = read_offset(value) or value
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(value, datetime.date | np.datetime64 | str):
        return np.datetime64(value).astype(_RESOLUTION)
    raise TypeError
