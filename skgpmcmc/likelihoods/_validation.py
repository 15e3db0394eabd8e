"""Checks of observations and their settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_vector(values: Any, name: str, length: int | None = None) -> NDArray:
    """Return ``values`` as a finite float vector of the given length, or say what is wrong."""
    try:
        vector = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}.") from None
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(
            f"{name} must be one-dimensional with at least one element; got shape {vector.shape}."
        )
    if length is not None and vector.size != length:
        raise ValueError(
            f"{name} has {vector.size} elements but y has {length}; pass one per observation."
        )
    check_rows(vector, np.isfinite(vector), name, "finite")
    return vector


def check_rows(vector: NDArray, allowed: NDArray, name: str, what: str, hint: str = "") -> None:
    """Raise an error that names the first row of ``vector`` that is not allowed."""
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise ValueError(f"{name} must be {what}; row {row} holds {vector[row]}.{hint}")


def check_latent_index(latent_index: ArrayLike, n_obs: int) -> tuple[NDArray, int]:
    index = np.asarray(latent_index)
    if index.dtype.kind not in "iu" or index.shape != (n_obs,):
        raise ValueError(
            f"latent_index must be a vector of {n_obs} whole numbers, one per observation; got "
            f"dtype {index.dtype} and shape {index.shape}."
        )
    index = index.astype(np.intp)
    check_rows(index, index >= 0, "latent_index", ">= 0")
    counts = np.bincount(index)
    if not counts.all():
        raise ValueError(
            f"latent_index must contain every number from 0 to its maximum {index.max()}; "
            f"{int(np.argmin(counts))} is missing. Number the latent values without gaps, for "
            "example with numpy.unique(..., return_inverse=True)."
        )
    return index, counts.size
