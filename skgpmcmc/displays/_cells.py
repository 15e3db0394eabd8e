"""Where a rate is drawn: points of a line, or cells of a map."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._grid import Grid, find_grid
from .._linalg import Array
from .._messages import warn_user
from ..point_patterns import EventGrid
from ._checks import Fitted, as_matrix
from ._columns import column_names
from ._frames import frame_columns, like
from ._resolution import points_needed
from ._training import training_edges, training_rows

_N_CURVE, _N_MAP = 300, 40
# Rows that take up a smaller share of a grid are not taken for centres of its cells.
_SMALLEST_SHARE = 0.2
# Steps between centres that differ by a smaller share are equal, to the eye.
_UNEVEN = 0.01
# Steps between centres, in units of the smallest, differ from whole numbers by less.
_ROUNDING = 1e-6


def rate_points(fitted: Fitted, X: Any) -> Array:
    """Return where to draw, if that was given, or the training inputs."""
    if isinstance(X, EventGrid):
        return _points_of_grid(X)
    if X is None:
        if fitted.before is not None:
            raise ValueError("X is needed for a Pipeline: its steps may change the columns' units.")
        return training_rows(fitted)
    points = as_matrix("X", X)
    fitted.check_missing(X)
    return np.sort(points, axis=0) if points.shape[1] == 1 else points


def _points_of_grid(cells: EventGrid) -> Array:
    """Return the observed cells; points of a line from end to end."""
    if len(cells.edges) > 1:
        return cells.X
    return np.linspace(cells.edges[0][0], cells.edges[0][-1], _N_CURVE)[:, None]


def points_covering(points: Array, events: Array | None) -> Array:
    """Return points all over training inputs and events; the inputs where they are cells."""
    if points.shape[1] == 2 and find_cells(points) is not None:
        return points
    if points.shape[1] == 2:
        _check_vary(points)
    if events is not None:
        points = np.vstack([points, events])
    low, high = points.min(axis=0), points.max(axis=0)
    if points.shape[1] == 1:
        return np.linspace(low, high, _N_CURVE)
    steps = (np.arange(_N_MAP) + 0.5)[:, None] / _N_MAP
    return Grid(tuple((low + steps * (high - low)).T)).points()


def check_number_of_columns(n_columns: int) -> None:
    """Raise a ValueError unless there are one or two columns, which can be drawn."""
    if n_columns not in (1, 2):
        raise ValueError(
            f"IntensityDisplay draws one or two columns; got {n_columns}. PredictiveDisplay "
            "draws the rate along one of many, the others held."
        )


def transformed(fitted: Fitted, X: Any, points: Array) -> Any:
    """Return what the estimator sees of points, which have the columns of X, if that is a frame."""
    return fitted.transform(like(X, points))


def fine_curve(fitted: Fitted, X: Any, points: Array) -> tuple[Array, list[float]]:
    """Return points along a curve of the rate, and where on it the training data end.

    There are more points than given for length scales that are short beside the curve, unless
    users have said which.

    Parameters
    ----------
    fitted : Fitted
    X : array-like, DataFrame, EventGrid or None
        What the user passed.
    points : ndarray of shape (n_points, 1)
        Increasing.
    """
    seen = as_matrix("X", transformed(fitted, X, points))
    if X is None or isinstance(X, EventGrid):
        n_points = points_needed(fitted.estimator, seen, len(points))
        if n_points > len(points):
            points = np.linspace(points[0], points[-1], n_points)
            seen = as_matrix("X", transformed(fitted, X, points))
    cells = X.edges[0] if isinstance(X, EventGrid) else None
    options: dict[str, Any] = {"cells": cells, "of_cells": cells is None}
    return points, training_edges(points[:, 0], seen, training_rows(fitted), **options)


@contextmanager
def no_warning_of_names(X: Any) -> Iterator[None]:
    """Keep quiet about columns without names where users could give none."""
    with warnings.catch_warnings():
        if X is None or isinstance(X, EventGrid):
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def were_fitted(fitted: Fitted, new: Any) -> NDArray[np.bool_]:
    """Return which new rows are among the training rows; all of them if no row is."""
    new = as_matrix("X", new)
    found = find_grid(training_rows(fitted), _SMALLEST_SHARE)
    if found is None:
        return np.ones(len(new), dtype=bool)
    is_fitted = np.isin(found[0].locate(new), found[1])
    return is_fitted if is_fitted.any() else ~is_fitted


def find_cells(centres: Array) -> tuple[Grid, NDArray[np.intp]] | None:
    """Return a grid of cells, and which of them each centre is; some may be left out.

    Or None, where the rows take up less than a fifth of their grid.
    """
    found = find_grid(centres, _SMALLEST_SHARE)
    if found is None:
        return None
    grid, places = found
    n_most = len(np.unique(places)) / _SMALLEST_SHARE
    whole = Grid(tuple(_without_gaps(axis, n_most) for axis in grid.axes))
    return found if whole.n > n_most else (whole, whole.locate(grid.points()[places]))


def get_cells(centres: Array) -> tuple[Grid, NDArray[np.intp]]:
    """Return the result of `find_cells`; raise a ValueError where it finds no cells."""
    _check_vary(centres)
    found = find_cells(centres)
    if found is None:
        raise ValueError(
            "X must contain the centres of at least 20 % of the cells of a rectangular grid; got "
            f"{len(centres)} rows that do not form one. Leave X out for the default."
        )
    return found


def _check_vary(centres: Array) -> None:
    constant = np.flatnonzero(np.ptp(centres, axis=0) == 0.0)
    if constant.size:
        rows = "the one row" if len(centres) == 1 else f"all {len(centres)} rows"
        raise ValueError(
            f"X must have two columns that vary, for a map: centres do not tell how wide a single "
            f"cell is, and column {constant[0]} is {centres[0, constant[0]]:.6g} in {rows}. An "
            "EventGrid as X has the edges; PredictiveDisplay draws a curve along one column."
        )


def _without_gaps(axis: Array, n_most: float) -> Array:
    """Return centres with those that are missing among evenly spaced ones.

    A column of cells that nobody observed has no row. Steps of several sizes without a most
    common smallest one are cells of several sizes.
    """
    steps = np.diff(axis)
    counts = steps / steps.min()
    numbers = np.rint(counts)
    is_even = (np.abs(counts - numbers) <= _ROUNDING * counts).all()
    if not is_even or np.mean(numbers == 1.0) <= 0.5 or numbers.sum() >= n_most:
        return axis
    parts = [
        start + np.arange(n) / n * step
        for start, n, step in zip(axis[:-1], numbers.astype(int), steps, strict=True)
    ]
    return np.append(np.concatenate(parts), axis[-1])


def cell_edges(centres: Array) -> Array:
    """Return the edges of cells with these centres: half-way between them."""
    middles = 0.5 * (centres[:-1] + centres[1:])
    return np.concatenate(
        [[2.0 * centres[0] - middles[0]], middles, [2.0 * centres[-1] - middles[-1]]]
    )


def place_in(edges: Sequence[Array], centres: Array) -> tuple[Grid, NDArray[np.intp]]:
    """Return the grid of cells with these edges, and which of them each centre is."""
    grid = Grid(tuple(0.5 * (edge[:-1] + edge[1:]) for edge in edges))
    places = grid.locate(centres)
    outside = np.flatnonzero(places < 0)
    if outside.size:
        row = ", ".join(f"{number:.6g}" for number in centres[outside[0]])
        raise ValueError(
            "edges must be those of the cells whose centres X holds; row "
            f"{outside[0]}, ({row}), is no centre of a cell."
        )
    return grid, places


def warn_of_sizes(axes: Sequence[Array]) -> None:
    """Warn of centres that are not evenly spaced: their cells may end anywhere between."""
    steps = [np.diff(axis) for axis in axes]
    if any(np.ptp(step) > _UNEVEN * step.min() for step in steps if step.size):
        warn_user(
            "The cells of the map are of several sizes, and their centres do not tell their edges, "
            "which are drawn half-way between. Pass the EventGrid of bin_events as X: it has the "
            "edges.",
            UserWarning,
        )


def axis_labels(
    X: Any, points: Array, estimator: Any, feature_names: Sequence[str] | None
) -> list[str] | None:
    """Return the names of the columns of X, or of points in its place; None without names."""
    own = frame_columns(X) if feature_names is None else feature_names
    names = column_names(points, estimator, own)
    unnamed = column_names(points, None, None)
    return None if feature_names is None and names == unnamed else names


def check_threshold(threshold: Any) -> float | None:
    """Return the threshold; raise a ValueError unless it is a positive number or None."""
    if threshold is None:
        return None
    if not isinstance(threshold, Real) or not 0.0 < float(threshold) < np.inf:
        raise ValueError(
            f"threshold must be a positive rate, in events per unit of exposure; got {threshold!r}."
        )
    return float(threshold)
