"""Covariances of many rows and a few inducing points, and sums of their derivatives.

All are those of the kernel divided by its amplitude, the free constants that multiply it as a
whole. White noise is no part of them, but of the variances of the rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array
from ._kernel_call import covariances, variances
from ._kernel_form import StationaryForm, product, scale_leaves, set_free
from ._stationary import CORRELATIONS
from ._stationary_gradient import DERIVATIVES, LARGEST_SQUARE


class CrossCovariance(ABC):
    """The kernel at one theta, between rows and points.

    Attributes
    ----------
    amplitude : float
        What all covariances are divided by.
    variance : float or ndarray of shape (n,)
        Of each row, with white noise; a float where all are equal.
    """

    amplitude: float
    variance: float | Array

    @abstractmethod
    def write(self, rows: slice, out: Array) -> None:
        """Write the covariances of some rows and the points, shape (n_rows, m), C order."""

    @abstractmethod
    def points(self) -> Array:
        """Return the covariances of the points, shape (m, m)."""

    @abstractmethod
    def derivatives(self) -> CrossDerivatives:
        """Return an empty sum of weighted derivatives."""


class CrossDerivatives(ABC):
    """A sum of weights times the derivatives of covariances along theta."""

    @abstractmethod
    def add_rows(self, rows: slice, weights: Array) -> None:
        """Add the covariances of some rows and the points; the weights are overwritten."""

    @abstractmethod
    def add_points(self, weights: Array) -> None:
        """Add the covariances of the points."""

    @abstractmethod
    def add_variances(self, weights: Array) -> None:
        """Add the variances of all rows."""

    @abstractmethod
    def total(self) -> Array:
        """Return the sum, shape (n_kernel_parameters,); anything for parameters that rescale."""


class CrossKernel(ABC):
    """A kernel between rows and inducing points, at any theta.

    Attributes
    ----------
    n, m : int
        Numbers of rows and of points.
    scale_parameters : list of int
        Elements of theta that make the amplitude.
    """

    n: int
    m: int
    scale_parameters: list[int]

    @abstractmethod
    def amplitude(self, theta: Array) -> float:
        """Return the amplitude; infinity where it overflows."""

    @abstractmethod
    def at(self, theta: Array) -> CrossCovariance | None:
        """Return the covariances at theta; None where they are not finite."""


# ---------------------------------------------------------------- any kernel


class AnyCrossKernel(CrossKernel):
    """Any scikit-learn kernel, by its own call; the slow twin of the fast path.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Also one of the user's own, also on structured inputs.
    X, points : array-like
        What the kernel takes.
    rescales : bool
        Whether constants that multiply the kernel rescale the whole covariance.
    """

    def __init__(self, kernel: Kernel, X: Any, points: Any, rescales: bool = True) -> None:
        self.n, self.m = len(X), len(points)
        self._kernel, self._X, self._points = kernel, X, points
        self._scales = scale_leaves(kernel) if rescales else []
        self.scale_parameters = [leaf.start for leaf in self._scales]

    def amplitude(self, theta: Array) -> float:
        """Return the product of the constants."""
        return product(self._scales, theta)

    def at(self, theta: Array) -> CrossCovariance | None:
        """Return the covariances at theta; None where variances are not finite."""
        unit_theta = theta.copy()
        unit_theta[self.scale_parameters] = 0.0
        kernel = self._kernel.clone_with_theta(unit_theta)
        return _AnyCrossCovariance(kernel, self._X, self._points, self.amplitude(theta))


class _AnyCrossCovariance(CrossCovariance):
    def __init__(self, kernel: Kernel, X: Any, points: Any, amplitude: float) -> None:
        self.amplitude = amplitude
        self.kernel, self.X, self.Z = kernel, X, points
        diagonal = np.asarray(variances(kernel, X), dtype=np.float64)
        constant = (diagonal == diagonal[0]).all()
        self.variance = float(diagonal[0]) if constant else diagonal

    def write(self, rows: slice, out: Array) -> None:
        out[:] = covariances(self.kernel, self.X[rows], self.Z)

    def points(self) -> Array:
        # Given twice: white noise then is no part of it.
        return np.asarray(covariances(self.kernel, self.Z, self.Z), dtype=np.float64)

    def derivatives(self) -> _AnyCrossDerivatives:
        return _AnyCrossDerivatives(self)


class _AnyCrossDerivatives(CrossDerivatives):
    """Kernels give derivatives of the covariances of one set of inputs: rows and points joined."""

    def __init__(self, at: _AnyCrossCovariance) -> None:
        self._at = at
        self._sum = np.zeros(at.kernel.n_dims)

    def add_rows(self, rows: slice, weights: Array) -> None:
        m = len(self._at.Z)
        for start in range(rows.start, rows.stop, m):
            some = slice(start, min(start + m, rows.stop))
            of_some = weights[some.start - rows.start : some.stop - rows.start]
            gradient = self._gradient(self._at.kernel, _joined(self._at.X[some], self._at.Z))
            self._sum += np.einsum("ij,ijk->k", of_some, gradient[: len(of_some), len(of_some) :])

    def add_points(self, weights: Array) -> None:
        # Joined with themselves: white noise is no part of it.
        gradient = self._gradient(self._at.kernel, _joined(self._at.Z, self._at.Z))
        m = len(weights)
        self._sum += np.einsum("ij,ijk->k", weights, gradient[:m, m:])

    def add_variances(self, weights: Array) -> None:
        m = len(self._at.Z)
        for start in range(0, len(weights), m):
            gradient = self._gradient(self._at.kernel, self._at.X[start : start + m])
            self._sum += weights[start : start + m] @ np.einsum("iik->ik", gradient)

    def total(self) -> Array:
        return self._sum

    @staticmethod
    def _gradient(kernel: Kernel, inputs: Any) -> Array:
        with np.errstate(all="ignore"):
            _, gradient = kernel(inputs, eval_gradient=True)
        return np.asarray(gradient)


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    return [*first, *second]


# ---------------------------------------------------------------- one stationary term


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

    def at(self, theta: Array) -> CrossCovariance | None:
        """Return the covariances at theta; None where they are not finite."""
        weights = self.form.length_scale.natural(theta) ** -2.0
        factor = product(self.form.amplitude, theta)
        if not (np.isfinite(weights).all() and 0.0 < factor < math.inf):
            return None
        return _StationaryCrossCovariance(self, theta, weights)


class _StationaryCrossCovariance(CrossCovariance):
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
        self._left = _augmented(kernel.X, x_squares)
        self._points_left = _augmented(kernel.Z, z_squares)
        right = [-2.0 * self.axis_weights * kernel.Z, np.ones((kernel.m, 1)), z_squares[:, None]]
        self._right = form.distance_factor * np.concatenate(right, axis=1).T

    def write(self, rows: slice, out: Array) -> None:
        self.correlate(self.kernel.X[rows], self._left[rows], out)
        self._finish(out)

    def points(self) -> Array:
        matrix = np.empty((self.kernel.m, self.kernel.m))
        self.correlate(self.kernel.Z, self._points_left, matrix)
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
        self._add(kernel.X[rows], kernel.X_squares[rows], self._at._left[rows], weights)

    def add_points(self, weights: Array) -> None:
        kernel = self._at.kernel
        self._add(kernel.Z, kernel.Z_squares, self._at._points_left, weights)

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
