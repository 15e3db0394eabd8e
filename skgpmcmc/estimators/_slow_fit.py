"""One warning, while the chains run, if a fit will take more than a few minutes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from .._messages import UserPlace, warn_user
from .._running._progress import Report, duration

# A pace is measured over so many iterations, or over so long a time.
_ITERATIONS = 10
_SECONDS = 60.0
# The first ones of a chain may be slow: nothing is said before it has so many paces.
_N_PACES = 2
_SECONDS_OF_A_LONG_FIT = 300.0
# Most fits that stop when enough has been drawn need about so many draws of each chain.
_USUAL_DRAWS = 200


class SlowFit:
    """Listens to the chains, and warns once if they will take long.

    The warning points to the line of the user's code that has called `fit`.

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
        self._n_at_once = n_at_once
        self._n_in_turn = n_chains / n_at_once
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._clock = clock
        # Reports of workers come from another thread, which knows nothing of the user's code.
        self._place = UserPlace.now()
        # For each chain, the time and number of iterations from which the next pace is measured.
        self._since: dict[int, tuple[float, int]] = {}
        # For each chain, seconds of an iteration.
        self._paces: dict[int, list[float]] = {}
        self._has_warned = False

    def __call__(self, report: Report) -> None:
        """Take note of a report; warn if it is time for that."""
        self._measure(report)
        if self._has_warned or len(self._paces.get(report.chain, [])) < _N_PACES:
            return
        # The least, for chains wait for each other.
        each = self._n_in_turn * min(min(paces) for paces in self._paces.values())
        least = each * min(report.n_iterations, report.n_warmup + _USUAL_DRAWS)
        if _SECONDS_OF_A_LONG_FIT < least <= self._max_seconds:
            self._has_warned = True
            parallel = "n_jobs=-1 (chains run at the same time), " * (self._n_at_once == 1)
            warn_user(
                f"fit will take about {duration(least)} with {_USUAL_DRAWS} draws of each chain, "
                f"and up to {duration(each * report.n_iterations)} with all that n_draws allows. "
                f"Ways out: max_seconds, {parallel}fewer rows, a kernel with fewer "
                "hyperparameters. verbose=1 shows how far the chains are; Ctrl-C ends the fit and "
                "keeps what was drawn.",
                UserWarning,
                self._place,
            )

    def _measure(self, report: Report) -> None:
        """Measure the pace of a chain, after the first report of an iteration that has ended."""
        if report.n_done == 0:
            return
        now = self._clock()
        began, n_began = self._since.setdefault(report.chain, (now, report.n_done))
        n_new, seconds = report.n_done - n_began, now - began
        # After a warm-up that ended early, the rest of it counts as done: that took no time.
        if n_began < report.n_warmup < report.n_done:
            self._since[report.chain] = now, report.n_done
        elif n_new >= _ITERATIONS or (n_new > 0 and seconds >= _SECONDS):
            self._paces.setdefault(report.chain, []).append(seconds / n_new)
            self._since[report.chain] = now, report.n_done

    def close(self) -> None:
        """Say nothing more."""
