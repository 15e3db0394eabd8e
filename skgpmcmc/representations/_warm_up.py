"""An approximation of the marginal posterior of theta, for the warm-up."""

from __future__ import annotations

import math

import numpy as np

from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ._base import Conditional, FactorConditional
from ._pseudo_posterior import PseudoPosteriorRepresentation
from ._site_rules import PosteriorSiteRule, clip_precision


class _ApproximateConditional(FactorConditional):
    """Laplace's approximation of log of the integral of L(f) N(f; m, K) over f.

    It is log L(c) - z^T z / 2 - sum log U_ii at the mean c = m + L z of the
    pseudo-posterior, exact for a Gaussian likelihood.
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
        projection = state.pseudo.project(state.sites.shift, state.mean)
        whitened = state.pseudo.colour(np.zeros_like(projection), projection)
        centre = state.mean + state.factor.colour(whitened)
        log_likelihood = self.workspace.log_likelihood(centre, state.params)
        return log_likelihood - 0.5 * float(whitened @ whitened) - state.pseudo.half_log_det

    def _complete(self, candidate: LatentState) -> float:
        if not self._representation.complete(candidate, self.state):
            return -math.inf
        return self._log_marginal(candidate)


class ApproximateMarginalRepresentation(PseudoPosteriorRepresentation):
    """Hold nothing fixed: theta moves under an approximation of its marginal posterior.

    Laplace's approximation around the mean of the pseudo-posterior of `post-site`. It is not exact,
    and used only in the warm-up.
    """

    draws_latents_exactly = True
    requires = ("any precisions",)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, PosteriorSiteRule(workspace.likelihood, clip_precision))

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the approximate marginal density of theta."""
        return _ApproximateConditional(self.workspace, state, self)

    def refresh(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Draw f from the pseudo-posterior, unless the data are impossible there."""
        eta: Array = rng.standard_normal(self.workspace.model.n_latent)
        projection = state.pseudo.project(state.sites.shift, state.mean)
        whitened = state.pseudo.colour(eta, projection)
        latent = state.mean + state.factor.colour(whitened)
        log_likelihood = self.workspace.log_likelihood(latent, state.params)
        if math.isfinite(log_likelihood):
            state.whitened, state.latent = whitened, latent
            state.log_likelihood = log_likelihood
        else:
            state.whitened = state.factor.whiten(state.latent - state.mean)
            state.log_likelihood = self.workspace.log_likelihood(state.latent, state.params)
        return state
