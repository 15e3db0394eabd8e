"""How many points a curve needs: several for the shortest length scale or period."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._linalg import Array
from .._messages import warn_user

FEWEST, MOST = 100, 1000
# Points for each length scale of the latent function.
_EACH = 8
# The posterior quantile of a length scale that counts as the shortest: chains make a few draws
# that are far shorter.
_SHORT = 0.05


def points_needed(estimator: Any, seen: Array, fewest: int = FEWEST) -> int:
    """Return how many points a curve needs; warn where these are too many.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    seen : ndarray of shape (n_points, n_columns)
        What it sees along the curve, at a few points.
    fewest : int
        At least so many are drawn.
    """
    lengths = shortest_scales(estimator, seen.shape[1])
    way = np.abs(np.diff(seen, axis=0)).sum(axis=0)
    with np.errstate(divide="ignore", over="ignore"):
        needed = float(_EACH * (way / lengths).max(initial=0.0)) + 1.0
    if needed > MOST:
        warn_user(
            f"The curve has {MOST} points; for the shortest length scale or period of the "
            f"posterior it would need about {needed:.3g}, and may look smoother or more irregular "
            "than it is. Pass as X a shorter range of the column.",
            UserWarning,
        )
    return int(np.clip(np.ceil(needed), fewest, max(MOST, fewest)))


def shortest_scales(estimator: Any, n_columns: int) -> Array:
    """Return the shortest length along each column over which the latent function may change.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    n_columns : int
        That it sees.

    Returns
    -------
    lengths : ndarray of shape (n_columns,)
        Infinite where the kernel has none: for columns that it does not take, and kernels whose
        hyperparameters have other names than scikit-learn's.
    """
    kernel = getattr(estimator.kernel_, "kernels", [estimator.kernel_])[0]
    values = kernel.get_params()
    shortest = np.full(n_columns, np.inf)
    for name in values:
        prefix = name.removesuffix("length_scale")
        if prefix == name:
            continue
        draws = _draws(estimator, name, values[name])
        if f"{prefix}periodicity" in values:  # in units of the period, nearly
            period = _draws(estimator, f"{prefix}periodicity", values[f"{prefix}periodicity"])
            draws = period / (2.0 * np.pi) * np.minimum(draws, 1.0)
        if draws.shape[1] in (1, n_columns):
            shortest = np.minimum(shortest, np.quantile(draws, _SHORT, axis=0))
    return shortest


def _draws(estimator: Any, name: str, value: Any) -> Array:
    """Return draws of a hyperparameter, of all latent functions; its value if it is fixed."""
    draws = estimator.posterior_.get(name, value)
    return np.reshape(np.asarray(draws, dtype=float), (-1, np.size(value)))
