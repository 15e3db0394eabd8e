"""One Markov chain: sweeps over the hyperparameters, updates of the latent variables."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._linalg import Array
from .._model._model import LatentGaussianModel, Workspace
from .._model._state import LatentState
from ..representations import (
    ApproximateMarginalRepresentation,
    Conditional,
    PriorWhiteRepresentation,
    Representation,
    build_representation,
    supports,
)
from ..trace import ChainDraws, Costs
from ..updates import HamiltonianTuner, WidthAdapter
from ..updates._metropolis import check_proposal
from ._hyperparameter_moves import Trajectories, propose_theta, slice_element
from ._latent_moves import update_latents, update_latents_around_approximation
from ._settings import SamplerSettings, initial_widths

# Updates of the latent variables for which the auxiliary draws are made at once.
_BATCH = 5
# Updates of the latent variables, at the first theta, before the chain starts.
_N_FIRST_UPDATES = 100
# The share of the warm-up after which trajectories may be given up: slice sampling needs the rest
# to find its widths. Trajectories that fail later are given up at the end of the warm-up.
_FIRST_LOOK = 0.6
# For trajectories that move the latent variables too, before the first one: the number of further
# draws from the prior that are tried as a start, and of sweeps of slice sampling.
_N_OTHER_STARTS, _N_FIRST_SWEEPS = 10, 20


@dataclass(frozen=True, repr=False)
class ChainSnapshot:
    """Everything that the later draws of a chain depend on, except its random generator.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
    whitened : ndarray of shape (n_latent,)
        z, with f = m + L z.
    widths : WidthAdapter
        Brackets, and what their adaptation has seen.
    tuner : HamiltonianTuner
        Step sizes, and what their adaptation has seen.
    n_moved : ndarray of shape (n_parameters,)
        Iterations in which each element of theta moved.
    frozen : object
        What the representation has adapted; see `Adaptation`.
    gave_up : bool
        Whether trajectories failed in the warm-up, so that theta moves by slices.
    recent : ndarray of shape (n_iterations, n_parameters)
        At the end of a warm-up: theta in the second half of its iterations; empty later.
    """

    theta: Array
    whitened: Array
    widths: WidthAdapter
    tuner: HamiltonianTuner
    n_moved: Array
    frozen: Any
    gave_up: bool
    recent: Array


class Chain:
    """One Markov chain on (theta, f).

    Parameters
    ----------
    workspace : Workspace
        The chain's own buffers and counters.
    settings : SamplerSettings
        How it is sampled.
    rng : numpy.random.Generator
        The chain's own stream.
    state : LatentState
        Starting point.
    frozen : object
        What the representation has adapted before.

    Attributes
    ----------
    gave_up : bool
        Whether trajectories failed in the warm-up, so that theta moves by slices.
    recent : list of ndarray
        Theta in the second half of the iterations of the warm-up, until draws are kept.

    Raises
    ------
    ValueError
        If the representation is not finite there, or a proposal would move what it holds.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: SamplerSettings,
        rng: np.random.Generator,
        state: LatentState,
        frozen: Any = None,
    ) -> None:
        self.settings = settings
        self.workspace = workspace
        self.state = state
        self.n_moved = np.zeros(len(workspace.layout))
        self.gave_up = False
        self._prior_widths = initial_widths(workspace.layout, settings.width)
        self.widths = WidthAdapter(self._prior_widths)
        self._whitened = PriorWhiteRepresentation(workspace)
        self._rng = rng
        representation = build_representation(settings.representation, workspace)
        if representation.adaptation is not None and frozen is not None:
            representation.adaptation.frozen = frozen
        self.represent(representation)
        approximates = supports(workspace.structure, ApproximateMarginalRepresentation)
        self._begin_warm_up(settings.n_warmup, settings.n_approximate if approximates else 0)

    def _begin_warm_up(
        self, n_warmup: int, n_approximate: int, tuner: HamiltonianTuner | None = None
    ) -> None:
        self._n_warmup, self._n_approximate = n_warmup, n_approximate
        # The values of theta since the representation was last adapted.
        self._visited: list[Array] = []
        self.recent: list[Array] = []
        n_adapted = n_warmup - n_approximate
        path_length = self.settings.path_length
        self.trajectories = Trajectories(self.representation, path_length, n_adapted, tuner)
        self._adaptations = {n_warmup * share // 100 for share in self.representation.adapted_at}
        if not self.representation.updates_latents_jointly:
            self._adaptations.add(n_approximate)

    def warm_up_again(self, n_warmup: int) -> None:
        """Begin another warm-up, which goes on from what the last one has learnt."""
        self._begin_warm_up(n_warmup, 0, self.trajectories.tuner)

    def represent(self, representation: Representation) -> None:
        """Change to another representation.

        Raises
        ------
        ValueError
            If it is not finite at the current state, or a proposal would move what it holds.
        """
        self.representation = representation
        held = np.setdiff1d(np.arange(len(self.workspace.layout)), representation.free)
        self._held = held.tolist()
        if self._held and self.settings.proposal is not None:
            names = ", ".join(self.workspace.layout.names[i] for i in self._held)
            raise ValueError(
                f"a proposal moves all hyperparameters at once, but the representation "
                f"{self.settings.representation!r} holds {names} fixed. Use slice sampling "
                "(proposal=None, or hyperparameter_update='slice' of the estimators), or another "
                "representation."
            )
        if not representation.prepare(self.state):
            raise ValueError(
                f"the representation {self.settings.representation!r} is not finite at "
                f"{self.workspace.describe(self.state.theta)}. Check the likelihood's values at "
                "the data, state narrower priors, or use representation='prior-white'."
            )

    @classmethod
    def start(
        cls,
        model: LatentGaussianModel,
        settings: SamplerSettings,
        rng: np.random.Generator,
        theta: Array | None = None,
    ) -> Chain:
        """Start a chain at theta, or at a draw from its prior, the latents near the data."""
        workspace = model.workspace(settings.hamiltonian)
        chain = cls(workspace, settings, rng, workspace.initial_state(rng, theta))
        if settings.proposal is not None and len(workspace.layout):
            check_proposal(settings.proposal, chain.state.theta)
        chain.update_latents(_N_FIRST_UPDATES)
        chain.state = chain.representation.first_state(chain.state, rng)
        if chain.representation.needs_close_start:
            chain._approach(0 if theta is not None else _N_OTHER_STARTS)
        return chain

    def _approach(self, n_other_starts: int) -> None:
        """Find a start for trajectories, which fail where f is flat or far from the data.

        It is the best of several draws from the prior, moved by slice sampling.
        """
        for _ in range(n_other_starts):
            other = self.workspace.initial_state(self._rng)
            update_latents(self.workspace, other, _N_FIRST_UPDATES // 5, self._rng)
            if other.log_likelihood > self.state.log_likelihood:
                self.state = other
        for _ in range(_N_FIRST_SWEEPS):
            self._slice_whitened(list(range(len(self.workspace.layout))))
            self.update_latents(_BATCH)
        self.represent(self.representation)

    def warm_up(self, iteration: int) -> None:
        """Run one iteration of the warm-up, the first ones under the approximation."""
        n_approximate = self._n_approximate
        if n_approximate and iteration == 0:
            approximation = ApproximateMarginalRepresentation(self.workspace)
            if approximation.prepare(self.state):
                self.representation = approximation
            else:
                self.represent(self.representation)
        if n_approximate and iteration == n_approximate:
            self.represent(build_representation(self.settings.representation, self.workspace))
        if iteration in self._adaptations:
            self._adapt_representation()
        if iteration == round(_FIRST_LOOK * self._n_warmup):
            self._give_up_trajectories()
        self.iterate(adapt=self.settings.adapt_widths)
        if iteration >= self._n_warmup // 2:
            self.recent.append(self.state.theta)
        if iteration < max(self._adaptations):
            self._visited.append(self.state.theta)
            if self.representation.adaptation is not None:
                self.representation.adaptation.observe(self.state)

    def _adapt_representation(self) -> None:
        """Adapt the representation to the states since it was last adapted."""
        if self._visited:
            held, theta = self.representation, np.median(self._visited, axis=0)
            if held.adaptation is not None:
                held.adaptation.adapt(self.state, theta, held.prepare)
                self.state = held.first_state(self.state, self._rng)
            self._visited.clear()

    def end_warm_up(self) -> None:
        """End all adaptation."""
        if self._n_warmup in self._adaptations:
            self._adapt_representation()
        self.trajectories.tuner.freeze()
        self._give_up_trajectories()
        self.n_moved[:] = 0.0

    @classmethod
    def restore(
        cls,
        model: LatentGaussianModel,
        settings: SamplerSettings,
        rng: np.random.Generator,
        snapshot: ChainSnapshot,
    ) -> Chain:
        """Return the chain as it was when the snapshot was taken, bit for bit."""
        workspace = model.workspace(settings.hamiltonian)
        # Copies: the snapshot's arrays may be on a file that its owner is going to replace.
        state = workspace.state_at(np.array(snapshot.theta), np.array(snapshot.whitened))
        # The chain has been at this state, so it has a factor.
        assert state is not None
        chain = cls(workspace, settings, rng, state, copy.deepcopy(snapshot.frozen))
        chain.widths = copy.deepcopy(snapshot.widths)
        chain.trajectories.tuner = copy.deepcopy(snapshot.tuner)
        chain.n_moved = snapshot.n_moved.copy()
        chain.gave_up = snapshot.gave_up
        return chain

    def snapshot(self) -> ChainSnapshot | None:
        """Remove accumulated rounding errors, and return everything that later draws depend on.

        The covariance is constructed afresh from theta, as `restore` constructs it. None
        where that fails in floating point: the chain goes on as it was.
        """
        state = self.workspace.rebuilt(self.state)
        if state is None or not self.representation.prepare(state, self.state):
            return None
        self.state, adaptation = state, self.representation.adaptation
        return ChainSnapshot(
            self.state.theta,
            self.state.whitened,
            copy.deepcopy(self.widths),
            copy.deepcopy(self.trajectories.tuner),
            self.n_moved.copy(),
            None if adaptation is None else adaptation.frozen,
            self.gave_up,
            np.array(self.recent).reshape(len(self.recent), len(self.workspace.layout)),
        )

    def condition_on(self, others: list[Array]) -> None:
        """Condition the likelihood on the latent variables of other chains."""
        self.workspace.likelihood.condition_on(others)
        self.state.log_likelihood = self.workspace.log_likelihood(
            self.state.latent, self.state.params
        )

    def iterate(self, *, adapt: bool = False) -> None:
        """Run one iteration: every hyperparameter, then the latent variables."""
        if self.representation.begin(self.state, self._rng):
            if len(self.workspace.layout):
                self._sweep(adapt)
            self.state = self.representation.refresh(self.state, self._rng)
        if not self.representation.draws_latents_exactly:
            self._move_latents()

    def _sweep(self, adapt: bool) -> None:
        """Update every hyperparameter."""
        before = self.state.theta
        settings = self.settings
        if self._follows_trajectories():
            conditional = self.representation.condition(self.state, self._rng)
            self.trajectories.step(conditional, self._rng, adapt)
            self.state = conditional.state
        elif settings.proposal is not None:
            conditional = self.representation.condition(self.state, self._rng)
            propose_theta(conditional, settings.proposal, self._rng)
            self.state = conditional.state
        else:
            self._slice_in_turn()
        moves = self.state.theta - before
        self.n_moved += moves != 0.0
        if adapt:
            self.widths.record(moves)

    def _follows_trajectories(self) -> bool:
        """Return whether theta now moves along Hamiltonian trajectories."""
        held = self.representation
        wanted = self.settings.hamiltonian and held.has_gradient and not self.gave_up
        return held.updates_latents_jointly or wanted

    def _give_up_trajectories(self) -> None:
        """Change to slice sampling if trajectories fail; only allowed in the warm-up."""
        can_slice = not self.representation.updates_latents_jointly
        if can_slice and self._follows_trajectories() and self.trajectories.failed():
            self.gave_up = True
            # Widths learnt from the moves of trajectories may be far too narrow.
            self.widths = WidthAdapter(self._prior_widths)

    def _slice_in_turn(self) -> None:
        """Update each element of theta that is free, in random order (M&A Algorithm 4)."""
        conditional: Conditional | None = None
        for index in self._rng.permutation(self.representation.free).tolist():
            if conditional is None or self.settings.condition_each_scalar:
                conditional = self.representation.condition(self.state, self._rng)
            self._slice(conditional, index, float(self.widths.widths[index]))

    def _slice(self, conditional: Conditional, index: int, width: float) -> None:
        steps_out = self.settings.max_steps_out
        slice_element(conditional, index, width, self._rng, max_steps_out=steps_out)
        self.state = conditional.state

    def _move_latents(self) -> None:
        """Update f, and in between the hyperparameters that rescale or shift it."""
        before = self.state
        n_updates = self.settings.n_latent_updates
        # Rescaling changes the pseudo-posterior: it waits until all updates around it are done.
        batch = n_updates if self.representation.approximates_posterior else _BATCH
        for first in range(0, n_updates, max(batch, 1)):
            self.update_latents(min(batch, n_updates - first))
            self._update_whitened()
        if self.state is not before and not self.representation.prepare(self.state, before):
            self.workspace.covariance.n_failures += 1
            self.state = before

    def _update_whitened(self) -> None:
        """Update elements of theta that need no factorisation, with z = L^-1 (f - m) fixed."""
        indices = self._held
        if self.settings.whitened_updates:
            n_kernel = self.workspace.layout.n_kernel
            scales = self.workspace.covariance.scale_parameters
            indices = [*scales, *range(n_kernel, len(self.workspace.layout))]
        self._slice_whitened(indices)

    def _slice_whitened(self, indices: list[int]) -> None:
        for index in indices:
            conditional = self._whitened.condition(self.state, self._rng)
            self._slice(conditional, index, self._prior_widths[index])

    def update_latents(self, n_updates: int) -> None:
        """Update f by elliptical slice sampling; z = L^-1 (f - m) turns with it."""
        if n_updates:
            update = update_latents
            if self.representation.approximates_posterior:
                update = update_latents_around_approximation
            update(self.workspace, self.state, n_updates, self._rng)

    def costs(self) -> Costs:
        """Return the costs so far."""
        covariance = self.workspace.covariance
        return Costs(
            covariance.n_constructions,
            self.workspace.n_likelihoods,
            covariance.n_failures,
            time.process_time(),
        )

    def record(self, draws: ChainDraws, index: int) -> None:
        """Write the current state into preallocated draws."""
        state, mean = self.state, self.state.mean
        draws.theta[index] = state.theta
        draws.log_likelihood[index] = state.log_likelihood
        if draws.collapsed_mean is None:
            draws.complete_data_log_likelihood[index] = state.complete_data_log_likelihood()
        else:
            mean, log_normal = self.workspace.draw_collapsed_mean(state, self._rng)
            draws.collapsed_mean[index] = mean
            draws.complete_data_log_likelihood[index] = state.log_likelihood + log_normal
        draws.latent[index] = self.workspace.covariance.kept_latents(
            state.factor, state.latent, mean, self._rng
        )
