"""Covariances of many rows and a few inducing points, and sums of their derivatives.

All are those of the kernel divided by its amplitude, the free constants that multiply it as a
whole. White noise is no part of them, but of the variances of the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array, slices
from ._kernel_call import covariances, variances
from ._kernel_form import product, scale_leaves


class PointsCovariance(ABC):
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
    def at(self, theta: Array) -> PointsCovariance | None:
        """Return the covariances at theta; None where they are not finite."""


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

    def at(self, theta: Array) -> PointsCovariance | None:
        """Return the covariances at theta; None where variances are not finite."""
        unit_theta = theta.copy()
        unit_theta[self.scale_parameters] = 0.0
        kernel = self._kernel.clone_with_theta(unit_theta)
        return _AnyPointsCovariance(kernel, self._X, self._points, self.amplitude(theta))


class _AnyPointsCovariance(PointsCovariance):
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

    def __init__(self, at: _AnyPointsCovariance) -> None:
        self._at = at
        self._sum = np.zeros(at.kernel.n_dims)

    def add_rows(self, rows: slice, weights: Array) -> None:
        inputs = self._at.X[rows]
        for some in slices(len(weights), len(self._at.Z)):
            of_some = weights[some]
            gradient = self._gradient(self._at.kernel, _joined(inputs[some], self._at.Z))
            self._sum += np.einsum("ij,ijk->k", of_some, gradient[: len(of_some), len(of_some) :])

    def add_points(self, weights: Array) -> None:
        # Joined with themselves: white noise is no part of it.
        gradient = self._gradient(self._at.kernel, _joined(self._at.Z, self._at.Z))
        m = len(weights)
        self._sum += np.einsum("ij,ijk->k", weights, gradient[:m, m:])

    def add_variances(self, weights: Array) -> None:
        for some in slices(len(weights), len(self._at.Z)):
            gradient = self._gradient(self._at.kernel, self._at.X[some])
            self._sum += weights[some] @ np.einsum("iik->ik", gradient)

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
