"""joblib's workers: they stay for all rounds of a fit, and are replaced if one dies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from .._model._model import LatentGaussianModel
from .._sampling._settings import SamplerSettings
from ..trace import ChainDraws
from ._interrupts import StopSignal
from ._one_chain import RoundStart, run_chain
from ._progress import ProgressSender


class RoundTask(NamedTuple):
    """A round of one chain: the arguments of `run_chain`."""

    models: Sequence[LatentGaussianModel]
    settings: SamplerSettings
    start: RoundStart
    end: int
    stop: StopSignal
    progress: ProgressSender


class Outcome(NamedTuple):
    """The result of a round of a chain; without draws where there was not enough memory."""

    chain: int
    draws: list[ChainDraws] | None


class Workers:
    """Run rounds of chains at the same time; a context in which the workers stay.

    Parameters
    ----------
    n_jobs : int or None
        Chains that run at the same time, as joblib takes it.
    n_chains : int
        How many there are.
    verbose : int
        joblib's verbosity.
    """

    def __init__(self, n_jobs: int | None, n_chains: int, verbose: int) -> None:
        self.n_at_once = min(effective_n_jobs(n_jobs), n_chains)
        self._verbose = verbose
        self._stack = ExitStack()

    def __enter__(self) -> Workers:
        """Take workers."""
        self._hire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the workers to joblib."""
        self._stack.close()

    def _hire(self) -> None:
        # No memory maps: they are read-only, and what a chain keeps of them would outlive their
        # files. No batches: joblib would give several short rounds to one worker.
        options = {
            "n_jobs": self.n_at_once,
            "verbose": self._verbose,
            "max_nbytes": None,
            "batch_size": 1,
        }
        try:
            parallel = Parallel(**options, return_as="generator_unordered")
        except ValueError:  # the backend "multiprocessing" cannot
            parallel = Parallel(**options)
        self._parallel = self._stack.enter_context(parallel)

    def run(self, tasks: Sequence[RoundTask]) -> Iterator[Outcome]:
        """Yield the results of rounds, each as it ends.

        Raises
        ------
        BrokenExecutor
            If the process of one died. There are new workers then.
        """
        try:
            # In a tuple: an argument of some size would be sent by Dask to one machine, where all
            # chains of the round would wait for each other.
            yield from self._parallel(delayed(_run)(tuple(task)) for task in tasks)
        except BrokenExecutor:
            self._stack.close()
            self._hire()
            raise


def _run(task: tuple) -> Outcome:
    """Run one round of a chain."""
    number = RoundTask(*task).start.number
    try:
        return Outcome(number, run_chain(*task))
    except MemoryError:
        return Outcome(number, None)
