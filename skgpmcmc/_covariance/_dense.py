"""Covariances as whole matrices, in two buffers of a chain."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._linalg import Array
from ._base import Covariance, LogNormalGradient, moved_elements
from ._factor import CholeskyFactor, PseudoPosteriorFactory
from ._kernel_call import covariances
from ._kernel_form import product, scale_leaves


class DenseCovariance(Covariance[CholeskyFactor]):
    """Covariance in two swapped buffers of n x n numbers.

    `offset_variance` is added to every entry of K (the variance of a constant mean that is
    integrated out).

    Parameters
    ----------
    n : int
        Number of latent variables.
    jitter : float
        Relative to the kernel's diagonal.
    offset_variance : float
        Added to every entry of K.
    gradient : bool
        Whether `log_normal_gradient` will be called; each factor then leaves behind what it
        needs.
    """

    def __init__(
        self, n: int, jitter: float, offset_variance: float, gradient: bool = False
    ) -> None:
        super().__init__(n, jitter)
        self.offset_variance = offset_variance
        self._buffers = _linalg.buffer_pair(n)
        self._diagonals = tuple(_linalg.diagonal_view(buffer) for buffer in self._buffers)
        self._inverse = np.zeros((n, n)).T if gradient else None

    def pseudo_posterior_factory(self) -> PseudoPosteriorFactory:
        """Return what factors I + L^T W L in buffers of its own."""
        return PseudoPosteriorFactory(self.n)

    def _new_factor(
        self, theta: Array, current: CholeskyFactor | None, moved: list[int]
    ) -> CholeskyFactor | None:
        if current is not None and all(i in self.scale_parameters for i in moved):
            amplitude = self._amplitude(theta)
            in_range = amplitude > 0.0 and _all_finite(current.unit_variance * amplitude)
            return current.rescaled(theta, amplitude) if in_range else None
        return self._build(theta, 0 if current is None else 1 - current.slot, current, moved)

    def noisy_factor(
        self, theta: Array, noise: Array, current: CholeskyFactor
    ) -> CholeskyFactor | None:
        """Return the factor of K + diag(noise) at theta; see `Covariance.noisy_factor`."""
        moved = moved_elements(theta, current)
        self.n_constructions += bool(moved)
        factor = self._build(theta, 1 - current.slot, current, moved, noise)
        if factor is None:
            self.n_failures += 1
        return factor

    def log_normal_gradient(
        self, factor: CholeskyFactor, noise: Array, deviation: Array
    ) -> LogNormalGradient:
        """Return the gradient of log N(c; m, K + S); see `Covariance.log_normal_gradient`.

        With A = K + S and a = A^-1 (c - m) it is a sum over G_ij dK_ij, where
        G = (a a^T - A^-1) / 2: no derivative of a Cholesky factor is needed.
        """
        inverse = self._inverse
        assert inverse is not None
        np.copyto(inverse, factor.lower)
        _linalg.inverse_in_place(inverse)
        amplitude = factor.scale**2
        inverse_diagonal = _linalg.diagonal_view(inverse) / amplitude
        solution = factor.solve(deviation)
        # -2 G, in units in which the amplitude is one.
        _linalg.add_square(solution * factor.scale, -1.0, inverse)
        # Sum of G_ij K_ij, by K = A - S.
        noise_part = float(noise @ (solution**2 - inverse_diagonal))
        along_amplitude = 0.5 * (float(solution @ deviation) - self.n - noise_part)
        theta = self._contract(factor, inverse, along_amplitude)
        theta[self.scale_parameters] = along_amplitude
        return LogNormalGradient(theta, solution, inverse_diagonal)

    def factor_beside(self, theta: Array, current: CholeskyFactor) -> CholeskyFactor | None:
        """Return the factor of K at theta, in the buffer beside one that may have noise."""
        moved = moved_elements(theta, current)
        return self._build(theta, 1 - current.slot, current, moved)

    def _build_afresh(self, current: CholeskyFactor) -> CholeskyFactor | None:
        return self._build(current.theta, 1 - current.slot, None, [])

    def _build(
        self,
        theta: Array,
        slot: int,
        current: CholeskyFactor | None,
        moved: list[int],
        noise: Array | None = None,
    ) -> CholeskyFactor | None:
        """Build the factor at theta in the buffer of a slot that the current one does not hold.

        `moved` are the elements of theta that differ from the current ones.
        """
        unit_variance = self._write(theta, slot, current, moved)
        if unit_variance is None:
            return None
        amplitude = self._amplitude(theta)
        in_range = amplitude > 0.0 and _all_finite(unit_variance * amplitude)
        if in_range and noise is not None:
            diagonal = self._diagonals[slot]
            diagonal += noise / amplitude
        lower = self._buffers[slot]
        if not in_range or not _linalg.cholesky_in_place(lower):
            return None
        half_log_det = _linalg.log_diagonal_sum(self._diagonals[slot])
        if half_log_det != half_log_det:  # NaN
            return None
        return CholeskyFactor(theta, lower, half_log_det, unit_variance, slot, amplitude)

    def _amplitude(self, theta: Array) -> float:
        """Return the common factor of K that `scale_parameters` make."""
        return 1.0

    @abstractmethod
    def _contract(self, factor: CholeskyFactor, weights: Array, along_amplitude: float) -> Array:
        """Return the sums of -w_ij / 2 times the derivatives of K / amplitude at a factor.

        Parameters
        ----------
        factor : CholeskyFactor
            Where.
        weights : ndarray of shape (n, n)
            w, in the lower triangle; may be overwritten.
        along_amplitude : float
            The sum for K / amplitude itself.

        Returns
        -------
        sums : ndarray of shape (n_kernel_parameters,)
            Anything for `scale_parameters`.
        """

    @abstractmethod
    def _write(
        self, theta: Array, slot: int, current: CholeskyFactor | None, moved: list[int]
    ) -> float | Array | None:
        """Write K / amplitude at theta into the buffer of a slot.

        Returns
        -------
        unit_variance : float or ndarray of shape (n,) or None
            Its diagonal, a float where that is constant; None where it is not finite.
        """


def _all_finite(variance: float | Array) -> bool:
    if isinstance(variance, float):
        return math.isfinite(variance)
    return bool(np.isfinite(variance).all())


class KernelCovariance(DenseCovariance):
    """Covariance of any scikit-learn kernel; the slow twin of the fast path.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Also one of the user's own, also on structured inputs.
    X : array-like of length n
        What the kernel takes.
    jitter, offset_variance, gradient
        See `DenseCovariance`.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        jitter: float = 1e-6,
        offset_variance: float = 0.0,
        gradient: bool = False,
    ) -> None:
        super().__init__(len(X), jitter, offset_variance, gradient)
        self._kernel = kernel
        self._X = X
        self._scales = [] if offset_variance else scale_leaves(kernel)
        self.scale_parameters = [leaf.start for leaf in self._scales]

    def _amplitude(self, theta: Array) -> float:
        return product(self._scales, theta)

    def _write(
        self, theta: Array, slot: int, current: CholeskyFactor | None, moved: list[int]
    ) -> float | Array | None:
        matrix = self._buffers[slot]
        # K is symmetric: its rows are the columns of the Fortran-ordered buffer.
        np.copyto(matrix.T, covariances(self._unit_kernel(theta), self._X))
        diagonal = self._diagonals[slot]
        diagonal *= 1.0 + self.jitter
        if self.offset_variance:
            matrix += self.offset_variance
        constant = (diagonal == diagonal[0]).all()
        return float(diagonal[0]) if constant else diagonal.copy()

    def _unit_kernel(self, theta: Array) -> Kernel:
        unit_theta = theta.copy()
        unit_theta[self.scale_parameters] = 0.0
        return self._kernel.clone_with_theta(unit_theta)

    def _contract(self, factor: CholeskyFactor, weights: Array, along_amplitude: float) -> Array:
        """Return the sums; see `DenseCovariance._contract`."""
        _, gradient = self._unit_kernel(factor.theta)(self._X, eval_gradient=True)
        # Off the diagonal both triangles count, but the lower one alone is given.
        lower = np.tril(weights)
        diagonal = _linalg.diagonal_view(lower)
        diagonal *= 0.5 * (1.0 + self.jitter)
        return -np.einsum("ij,ijk->k", lower, gradient)
