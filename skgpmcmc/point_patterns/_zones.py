"""Time zones of dates: all that is compared has one, or nothing has."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

from .._checks import is_missing

# A date, a time, and an offset from UTC, with or without blanks; a date alone ends like "-05".
_WITH_OFFSET = re.compile(
    r"(?P<time>\d{4}\S*[T ]\s*\d\d\S*?)\s*(?P<zone>Z|UTC|[+-]\d\d(?::?\d\d)?)", re.IGNORECASE
)
_ADVICE = (
    "Give all of them a time zone, as pandas.Timestamp('2020-01-01', tz='Europe/Berlin') and "
    "'2020-01-01T00:00+01:00' have one, dates of numpy by pandas.DatetimeIndex(dates, tz=...); or "
    "none of them, by Series.dt.tz_localize(None) of pandas. (EventGrid.to_dates returns UTC.)"
)


def read_offset(text: str) -> datetime.datetime | None:
    """Return the date and time of a string that has an offset from UTC; None if it has none.

    Raises
    ------
    ValueError
        For what is no date and time but for its end.
    """
    match = _WITH_OFFSET.fullmatch(text.strip())
    if match is None:
        return None
    zone = match["zone"].upper()
    return datetime.datetime.fromisoformat(match["time"] + ("Z" if zone == "UTC" else zone))


def has_zone(value: Any) -> bool:
    """Whether a date has a time zone; those of numpy have none, nor has a day without a time."""
    if isinstance(value, str):
        return read_offset(value) is not None
    return getattr(value, "tzinfo", None) is not None


def zone_of_all(name: str, values: Iterable[Any]) -> bool | None:
    """Return whether dates have a time zone; None if there is no date.

    Parameters
    ----------
    name : str
        Of the parameter, for errors.
    values : iterable
        Dates, as users pass them; missing ones do not count.

    Raises
    ------
    ValueError
        If some have one and some have none.
    """
    first: dict[bool, tuple[int, Any]] = {}
    for entry, value in enumerate(values):
        if not is_missing(value):
            first.setdefault(has_zone(value), (entry, value))
    if len(first) > 1:
        (i, zoned), (j, naive) = first[True], first[False]
        raise ValueError(
            f"{name} must hold dates with a time zone, or dates without, not both: entry {i}, "
            f"{zoned}, has one, and entry {j}, {naive}, has none. {_ADVICE}"
        )
    return next(iter(first), None)


def check_same_zone(name: str, zoned: bool | None, other_name: str, other: bool | None) -> None:
    """Raise a ValueError for dates with a time zone beside dates without one."""
    if None in (zoned, other) or zoned == other:
        return
    has, lacks = (name, other_name) if zoned else (other_name, name)
    raise ValueError(
        f"{name} cannot be compared with {other_name}: the dates of {has} have a time zone, those "
        f"of {lacks} have none, so their order is not known. {_ADVICE}"
    )
