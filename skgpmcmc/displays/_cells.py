"""Where a rate is drawn: points of a line, or cells of a map."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from .._grid import find_grid
from .._linalg import Array
from ._checks import Fitted, as_matrix

_N_CURVE, _N_MAP = 300, 40


def _line(values: Array) -> Array:
    """Return a fine line over all of the values."""
    return np.linspace(values.min(), values.max(), _N_CURVE)[:, None]


def rate_points(fitted: Fitted, X: Any, events: Any) -> Array:
    """Return where to draw: what was given, or all over training inputs and events, sorted."""
    if X is None and fitted.before is not None:
        raise ValueError("X is needed for a Pipeline: its steps may change the columns' units.")
    points = as_matrix("X", fitted.estimator.X_train_ if X is None else X)
    if points.shape[1] > 2:
        raise ValueError(
            f"IntensityDisplay draws one or two columns; got {points.shape[1]}. PredictiveDisplay "
            "draws the rate along one of many, the others held."
        )
    if points.shape[1] == 1:
        if X is not None:
            return np.sort(points, axis=0)
        return _line(points if events is None else np.append(points, check_events(events, 1)))
    if find_grid(points, smallest_share=1.0) is not None:
        return points
    if X is not None:
        raise ValueError(
            "X must have all combinations of the values of its two columns, each row once or "
            "more: the centres of the cells of a map. Leave it out for the default."
        )
    axes = [
        low + (np.arange(_N_MAP) + 0.5) / _N_MAP * (high - low)
        for low, high in zip(points.min(axis=0), points.max(axis=0), strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


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


def axis_labels(fitted: Fitted, feature_names: Sequence[str] | None, n: int) -> list[str]:
    """Return the names of the columns, in the words of scikit-learn's displays where unnamed."""
    names = fitted.columns(feature_names)
    return [f"x{i}" for i in range(n)] if names == [str(i) for i in range(n)] else names


def check_threshold(threshold: Any) -> float | None:
    """Return the threshold; raise a ValueError unless it is a positive number or None."""
    if threshold is None:
        return None
    if not isinstance(threshold, Real) or not float(threshold) > 0.0:
        raise ValueError(
            f"threshold must be a positive rate, in events per unit of exposure; got {threshold!r}."
        )
    return float(threshold)
