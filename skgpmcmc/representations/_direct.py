"""`fixed` and `prior-white`: hold f, or the whitened prior variables (M&A section 2)."""

from __future__ import annotations

import numpy as np

from .._model._model import Workspace
from .._model._state import LatentState
from ._base import Conditional, FactorConditional, Representation


class _FixedConditional(FactorConditional):
    def __init__(self, workspace: Workspace, state: LatentState) -> None:
        super().__init__(workspace, state)
        self._has_params = bool(workspace.likelihood.parameters)
        self.log_density = state.factor.log_normal(state.whitened)
        if self._has_params:
            self.log_density += state.log_likelihood

    def _complete(self, candidate: LatentState) -> float:
        candidate.whitened = candidate.factor.whiten(candidate.latent - candidate.mean)
        log_normal = candidate.factor.log_normal(candidate.whitened)
        if not self._has_params:
            return log_normal
        candidate.log_likelihood = self.workspace.log_likelihood(candidate.latent, candidate.params)
        return log_normal + candidate.log_likelihood


class FixedRepresentation(Representation):
    """Hold f: theta moves under p(theta) N(f; m, K_theta) (M&A Algorithm 1)."""

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the density of theta given f."""
        return _FixedConditional(self.workspace, state)


class _PriorWhiteConditional(FactorConditional):
    def __init__(self, workspace: Workspace, state: LatentState) -> None:
        super().__init__(workspace, state)
        self.log_density = state.log_likelihood

    def _complete(self, candidate: LatentState) -> float:
        return self._set_latent(candidate, candidate.whitened)


class PriorWhiteRepresentation(Representation):
    """Hold nu = L^-1 (f - m): theta moves under p(theta) L(f) (M&A Algorithm 2)."""

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the density of theta given nu."""
        return _PriorWhiteConditional(self.workspace, state)
