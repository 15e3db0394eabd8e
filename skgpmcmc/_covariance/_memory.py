"""How much memory a chain needs, before anything is allocated."""

from __future__ import annotations

from sklearn.gaussian_process.kernels import Kernel

from .._grid import Grid
from ._distances import TABLE_BYTES
from ._kernel_form import parse

# Bytes for each pair of rows, measured as the peak of `fit`: two buffers for L, two for
# U and the packed distances; what a kernel's own call adds; the tables of the axes.
_BUFFERS = 44
_KERNEL_CALL = 40
_TABLES = 4.6
# What gradients add: the inverse and the slopes; what a kernel's own gradient adds, for each
# hyperparameter.
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
        slopes = (_GRADIENT + _KERNEL_GRADIENT * kernel.n_dims) * gradient
        return (_BUFFERS + _KERNEL_CALL + slopes) * pairs
    if gradient:  # and then no tables
        return (_BUFFERS + _GRADIENT) * pairs
    return _BUFFERS * pairs + min(float(TABLE_BYTES), _TABLES * n_columns * pairs)


def grid_memory(grid: Grid) -> float:
    """Return the bytes that one chain on the points of a grid needs, at most about that many."""
    return _GRID_POINT * float(grid.n) + _AXIS_PAIR * sum(float(n) ** 2 for n in grid.shape)
