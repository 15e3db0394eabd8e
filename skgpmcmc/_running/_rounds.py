"""A fit is a sequence of rounds: each advances every chain by the same number of iterations.

Between two rounds draws are appended, written to the checkpoint and told of, and it is decided
whether there is another one. A round goes on from the snapshots that the last one left, wherever
it runs, so that draws do not depend on where rounds end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .._linalg import Array, blas_threads
from .._messages import warn_user
from .._model._model import LatentGaussianModel
from .._sampling._settings import SamplerSettings
from ..trace import ChainDraws
from ._checkpoint import ChainFile
from ._interrupts import StopSignal, stops_on_interrupt
from ._one_chain import SNAPSHOT_INTERVAL, RoundStart
from ._progress import Audience, Listener, ProgressSender, watching
from ._stopping import have_settled
from ._workers import RoundTask, Workers

# A round that would take longer is divided, as far as there are snapshots: so much is lost if the
# process is killed.
_SECONDS_OF_A_ROUND = 10.0
# Of the iterations done, one in so many more may be in vain, as they come before the next look.
_LOOKS_SHARE = 4


def next_look(n_done: int, n_in_all: int) -> int:
    """Return the iteration after the warm-up at which the draws are examined next.

    Each interval is a fourth of what was done before, rounded down to a multiple of 50, and at
    least 50. It depends on nothing else, so that a fit that is stopped then has the same draws
    everywhere.

    Examples
    --------
    >>> [next_look(n, 1000) for n in (0, 50, 99, 100, 349, 350, 400, 800)]
    [50, 100, 100, 150, 350, 400, 500, 900]
    """
    look = SNAPSHOT_INTERVAL
    while look <= n_done:
        look += SNAPSHOT_INTERVAL * max(1, look // (_LOOKS_SHARE * SNAPSHOT_INTERVAL))
    return min(look, n_in_all)


@dataclass
class RunningChain:
    """The state of one chain between two rounds.

    Attributes
    ----------
    number : int
        From 0.
    models : sequence of LatentGaussianModel
        What it samples, one for each latent function.
    seed : numpy.random.SeedSequence
        Of this chain alone.
    theta : ndarray of shape (n_parameters,) or None
        Starting point.
    draws : list of ChainDraws
        For each latent function: all draws until now, with room for those that are to come.
    file : ChainFile or None
        Where draws and state are kept.
    warm_ups : tuple of int
        Lengths of the warm-ups before the first draw, as far as they have been decided on.
    is_dead : bool
        Whether its process died twice in the same round.
    """

    number: int
    models: Sequence[LatentGaussianModel]
    seed: np.random.SeedSequence
    theta: Array | None
    draws: list[ChainDraws]
    file: ChainFile | None
    warm_ups: tuple[int, ...] = ()
    is_dead: bool = False

    @property
    def has_begun(self) -> bool:
        """Whether a warm-up is behind it."""
        return bool(self.draws[0].snapshots) or self.draws[0].n_kept > 0

    @property
    def is_cold(self) -> bool:
        """Whether a warm-up is still to be run."""
        return not self.has_begun or self.draws[0].n_warmup < sum(self.warm_ups)

    @property
    def recent(self) -> list[Array]:
        """Theta of each latent function in the second half of a warm-up that has just ended."""
        snapshots = self.draws[0].snapshots
        return [chain.recent for chain in snapshots[-1].chains] if snapshots else []

    def n_done(self, thin: int) -> int:
        """Return how many iterations after the warm-up are done."""
        last = max((s.iteration for s in self.draws[0].snapshots), default=0)
        return max(self.draws[0].n_kept * thin, last)

    def start(self) -> RoundStart:
        """Return the starting point of the next round."""
        snapshot = next(iter(self.draws[0].snapshots[-1:]), None)
        return RoundStart(self.number, self.seed, self.theta, snapshot, self.warm_ups)

    def add(self, draws: Sequence[ChainDraws], first: int) -> None:
        """Add the draws of a round, the first of which has this number."""
        for drawn, new in zip(self.draws, draws, strict=bool(draws)):
            drawn.add(new, first)
        if self.file is not None and self.has_begun:
            self.file.save_if_due(self.draws)

    def moved(self) -> float:
        """Return the mean share of iterations in which a hyperparameter moved."""
        moved = np.concatenate([drawn.moved for drawn in self.draws])
        return float(moved.mean()) if len(moved) else math.nan


def run_rounds(
    chains: Sequence[RunningChain],
    settings: SamplerSettings,
    *,
    n_jobs: int | None,
    listeners: Sequence[Listener],
    verbose: int,
    wanted: Callable[[], bool],
    max_seconds: float | None = None,
    warm_ups: tuple[int, ...] | None = None,
) -> None:
    """Run rounds until the chains have all their draws, are stopped, or no more are wanted.

    Parameters
    ----------
    chains : sequence of RunningChain
        They are advanced.
    settings : SamplerSettings
        How they run.
    n_jobs : int or None
        Chains that run at the same time, as joblib takes it.
    listeners : sequence of callable
        Are told how far the chains are; one that returns True stops them all.
    verbose : int
        joblib's verbosity.
    wanted : callable
        Returns whether more draws are wanted; asked between rounds (`next_look`).
    max_seconds : float, optional
        Time after which no further round is begun once there are draws.
    warm_ups : tuple of int, optional
        Lengths of warm-ups that follow each other until the chains have settled; by default there
        is one, of `n_warmup` iterations.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came twice.

    Warns
    -----
    UserWarning
        If a process died, or draws could not be written to the checkpoint.
    """
    try:
        with _connections(listeners, settings) as (stop, progress), ExitStack() as stack:
            # The limit on threads also holds around the chains: with threads for chains, the
            # first that ends would lift it for the others.
            stack.enter_context(blas_threads().limit(limits=1, user_api="blas"))
            workers = stack.enter_context(Workers(n_jobs, len(chains), verbose))
            deadline = math.inf if max_seconds is None else time.monotonic() + max_seconds
            warm_ups = warm_ups or (settings.n_warmup,)
            rounds = _Rounds(chains, settings, workers, stop, progress, deadline, warm_ups)
            for chain in chains:
                rounds.tell_of(chain)
            rounds.run(wanted)
    finally:
        for chain in chains:
            if chain.file is not None:
                chain.file.save_rest(chain.draws)
    _warn_of_files(chains)


@dataclass(frozen=True)
class _Rounds:
    """The rounds of a fit."""

    chains: Sequence[RunningChain]
    settings: SamplerSettings
    workers: Workers
    stop: StopSignal
    progress: ProgressSender
    deadline: float
    warm_ups: tuple[int, ...]

    def run(self, wanted: Callable[[], bool]) -> None:
        """Run rounds until all is done, or the chains are to stop."""
        n_in_all = self.settings.n_draws * self.settings.thin
        self._warm_up()
        n_done = self._n_done()
        most = SNAPSHOT_INTERVAL
        while n_done < n_in_all and not self._is_over():
            # Also where a fit goes on that ended there, or whose process was killed there.
            if n_done > 0 and next_look(n_done - 1, n_in_all) == n_done and not wanted():
                return
            end = (n_done // SNAPSHOT_INTERVAL) * SNAPSHOT_INTERVAL + most
            end = min(next_look(n_done, n_in_all), end)
            began = time.monotonic()
            self._run_round([c for c in self.chains if self._is_before(c, end)], end)
            now, n_done, n_new = time.monotonic(), end, end - n_done
            if now >= self.deadline:
                return
            seconds = min(_SECONDS_OF_A_ROUND, self.deadline - now)
            affordable = seconds * n_new / (now - began + 1e-9)
            most = SNAPSHOT_INTERVAL * max(int(affordable / SNAPSHOT_INTERVAL), 1)

    def _warm_up(self) -> None:
        """Run one warm-up after another until the chains have settled, or there is none left."""
        for k in range(len(self.warm_ups)):
            is_late = time.monotonic() >= self.deadline
            if k > 0 and (is_late or self._is_over() or not self._needs_warm_up(k)):
                return
            for chain in self.chains:
                chain.warm_ups = self.warm_ups[: k + 1]
            self._run_round([chain for chain in self.chains if chain.is_cold], 0)

    def _needs_warm_up(self, k: int) -> bool:
        """Return whether warm-up number k, the first being 0, is to be run.

        Chains that go on may be beyond it: it was decided then.
        """
        alive = [chain for chain in self.chains if not chain.is_dead]
        if max(chain.draws[0].n_warmup for chain in alive) > sum(self.warm_ups[:k]):
            return True
        if any(chain.n_done(self.settings.thin) for chain in alive):
            return False
        targets: dict[int, list[RunningChain]] = {}
        for chain in alive:
            targets.setdefault(id(chain.models), []).append(chain)
        return not all(
            have_settled([chain.recent[f] for chain in chains])
            for chains in targets.values()
            for f in range(min(len(chain.recent) for chain in chains))
        )

    def _is_over(self) -> bool:
        return self.stop.is_set() or all(chain.is_dead for chain in self.chains)

    def _n_done(self) -> int:
        """Return how many iterations all chains have done."""
        thin = self.settings.thin
        return min((c.n_done(thin) for c in self.chains if not c.is_dead), default=0)

    def _is_before(self, chain: RunningChain, end: int) -> bool:
        return not chain.is_dead and chain.n_done(self.settings.thin) < end

    def _run_round(self, chains: Sequence[RunningChain], end: int) -> None:
        """Advance chains; after a death those that are missing once more, one at a time."""
        if not chains:
            return
        missing = {chain.number: chain for chain in chains}
        reason = "ran out of memory"
        try:
            for number in self._advanced(chains, end):
                del missing[number]
        except BrokenExecutor as error:
            reason = f"died; most likely its process was killed or ran out of memory ({error})"
        # Ctrl-C may end a worker that is just starting: that is no death, and all chains stop.
        if not missing or self.stop.is_set():
            return
        warn_user(
            f"{_names(list(missing)[: self.workers.n_at_once], 'or').capitalize()} {reason}. All "
            f"chains that had not ended ({len(missing)}) run once more, one at a time; the draws "
            "do not change.",
            UserWarning,
        )
        for number, chain in missing.items():
            ended: list[int] = []
            with suppress(BrokenExecutor):
                ended.extend(self._advanced([chain], end))
            chain.is_dead = number not in ended and not self.stop.is_set()

    def _advanced(self, chains: Sequence[RunningChain], end: int) -> Iterator[int]:
        """Yield the numbers of the chains that have been advanced."""
        how = self.settings
        tasks = [RoundTask(c.models, how, c.start(), end, self.stop, self.progress) for c in chains]
        by_number = {chain.number: chain for chain in chains}
        for outcome in self.workers.run(tasks):
            if outcome.draws is not None:
                chain = by_number[outcome.chain]
                chain.add(outcome.draws, chain.start().n_done // self.settings.thin)
                if not self.stop.is_set():
                    self.tell_of(chain)
                yield chain.number

    def tell_of(self, chain: RunningChain) -> None:
        """Send a report of how far a chain is."""
        n_done = chain.n_done(self.settings.thin)
        n_all = self.settings.n_warmup + n_done if n_done else chain.draws[0].n_warmup
        self.progress.send(chain.number, n_all, chain.moved() if n_done else math.nan)


def _names(numbers: Sequence[int], word: str) -> str:
    """Return the chains' names, as users count them."""
    return f"chain {f' {word} '.join(str(n + 1) for n in numbers)} (numbered from 1)"


def _warn_of_files(chains: Sequence[RunningChain]) -> None:
    """Warn if draws could not be written to the checkpoint."""
    trouble = {c.number: c.file.trouble for c in chains if c.file is not None and c.file.trouble}
    if trouble:
        warn_user(
            f"checkpoint: the last draws of {_names(list(trouble), 'and')} could not be written "
            f"({next(iter(trouble.values()))}). This fit has them; one that resumes would draw "
            "them again.",
            UserWarning,
        )


@contextmanager
def _connections(
    listeners: Sequence[Listener], settings: SamplerSettings
) -> Iterator[tuple[StopSignal, ProgressSender]]:
    """Create the connections between chains and the user, for as long as they run.

    Raises
    ------
    BaseException
        What a listener raised, when the chains have ended.
    """
    with ExitStack() as stack:
        directory = _directory(stack)
        stop = StopSignal(None if directory is None else directory / "stop")
        audience = Audience(listeners, stop.set)
        if listeners and directory is not None:
            stack.enter_context(watching(directory, audience))
        stack.enter_context(stops_on_interrupt(stop))
        where = directory if listeners else None
        yield stop, ProgressSender(audience, where, settings.n_warmup, settings.n_iterations)
    if audience.error is not None:
        raise audience.error


def _directory(stack: ExitStack) -> Path | None:
    """Return a directory that chains in other processes know too, None if there can be none."""
    try:
        # A worker that is being killed may still write to it.
        directory = TemporaryDirectory(prefix="skgpmcmc-", ignore_cleanup_errors=True)
    except OSError:
        return None
    return Path(stack.enter_context(directory))
