"""One warning, while the chains run, if a fit will take more than a few minutes."""

from __future__ import annotations

import time
from collections.abc import Callable

from .._messages import warn_user
from .._running._progress import Pace, Report, duration

# The pace of the first seconds says little: worker processes may still be starting.
_SECONDS_BEFORE_A_LOOK = 20.0
_SECONDS_OF_A_LONG_FIT = 300.0
# Most fits that stop when enough has been drawn need about so many draws of each chain.
_USUAL_DRAWS = 200


class SlowFit:
    """Listens to the chains, and warns once if they will take long.

    Parameters
    ----------
    n_chains : int
        Number of chains.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, n_chains: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = Pace(n_chains, clock)
        self._has_warned = False

    def __call__(self, report: Report) -> None:
        """Take note of a report; warn if it is time for that."""
        self._pace.note(report)
        if self._has_warned or self._pace.seconds < _SECONDS_BEFORE_A_LOOK:
            return
        usual = min(report.n_iterations, report.n_warmup + _USUAL_DRAWS)
        least = self._pace.seconds + self._pace.seconds_left(usual)
        most = self._pace.seconds + self._pace.seconds_left(report.n_iterations)
        if least > _SECONDS_OF_A_LONG_FIT:
            self._has_warned = True
            warn_user(
                f"fit will take about {duration(least)} with {_USUAL_DRAWS} draws of each chain, "
                f"and up to {duration(most)} with all that n_draws allows. Ways out: max_seconds, "
                "n_jobs=-1 (chains run at the same time), fewer rows, a kernel with fewer "
                "hyperparameters. verbose=1 shows how far the chains are; Ctrl-C ends the fit and "
                "keeps what was drawn.",
                UserWarning,
            )

    def close(self) -> None:
        """Say nothing more."""
