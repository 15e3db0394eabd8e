"""The seam between updates and models: what is held fixed while theta moves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ..exceptions import MissingCapabilityError
from ._adaptation import Adaptation

_NOTHING = np.empty(0)


class Conditional(ABC):
    """Log density of theta with other variables held fixed, log p(theta) left out.

    Evaluating it at a theta also computes the latent variables there: the state they
    form is the candidate, which `accept` makes the current one. Buffers are
    swapped, so only the last candidate can be accepted.

    Parameters
    ----------
    workspace : Workspace
        The chain's buffers and counters.
    state : LatentState
        The current state, which determines the variables held fixed.

    Attributes
    ----------
    state : LatentState
        Current state.
    log_density : float
        At the current state.
    """

    def __init__(self, workspace: Workspace, state: LatentState) -> None:
        self.workspace = workspace
        self.state = state
        self.log_density = math.nan
        self._candidate: LatentState | None = None
        self._candidate_log_density = -math.inf

    @abstractmethod
    def evaluate(self, theta: Array) -> float:
        """Return the log density at theta; -inf where the covariance has no factor.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
            Kept, so it must not be modified afterwards.
        """

    @property
    def joint_position(self) -> Array:
        """Latent variables that move together with theta, at the current state; empty for most."""
        return _NOTHING

    def evaluate_joint(self, theta: Array, position: Array) -> float:
        """Return the log density of theta and a `joint_position`; see `evaluate`."""
        return self.evaluate(theta)

    def gradient(self) -> Array:
        """Return the gradient of the log density at the last candidate.

        With respect to theta, then to `joint_position`. Where there is no candidate, at the current
        state.

        Raises
        ------
        MissingCapabilityError
            If there is no gradient.
        """
        raise MissingCapabilityError("this representation has no gradient.")

    def accept(self) -> None:
        """Make the last candidate the current state."""
        if self._candidate is None:
            raise RuntimeError("there is no candidate to accept.")
        self.state, self._candidate = self._candidate, None
        self.log_density = self._candidate_log_density


class FactorConditional(Conditional):
    """A conditional that computes the factor of the covariance anew for each candidate."""

    def evaluate(self, theta: Array) -> float:
        """Return the log density at theta; -inf where the covariance has no factor."""
        self._candidate = None
        layout, state = self.workspace.layout, self.state
        factor = self.workspace.covariance.factor(theta[: layout.n_kernel], state.factor)
        if factor is None:
            return -math.inf
        mean, params = layout.mean(theta), layout.likelihood_params(theta)
        candidate = LatentState(
            theta, factor, mean, params, state.latent, state.whitened, state.log_likelihood
        )
        self._candidate_log_density = self._complete(candidate)
        if self._candidate_log_density > -math.inf:  # False for NaN
            self._candidate = candidate
        return self._candidate_log_density

    @abstractmethod
    def _complete(self, candidate: LatentState) -> float:
        """Set the candidate's latent variables; return its log density."""

    def _set_latent(self, candidate: LatentState, whitened: Array) -> float:
        """Set f = m + L z and return log L(f)."""
        candidate.whitened = whitened
        candidate.latent = candidate.factor.colour(whitened)
        if candidate.mean:
            candidate.latent += candidate.mean
        candidate.log_likelihood = self.workspace.log_likelihood(candidate.latent, candidate.params)
        return candidate.log_likelihood


class Representation(ABC):
    """A choice of the variables that are held fixed while theta moves.

    Parameters
    ----------
    workspace : Workspace
        The chain's buffers and counters.

    Attributes
    ----------
    draws_latents_exactly : bool
        Whether `refresh` draws f from its exact conditional, so that no other
        update of the latent variables is needed.
    has_gradient : bool
        Whether its conditionals have a gradient along theta.
    updates_latents_jointly : bool
        Whether they have one along theta and latent variables, which only move together, on
        trajectories.
    path_length : float
        Mean length of the trajectories, in posterior standard deviations.
    first_scale : float
        Guess of the hyperparameters' posterior standard deviations, in those of their priors.
    approximates_posterior : bool
        Whether states have a pseudo-posterior close to the posterior of f given theta, so
        that f is best updated around it rather than around its prior.
    needs_close_start : bool
        Whether a chain must first come close to the data by other moves.
    adapted_at : tuple of int
        Per cent of the warm-up after which `adaptation` finds new quantities.
    requires : tuple of str
        Capabilities that it needs: of the likelihood those in `LIKELIHOOD_CAPABILITIES` of
        `_registry`, of the covariance those of `CovarianceStructure`.
    adaptation : Adaptation or None
        What is adapted to the posterior in the warm-up; None for most.
    """

    draws_latents_exactly: ClassVar[bool] = False
    has_gradient: ClassVar[bool] = False
    updates_latents_jointly: ClassVar[bool] = False
    path_length: ClassVar[float] = 1.5
    first_scale: ClassVar[float] = 1.0
    approximates_posterior: ClassVar[bool] = False
    needs_close_start: ClassVar[bool] = False
    adapted_at: ClassVar[tuple[int, ...]] = (25, 50, 100)
    requires: ClassVar[tuple[str, ...]] = ()
    adaptation: Adaptation | None = None

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def prepare(self, state: LatentState, current: LatentState | None = None) -> bool:
        """Compute what this representation stores in a state; False if it is not finite.

        What is stored in the current state stays valid.
        """
        return True

    @property
    def free(self) -> NDArray[np.intp]:
        """Elements of theta that may move while the other variables are held fixed."""
        return np.arange(len(self.workspace.layout))

    def first_state(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Return where a chain starts, given a state with any latent variables."""
        return state

    def begin(self, state: LatentState, rng: np.random.Generator) -> bool:
        """Draw the variables that are held fixed through a whole iteration, at its beginning.

        Returns
        -------
        success : bool
            False where that is not finite: theta then stays.
        """
        return True

    @abstractmethod
    def condition(self, state: LatentState, rng: np.random.Generator) -> Conditional:
        """Draw or compute the variables held fixed, and return the density of theta."""

    def refresh(self, state: LatentState, rng: np.random.Generator) -> LatentState:
        """Return the state after any exact draw of the latent variables."""
        return state
