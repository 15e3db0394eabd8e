"""How much memory a chain needs, before anything is allocated."""

from __future__ import annotations

from sklearn.gaussian_process.kernels import Kernel

from .._grid import Grid
from ._kernel_form import parse
from ._packed_distances import TABLE_BYTES

# Bytes for each pair of rows, measured as the peak of `fit`: two buffers for L, two for
# U and the packed distances; what a kernel's own call adds; the tables of the axes.
_BUFFERS = 44
_KERNEL_CALL = 40
_TABLES = 4.6
# Added for gradients: the inverse and the derivatives of the correlations; and, for each
# hyperparameter, by a kernel that computes its own gradient.
_GRADIENT = 16
_KERNEL_GRADIENT = 24

# Bytes for each point of a grid, mostly of the prior draws for the first latent updates, and for
# each pair of coordinates of one axis; measured as well.
_GRID_POINT = 4000
_AXIS_PAIR = 150


def working_memory(kernel: Kernel, n: int, n_columns: int, gradient: bool = False) -> float:
    """Return the bytes that one chain on n distinct rows needs, at most about that many.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Of the latent function.
    n, n_columns : int
        Distinct rows, and columns.
    gradient : bool
        Whether gradients are computed.
    """
    pairs = float(n) ** 2
    if parse(kernel) is None:
        derivatives = (_GRADIENT + _KERNEL_GRADIENT * kernel.n_dims) * gradient
        return (_BUFFERS + _KERNEL_CALL + derivatives) * pairs
    if gradient:  # and then no tables
        return (_BUFFERS + _GRADIENT) * pairs
    return _BUFFERS * pairs + min(float(TABLE_BYTES), _TABLES * n_columns * pairs)


def grid_memory(grid: Grid) -> float:
    """Return the bytes that one chain on the points of a grid needs, at most about that many."""
    return _GRID_POINT * float(grid.n) + _AXIS_PAIR * sum(float(n) ** 2 for n in grid.shape)


def check_memory(n_latent: int, working: float, stored: float, limit: float | None) -> None:
    """Raise an error before anything too large is allocated.

    Parameters
    ----------
    n_latent : int
        Distinct rows.
    working : float
        Bytes that all chains that run at the same time need beside their draws.
    stored : float
        Latent values that all draws together keep.
    limit : float or None
        In gigabytes.

    Raises
    ------
    ValueError
        If the chains and their draws need more than the limit.
    """
    if limit is None:
        return
    # The draws of all chains are copied into one array.
    draws = 2.0 * 8.0 * stored
    if (working + draws) / 1e9 > limit:
        raise ValueError(
            f"{n_latent} distinct rows need about {(working + draws) / 1e9:.3g} gigabytes, more "
            f"than memory_limit={limit:g} gigabytes: {working / 1e9:.3g} for the chains that run "
            f"at the same time, and {draws / 1e9:.3g} for draws of the latent variables. Fit a "
            "subset of the rows, use inducing points (n_inducing of the estimators), lower n_jobs "
            "or n_draws, or raise memory_limit (None: no limit)."
        )


def check_prediction_memory(parts: dict[str, float], limit: float | None, advice: str) -> None:
    """Raise an error before a prediction allocates anything too large.

    Parameters
    ----------
    parts : dict
        What is needed, in words -> bytes.
    limit : float or None
        In gigabytes.
    advice : str
        What to do instead.

    Raises
    ------
    ValueError
        If all parts together need more than the limit.
    """
    needed = sum(parts.values())
    if limit is not None and needed / 1e9 > limit:
        each = " and ".join(f"{size / 1e9:.3g} for {what}" for what, size in parts.items())
        raise ValueError(
            f"this prediction needs about {needed / 1e9:.3g} gigabytes, more than "
            f"memory_limit={limit:g} gigabytes: {each}. {advice}, or raise memory_limit (None: no "
            "limit)."
        )
