"""The Monte Carlo error of predictions: how far they are from those of endless chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._linalg import Array

# Training rows, evenly spread, that a summary tells the error at.
_MOST_ROWS = 50


def spread_rows(X: Any) -> Any:
    """Return at most 50 rows, evenly spread."""
    return spread(X, _MOST_ROWS)


def spread(X: Any, n_most: int) -> Any:
    """Return at most so many rows, evenly spread."""
    which = np.linspace(0, len(X) - 1, min(len(X), n_most)).round().astype(int)
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
