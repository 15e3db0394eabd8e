"""The Monte Carlo error of predictions: how far they are from those of endless chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array

# Training rows, evenly spread, that a summary tells the error at.
_MOST_ROWS = 50


def spread_rows(X: Any) -> Any:
    """Return at most 50 rows, evenly spread."""
    which = np.linspace(0, len(X) - 1, min(len(X), _MOST_ROWS)).round().astype(int)
    return rows_of(X, which)


def random_rows(X: Any, n_most: int, rng: np.random.RandomState) -> Any:
    """Return all rows in their order, or so many at random.

    Evenly spread ones could all be of the same season.
    """
    return X if len(X) <= n_most else rows_of(X, np.sort(rng.permutation(len(X))[:n_most]))


def rows_of(X: Any, which: NDArray[np.intp]) -> Any:
    """Return some rows of an array, or of a list of objects."""
    return X[which] if isinstance(X, np.ndarray) else [X[row] for row in which]


def describe_mcse(mcse: Array) -> str:
    """Return a line on Monte Carlo errors at training rows; empty where there are none."""
    known = mcse[np.isfinite(mcse)]
    if not known.size:
        return ""
    return (
        f"Monte Carlo error of predictions at the training rows: at most {known.max():.2g} "
        f"(median {np.median(known):.2g})."
    )
