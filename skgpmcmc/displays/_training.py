"""Where the training data are: what displays draw by default, and where curves leave them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from ._checks import Fitted, as_matrix

# Inputs that differ by a smaller share of their column's size are equal, but for rounding.
_ROUNDING = 1e-9


def training_rows(fitted: Fitted) -> Array:
    """Return the distinct rows with data; the latents on a grid may be more."""
    estimator = fitted.estimator
    rows = as_matrix("X", estimator.X_train_)
    return rows[getattr(estimator, "is_observed_", slice(None))]


def training_edges(
    x: Array, seen: Array, training: Array, cells: Array | None = None, *, of_cells: bool = False
) -> list[float]:
    """Return where along a curve the training data end; nothing where they do not.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Increasing.
    seen : ndarray of shape (n_points, n_columns)
        What the estimator sees there.
    training : ndarray of shape (n_rows, n_columns)
        What it was fitted to.
    cells : ndarray of shape (n_cells + 1,), optional
        Edges of cells whose centres these are, in units of x: the data of a cell end there.
    of_cells : bool, default=False
        Whether these are centres of cells, which reach half-way to the next one beyond the last.
    """
    varies = np.flatnonzero(np.ptp(seen, axis=0) > 0.0)
    if not varies.size:  # for the estimator all points are one
        return []
    low, high = _ends(training[:, varies], of_cells)
    along = seen[:, varies]
    # Beyond the data in units of the curve's extent, in the column where it is farthest.
    beyond = np.max(np.maximum(low - along, along - high) / np.ptp(along, axis=0), axis=1)
    is_outside = beyond > _ROUNDING
    at = np.flatnonzero(is_outside[1:] != is_outside[:-1])
    share = np.clip(beyond[at] / (beyond[at] - beyond[at + 1]), 0.0, 1.0)
    edges = x[at] + share * (x[at + 1] - x[at])
    if cells is not None:
        below, above = (np.searchsorted(cells, edges, side) for side in ("left", "right"))
        edges = np.where(is_outside[at], cells[below - 1], cells[np.minimum(above, len(cells) - 1)])
        edges = edges[(edges > x[0]) & (edges < x[-1])]
    return [float(edge) for edge in edges]


def is_all_outside(seen: Array, training: Array) -> NDArray[np.bool_]:
    """Return in which columns all points of a curve are outside of the training data."""
    low, high = _ends(training, of_cells=False)
    slack = _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.asarray(((seen < low - slack) | (seen > high + slack)).all(axis=0))


def _ends(training: Array, of_cells: bool) -> tuple[Array, Array]:
    """Return where the training data of each column begin and end."""
    ends = []
    for column in training.T:
        values = np.unique(column)
        low, high = values[0], values[-1]
        if of_cells and len(values) > 1:
            low, high = low - 0.5 * (values[1] - low), high + 0.5 * (high - values[-2])
        ends.append((low, high))
    low, high = np.array(ends).T
    return low, high
