"""Weighted sums of squared distances, packed, and updated axis by axis.

The kernels of the fast path depend on sum_d w_d (x_d - x'_d)^2 with w_d = 1 / l_d^2.
The sum at the chain's current state, the base, is kept; a proposal for one length
scale adds one weighted table to it.

One triangle is kept, in blocks of columns: elementwise work on it touches half the entries. Blocks
of columns, not single ones, keep the number of numpy calls small; runs of blocks that fit in the
cache are worked on from the first operation to the last before the next is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from .._linalg import Array

# Narrow blocks waste less above the diagonal, wide ones need fewer calls: at a
# microsecond a call and a nanosecond an entry they balance near this width.
_BLOCK_WIDTH = 32
# Entries of a run: 512 kB, half of a second-level cache.
_RUN_SIZE = 2**16


class Run(NamedTuple):
    """Neighbouring blocks: where they are packed, and the columns of each."""

    where: slice
    columns: list[slice]

    @property
    def size(self) -> int:
        """Length of the run."""
        return self.where.stop - self.where.start


class Triangle:
    """Layout of the lower triangle of an n x n matrix in a flat array.

    Parameters
    ----------
    n : int
        Order of the matrix.

    Attributes
    ----------
    size : int
        Length of the flat array; the small part of each block above the diagonal is
        carried along.
    runs : list of Run
        Cover the flat array in order.
    longest : int
        Length of the longest run.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self.runs: list[Run] = []
        start = stop = 0
        columns: list[slice] = []
        for j in range(0, n, _BLOCK_WIDTH):
            block = slice(j, min(j + _BLOCK_WIDTH, n))
            if columns and stop - start + self._block_size(block) > _RUN_SIZE:
                self.runs.append(Run(slice(start, stop), columns))
                start, columns = stop, []
            columns.append(block)
            stop += self._block_size(block)
        self.runs.append(Run(slice(start, stop), columns))
        self.size = stop
        self.longest = max(run.size for run in self.runs)

    def _block_size(self, columns: slice) -> int:
        return (self._n - columns.start) * (columns.stop - columns.start)

    def matrix_views(self, matrix: Array) -> list[list[Array]]:
        """Return, for each run, views of its blocks in an n x n matrix."""
        return [[matrix[c.start :, c] for c in run.columns] for run in self.runs]

    def packed_views(self, packed: Array) -> list[list[Array]]:
        """Return, for each run, views of its blocks in a flat array that holds one run."""
        views = []
        for run in self.runs:
            start, blocks = 0, []
            for columns in run.columns:
                stop = start + self._block_size(columns)
                shape = (columns.stop - columns.start, self._n - columns.start)
                blocks.append(packed[start:stop].reshape(shape).T)
                start = stop
            views.append(blocks)
        return views

    def squared_distance(self, points: Array, run: Run, out: Array) -> None:
        """Write the squared Euclidean distances of one run.

        Parameters
        ----------
        points : ndarray of shape (n, n_columns)
            Distances are summed over the columns.
        run : Run
            Which part of the triangle.
        out : ndarray
            As long as the run; overwritten.
        """
        start = 0
        for columns in run.columns:
            stop = start + self._block_size(columns)
            target = out[start:stop].reshape(columns.stop - columns.start, -1)
            target[:] = 0.0
            for column in points.T:
                difference = np.subtract.outer(column[columns], column[columns.start :])
                difference *= difference
                target += difference
            start = stop


# Tables of squared distances, one for each axis, are kept up to this many bytes;
# beyond it they are recomputed where they are needed.
TABLE_BYTES = 2**28
# The base is computed afresh after this many fused updates, or when a weight has
# fallen by this factor from its largest value in them, so that rounding errors stay
# orders of magnitude below the jitter.
MAX_FUSED_UPDATES = 32
MAX_WEIGHT_FALL = 1e3


class WeightedDistances:
    """Weighted squared distances between all pairs of points, packed.

    Parameters
    ----------
    axes : list of ndarray of shape (n, n_columns)
        Columns whose squared distances share a weight.
    factor : float
        Multiplies all squared distances.
    triangle : Triangle
        Layout.
    tabulate : bool
        Whether the distances along each axis are kept, unless that is too much; otherwise they
        are computed whenever they are needed.
    """

    def __init__(
        self,
        axes: list[Array],
        factor: float,
        triangle: Triangle,
        tabulate: bool = True,
    ) -> None:
        self._axes = axes
        self._factor = factor
        self._triangle = triangle
        self._base = [np.empty(run.size) for run in triangle.runs]
        self._base_weights: Array | None = None
        # Of the updates since the base was last computed afresh.
        self._n_fused = 0
        self._largest_weights = np.zeros(len(axes))
        self._scratch = np.empty(triangle.longest)
        self._tables = self._tabulate() if tabulate else []

    def _tabulate(self) -> list[Array]:
        """Return, for each run, a contiguous table with a row for each axis; or nothing."""
        if 8 * len(self._axes) * self._triangle.size > TABLE_BYTES:
            return []
        tables = []
        for run in self._triangle.runs:
            table = np.empty((len(self._axes), run.size))
            for columns, row in zip(self._axes, table, strict=True):
                self._triangle.squared_distance(columns, run, row)
            tables.append(table * self._factor)
        return tables

    def set_base(self, weights: Array) -> None:
        """Make `weights`, which are kept and must not be modified, those of the base."""
        old = self._base_weights
        if weights is old:
            return
        self._largest_weights = np.maximum(self._largest_weights, weights)
        changed = None if old is None else np.flatnonzero(weights != old)
        if (
            changed is None
            or changed.size != 1
            or self._n_fused == MAX_FUSED_UPDATES
            or (self._largest_weights > MAX_WEIGHT_FALL * weights).any()
        ):
            self._set_base_afresh(weights)
        elif old is not None:
            axis = int(changed[0])
            for number, base in enumerate(self._base):
                step = self._scratch[: base.size]
                self._weighted_table(axis, weights[axis] - old[axis], number, step)
                base += step
            self._n_fused += 1
        self._base_weights = weights

    def forget(self) -> None:
        """Forget the base, so that it is next computed afresh."""
        self._base_weights = None
        self._largest_weights = np.zeros(len(self._axes))

    def _set_base_afresh(self, weights: Array) -> None:
        for number, base in enumerate(self._base):
            self._write_afresh(weights, number, base)
        self._n_fused, self._largest_weights = 0, weights

    def writer(self, weights: Array, axis: int | None) -> Callable[[int, Array], None]:
        """Return the function that writes one run of the weighted sum.

        Parameters
        ----------
        weights : ndarray of shape (n_axes,)
            One for each axis.
        axis : int or None
            The only one in which they differ from those of the base, if there is one.

        Returns
        -------
        write : callable
            ``write(number, out)`` overwrites `out`, as long as the run of that number.
        """
        base = self._base_weights
        if base is weights:
            return self._write_base
        if (
            base is None
            or axis is None
            or self._largest_weights[axis] > MAX_WEIGHT_FALL * weights[axis]
        ):
            return partial(self._write_afresh, weights)
        return partial(self._write_updated, axis, weights[axis] - base[axis])

    def _write_base(self, number: int, out: Array) -> None:
        np.copyto(out, self._base[number])

    def _write_updated(self, axis: int, step: float, number: int, out: Array) -> None:
        self._weighted_table(axis, step, number, out)
        out += self._base[number]

    def _weighted_table(self, axis: int, weight: float, number: int, out: Array) -> None:
        if self._tables:
            np.multiply(self._tables[number][axis], weight, out=out)
            return
        run = self._triangle.runs[number]
        self._triangle.squared_distance(self._axes[axis], run, out)
        out *= weight * self._factor

    def _write_afresh(self, weights: Array, number: int, out: Array) -> None:
        if self._tables:
            np.matmul(weights, self._tables[number], out=out)
            return
        out[:] = 0.0
        step = self._scratch[: out.size]
        for axis, weight in enumerate(weights):
            self._weighted_table(axis, weight, number, step)
            out += step
