"""One Markov chain: sweeps over the hyperparameters, updates of the latent variables."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._coordinates import NormalCoordinates
from ._linalg import Array
from ._model import (
    LatentGaussianModel,
    LatentState,
    Workspace,
    draw_prior_latents,
)
from ._settings import SamplerSettings, initial_widths
from .representations import (
    ApproximateMarginalRepresentation,
    Conditional,
    PriorWhiteRepresentation,
    Representation,
    make_representation,
)
from .trace import ChainDraws, Costs
from .updates import (
    HamiltonianTuner,
    Point,
    Proposal,
    WidthAdapter,
    elliptical_slice_step,
    hamiltonian_step,
    metropolis_step,
    slice_step,
)

# Updates of the latent variables for which the auxiliary draws are made at once.
_BATCH = 5
# Leapfrog steps of a trajectory at most; fewer in the warm-up, where the first steps are small.
_MOST_STEPS, _MOST_WARM_UP_STEPS = 50, 10
# Updates of the latent variables, at the first theta, before the chain starts.
_N_FIRST_UPDATES = 100


@dataclass(frozen=True)
class ChainSnapshot:
    """All that the future of a chain depends on, but its generator.

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
    """

    theta: Array
    whitened: Array
    widths: WidthAdapter
    tuner: HamiltonianTuner
    n_moved: Array


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
    ) -> None:
        self.settings = settings
        self.workspace = workspace
        self.state = state
        self.n_moved = np.zeros(len(workspace.layout))
        self._prior_widths = initial_widths(workspace.layout, settings.width)
        self.widths = WidthAdapter(self._prior_widths)
        self._whitened = PriorWhiteRepresentation(workspace)
        self._rng = rng
        self.represent(make_representation(settings.representation, workspace))
        self.tuner = HamiltonianTuner(
            len(self.representation.free), settings.n_warmup - settings.n_approximate
        )

    @cached_property
    def _coordinates(self) -> NormalCoordinates:
        """Quantiles of every prior take time: only Hamiltonian trajectories pay for them."""
        priors = self.workspace.layout.priors
        return NormalCoordinates([priors[i] for i in self.representation.free])

    def represent(self, representation: Representation) -> None:
        """Hold from now on what another representation holds.

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
                "(hyperparameter_update='slice'), or another representation."
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
        chain.update_latents(_N_FIRST_UPDATES)
        return chain

    def warm_up(self, iteration: int) -> None:
        """Run one iteration of the warm-up, the first ones under the approximation."""
        n_approximate = self.settings.n_approximate
        if n_approximate and iteration == 0:
            approximation = ApproximateMarginalRepresentation(self.workspace)
            if approximation.prepare(self.state):
                self.representation = approximation
            else:
                self.represent(self.representation)
        if n_approximate and iteration == n_approximate:
            self.represent(make_representation(self.settings.representation, self.workspace))
        self.iterate(adapt=self.settings.adapt_widths)

    def end_warm_up(self) -> None:
        """Freeze what was adapted."""
        self.tuner.freeze()
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
        state = workspace.state_at(snapshot.theta, snapshot.whitened)
        # The chain stood there, at the same numbers.
        assert state is not None
        chain = cls(workspace, settings, rng, state)
        chain.widths = copy.deepcopy(snapshot.widths)
        chain.tuner = copy.deepcopy(snapshot.tuner)
        chain.n_moved = snapshot.n_moved.copy()
        return chain

    def snapshot(self) -> ChainSnapshot | None:
        """Forget rounding errors of the past, and return all that the future depends on.

        The covariance is constructed afresh from theta, as `restore` constructs it. None
        where that fails in floating point: the chain goes on as it was.
        """
        state = self.workspace.rebuilt(self.state)
        if state is None or not self.representation.prepare(state, self.state):
            return None
        self.state = state
        return ChainSnapshot(
            self.state.theta,
            self.state.whitened,
            copy.deepcopy(self.widths),
            copy.deepcopy(self.tuner),
            self.n_moved.copy(),
        )

    def condition_on(self, others: list[Array]) -> None:
        """Let the likelihood be that given the latent variables of other chains."""
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
        if self.settings.hamiltonian and self.representation.has_gradient:
            self._hamiltonian(adapt)
        else:
            self._update_hyperparameters()
        moves = self.state.theta - before
        self.n_moved += moves != 0.0
        if adapt:
            self.widths.record(moves)

    def _update_hyperparameters(self) -> None:
        if self.settings.proposal is not None:
            self._metropolis(self.settings.proposal)
            return
        conditional: Conditional | None = None
        for index in self._rng.permutation(self.representation.free).tolist():
            if conditional is None or self.settings.condition_each_scalar:
                conditional = self.representation.condition(self.state, self._rng)
            self._slice(conditional, index, float(self.widths.widths[index]))
            self.state = conditional.state

    def _slice(self, conditional: Conditional, index: int, width: float) -> None:
        """Update one element of theta; the priors of the others cancel."""
        prior = self.workspace.layout.priors[index]
        theta = conditional.state.theta

        def log_density(value: float) -> float:
            log_prior = prior.log_density(value)
            if not log_prior > -math.inf:
                return -math.inf
            proposal = theta.copy()
            proposal[index] = value
            return log_prior + conditional.evaluate(proposal)

        value = float(theta[index])
        lower, upper = prior.support
        result = slice_step(
            log_density,
            value,
            prior.log_density(value) + conditional.log_density,
            width,
            self._rng,
            lower=lower,
            upper=upper,
            max_steps_out=self.settings.max_steps_out,
        )
        if result.moved:
            conditional.accept()

    def _hamiltonian(self, adapt: bool) -> None:
        """Update theta as a whole along a Hamiltonian trajectory."""
        conditional = self.representation.condition(self.state, self._rng)
        coordinates, tuner, free = self._coordinates, self.tuner, self.representation.free
        theta = self.state.theta

        def point(u: Array, values: Array, log_density: Callable[[], float]) -> Point | None:
            slope = coordinates.slope(u)
            log_prior, gradient = coordinates.log_prior(u, values, slope)
            if not log_prior > -math.inf:
                return None
            total = log_prior + log_density()
            if not total > -math.inf:
                return None
            return Point(u, total, gradient + slope * conditional.gradient()[free])

        def evaluate(u: Array) -> Point | None:
            proposal = theta.copy()
            proposal[free] = coordinates.to_theta(u)
            return point(u, proposal[free], lambda: conditional.evaluate(proposal))

        start = point(
            coordinates.from_theta(theta[free]), theta[free], lambda: conditional.log_density
        )
        if start is None:  # the chain stands on a bound of a prior
            return
        length = self.settings.path_length * self._rng.uniform(0.5, 1.5)
        most_steps = _MOST_WARM_UP_STEPS if adapt else _MOST_STEPS
        n_steps = max(1, min(most_steps, round(length / tuner.step_size)))
        result = hamiltonian_step(evaluate, start, tuner.step_sizes, n_steps, self._rng)
        if result.moved:
            conditional.accept()
        if adapt:
            tuner.record(result.point.value, result.acceptance)
        self.state = conditional.state

    def _metropolis(self, proposal: Proposal) -> None:
        """Update theta as a whole (M&A Algorithms 1, 2 and 3)."""
        conditional = self.representation.condition(self.state, self._rng)
        layout = self.workspace.layout

        def log_density(theta: Array) -> float:
            log_prior = layout.log_prior(theta)
            if not log_prior > -math.inf:
                return -math.inf
            return log_prior + conditional.evaluate(theta)

        theta = self.state.theta
        current = layout.log_prior(theta) + conditional.log_density
        result = metropolis_step(log_density, theta, current, proposal, self._rng)
        if result.moved:
            conditional.accept()
        self.state = conditional.state

    def _move_latents(self) -> None:
        """Update f, and in between the hyperparameters that rescale or shift it."""
        before = self.state
        for first in range(0, self.settings.n_latent_updates, _BATCH):
            self.update_latents(min(_BATCH, self.settings.n_latent_updates - first))
            self._update_whitened()
        if self.state is not before and not self.representation.prepare(self.state, before):
            self.workspace.covariance.n_failures += 1
            self.state = before

    def _update_whitened(self) -> None:
        """Update what needs no factorisation in f = m + L z, with z held fixed."""
        indices = self._held
        if self.settings.whitened_updates:
            n_kernel = self.workspace.layout.n_kernel
            scales = self.workspace.covariance.scale_parameters
            indices = [*scales, *range(n_kernel, len(self.workspace.layout))]
        for index in indices:
            conditional = self._whitened.condition(self.state, self._rng)
            self._slice(conditional, index, self._prior_widths[index])
            self.state = conditional.state

    def update_latents(self, n_updates: int) -> None:
        """Update f by elliptical slice sampling; z = L^-1 (f - m) turns with it."""
        if not n_updates:
            return
        state, workspace = self.state, self.workspace
        mean, params = state.mean, state.params
        auxiliary_z, auxiliary = draw_prior_latents(state.factor, n_updates, self._rng)

        def log_likelihood(deviation: Array) -> float:
            return workspace.log_likelihood(deviation + mean if mean else deviation, params)

        deviation = state.latent - mean
        for i in range(n_updates):
            result = elliptical_slice_step(
                log_likelihood, deviation, state.log_likelihood, auxiliary[:, i], self._rng
            )
            deviation = result.deviation
            state.log_likelihood = result.log_likelihood
            state.whitened = state.whitened * result.cosine + auxiliary_z[:, i] * result.sine
        state.latent = deviation + mean

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
        state = self.state
        draws.theta[index] = state.theta
        draws.latent[index] = state.latent
        draws.log_likelihood[index] = state.log_likelihood
        if draws.collapsed_mean is None:
            draws.complete_data_log_likelihood[index] = state.complete_data_log_likelihood()
            return
        mean, log_normal = self.workspace.draw_collapsed_mean(state, self._rng)
        draws.collapsed_mean[index] = mean
        draws.complete_data_log_likelihood[index] = state.log_likelihood + log_normal
