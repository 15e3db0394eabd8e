"""From events to counts."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._axes import Axes, Columns, find_date_axis, is_scalar, split_bins, split_columns, split_window
from ._calendar import make_calendar, read_dates, refuse_calendar
from ._cells import ask, exposures, locate, make_edges, observed_fractions, volumes
from ._event_grid import EventGrid


def bin_events(
    events: Any,
    bins: Any,
    *,
    window: Any = None,
    observed: Any = None,
    outside: str = "raise",
    unit: Any = None,
    origin: Any = None,
) -> EventGrid:
    """Count events in the cells of a grid, for `MCMCCoxProcessRegressor.fit`.

    After ``fit(cells.X, cells.y, exposure=cells.exposure)``, `predict` is the intensity: events per
    unit of time, area or volume. Its unit follows from the columns of the events. The intensity
    does not depend on the number of cells, if they are smaller than the distances over which the
    intensity changes.

    Parameters
    ----------
    events : array-like of shape (n_events,) or (n_events, n_axes), Series or DataFrame
        Times, dates or coordinates, with a row for each event, in any order. There may be no events
        if `window` or `bins` say what was observed. One column may have dates: `numpy.datetime64`,
        `datetime` or pandas'. Dates with a time zone are converted to UTC. If one date has a time
        zone, all dates need one, also those in `bins`, `window` and `origin`.
    bins : int, or sequence of length n_axes of ints and of sequences of edges
        Number of cells of equal size along each axis, or their edges, strictly increasing. The
        edges are dates where the events are dates. With one axis it may be a sequence of edges. An
        event on an edge counts in the cell above the edge. An event on the last edge counts in the
        last cell.
    window : pair, or sequence of length n_axes of pairs and None, default=None
        Lower and upper bound of each axis: where events would have been seen. If it is None, and
        `bins` has edges, it is the outer edges. If there are no edges, it is the range of the
        events, which makes the intensity somewhat too high.
    observed : array-like of the shape of the grid, or callable, default=None
        Whether each cell was observed, or the observed fraction of each cell, from 0 to 1. Cells
        that were not observed are left out, which is not the same as a count of zero. A callable
        takes inputs of shape (n, n_axes) and returns such numbers. The fraction of a cell is their
        mean at about 256 points in the cell. The method ``contains_points`` of a polygon (a
        `matplotlib.path.Path`) is such a callable.
    outside : {"raise", "drop"}, default="raise"
        What to do with events outside the window, or in a part that was not observed.
    unit : str, timedelta64 or timedelta, default=None
        Unit of time in which dates become inputs, and in which the exposure is measured, such as
        ``"365.25D"`` or ``"h"``. None means a day.
    origin : date, default=None
        The date whose input is 0. None means the lower end of the window.

    Returns
    -------
    cells : EventGrid
        It has the attributes `X`, `y` and `exposure`, and converts from and to dates.

    Raises
    ------
    ValueError
        If events are outside, if dates are missing or numbers are not finite, if some dates have a
        time zone and others have none, or if parameters do not fit the events or each other.

    See Also
    --------
    skgpmcmc.MCMCCoxProcessRegressor : Sample the rate of the events.
    skgpmcmc.displays.IntensityDisplay : Draw it.

    Examples
    --------
    >>> from skgpmcmc.datasets import load_redwoods
    >>> from skgpmcmc.point_patterns import bin_events
    >>> cells = bin_events(load_redwoods().points, bins=20, window=(0, 1))
    >>> cells
    EventGrid(195 events in 20 x 20 cells)
    >>> cells.X.shape, round(float(cells.exposure.sum()), 12)
    ((400, 2), 1.0)

    Then ``MCMCCoxProcessRegressor().fit(cells.X, cells.y, exposure=cells.exposure)``. A part of
    the square that nobody visited:

    >>> seen = bin_events(
    ...     load_redwoods().points,
    ...     bins=20,
    ...     window=(0, 1),
    ...     observed=lambda points: points.sum(axis=1) > 0.5,
    ...     outside="drop",
    ... )
    >>> seen
    EventGrid(160 events in 20 x 20 cells, 45 cells not observed, 35 unobserved events left out)

    Dates, in years of 365.25 days, in cells that are calendar years:

    >>> import numpy as np
    >>> from skgpmcmc.datasets import load_coal_mining
    >>> years = np.arange("1851", "1964", dtype="datetime64[Y]")
    >>> mining = bin_events(load_coal_mining().dates, bins=years, unit="365.25D")
    >>> mining
    EventGrid(191 events in 112 cells)
    >>> mining.to_inputs("1900-01-01")
    array([[48.99931554]])
    >>> mining.to_dates(mining.X[:2])
    array(['1851-07-02T12:00:00.000000', '1852-07-02T00:00:00.000000'],
          dtype='datetime64[us]')
    """
    if not isinstance(outside, str) or outside not in ("raise", "drop"):
        raise ValueError(f"outside must be 'raise' or 'drop'; got {outside!r}.")
    columns = split_columns("events", events)
    labels = columns.labels
    bins, window = split_bins(bins, labels), split_window(window, labels)
    axes = _make_axes(columns, bins, window, unit, origin)
    points = axes.inputs("events", columns)
    edges = tuple(
        make_edges(axes, axis, bins[axis], window[axis], points[:, axis])
        for axis in range(len(labels))
    )
    sizes = volumes(edges)
    fractions = observed_fractions(observed, edges)
    exposure = exposures(sizes, fractions)
    index = locate(points, edges)
    is_outside = index < 0
    is_hidden = ~is_outside & ~_was_observed(observed, fractions, points, index)
    if outside == "raise":
        _refuse(is_outside, "lie outside the window", "Widen window or bins", points, axes)
        _refuse(is_hidden, "lie where nothing was observed", "Mend observed", points, axes)
    kept = ~is_outside & ~is_hidden
    is_observed = fractions > 0.0
    counts = np.bincount(index[kept], minlength=sizes.size).reshape(sizes.shape)
    return EventGrid(
        X=_centres(edges)[is_observed],
        y=counts[is_observed],
        exposure=exposure[is_observed],
        events=points[kept],
        edges=edges,
        is_observed=is_observed,
        n_outside=int(is_outside.sum()),
        n_unobserved=int(is_hidden.sum()),
        _axes=axes,
    )


def _make_axes(
    columns: Columns, bins: list[Any], window: list[Any], unit: Any, origin: Any
) -> Axes:
    """Return how columns become inputs, by a calendar that starts where the window does."""
    labels = columns.labels
    axis = find_date_axis(columns)
    if axis is None:
        refuse_calendar(unit, origin)
        return Axes(labels, columns.names)
    start: Any = origin
    if origin is not None:
        name = "origin"
    elif window[axis] is not None:
        name, start = f"window of {labels[axis]}", window[axis][0]
    elif not is_scalar(bins[axis]):
        name, start = f"bins of {labels[axis]}", bins[axis][0]
    else:
        name = f"events of {labels[axis]}"
        dates, zoned = read_dates(name, columns.values[axis])
        # Of no events any: that they need a window is said later.
        start = dates.min() if len(dates) else np.datetime64(0, "D")
        start = start.item().replace(tzinfo=datetime.UTC) if zoned else start
    return Axes(labels, columns.names, axis, make_calendar(name, start, unit))


def _centres(edges: tuple[NDArray, ...]) -> NDArray:
    """Return the centres of all cells, of shape (*shape, n_axes), as exact rows and columns."""
    middles = [edge[:-1] + 0.5 * np.diff(edge) for edge in edges]
    return np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1)


def _was_observed(observed: Any, fractions: NDArray, points: NDArray, index: NDArray) -> NDArray:
    """Return whether any of the cell of each event was observed, and the event's own place."""
    is_observed = fractions.reshape(-1)[index] > 0.0
    if callable(observed) and len(points):
        is_observed &= ask(observed, points) > 0.0
    return is_observed


def _refuse(is_bad: NDArray, what: str, remedy: str, points: NDArray, axes: Axes) -> None:
    bad = np.flatnonzero(is_bad)
    if bad.size:
        raise ValueError(
            f"{bad.size} of {len(points)} events {what}, the first in row {bad[0]}, at "
            f"{axes.describe(points[bad[0]])}. {remedy}, or leave them out by outside='drop'."
        )
