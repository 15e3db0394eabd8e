"""One triangle of a symmetric matrix, packed in blocks of columns.

Elementwise work on a packed triangle is one numpy call over half the entries.
Blocks of columns, not single ones, keep the number of calls per matrix small.
"""

from __future__ import annotations

import numpy as np

from .._linalg import Array


class Triangle:
    """Layout of the lower triangle of an n x n matrix in a flat array.

    Parameters
    ----------
    n : int
        Order of the matrix.
    width : int
        Columns in a block. The part of a block above the diagonal is carried along.
    """

    def __init__(self, n: int, width: int = 64) -> None:
        self._blocks: list[tuple[slice, slice, slice]] = []
        start = 0
        for j in range(0, n, width):
            columns = slice(j, min(j + width, n))
            stop = start + (n - j) * (columns.stop - j)
            self._blocks.append((slice(j, n), columns, slice(start, stop)))
            start = stop
        self.size = start

    def _view(self, packed: Array, block: tuple[slice, slice, slice]) -> Array:
        rows, columns, where = block
        shape = (columns.stop - columns.start, rows.stop - rows.start)
        return packed[where].reshape(shape).T

    def unpack(self, packed: Array, scale: float, offset: float, out: Array) -> None:
        """Write scale * packed + offset into the lower triangle of a matrix."""
        for block in self._blocks:
            target = out[block[0], block[1]]
            np.multiply(self._view(packed, block), scale, out=target)
            if offset:
                target += offset

    def squared_distance(self, points: Array, out: Array) -> None:
        """Write the squared Euclidean distances between points, packed.

        Parameters
        ----------
        points : ndarray of shape (n, n_columns)
            Distances are summed over the columns.
        out : ndarray of shape (size,)
            Overwritten.
        """
        out[:] = 0.0
        for block in self._blocks:
            target = self._view(out, block)
            for column in points.T:
                difference = np.subtract.outer(column[block[0]], column[block[1]])
                difference *= difference
                target += difference
