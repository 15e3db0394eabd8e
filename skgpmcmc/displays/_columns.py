"""Which column of X varies along a curve, and what the others are held at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._checks import check_container
from .._linalg import Array
from ._checks import Fitted, as_matrix, check_names
from ._frames import frame_columns, like
from ._text import as_label, short_number, some_of, wrap

# Values of a column that a message names, at most.
_N_NAMED = 5
# Columns of which a note says what they are held at, at most, and letters of their names and of a
# line of the note.
_N_HELD, _LONGEST_NAME, _HELD_WIDTH = 6, 24, 70
# A space at which no line ends.
_NO_BREAK = "\u00a0"


class Column(NamedTuple):
    """One column of X.

    Attributes
    ----------
    numbers : ndarray of shape (n_samples,) or None
        Its values, if these are numbers or booleans; NaN where missing.
    levels : Series or None
        Its values, if it is held at the most frequent one: text, categories, booleans.
    """

    numbers: Array | None
    levels: Any = None


def read_columns(fitted: Fitted, X: Any) -> list[Column]:
    """Return the columns of X, which are numbers but for a data frame that a pipeline takes."""
    if fitted.before is None:
        return [Column(values) for values in as_matrix("X", X).T]
    if not _is_frame(X):
        hint = "A Pipeline may take a pandas DataFrame, which may have other columns too."
        return [Column(values) for values in as_matrix("X", X, hint=hint).T]
    return [_read(X.iloc[:, i]) for i in range(X.shape[1])]


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and np.ndim(X) == 2 and len(X) > 0


def _read(series: Any) -> Column:
    kind = series.dtype.kind
    if series.dtype == object:  # categories that are numbers stay such
        kind = "f" if _are_numbers(series[~series.isna()]) else kind
    numbers = None
    if kind in "iufb":  # None is missing, too
        numbers = series.where(series.notna(), np.nan).to_numpy(dtype=float, na_value=np.nan)
    return Column(numbers, None if kind in "iuf" else series)


def _are_numbers(values: Any) -> bool:
    return len(values) > 0 and all(isinstance(x, Real) and not isinstance(x, bool) for x in values)


def column_names(X: Any, estimator: Any, feature_names: Sequence[str] | None) -> list[str]:
    """Return names of the columns of X: those given, its own, or what `fit` has seen."""
    check_container("X", X)
    names = feature_names
    if names is None:
        names = frame_columns(X)
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    n_features = np.shape(X)[1]
    return [f"x{i}" for i in range(n_features)] if names is None else check_names(names, n_features)


def find_column(feature: Any, names: list[str]) -> int:
    """Return the number of the column that is to vary."""
    found = _find(feature, names)
    if not found:
        raise ValueError(
            f"feature must be the name of a column ({some_of(names)}), or its number, from 0 to "
            f"{len(names) - 1}; got {feature!r}."
        )
    return _only("feature", feature, found)


def _find(feature: Any, names: list[str]) -> list[int]:
    """Return the numbers of the columns that a name or a number stands for."""
    if isinstance(feature, str):
        return [i for i, name in enumerate(names) if name == feature]
    if not isinstance(feature, Real) or isinstance(feature, bool):
        return []
    numbers = range(-len(names), len(names))
    return [i % len(names) for i in numbers if i == feature]


def _only(parameter: str, feature: Any, found: list[int]) -> int:
    if len(found) > 1:
        raise ValueError(
            f"{parameter} must name a single column, but columns {', '.join(map(str, found))} all "
            f"have the name {feature!r}. Give the number of one."
        )
    return found[0]


def numbers_of(column: Column, name: str) -> Array:
    """Return the numbers that vary along a curve; raise a ValueError where they do not."""
    if column.numbers is None:
        raise ValueError(
            f"feature must be a column of numbers; got {name!r}, which holds "
            f"{column.levels.iloc[0]!r}. Choose another one, and hold {name!r} by "
            f"held={{{name!r}: ...}}."
        )
    there = np.unique(column.numbers[~np.isnan(column.numbers)])
    if len(there) < 2 or np.isinf(there).any():
        found = "no value" if not len(there) else "infinite values"
        found = f"one value, {there[0]:.6g}," if len(there) == 1 else found
        raise ValueError(
            f"feature {name!r} has {found} in X: there is nothing to draw a curve along. Choose "
            "another column, or pass other rows."
        )
    return column.numbers


def held_at(held: Any, columns: list[Column], names: list[str]) -> list[Any]:
    """Return what each column is held at: a number, or a row whose level it is."""
    if not isinstance(held, Mapping) and not (isinstance(held, str) and held in ("median", "mean")):
        raise ValueError(
            f"held must be 'median', 'mean', or a dict from columns to values; got {held!r}."
        )
    centre = np.nanmean if isinstance(held, str) and held == "mean" else np.nanmedian
    values: list[Any] = [
        _row_of(column.levels, column.levels.mode())
        if column.levels is not None
        else centre(np.asarray(column.numbers))
        for column in columns
    ]
    for feature, value in held.items() if isinstance(held, Mapping) else ():
        found = _find(feature, names)
        if not found:
            raise ValueError(
                f"held has the key {feature!r}, which is neither the name of a column "
                f"({some_of(names)}) nor its number, from 0 to {len(names) - 1}."
            )
        i = _only("held", feature, found)
        values[i] = _check_held(columns[i], names[i], value)
    return values


def _row_of(levels: Any, wanted: Any) -> int | None:
    """Return a row with the first wanted level; row 0 if none is wanted, None if none has it."""
    if not len(wanted):
        return 0
    rows = np.flatnonzero((levels == wanted[0]).to_numpy(dtype=bool, na_value=False))
    return int(rows[0]) if rows.size else None


def _check_held(column: Column, name: str, value: Any) -> Any:
    if column.levels is not None:
        row = _row_of(column.levels, [value])
        if row is None:
            some = column.levels.drop_duplicates().tolist()[:_N_NAMED]
            raise ValueError(f"held must have a value of {name!r}, such as {some}; got {value!r}.")
        return row
    if not isinstance(value, Real):
        raise ValueError(f"held must have a number for {name!r}; got {value!r}.")
    return float(value)


def rows_along(X: Any, columns: list[Column], held: list[Any], which: int, x: Array) -> Any:
    """Return rows of the kind of X along a curve: one column varies, the others are held.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
    columns : list of Column
        Its columns.
    held : list
        What `held_at` returns.
    which : int
        The column that varies.
    x : ndarray of shape (n_points,)
        Its values.
    """
    if not _is_frame(X):
        rows = np.tile(np.array(held, dtype=float), (len(x), 1))
        rows[:, which] = x
        return like(X, rows)
    frame = X.iloc[np.zeros(len(x), dtype=int)].reset_index(drop=True)
    for i, (column, value) in enumerate(zip(columns, held, strict=True)):
        if i == which:
            frame.isetitem(i, x)
        elif column.levels is not None:  # a value of the column itself is of its dtype
            series = column.levels.iloc[np.full(len(x), value)]
            frame.isetitem(i, series.reset_index(drop=True))
        else:
            dtype = X.dtypes.iloc[i]
            is_whole = dtype.kind in "iu" and float(value).is_integer()
            frame.isetitem(i, np.full(len(x), value))
            if is_whole:
                frame.isetitem(i, frame.iloc[:, i].astype(dtype))
    return frame


def describe_held(
    held: Any, columns: list[Column], names: list[str], values: list[Any], which: int
) -> str:
    """Return in words what the other columns are held at; nothing where there are none.

    Parameters
    ----------
    held : str or mapping
        The user's.
    columns : list of Column
        All columns.
    names : list of str
    values : list
        What `held_at` returns.
    which : int
        The column that varies.
    """
    others = [i for i in range(len(columns)) if i != which]
    if not others:
        return ""
    has_levels = any(columns[i].levels is not None for i in others)
    words = f"at their {held}s" if isinstance(held, str) else "as given, or at their medians"
    words += " or most frequent values" if has_levels else ""
    if not isinstance(held, str):  # those that were given come first
        others.sort(key=lambda i: i not in _given(held, names))
    shown = [_equation(columns[i], names[i], values[i]) for i in others[:_N_HELD]]
    shown = [equation.replace(" ", _NO_BREAK) for equation in shown]
    if len(others) > _N_HELD:
        shown.append(f"and {len(others) - _N_HELD} more")
    note = wrap(f"(the other columns: {words}: {', '.join(shown)})", _HELD_WIDTH)
    return note.replace(_NO_BREAK, " ")


def _given(held: Mapping, names: list[str]) -> set[int]:
    return {i for feature in held for i in _find(feature, names)}


def _equation(column: Column, name: str, value: Any) -> str:
    """Return a column's name and what it is held at."""
    shown = short_number(value) if column.levels is None else str(column.levels.iloc[value])
    return f"{as_label(name, _LONGEST_NAME)} = {as_label(shown, _LONGEST_NAME)}"
