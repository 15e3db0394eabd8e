"""`joint-post`: theta and latent variables, whitened by their posterior, move together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ..likelihoods import Likelihood, Sites
from ._adaptation import Adaptation
from ._base import Conditional
from ._pseudo_posterior import PosteriorConditional, PseudoPosteriorRepresentation
from ._site_rules import HeldSiteRule


class _JointConditional(PosteriorConditional):
    """The density of (theta, eta) but for p(theta): log L(f) - z^T z / 2 - log |U|."""

    @property
    def joint_position(self) -> Array:
        """Return eta."""
        return self._eta

    def evaluate_joint(self, theta: Array, position: Array) -> float:
        """Return the log density at theta and eta; -inf where the covariance has no factor."""
        self._eta = position
        return self.evaluate(theta)

    def gradient(self) -> Array:
        """Return the gradient along theta, then eta; zero along the likelihood's parameters."""
        state = self.state if self._candidate is None else self._candidate
        workspace, layout, sites = self.workspace, self.workspace.layout, state.sites
        score, _ = workspace.likelihood.derivatives(state.latent, state.params)
        along = workspace.covariance.pseudo_posterior_gradient(
            state.pseudo, self._eta, sites.shift - sites.precision * state.mean, score
        )
        along_theta = np.zeros(len(layout))
        along_theta[: layout.n_kernel] = along.theta
        if layout.samples_mean:
            along_theta[layout.n_kernel] = score.sum() - float(sites.precision @ along.residual)
        return np.concatenate([along_theta, along.eta])


class _MeanSites(Adaptation):
    """Sites that give the pseudo-posterior the mean of f; flat until they are found.

    w is the mean curvature of -log L(f), and the shift is h = g + w f for the mean score g and the
    mean f, because K^-1 (f - m) has the mean g.

    Parameters
    ----------
    rule : HeldSiteRule
        Holds the sites.
    likelihood : Likelihood
        Gives score and curvature.
    """

    def __init__(self, rule: HeldSiteRule, likelihood: Likelihood) -> None:
        self._rule = rule
        self._likelihood = likelihood
        self._n_observed, self._sums = 0, np.zeros((3, likelihood.n_latent))

    @property
    def frozen(self) -> Sites:
        """The sites."""
        return self._rule.held

    @frozen.setter
    def frozen(self, value: Sites) -> None:
        self._rule.held = value

    def observe(self, state: LatentState) -> None:
        """Add the values at a state to the averages that the sites depend on."""
        derivatives = self._likelihood.derivatives(state.latent, state.params)
        self._sums += (state.latent, *derivatives)
        self._n_observed += 1

    def find(self, state: LatentState, theta: Array) -> Sites:
        """Return the sites for the states observed since the last call."""
        latent, score, second = self._sums / self._n_observed
        self._n_observed, self._sums[:] = 0, 0.0
        w = max(-float(second.mean()), 0.0)
        return Sites(np.full_like(latent, w), score + w * latent)


class JointRepresentation(PseudoPosteriorRepresentation):
    """Move theta and the latent variables together; hold only the likelihood's own parameters.

    The kernel's hyperparameters, the mean offset and eta = U^T z - b move together along
    Hamiltonian trajectories: what `post-*` hold (M&A section 4), with sites of one precision
    for all, as grids need. Close to standard normal whatever theta is, eta allows long steps.
    """

    updates_latents_jointly = True
    # Trajectories fail where f is flat or far from the data.
    needs_close_start = True
    # Step sizes belong to the coordinates: these do not change at the end.
    adapted_at = (30, 60)
    requires = ("pseudo-posterior gradient",)
    # Twice the length for theta alone: with hundreds of latent variables the steps are small.
    path_length = 3.0

    def __init__(self, workspace: Workspace) -> None:
        rule = HeldSiteRule(workspace.likelihood)
        super().__init__(workspace, rule)
        self.adaptation = _MeanSites(rule, workspace.likelihood)

    @property
    def free(self) -> NDArray[np.intp]:
        """Elements of theta that the trajectories move."""
        return np.arange(self.workspace.layout.first_likelihood)

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the density of theta and eta."""
        return _JointConditional(self.workspace, state, self)
