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
from ._checks import Fitted, as_matrix
from ._columns import column_names

_N_CURVE, _N_MAP = 300, 40
# Rows that take up less of a grid are no centres of its cells.
_SMALLEST_SHARE = 0.2
# Steps between centres, in units of the smallest, differ from whole numbers by less.
_ROUNDING = 1e-6


def rate_points(fitted: Fitted, X: Any, events: Any) -> Array:
    """Return where to draw: what was given, or all over training inputs and events, sorted."""
    if X is None and fitted.before is not None:
        raise ValueError("X is needed for a Pipeline: its steps may change the columns' units.")
    points = _fitted_rows(fitted) if X is None else as_matrix("X", X)
    n_columns = points.shape[1]
    if n_columns > 2:
        raise ValueError(
            f"IntensityDisplay draws one or two columns; got {n_columns}. PredictiveDisplay "
            "draws the rate along one of many, the others held."
        )
    if n_columns == 1 and X is not None:
        return np.sort(points, axis=0)
    if n_columns == 2 and (X is not None or find_cells(points) is not None):
        return points
    if events is not None:
        points = np.vstack([points, check_events(events, n_columns)])
    low, high = points.min(axis=0), points.max(axis=0)
    if n_columns == 1:
        return np.linspace(low, high, _N_CURVE)
    steps = (np.arange(_N_MAP) + 0.5)[:, None] / _N_MAP
    return Grid(tuple((low + steps * (high - low)).T)).points()


def _fitted_rows(fitted: Fitted) -> Array:
    """Return the distinct rows with data; the latents on a grid may be more."""
    estimator = fitted.estimator
    return as_matrix("X", estimator.X_train_)[np.unique(estimator._observed.places())]


def transformed(fitted: Fitted, X: Any, points: Array) -> Any:
    """Return what the estimator sees of points, which have the columns of X, if that is a frame."""
    is_frame = hasattr(X, "iloc")
    return fitted.transform(type(X)(points, columns=X.columns) if is_frame else points)


@contextmanager
def no_warning_of_names(X: Any) -> Iterator[None]:
    """Keep quiet about columns without names where they are ours: X is None."""
    with warnings.catch_warnings():
        if X is None:
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def were_fitted(fitted: Fitted, new: Any) -> NDArray[np.bool_]:
    """Return which rows are those that the estimator was fitted to; all if none is."""
    new = as_matrix("X", new)
    found = find_grid(_fitted_rows(fitted), _SMALLEST_SHARE)
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
    """Return what `find_cells` does; raise a ValueError where it finds none."""
    constant = np.flatnonzero(np.ptp(centres, axis=0) == 0.0)
    if constant.size:
        raise ValueError(
            f"X must have two columns that vary, for a map; column {constant[0]} is "
            f"{centres[0, constant[0]]:.6g} in all rows. PredictiveDisplay draws a curve."
        )
    found = find_cells(centres)
    if found is None:
        raise ValueError(
            "X must be centres of a map's cells: combinations of the values of its two columns, "
            f"in any order, a fifth of all or more; got {len(centres)} rows that are less. Leave "
            "it out for the default."
        )
    return found


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


def check_events(events: Any, n_columns: int) -> Array:
    """Return where events were, a row for each."""
    events = np.asarray(events, dtype=np.float64)
    return as_matrix(
        "events", events[:, None] if events.ndim == 1 and n_columns == 1 else events, n_columns
    )


def axis_labels(
    X: Any, points: Array, estimator: Any, feature_names: Sequence[str] | None
) -> list[str] | None:
    """Return the names of the columns of X, or of points in its place; None without names."""
    names = column_names(points if X is None else X, estimator, feature_names)
    unnamed = column_names(points, None, None)
    return None if feature_names is None and names == unnamed else names


def check_threshold(threshold: Any) -> float | None:
    """Return the threshold; raise a ValueError unless it is a positive number or None."""
    if threshold is None:
        return None
    if not isinstance(threshold, Real) or not float(threshold) > 0.0:
        raise ValueError(
            f"threshold must be a positive rate, in events per unit of exposure; got {threshold!r}."
        )
    return float(threshold)
