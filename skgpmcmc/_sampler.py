"""Run chains: warm-up, kept draws, several chains through joblib."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from ._chain import Chain, SamplerSettings
from ._linalg import Array
from ._model import LatentGaussianModel
from .representations import check_representation
from .trace import ChainDraws, Costs, Trace


def run_chain(
    model: LatentGaussianModel,
    settings: SamplerSettings,
    seed: np.random.SeedSequence,
    theta: Array | None = None,
) -> ChainDraws:
    """Run one chain on one BLAS thread.

    Parameters
    ----------
    model : LatentGaussianModel
        The target.
    settings : SamplerSettings
        How it is sampled.
    seed : numpy.random.SeedSequence
        Of this chain alone.
    theta : ndarray of shape (n_parameters,), optional
        Starting point; a draw from the prior by default.

    Returns
    -------
    draws : ChainDraws
        Kept draws and costs.
    """
    # Overflow and NaN in a proposal are rejections, not warnings.
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(all="ignore"):
        start = Costs(seconds=time.process_time())
        chain = Chain.start(model, settings, np.random.default_rng(seed), theta)
        for _ in range(settings.n_warmup):
            chain.iterate(adapt=settings.adapt_widths)
        chain.n_moved[:] = 0.0
        warm = chain.costs()
        collapsed = model.mean_prior is not None
        draws = ChainDraws(settings.n_draws, len(model.layout), model.n_latent, collapsed)
        for index in range(settings.n_draws):
            for _ in range(settings.thin):
                chain.iterate()
            chain.record(draws, index)
        draws.moved = chain.n_moved / max(settings.n_draws * settings.thin, 1)
        draws.warmup, draws.sampling = warm - start, chain.costs() - warm
        return draws


def run_chains(
    model: LatentGaussianModel,
    settings: SamplerSettings,
    *,
    n_chains: int = 4,
    random_state: Any = None,
    n_jobs: int | None = None,
    theta: Array | None = None,
    verbose: int = 0,
) -> Trace:
    """Run independent chains through joblib; the draws do not depend on how.

    Parameters
    ----------
    model : LatentGaussianModel
        The target.
    settings : SamplerSettings
        How it is sampled.
    n_chains : int
        Number of chains.
    random_state : int, RandomState instance or None
        Determines every draw.
    n_jobs : int, optional
        Chains that run at the same time, as joblib takes it.
    theta : ndarray of shape (n_chains, n_parameters), optional
        Starting points; draws from the prior by default.
    verbose : int
        joblib's verbosity.

    Returns
    -------
    trace : Trace
        Draws of all chains.

    Raises
    ------
    MissingCapabilityError
        If likelihood and representation do not go together.
    ValueError
        For an unknown representation, starting points of another shape, or a model
        for which no starting point is found.
    """
    check_representation(settings.representation, model.likelihood)
    shape = (n_chains, len(model.layout))
    if theta is not None and np.shape(theta) != shape:
        raise ValueError(
            f"theta must have the shape (n_chains, n_parameters) = {shape}; got "
            f"{np.shape(theta)}. Give one starting point for each chain, on the sampling scale."
        )
    entropy = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    seeds = np.random.SeedSequence(entropy.tolist()).spawn(n_chains)
    starts = [None] * n_chains if theta is None else list(theta)
    # The limit also holds around the chains: with threads, the first that ends
    # would lift it for the others.
    with threadpool_limits(limits=1, user_api="blas"):
        chains = Parallel(n_jobs=n_jobs, verbose=verbose)(
            delayed(run_chain)(model, settings, seed, start)
            for seed, start in zip(seeds, starts, strict=True)
        )
    return Trace.from_chains(model.layout, chains)
