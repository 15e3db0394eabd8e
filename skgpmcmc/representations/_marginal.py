"""`marginal`: an exactly Gaussian likelihood, f integrated out (M&A section 3)."""

from __future__ import annotations

import math

import numpy as np

from .._linalg import Array
from .._model import LatentState, Workspace
from ._base import Conditional
from ._noise import GaussianNoise, clip_precision
from ._pseudo_posterior import PseudoPosteriorRepresentation


class _MarginalConditional(Conditional):
    """log of the integral of L(f) N(f; m, K) over f.

    With L(f) = L(m) exp((h - W m)^T (f - m) - (f - m)^T W (f - m) / 2) it is
    log L(m) - sum log U_ii + b^T b / 2.
    """

    def __init__(
        self,
        workspace: Workspace,
        state: LatentState,
        representation: PseudoPosteriorRepresentation,
    ) -> None:
        super().__init__(workspace, state)
        self._representation = representation
        self.log_density = self._log_marginal(state)

    def _log_marginal(self, state: LatentState) -> float:
        at_mean = np.full(self.workspace.model.n_latent, state.mean)
        projection = state.pseudo.project(state.sites.shift, state.mean)
        log_likelihood = self.workspace.log_likelihood(at_mean, state.params)
        return log_likelihood - state.pseudo.half_log_det + 0.5 * float(projection @ projection)

    def _complete(self, candidate: LatentState) -> float:
        if not self._representation.complete(candidate, self.state):
            return -math.inf
        return self._log_marginal(candidate)


class MarginalRepresentation(PseudoPosteriorRepresentation):
    """Hold nothing: theta moves under its marginal posterior, f is drawn afterwards."""

    draws_latents_exactly = True
    required_sites = "gaussian_sites"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, GaussianNoise(workspace.likelihood, clip_precision))

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the marginal posterior density of theta."""
        return _MarginalConditional(self.workspace, state, self)

    def refresh(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Draw f from its exact conditional given theta and the data."""
        eta: Array = rng.standard_normal(self.workspace.model.n_latent)
        projection = state.pseudo.project(state.sites.shift, state.mean)
        state.whitened = state.pseudo.colour(eta, projection)
        state.latent = state.mean + state.factor.colour(state.whitened)
        state.log_likelihood = self.workspace.log_likelihood(state.latent, state.params)
        return state
