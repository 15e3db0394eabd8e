"""Cells of a grid: their edges, which one an event is in, and how much of each was observed."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import is_masked
from ._axes import Axes, is_scalar, is_whole

# The largest number of cells: the inputs alone of so many take hundreds of megabytes.
_MOST_CELLS = 10_000_000
# About how many points of each cell are passed to a function `observed`.
_N_SUBPOINTS = 256
# The number of points that are passed to it in one call.
_N_POINTS_AT_ONCE = 2**20
# Smaller positive doubles have fewer digits.
_SMALLEST = np.finfo(np.float64).tiny


def make_edges(axes: Axes, axis: int, bins: Any, window: Any, column: NDArray) -> NDArray:
    """Return the edges of the cells along one axis, strictly increasing.

    Parameters
    ----------
    axes : Axes
        How dates become numbers.
    axis : int
        Which axis.
    bins : int or sequence
        Number of cells, or their edges.
    window : pair or None
        The outer edges, of a number of cells.
    column : ndarray of shape (n_events,)
        The events, whose range is the window where there is none.
    """
    label = axes.labels[axis]
    if is_scalar(bins):
        if not is_whole(bins) or bins < 1:
            raise ValueError(
                f"bins of {label} must be a whole number of cells, at least 1, or a sequence of "
                f"edges; got {bins!r}."
            )
        return _equal_cells(int(bins), *_bounds(axes, axis, window, column), label)
    if window is not None:
        raise ValueError(
            f"window of {label} must be None where bins are edges: the outer ones are the window; "
            f"got {reprlib.repr(window)}. Pass bins as a number, or None for this window."
        )
    edges = axes.numbers("bins", bins, axis)
    if edges.ndim != 1 or len(edges) < 2 or not (edges[1:] > edges[:-1]).all():
        raise ValueError(
            f"bins of {label} must be two edges or more, each larger than the one before; got "
            f"{reprlib.repr(list(bins))}."
        )
    return edges


def _bounds(axes: Axes, axis: int, window: Any, column: NDArray) -> tuple[float, float]:
    label = axes.labels[axis]
    if window is not None:
        low, high = axes.numbers("window", window, axis)
        if not low < high:
            raise ValueError(
                f"window of {label} must be (lower, upper) with lower < upper; got "
                f"{reprlib.repr(window)}."
            )
        return low, high
    if not len(column) or column.min() == column.max():
        raise ValueError(
            f"window of {label} is needed: without it the window is the range of the events, of "
            f"which there are {len(column)}, at {len(np.unique(column))} places. Pass "
            "window=(lower, upper), or bins as edges."
        )
    return column.min(), column.max()


def _equal_cells(n: int, low: float, high: float, label: str) -> NDArray:
    check_n_cells(n)
    with np.errstate(over="ignore", invalid="ignore"):
        edges = np.linspace(low, high, n + 1)
    if not (np.isfinite(edges).all() and (np.diff(edges) > 0.0).all()):
        raise ValueError(
            f"bins of {label} must be so few that doubles can tell the edges apart; got {n} cells "
            f"from {low:.17g} to {high:.17g}. Pass fewer, or change the unit or the origin."
        )
    return edges


def check_n_cells(n: int) -> None:
    """Raise a ValueError for more cells than any model can take."""
    if n > _MOST_CELLS:
        raise ValueError(f"bins must make at most {_MOST_CELLS} cells; got {n}. Pass fewer.")


def volumes(edges: tuple[NDArray, ...]) -> NDArray:
    """Return the length, area or volume of each cell, in the shape of the grid."""
    check_n_cells(math.prod(len(edge) - 1 for edge in edges))
    with np.errstate(over="ignore"):
        sizes = reduce(np.multiply.outer, [np.diff(edge) for edge in edges])
    if not (np.isfinite(sizes).all() and (sizes >= _SMALLEST).all()):
        raise ValueError(
            "window must be in units in which the volume of a cell is from 2.3e-308 to 1.8e308; "
            f"got volumes from {sizes.min()} to {sizes.max()}. Change the units."
        )
    return sizes


def exposures(sizes: NDArray, fractions: NDArray) -> NDArray:
    """Return the observed volume of each cell; raise a ValueError if it is hardly more than 0."""
    exposure = sizes * fractions
    bad = np.flatnonzero((fractions > 0.0) & (exposure < _SMALLEST))
    if bad.size:
        raise ValueError(
            "observed must be 0, or so large that the exposure of a cell is at least 2.3e-308; got "
            f"a fraction of {fractions.flat[bad[0]]} of a cell of {sizes.flat[bad[0]]:.6g}. Pass 0 "
            "for cells that were not observed."
        )
    return exposure


def locate(points: NDArray, edges: tuple[NDArray, ...]) -> NDArray[np.intp]:
    """Return which cell each point is in, in the grid's order; -1 for a point outside.

    Cells are closed below; the outer edge belongs to the last one.
    """
    index = np.zeros(len(points), dtype=np.intp)
    is_inside = np.ones(len(points), dtype=bool)
    for column, edge in zip(points.T, edges, strict=True):
        place = np.searchsorted(edge, column, side="right") - 1
        place[column == edge[-1]] -= 1
        is_inside &= (place >= 0) & (place < len(edge) - 1)
        index = index * (len(edge) - 1) + place
    return np.where(is_inside, index, -1)


def observed_fractions(observed: Any, edges: tuple[NDArray, ...]) -> NDArray:
    """Return the fraction of each cell that was observed, in the shape of the grid.

    Parameters
    ----------
    observed : None, array-like or callable
        As `bin_events` takes it.
    edges : tuple of ndarray
        Of the cells.
    """
    shape = tuple(len(edge) - 1 for edge in edges)
    if observed is None:
        return np.ones(shape)
    if callable(observed):
        fractions = np.concatenate(list(_averages(observed, edges)))
    else:
        fractions = _check_fractions("observed", observed)
        if fractions.shape != shape:
            raise ValueError(
                f"observed must have a number for each cell, the shape {shape}; got the shape "
                f"{fractions.shape}."
            )
    if not fractions.any():
        raise ValueError("observed must be larger than 0 in one cell or more; got zeros only.")
    return fractions


def ask(observed: Callable[[NDArray], Any], points: NDArray) -> NDArray:
    """Return what a function says about points; raise a ValueError if that is no answer."""
    # A copy: the function may change its argument.
    answers = _check_fractions("observed(points)", observed(points.copy()))
    if answers.shape != (len(points),):
        raise ValueError(
            f"observed(points) must be one number for each of the {len(points)} points; got the "
            f"shape {answers.shape}."
        )
    return answers


def _averages(observed: Callable, edges: tuple[NDArray, ...]) -> Iterator[NDArray]:
    """Yield what a function says about cells, on average, for some rows of cells at a time."""
    n_dims = len(edges)
    k = max(2, round(_N_SUBPOINTS ** (1.0 / n_dims)))
    steps = (np.arange(k) + 0.5) / k
    fine = [edge[:-1, None] + np.diff(edge)[:, None] * steps for edge in edges]
    others = [points.reshape(-1) for points in fine[1:]]
    n_rows = max(1, _N_POINTS_AT_ONCE // (k * math.prod(len(other) for other in others)))
    for start in range(0, len(fine[0]), n_rows):
        rows = fine[0][start : start + n_rows]
        grid = np.meshgrid(rows.reshape(-1), *others, indexing="ij")
        answers = ask(observed, np.stack(grid, axis=-1).reshape(-1, n_dims))
        split = [size for points in [rows, *fine[1:]] for size in points.shape]
        yield answers.reshape(split).mean(axis=tuple(range(1, 2 * n_dims, 2)))


def _check_fractions(name: str, values: Any) -> NDArray:
    if is_masked(values):
        raise ValueError(
            f"{name} must not be masked; pass {name}.filled(0), or whatever its masked entries are."
        )
    fractions = _numbers_or_none(values)
    if fractions is None or not ((fractions >= 0.0) & (fractions <= 1.0)).all():
        shown = values.tolist() if isinstance(values, np.ndarray) else values
        raise ValueError(
            f"{name} must be True or False, or the observed fraction, from 0 to 1; got "
            f"{reprlib.repr(shown)}."
        )
    return fractions


def _numbers_or_none(values: Any) -> NDArray | None:
    """Return numbers, True and False as a new array of floats, None where anything is neither."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and all(isinstance(x, Real | np.bool_) for x in array.flat):
            return array.astype(np.float64)
    except (ValueError, OverflowError):  # ragged sequences, and whole numbers beyond all doubles
        return None
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None
