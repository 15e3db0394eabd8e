"""Exact conditionals of a latent function that was sampled on a grid, anywhere.

In the eigenbasis of the grid's covariance, K = s^2 Q diag(lambda) Q^T, the covariances of a row
x and the grid's points are s^2 times an outer product of one small vector for each axis,
u_d = Q_d^T r_d(x). Mean and variance at x are then products of two arrays of the grid's shape,
(Q^T (f - m)) / lambda and 1 / lambda, with the u_d, and with their squares, axis by axis.
Nothing is as large as n x n; rows that make up a grid of their own, such as those that the model
was fitted to, share most of the products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import CrossCovariance, GridCovariance, GridFactor, separable_form
from .._grid import Grid
from .._linalg import Array, slices
from ._dense import CHUNK_BYTES, NUMBERS_PER_PAIR, PosteriorDraws


class _Rows(NamedTuple):
    """New inputs by their coordinates.

    Attributes
    ----------
    axes : list of ndarray
        Distinct coordinates of each column.
    places : list of ndarray of int
        For each column, which coordinate each row has.
    """

    axes: list[Array]
    places: list[NDArray[np.intp]]

    @classmethod
    def of(cls, X: Array) -> _Rows:
        pairs = [np.unique(column, return_inverse=True) for column in X.T]
        return cls([axis for axis, _ in pairs], [place.reshape(-1) for _, place in pairs])

    def form_grid(self, shape: Sequence[int]) -> bool:
        """Whether it is cheaper to multiply by all combinations of their coordinates."""
        n, cost, size = len(self.places[0]), 0, math.prod(shape)
        by_row = n * size
        for length, axis in zip(shape, self.axes, strict=True):
            cost += size * len(axis)
            size = size // length * len(axis)
        return cost <= by_row and 8 * size <= CHUNK_BYTES

    def multiply(self, values: Array, factors: Sequence[Array], as_grid: bool) -> Array:
        """Multiply an array of the grid's shape by one vector for each row and axis.

        `factors` has the vectors of each axis' distinct coordinates as columns.
        """
        if as_grid:
            for matrix in factors:  # each product moves its axis to the end
                values = np.tensordot(values, matrix, axes=(0, 0))
            return np.asarray(values[tuple(self.places)])
        *others, last = [f[:, place] for f, place in zip(factors, self.places, strict=True)]
        product = np.tensordot(values, last, axes=1)
        for columns in reversed(others):
            product = np.einsum("...ij,ij->...j", product, columns)
        return product


class GridPosteriorDraws(PosteriorDraws):
    """Draws of (theta, m, f) at the points of a grid that predictions are conditional on.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function of f that separates on the grid, at any hyperparameters.
    grid : Grid
        Of the latent variables.
    theta, mean, values, jitter
        See `PosteriorDraws`.
    """

    def __init__(
        self, kernel: Kernel, grid: Grid, theta: Array, mean: Array, values: Array, jitter: float
    ) -> None:
        super().__init__(kernel, grid, theta, mean, values, jitter)
        form = separable_form(kernel, grid)
        assert form is not None
        self._grid = grid
        self._covariance = GridCovariance(form, grid, jitter)

    @staticmethod
    def numbers_of_draw(X: Grid) -> int:
        """Return about how many operations each draw costs; see `PosteriorDraws`."""
        return X.n * sum(X.shape)

    def chunks(self, X: Any) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows of X, and mean and variance of f there; see `PosteriorDraws.chunks`."""
        for some, rows in self._row_pieces(X):
            mean = np.empty((len(self), some.stop - some.start))
            variance = np.empty_like(mean)
            for d in range(len(self)):
                factor = self._at(d)
                factors = self._factors(d, factor, rows.axes)
                mean[d] = self._mean_at(rows, d, factor, factors)
                explained = factor.scale**2 * self._explained_at(rows, d, factor, factors)
                variance[d] = self._cross_at(d).variances(X[some]) - explained
            yield some, mean, np.maximum(variance, 0.0)

    def mean_chunks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield rows of X, and the mean of f there; see `PosteriorDraws.mean_chunks`."""
        for some, rows in self._row_pieces(X):
            mean = np.empty((len(self), some.stop - some.start))
            for d in range(len(self)):
                factor = self._at(d)
                factors = self._factors(d, factor, rows.axes)
                mean[d] = self._mean_at(rows, d, factor, factors)
            yield some, mean

    def _row_pieces(self, X: Array) -> Iterator[tuple[slice, _Rows]]:
        """Yield some rows of X at a time, and their coordinates."""
        per_row = max(len(self), self._grid.n // self._grid.shape[-1])
        for some in self._pieces(len(X), per_row):
            yield some, _Rows.of(X[some])

    def _mean_at(
        self, rows: _Rows, draw: int, factor: GridFactor, factors: Sequence[Array]
    ) -> Array:
        """Return the means at some rows, given their covariances along each axis."""
        precision = (1.0 / factor.unit.values).reshape(self._grid.shape)
        weights = precision * self._rotated(draw, factor)
        own, share = self._view.shares
        mean = self._view.offset(self._mean[draw]) + own * self._multiply(rows, weights, factors)
        if share:
            mean += share * (weights * self._average_cross(draw, factor)).sum()
        return np.asarray(mean)

    def _explained_at(
        self, rows: _Rows, draw: int, factor: GridFactor, factors: Sequence[Array]
    ) -> Array:
        """Return what f explains of the variances at some rows, divided by s^2."""
        precision = (1.0 / factor.unit.values).reshape(self._grid.shape)
        squares = [columns**2 for columns in factors]
        own, share = self._view.shares
        explained = own**2 * self._multiply(rows, precision, squares)
        if share:
            average = self._average_cross(draw, factor)
            between = self._multiply(rows, precision * average, factors)
            explained += 2.0 * own * share * between
            explained += share**2 * (precision * average**2).sum()
        return explained

    def _average_cross(self, draw: int, factor: GridFactor) -> Array:
        """Return the average of the outer products of the vectors u_d over the view's rows."""
        rows = _Rows.of(self._view.rows)
        factors = self._factors(draw, factor, rows.axes)
        columns = [f[:, place] for f, place in zip(factors, rows.places, strict=True)]
        total = np.zeros(self._grid.shape)
        for some in self._pieces(len(self._view.rows), self._grid.n):
            first, *others = (each[:, some] for each in columns)
            for other in others:
                first = np.einsum("...j,ij->...ij", first, other)
            total += first.sum(axis=-1)
        return total / len(self._view.rows)

    def _multiply(self, rows: _Rows, values: Array, factors: Sequence[Array]) -> Array:
        return rows.multiply(values, factors, rows.form_grid(self._grid.shape))

    def joint(self, X: Any, draw: int) -> tuple[Array, Array]:
        """Return mean and covariance of f at all rows together; see `PosteriorDraws.joint`."""
        factor = self._at(draw)
        rows = _Rows.of(X)
        first, *others = [
            columns[:, place]
            for columns, place in zip(
                self._factors(draw, factor, rows.axes), rows.places, strict=True
            )
        ]
        shape = self._grid.shape
        root = factor.scale / factor.unit.root.reshape(shape)
        weights = self._rotated(draw, factor) / (factor.scale * factor.unit.root.reshape(shape))
        mean = np.full(len(X), self._view.offset(self._mean[draw]))
        covariance = self._cross_at(draw).among(X)
        own, share = self._view.shares
        average = self._average_cross(draw, factor) if share else None
        for some in self._pieces(shape[0], self._grid.n // shape[0] * len(X)):
            cross = first[some]
            for columns in others:
                cross = np.einsum("...j,ij->...ij", cross, columns)
            if average is not None:
                cross = own * cross + share * average[some, ..., np.newaxis]
            cross = (cross * root[some, ..., np.newaxis]).reshape(-1, len(X))
            mean += weights[some].reshape(-1) @ cross
            covariance -= cross.T @ cross
        return mean, covariance

    def usable_precisions(self, precision: Array) -> Array:
        """Return the mean: with one precision at all points the eigenvectors stay the same."""
        return np.full(precision.shape, precision.mean())

    def covariance_given_sites(self, draw: int, precision: Array) -> Array:
        """Return (K^-1 + w I)^-1; see `PosteriorDraws.covariance_given_sites`."""
        factor = self._at(draw)
        k = factor.scale**2 * factor.unit.values
        return factor.unit.apply(k / (1.0 + precision[0] * k), np.eye(factor.n))

    def n_drawn(self, X: Any) -> int:
        """Return at how many rows of X functions are drawn: those that are no points."""
        return int((self._places(X) < 0).sum())

    def joint_memory(self, n_rows: int) -> float:
        """Return the bytes that `joint` and a root of its covariance need, at most about."""
        return 8.0 * NUMBERS_PER_PAIR * float(n_rows) ** 2 + 2.0 * CHUNK_BYTES

    def sample(self, X: Any, draw: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw functions at X; at points of the grid these are known: the draw itself."""
        places = self._places(X)
        drawn = np.flatnonzero(places < 0)
        known = self._view.of_values(self._values[draw], self._mean[draw])
        functions = np.empty((len(X), n))
        if known is not None:
            functions[:] = known[places, np.newaxis]
        if drawn.size:
            functions[drawn] = super().sample(X[drawn], draw, n, rng)
        return functions

    def _places(self, X: Array) -> NDArray[np.intp]:
        """Return which point of the grid each row is, if what is drawn is known there; else -1."""
        if self._view.of_values(self._values[0], self._mean[0]) is None:
            return np.full(len(X), -1)
        return self._grid.locate(X)

    def sample_parts(
        self, parts: Sequence[Self], X: Any, draw: int, n: int, rng: np.random.RandomState
    ) -> Array:
        """Draw each part; see `PosteriorDraws.sample_parts`.

        Given f they are independent: beside one kernel that separates, a grid has white noise only.
        """
        return np.array([part.sample(X, draw, n, rng) for part in parts])

    def _at(self, draw: int) -> GridFactor:
        """Return the grid's factor at a draw."""
        factor = self._covariance.factor(self.theta[draw, : self._kernel.n_dims])
        # The chain stood there, at the same numbers.
        assert factor is not None
        return factor

    def _cross_at(self, draw: int) -> CrossCovariance:
        """Return covariances at a draw, to ask for those of new inputs alone."""
        return self._view.cross(self.theta[draw], np.empty((0, len(self._grid.axes))))

    def _rotated(self, draw: int, factor: GridFactor) -> Array:
        """Return Q^T (f - m), in the grid's shape."""
        deviation = self._values[draw] - self._mean[draw]
        return factor.unit.rotate(deviation).reshape(self._grid.shape)

    def _factors(self, draw: int, factor: GridFactor, axes: Sequence[Array]) -> list[Array]:
        """Return for each axis Q_d^T r_d, a column for each of some new coordinates."""
        spectra = zip(factor.unit.axes, self._grid.axes, axes, strict=True)
        factors = []
        for d, (spectrum, old, new) in enumerate(spectra):
            # Only one coordinate differs: the other axes' correlations are one.
            cross = np.empty((len(new), len(old)))
            along = self._view.along_axis(d, self.theta[draw], self._line(d, old))
            along.write(self._line(d, new), cross)
            factors.append(spectrum.vectors.T @ (cross.T / factor.scale**2))
        return factors

    def _line(self, d: int, coordinates: Array) -> Array:
        points = np.zeros((len(coordinates), len(self._grid.axes)))
        points[:, d] = coordinates
        return points

    @staticmethod
    def _pieces(n: int, numbers_each: int) -> list[slice]:
        """Return slices of n things, each of so many numbers, that fit in a chunk."""
        return slices(n, max(1, CHUNK_BYTES // (8 * numbers_each)))
