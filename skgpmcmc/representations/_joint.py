"""`joint-white`: theta and the whitened prior variables move together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from .._model import LatentState, Workspace
from ._base import Conditional, FactorConditional, Representation


class _JointConditional(FactorConditional):
    """The density of (theta, z) but for p(theta): log L(m + L z) - z^T z / 2."""

    def __init__(self, workspace: Workspace, state: LatentState) -> None:
        super().__init__(workspace, state)
        self.log_density = self._joint(state.log_likelihood, state.whitened)

    @staticmethod
    def _joint(log_likelihood: float, whitened: Array) -> float:
        return log_likelihood - 0.5 * float(whitened.dot(whitened))

    @property
    def carried(self) -> Array:
        """Return z."""
        return self.state.whitened

    def evaluate_with(self, theta: Array, carried: Array) -> float:
        """Return the log density at theta and z; -inf where the covariance has no factor."""
        return self._evaluate(theta, carried)

    def _complete(self, candidate: LatentState) -> float:
        log_likelihood = self._set_latent(candidate, candidate.whitened)
        return self._joint(log_likelihood, candidate.whitened)

    def gradient(self) -> Array:
        """Return the gradient along theta, then z; zero along the likelihood's parameters."""
        state = self.state if self._candidate is None else self._candidate
        workspace, layout, factor = self.workspace, self.workspace.layout, state.factor
        score, _ = workspace.likelihood.derivatives(state.latent, state.params)
        along_theta = np.zeros(len(layout))
        along_theta[: layout.n_kernel] = workspace.covariance.colour_gradient(
            factor, state.whitened, score
        )
        if layout.samples_mean:
            along_theta[layout.n_kernel] = score.sum()
        return np.concatenate([along_theta, factor.colour_transpose(score) - state.whitened])


class JointWhiteRepresentation(Representation):
    """Hold nothing but the likelihood's own parameters.

    The kernel's hyperparameters, the mean offset and nu = L^-1 (f - m) move together along
    Hamiltonian trajectories. The prior of nu does not depend on theta, so the posterior's
    shape, a funnel in (theta, f), is mild.
    """

    carries_latents = True
    # Twice that of trajectories of theta alone: hundreds of nuisances make the steps small.
    path_length = 3.0
    works_on_grids = True

    @property
    def free(self) -> NDArray[np.intp]:
        """Elements of theta that the trajectories move."""
        return np.arange(self.workspace.layout.first_likelihood)

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the density of theta and nu."""
        return _JointConditional(self.workspace, state)
