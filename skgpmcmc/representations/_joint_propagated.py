"""`joint-ep`: theta and latent variables move together, around sites of expectation propagation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._covariance import PosteriorCoordinates
from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ..likelihoods import Sites
from ._base import Conditional, Representation
from ._pseudo_posterior import PropagatedSites
from ._site_rules import FrozenSiteRule


class _CoordinatesConditional(Conditional):
    """The density of (theta, eta) but for p(theta): log L(f) - log sites + log Z - |eta|^2 / 2.

    Of a candidate the factor of K and z are only computed where it is accepted.
    """

    def __init__(self, workspace: Workspace, state: LatentState, rng: np.random.Generator) -> None:
        super().__init__(workspace, state)
        self._sites: Sites = state.sites
        self._eta = np.empty(0)
        self.log_density = -math.inf
        at = self._coordinates(state.theta, state.mean)
        if at is None:
            return
        self._at = at
        self._eta = at.coordinates(state.latent - state.mean, state.factor, rng)
        self.log_density = self._density(at, self._eta, state)

    @property
    def joint_position(self) -> Array:
        """Return eta."""
        return self._eta

    def _coordinates(self, theta: Array, mean: float) -> PosteriorCoordinates | None:
        sites, n_kernel = self._sites, self.workspace.layout.n_kernel
        return self.workspace.covariance.posterior_coordinates(
            theta[:n_kernel], sites.precision, self._residual(mean), self.state.factor
        )

    def _residual(self, mean: float) -> Array:
        return self._sites.shift - self._sites.precision * mean

    def _density(self, at: PosteriorCoordinates, eta: Array, state: LatentState) -> float:
        x = state.latent - state.mean
        log_sites = self._residual(state.mean) @ x - 0.5 * (self._sites.precision * x) @ x
        return float(state.log_likelihood - log_sites + at.log_evidence - 0.5 * eta @ eta)

    def evaluate(self, theta: Array) -> float:
        """Return the log density at theta, eta held fixed."""
        return self.evaluate_joint(theta, self._eta)

    def evaluate_joint(self, theta: Array, position: Array) -> float:
        """Return the log density at theta and eta; -inf where the coordinates are not finite."""
        self._candidate = None
        layout, state = self.workspace.layout, self.state
        mean = layout.mean(theta)
        at = self._coordinates(theta, mean)
        if at is None:
            return -math.inf
        latent = mean + at.deviation(position)
        log_likelihood = self.workspace.log_likelihood(latent, state.params)
        candidate = LatentState(
            theta, state.factor, mean, state.params, latent, state.whitened, log_likelihood
        )
        self._candidate_log_density = self._density(at, position, candidate)
        if not self._candidate_log_density > -math.inf:  # also for NaN
            return -math.inf
        candidate.sites = self._sites
        self._at, self._eta, self._candidate = at, position, candidate
        return self._candidate_log_density

    def gradient(self) -> Array:
        """Return the gradient along theta, then eta; zero along the likelihood's parameters."""
        state = self.state if self._candidate is None else self._candidate
        workspace, layout = self.workspace, self.workspace.layout
        x, w = state.latent - state.mean, self._sites.precision
        score, _ = workspace.likelihood.derivatives(state.latent, state.params)
        along = self._at.gradient(self._eta, score + w * x - self._residual(state.mean))
        along_theta = np.zeros(len(layout))
        along_theta[: layout.n_kernel] = along.theta
        if layout.samples_mean:
            along_theta[layout.n_kernel] = score.sum() - float(w @ (along.residual - x))
        return np.concatenate([along_theta, along.eta])

    def accept(self) -> None:
        """Make the last candidate the current state, unless its covariance has no factor."""
        candidate, covariance = self._candidate, self.workspace.covariance
        if candidate is not None:
            factor = covariance.factor_at(self._at)
            if factor is None:
                covariance.n_failures += 1
                return
            candidate.factor = factor
            candidate.whitened = factor.whiten(candidate.latent - candidate.mean)
        super().accept()


class JointPropagated(Representation):
    """Move theta and the latent variables together; hold only the likelihood's own parameters.

    The kernel's hyperparameters, the mean offset and coordinates eta move together along
    Hamiltonian trajectories. Eta is standard normal under a Gaussian with the prior of f given
    theta and the sites of expectation propagation, which are found in the warm-up and then the same
    at every theta: where these are good, theta and eta are nearly independent.
    """

    updates_latents_jointly = True
    has_gradient = True
    path_length = 2.0
    # Points are for many rows, which say much about theta.
    first_scale = 0.3
    # Good sites are all that makes eta independent of theta.
    adapted_at = (10, 25, 50, 75)
    requires = ("marginal variances", "posterior coordinates")
    adaptation: PropagatedSites

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._rule = FrozenSiteRule(workspace.likelihood, _unbounded)
        factory = workspace.covariance.pseudo_posterior_factory()
        self.adaptation = PropagatedSites(self._rule, workspace, factory)

    @property
    def free(self) -> NDArray[np.intp]:
        """Elements of theta that the trajectories move."""
        return np.arange(self.workspace.layout.first_likelihood)

    def prepare(self, state: LatentState, current: LatentState | None = None) -> bool:
        """Set the sites; find them here if there are none."""
        if self.adaptation.frozen is None:
            self.adaptation.frozen = self.adaptation.find(state, state.theta)
        if self.adaptation.frozen is None:
            return False
        state.sites = self._rule.fit(state)
        return bool(
            np.isfinite(state.sites.precision).all() and np.isfinite(state.sites.shift).all()
        )

    def first_state(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Draw f from the Gaussian: elsewhere eta would be far from standard normal."""
        conditional = self.condition(state, rng)
        eta = rng.standard_normal(len(conditional.joint_position))
        if conditional.evaluate_joint(state.theta, eta) > -math.inf:
            conditional.accept()
        return conditional.state

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the density of theta and eta."""
        return _CoordinatesConditional(self.workspace, state, rng)


def _unbounded(sites: Sites, variance: float | Array) -> Sites:
    """Return sites as expectation propagation finds them, with precisions of at least zero."""
    return sites
