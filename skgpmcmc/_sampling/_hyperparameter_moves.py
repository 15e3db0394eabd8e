"""Updates of theta given what a representation holds: one element, or all at once.

Whatever the update, the conditional's state is the new one afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from .._linalg import Array
from ..priors._normal_coordinates import NormalCoordinates
from ..representations import Conditional, Representation
from ..updates import (
    HamiltonianTuner,
    Point,
    Proposal,
    hamiltonian_step,
    metropolis_step,
    slice_step,
)


def slice_element(
    conditional: Conditional,
    index: int,
    width: float,
    rng: np.random.Generator,
    *,
    max_steps_out: int,
) -> None:
    """Update one element of theta by slice sampling; the priors of the others cancel.

    Parameters
    ----------
    conditional : Conditional
        Density of theta without its prior.
    index : int
        Which element.
    width, rng, max_steps_out
        See `slice_step`.
    """
    prior = conditional.workspace.layout.priors[index]
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
        rng,
        lower=lower,
        upper=upper,
        max_steps_out=max_steps_out,
    )
    if result.moved:
        conditional.accept()


def propose_theta(conditional: Conditional, proposal: Proposal, rng: np.random.Generator) -> None:
    """Update theta as a whole by Metropolis-Hastings (M&A Algorithms 1, 2 and 3).

    Parameters
    ----------
    conditional : Conditional
        Density of theta without its prior.
    proposal : callable
        See `metropolis_step`.
    rng : numpy.random.Generator
        Source of randomness.
    """
    workspace = conditional.workspace
    layout = workspace.layout

    def log_density(theta: Array) -> float:
        log_prior = layout.log_prior(theta)
        if not log_prior > -math.inf:
            return -math.inf
        return log_prior + conditional.evaluate(theta)

    theta = conditional.state.theta
    current = layout.log_prior(theta) + conditional.log_density
    result = metropolis_step(log_density, theta, current, proposal, rng)
    workspace.covariance.n_failures += result.n_evaluations == 0  # the proposal has NaN
    if result.moved:
        conditional.accept()


# The largest number of leapfrog steps of a trajectory; it is smaller in the warm-up, whose first
# steps are small. Trajectories that move latent variables need more: short ones would stay where f
# is flat, and never reach the bulk of the posterior.
_MOST_STEPS, _MOST_WARM_UP_STEPS, _MOST_WARM_UP_STEPS_WITH_LATENTS = 50, 10, 25
# No trajectory turns latent variables further in one step.
_LARGEST_ANGLE = 0.5 * math.pi
# Trajectories have failed if their recent acceptance rate is lower. The target is 0.7.
_LOWEST_ACCEPTANCE = 0.3
# The fewest trajectories with one metric before their acceptance rate is judged.
_FEWEST_TO_JUDGE = 15


class Trajectories:
    """Updates theta as a whole, together with latent variables for `joint-post`.

    Parameters
    ----------
    representation : Representation
        Says which elements of theta are free.
    path_length : float or None
        Mean length, in posterior standard deviations; None is the representation's own.
    n_warmup : int
        Iterations that adapt.
    previous : HamiltonianTuner, optional
        See `HamiltonianTuner`.

    Attributes
    ----------
    tuner : HamiltonianTuner
        Step sizes of the coordinates of theta, then of the latent variables updated with it.
    """

    def __init__(
        self,
        representation: Representation,
        path_length: float | None,
        n_warmup: int,
        previous: HamiltonianTuner | None = None,
    ) -> None:
        workspace = representation.workspace
        self._free = representation.free
        self._priors = [workspace.layout.priors[i] for i in self._free]
        self._path_length = representation.path_length if path_length is None else path_length
        self._most_warm_up_steps = (
            _MOST_WARM_UP_STEPS_WITH_LATENTS
            if representation.updates_latents_jointly
            else _MOST_WARM_UP_STEPS
        )
        self.tuner = HamiltonianTuner(
            len(self._free), n_warmup, previous, representation.first_scale
        )

    @cached_property
    def _coordinates(self) -> NormalCoordinates:
        """Computed when first needed: it takes quantiles of every prior."""
        return NormalCoordinates(self._priors)

    def step(self, conditional: Conditional, rng: np.random.Generator, adapt: bool) -> None:
        """Run one trajectory, after which the conditional's state is the new one."""
        evaluate, start = self._target(conditional)
        if start is None:  # the chain stands on a bound of a prior
            return
        tuner = self.tuner
        length = self._path_length * rng.uniform(0.5, 1.5)
        most_steps = self._most_warm_up_steps if adapt else _MOST_STEPS
        n_steps = max(1, min(most_steps, round(length / tuner.step_size)))
        result = hamiltonian_step(
            evaluate, start, tuner.step_sizes, n_steps, rng, min(tuner.step_size, _LARGEST_ANGLE)
        )
        if result.moved:
            conditional.accept()
        if adapt:
            tuner.record(result.point.value[: len(self._free)], result.acceptance)

    def failed(self) -> bool:
        """Return whether recent trajectories have failed.

        Nearly all are rejected, or the longest ones have steps so small that they lead nowhere:
        the tuning has found no step size that serves the whole posterior.
        """
        tuner = self.tuner
        if tuner.n_since_restart < _FEWEST_TO_JUDGE:
            return False
        too_short = tuner.step_size * _MOST_STEPS < self._path_length
        return too_short or tuner.acceptance < _LOWEST_ACCEPTANCE

    def _target(
        self, conditional: Conditional
    ) -> tuple[Callable[[Array], Point | None], Point | None]:
        """Return the function that a trajectory follows, and the point where it begins."""
        coordinates, free, n_free = self._coordinates, self._free, len(self._free)
        theta = conditional.state.theta

        def point(position: Array, values: Array, log_density: Callable[[], float]) -> Point | None:
            u = position[:n_free]
            derivative = coordinates.derivative(u)
            log_prior, prior_gradient = coordinates.log_prior(u, values, derivative)
            if not log_prior > -math.inf:
                return None
            total = log_prior + log_density()
            if not total > -math.inf:
                return None
            gradient = conditional.gradient()
            along_u = prior_gradient + derivative * gradient[free]
            return Point(position, total, np.concatenate([along_u, gradient[len(theta) :]]))

        def evaluate(position: Array) -> Point | None:
            proposal = theta.copy()
            proposal[free] = coordinates.to_theta(position[:n_free])
            latents = position[n_free:]
            return point(
                position, proposal[free], lambda: conditional.evaluate_joint(proposal, latents)
            )

        position = np.concatenate([coordinates.from_theta(theta[free]), conditional.joint_position])
        return evaluate, point(position, theta[free], lambda: conditional.log_density)
