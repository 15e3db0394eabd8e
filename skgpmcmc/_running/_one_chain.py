"""Run one chain: warm-up, kept draws, and points from which it can be continued."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from .._linalg import Array
from .._model._model import LatentGaussianModel
from .._sampling._latent_functions import ChainGroup
from .._sampling._settings import SamplerSettings
from ..trace import ChainDraws, Costs
from ._checkpoint import ChainFile
from ._interrupts import StopSignal, leave_interrupts_to
from ._progress import Reporter

# Iterations between two points from which a chain can be continued. At each the
# covariance is constructed afresh: one proposal's worth.
_SNAPSHOT_INTERVAL = 50
# Points that are kept while the chain runs, evenly spread over it.
_MOST_SNAPSHOTS = 20


class Target:
    """What a chain samples, as an object that schedulers can send once to each machine.

    Parameters
    ----------
    models : sequence of LatentGaussianModel
        One for each latent function.
    """

    def __init__(self, models: Sequence[LatentGaussianModel]) -> None:
        self.models = models

    def __sizeof__(self) -> int:
        """Return about how many bytes the data have: Dask sends large arguments only once."""
        return sum(getattr(m.X, "nbytes", 0) + 8 * m.n_latent for m in self.models) + 2000


@dataclass(frozen=True)
class Surroundings:
    """What a chain has to do with others than itself; none of it changes a draw.

    Attributes
    ----------
    parent : int
        Process that Ctrl-C is meant for.
    stop : StopSignal
        Says when to stop.
    reporter : Reporter or None
        Is told how far the chain is.
    file : ChainFile or None
        Keeps the chain's draws and state.
    """

    parent: int
    stop: StopSignal
    reporter: Reporter | None = None
    file: ChainFile | None = None


def run_chain(
    models: Sequence[LatentGaussianModel],
    settings: SamplerSettings,
    seed: np.random.SeedSequence,
    theta: Array | None,
    previous: list[ChainDraws] | None,
    surroundings: Surroundings,
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
    theta : ndarray of shape (n_parameters,) or None
        Starting point; None is a draw from the prior.
    previous : list of ChainDraws or None
        Draws of the same chain, which is continued. They stay as they are.
    surroundings : Surroundings
        Where to report to, and when to stop.

    Returns
    -------
    draws : list of ChainDraws
        Kept draws and costs, for each latent function; none are kept where the chain
        was stopped before the end of its warm-up.
    """
    leave_interrupts_to(surroundings.parent)
    # Overflow and NaN in a proposal are rejections, not warnings.
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(all="ignore"):
        draws = _latest(models, settings, previous, surroundings.file)
        if draws[0].n_kept == settings.n_draws:
            moved = np.concatenate([drawn.moved for drawn in draws])
            share = float(moved.mean()) if len(moved) else math.nan
            _begin_report(settings, surroundings, settings.n_iterations, lambda _: share)
        elif not surroundings.stop.is_set():
            if draws[0].snapshots:
                _continue(models, settings, draws, surroundings)
            else:
                _begin(models, settings, seed, theta, draws, surroundings)
        return draws


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
        return [drawn.with_room(settings.n_draws) for drawn in previous]
    if saved is not None:
        return saved
    return [ChainDraws.for_model(model, settings.n_draws) for model in models]


def _begin_report(
    settings: SamplerSettings,
    surroundings: Surroundings,
    n_done: int,
    moved: Callable[[int], float],
) -> None:
    if surroundings.reporter is not None:
        surroundings.reporter.start(n_done, settings.n_warmup, settings.n_iterations, moved)


def _begin(
    models: Sequence[LatentGaussianModel],
    settings: SamplerSettings,
    seed: np.random.SeedSequence,
    theta: Array | None,
    draws: list[ChainDraws],
    surroundings: Surroundings,
) -> None:
    """Run a chain from its start."""
    start = Costs(seconds=time.process_time())
    group = ChainGroup.start(models, settings, seed, theta)
    _begin_report(settings, surroundings, 0, group.share_moved)
    if _warm_up(group, settings, surroundings):
        costs = group.costs()
        for drawn, own in zip(draws, costs, strict=True):
            drawn.warmup = own - start
        _Sampling(group, settings, draws, surroundings, costs).run(0)


def _continue(
    models: Sequence[LatentGaussianModel],
    settings: SamplerSettings,
    draws: list[ChainDraws],
    surroundings: Surroundings,
) -> None:
    """Continue a chain from its last snapshot.

    What it did between that and its end is done again, to the same numbers.
    """
    start = Costs(seconds=time.process_time())
    snapshot = draws[0].snapshots[-1]
    group = ChainGroup.restore(models, settings, snapshot)
    first = settings.n_warmup + snapshot.iteration
    _begin_report(settings, surroundings, first, group.share_moved)
    before = [start - drawn.sampling for drawn in draws]
    _Sampling(group, settings, draws, surroundings, before).run(snapshot.iteration)


def _warm_up(group: ChainGroup, settings: SamplerSettings, surroundings: Surroundings) -> bool:
    """Run the warm-up; return whether it came to its end."""
    for iteration in range(settings.n_warmup):
        if surroundings.stop.is_set():
            return False
        group.warm_up(iteration)
        if surroundings.reporter is not None:
            surroundings.reporter(iteration + 1)
    group.end_warm_up()
    return True


@dataclass
class _Sampling:
    """The part of a chain whose draws are kept.

    Attributes
    ----------
    group : ChainGroup
        The warm chain.
    settings : SamplerSettings
        How it runs.
    draws : list of ChainDraws
        Where its draws go.
    surroundings : Surroundings
        Where to report to, and when to stop.
    before : list of Costs
        Costs of the group that are not of this part.
    n_done : int
        Iterations until now.
    """

    group: ChainGroup
    settings: SamplerSettings
    draws: list[ChainDraws]
    surroundings: Surroundings
    before: list[Costs]
    n_done: int = 0

    def run(self, first: int) -> None:
        """Run from an iteration to the end, or until told to stop."""
        surroundings, thin = self.surroundings, self.settings.thin
        self.n_done = first
        for iteration in range(first, self.settings.n_draws * thin):
            if surroundings.stop.is_set():
                break
            if iteration % _SNAPSHOT_INTERVAL == 0:
                self._take_snapshot(iteration)
            self.group.iterate()
            n_kept, rest = divmod(iteration + 1, thin)
            if rest == 0:
                self._record(n_kept)
            if surroundings.reporter is not None:
                surroundings.reporter(self.settings.n_warmup + iteration + 1)
            self.n_done = iteration + 1
        self._account()
        if surroundings.file is not None:
            surroundings.file.save(self.draws)

    def _take_snapshot(self, iteration: int) -> None:
        """Keep a point from which the chain can be continued, if there is one; save what is due."""
        snapshot, kept = self.group.snapshot(iteration), self.draws[0].snapshots
        if snapshot is not None:
            kept.append(snapshot)
        if len(kept) > _MOST_SNAPSHOTS:
            del kept[-2::-2]
        if self.surroundings.file is not None:
            self._account()
            self.surroundings.file.save_if_due(self.draws)

    def _record(self, n_kept: int) -> None:
        self.group.record(self.draws, n_kept - 1)
        for drawn in self.draws:
            # What is done again was there before.
            drawn.n_kept = max(drawn.n_kept, n_kept)

    def _account(self) -> None:
        """Write down what this part cost until now, and how often theta moved."""
        chains, n_done = self.group.chains, max(self.n_done, 1)
        for drawn, chain, before in zip(self.draws, chains, self.before, strict=True):
            drawn.sampling = chain.costs() - before
            drawn.moved, drawn.gave_up = chain.n_moved / n_done, chain.gave_up
