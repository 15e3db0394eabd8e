"""Run the chains of a fit through joblib, until they end, are stopped, or their process dies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from .._linalg import Array
from .._messages import warn_user
from .._sampling._settings import SamplerSettings
from ..trace import ChainDraws
from ._checkpoint import ChainFile
from ._interrupts import StopSignal, stops_on_interrupt
from ._one_chain import Surroundings, Target, run_chain
from ._progress import Listener, Report, Reporter, Sender, watching

_How = tuple[SamplerSettings, np.random.SeedSequence, Array | None, list[ChainDraws] | None]


@dataclass(frozen=True)
class Task:
    """One chain to run; see `run_chain`.

    Attributes
    ----------
    target : Target
        What it samples.
    settings : SamplerSettings
        How.
    seed : numpy.random.SeedSequence
        Of this chain alone.
    theta : ndarray of shape (n_parameters,) or None
        Starting point.
    previous : list of ChainDraws or None
        To be continued.
    file : ChainFile or None
        Where draws and state are kept.
    """

    target: Target
    settings: SamplerSettings
    seed: np.random.SeedSequence
    theta: Array | None
    previous: list[ChainDraws] | None
    file: ChainFile | None

    def how(self) -> _How:
        """Return what `run_chain` is to know beside the target."""
        return self.settings, self.seed, self.theta, self.previous


def run_tasks(
    tasks: Sequence[Task], *, n_jobs: int | None, listeners: Sequence[Listener], verbose: int
) -> list[list[ChainDraws] | None]:
    """Run chains; those whose process dies once more, each in a process of its own.

    Parameters
    ----------
    tasks : sequence of Task
        The chains.
    n_jobs : int or None
        Chains that run at the same time, as joblib takes it.
    listeners : sequence of callable
        Are told how far the chains are; one that returns True stops them all.
    verbose : int
        joblib's verbosity.

    Returns
    -------
    chains : list
        The draws of each chain, for each latent function; None where its process died twice.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came twice.

    Warns
    -----
    UserWarning
        If a process died, or draws could not be written to the checkpoint.
    """
    chains: list[list[ChainDraws] | None] = [None] * len(tasks)
    unsaved: dict[int, str] = {}
    n_at_once = min(effective_n_jobs(n_jobs), len(tasks))
    # The limit on threads also holds around the chains: with threads for chains, the first
    # that ends would lift it for the others.
    with _connections(listeners) as connections, threadpool_limits(1, user_api="blas"):
        for ended in _all_ended(tasks, connections, n_at_once, verbose):
            chains[ended.number] = ended.draws
            if ended.trouble is not None:
                unsaved[ended.number] = ended.trouble
    if unsaved:
        warn_user(
            f"checkpoint: the last draws of {_names(list(unsaved), 'and')} could not be written "
            f"({next(iter(unsaved.values()))}). This fit has them; one that resumes would draw "
            "them again.",
            UserWarning,
        )
    return chains


class _Ended(NamedTuple):
    """A chain that ended; without draws where there was not enough memory."""

    number: int
    draws: list[ChainDraws] | None
    trouble: str | None


@dataclass(frozen=True)
class _Connections:
    """What connects chains with the user."""

    stop: StopSignal
    send: Sender | None

    def of(self, number: int, file: ChainFile | None) -> Surroundings:
        """Return the surroundings of one chain."""
        reporter = None if self.send is None else Reporter(number, self.send)
        return Surroundings(os.getpid(), self.stop, reporter, file)


def _all_ended(
    tasks: Sequence[Task], connections: _Connections, n_at_once: int, verbose: int
) -> Iterator[_Ended]:
    """Yield the chains as they end; after a death the others once more, one at a time."""
    missing = list(range(len(tasks)))
    reason = "ran out of memory"
    try:
        for ended in _in_parallel(tasks, missing[:], connections, n_at_once, verbose):
            if ended.draws is not None:
                missing.remove(ended.number)
                yield ended
    except BrokenExecutor as error:
        reason = f"died: killed by somebody, or by the system for want of memory ({error})"
    # Ctrl-C may end a worker that is just starting: that is no death, and all chains stop.
    stopped = connections.stop.is_set()
    if missing and not stopped:
        warn_user(
            f"{_names(missing[:n_at_once], 'or').capitalize()} {reason}. All chains that had "
            f"not ended ({len(missing)}) run once more, one at a time; no draw changes.",
            UserWarning,
        )
    for number in missing:
        with suppress(BrokenExecutor):
            n_jobs = 1 if stopped else min(n_at_once, 2)
            yield from _in_parallel(tasks, [number], connections, n_jobs, verbose=0)


def _in_parallel(
    tasks: Sequence[Task],
    numbers: Sequence[int],
    connections: _Connections,
    n_jobs: int,
    verbose: int,
) -> Iterator[_Ended]:
    """Yield each chain as it ends."""
    # The target is an argument of its own: Dask sends those once to all chains.
    calls = (
        delayed(_run)(n, tasks[n].target, tasks[n].how(), connections.of(n, tasks[n].file))
        for n in numbers
    )
    # No memory maps: they are read-only, and what a chain keeps of them would outlive their files.
    options = {"n_jobs": n_jobs, "verbose": verbose, "max_nbytes": None}
    try:
        parallel = Parallel(**options, return_as="generator_unordered")
    except ValueError:  # the backend "multiprocessing" cannot
        parallel = Parallel(**options)
    yield from parallel(calls)


def _run(number: int, target: Target, how: _How, surroundings: Surroundings) -> _Ended:
    """Run one chain."""
    file = surroundings.file
    try:
        draws = run_chain(target.models, *how, surroundings)
    except MemoryError:
        return _Ended(number, None, None)
    return _Ended(number, draws, None if file is None else file.trouble)


def _names(numbers: Sequence[int], word: str) -> str:
    """Return the chains' names, as users count them."""
    return f"chain {f' {word} '.join(str(n + 1) for n in numbers)} (numbered from 1)"


@contextmanager
def _connections(listeners: Sequence[Listener]) -> Iterator[_Connections]:
    """Make what connects chains with the user, for as long as they run."""
    with ExitStack() as stack:
        directory = _directory(stack)
        stop = StopSignal(None if directory is None else directory / "stop")

        def tell(report: Report) -> None:
            try:
                wants_stop = [listener(report) for listener in listeners]
            except BaseException:
                stop.set()
                raise
            if any(wants_stop):
                stop.set()

        if listeners and directory is not None:
            stack.enter_context(watching(directory, tell))
        stack.enter_context(stops_on_interrupt(stop))
        yield _Connections(stop, Sender(tell, directory) if listeners else None)


def _directory(stack: ExitStack) -> Path | None:
    """Return a directory that chains in other processes know too, None if there can be none."""
    try:
        # A worker that is being killed may still write to it.
        directory = TemporaryDirectory(prefix="skgpmcmc-", ignore_cleanup_errors=True)
    except OSError:
        return None
    return Path(stack.enter_context(directory))
