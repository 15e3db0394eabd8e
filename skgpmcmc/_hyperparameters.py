"""Updates of theta given what a representation holds: one element, or all at once.

Whatever the update, the conditional's state is the new one afterwards.
"""

from __future__ import annotations

import math

import numpy as np

from ._linalg import Array
from .representations import Conditional
from .updates import Proposal, metropolis_step, slice_step


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
