"""One warning, while the chains run, if a fit will take more than a few minutes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from .._messages import warn_user
from .._running._progress import Report, duration

# Before that, reports are too few.
_SECONDS_BEFORE_A_LOOK = 20.0
_SECONDS_OF_A_LONG_FIT = 300.0
# Most fits that stop when enough has been drawn need about so many draws of each chain.
_USUAL_DRAWS = 200


class SlowFit:
    """Listens to the chains, and warns once if they will take long.

    Parameters
    ----------
    n_chains, n_at_once : int
        Number of chains, and how many of them run at the same time.
    max_seconds : float or None
        When the chains stop anyway: a user who set it below what they need knows.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        n_chains: int,
        n_at_once: int,
        max_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_in_turn = n_chains / n_at_once
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._clock = clock
        self._began = clock()
        self._last: dict[int, tuple[float, int]] = {}
        # Of an iteration, the least that was seen: chains wait for each other, and for workers.
        self._seconds = math.inf
        self._has_warned = False

    def __call__(self, report: Report) -> None:
        """Take note of a report; warn if it is time for that."""
        now = self._clock()
        then, n_then = self._last.get(report.chain, (now, report.n_done))
        self._last[report.chain] = now, report.n_done
        if report.n_done > n_then:
            self._seconds = min(self._seconds, (now - then) / (report.n_done - n_then))
        is_early = now - self._began < _SECONDS_BEFORE_A_LOOK
        if self._has_warned or is_early or math.isinf(self._seconds):
            return
        each = self._seconds * self._n_in_turn
        least = each * min(report.n_iterations, report.n_warmup + _USUAL_DRAWS)
        if _SECONDS_OF_A_LONG_FIT < least <= self._max_seconds:
            self._has_warned = True
            warn_user(
                f"fit will take about {duration(least)} with {_USUAL_DRAWS} draws of each chain, "
                f"and up to {duration(each * report.n_iterations)} with all that n_draws allows. "
                "Ways out: max_seconds, n_jobs=-1 (chains run at the same time), fewer rows, a "
                "kernel with fewer hyperparameters. verbose=1 shows how far the chains are; Ctrl-C "
                "ends the fit and keeps what was drawn.",
                UserWarning,
            )

    def close(self) -> None:
        """Say nothing more."""
