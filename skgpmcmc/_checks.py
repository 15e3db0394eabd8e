"""Checks of arguments, before numpy silently converts them to wrong numbers.

What has to be a single vector or number is checked by `check_given`, rows of numbers by
`check_rows_of_numbers`. Containers of other packages are told by their methods: none of these
packages is imported.
"""

from __future__ import annotations

import datetime
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

# From this number on float64 does not hold every whole number.
_FIRST_GAP = 2.0**53
_SUBTRACT = (
    "Subtract a number such as the smallest one, while they are whole numbers, and the same one in "
    "fit and predict."
)
_ROUND = "Round it to one that float64 holds, such as by float(...), if that is what you mean."
# An object with one of these attributes can be read by numpy.
_READABLE = ("__array__", "__array_interface__", "__array_struct__", "__dataframe__")
# What is no container at all is left to those who say how many numbers they need.
_SINGLE = (type(None), Number, str, bytes, datetime.date, datetime.timedelta, datetime.time)
_DATES = (
    "Pass the number of days or seconds since a date: in a data frame X['day'] = (X['day'] - "
    "start) / numpy.timedelta64(1, 'D'), else a column of shape (n_samples, 1), with the same date "
    "as start in fit and predict. For dates of events skgpmcmc.point_patterns.bin_events does this "
    "for you."
)
_DURATIONS = "Pass their number of days or seconds, such as t / numpy.timedelta64(1, 'D')."
_TIMES_OF_DAY = "Pass their number of hours, such as t.hour + t.minute / 60."


def check_given(name: str, values: Any) -> None:
    """Raise an error for masked values, and for what holds none in memory or in no order.

    Parameters
    ----------
    name : str
        Of the parameter.
    values : object
        As the user passed it.

    Raises
    ------
    TypeError
        For lazy frames, sets and the like; the message says how to make an array.
    ValueError
        For masked values.
    """
    check_container(name, values)
    refuse_masked(name, values)


def check_container(name: str, values: Any) -> None:
    """Raise a TypeError for what holds no values in memory, or holds them in no order."""
    if _has(values, "toarray"):
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required. Pass "
            f"{name}.toarray(), or what OneHotEncoder(sparse_output=False) makes."
        )
    way_out = _way_out(name, values)
    if way_out:
        raise TypeError(
            f"{name} must be an array, a list or a data frame, with its values in memory; got an "
            f"object of type {type(values).__name__}. {way_out}"
        )


def _way_out(name: str, values: Any) -> str:
    """Return advice for values that numpy cannot read in their order; "" if it can."""
    if _has(values, "__dask_graph__") and values.__dask_graph__() is not None:  # xarray's may be
        return f"Pass {name}.compute()."
    if isinstance(values, _SINGLE) or _has(values, *_READABLE):
        return ""
    if _has(values, "collect"):
        return f"Pass {name}.collect()."
    if _has(values, "result") and _has(values, "done"):
        return f"Pass {name}.result()."
    if _has(values, "agg"):
        return "Pass the data that was grouped, or a number for each group, such as its mean()."
    if isinstance(values, Mapping):
        return f"Pass pandas.DataFrame({name}), or list({name}.values()) for a single column."
    if isinstance(values, Set):
        return "Pass a list, in the order of the rows."
    if isinstance(values, Iterator):
        return f"Pass list({name})."
    is_sequence = _has(values, "__len__") and _has(values, "__getitem__")
    return "" if is_sequence else "Pass the array that it stands for."


def _has(values: Any, *methods: str) -> bool:
    return any(hasattr(type(values), method) for method in methods)


def as_floats(name: str, values: Any) -> NDArray:
    """Return a new array of floats; raise an error that names what came.

    Raises
    ------
    TypeError
        For what holds no values in memory, or holds them in no order.
    ValueError
        For masked and missing values, those that are no real numbers, and whole numbers that
        float64 cannot hold.
    """
    check_given(name, values)
    array = as_array(values)
    if array is not None:
        refuse_missing(name, "it", array)
    numbers = None if array is None else _to_floats(array)
    if numbers is None:
        came = values if array is None else array.tolist()
        raise ValueError(f"{name} must be real numbers; got {reprlib.repr(came)}.")
    elements = as_elements(values)
    if elements is not None:
        refuse_inexact(name, "it", elements, _ROUND)
    return numbers


def _to_floats(array: NDArray) -> NDArray | None:
    """Return a new array of floats; None where numpy raises an error, or would drop something."""
    if array.dtype.kind == "c" or holds_times(array):  # imaginary parts, units of time
        return None
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # whole numbers beyond the floats
        return None


def refuse_text(name: str, values: Any) -> None:
    """Raise a TypeError for a string where rows are needed, such as the name of a file."""
    if isinstance(values, str | bytes):
        raise TypeError(
            f"{name} must be an array, a list or a data frame; got the string "
            f"{reprlib.repr(plain(values))}. Read the data first, such as by pandas.read_csv."
        )


def refuse_masked(name: str, values: Any) -> None:
    """Raise a ValueError for masked values: what is under the mask would be used."""
    if is_masked(values):
        raise ValueError(
            f"{name} must not be masked. Leave the rows with masked values out, of all arguments "
            "(numpy.ma.getmaskarray tells which these are), or fill them in by the method filled."
        )


def is_masked(values: Any) -> bool:
    """Whether any value of an array, or of an array in lists, is masked."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ascontiguousarray(np.ma.getmaskarray(values))
        return bool(mask.view(np.bool_).any())  # of records, too
    if isinstance(values, list | tuple):
        return _any_masked(values, (list, tuple, np.ma.MaskedArray))
    if isinstance(values, np.ndarray):
        return values.dtype.kind == "O" and _any_masked(values.ravel(), (np.ma.MaskedArray,))
    array = as_array(values) if _has(values, "__array__") else None
    return array is not None and is_masked(array)


def _any_masked(values: Iterable[Any], nested: tuple[type, ...]) -> bool:
    """Whether any value of these types is masked, or has values that are."""
    if not any(issubclass(kind, nested) for kind in set(map(type, values))):
        return False
    return any(is_masked(value) for value in values if isinstance(value, nested))


def check_rows_of_numbers(name: str, values: Any) -> None:
    """Raise an error for rows that numpy would make wrong numbers of.

    Anything else that is no numbers is left to whoever converts it.

    Parameters
    ----------
    name : str
        Of the parameter.
    values : array-like or data frame
        As the user passed it.

    Raises
    ------
    TypeError
        As `check_given`, and for dates and durations, whose unit nobody would know.
    ValueError
        For masked values, missing ones of pandas, and whole numbers that float64 cannot hold.
    """
    check_given(name, values)
    for label, column in _columns(values):
        _refuse_times(name, label, column)
        refuse_missing(name, label, column)
        refuse_inexact(name, label, column)


def _columns(values: Any) -> Iterator[tuple[str, NDArray]]:
    """Yield what a message calls each column, and its values; "it" is a single vector."""
    for name, column in _named_columns(values):
        array = as_elements(column)
        if array is not None:
            yield "it" if name is None else f"column {shown(name)}", array


def first_without_numbers(values: Any) -> str:
    """Return what a message calls the first column that is no numbers; empty if it is all."""
    for label, column in _columns(values):
        if label != "it" and _to_floats(column) is None:
            return label
    return ""


def _named_columns(values: Any) -> Iterable[tuple[Any, Any]]:
    """Return name (or number) and values of each column; nothing for an array of floats."""
    if _has(values, "iloc") and np.ndim(values) == 2:  # whose columns may be of one name
        return ((name, values.iloc[:, i]) for i, name in enumerate(values.columns))
    for attribute in ("column_names", "columns"):
        if _has(values, attribute):
            return ((name, values[name]) for name in getattr(values, attribute))
    array = as_elements(values)
    if array is None or array.dtype == np.float64 or array.ndim not in (1, 2):
        return ()
    return enumerate(array.T) if array.ndim == 2 else [(None, array)]


def as_elements(values: Any) -> NDArray | None:
    """Return an array of the values as they came; None where numpy makes none of them.

    A list of numbers of several types becomes objects, where an array of a common type would
    not hold all of them.
    """
    array = as_array(values)
    if array is None or not isinstance(values, list | tuple):
        return array
    if array.dtype.kind == "b" or (array.dtype.kind in "if" and _is_small(array)):
        return array
    return as_array(values, object)


def as_array(values: Any, dtype: Any = None) -> NDArray | None:
    """Return an array, masked if the values are; None where numpy makes none of them."""
    try:
        return np.asanyarray(values, dtype)
    except Exception:  # of whatever package: who converts the values in earnest says it better
        return None


def _is_small(array: NDArray) -> bool:
    """Whether float64 tells all whole numbers up to the largest value apart."""
    with np.errstate(invalid="ignore", over="ignore"):
        return not (np.abs(array.astype(np.float64)) >= _FIRST_GAP).any()


def _refuse_times(name: str, label: str, column: NDArray) -> None:
    """Raise a TypeError for dates, durations and times of day."""
    row = _first_of(column, lambda kind: bool(_kind_of_time(kind)[0]))
    if row is not None:
        value = column.flat[row]
        what, advice = _kind_of_time(type(value))
        raise TypeError(
            f"{name} must hold numbers; {label} holds {what}, such as {value}. {advice}"
        )


def _first_of(values: NDArray, is_meant: Callable[[type], bool]) -> int | None:
    """Return where the first value of such a type is; None if there is none."""
    meant = {kind for kind in _types(values) if is_meant(kind)}
    return next((i for i, v in enumerate(values.flat) if type(v) in meant), None) if meant else None


def _types(values: NDArray) -> set[type]:
    return set(map(type, values.flat)) if values.dtype.kind == "O" else {values.dtype.type}


def _kind_of_time(kind: type) -> tuple[str, str]:
    """Return in words what values of a type are, and what to pass instead; empty for no time."""
    is_period = kind.__name__ == "Period"  # of pandas, which need not be there
    if issubclass(kind, datetime.date | np.datetime64) or is_period:
        return "dates", _DATES
    if issubclass(kind, datetime.timedelta | np.timedelta64):
        return "durations", _DURATIONS
    if issubclass(kind, datetime.time):
        return "times of day", _TIMES_OF_DAY
    return "", ""


def holds_times(values: NDArray) -> bool:
    """Whether any value is a date, a duration or a time of day."""
    return any(_kind_of_time(kind)[0] for kind in _types(values))


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    if isinstance(value, Number | np.generic | datetime.date):  # pandas' NaT is a date, too
        return bool(value != value)
    return value is None or _is_na(type(value))


def _is_na(kind: type) -> bool:
    """Whether a type is that of pandas' NA, which numpy cannot compare."""
    return kind.__name__ == "NAType"


def refuse_missing(name: str, label: str, column: NDArray) -> None:
    """Raise a ValueError for pandas' NA among objects; NaN is for those who check numbers."""
    row = _first_of(column, _is_na)
    if row is not None:
        raise ValueError(
            f"{name} must not have missing values; {label} holds <NA> in row {row}. Leave such "
            "rows out, or fill the values in beforehand."
        )


def refuse_inexact(name: str, label: str, column: NDArray, advice: str = _SUBTRACT) -> None:
    """Raise a ValueError for a whole number that is no double: others would equal it."""
    row = _first_inexact(column)
    if row is not None:
        where = f" in row {row}" if column.ndim else ""
        raise ValueError(
            f"{name} must hold numbers that float64 can hold; {label} holds "
            f"{_shown(column.flat[row])}{where}, and beyond 2**53 float64 does not hold every "
            f"whole number. {advice}"
        )


def _first_inexact(column: NDArray) -> int | None:
    """Return where the first whole number is that no double equals; None if there is none."""
    if column.dtype.kind == "O":
        kinds = {kind for kind in _types(column) if _may_be_inexact(kind)}
        numbers = enumerate(column.ravel()) if kinds else ()
        return next((i for i, v in numbers if type(v) in kinds and not _is_double(v)), None)
    if not _may_be_inexact(column.dtype.type):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        doubles = column.astype(np.float64)
        is_exact = doubles.astype(column.dtype) == column
    if column.dtype.kind in "iu":  # what is rounded up to the end does not come back
        is_exact &= doubles < float(np.iinfo(column.dtype).max)
    rows = np.flatnonzero((np.abs(doubles) >= _FIRST_GAP) & ~is_exact & np.isfinite(column))
    return int(rows[0]) if rows.size else None


def _may_be_inexact(kind: type) -> bool:
    """Whether there are whole numbers of a type that are no doubles."""
    if issubclass(kind, np.floating):
        return bool(np.finfo(kind).nmant > np.finfo(np.float64).nmant)
    if issubclass(kind, np.integer):
        return np.dtype(kind).kind in "iu" and np.dtype(kind).itemsize >= 8
    return issubclass(kind, Number) and not issubclass(
        kind, float | complex | np.complexfloating | bool
    )


def _is_double(value: Any) -> bool:
    """Whether a value is no whole number beyond 2**53, or one that is a double."""
    try:
        double = float(value)
    except OverflowError:
        return False
    except (TypeError, ValueError):
        return True
    return not _FIRST_GAP <= abs(double) < np.inf or int(value) == int(double)


def _shown(value: Any) -> str:
    digits = str(value) if not isinstance(value, int) or abs(value) < 10**40 else ""
    return digits or f"a number of {int(value).bit_length()} bits"


def shown(value: Any) -> str:
    """Return a value as the user would write it: scalars of numpy as those of Python."""
    return repr(plain(value))


def plain(value: Any) -> Any:
    """Return scalars of numpy as those of Python, also in lists and tuples; all else as it is."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's source of randomness; raise a ValueError that says what that is."""
    try:
        return check_random_state(random_state)
    except ValueError:
        raise ValueError(
            "random_state must be None, a whole number from 0 to 2**32 - 1, or a "
            f"numpy.random.RandomState; got {shown(random_state)}."
        ) from None


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise a ValueError unless the value is a whole number, and large enough."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}; got {shown(value)}.")


def check_vector(values: Any, name: str, length: int | None = None) -> NDArray:
    """Return ``values`` as a finite float vector of the given length, or say what is wrong."""
    vector = as_floats(name, values)
    if vector.ndim != 1 or vector.size == 0:
        came = f"shape {vector.shape}" if vector.ndim else shown(values)
        raise ValueError(f"{name} must be one-dimensional with at least one element; got {came}.")
    if length is not None and vector.size != length:
        raise ValueError(
            f"{name} has {vector.size} elements but y has {length}; pass one per observation."
        )
    check_rows(vector, np.isfinite(vector), name, "finite")
    return vector


def check_rows(values: NDArray, allowed: NDArray, name: str, what: str, hint: str = "") -> None:
    """Raise an error that names the first of the values that is not allowed, or the only one."""
    bad = np.flatnonzero(~allowed)
    if not bad.size:
        return
    if values.ndim == 0:
        raise ValueError(f"{name} must be {what}; got {values}.{hint}")
    others = f" ({bad.size} rows are wrong)" if bad.size > 1 else ""
    raise ValueError(f"{name} must be {what}; row {bad[0]} holds {values[bad[0]]}{others}.{hint}")
