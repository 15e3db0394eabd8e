"""The Monte Carlo error of predictions: how far they are from those of endless chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from ..diagnostics._vehtari import mcse_means

# Training rows, evenly spread, that a summary tells the error at.
_MOST_ROWS = 50


def mcse_of_means(values: Array, chains: NDArray[Any]) -> Array:
    """Return the Monte Carlo standard errors of means over draws.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_means)
        Ordered by chain, then by iteration.
    chains : ndarray of int of shape (n_draws,)
        Chain of each draw. Evenly spaced draws may be one more of some chains than of others: all
        chains count as far as the shortest goes.

    Returns
    -------
    mcse : ndarray of shape (n_means,)
        See `mcse_mean`.
    """
    _, starts, counts = np.unique(chains, return_index=True, return_counts=True)
    which = starts[:, np.newaxis] + np.arange(counts.min())
    factor = np.sqrt(which.size / len(chains))
    return np.asarray(factor * mcse_means(values[which]))


def spread_rows(X: Any) -> Any:
    """Return at most 50 rows, evenly spread."""
    which = np.linspace(0, len(X) - 1, min(len(X), _MOST_ROWS)).round().astype(int)
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
