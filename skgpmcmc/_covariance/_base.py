"""The interface of a covariance: from log hyperparameters to factors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from .. import _linalg
from .._linalg import Array
from ._factor import CholeskyFactor


class Covariance(ABC):
    """Covariance of the latent variables of one chain, with its two buffers.

    The diagonal of K is the kernel's, enlarged by the factor 1 + `jitter`, plus
    `offset_variance` on every entry of K (the variance of a constant mean that is
    integrated out).

    Parameters
    ----------
    n : int
        Number of latent variables.
    jitter : float
        Relative to the kernel's diagonal.
    offset_variance : float
        Added to every entry of K.

    Attributes
    ----------
    n_constructions : int
        Hyperparameter settings at which a covariance was asked for, apart from the
        current one: the cost that M&A count.
    n_failures : int
        How many of those were not positive definite in floating point.
    """

    def __init__(self, n: int, jitter: float, offset_variance: float) -> None:
        self.n = n
        self.jitter = jitter
        self.offset_variance = offset_variance
        self.n_constructions = 0
        self.n_failures = 0
        self._buffers = _linalg.buffer_pair(n)
        self._diagonals = tuple(_linalg.diagonal_view(buffer) for buffer in self._buffers)

    def factor(self, theta: Array, current: CholeskyFactor | None = None) -> CholeskyFactor | None:
        """Return the factor at theta, or None where K is not positive definite.

        Parameters
        ----------
        theta : ndarray of shape (n_kernel_parameters,)
            Logarithms of the kernel's free hyperparameters; not modified, but kept.
        current : CholeskyFactor, optional
            The factor of the chain's state. It stays valid, is returned itself if
            theta is the same, and saves work if only some entries differ.
        """
        moved: list[int] = []
        if current is not None:
            moved = (theta != current.theta).nonzero()[0].tolist()
            if not moved:
                return current
        self.n_constructions += 1
        factor = self._build(theta, current, moved)
        if factor is None:
            self.n_failures += 1
        return factor

    def forget(self) -> None:  # noqa: B027 - a hook; not every covariance keeps anything
        """Forget what earlier factors left behind, so that the next is built afresh."""

    @abstractmethod
    def _build(
        self, theta: Array, current: CholeskyFactor | None, moved: list[int]
    ) -> CholeskyFactor | None:
        """Build the factor at theta; `moved`: where that differs from the current one."""

    def _factor_buffer(
        self, slot: int, theta: Array, variance: float | Array, scale: float = 1.0
    ) -> CholeskyFactor | None:
        """Factor the matrix that stands in the buffer of a slot."""
        lower = self._buffers[slot]
        constant = isinstance(variance, float)
        finite = math.isfinite(variance) if constant else np.isfinite(variance).all()
        if not finite or not _linalg.cholesky_in_place(lower):
            return None
        half_log_det = _linalg.log_diagonal_sum(self._diagonals[slot])
        if half_log_det != half_log_det:  # NaN
            return None
        return CholeskyFactor(theta, lower, half_log_det, variance, slot, scale)
