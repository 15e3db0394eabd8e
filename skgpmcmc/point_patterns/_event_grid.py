"""The result of counting events in cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import as_floats
from ._axes import Axes, Where, column_names, is_scalar, split_columns

# Both have a parameter `events`.
_IN_TO_INPUTS = Where(" in to_inputs", " in bin_events")


@dataclass(frozen=True, eq=False, repr=False)
class EventGrid:
    """Events counted in the cells of a grid. `bin_events` returns it.

    Attributes
    ----------
    X : ndarray of shape (n_cells, n_axes)
        Centres of the cells that were observed, in the units of the events. Dates are units of time
        since the origin. The last column changes fastest from row to row.
    y : ndarray of int of shape (n_cells,)
        Number of events in each of these cells.
    exposure : ndarray of shape (n_cells,)
        The observed length, area or volume of each of these cells, in the units of the columns of
        X.
    events : ndarray of shape (n_events, n_axes)
        The events that are counted, as inputs, in the order in which they came.
    edges : tuple of ndarray
        Edges of the cells along each axis. There is one edge more than there are cells.
    is_observed : ndarray of bool
        In the shape of the grid: whether any part of a cell was observed.
    n_outside : int
        Number of events outside the window, which were left out.
    n_unobserved : int
        Number of events in parts that were not observed, which were left out.

    See Also
    --------
    bin_events : Has examples.
    """

    X: NDArray
    y: NDArray[np.int64]
    exposure: NDArray
    events: NDArray
    edges: tuple[NDArray, ...]
    is_observed: NDArray[np.bool_]
    n_outside: int
    n_unobserved: int
    _axes: Axes

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each axis, observed or not."""
        return self.is_observed.shape

    def __repr__(self) -> str:
        cells = " x ".join(map(str, self.shape))
        text = f"EventGrid({len(self.events)} events in {cells} cells"
        n_hidden = math.prod(self.shape) - len(self.y)
        for number, what in (
            (n_hidden, "cells not observed"),
            (self.n_outside, "events outside left out"),
            (self.n_unobserved, "unobserved events left out"),
        ):
            text += f", {number} {what}" if number else ""
        return text + ")"

    def to_grid(self, values: Any) -> NDArray:
        r"""Return numbers of the observed cells in the shape of the grid.

        Parameters
        ----------
        values : array-like of shape (n_cells, ...)
            One value for each row of `X`, such as a prediction.

        Returns
        -------
        grid : ndarray of shape (\*shape, ...)
            NaN in cells that were not observed.

        Raises
        ------
        ValueError
            If there are more or fewer values than observed cells.
        """
        values = as_floats("values", values)
        if values.ndim == 0 or len(values) != len(self.y):
            raise ValueError(
                f"values must have an entry for each of the {len(self.y)} observed cells, such as "
                f"predict(X) has; got the shape {values.shape}."
            )
        grid = np.full((*self.shape, *values.shape[1:]), np.nan)
        grid[self.is_observed] = values
        return grid

    def to_inputs(self, events: Any) -> NDArray:
        """Return inputs for predictions at other times, dates or places.

        Parameters
        ----------
        events : array-like of shape (n_events,) or (n_events, n_axes), Series or DataFrame
            As for `bin_events`. It may also be a single date, and dates may be strings. They may be
            outside of the window. The columns of DataFrames must have the same names in the same
            order.

        Returns
        -------
        X : ndarray of shape (n_events, n_axes)

        Raises
        ------
        ValueError
            If there is another number of columns, or they have other names. If there are dates
            where the events were numbers, or numbers where they were dates. If only these dates or
            only those of the events have a time zone. If a value is not finite.
        """
        if is_scalar(events):
            events = [events]
        return self._axes.inputs("events", split_columns("events", events), _IN_TO_INPUTS)

    def to_dates(self, X: Any) -> NDArray[np.datetime64]:
        """Return the dates of inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_axes), or numbers of any other shape
            Inputs, of which the column with dates is used. Or only the numbers of this column.

        Returns
        -------
        dates : ndarray of datetime64 of shape (n_samples,), or the shape of the numbers
            To the microsecond. They have no time zone, because numpy has none. If the events had a
            time zone, the dates are in UTC.

        Raises
        ------
        ValueError
            If the events were not dates, or if X has another number of columns or other names.
        """
        axes = self._axes
        if axes.date_axis is None or axes.calendar is None:
            raise ValueError("to_dates needs events that were dates; these were numbers.")
        axes.check_names("X", column_names(X))
        numbers = as_floats("X", X)
        if numbers.ndim == 2:
            if numbers.shape[1] != len(self.edges):
                raise ValueError(f"X must have {len(self.edges)} columns; got {numbers.shape[1]}.")
            numbers = numbers[:, axes.date_axis]
        return axes.calendar.to_dates(numbers)
