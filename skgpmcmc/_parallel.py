"""Run the chains of a fit through joblib, until they end, are stopped, or their process dies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from ._checkpoint import ChainFile
from ._interrupts import StopSignal, stops_on_interrupt
from ._linalg import Array
from ._progress import FileSender, Listener, Report, Reporter, watching
from ._run_chain import Surroundings, Target, run_chain
from ._settings import SamplerSettings
from ._warn import warn_user
from .trace import ChainDraws


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

    def how(self) -> tuple:
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
        If a process died.
    """
    chains: list[list[ChainDraws] | None] = [None] * len(tasks)
    n_at_once = min(effective_n_jobs(n_jobs), len(tasks))
    # The limit on threads also holds around the chains: with threads for chains, the first
    # that ends would lift it for the others.
    with _surroundings(n_at_once, listeners) as around, threadpool_limits(1, user_api="blas"):
        everything = range(len(tasks))
        try:
            for number, draws in _in_parallel(tasks, everything, around, n_jobs, verbose):
                chains[number] = draws
        except BrokenExecutor as error:
            _warn_of_death([n for n in everything if chains[n] is None], n_at_once, error)
        for number in everything:
            if chains[number] is None:
                chains[number] = _alone(tasks, number, around)
    return chains


def _in_parallel(
    tasks: Sequence[Task],
    numbers: Sequence[int],
    around: Callable[[int, ChainFile | None], Surroundings],
    n_jobs: int | None,
    verbose: int,
) -> Iterator[tuple[int, list[ChainDraws] | None]]:
    """Yield the number and the draws of each chain as it ends."""
    # The target is an argument of its own: Dask sends those once to all chains.
    calls = (
        delayed(_run)(n, tasks[n].target, tasks[n].how(), around(n, tasks[n].file))
        for n in numbers
    )
    options = {"n_jobs": n_jobs, "verbose": verbose}
    try:
        parallel = Parallel(**options, return_as="generator_unordered")
    except ValueError:  # the backend "multiprocessing" cannot
        parallel = Parallel(**options)
    yield from parallel(calls)


def _run(
    number: int, target: Target, how: tuple, surroundings: Surroundings
) -> tuple[int, list[ChainDraws] | None]:
    """Run one chain; None where there was not enough memory, which others may leave later."""
    try:
        return number, run_chain(target.models, *how, surroundings)
    except MemoryError:
        return number, None


def _alone(
    tasks: Sequence[Task], number: int, around: Callable[[int, ChainFile | None], Surroundings]
) -> list[ChainDraws] | None:
    """Run one chain in a process of its own; None if that dies too."""
    try:
        ((_, draws),) = _in_parallel(tasks, [number], around, n_jobs=2, verbose=0)
    except BrokenExecutor:
        return None
    return draws


def _warn_of_death(missing: Sequence[int], n_at_once: int, error: BrokenExecutor) -> None:
    running = " or ".join(str(number + 1) for number in missing[:n_at_once])
    warn_user(
        f"The process of chain {running} (of those numbered from 1) died: killed by somebody, or "
        f"by the system for want of memory. All chains that had not ended ({len(missing)}) now "
        f"run one at a time; no draw is lost, and none changes. joblib said: {error}",
        UserWarning,
    )


@contextmanager
def _surroundings(
    n_at_once: int, listeners: Sequence[Listener]
) -> Iterator[Callable[[int, ChainFile | None], Surroundings]]:
    """Make what connects chains with the user, for as long as they run."""
    with ExitStack() as stack:
        directory = _directory(stack) if n_at_once > 1 else None
        stop = StopSignal(None if directory is None else directory / "stop")

        def tell(report: Report) -> None:
            for listener in listeners:
                if listener(report):
                    stop.set()

        send: Listener | None = tell if listeners else None
        if listeners and directory is not None:
            stack.enter_context(watching(directory, tell))
            send = FileSender(directory)
        elif n_at_once > 1:
            send = None
        stack.enter_context(stops_on_interrupt(stop))

        def around(number: int, file: ChainFile | None) -> Surroundings:
            reporter = None if send is None else Reporter(number, send)
            return Surroundings(os.getpid(), stop, reporter, file)

        yield around


def _directory(stack: ExitStack) -> Path | None:
    """Return a directory that chains in other processes know too, None if there can be none."""
    try:
        return Path(stack.enter_context(TemporaryDirectory(prefix="skgpmcmc-")))
    except OSError:
        return None
