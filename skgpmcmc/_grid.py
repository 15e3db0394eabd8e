"""Rows of inputs that form a Cartesian grid, perhaps with points left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The same centre, computed in two ways, differs by less than that share of its column's range,
# or by a few units in the last place of the column's largest number, as years and projected
# coordinates do; coordinates that somebody meant to differ, by more.
_SHARE_OF_RANGE = 1e-9
ROUNDING = 16.0 * float(np.finfo(float).eps)
# The smallest share of a grid's points that must be rows: a grid saves more time than latent
# variables without observations cost, down to this share.
_SMALLEST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Grid:
    """Cartesian product of coordinates.

    Attributes
    ----------
    axes : tuple of ndarray
        The strictly increasing coordinates of each column.
    """

    axes: tuple[NDArray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of coordinates of each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def n(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def points(self) -> NDArray:
        """Return all points, of shape (n, n_axes), sorted: the last column moves fastest."""
        return np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(self.n, -1)

    def locate(self, X: NDArray) -> NDArray[np.intp]:
        """Return which point each row is, up to rounding; -1 for a row that is none.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_axes)

        Returns
        -------
        index : ndarray of int of shape (n_rows,)
        """
        index = np.zeros(len(X), dtype=np.intp)
        is_point = np.ones(len(X), dtype=bool)
        for axis, column in zip(self.axes, X.T, strict=True):
            middles = axis[:-1] + 0.5 * np.diff(axis)
            place = np.searchsorted(middles, column)
            is_point &= np.abs(axis[place] - column) <= _rounding(axis[0], axis[-1])
            index = index * len(axis) + place
        return np.where(is_point, index, -1)


def find_grid(
    X: NDArray, smallest_share: float = _SMALLEST_SHARE
) -> tuple[Grid, NDArray[np.intp]] | None:
    """Return the grid that the rows lie on, if it is not much larger than they are many.

    Coordinates that differ by at most 1e-9 of their column's range, or 16 units in the last place
    of its largest number, are the same one.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Inputs, finite.
    smallest_share : float
        Share of the grid's points, in (0, 1], that the rows must take up.

    Returns
    -------
    grid : Grid
        With at least two axes of two or more coordinates.
    index : ndarray of int of shape (n_rows,)
        Which point of the grid each row is.

    Or None, where there is no such grid.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 2.0]])  # one corner is missing
    >>> grid, index = find_grid(rows)
    >>> grid.shape, index
    ((2, 2), array([0, 1, 3]))
    """
    largest = len(X) / smallest_share
    axes: list[NDArray] = []
    index = np.zeros(len(X), dtype=np.intp)
    size = 1
    for column in X.T:
        merged = _merge(column)
        if merged is None or size * len(merged[0]) > largest:  # before all columns are sorted
            return None
        axis, place = merged
        axes.append(axis)
        size *= len(axis)
        index = index * len(axis) + place
    if sum(len(axis) > 1 for axis in axes) < 2:
        return None
    if len(np.unique(index)) < smallest_share * size:
        return None
    return Grid(tuple(axes)), index


def _rounding(smallest: float, largest: float) -> float:
    """Return by how much equal coordinates of a column may differ, given its ends."""
    of_range = _SHARE_OF_RANGE * float(largest) - _SHARE_OF_RANGE * float(smallest)
    return of_range + ROUNDING * max(abs(float(smallest)), abs(float(largest)))


def _merge(column: NDArray) -> tuple[NDArray, NDArray[np.intp]] | None:
    """Return the coordinates that differ by more than rounding, and each number's place.

    None where no such set is clear: many numbers, each within rounding of the next.
    """
    values, inverse = np.unique(column, return_inverse=True)
    rounding = _rounding(values[0], values[-1])
    with np.errstate(over="ignore"):
        is_first = np.append(True, np.diff(values) > rounding)
    starts = np.flatnonzero(is_first)
    ends = np.append(starts[1:], len(values)) - 1
    if not (values[ends] - values[starts] <= rounding).all():
        return None
    return values[starts], (np.cumsum(is_first) - 1)[inverse.reshape(-1)]
