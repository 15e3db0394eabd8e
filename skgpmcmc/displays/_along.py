"""A line through the inputs: one column varies, the others are held."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._linalg import Array
from ._checks import Fitted, as_matrix
from ._columns import (
    Column,
    describe_held,
    find_column,
    held_at,
    numbers_of,
    read_columns,
    rows_along,
)
from ._predictions import Curves
from ._resolution import FEWEST, points_needed
from ._text import as_label, wrap
from ._training import is_all_outside, training_edges, training_rows

_LONGEST_LABEL = 60
# Columns that a note names, at most, and letters of their names.
_N_NAMED, _LONGEST_NAME = 3, 24


class Line(NamedTuple):
    """Where a curve of predictions is drawn.

    Attributes
    ----------
    fitted : Fitted
    X : array-like or DataFrame of shape (n_samples, n_features)
        Data.
    columns : list of Column
    names : list of str
        Of the columns.
    which : int
        The column that varies.
    held : str or mapping
        What the user asked for.
    values : list
        What the columns are held at; see `held_at`.
    """

    fitted: Fitted
    X: Any
    columns: list[Column]
    names: list[str]
    which: int
    held: Any
    values: list[Any]

    @classmethod
    def through(cls, fitted: Fitted, X: Any, names: list[str], feature: Any, held: Any) -> Line:
        """Return the line along a column of X; raise a ValueError where there is none."""
        columns = read_columns(fitted, X)
        which = find_column(feature, names)
        numbers_of(columns[which], names[which])
        fitted.check_missing(X)
        return cls(fitted, X, columns, names, which, held, held_at(held, columns, names))

    def observed(self) -> Array:
        """Return the values of the column in the data."""
        return numbers_of(self.columns[self.which], self.names[self.which])

    def points(self, n_points: int | None) -> tuple[Array, Any]:
        """Return values of the column, and what the estimator sees there.

        Parameters
        ----------
        n_points : int or None
            None is as many as it takes.
        """
        x, seen = self._line(FEWEST if n_points is None else n_points)
        numbers = self._numbers(seen)
        if n_points is None and numbers is not None:
            needed = points_needed(self.fitted.estimator, numbers)
            if needed > FEWEST:
                return self._line(needed)
        return x, seen

    def _line(self, n_points: int) -> tuple[Array, Any]:
        values = self.observed()
        x = np.linspace(np.nanmin(values), np.nanmax(values), n_points)
        rows = rows_along(self.X, self.columns, self.values, self.which, x)
        return x, self.fitted.transform(rows)

    def _numbers(self, seen: Any) -> Array | None:
        """Return what the estimator sees as numbers; None for objects, and for other columns."""
        try:
            matrix = as_matrix("X", seen)
        except (TypeError, ValueError):
            return None
        return matrix if matrix.shape[1] == self.fitted.estimator.n_features_in_ else None

    def edges(self, x: Array, seen: Any) -> list[float]:
        """Return where along the line the training data end."""
        numbers = self._numbers(seen)
        return [] if numbers is None else training_edges(x, numbers, training_rows(self.fitted))

    def label(self, seen: Any, is_date: bool) -> str:
        """Return the name of the column, and below it what the others are held at."""
        name = self.names[self.which]
        is_unnamed = name == f"x{self.which}"
        lines = ["date" if is_date and is_unnamed else as_label(name, _LONGEST_LABEL)]
        lines.append(describe_held(self.held, self.columns, self.names, self.values, self.which))
        lines.append(self._outside(seen))
        return "\n".join(line for line in lines if line)

    def describe_data(self, drawn: Curves) -> str:
        """Return what points are, in the legend: with other columns they need not lie near."""
        if len(self.columns) == 1 or drawn.is_probability:
            return drawn.data
        return f"{drawn.data}\n(other columns as observed)"

    def _outside(self, seen: Any) -> str:
        """Return a note on columns that are outside of the training data all along the line."""
        numbers = self._numbers(seen)
        if numbers is None:
            return ""
        found = np.flatnonzero(is_all_outside(numbers, training_rows(self.fitted)))
        if not found.size:
            return ""
        names = self.names if self.fitted.before is None else self.fitted.columns(None)
        shown = [as_label(names[i], _LONGEST_NAME) for i in found[:_N_NAMED]]
        more = f" and {len(found) - _N_NAMED} more" if len(found) > _N_NAMED else ""
        return wrap(f"(outside of the training data all along: {', '.join(shown)}{more})")
