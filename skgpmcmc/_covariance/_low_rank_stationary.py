"""Fast path of covariances of rows and inducing points: one stationary kernel.

It is multiplied by any constants, and any number of white noises and constants are added.
"""

from __future__ import annotations

import math

import numpy as np

from .._linalg import Array
from ._kernel_form import StationaryForm, product, set_free
from ._low_rank_kernel import CrossDerivatives, CrossKernel, PointsCovariance
from ._stationary import CORRELATIONS
from ._stationary_gradient import DERIVATIVES, LARGEST_SQUARE


class StationaryCrossKernel(CrossKernel):
    """Fast path: a constant times a stationary kernel, plus white noises and constants.

    Parameters
    ----------
    form : StationaryForm
        What `parse` made of the kernel.
    X, points : ndarray of shape (n, n_features), (m, n_features)
        Inputs.
    rescales : bool
        See `AnyCrossKernel`.
    """

    def __init__(
        self, form: StationaryForm, X: Array, points: Array, rescales: bool = True
    ) -> None:
        self.n, self.m = len(X), len(points)
        self.form = form
        self.rescales = rescales and form.rescales
        leaves = form.amplitude if self.rescales else []
        self.scale_parameters = [leaf.start for leaf in leaves if leaf.free]
        # One far point must not take the digits of the differences of all others.
        centre = np.median(points, axis=0)
        self.X, self.Z = X - centre, points - centre
        self.X_squares, self.Z_squares = self.X**2, self.Z**2

    def amplitude(self, theta: Array) -> float:
        """Return the product of the constants, where they rescale everything."""
        return product(self.form.amplitude, theta) if self.rescales else 1.0

    def at(self, theta: Array) -> PointsCovariance | None:
        """Return the covariances at theta; None where they are not finite."""
        weights = self.form.length_scale.natural(theta) ** -2.0
        factor = product(self.form.amplitude, theta)
        if not (np.isfinite(weights).all() and 0.0 < factor < math.inf):
            return None
        return _StationaryCrossCovariance(self, theta, weights)


class _StationaryCrossCovariance(PointsCovariance):
    """Squared distances by one product, |x|^2 + |z|^2 - 2 x z, in scaled coordinates."""

    def __init__(self, kernel: StationaryCrossKernel, theta: Array, weights: Array) -> None:
        form = kernel.form
        self.kernel, self.theta, self.weights = kernel, theta, weights
        self.amplitude = kernel.amplitude(theta)
        self.factor = 1.0 if kernel.rescales else product(form.amplitude, theta)
        self.offset = sum(product(leaves, theta) for leaves in form.offset)
        noise = sum(product(leaves, theta) for leaves in form.noise)
        self.variance = self.factor + self.offset + noise
        self.axis_weights = np.broadcast_to(weights, kernel.X.shape[1])
        x_squares = kernel.X_squares @ self.axis_weights
        z_squares = kernel.Z_squares @ self.axis_weights
        # Matern 1/2 wants differences: the root of a rounding error is large beside the jitter.
        largest = max(x_squares.max(), z_squares.max()) if form.nu > 0.5 else math.inf
        self._near = largest <= LARGEST_SQUARE
        self.left = _augmented(kernel.X, x_squares)
        self.points_left = _augmented(kernel.Z, z_squares)
        right = [-2.0 * self.axis_weights * kernel.Z, np.ones((kernel.m, 1)), z_squares[:, None]]
        self._right = form.distance_factor * np.concatenate(right, axis=1).T

    def write(self, rows: slice, out: Array) -> None:
        self.correlate(self.kernel.X[rows], self.left[rows], out)
        self._finish(out)

    def points(self) -> Array:
        matrix = np.empty((self.kernel.m, self.kernel.m))
        self.correlate(self.kernel.Z, self.points_left, matrix)
        np.fill_diagonal(matrix, 1.0)
        self._finish(matrix)
        return matrix

    def _finish(self, correlations: Array) -> None:
        if self.factor != 1.0:
            correlations *= self.factor
        if self.offset:
            correlations += self.offset

    def derivatives(self) -> _StationaryCrossDerivatives:
        return _StationaryCrossDerivatives(self)

    def correlate(
        self, inputs: Array, left: Array, out: Array, derivatives: Array | None = None
    ) -> None:
        """Write correlations, and -2 times their derivatives along squared distances."""
        self._write_distances(inputs, left, out)
        form = self.kernel.form
        differentiate = None if derivatives is None else DERIVATIVES.get(form.nu)
        if derivatives is not None:
            np.copyto(derivatives, out)
        scratch = np.empty_like(out)
        CORRELATIONS[form.nu](out, scratch)
        if derivatives is None:
            return
        if differentiate is None:
            np.copyto(derivatives, out)
        else:
            differentiate(derivatives, out, scratch)

    def _write_distances(self, inputs: Array, left: Array, out: Array) -> None:
        factor = self.kernel.form.distance_factor
        if self._near:
            np.matmul(left, self._right, out=out)
            # Rounding errors leave distances around zero on its other side.
            (np.maximum if factor > 0.0 else np.minimum)(out, 0.0, out=out)
            return
        out.fill(0.0)
        for d, weight in enumerate(self.axis_weights):
            difference = np.subtract.outer(inputs[:, d], self.kernel.Z[:, d])
            out += (factor * weight) * np.square(difference)


class _StationaryCrossDerivatives(CrossDerivatives):
    """Along log l_d a covariance has the derivative h (x_d - z_d)^2 / l_d^2, with h = -2 dk/dq."""

    def __init__(self, at: _StationaryCrossCovariance) -> None:
        self._at = at
        self._along_scales = np.zeros(at.kernel.X.shape[1])
        self._along_correlations = self._everywhere = self._on_diagonal = 0.0
        self._Z_with_ones = np.concatenate([at.kernel.Z, np.ones((at.kernel.m, 1))], axis=1)

    def add_rows(self, rows: slice, weights: Array) -> None:
        kernel = self._at.kernel
        self._add(kernel.X[rows], kernel.X_squares[rows], self._at.left[rows], weights)

    def add_points(self, weights: Array) -> None:
        kernel = self._at.kernel
        self._add(kernel.Z, kernel.Z_squares, self._at.points_left, weights)

    def _add(self, inputs: Array, squares: Array, left: Array, weights: Array) -> None:
        at, kernel = self._at, self._at.kernel
        correlations, slopes = np.empty_like(weights), np.empty_like(weights)
        at.correlate(inputs, left, correlations, slopes)
        if not kernel.rescales:
            self._along_correlations += float(np.vdot(weights, correlations))
            self._everywhere += float(weights.sum())
        slopes *= weights
        moments = slopes @ self._Z_with_ones
        self._along_scales += moments[:, -1] @ squares
        self._along_scales += slopes.sum(axis=0) @ kernel.Z_squares
        self._along_scales -= 2.0 * np.einsum("id,id->d", inputs, moments[:, :-1])

    def add_variances(self, weights: Array) -> None:
        self._on_diagonal += float(weights.sum())

    def total(self) -> Array:
        at, form, theta = self._at, self._at.kernel.form, self._at.theta
        total = np.zeros_like(theta)
        leaf = form.length_scale
        if leaf.free:
            along = at.factor * at.axis_weights * self._along_scales
            stop = leaf.start + len(leaf.values)
            total[leaf.start : stop] = along if len(leaf.values) > 1 else along.sum()
        rest = at.factor * (self._along_correlations + self._on_diagonal)
        set_free(form.amplitude, rest, total)
        for leaves in form.offset:
            along_offset = self._everywhere + self._on_diagonal
            set_free(leaves, product(leaves, theta) * along_offset, total)
        for leaves in form.noise:
            set_free(leaves, product(leaves, theta) * self._on_diagonal, total)
        return total


def _augmented(inputs: Array, squares: Array) -> Array:
    return np.concatenate([inputs, squares[:, np.newaxis], np.ones((len(inputs), 1))], axis=1)
