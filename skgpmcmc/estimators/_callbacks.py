"""scikit-learn's callbacks, where it has them (from 1.9 on): a task for each chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._progress import N_REPORTS, Report

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
