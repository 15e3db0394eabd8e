"""Distances and derivatives of a stationary kernel as whole matrices, for its gradient.

With q_ij = sum_d w_d (x_id - x_jd)^2 and w_d = 1 / l_d^2, the derivative of a
correlation k(q) along log l_d is w_d (x_id - x_jd)^2 h(q) with h = -2 dk/dq.
Summed with weights it needs one product of a matrix with X for all length scales.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import _linalg
from .._linalg import Array
from ._packed_distances import Triangle

# q is a difference of terms of the size of the largest |x|^2: beyond this its rounding
# error might come near the jitter.
LARGEST_SQUARE = 1e5


def _matern12(distance: Array, correlation: Array, scratch: Array) -> None:
    np.sqrt(distance, out=distance)
    # At distance zero the derivative is zero whatever h is.
    np.divide(correlation, distance, out=distance, where=distance > 0.0)


def _matern32(distance: Array, correlation: Array, scratch: Array) -> None:
    np.sqrt(distance, out=distance)
    distance += 1.0
    np.divide(correlation, distance, out=distance)
    distance *= 3.0


def _matern52(distance: Array, correlation: Array, scratch: Array) -> None:
    # 5/3 (1 + s) / (1 + s + s^2 / 3) times the correlation, s^2 the tabulated distance.
    np.sqrt(distance, out=scratch)
    scratch += 1.0
    distance /= 3.0
    distance += scratch
    np.divide(scratch, distance, out=distance)
    distance *= correlation
    distance *= 5.0 / 3.0


#: nu -> function that overwrites the tabulated distances by h, given the correlations. The
#: squared exponential is missing: its h is the correlation itself.
DERIVATIVES: dict[float, Callable[[Array, Array, Array], None]] = {
    0.5: _matern12,
    1.5: _matern32,
    2.5: _matern52,
}


class CorrelationDerivatives:
    """Writes correlation matrices and keeps the derivatives h of the last one.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Inputs.
    nu : float
        Matern's nu.
    distance_factor : float
        See `StationaryForm.distance_factor`.
    correlate : callable
        Overwrites tabulated distances by correlations, with a scratch array.
    triangle : Triangle
        Layout.
    """

    def __init__(
        self,
        X: Array,
        nu: float,
        distance_factor: float,
        correlate: Callable[[Array, Array], None],
        triangle: Triangle,
    ) -> None:
        n = len(X)
        self._X = np.asfortranarray(X - X.mean(axis=0))
        self._squares = np.square(self._X)
        self._with_ones = np.asfortranarray(np.column_stack([self._X, np.ones(n)]))
        self._factor = distance_factor
        self._correlate, self._differentiate = correlate, DERIVATIVES.get(nu)
        # Rounding errors leave distances around zero on its other side.
        self._clip = np.maximum if distance_factor > 0.0 else np.minimum
        self._triangle = triangle
        self._derivatives = np.zeros((n, n)).T
        self._derivative_views = _flat(triangle.matrix_views(self._derivatives))
        scratch = np.empty(triangle.longest)
        self._scratch = [scratch[: v.size].reshape(v.shape[::-1]).T for v in self._derivative_views]
        self._weights: Array | None = None

    def write(self, weights: Array, target: Array, views: list[list[Array]]) -> bool:
        """Write the correlations into the lower triangle of a matrix.

        Parameters
        ----------
        weights : ndarray of shape (n_axes,)
            1 / l^2; one for all columns, or one for each.
        target : ndarray of shape (n, n)
            Overwritten.
        views : list of list of ndarray
            Its blocks.

        Returns
        -------
        success : bool
            False where rounding would matter: `target` is then worthless.
        """
        squares = self._squares @ np.broadcast_to(weights, self._X.shape[1])
        if not squares.max() <= LARGEST_SQUARE:  # also for NaN
            return False
        scaled = self._X * np.sqrt(weights)
        _linalg.write_products(scaled, -2.0 * self._factor, target)
        _linalg.add_sums(squares, self._factor, target)
        self.correlate(weights, views)
        return True

    def correlate(self, weights: Array, views: list[list[Array]]) -> None:
        """Turn the tabulated distances in a matrix into correlations, and keep h."""
        blocks = zip(_flat(views), self._derivative_views, self._scratch, strict=True)
        for block, h, scratch in blocks:
            self._clip(block, 0.0, out=block)
            if self._differentiate is None:
                self._correlate(block, scratch)
                np.copyto(h, block)
            else:
                np.copyto(h, block)
                self._correlate(block, scratch)
                self._differentiate(h, block, scratch)
        self._weights = weights

    def holds(self, weights: Array) -> bool:
        """Return whether the kept h was computed at these weights (the same object)."""
        return self._weights is weights

    def contract(self, matrix: Array) -> Array:
        """Return -1/2 sum_ij w_ij h_ij w_d (x_id - x_jd)^2 for each axis.

        Parameters
        ----------
        matrix : ndarray of shape (n, n)
            w, in the lower triangle; overwritten.
        """
        weights = self._weights
        assert weights is not None
        matrix *= self._derivatives
        _linalg.diagonal_view(matrix).fill(0.0)
        products = _linalg.multiply_symmetric(matrix, self._with_ones)
        moments = products[:, -1] @ self._squares
        moments -= np.einsum("id,id->d", self._X, products[:, :-1])
        return -weights * (moments if len(weights) > 1 else moments.sum())


def _flat(views: list[list[Array]]) -> list[Array]:
    return [block for run in views for block in run]
