"""The run of a fit: progress, scikit-learn's callbacks, checkpoint."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

import joblib
import numpy
import scipy
import sklearn
from joblib import effective_n_jobs

from .._linalg import Array
from .._messages import warn_user
from .._model._model import LatentGaussianModel
from .._running._chains import run_groups
from .._running._checkpoint import Checkpoint, checkpoint_directory
from .._running._progress import N_REPORTS, Bar, Lines, Report, terminal_progress
from .._running._stopping import StoppingRule, convergence, warm_up_lengths
from .._sampling._settings import SamplerSettings
from .._version import __version__
from ..trace import Trace
from ._slow_fit import SlowFit
from ._warm_start import Continuation

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:  # type: ignore[no-redef]
        """Return the method."""
        return method


class ChainTasks:
    """Tells an estimator's callbacks of its chains: each is a task of equal steps.

    Parameters
    ----------
    estimator : estimator
        Whose callbacks they are.
    n_chains : int
        How many chains run.
    """

    def __init__(self, estimator: Any, n_chains: int) -> None:
        self._estimator = estimator
        self._fit = estimator._init_callback_context(
            max_subtasks=n_chains, sequential_subtasks=False
        )
        self._fit.call_on_fit_task_begin(estimator=estimator)
        self._chains: dict[int, Any] = {}
        self._n_steps: dict[int, int] = {}

    def __call__(self, report: Report) -> bool:
        """Begin and end tasks; return whether a callback wants the chains to stop."""
        chain = self._chains.get(report.chain)
        if chain is None:
            chain = self._fit.subcontext("chain", task_id=report.chain, max_subtasks=N_REPORTS)
            chain.call_on_fit_task_begin(estimator=self._estimator)
            self._chains[report.chain] = chain
            self._n_steps[report.chain] = 0
        n_steps = N_REPORTS * report.n_done // max(report.n_iterations, 1)
        stop = False
        # A chain whose process died begins again: none of its steps is taken twice.
        while self._n_steps[report.chain] < n_steps:
            self._n_steps[report.chain] += 1
            step = chain.subcontext("iterations")
            step.call_on_fit_task_begin(estimator=self._estimator)
            stop |= step.call_on_fit_task_end(estimator=self._estimator)
            if self._n_steps[report.chain] == N_REPORTS:
                stop |= chain.call_on_fit_task_end(estimator=self._estimator)
        return stop

    def close(self) -> None:
        """End the tasks of chains that were stopped, and that of the whole fit."""
        for number, chain in self._chains.items():
            if self._n_steps[number] < N_REPORTS:
                chain.call_on_fit_task_end(estimator=self._estimator)
        self._fit.call_on_fit_task_end(estimator=self._estimator)


def chain_tasks(estimator: Any, n_chains: int) -> list[ChainTasks]:
    """Return the listener for the estimator's callbacks, if it has any."""
    has_any = getattr(estimator, "_skl_callbacks", None)
    return [ChainTasks(estimator, n_chains)] if has_any else []


class Looks:
    """Looks at the draws between rounds: tells the terminal, and decides whether to go on.

    Parameters
    ----------
    rule : StoppingRule
        What is enough.
    terminal : Lines, Bar or None
        Shows how far the chains have converged.

    Attributes
    ----------
    is_enough : bool
        Whether no more draws were wanted.
    """

    def __init__(self, rule: StoppingRule, terminal: Lines | Bar | None) -> None:
        self.rule, self._terminal = rule, terminal
        self.is_enough = False

    def __call__(self, traces: list[list[Trace]]) -> bool:
        """Return whether more draws are wanted."""
        if self.rule.is_on or self._terminal is not None:
            found = convergence(traces)
            if self._terminal is not None:
                self._terminal.show(found, self.rule)
            self.is_enough = self.rule.is_on and self.rule.is_met(found)
        return not self.is_enough


def fit_chains(
    estimator: Any,
    models: Sequence[Sequence[LatentGaussianModel]],
    settings: SamplerSettings,
    theta: Array | None = None,
) -> tuple[list[list[Trace]], str]:
    """Run all chains of a fit, and set what a later fit can continue.

    Parameters
    ----------
    estimator : estimator
        Its parameters say how; `_continuation` is set.
    models : sequence of sequence of LatentGaussianModel
        See `run_groups`.
    settings : SamplerSettings
        How the chains run.
    theta : ndarray of shape (n_groups, n_chains, n_parameters), optional
        See `run_groups`.

    Returns
    -------
    traces : list of list of Trace
        See `run_groups`.
    stopped_by : str
        ``"time"`` or ``"user"`` if the chains were stopped before enough was drawn, else empty.
    """
    continuation = Continuation.of(estimator, models)
    previous = continuation.previous(estimator) if estimator.warm_start else None
    n_chains = estimator.n_chains * len(models)
    terminal = terminal_progress(n_chains) if estimator.verbose else None
    n_at_once = min(effective_n_jobs(estimator.n_jobs), n_chains)
    slow_fit = SlowFit(n_chains, n_at_once, estimator.max_seconds)
    listeners: list[Any] = [*chain_tasks(estimator, n_chains), slow_fit]
    if terminal is not None:
        listeners.append(terminal)
    looks = Looks(StoppingRule(estimator.min_ess, estimator.max_rhat), terminal)
    began = time.monotonic()
    try:
        traces = run_groups(
            models,
            settings,
            n_chains=estimator.n_chains,
            random_state=estimator.random_state,
            n_jobs=estimator.n_jobs,
            theta=theta,
            previous=previous,
            checkpoint=_checkpoint(estimator.checkpoint, continuation),
            listeners=listeners,
            wanted=looks,
            max_seconds=estimator.max_seconds,
            warm_ups=warm_up_lengths(settings.n_warmup) if looks.rule.is_on else None,
            verbose=max(int(estimator.verbose) - 1, 0),
        )
    finally:
        for listener in listeners:
            listener.close()
    estimator._continuation = continuation
    n_draws, seconds = traces[0][0].n_draws, time.monotonic() - began
    is_complete = looks.is_enough or n_draws == settings.n_draws
    if previous is not None and is_complete:
        _warn_if_no_draws(estimator, n_draws - previous[0][0].n_draws, looks.is_enough)
    is_late = estimator.max_seconds is not None and seconds >= estimator.max_seconds
    return traces, "" if is_complete else "time" if is_late else "user"


def _warn_if_no_draws(estimator: Any, n_new: int, is_enough: bool) -> None:
    """Warn if chains that were to be continued have no new draws."""
    larger = "n_draws"
    if is_enough:
        larger = f"min_ess (now {estimator.min_ess:.10g}) or a smaller max_rhat, which are met,"
    if n_new == 0:
        warn_user(f"warm_start=True without a larger {larger} adds no draws.", UserWarning)


def _checkpoint(path: Any, continuation: Continuation) -> Checkpoint | None:
    if path is None:
        return None
    versions = {
        "version of skgpmcmc": __version__,
        "version of numpy": numpy.__version__,
        "version of scipy": scipy.__version__,
        "version of scikit-learn": sklearn.__version__,
        "version of joblib": joblib.__version__,
        "version of Python": ".".join(platform.python_version_tuple()[:2]),
    }
    directory = checkpoint_directory(path)
    prints = continuation.portable()
    # Another version may take the same for something else.
    depends = {name: continuation.depends(name) | versions.keys() for name in prints}
    return Checkpoint(directory, versions | prints, depends)
