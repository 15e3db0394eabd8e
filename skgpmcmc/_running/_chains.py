"""Run several chains through joblib, and bring their draws together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._checks import as_random_state, check_whole, refuse_masked
from .._linalg import Array
from .._messages import warn_user
from .._model._model import LatentGaussianModel
from .._sampling._plan import plan
from .._sampling._settings import SamplerSettings, recorded
from .._serialization import own_copy
from ..exceptions import ChainDiedError
from ..trace import ChainDraws, Trace
from ._checkpoint import ChainFile, Checkpoint, needed_seed
from ._continuation import check_continuation, check_kind
from ._progress import Listener
from ._rounds import RunningChain, run_rounds


def run_chains(
    model: LatentGaussianModel,
    settings: SamplerSettings,
    *,
    n_chains: int = 4,
    random_state: Any = None,
    n_jobs: int | None = None,
    theta: Any = None,
    previous: Trace | None = None,
    verbose: int = 0,
) -> Trace:
    """Run independent chains of one latent function.

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
    theta : array-like of shape (n_chains, n_parameters), optional
        Starting points on the sampling scale; draws from the prior by default.
    previous : Trace, optional
        Of the same model with the same settings, but fewer draws: its chains are continued, from
        their own random numbers.
    verbose : int
        joblib's verbosity.

    Returns
    -------
    trace : Trace
        Draws of all chains; see `run_groups` for runs that were stopped.

    Raises
    ------
    TypeError
        For anything but a model, settings and a trace.
    ValueError
        For starting points of another shape, a model for which no starting point is found, or a
        trace that cannot be continued.
    MissingCapabilityError
        If likelihood and representation do not go together.

    See Also
    --------
    skgpmcmc.core.SamplerSettings : How a chain runs.
    skgpmcmc.core.predict_mean : Predict with the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc.core import LatentGaussianModel, SamplerSettings, run_chains
    >>> from skgpmcmc.likelihoods import Poisson
    >>> X = np.linspace(0.0, 1.0, 9)[:, np.newaxis]
    >>> model = LatentGaussianModel(RBF(1.0, (0.1, 10.0)), X, Poisson([0, 1, 0, 2, 5, 9, 7, 9, 8]))
    >>> settings = SamplerSettings("post-site", n_warmup=20, n_draws=30)
    >>> trace = run_chains(model, settings, n_chains=2, random_state=0)
    >>> trace.posterior()["length_scale"].shape
    (2, 30)
    >>> longer = SamplerSettings("post-site", n_warmup=20, n_draws=50)
    >>> trace = run_chains(model, longer, n_chains=2, previous=trace)
    >>> trace.n_draws
    50
    """
    check_kind("model", model, "LatentGaussianModel", "layout")
    check_kind("settings", settings, "SamplerSettings", "n_iterations")
    check_whole("n_chains", n_chains, 1)
    if previous is not None:
        check_continuation(previous, model, settings, n_chains)
        if theta is not None:
            raise ValueError(
                "theta has starting points of new chains, previous has chains to continue: pass "
                "only one of the two."
            )
    traces = run_groups(
        [[model]],
        settings,
        n_chains=n_chains,
        random_state=random_state,
        n_jobs=n_jobs,
        theta=theta,
        previous=None if previous is None else [[previous]],
        verbose=verbose,
    )
    return traces[0][0]


def run_groups(
    groups: Sequence[Sequence[LatentGaussianModel]],
    settings: SamplerSettings,
    *,
    n_chains: int = 4,
    random_state: Any = None,
    n_jobs: int | None = None,
    theta: Any = None,
    previous: Sequence[Sequence[Trace]] | None = None,
    checkpoint: Checkpoint | None = None,
    listeners: Sequence[Listener] = (),
    wanted: Callable[[list[list[Trace]]], bool] | None = None,
    max_seconds: float | None = None,
    warm_ups: tuple[int, ...] | None = None,
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
        Starting points; draws from the prior by default. With an axis before these, each target
        has its own.
    previous : sequence of sequence of Trace, optional
        Draws of the same chains, fewer than those asked for: they are continued.
    checkpoint : Checkpoint, optional
        Where draws and states are kept; chains that are there are continued.
    listeners : sequence of callable
        Are told how far the chains are (`Report`); one that returns True stops them.
    wanted : callable, optional
        A stopping rule: takes the traces so far, as they are returned, and returns whether more
        draws are wanted. It is asked after 50, 100, 150, ... iterations (`next_look`).
    max_seconds : float, optional
        Time after which no further round is begun once there are draws.
    warm_ups : tuple of int, optional
        Lengths of warm-ups that follow each other until the chains have settled
        (`warm_up_lengths`); by default there is one, of `n_warmup` iterations.
    verbose : int
        joblib's verbosity.

    Returns
    -------
    traces : list of list of Trace
        Draws of all chains, for each latent function: fewer than asked for if the chains
        were stopped, by Ctrl-C, a listener, the rule or the clock, as many of each; fewer chains
        if one's process died twice.

    Raises
    ------
    MissingCapabilityError
        If likelihood and representation do not go together.
    ValueError
        For an unknown representation, trajectories without a gradient, starting points of another
        shape, a model for which no starting point is found, or a checkpoint of something else.
    KeyboardInterrupt
        If the chains were stopped before each had kept a draw, or Ctrl-C came twice.
    ChainDiedError
        If no chain of a target is left, because their processes died.

    Warns
    -----
    UserWarning
        If the process of a chain died.
    """
    groups = [[plan(model, settings) for model in models] for models in groups]
    each = theta if np.ndim(theta) == 3 else [theta] * len(groups)
    starts = [_starting_points(one, n_chains, len(groups[0][0].layout)) for one in each]
    entropy = _entropy(random_state, previous, checkpoint)
    seeds = np.random.SeedSequence(entropy).spawn(n_chains * len(groups))

    def chain(models: Sequence[LatentGaussianModel], group: int, number: int) -> RunningChain:
        index = group * n_chains + number
        traces = None if previous is None else previous[group]
        old = None if traces is None else [trace.chain(number) for trace in traces]
        file = None if checkpoint is None else checkpoint.chain(index, entropy)
        draws = _latest(models, settings, old, file)
        return RunningChain(index, models, seeds[index], starts[group][number], draws, file)

    chains = [[chain(models, g, c) for c in range(n_chains)] for g, models in enumerate(groups)]

    def traces() -> list[list[Trace]]:
        survivors = _survivors(chains)
        n_draws = min(draws[0].n_kept for group in survivors for draws in group)
        how = n_draws, recorded(settings), entropy
        return [
            [
                Trace.from_chains(model.layout, [draws[c] for draws in group], *how)
                for c, model in enumerate(models)
            ]
            for models, group in zip(groups, survivors, strict=True)
        ]

    def more_wanted() -> bool:
        kept = [draws[0].n_kept for group in _survivors(chains) for draws in group]
        return wanted is None or not kept or min(kept) == 0 or wanted(traces())

    run_rounds(
        [chain for group in chains for chain in group],
        settings,
        n_jobs=n_jobs,
        listeners=listeners,
        verbose=verbose,
        wanted=more_wanted,
        max_seconds=max_seconds,
        warm_ups=warm_ups,
    )
    _check_survivors(chains, checkpoint)
    n_draws = [draws[0].n_kept for group in _survivors(chains) for draws in group]
    if min(n_draws) == 0:
        advice = _how_to_go_on(sum(n > 0 for n in n_draws), len(n_draws), checkpoint)
        advice += "" if checkpoint is None else needed_seed(random_state)
        raise KeyboardInterrupt(
            "stopped before every chain had kept a draw, so there are no draws to predict from. "
            f"{advice}."
        )
    return traces()


def _latest(
    models: Sequence[LatentGaussianModel],
    settings: SamplerSettings,
    previous: list[ChainDraws] | None,
    file: ChainFile | None,
) -> list[ChainDraws]:
    """Return the draws of the last fit or those on disk, whichever are more; none, if none are."""
    saved = None if file is None else file.load(models, settings.n_draws)
    n_saved = -1 if saved is None else saved[0].n_kept
    if previous is not None and previous[0].n_kept > n_saved:
        draws = [drawn.with_room(settings.n_draws) for drawn in previous]
        # A fit may be on a file that its owner is going to replace.
        draws[0].snapshots = own_copy(draws[0].snapshots)
        return draws
    if saved is not None:
        return saved
    return [ChainDraws.for_model(model, settings.n_draws) for model in models]


def _entropy(
    random_state: Any,
    previous: Sequence[Sequence[Trace]] | None,
    checkpoint: Checkpoint | None,
) -> list[int]:
    """Return the seed of all random generators; for continued chains, the one they started with."""
    entropy = [] if previous is None else previous[0][0].entropy
    is_given = bool(entropy) or random_state is not None
    if not entropy:
        entropy = as_random_state(random_state).randint(0, 2**31 - 1, size=4).tolist()
    return entropy if checkpoint is None else checkpoint.open(entropy, seed_is_given=is_given)


def _how_to_go_on(n_begun: int, n_chains: int, checkpoint: Checkpoint | None) -> str:
    """Return, for a message, what can be continued after an early stop."""
    if checkpoint is None:
        return (
            "With checkpoint=... (of the estimators) a later fit could continue the chains that "
            "have ended their warm-up"
        )
    place = f"checkpoint={str(checkpoint.path)!r}"
    if n_begun == 0:
        return f"There are no draws in {place} yet: the same call starts from the beginning"
    return (
        f"The draws of {n_begun} of {n_chains} chains are in {place}: the same call continues them"
    )


def _survivors(chains: Sequence[Sequence[RunningChain]]) -> list[list[list[ChainDraws]]]:
    """Return the draws of surviving chains, the same number for each independent problem."""
    alive = [[chain.draws for chain in group if not chain.is_dead] for group in chains]
    n_alive = min(len(group) for group in alive)
    return [group[:n_alive] for group in alive]


def _check_survivors(
    chains: Sequence[Sequence[RunningChain]], checkpoint: Checkpoint | None
) -> None:
    """Warn of chains that died; raise an error if none is left."""
    n_chains, n_alive = len(chains[0]), len(_survivors(chains)[0])
    if n_alive == n_chains:
        return
    dead = ", ".join(str(c.number + 1) for group in chains for c in group if c.is_dead)
    reason = (
        f"the process of chain {dead} (numbered from 1) died twice, the second time while it ran "
        "alone; most likely it was killed or ran out of memory"
    )
    if n_alive == 0:
        where = "with checkpoint=... the next fit could continue from here"
        if checkpoint is not None:
            where = f"the next fit continues from checkpoint={str(checkpoint.path)!r}"
        raise ChainDiedError(
            f"No chain is left: {reason}. Free some memory, or use fewer rows. Of the estimators, "
            f"lower memory_limit to see how much is needed; {where}."
        )
    warn_user(f"Only {n_alive} of {n_chains} chains are left: {reason}.", UserWarning)


def _starting_points(theta: Any, n_chains: int, n_parameters: int) -> list[Array | None]:
    shape = (n_chains, n_parameters)
    if theta is None:
        return [None] * n_chains
    refuse_masked("theta", theta)
    try:
        starts = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"theta must be numbers of shape (n_chains, n_parameters) = {shape}: {error}."
        ) from None
    if starts.shape != shape:
        raise ValueError(
            f"theta must have the shape (n_chains, n_parameters) = {shape}; got "
            f"{starts.shape}. Give one starting point for each chain, on the sampling scale."
        )
    return list(starts)
