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
    """Events counted in the cells of a grid; what `bin_events` returns.

    Attributes
    ----------
    X : ndarray of shape (n_cells, n_axes)
        Centres of the cells that were observed, in the units of the events, or units of time
        since the origin. The last column moves fastest.
    y : ndarray of int of shape (n_cells,)
        Number of events in each of them.
    exposure : ndarray of shape (n_cells,)
        The observed length, area or volume of each of them, in the units of the columns of X.
    events : ndarray of shape (n_events, n_axes)
        The events that are counted, as inputs, in the order in which they came.
    edges : tuple of ndarray
        Edges of the cells along each axis, one more than there are cells.
    is_observed : ndarray of bool
        In the shape of the grid: whether any of a cell was observed.
    n_outside : int
        Events outside the window that were left out.
    n_unobserved : int
        Events in what was not observed that were left out.

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
            Such as predictions at `X`.

        Returns
        -------
        grid : ndarray of shape (\*shape, ...)
            NaN in cells that were not observed.

        Raises
        ------
        ValueError
            For another number of values than of observed cells.
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
            As for `bin_events`; also one date, and dates as strings. They may lie anywhere.
            Columns of DataFrames must have the same names in the same order.

        Returns
        -------
        X : ndarray of shape (n_events, n_axes)

        Raises
        ------
        ValueError
            For another number of columns or other names, dates where the events were numbers or
            the other way round, a time zone where they had none or the other way round, and what
            is not finite.
        """
        if is_scalar(events):
            events = [events]
        return self._axes.inputs("events", split_columns("events", events), _IN_TO_INPUTS)

    def to_dates(self, X: Any) -> NDArray[np.datetime64]:
        """Return the dates of inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_axes), or numbers of any other shape
            Inputs, whose column of dates is taken; or such numbers only.

        Returns
        -------
        dates : ndarray of datetime64 of shape (n_samples,), or the shape of the numbers
            To the microsecond, without a time zone, for numpy has none; in UTC where the events
            had one.

        Raises
        ------
        ValueError
            If the events were no dates, or X has another number of columns or other names.
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
