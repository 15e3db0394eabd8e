"""`collapsed`: auxiliary variables make the likelihood Gaussian, and f is integrated out."""

from __future__ import annotations

import numpy as np

from .._model import LatentState, Workspace
from ..likelihoods import Likelihood
from ._base import Conditional
from ._marginal import MarginalConditional, MarginalRepresentation
from ._noise import GaussianNoise, clip_precision


class CollapsedRepresentation(MarginalRepresentation):
    """Hold auxiliary variables that are drawn anew in each iteration.

    Given them the likelihood is Gaussian: theta moves under its marginal posterior, and
    f is drawn from its exact conditional afterwards. The auxiliary variables are then
    forgotten, so that other updates of f may follow.
    """

    draws_latents_exactly = False

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._given = workspace.likelihood  # no auxiliary variables drawn yet

    @classmethod
    def check(cls, likelihood: Likelihood) -> None:
        """Raise MissingCapabilityError if there are no such auxiliary variables."""
        params = (1.0,) * len(likelihood.parameters)
        likelihood.augment(np.zeros(likelihood.n_latent), params, np.random.default_rng(0))

    def prepare(self, state: LatentState, current: LatentState | None = None) -> bool:
        """Keep nothing: what is held is drawn by `begin`."""
        return True

    def begin(self, state: LatentState, rng: np.random.Generator) -> bool:
        """Draw the auxiliary variables given f, and factor the pseudo-posterior."""
        self._given = self.workspace.likelihood.augment(state.latent, state.params, rng)
        self._noise = GaussianNoise(self._given, clip_precision)
        return super().prepare(state, state if state.pseudo is not None else None)

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the marginal density of theta given the auxiliary variables."""
        return MarginalConditional(self.workspace, state, self, self._given.log_likelihood)
