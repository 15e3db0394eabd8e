"""An approximation of the marginal posterior of theta, for the warm-up."""

from __future__ import annotations

import math

import numpy as np

from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ..likelihoods import Sites
from ._base import Conditional, FactorConditional
from ._pseudo_posterior import PseudoPosteriorRepresentation
from ._site_rules import PosteriorSiteRule, clip_precision

# Newton steps towards the mode of f, and the gain below which there are no more.
_MOST_NEWTON_STEPS, _LEAST_GAIN = 20, 1e-3
# A step that overshoots is made shorter.
_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.125)


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
        origin = np.zeros(self.workspace.model.n_latent)
        _, log_density = _at(self.workspace, state, _whitened(state, origin))
        return log_density - state.pseudo.half_log_det

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
        whitened = _whitened(state, eta)
        latent = state.mean + state.factor.colour(whitened)
        log_likelihood = self.workspace.log_likelihood(latent, state.params)
        if math.isfinite(log_likelihood):
            state.whitened, state.latent = whitened, latent
            state.log_likelihood = log_likelihood
        else:
            state.whitened = state.factor.whiten(state.latent - state.mean)
            state.log_likelihood = self.workspace.log_likelihood(state.latent, state.params)
        return state


def laplace_log_evidence(workspace: Workspace, state: LatentState) -> float:
    """Return Laplace's approximation of log p(y | theta), minus infinity where there is none.

    Around the mode of f, which Newton's method finds from the mean of the pseudo-posterior of
    `post-site` (Rasmussen and Williams 2006, section 3.4). It is exact for a Gaussian likelihood.

    Parameters
    ----------
    workspace : Workspace
        The chain's buffers and counters.
    state : LatentState
        Of the theta in question; its sites and pseudo-posterior are replaced.
    """
    factory = workspace.covariance.pseudo_posterior_factory()
    state.sites = PosteriorSiteRule(workspace.likelihood, clip_precision).fit(state)
    origin = np.zeros(workspace.model.n_latent)
    whitened, highest, found = origin, -math.inf, -math.inf
    for _ in range(_MOST_NEWTON_STEPS):
        pseudo = factory.build(state.factor, state.sites.precision, None)
        if pseudo is None:
            return found
        state.pseudo = pseudo
        step, before = _whitened(state, origin) - whitened, highest
        for length in _STEP_LENGTHS:
            latent, highest = _at(workspace, state, whitened + length * step)
            if highest > before:
                break
        else:  # also for NaN
            return found
        whitened, found = whitened + length * step, highest - pseudo.half_log_det
        if highest < before + _LEAST_GAIN:
            return found
        score, curvature = workspace.likelihood.derivatives(latent, state.params)
        around = Sites(-curvature, score - curvature * latent)
        state.sites = clip_precision(around, state.factor.variance)
    return found


def _whitened(state: LatentState, eta: Array) -> Array:
    """Return z at eta, the variables that the pseudo-posterior whitens: its mean at zero."""
    projection = state.pseudo.project(state.sites.shift, state.mean)
    return state.pseudo.colour(eta, projection)


def _at(workspace: Workspace, state: LatentState, whitened: Array) -> tuple[Array, float]:
    """Return f = m + L z, and log L(f) - z^T z / 2."""
    latent = state.mean + state.factor.colour(whitened)
    log_likelihood = workspace.log_likelihood(latent, state.params)
    return latent, log_likelihood - 0.5 * float(whitened @ whitened)
