"""The latent function at new inputs, given its values at inducing points.

With u the values at the points, f(x) is N(m + k . K_mm^-1 (u - m), k(x, x) - k . K_mm^-1 k) for the
covariances k of a new input x and the points: what it is given the latent variables of a dense
model whose rows are the points. The training rows do not matter: a draw is m numbers.

A row that the model was fitted to is no exception: it is predicted as a new input of the same
function, whose deviation from what u says is unknown. Near points there is next to none.
Covariances of new inputs are the kernel's own, given u.

So are those of the parts of f, the summands of the kernel: given u, part j has the variance
k_j(x, x) - k_j . K_mm^-1 k_j, and parts j and l have the covariance -k_j . K_mm^-1 k_l, which add
up to that of f. What the points leave of f is not split by any rule.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import POINT_JITTER, CovarianceStructure, covariances
from .._linalg import Array
from ..likelihoods import Likelihood
from ..trace import Trace
from ._dense import PosteriorDraws, left_out_of_noise


class LowRankPosteriorDraws(PosteriorDraws):
    """Draws of (theta, m) and u that predictions are conditional on."""

    @classmethod
    def from_trace(
        cls, kernel: Kernel, X: Any, trace: Trace, jitter: float, max_draws: int
    ) -> Self:
        """Take at most `max_draws` draws of u, evenly spread over chains and iterations."""
        # The chains' jitter is for the rows; that of the points is their own.
        return super().from_trace(kernel, X, trace, POINT_JITTER, max_draws)

    @classmethod
    def from_gaussian(
        cls,
        kernel: Kernel,
        X: Any,
        trace: Trace,
        likelihood: Likelihood,
        jitter: float,
        max_draws: int,
    ) -> Self:
        """Take draws of u too, although it could be integrated out.

        That would take n m^2 operations for each draw.
        """
        return cls.from_trace(kernel, X, trace, jitter, max_draws)

    @classmethod
    def for_leaving_out(
        cls,
        structure: CovarianceStructure,
        kernel: Kernel,
        X: Any,
        trace: Trace,
        likelihood: Likelihood,
        jitter: float,
        max_draws: int,
    ) -> PosteriorDraws:
        """Take draws of theta alone: u would know the row that is left out."""
        draws = _LeftOut.from_gaussian(kernel, X, trace, likelihood, jitter, max_draws)
        draws.structure = structure
        return draws

    def _among_values(self, kernel: Kernel) -> Any:
        # As of two sets of inputs: white noise is of rows, and not of the function at the points.
        return covariances(kernel, self._X, self._X)

    def at_rows(self, X: Any, draw: int) -> tuple[Array, Array]:
        """Return mean and variance of f at rows of the data, as if they were new inputs."""
        mean, variance = self._moments(draw, X)
        return mean, np.maximum(variance, 0.0)

    def log_prior(self, draw: int) -> float:
        """Return log N(u; m, K_mm)."""
        return self._given(draw).log_density


class _LeftOut(PosteriorDraws):
    """Draws of theta at noisy rows whose covariance is that of the chains.

    Attributes
    ----------
    structure : CovarianceStructure
        The inducing points.
    """

    structure: CovarianceStructure

    def left_out_moments(self, draw: int) -> tuple[Array, Array]:
        """Return mean and variance of each f given the noisy values of all others."""
        assert self._noise is not None
        noise, theta = self._noise[draw], self.theta[draw, : self._kernel.n_dims]
        covariance = self.structure.covariance(self._kernel, self._X, self._jitter, 0.0, False)
        factor = covariance.factor(theta)
        factor = None if factor is None else covariance.noisy_factor(theta, noise, factor)
        if factor is None:
            return np.full(len(noise), np.nan), np.full(len(noise), np.nan)
        left_out = 1.0 / factor.inverse_diagonal()
        residual = left_out * factor.solve(self.deviation(draw))
        return left_out_of_noise(self._values[draw], noise, left_out, residual)
