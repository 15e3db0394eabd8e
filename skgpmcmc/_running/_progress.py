"""Progress of chains, also of those in other processes: lines, bars, scikit-learn's callbacks."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from .._serialization import replace_file
from ._stopping import Convergence, StoppingRule

# The number of reports of a fast chain.
N_REPORTS = 20
# The longest time between two reports of a slow chain, so that its bar keeps moving.
_SECONDS_BETWEEN_REPORTS = 1.0
# The number of lines that are printed for each chain.
_N_LINES = 5
_SECONDS_BETWEEN_LOOKS = 0.2
_PREFIX = "progress-"


class Report(NamedTuple):
    """The progress of one chain.

    Attributes
    ----------
    chain : int
        Number of the chain, from 0.
    n_done, n_iterations, n_warmup : int
        Iterations behind it, in all, and of the warm-up.
    moved : float
        Share of the iterations after the warm-up in which a hyperparameter moved; NaN before.
    """

    chain: int
    n_done: int
    n_iterations: int
    n_warmup: int
    moved: float


# A function that receives reports; it returns True to stop the chains.
Listener = Callable[[Report], bool | None]


class ProgressSender:
    """Tells a listener how far chains are; from other processes, to which it is pickled, by files.

    Parameters
    ----------
    listener : callable
        Takes the reports, one at a time.
    directory : Path or None
        Where chains in other processes leave their reports, if anybody looks there.
    n_warmup, n_iterations : int
        Of every chain, as in `Report`.
    """

    def __init__(
        self,
        listener: Callable[[Report], object],
        directory: Path | None,
        n_warmup: int,
        n_iterations: int,
    ) -> None:
        self._listener: Callable[[Report], object] | None = listener
        self._directory = directory
        self._n_warmup, self._n_iterations = n_warmup, n_iterations
        marks = {n_iterations * k // N_REPORTS for k in range(1, N_REPORTS + 1)}
        self._marks = marks | {n_warmup}
        self._last: dict[int, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the listener here."""
        return vars(self) | {"_listener": None, "_last": {}}

    def __call__(self, chain: int, n_done: int, moved: Callable[[int], float]) -> None:
        """Report that a chain has done so many iterations, if it is time for a report.

        Parameters
        ----------
        chain, n_done : int
            As in `Report`.
        moved : callable
            Takes the number of iterations since the warm-up, and returns in what share of
            them a hyperparameter moved.
        """
        now = time.monotonic()
        if n_done in self._marks or now - self._last.setdefault(chain, now) >= (
            _SECONDS_BETWEEN_REPORTS
        ):
            self._last[chain] = now
            kept = n_done - self._n_warmup
            self.send(chain, n_done, moved(kept) if kept > 0 else math.nan)

    def send(self, chain: int, n_done: int, moved: float) -> None:
        """Send a report; a directory that cannot be written to is no reason to stop."""
        report = Report(chain, n_done, self._n_iterations, self._n_warmup, moved)
        if self._listener is not None:
            self._listener(report)
        elif self._directory is not None:
            path = self._directory / f"{_PREFIX}{chain}"
            with suppress(OSError):
                replace_file(path, lambda file: file.write(json.dumps(report).encode()))


class Audience:
    """Passes reports of progress on to all listeners, one at a time.

    Parameters
    ----------
    listeners : sequence of callable
        Those who want to know.
    stop : callable
        Is called if one of them wants the chains to stop, or raises.

    Attributes
    ----------
    error : BaseException or None
        What a listener raised; nobody is told of anything more.
    """

    def __init__(self, listeners: Sequence[Listener], stop: Callable[[], None]) -> None:
        self._listeners, self._stop = listeners, stop
        self._lock = threading.Lock()
        self._n_done: dict[int, int] = {}
        self.error: BaseException | None = None

    def __call__(self, report: Report) -> None:
        """Tell the listeners."""
        with self._lock:
            # A chain that continues from an earlier state repeats iterations that were reported
            # before.
            if self.error is not None or report.n_done <= self._n_done.get(report.chain, -1):
                return
            self._n_done[report.chain] = report.n_done
            try:
                wants_stop = [listener(report) for listener in self._listeners]
            except BaseException as error:
                self.error, wants_stop = error, [True]
        if any(wants_stop):
            self._stop()


@contextmanager
def watching(directory: Path, listener: Callable[[Report], object]) -> Iterator[None]:
    """Give the listener, in a thread of its own, what chains send to a directory."""
    seen: dict[Path, bytes] = {}
    ended = threading.Event()

    def look() -> None:
        for path in sorted(directory.glob(f"{_PREFIX}*[0-9]")):
            try:
                text = path.read_bytes()
            except OSError:
                continue
            if seen.get(path) != text:
                seen[path] = text
                listener(Report(*json.loads(text)))

    def keep_looking() -> None:
        while not ended.wait(_SECONDS_BETWEEN_LOOKS):
            look()
        look()

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class _Output:
    """The standard output, until it cannot be written to: it is silent from then on.

    A closed pipe is no reason to lose chains. Nor may its error reach tqdm, which keeps a lock
    when a write raises: its bars, and the end of the process, would wait for it for ever.
    """

    def __init__(self) -> None:
        self._stream: Any = sys.stdout
        self._is_silent = self._stream is None

    def __getattr__(self, name: str) -> Any:
        # Such as the encoding and the width, which tqdm asks for.
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or do nothing."""
        self._use("write", text)
        return len(text)

    def flush(self) -> None:
        """Show what was written, or do nothing."""
        self._use("flush")

    def _use(self, method: str, *args: str) -> None:
        if self._is_silent:
            return
        try:
            getattr(self._stream, method)(*args)
        except (OSError, ValueError):  # the latter from a file that is closed
            self._is_silent = True


class Pace:
    """The pace of all chains together.

    Parameters
    ----------
    n_chains : int
        Number of chains.
    clock : callable
        Returns the time in seconds.

    Attributes
    ----------
    latest : dict
        Number of a chain -> its last report.
    """

    def __init__(self, n_chains: int, clock: Callable[[], float]) -> None:
        self._n_chains, self._clock = n_chains, clock
        self._began: float | None = None
        self._first: dict[int, int] = {}
        self.latest: dict[int, Report] = {}

    def note(self, report: Report) -> None:
        """Take note of a report."""
        if self._began is None:
            self._began = self._clock()
        self._first.setdefault(report.chain, report.n_done)
        self.latest[report.chain] = report

    @property
    def seconds(self) -> float:
        """The time since the first report: workers need some to start."""
        return 0.0 if self._began is None else self._clock() - self._began

    def seconds_left(self, n_iterations: int) -> float:
        """Return how long all chains will take to do that many iterations; 0 if unknown."""
        done = sum(r.n_done for r in self.latest.values()) - sum(self._first.values())
        if done <= 0 or self.seconds <= 0.0:
            return 0.0
        waiting = (self._n_chains - len(self.latest)) * n_iterations
        left = waiting + sum(max(n_iterations - r.n_done, 0) for r in self.latest.values())
        return left * self.seconds / done


def _titled(title: str) -> str:
    """Return a title as the beginning of a line; nothing without one."""
    return f"{title}, " if title else ""


class Lines:
    """Prints a line a few times for each chain.

    Parameters
    ----------
    n_chains : int
        Number of chains.
    clock : callable
        Returns the time in seconds.
    title : str
        What the chains are for; empty for those of a fit.
    """

    def __init__(
        self, n_chains: int, clock: Callable[[], float] = time.monotonic, title: str = ""
    ) -> None:
        self._n_chains = n_chains
        self._head = f"[skgpmcmc] {_titled(title)}"
        self._pace = Pace(n_chains, clock)
        self._next_line: dict[int, int] = {}
        self._output = _Output()

    def __call__(self, report: Report) -> None:
        """Print a line if it is time for one."""
        self._pace.note(report)
        line = _N_LINES * report.n_done // max(report.n_iterations, 1)
        is_end_of_warmup = 0 < report.n_done == report.n_warmup
        if line < self._next_line.get(report.chain, 0) and not is_end_of_warmup:
            return
        self._next_line[report.chain] = line + 1
        print(self._text(report), file=self._output, flush=True)

    def show(self, found: Convergence, rule: StoppingRule) -> None:
        """Print how far the chains have converged."""
        text = f"{self._head}{found.n_draws} draws of each chain: {_converged(found, rule)}"
        print(text, file=self._output, flush=True)

    def close(self) -> None:
        """Print nothing more."""

    def _text(self, report: Report) -> str:
        done = f"{report.n_done} of {report.n_iterations} iterations"
        kept = max(report.n_done - report.n_warmup, 0)
        phase = f"{kept} after the warm-up" if kept else "warm-up"
        if report.moved == report.moved:
            phase += f", moved in {100 * report.moved:.0f} %"
        chain = f"{self._head}chain {report.chain + 1} of {self._n_chains}"
        return f"{chain}: {done} ({phase}){self._time_left()}"

    def _time_left(self) -> str:
        """Return how long all chains will take, at the speed so far."""
        seconds = self._pace.seconds_left(next(iter(self._pace.latest.values())).n_iterations)
        return f", at most about {duration(seconds)} left" if seconds > 0.0 else ""


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    if seconds < 6000.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"


def _converged(found: Convergence, rule: StoppingRule) -> str:
    """Return how far the chains have converged."""
    min_ess, max_rhat = rule.limits
    text = f"R-hat {found.rhat:.3f}, {found.ess:.0f} effective draws"
    wanted = f"at most {max_rhat:.10g}, at least {min_ess:.10g}"
    return f"{text} (wanted: {wanted})" if rule.is_on else text


class Bar:
    """One tqdm bar over the iterations of all chains.

    Parameters
    ----------
    n_chains : int
        Number of chains.
    bar : callable
        Makes a bar, as `tqdm.auto.tqdm`.
    title : str
        What the chains are for; empty for those of a fit.
    """

    def __init__(self, n_chains: int, bar: Callable, title: str = "") -> None:
        self._n_chains = n_chains
        self._text = f"{_titled(title)}{n_chains} chains"
        self._make = bar
        self._bar: Any = None
        self._latest: dict[int, Report] = {}
        self._converged = ""

    def __call__(self, report: Report) -> None:
        """Move the bar."""
        before = self._latest.get(report.chain)
        self._latest[report.chain] = report
        if self._bar is None:
            total = self._n_chains * report.n_iterations
            self._bar = self._make(total=total, desc=self._text, file=_Output())
        warm = sum(r.n_done >= r.n_warmup for r in self._latest.values())
        text = self._converged or f"{warm} past the warm-up"
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(report.n_done - (before.n_done if before else 0))

    def show(self, found: Convergence, rule: StoppingRule) -> None:
        """Show how far the chains have converged."""
        self._converged = _converged(found, rule)
        if self._bar is not None:
            self._bar.set_postfix_str(self._converged)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


def terminal_progress(n_chains: int, title: str = "") -> Lines | Bar:
    """Return a tqdm bar where tqdm is installed, lines otherwise; the title comes first."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Lines(n_chains, title=title)
    return Bar(n_chains, tqdm, title)
