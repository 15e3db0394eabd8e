"""Advance one chain by a round: in a worker, from the point where its last round ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._linalg import Array, blas_threads
from .._model._model import LatentGaussianModel
from .._sampling._latent_functions import GroupSnapshot, LatentFunctionsGibbs
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
    """The starting point of a round.

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
    warm_ups : tuple of int
        Lengths of the warm-ups that follow each other before the first draw, as far as they have
        been decided on.
    """

    number: int
    seed: np.random.SeedSequence
    theta: Array | None
    snapshot: GroupSnapshot | None
    warm_ups: tuple[int, ...]

    @property
    def n_done(self) -> int:
        """The number of iterations done after the warm-up."""
        return 0 if self.snapshot is None else self.snapshot.iteration


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
        thin = settings.thin
        n_draws = end // thin - start.n_done // thin
        draws = [ChainDraws.for_model(model, n_draws) for model in models]
        began = Costs(seconds=time.process_time())
        if start.snapshot is None:
            first = replace(settings, n_warmup=start.warm_ups[0])
            group = LatentFunctionsGibbs.start(models, first, start.seed, start.theta)
            before = [began for _ in models]
        else:
            group = LatentFunctionsGibbs.restore(models, settings, start.snapshot)
            # What it takes to restore the chain is none of its costs, but for the time.
            before = [replace(own, seconds=began.seconds) for own in group.costs()]
        sampling = _Sampling(group, settings, draws, before, start.n_done)
        if not sampling.warm_up(start, stop, progress):
            return []
        while sampling.n_done < end and not stop.is_set():
            sampling.iterate()
            progress(start.number, settings.n_warmup + sampling.n_done, group.share_moved)
        sampling.account()
        return draws


@dataclass
class _Sampling:
    """The part of a round whose draws are kept.

    Attributes
    ----------
    group : LatentFunctionsGibbs
        The warm chain.
    settings : SamplerSettings
        How it runs.
    draws : list of ChainDraws
        Where its draws go.
    before : list of Costs
        Costs of the group that are not of this part.
    n_done : int
        Iterations after the warm-up.
    """

    group: LatentFunctionsGibbs
    settings: SamplerSettings
    draws: list[ChainDraws]
    before: list[Costs]
    n_done: int = 0

    def warm_up(self, start: RoundStart, stop: StopSignal, progress: ProgressSender) -> bool:
        """Run the warm-ups that are still to be run; return whether all came to their end."""
        n_before = 0
        for n_warmup in start.warm_ups:
            if start.snapshot is None or n_before + n_warmup > self.group.n_warmup:
                self.group.begin_warm_up(n_warmup)
                for iteration in range(n_warmup):
                    if stop.is_set():
                        return False
                    self.group.warm_up(iteration)
                    progress(start.number, n_before + iteration + 1, self.group.share_moved)
                self._end_warm_up()
            n_before += n_warmup
        return True

    def _end_warm_up(self) -> None:
        self.group.end_warm_up()
        costs = self.group.costs()
        for drawn, own, before in zip(self.draws, costs, self.before, strict=True):
            drawn.warmup += own - before
        self.before = costs
        self.take_snapshot()
        self.group.forget_warm_up()

    def iterate(self) -> None:
        """Run one iteration; keep a draw, and a point to go on from, where it is time for that."""
        self.group.iterate()
        self.n_done += 1
        if self.n_done % self.settings.thin == 0:
            index = self.draws[0].n_kept
            self.group.record(self.draws, index)
            for drawn in self.draws:
                drawn.n_kept = index + 1
        n_in_all = self.settings.n_draws * self.settings.thin
        if self.n_done % SNAPSHOT_INTERVAL == 0 and self.n_done < n_in_all:
            self.take_snapshot()

    def take_snapshot(self) -> None:
        """Keep a point from which the chain can be continued, if there is one."""
        snapshot = self.group.snapshot(self.n_done)
        if snapshot is not None:
            self.draws[0].snapshots = [snapshot]

    def account(self) -> None:
        """Record the costs of this part, and how often theta moved since the warm-up."""
        for drawn, chain, before in zip(self.draws, self.group.chains, self.before, strict=True):
            drawn.sampling = chain.costs() - before
            drawn.moved, drawn.gave_up = chain.n_moved / max(self.n_done, 1), chain.gave_up
            drawn.n_warmup = self.group.n_warmup
