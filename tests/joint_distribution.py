"""Joint-distribution tests of transitions (Geweke 2004; Gandy and Scott 2020).

(theta, f, y) is drawn from the joint distribution, and a few iterations of a chain are
applied to (theta, f) given y. If they leave the posterior invariant, the result is
again a draw from the joint distribution. The draws are independent, so that
two-sample tests against fresh draws have p-values that hold at any size.

A fault that moves the distribution little in one iteration moves it up to twice as far in
two, which is worth up to four times as many draws; and the draw of a start, with its chain,
costs as much as an iteration. Fresh draws cost next to nothing: four of them for each of the
others save three eighths of these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from problems import with_targets
from scipy import stats

from skgpmcmc._model._model import LatentGaussianModel, Workspace
from skgpmcmc._model._state import LatentState
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._plan import plan
from skgpmcmc._sampling._settings import SamplerSettings

#: False-alarm rate of one test. The files of joint-distribution tests hold fewer
#: than 500 of them: all together raise a false alarm with probability below 1e-4.
ALPHA = 2e-7
_FIRST_SIZE = 240
_GROWTH = 4
_N_STAGES = 6
#: Fresh draws for each of the others.
N_FRESH = 4
#: Asymptotic p-values near 1e-8 are up to an eighth smaller than the exact ones.
_P_VALUE_ERROR = 1.2

Transition = Callable[[LatentGaussianModel, Workspace, LatentState, np.random.Generator], Chain]


def iterations(
    settings: SamplerSettings, frozen: Any = None, n: int = 2, step_size: float | None = None
) -> Transition:
    """Return the transition that n iterations of a chain make, what it has adapted given.

    The steps of trajectories have a size of their own where one is given.
    """

    def transition(model, workspace, state, rng):
        chain = Chain(workspace, settings, rng, state, frozen)
        if step_size is not None:
            chain.trajectories.tuner._set_step(step_size)
        for _ in range(n):
            chain.iterate()
        return chain

    transition.make_workspace = lambda model: plan(model, settings).workspace(settings.hamiltonian)
    return transition


def remember_quantiles(model: LatentGaussianModel) -> None:
    """Every chain asks for the same ones, which take longer than its iterations."""
    for prior in model.layout.priors:
        prior.quantile = cache(prior.quantile)


def _statistics(workspace: Workspace, state: LatentState, rng: np.random.Generator) -> list[float]:
    complete = state.complete_data_log_likelihood()
    row = [
        *state.theta,
        state.latent[0],
        float(state.latent @ state.latent),
        state.log_likelihood,
        complete - state.log_likelihood,
        # f, z and log L are carried along: they must fit together.
        float(state.whitened @ state.whitened),
    ]
    if workspace.model.mean_prior is not None:
        row += workspace.draw_collapsed_mean(state, rng)
    return row


def _joint_draw(model, workspace, theta, rng):
    """Draw f and y given theta; return the model of y and the state, in one workspace."""
    workspace.model, workspace.likelihood = model, model.likelihood
    state = workspace.state_at(theta, rng.standard_normal(model.n_latent))
    observed = with_targets(model, model.likelihood.sample(state.latent, state.params, rng))
    workspace.model, workspace.likelihood = observed, observed.likelihood
    state.log_likelihood = workspace.log_likelihood(state.latent, state.params)
    return observed, state


def _draw(model, transition, size, rng):
    """Return statistics of (theta, f, y) after one transition, and of fresh draws."""
    n_all = size * (1 + N_FRESH)
    columns = [prior.sample(rng, size=n_all) for prior in model.layout.priors]
    thetas = np.stack(columns, axis=-1) if columns else np.empty((n_all, 0))
    workspace = getattr(transition, "make_workspace", LatentGaussianModel.workspace)(model)
    moved, fresh = [], []
    for theta in thetas[:size]:
        observed, state = _joint_draw(model, workspace, theta, rng)
        chain = transition(observed, workspace, state, rng)
        moved.append(_statistics(workspace, chain.state, rng))
    for theta in thetas[size:]:
        _, state = _joint_draw(model, workspace, theta, rng)
        fresh.append(_statistics(workspace, state, rng))
    return np.array(moved), np.array(fresh)


def is_invariant(model: LatentGaussianModel, transition: Transition, seed: int) -> bool:
    """Test a transition of one chain; see `passes`."""
    remember_quantiles(model)
    return passes(lambda size, rng: _draw(model, transition, size, rng), seed)


def passes(draw: Callable[[int, np.random.Generator], tuple], seed: int) -> bool:
    """Test a transition by the sequential rule of Gandy and Scott (2020), Algorithm 3.

    Parameters
    ----------
    draw : callable
        ``draw(size, rng)`` returns statistics of that many states after one transition,
        and of N_FRESH times as many fresh draws.
    seed : int
        Of all draws.

    Returns
    -------
    invariant : bool
        False with probability at most ALPHA if the transition is right.
    """
    rng = np.random.default_rng(seed)
    beta = ALPHA / _N_STAGES
    gamma = beta ** (1.0 / _N_STAGES)
    size = _FIRST_SIZE
    with np.errstate(all="ignore"):
        for _ in range(_N_STAGES):
            moved, fresh = draw(size, rng)
            p_values = [
                stats.ks_2samp(a, b, method="asymp").pvalue
                for a, b in zip(moved.T, fresh.T, strict=True)
            ]
            q = _P_VALUE_ERROR * min(p_values) * len(p_values)  # Bonferroni
            if q <= beta:
                return False
            if q > gamma + beta:
                return True
            beta /= gamma
            size = _FIRST_SIZE * _GROWTH
    return True
