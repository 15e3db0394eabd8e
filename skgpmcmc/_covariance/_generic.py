"""The covariance of any scikit-learn kernel, through the kernel's own call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._linalg import Array
from ._dense import DenseCovariance
from ._evaluate import covariances
from ._factor import CholeskyFactor
from ._kernel_form import product, scale_leaves


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
