"""The covariance of any scikit-learn kernel, through the kernel's own call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array
from ._base import Covariance
from ._factor import CholeskyFactor


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

    def _build(
        self, theta: Array, current: CholeskyFactor | None, moved: list[int]
    ) -> CholeskyFactor | None:
        slot = 0 if current is None else 1 - current.slot
        matrix = self._buffers[slot]
        # K is symmetric: its rows are the columns of the Fortran-ordered buffer.
        np.copyto(matrix.T, self._kernel.clone_with_theta(theta)(self._X))
        diagonal = self._diagonals[slot]
        diagonal *= 1.0 + self.jitter
        if self.offset_variance:
            matrix += self.offset_variance
        constant = (diagonal == diagonal[0]).all()
        variance = float(diagonal[0]) if constant else diagonal.copy()
        return self._factor_buffer(slot, theta, variance)
