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


class RoundTask(NamedTuple):
    """A round of one chain; see `run_chain`."""

    target: Target
    settings: SamplerSettings
    start: RoundStart
    end: int
    stop: StopSignal
    progress: ProgressSender


class Outcome(NamedTuple):
    """What came of a round of a chain: no draws where there was not enough memory."""

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
        # files.
        options = {"n_jobs": self.n_at_once, "verbose": self._verbose, "max_nbytes": None}
        try:
            parallel = Parallel(**options, return_as="generator_unordered")
        except ValueError:  # the backend "multiprocessing" cannot
            parallel = Parallel(**options)
        self._parallel = self._stack.enter_context(parallel)

    def run(self, tasks: Sequence[RoundTask]) -> Iterator[Outcome]:
        """Yield what comes of rounds, each as it ends.

        Raises
        ------
        BrokenExecutor
            If the process of one died. There are new workers then.
        """
        try:
            # The target is an argument of its own: Dask sends those once to all chains.
            yield from self._parallel(delayed(_run)(task.target, task[1:]) for task in tasks)
        except BrokenExecutor:
            self._stack.close()
            self._hire()
            raise


def _run(target: Target, how: tuple) -> Outcome:
    """Run one round of a chain."""
    number = how[1].number
    try:
        return Outcome(number, run_chain(target.models, *how))
    except MemoryError:
        return Outcome(number, None)
