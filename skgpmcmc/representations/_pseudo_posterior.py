"""`surr-*` and `post-*`: hold whitened variables of a Gaussian pseudo-posterior."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ._adaptation import Adaptation
from ._base import Conditional, FactorConditional, Representation
from ._expectation_propagation import propagate
from ._site_rules import (
    Bound,
    ConstantSiteRule,
    FrozenSiteRule,
    FrozenSites,
    PosteriorSiteRule,
    SiteRule,
    TaylorSiteRule,
    clip_precision,
    floor_precision,
)


class PseudoPosteriorRepresentation(Representation):
    """Common to all representations that factor I + L^T W L.

    Parameters
    ----------
    workspace : Workspace
        The chain's buffers and counters.
    rule : SiteRule
        Gives the sites at each theta.
    """

    def __init__(self, workspace: Workspace, rule: SiteRule) -> None:
        super().__init__(workspace)
        self._rule = rule
        self._factory = workspace.covariance.pseudo_posterior_factory()

    def prepare(self, state: LatentState, current: LatentState | None = None) -> bool:
        """Fit the sites at a state and factor its pseudo-posterior."""
        state.sites = self._rule.fit(state)
        occupied = None if current is None else current.pseudo
        pseudo = self._factory.build(state.factor, state.sites.precision, occupied)
        if pseudo is None:
            return False
        state.pseudo = pseudo
        return True

    def complete(self, candidate: LatentState, current: LatentState) -> bool:
        """Set the candidate's sites and pseudo-posterior, reusing what did not change.

        Returns
        -------
        success : bool
            False where the factorisation failed: a rejected proposal, counted.
        """
        candidate.sites = self._rule.sites(candidate, current)
        if candidate.factor is current.factor and candidate.sites is current.sites:
            candidate.pseudo = current.pseudo
            return True
        precision = candidate.sites.precision
        pseudo = self._factory.build(candidate.factor, precision, current.pseudo)
        if pseudo is None:
            self.workspace.covariance.n_failures += 1
            return False
        candidate.pseudo = pseudo
        return True


class _PseudoConditional(FactorConditional):
    """Holds eta fixed, and the variables that determine the shift of the sites."""

    def __init__(
        self,
        workspace: Workspace,
        state: LatentState,
        representation: PseudoPosteriorRepresentation,
    ) -> None:
        super().__init__(workspace, state)
        self._representation = representation
        projection = state.pseudo.project(self._shift(state), state.mean)
        self._eta = state.pseudo.whiten(state.whitened, projection)
        self.log_density = state.log_likelihood + self._log_ratio(state, projection)

    @abstractmethod
    def _shift(self, state: LatentState) -> Array:
        """Return h; called before `_log_ratio` of the same state."""

    @abstractmethod
    def _log_ratio(self, state: LatentState, projection: Array) -> float:
        """Return the logarithm of the factor that multiplies L(f) p(theta), given b."""

    def _complete(self, candidate: LatentState) -> float:
        if not self._representation.complete(candidate, self.state):
            return -math.inf
        pseudo = candidate.pseudo
        projection = pseudo.project(self._shift(candidate), candidate.mean)
        log_likelihood = self._set_latent(candidate, pseudo.colour(self._eta, projection))
        return log_likelihood + self._log_ratio(candidate, projection)


class _SurrogateConditional(_PseudoConditional):
    def __init__(
        self,
        workspace: Workspace,
        state: LatentState,
        representation: PseudoPosteriorRepresentation,
        surrogate: Array,
    ) -> None:
        self._surrogate = surrogate
        self._set_sites(state)
        super().__init__(workspace, state, representation)

    def _set_sites(self, state: LatentState) -> None:
        """Compute the terms that depend only on the sites and the mean."""
        precision = state.sites.precision
        residual = self._surrogate - state.mean
        self._sites, self._mean = state.sites, state.mean
        self._surrogate_shift = precision * self._surrogate
        log_det = float(np.log(precision).sum())
        self._half_log_density = 0.5 * (log_det - float((precision * residual) @ residual))

    def _shift(self, state: LatentState) -> Array:
        if state.sites is not self._sites or state.mean != self._mean:
            self._set_sites(state)
        return self._surrogate_shift

    def _log_ratio(self, state: LatentState, projection: Array) -> float:
        """Return log N(g; m, K + S), up to a constant."""
        half_square = 0.5 * float(projection.dot(projection))
        return self._half_log_density + half_square - state.pseudo.half_log_det


class SurrogateRepresentation(PseudoPosteriorRepresentation):
    """Hold surrogate data g ~ N(f, S) and eta (M&A section 3, Algorithms 3 and 4)."""

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Draw surrogate data, and return the density of theta given them and eta."""
        noise = rng.standard_normal(state.latent.shape) / np.sqrt(state.sites.precision)
        return _SurrogateConditional(self.workspace, state, self, state.latent + noise)


class PosteriorConditional(_PseudoConditional):
    def _shift(self, state: LatentState) -> Array:
        return state.sites.shift

    def _log_ratio(self, state: LatentState, projection: Array) -> float:
        """Return log N(f; m, K) + log |L_R|, up to a constant: eq. (fixed_score)."""
        return -0.5 * float(state.whitened.dot(state.whitened)) - state.pseudo.half_log_det


class PosteriorRepresentation(PseudoPosteriorRepresentation):
    """Hold omega, whitened by a fixed approximate posterior (M&A section 4)."""

    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Return the density of theta given omega."""
        return PosteriorConditional(self.workspace, state, self)


class SurrogateSite(SurrogateRepresentation):
    """`surr-site`: the noise level matches the site posteriors."""

    requires = ("any precisions",)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, PosteriorSiteRule(workspace.likelihood, floor_precision))


class SurrogateTaylor(SurrogateRepresentation):
    """`surr-taylor`: the noise level comes from a Taylor expansion."""

    requires = ("taylor sites", "any precisions")

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, TaylorSiteRule(workspace.likelihood, floor_precision))


class SurrogateConstant(SurrogateRepresentation):
    """Surrogate noise S = alpha I (M&A section 3.2)."""

    def __init__(self, workspace: Workspace, alpha: float) -> None:
        super().__init__(workspace, ConstantSiteRule(workspace.likelihood, alpha))


class PosteriorSite(PosteriorRepresentation):
    """`post-site`: whitened by the site posteriors' precisions and means."""

    requires = ("any precisions",)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, PosteriorSiteRule(workspace.likelihood, clip_precision))


class PosteriorTaylor(PosteriorRepresentation):
    """`post-taylor`: whitened by a Taylor expansion (Christensen et al. 2006)."""

    requires = ("taylor sites", "any precisions")

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, TaylorSiteRule(workspace.likelihood, clip_precision))


class PropagatedSites(Adaptation):
    """Sites of expectation propagation at one theta.

    Parameters
    ----------
    rule : FrozenSiteRule
        Holds the sites.
    workspace : Workspace
        The chain's buffers and counters.
    factory : PseudoPosteriorFactory
        The representation's, in whatever form; its buffers are overwritten.
    """

    def __init__(self, rule: FrozenSiteRule, workspace: Workspace, factory: Any) -> None:
        self._rule = rule
        self._workspace = workspace
        self._factory = factory

    @property
    def frozen(self) -> FrozenSites | None:
        """The sites and where they were found; None until they are."""
        return self._rule.frozen

    @frozen.setter
    def frozen(self, value: FrozenSites | None) -> None:
        self._rule.frozen = value

    def find(self, state: LatentState, theta: Array) -> FrozenSites | None:
        """Return the sites of expectation propagation at theta; None if K has no factor there."""
        layout, covariance = self._workspace.layout, self._workspace.covariance
        factor = covariance.factor(theta[: layout.n_kernel], state.factor)
        if factor is None:
            return None
        mean, params = layout.mean(theta), layout.likelihood_params(theta)
        found = propagate(self._workspace.likelihood, factor, mean, params, self._factory)
        return FrozenSites(found.sites, mean, factor.variance, params)


class PropagatedRepresentation(PseudoPosteriorRepresentation):
    """Sites found by expectation propagation at one theta, and used at every theta.

    Parameters
    ----------
    workspace : Workspace
        The chain's buffers and counters.
    bound : callable
        ``bound(sites, variance)`` makes the precisions admissible.
    """

    approximates_posterior = True
    requires = ("any precisions", "marginal variances")
    adaptation: PropagatedSites

    def __init__(self, workspace: Workspace, bound: Bound) -> None:
        rule = FrozenSiteRule(workspace.likelihood, bound)
        super().__init__(workspace, rule)
        self.adaptation = PropagatedSites(rule, workspace, self._factory)

    def prepare(self, state: LatentState, current: LatentState | None = None) -> bool:
        """Set the sites and factor the pseudo-posterior; find the sites here if there are none."""
        if self.adaptation.frozen is None:
            self.adaptation.frozen = self.adaptation.find(state, state.theta)
        return super().prepare(state, current)


class SurrogatePropagated(PropagatedRepresentation, SurrogateRepresentation):
    """`surr-ep`: the noise level is that of expectation propagation's sites."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, floor_precision)


class PosteriorPropagated(PropagatedRepresentation, PosteriorRepresentation):
    """`post-ep`: whitened by expectation propagation's sites."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, clip_precision)
