"""One triangle of a symmetric matrix, packed in blocks of columns.

Elementwise work on a packed triangle touches half the entries. Blocks of columns,
not single ones, keep the number of numpy calls small; runs of blocks that fit in the
cache are worked on from the first operation to the last before the next is loaded.
"""

from __future__ import annotations

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
