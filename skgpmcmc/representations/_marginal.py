"""`marginal`: an exactly Gaussian likelihood, f integrated out (M&A section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .._linalg import Array
from .._model import LatentState, Workspace
from ._base import Conditional
from ._noise import GaussianNoise, SiteNoise, clip_precision
from ._pseudo_posterior import PseudoPosteriorRepresentation


class MarginalConditional(Conditional):
    """log of the integral of L(f) N(f; m, K) over f.

    It is log L(c) - z^T z / 2 - sum log U_ii at the conditional mean c = m + L z of f.
    (The same as log L(m) + b^T b / 2 - sum log U_ii, which cancels when the noise is
    small.)
    """

    def __init__(
        self,
        workspace: Workspace,
        state: LatentState,
        representation: PseudoPosteriorRepresentation,
        log_likelihood: Callable[[Array, tuple[float, ...]], float],
    ) -> None:
        super().__init__(workspace, state)
        self._representation = representation
        self._log_likelihood = log_likelihood
        self.log_density = self._log_marginal(state)

    def _log_marginal(self, state: LatentState) -> float:
        projection = state.pseudo.project(state.sites.shift, state.mean)
        whitened = state.pseudo.colour(np.zeros_like(projection), projection)
        centre = state.mean + state.factor.colour(whitened)
        log_likelihood = self._log_likelihood(centre, state.params)
        return log_likelihood - 0.5 * float(whitened @ whitened) - state.pseudo.half_log_det

    def _complete(self, candidate: LatentState) -> float:
        if not self._representation.complete(candidate, self.state):
            return -math.inf
        return self._log_marginal(candidate)


class MarginalRepresentation(PseudoPosteriorRepresentation):
    """Hold nothing: theta moves under its marginal posterior, f is drawn afterwards."""

    draws_latents_exactly = True
    required_sites: ClassVar[str | None] = "gaussian_sites"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, GaussianNoise(workspace.likelihood, clip_precision))

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the marginal posterior density of theta."""
        return MarginalConditional(self.workspace, state, self, self.workspace.log_likelihood)

    def refresh(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Draw f from its exact conditional given theta, unless the data are impossible there."""
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


class ApproximateMarginalRepresentation(MarginalRepresentation):
    """An approximation of `marginal` for any likelihood: sites in place of L(f).

    theta moves under Laplace's approximation of its marginal posterior, expanded at the
    mean of the pseudo-posterior of `post-site`. Not exact: it serves the warm-up.
    """

    required_sites = None

    def __init__(self, workspace: Workspace) -> None:
        PseudoPosteriorRepresentation.__init__(
            self, workspace, SiteNoise(workspace.likelihood, clip_precision)
        )
