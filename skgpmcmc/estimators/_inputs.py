"""From what users pass to what models take."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array


def as_objects(X: Any) -> Any:
    """Return objects that the kernel takes as an array, where numpy would not make one."""
    if hasattr(X, "to_numpy") and getattr(X, "ndim", 2) == 1:
        return X.to_numpy()  # a Series, of pandas' own data types too
    if not isinstance(X, list | tuple):
        return X
    try:
        np.asarray(X)
    except ValueError:  # ragged
        objects = np.empty(len(X), dtype=object)
        objects[:] = X
        return objects
    return X


def share_latents(X: Any, kernel: Kernel | None) -> tuple[Any, NDArray[np.intp] | None]:
    """Return the distinct rows of X in a fixed order and, for each row, the one it equals.

    Exactly repeated rows share one latent variable: the covariance stays positive
    definite, and the cost falls. The order makes the draws independent of that of the
    rows. Rows stay separate where the kernel tells equal inputs apart (white noise).
    """
    if kernel is not None and not _is_one_function(kernel, X[:1]):
        return X, None
    try:
        distinct, inverse = np.unique(X, axis=0, return_inverse=True)
    except TypeError:  # objects that have no order
        return X, None
    return distinct, inverse.reshape(-1)


def _is_one_function(kernel: Kernel, row: Any) -> bool:
    """Whether the same input twice has the same latent value."""
    pair = np.concatenate([row, row])
    return bool(np.ptp(np.asarray(kernel(pair))) == 0.0)


def check_memory(n_latent: int, n_columns: int, n_running: int | None, limit: float | None) -> None:
    """Raise an error before anything too large is allocated.

    Parameters
    ----------
    n_latent, n_columns : int
        Distinct rows, and columns.
    n_running : int or None
        joblib's n_jobs.
    limit : float or None
        In gigabytes.

    Raises
    ------
    ValueError
        If the chains that run at the same time need more than the limit.
    """
    if limit is None:
        return
    # Two buffers for L, two for U; the distances and their tables.
    tables = min(2**28, 4 * n_columns * n_latent**2)
    needed = effective_n_jobs(n_running) * (36 * n_latent**2 + tables) / 1e9
    if needed > limit:
        raise ValueError(
            f"{n_latent} distinct rows need about {needed:.3g} gigabytes for the chains that run "
            f"at the same time, more than memory_limit={limit:g} gigabytes (and a time that grows "
            "with the cube of the rows). Fit a subset of the rows, lower n_jobs, or raise "
            "memory_limit (None: no limit)."
        )


def check_sample_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Return weights as an array; None where they are all one.

    Raises
    ------
    ValueError
        For a wrong shape, and for weights that are negative or not finite.
    """
    if sample_weight is None:
        return None
    weights = as_floats("sample_weight", sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one for each row of X; got "
            f"{weights.shape}."
        )
    check_rows("sample_weight", weights, np.isfinite(weights) & (weights >= 0.0), "finite and >= 0")
    if not weights.any():
        raise ValueError("sample_weight is zero in every row: there is nothing to fit.")
    return None if (weights == 1.0).all() else weights


def as_floats(name: str, values: Any) -> Array:
    """Return an array of floats; raise a ValueError that names what came."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be real numbers; got {values!r}.") from None


def check_rows(name: str, values: Array, good: NDArray[np.bool_], allowed: str) -> None:
    """Raise a ValueError that names the first bad row of a vector."""
    bad = np.flatnonzero(~good)
    if bad.size:
        value = values[bad[0]]
        raise ValueError(
            f"{name} must be {allowed} in every row; row {bad[0]} has {value!s}"
            + (f" ({bad.size} rows are wrong)." if bad.size > 1 else ".")
        )


def interval_ends(confidence_level: Any) -> list[float]:
    """Return the quantiles that bound a central interval.

    Raises
    ------
    ValueError
        Unless the confidence level is inside (0, 1).
    """
    if not (isinstance(confidence_level, Real) and 0.0 < float(confidence_level) < 1.0):
        raise ValueError(
            f"confidence_level must be a number between 0 and 1; got {confidence_level!r}."
        )
    tail = 0.5 * (1.0 - float(confidence_level))
    return [tail, 1.0 - tail]


def check_quantiles(quantiles: Any) -> Array:
    """Return quantiles as an array; raise a ValueError unless all are in [0, 1]."""
    values = np.atleast_1d(as_floats("quantiles", quantiles))
    if values.ndim != 1 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(
            f"quantiles must be one number, or a list of numbers, between 0 and 1; got "
            f"{quantiles!r}."
        )
    return values
