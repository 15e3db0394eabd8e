"""Advance one chain by a round: in a worker, from the point where its last round ended."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import ThreadpoolController

from .._linalg import Array
from .._model._model import LatentGaussianModel
from .._sampling._latent_functions import ChainGroup, GroupSnapshot
from .._sampling._settings import SamplerSettings
from ..trace import ChainDraws, Costs
from ._interrupts import StopSignal
from ._progress import ProgressSender

#: Iterations between two points from which a chain can be continued, counted from the end of the
#: warm-up. At each the covariance is constructed afresh: one proposal's worth. They are the same
#: wherever rounds end, so that rounds change no draw.
SNAPSHOT_INTERVAL = 50


@dataclass(frozen=True)
class RoundStart:
    """From where a round goes on.

    Attributes
    ----------
    number : int
        Of the chain, from 0.
    seed : numpy.random.SeedSequence
        Of this chain alone.
    theta : ndarray of shape (n_parameters,) or None
        Starting point of the chain; None is a draw from the prior.
    snapshot : GroupSnapshot or None
        The state in which the last round left the chain; without one the chain begins anew, to
        the same draws.
    n_kept : int
        Draws that are known already.
    """

    number: int
    seed: np.random.SeedSequence
    theta: Array | None
    snapshot: GroupSnapshot | None
    n_kept: int


@functools.cache
def blas_threads() -> ThreadpoolController:
    """Return what limits the threads of BLAS; to find the libraries takes a millisecond."""
    return ThreadpoolController()


def run_chain(
    models: Sequence[LatentGaussianModel],
    settings: SamplerSettings,
    start: RoundStart,
    end: int,
    stop: StopSignal,
    progress: ProgressSender,
) -> list[ChainDraws]:
    """Run one round of a chain of one latent function, or of several coupled ones.

    Parameters
    ----------
    models : sequence of LatentGaussianModel
        The target, one for each latent function.
    settings : SamplerSettings
        How it is sampled.
    start : RoundStart
        From where it goes on.
    end : int
        Iterations after the warm-up that are to be done at the end of the round; 0 runs the
        warm-up alone.
    stop : StopSignal
        Ends the round after an iteration.
    progress : ProgressSender
        Is told of every iteration.

    Returns
    -------
    draws : list of ChainDraws
        The draws and costs of this round, for each latent function, and the last point in it from
        which the chain can be continued; an empty list if it was stopped in its warm-up.
    """
    stop.leave_interrupts()
    # Overflow and NaN in a proposal are rejections, not warnings.
    with blas_threads().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        if stop.is_set():
            return []
        n_draws = max(end // settings.thin - start.n_kept, 0)
        draws = [ChainDraws.for_model(model, n_draws) for model in models]
        seconds = time.process_time()
        if start.snapshot is None:
            group = ChainGroup.start(models, settings, start.seed, start.theta)
            if not _warm_up(group, settings, start.number, stop, progress):
                return []
            for drawn, own in zip(draws, group.costs(), strict=True):
                drawn.warmup = own - Costs(seconds=seconds)
            before = group.costs()
            n_done = 0
            _keep(group.snapshot(0), draws)
        else:
            group = ChainGroup.restore(models, settings, start.snapshot)
            # What it takes to restore the chain is none of its costs, but for the time.
            before = [own - Costs(seconds=own.seconds - seconds) for own in group.costs()]
            n_done = start.snapshot.iteration
        while n_done < end and not stop.is_set():
            group.iterate()
            n_done += 1
            _record(group, draws, n_done, settings.thin, start.n_kept)
            if n_done % SNAPSHOT_INTERVAL == 0 and n_done < settings.n_draws * settings.thin:
                _keep(group.snapshot(n_done), draws)
            progress(start.number, settings.n_warmup + n_done, group.share_moved)
        for drawn, chain, first in zip(draws, group.chains, before, strict=True):
            drawn.sampling = chain.costs() - first
            drawn.moved, drawn.gave_up = chain.n_moved / max(n_done, 1), chain.gave_up
        return draws


def _warm_up(
    group: ChainGroup,
    settings: SamplerSettings,
    number: int,
    stop: StopSignal,
    progress: ProgressSender,
) -> bool:
    """Run the warm-up; return whether it came to its end."""
    for iteration in range(settings.n_warmup):
        if stop.is_set():
            return False
        group.warm_up(iteration)
        progress(number, iteration + 1, group.share_moved)
    group.end_warm_up()
    return True


def _record(
    group: ChainGroup, draws: list[ChainDraws], n_done: int, thin: int, n_known: int
) -> None:
    """Keep a draw after every thin-th iteration, unless it is known."""
    n_kept, rest = divmod(n_done, thin)
    if rest == 0 and n_kept > n_known:
        group.record(draws, n_kept - n_known - 1)
        for drawn in draws:
            drawn.n_kept = n_kept - n_known


def _keep(snapshot: GroupSnapshot | None, draws: list[ChainDraws]) -> None:
    """Keep a point from which the chain can be continued, if there is one."""
    if snapshot is not None:
        draws[0].snapshots = [snapshot]
