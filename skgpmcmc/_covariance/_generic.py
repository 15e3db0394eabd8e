"""The covariance of any scikit-learn kernel, through the kernel's own call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array
from ._base import Covariance
from ._factor import CholeskyFactor
from ._kernel_form import product, scale_leaves


class KernelCovariance(Covariance):
    """Covariance of any scikit-learn kernel; the slow twin of the fast path.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Also one of the user's own, also on structured inputs.
    X : array-like of length n
        What the kernel takes.
    jitter, offset_variance : float
        See `Covariance`.
    """

    def __init__(
        self, kernel: Kernel, X: Any, jitter: float = 1e-6, offset_variance: float = 0.0
    ) -> None:
        super().__init__(len(X), jitter, offset_variance)
        self._kernel = kernel
        self._X = X
        self._scales = [] if offset_variance else scale_leaves(kernel)
        self.scale_parameters = [leaf.start for leaf in self._scales]

    def _amplitude(self, theta: Array) -> float:
        return product(self._scales, theta)

    def _write(
        self, theta: Array, slot: int, current: CholeskyFactor | None, moved: list[int]
    ) -> float | Array | None:
        unit_theta = theta.copy()
        unit_theta[self.scale_parameters] = 0.0
        matrix = self._buffers[slot]
        # K is symmetric: its rows are the columns of the Fortran-ordered buffer.
        np.copyto(matrix.T, self._kernel.clone_with_theta(unit_theta)(self._X))
        diagonal = self._diagonals[slot]
        diagonal *= 1.0 + self.jitter
        if self.offset_variance:
            matrix += self.offset_variance
        constant = (diagonal == diagonal[0]).all()
        return float(diagonal[0]) if constant else diagonal.copy()
