"""Run chains: warm-up, kept draws, several chains through joblib."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from ._coupled import ChainGroup
from ._linalg import Array
from ._model import LatentGaussianModel
from ._settings import SamplerSettings
from .representations import check_representation
from .trace import ChainDraws, Costs, Trace

# Iterations between two points from which a chain can be continued. At each the
# covariance is constructed afresh: one proposal's worth.
_SNAPSHOT_INTERVAL = 50


def run_chain(
    models: Sequence[LatentGaussianModel],
    settings: SamplerSettings,
    seed: np.random.SeedSequence,
    theta: Array | None = None,
    previous: list[ChainDraws] | None = None,
) -> list[ChainDraws]:
    """Run one chain of one latent function, or of several coupled ones, on one BLAS thread.

    Parameters
    ----------
    models : sequence of LatentGaussianModel
        The target, one for each latent function.
    settings : SamplerSettings
        How it is sampled.
    seed : numpy.random.SeedSequence
        Of this chain alone.
    theta : ndarray of shape (n_parameters,), optional
        Starting point; a draw from the prior by default.
    previous : list of ChainDraws, optional
        Draws of the same chain, with room for those to come: it is continued.

    Returns
    -------
    draws : list of ChainDraws
        Kept draws and costs, for each latent function.
    """
    # Overflow and NaN in a proposal are rejections, not warnings.
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(all="ignore"):
        start = Costs(seconds=time.process_time())
        if previous is not None:
            group = ChainGroup.restore(models, settings, previous[0].snapshot)
            _sample(group, settings, previous, previous[0].snapshot.iteration)
            for drawn, costs in zip(previous, group.costs(), strict=True):
                drawn.sampling = drawn.sampling + (costs - start)
            return previous
        group = ChainGroup.start(models, settings, seed, theta)
        group.warm_up(settings.n_warmup)
        draws = [ChainDraws.for_model(model, settings.n_draws) for model in models]
        for drawn, costs in zip(draws, group.costs(), strict=True):
            drawn.warmup = costs - start
        _sample(group, settings, draws, 0)
        for drawn, costs in zip(draws, group.costs(), strict=True):
            drawn.sampling = costs - start - drawn.warmup
        return draws


def _sample(
    group: ChainGroup, settings: SamplerSettings, draws: list[ChainDraws], first: int
) -> None:
    """Run a warm chain from an iteration to the end, and keep its draws.

    What a chain that is continued did between its last snapshot and its end is done
    again, to the same numbers.
    """
    n_iterations = settings.n_draws * settings.thin
    for iteration in range(first, n_iterations):
        if iteration % _SNAPSHOT_INTERVAL == 0:
            draws[0].snapshot = group.snapshot(iteration) or draws[0].snapshot
        group.iterate()
        n_kept, rest = divmod(iteration + 1, settings.thin)
        if rest == 0:
            group.record(draws, n_kept - 1)
    for chain, drawn in zip(group.chains, draws, strict=True):
        drawn.moved = chain.n_moved / n_iterations


def run_chains(model: LatentGaussianModel, settings: SamplerSettings, **options: Any) -> Trace:
    """Run independent chains of one latent function.

    Parameters
    ----------
    model : LatentGaussianModel
        The target.
    settings : SamplerSettings
        How it is sampled.
    **options
        See `run_groups`; `previous` is a Trace.

    Returns
    -------
    trace : Trace
        Draws of all chains.

    Raises
    ------
    MissingCapabilityError, ValueError
        See `run_groups`.
    """
    previous = options.pop("previous", None)
    if previous is not None:
        options["previous"] = [[previous]]
    return run_groups([[model]], settings, **options)[0][0]


def run_groups(
    groups: Sequence[Sequence[LatentGaussianModel]],
    settings: SamplerSettings,
    *,
    n_chains: int = 4,
    random_state: Any = None,
    n_jobs: int | None = None,
    theta: Array | None = None,
    previous: Sequence[Sequence[Trace]] | None = None,
    verbose: int = 0,
) -> list[list[Trace]]:
    """Run independent chains through joblib; the draws do not depend on how.

    Parameters
    ----------
    groups : sequence of sequence of LatentGaussianModel
        The targets: independent ones, each of one or several latent functions that are
        coupled through their likelihood.
    settings : SamplerSettings
        How they are sampled.
    n_chains : int
        Number of chains of each.
    random_state : int, RandomState instance or None
        Determines every draw.
    n_jobs : int, optional
        Chains that run at the same time, as joblib takes it.
    theta : ndarray of shape (n_chains, n_parameters), optional
        Starting points; draws from the prior by default.
    previous : sequence of sequence of Trace, optional
        Draws of the same chains, fewer than those asked for: they are continued.
    verbose : int
        joblib's verbosity.

    Returns
    -------
    traces : list of list of Trace
        Draws of all chains, for each latent function.

    Raises
    ------
    MissingCapabilityError
        If likelihood and representation do not go together.
    ValueError
        For an unknown representation, starting points of another shape, or a model
        for which no starting point is found.
    """
    for models in groups:
        for model in models:
            on_grid = model.separable_form is not None
            check_representation(settings.representation, model.likelihood, on_grid)
    starts = _starting_points(theta, n_chains, len(groups[0][0].layout))
    entropy = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    seeds = np.random.SeedSequence(entropy.tolist()).spawn(n_chains * len(groups))
    tasks = []
    for number, models in enumerate(groups):
        for i in range(n_chains):
            seed = seeds[number * n_chains + i]
            traces = None if previous is None else previous[number]
            old = None if traces is None else [t.chain(i, settings.n_draws) for t in traces]
            tasks.append(delayed(run_chain)(models, settings, seed, starts[i], old))
    # The limit also holds around the chains: with threads, the first that ends
    # would lift it for the others.
    with threadpool_limits(limits=1, user_api="blas"):
        chains = Parallel(n_jobs=n_jobs, verbose=verbose)(tasks)
    return [
        _traces(models, chains[number * n_chains : (number + 1) * n_chains])
        for number, models in enumerate(groups)
    ]


def _starting_points(theta: Array | None, n_chains: int, n_parameters: int) -> list[Array | None]:
    shape = (n_chains, n_parameters)
    if theta is None:
        return [None] * n_chains
    if np.shape(theta) != shape:
        raise ValueError(
            f"theta must have the shape (n_chains, n_parameters) = {shape}; got "
            f"{np.shape(theta)}. Give one starting point for each chain, on the sampling scale."
        )
    return list(theta)


def _traces(
    models: Sequence[LatentGaussianModel], chains: Sequence[Sequence[ChainDraws]]
) -> list[Trace]:
    return [
        Trace.from_chains(model.layout, [chain[c] for chain in chains])
        for c, model in enumerate(models)
    ]
