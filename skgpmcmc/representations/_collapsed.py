"""`marginal` and `collapsed`: f is integrated out of an exactly Gaussian likelihood."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._covariance import Factor
from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ..likelihoods import GaussianGivenAuxiliaries
from ._base import Conditional, Representation

# The noise of a latent value without data: so large that it adds a constant.
_SMALLEST_PRECISION = 1e-300


class _Pseudodata:
    """A Gaussian likelihood as pseudo-data: N(centre; f, diag(noise)), times a constant.

    Parameters
    ----------
    given : GaussianGivenAuxiliaries
        The likelihood.
    params : tuple of float
        Its parameters.
    """

    def __init__(self, given: GaussianGivenAuxiliaries, params: tuple[float, ...]) -> None:
        precision, shift = given.gaussian_sites(params)
        self.params = params
        self.noise = 1.0 / np.maximum(precision, _SMALLEST_PRECISION)
        self.centre = shift * self.noise
        # log L(f) - log N(centre; f, noise), but for n log(2 pi) / 2, is the same for every f.
        half_log_noise = 0.5 * float(np.log(self.noise).sum())
        self.log_constant = given.log_likelihood(self.centre, params) + half_log_noise


class CollapsedConditional(Conditional):
    """log of the integral of L(f) N(f; m, K) over f: log N(centre; m, K + S) and a constant.

    A candidate has only theta: the factor of K and the latent values are those of the
    beginning until `CollapsedRepresentation.refresh` draws new ones.

    Parameters
    ----------
    workspace : Workspace
        The chain's buffers and counters.
    state : LatentState
        Current state.
    given : GaussianGivenAuxiliaries
        The likelihood, Gaussian as a function of f.

    Attributes
    ----------
    factor : Factor or None
        Of K + S at the current state; None if it has none.
    data : _Pseudodata
        At the current state.
    """

    def __init__(
        self, workspace: Workspace, state: LatentState, given: GaussianGivenAuxiliaries
    ) -> None:
        super().__init__(workspace, state)
        self._given = given
        self.data = self._pseudodata(state.params)
        # Densities are relative to the one at the beginning: for large latent values the absolute
        # ones are huge, and their differences would lose all digits.
        self._reference = self.data.log_constant
        covariance, theta = workspace.covariance, state.factor.theta
        self.factor = covariance.noisy_factor(theta, self.data.noise, state.factor)
        if self.factor is not None:
            self.log_density = self._log_density(self.factor, self.data, state.mean)

    def _pseudodata(self, params: tuple[float, ...]) -> _Pseudodata:
        self.workspace.n_likelihoods += 1
        return _Pseudodata(self._given, params)

    def _log_density(self, factor: Factor, data: _Pseudodata, mean: float) -> float:
        log_constant = data.log_constant - self._reference
        return log_constant + factor.log_normal(factor.whiten(data.centre - mean))

    def evaluate(self, theta: Array) -> float:
        """Return the log density at theta; -inf where K + S has no factor."""
        self._candidate = None
        assert self.factor is not None
        layout, state = self.workspace.layout, self.state
        mean, params = layout.mean(theta), layout.likelihood_params(theta)
        data = self.data if params == self.data.params else self._pseudodata(params)
        factor: Factor | None = self.factor
        kernel_theta = theta[: layout.n_kernel]
        if data is not self.data or (kernel_theta != self.factor.theta).any():
            factor = self.workspace.covariance.noisy_factor(kernel_theta, data.noise, self.factor)
        if factor is None:
            return -math.inf
        log_density = self._log_density(factor, data, mean)
        if log_density > -math.inf:  # False for NaN
            self._candidate = LatentState(
                theta, state.factor, mean, params, state.latent, state.whitened, math.nan
            )
            self._candidate_factor, self._candidate_data = factor, data
            self._candidate_log_density = log_density
        return log_density

    def gradient(self) -> Array:
        """Return the gradient along theta; see `Conditional.gradient`."""
        factor, data, state = self.factor, self.data, self.state
        if self._candidate is not None:
            state = self._candidate
            factor, data = self._candidate_factor, self._candidate_data
        assert factor is not None
        derivatives = self.workspace.covariance.log_normal_gradient(
            factor, data.noise, data.centre - state.mean
        )
        layout = self.workspace.layout
        gradient = np.zeros(len(layout))
        gradient[: layout.n_kernel] = derivatives.theta
        if layout.samples_mean:
            gradient[layout.n_kernel] = derivatives.solution.sum()
        if data.params and not self.workspace.likelihood.holds_parameters:
            mean = data.centre - data.noise * derivatives.solution
            variance = data.noise * (1.0 - data.noise * derivatives.inverse_diagonal)
            scores = self._given.expected_score(mean, variance, data.params)
            gradient[-len(scores) :] = scores
        return gradient

    def accept(self) -> None:
        """Make the last candidate the current state."""
        super().accept()
        self.factor, self.data = self._candidate_factor, self._candidate_data


class CollapsedRepresentation(Representation):
    """Hold auxiliary variables that are drawn anew in each iteration.

    Given them the likelihood is Gaussian: theta moves under its marginal posterior, and
    f is drawn from its exact conditional afterwards. The auxiliary variables are then
    forgotten, so that other updates of f may follow.
    """

    has_gradient = True
    requires = ("augmentation", "added noise")
    _conditional: CollapsedConditional

    def _gaussian(self, state: LatentState, rng: np.random.Generator) -> GaussianGivenAuxiliaries:
        """Draw the auxiliary variables given f, and return the likelihood given them."""
        return self.workspace.likelihood.augment(state.latent, state.params, rng)

    @property
    def free(self) -> NDArray[np.intp]:
        """Elements of theta of which the density is known; see `Likelihood.holds_parameters`."""
        holds = self.workspace.likelihood.holds_parameters
        return super().free[: self.workspace.layout.first_likelihood] if holds else super().free

    def begin(self, state: LatentState, rng: np.random.Generator) -> bool:
        """Draw the auxiliary variables that make the likelihood Gaussian, and factor K + S."""
        self._start = state
        self._conditional = CollapsedConditional(self.workspace, state, self._gaussian(state, rng))
        return self._conditional.factor is not None

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the marginal density of theta, the same through the whole iteration."""
        return self._conditional

    def refresh(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Draw f from its exact conditional, by conditioning a draw from the prior.

        With z0 and e standard normal, f0 = m + L z0 and x = (K + S)^-1 (centre - f0 -
        S^1/2 e), f is f0 + K x, so that z = z0 + L^T x (Matheron's rule).
        """
        noisy, data = self._conditional.factor, self._conditional.data
        assert noisy is not None
        covariance, n_kernel = self.workspace.covariance, self.workspace.layout.n_kernel
        factor = covariance.factor_beside(state.theta[:n_kernel], noisy)
        if factor is None:
            # K + S has a factor and K has none: back to where the iteration began.
            covariance.n_failures += 1
            factor = covariance.factor_beside(self._start.theta[:n_kernel], noisy)
            assert factor is not None
            self._start.factor = factor
            return self._start
        z, noise = rng.standard_normal((2, covariance.n))
        residual = data.centre - state.mean - factor.colour(z) - np.sqrt(data.noise) * noise
        state.factor = factor
        state.whitened = z + factor.colour_transpose(noisy.solve(residual))
        state.latent = state.mean + factor.colour(state.whitened)
        state.log_likelihood = self.workspace.log_likelihood(state.latent, state.params)
        return state


class MarginalRepresentation(CollapsedRepresentation):
    """Hold nothing fixed: the likelihood is Gaussian by itself (M&A section 3)."""

    draws_latents_exactly = True
    requires = ("gaussian sites", "added noise")

    def _gaussian(self, state: LatentState, rng: np.random.Generator) -> GaussianGivenAuxiliaries:
        return self.workspace.likelihood
