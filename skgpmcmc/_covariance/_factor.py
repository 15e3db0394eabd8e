"""Factors of a covariance and of the posterior under Gaussian sites.

With K = L L^T and diagonal site precisions W, everything that a representation
needs follows from L and from U, where I + L^T W L = U U^T: the square root
L U^-T of the pseudo-posterior covariance R = (K^-1 + W)^-1 of M&A eq.
(pseudopost), its mean, and the log determinant |K + W^-1| = |U|^2 / |W|.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field, replace

import numpy as np

from .. import _linalg
from .._linalg import Array


@dataclass(slots=True, eq=False)
class CholeskyFactor:
    """K = scale^2 L L^T, at one setting of the kernel's hyperparameters.

    Attributes
    ----------
    theta : ndarray of shape (n_kernel_parameters,)
        Logarithms of the kernel's free hyperparameters.
    lower : ndarray of shape (n, n)
        L, in the lower triangle of a buffer that belongs to the chain.
    scale : float
        Square root of a common factor of K, its amplitude, so that a move of the signal variance
        needs no new factorisation.
    variance : float or ndarray of shape (n,)
        The diagonal of K; a float where all entries are equal.
    half_log_det : float
        log |K| / 2.
    slot : int
        Which of the chain's two buffers holds L.
    """

    theta: Array
    lower: Array
    unit_half_log_det: float
    unit_variance: float | Array
    slot: int
    amplitude: InitVar[float]
    scale: float = field(init=False)
    variance: float | Array = field(init=False)
    half_log_det: float = field(init=False)

    def __post_init__(self, amplitude: float) -> None:
        self.scale = math.sqrt(amplitude)
        self.variance = self.unit_variance * amplitude
        self.half_log_det = self.unit_half_log_det + self.lower.shape[0] * math.log(self.scale)

    @property
    def n(self) -> int:
        """Number of latent variables."""
        return self.lower.shape[0]

    def rescaled(self, theta: Array, amplitude: float) -> CholeskyFactor:
        """Return the factor at another amplitude; L itself is shared."""
        return replace(self, theta=theta, amplitude=amplitude)

    def colour(self, whitened: Array) -> Array:
        """Return scale L z: a draw from N(0, K) if z is one from N(0, I)."""
        coloured = _linalg.multiply_lower(self.lower, whitened)
        if self.scale != 1.0:
            coloured *= self.scale
        return coloured

    def colour_columns(self, whitened: Array) -> Array:
        """Return scale L Z for the columns of Z, shape (n, n_columns)."""
        coloured = _linalg.multiply_lower_matrix(self.lower, whitened)
        if self.scale != 1.0:
            coloured *= self.scale
        return coloured

    def colour_transpose(self, vector: Array) -> Array:
        """Return scale L^T x."""
        product = _linalg.multiply_lower(self.lower, vector, transpose=True)
        product *= self.scale
        return product

    def whiten(self, deviation: Array) -> Array:
        """Return z with scale L z = f - m."""
        return _linalg.solve_lower(self.lower, deviation) / self.scale

    def solve(self, vector: Array) -> Array:
        """Return K^-1 x."""
        return _linalg.solve_lower(self.lower, self.whiten(vector), transpose=True) / self.scale

    def log_normal(self, whitened: Array) -> float:
        """Return log N(f; m, K) up to the constant -n log(2 pi) / 2, given z."""
        return -0.5 * float(whitened.dot(whitened)) - self.half_log_det


@dataclass(slots=True, eq=False)
class PseudoPosterior:
    """The Gaussian with prior N(m, K) and sites exp(-W f^2 / 2 + h f).

    Attributes
    ----------
    precision : ndarray of shape (n,)
        W, all entries >= 0. The shift h enters where it is needed, because U does
        not depend on it: one factor serves every draw of surrogate data.
    half_log_det : float
        Sum of log U_ii.
    slot : int
        Which of the chain's two buffers holds U.
    """

    factor: CholeskyFactor
    precision: Array
    lower: Array
    half_log_det: float
    slot: int

    def project(self, shift: Array, mean: float) -> Array:
        """Return b = U^-1 L^T (h - W m)."""
        residual = shift - self.precision * mean if mean else shift
        return _linalg.solve_lower(self.lower, self.factor.colour_transpose(residual))

    def whiten(self, whitened: Array, projection: Array) -> Array:
        """Return eta = U^T z - b, standard normal under the pseudo-posterior."""
        return _linalg.multiply_lower(self.lower, whitened, transpose=True) - projection

    def colour(self, eta: Array, projection: Array) -> Array:
        """Return z = U^-T (eta + b), so that f = m + L z."""
        return _linalg.solve_lower(self.lower, eta + projection, transpose=True)

    def colour_columns(self, eta: Array) -> Array:
        """Return U^-T eta for the columns of eta, shape (n, n_columns)."""
        return _linalg.solve_lower_matrix(self.lower, eta, transpose=True)

    def marginal_variance(self) -> Array:
        """Return the diagonal of L U^-T U^-1 L^T, the variances of the latent variables."""
        # The buffers' upper triangles hold anything.
        transpose = np.asfortranarray(np.tril(self.factor.lower).T)
        root = _linalg.solve_lower_matrix(self.lower, transpose)
        return np.asarray(self.factor.scale**2 * np.einsum("ij,ij->j", root, root))


class PseudoPosteriorFactory:
    """Builds pseudo-posteriors in two swapped buffers.

    The buffer that a chain's current state occupies is never overwritten: a new
    pseudo-posterior goes into the other one.

    Parameters
    ----------
    n : int
        Number of latent variables.
    """

    def __init__(self, n: int) -> None:
        self._buffers = _linalg.buffer_pair(n)
        self._diagonals = tuple(_linalg.diagonal_view(buffer) for buffer in self._buffers)

    def build(
        self, factor: CholeskyFactor, precision: Array, current: PseudoPosterior | None = None
    ) -> PseudoPosterior | None:
        """Factor I + L^T W L; None where that fails in floating point."""
        slot = 0 if current is None else 1 - current.slot
        matrix = self._buffers[slot]
        root = np.sqrt(precision)
        if factor.scale != 1.0:
            root *= factor.scale
        # One call on whole columns is faster than several on the triangle alone.
        np.multiply(factor.lower, root[:, np.newaxis], out=matrix)
        _linalg.gram_in_place(matrix)
        diagonal = self._diagonals[slot]
        diagonal += 1.0
        if not _linalg.cholesky_in_place(matrix):
            return None
        half_log_det = _linalg.log_diagonal_sum(diagonal)
        if half_log_det != half_log_det:  # NaN
            return None
        return PseudoPosterior(factor, precision, matrix, half_log_det, slot)
