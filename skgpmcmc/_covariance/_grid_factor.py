"""Square roots of covariances on Cartesian grids, in the eigenbasis of their axes.

On a grid K = s^2 (R_1 x ... x R_D + nu I): a Kronecker product of one correlation matrix for
each axis, and a nugget nu. Its eigenvectors Q are the Kronecker product of the axes', and
K = s^2 Q diag(lambda) Q^T. The root L = s Q diag(lambda)^1/2 Q^T is symmetric and moves
continuously with the hyperparameters, although eigenvectors do not: signs, and bases of equal
eigenvalues, cancel. Nothing here is as large as n x n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from .._linalg import Array


class AxisSpectrum(NamedTuple):
    """The correlation matrix R = Q diag(values) Q^T of one axis.

    Attributes
    ----------
    weight : float
        1 / l^2.
    correlation, vectors : ndarray of shape (n_axis, n_axis)
        R and Q.
    values : ndarray of shape (n_axis,)
        Increasing, none below zero.
    """

    weight: float
    correlation: Array
    vectors: Array
    values: Array


class GridSpectrum:
    """Eigenvalues and eigenvectors of R_1 x ... x R_D + nu I.

    Vectors are in the order of the grid's points, the last axis moving fastest.

    Parameters
    ----------
    axes : tuple of AxisSpectrum
        One for each axis; spectra that differ in others share them.
    nugget : float
        nu, positive.

    Attributes
    ----------
    axes, nugget
        As given.
    values, root : ndarray of shape (n,)
        The eigenvalues lambda, and their square roots.
    half_log_det : float
        Half the sum of log lambda.
    """

    __slots__ = ("axes", "half_log_det", "nugget", "root", "values")

    def __init__(self, axes: tuple[AxisSpectrum, ...], nugget: float) -> None:
        self.axes = axes
        self.nugget = nugget
        self.values = reduce(_outer, [axis.values for axis in axes]) + nugget
        self.root = np.sqrt(self.values)
        self.half_log_det = float(np.log(self.root).sum())

    def rotate(self, rows: Array) -> Array:
        """Return Q^T x, for one vector or for each row of a matrix."""
        return _multiply([axis.vectors.T for axis in self.axes], rows)

    def rotate_back(self, rows: Array) -> Array:
        """Return Q x, for one vector or for each row of a matrix."""
        return _multiply([axis.vectors for axis in self.axes], rows)

    def apply(self, diagonal: Array, rows: Array) -> Array:
        """Return Q diag(d) Q^T x, for one vector or for each row of a matrix."""
        return self.rotate_back(self.rotate(rows) * diagonal)


class GridFactor:
    """K = L L^T with the symmetric root L, at one setting of the kernel's hyperparameters.

    Parameters
    ----------
    theta : ndarray of shape (n_kernel_parameters,)
        Logarithms of the kernel's free hyperparameters.
    unit : GridSpectrum
        Of K / s^2.
    amplitude : float
        s^2.

    Attributes
    ----------
    theta, unit
        As given.
    n : int
        Number of latent variables.
    scale : float
        s.
    variance : float
        The diagonal of K.
    half_log_det : float
        log |K| / 2.
    """

    __slots__ = ("half_log_det", "n", "scale", "theta", "unit", "variance")

    def __init__(self, theta: Array, unit: GridSpectrum, amplitude: float) -> None:
        self.theta = theta
        self.unit = unit
        self.n = unit.values.size
        self.scale = math.sqrt(amplitude)
        self.variance = amplitude * (1.0 + unit.nugget)
        self.half_log_det = unit.half_log_det + self.n * math.log(self.scale)

    def rescaled(self, theta: Array, amplitude: float) -> GridFactor:
        """Return the factor at another amplitude."""
        return GridFactor(theta, self.unit, amplitude)

    def colour(self, whitened: Array) -> Array:
        """Return L z: a draw from N(0, K) if z is one from N(0, I)."""
        return self.unit.apply(self.scale * self.unit.root, whitened)

    def colour_columns(self, whitened: Array) -> Array:
        """Return L Z for the columns of Z, shape (n, n_columns)."""
        return self.colour(whitened.T).T

    def colour_transpose(self, vector: Array) -> Array:
        """Return L^T x; L is symmetric."""
        return self.colour(vector)

    def whiten(self, deviation: Array) -> Array:
        """Return z with L z = f - m."""
        return self.unit.apply(1.0 / (self.scale * self.unit.root), deviation)

    def solve(self, vector: Array) -> Array:
        """Return K^-1 x."""
        return self.unit.apply(1.0 / (self.scale**2 * self.unit.values), vector)

    def log_normal(self, whitened: Array) -> float:
        """Return log N(f; m, K) up to the constant -n log(2 pi) / 2, given z."""
        return -0.5 * float(whitened.dot(whitened)) - self.half_log_det


class GridPseudoPosterior:
    """The Gaussian with prior N(m, K) and sites of one precision W = w I.

    I + L W L is diagonal in the eigenbasis too, and U its symmetric root.

    Parameters
    ----------
    factor : GridFactor
        L.
    precision : float
        w, at least zero.

    Attributes
    ----------
    factor, precision
        As given.
    half_log_det : float
        log |U|; not finite where that is not.
    """

    __slots__ = ("_root", "factor", "half_log_det", "precision")

    def __init__(self, factor: GridFactor, precision: float) -> None:
        self.factor = factor
        self.precision = precision
        values = 1.0 + precision * factor.scale**2 * factor.unit.values
        self._root = np.sqrt(values)
        self.half_log_det = 0.5 * float(np.log(values).sum())

    def project(self, shift: Array, mean: float) -> Array:
        """Return b = U^-1 L^T (h - W m)."""
        unit = self.factor.unit
        residual = shift - self.precision * mean if mean else shift
        return unit.apply(self.factor.scale * unit.root / self._root, residual)

    def whiten(self, whitened: Array, projection: Array) -> Array:
        """Return eta = U^T z - b, standard normal under the pseudo-posterior."""
        return self.factor.unit.apply(self._root, whitened) - projection

    def colour(self, eta: Array, projection: Array) -> Array:
        """Return z = U^-T (eta + b), so that f = m + L z."""
        return self.factor.unit.apply(1.0 / self._root, eta + projection)

    def colour_columns(self, eta: Array) -> Array:
        """Return U^-T eta for the columns of eta, shape (n, n_columns)."""
        return self.factor.unit.apply(1.0 / self._root, eta.T).T


class GridPseudoPosteriorFactory:
    """Builds pseudo-posteriors on grids, which own what they keep."""

    def build(
        self, factor: GridFactor, precision: Array, current: GridPseudoPosterior | None = None
    ) -> GridPseudoPosterior | None:
        """Factor I + L W L; None where that fails in floating point.

        Raises
        ------
        ValueError
            If the precisions are not all the same.
        """
        first = float(precision[0])
        if not (precision == first).all():
            raise ValueError(
                "on a grid all sites must have the same precision; got precisions from "
                f"{precision.min():.3g} to {precision.max():.3g}. Use a representation that works "
                "on grids."
            )
        pseudo = GridPseudoPosterior(factor, first)
        return pseudo if math.isfinite(pseudo.half_log_det) else None


def _outer(first: Array, second: Array) -> Array:
    return np.multiply.outer(first, second).reshape(-1)


def _multiply(matrices: Sequence[Array], rows: Array) -> Array:
    """Multiply each row, a vector on the grid, by the Kronecker product of matrices."""
    *others, last = matrices
    trailing = rows.shape[-1]
    product = np.ascontiguousarray(rows)
    for matrix in others:
        trailing //= len(matrix)
        product = np.matmul(matrix, product.reshape(-1, len(matrix), trailing))
    return (product.reshape(-1, len(last)) @ last.T).reshape(rows.shape)
