"""The latent function at new inputs given one draw: its mean, its variance, their parts."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from .. import _linalg
from .._covariance import CrossCovariance
from .._linalg import Array, slices

# Covariances at a time: they stay in the processor's second-level cache from the first operation
# on them to the last. Few rows would make narrow products.
_BLOCK_SIZE = 2**17
_FEWEST_ROWS = 64
# Products with L^-1 are off by some EPS times the ratio of the largest and the smallest diagonal
# element of L, and solves are not. Up to this ratio the smallest variances have five digits; the
# chains' jitter of 1e-6 bounds it by 1000. Beyond, triangular systems are solved.
_LARGEST_RATIO = 2e3


class _Whitener:
    """Products with L^-1, by the inverse where that is accurate; it is kept once it is made."""

    def __init__(self, lower: Array) -> None:
        diagonal = _linalg.diagonal_view(lower)
        self._solves = bool(diagonal.max() > _LARGEST_RATIO * diagonal.min())
        self._lower: Array | None = lower
        self._inverse: Array | None = None

    def whiten(self, columns: Array) -> Array:
        """Return L^-1 k for columns k, which may be overwritten."""
        lower = self._lower
        if self._inverse is None:
            # Another thread may do the same at the same time: none takes away what is in use.
            assert lower is not None
            if self._solves:
                return _linalg.solve_lower_matrix(lower, columns)
            self._inverse = _linalg.inverse_of_lower(lower)
            self._lower = None
        return _linalg.multiply_lower_in_place(self._inverse, columns)


class Conditional:
    """The normal distribution of f at new inputs, given theta, m and values of f.

    Parameters
    ----------
    cross : CrossCovariance
        Of new inputs and the latent variables, at theta.
    lower : ndarray of shape (n, n)
        Cholesky factor L of the covariance of the values.
    deviation : ndarray of shape (n,)
        Of the values from m.
    offset : float
        m.

    Attributes
    ----------
    log_density : float
        Of the values.
    """

    def __init__(
        self, cross: CrossCovariance, lower: Array, deviation: Array, offset: float
    ) -> None:
        self.cross = cross
        whitened = _linalg.solve_lower(lower, deviation)
        self._weights = _linalg.solve_lower(lower, whitened, transpose=True)
        self._offset = offset
        diagonal = _linalg.diagonal_view(lower)
        size = len(whitened) * math.log(2.0 * math.pi)
        self.log_density = -0.5 * (float(whitened @ whitened) + size) - float(
            np.log(diagonal).sum()
        )
        self._whitener = _Whitener(lower)

    def through(self, cross: CrossCovariance, offset: float) -> Self:
        """Return the distribution of a part of f, given the same values of f.

        Parameters
        ----------
        cross : CrossCovariance
            Of the part at new inputs and all of f at the latent variables.
        offset : float
            Mean of the part.
        """
        part = copy.copy(self)
        part.cross, part._offset = cross, offset
        return part

    def means(self, X: Any) -> Array:
        """Return the mean of f at each row of X, m + k^T K^-1 (f - m).

        NaN where the variance of f overflows: the model does not reach that far.
        """
        mean = np.empty(len(X))
        for rows in self._blocks(len(X)):
            self._add_mean(self._covariances(X[rows]), mean[rows])
            reached = np.isfinite(self.cross.variances(X[rows]))
            np.copyto(mean[rows], np.nan, where=~reached)
        return mean

    def moments(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of f at each row of X; the variance is k(x, x) - |L^-1 k|^2."""
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for rows in self._blocks(len(X)):
            cross = self.project(X[rows], mean[rows])
            explained = np.einsum("ij,ij->j", cross, cross)
            np.subtract(self.cross.variances(X[rows]), explained, out=variance[rows])
        return mean, variance

    def project(self, X: Any, mean: Array) -> Array:
        """Write the means at X, and return L^-1 k(X_train, X), (n, n_rows)."""
        covariances = self._covariances(X)
        self._add_mean(covariances, mean)
        return self._whitener.whiten(covariances.T)

    def _covariances(self, X: Any) -> Array:
        covariances = np.empty((len(X), len(self._weights)))
        self.cross.write(X, covariances)
        return covariances

    def _add_mean(self, covariances: Array, mean: Array) -> None:
        np.matmul(covariances, self._weights, out=mean)
        mean += self._offset

    def _blocks(self, n_rows: int) -> list[slice]:
        return slices(n_rows, max(_FEWEST_ROWS, _BLOCK_SIZE // len(self._weights)))
