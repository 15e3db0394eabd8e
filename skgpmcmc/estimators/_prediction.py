"""Exact conditionals of the latent function at new inputs, one posterior draw at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._covariance import make_covariance
from .._linalg import Array
from ..trace import Trace

# Rows of X are taken in chunks whose cross-covariance fits in this many bytes.
_CHUNK_BYTES = 2**26


class PosteriorDraws:
    """Draws of (theta, m, f) that predictions average over.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function, at any hyperparameters.
    X : array-like of length n_latent
        Inputs of the latent variables.
    theta : ndarray of shape (n_draws, n_kernel_parameters)
        Logarithms of the kernel's free hyperparameters.
    mean : ndarray of shape (n_draws,)
        Mean offsets.
    latent : ndarray of shape (n_draws, n_latent)
        Latent variables.
    jitter : float
        As the chains used it.
    """

    def __init__(
        self, kernel: Kernel, X: Any, theta: Array, mean: Array, latent: Array, jitter: float
    ) -> None:
        self._kernel = kernel
        self._X = X
        self._theta = theta
        self._mean = mean
        self._latent = latent
        self._jitter = jitter

    @classmethod
    def from_trace(
        cls, kernel: Kernel, X: Any, trace: Trace, jitter: float, max_draws: int
    ) -> PosteriorDraws:
        """Take at most `max_draws` draws, evenly spread over chains and iterations."""
        total = trace.n_chains * trace.n_draws
        which = np.unique(np.linspace(0, total - 1, min(max_draws, total)).round().astype(int))
        n_kernel = trace.layout.n_kernel
        theta = trace.theta.reshape(total, len(trace.layout))[which, :n_kernel]
        latent = trace.latent.reshape(total, trace.latent.shape[-1])[which]
        return cls(kernel, X, theta, trace.mean_offset().reshape(total)[which], latent, jitter)

    def __len__(self) -> int:
        return len(self._theta)

    def moments(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Yield mean and variance of f at X given each draw.

        Parameters
        ----------
        X : array-like of length n_rows
            New inputs.

        Yields
        ------
        mean, variance : ndarray of shape (n_rows,)
            Of the exact conditional of f at X given f at the training inputs. A row's
            moments do not depend on the other rows.
        """
        covariance = make_covariance(self._kernel, self._X, self._jitter)
        n_rows = len(X)
        chunk = max(1, _CHUNK_BYTES // (8 * covariance.n))
        for theta, offset, latent in zip(self._theta, self._mean, self._latent, strict=True):
            kernel = self._kernel.clone_with_theta(theta)
            factor = covariance.factor(theta)
            # The chain stood at theta with the same covariance, so it has a factor.
            assert factor is not None
            whitened = factor.whiten(latent - offset)
            mean, variance = np.empty(n_rows), np.empty(n_rows)
            for start in range(0, n_rows, chunk):
                rows = slice(start, start + chunk)
                cross = np.asfortranarray(kernel(self._X, X[rows]))
                cross = _linalg.solve_lower_matrix(factor.lower, cross) / factor.scale
                mean[rows] = offset + whitened @ cross
                variance[rows] = kernel.diag(X[rows]) - np.einsum("ij,ij->j", cross, cross)
            yield mean, np.maximum(variance, 0.0)
