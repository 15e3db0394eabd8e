"""Which column of X varies along a curve, and what the others are held at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._linalg import Array
from ._checks import check_names


def column_names(X: Any, estimator: Any, feature_names: Sequence[str] | None) -> list[str]:
    """Return names of the columns of X: those given, its own, or what `fit` has seen."""
    names = feature_names
    if names is None:
        names = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
    n_features = np.shape(X)[1]
    return [f"x{i}" for i in range(n_features)] if names is None else check_names(names, n_features)


def find_column(parameter: str, feature: Any, names: list[str]) -> int:
    """Return the number of a column."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"{parameter} must be a column out of {names}; got {feature!r}.")
        return names.index(feature)
    if isinstance(feature, bool) or feature not in range(-len(names), len(names)):
        raise ValueError(
            f"{parameter} must be a name, or a number from 0 to {len(names) - 1}; got {feature!r}."
        )
    return int(feature) % len(names)


def held_at(held: Any, values: Array, names: list[str]) -> Array:
    """Return a row: what the columns are held at."""
    if isinstance(held, str) and held == "mean":
        return values.mean(axis=0)
    row = np.median(values, axis=0)
    if isinstance(held, Mapping):
        for feature, value in held.items():
            row[find_column("held", feature, names)] = value
    elif not (isinstance(held, str) and held == "median"):
        raise ValueError(
            f"held must be 'median', 'mean', or a dict from columns to numbers; got {held!r}."
        )
    return row


def describe_held(held: Any) -> str:
    """Return in words what the other columns are held at."""
    return f"at their {held}s" if isinstance(held, str) else "as given, or at their medians"
