"""Where the CPU time of default sampling goes, at n = 200.

While a chain samples as `fit` runs it, on one BLAS thread, a timer of CPU time notes every few
milliseconds which line of the package is running. Unlike profilers that hook into calls this
does not inflate what is written in Python. Python runs the timer's handler at the end of the
call into C that it interrupts, or at the next call: time in BLAS is noted at its own line, and
operators on arrays at the line after them. How often each statement runs in an iteration is
counted exactly, in iterations that are not timed.

A statement also costs what the interpreter, numpy and scipy do around the loops over entries.
That cost is taken to be the statement's time on a problem with four rows and as many columns;
only what grows with the rows counts as work inside BLAS and LAPACK, exponentials, or other
passes over arrays. A list says in which functions the rest is spent.

Not for Windows, which has no such timer.

    python -m benchmarks.profile_core [--smoke]
"""

from __future__ import annotations

import argparse
import ast
import math
import re
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import skgpmcmc
from skgpmcmc import MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor
from skgpmcmc._running import _one_chain
from skgpmcmc.datasets import load_ionosphere, make_gp_regression


def doubled_iris() -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes that overlap, each flower twice, the second one jittered."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    noise = 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    return np.vstack([X, X + noise]), np.concatenate([y, y])


PACKAGE = str(Path(skgpmcmc.__file__).parent)
# Seconds of CPU time between two samples; the kernel's clock makes them 1 to 10 ms.
_INTERVAL = 0.001
# Iterations in which statements are counted.
_N_COUNTED = 50

BLAS, EXPONENTIALS = "BLAS and LAPACK", "exponentials, logarithms"
PASSES, RANDOM, LEFT = "other passes over arrays", "random numbers", "interpreter, call overhead"
CLASSES = [BLAS, EXPONENTIALS, PASSES, RANDOM]
#: Class -> names of the functions whose calls belong to it; the first class that fits counts.
_NAMES = {
    BLAS: r"dot|matmul|d(po|sy|tr|la|ge)[a-z0-9]{2,4}",
    EXPONENTIALS: r"exp|expm1|expit|log|log1p|log_expit|log_ndtr|logsumexp|ndtri?(_exp)?",
    RANDOM: r"standard_\w+|random|uniform|gamma",
}


def ionosphere() -> tuple[np.ndarray, np.ndarray]:
    """Return the 200 training rows of the paper."""
    X, y = load_ionosphere(return_X_y=True)
    return X[:200], y[:200]


#: Name -> data and estimator.
PROBLEMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "classifier, iris doubled, 4 columns": (doubled_iris, MCMCGaussianProcessClassifier()),
    "classifier, ionosphere, 34 columns": (ionosphere, MCMCGaussianProcessClassifier()),
    "regressor, synthetic, 10 columns": (make_gp_regression, MCMCGaussianProcessRegressor()),
}


#: File, number, and function.
Line = tuple[str, int, str]


class Statement(NamedTuple):
    """One statement of the package."""

    path: str
    line: int
    function: str


class Profile(NamedTuple):
    """What was found on one problem.

    Attributes
    ----------
    samples : Counter
        Statement -> samples of the timer.
    counts : dict
        Statement -> executions in an iteration.
    microseconds : float
        CPU time of an iteration.
    """

    samples: Counter[Statement]
    counts: dict[Statement, float]
    microseconds: float

    def cost(self, statement: Statement) -> float:
        """Return the microseconds of an iteration that a statement takes."""
        return self.microseconds * self.samples[statement] / self.samples.total()


@cache
def _statements(path: str) -> dict[int, ast.stmt]:
    """Return the statement of each line; of a compound one its head, with any decorators."""
    found: dict[int, ast.stmt] = {}
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.stmt):
            lines = [node.lineno, *(n.lineno for n in getattr(node, "decorator_list", []))]
            body = getattr(node, "body", None)
            stop = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            found |= dict.fromkeys(range(min(lines), max(stop, max(lines) + 1)), node)
    return found


def _statement(path: str, line: int, function: str) -> Statement:
    node = _statements(path).get(line)
    return Statement(path, node.lineno if node else line, function)


@cache
def kind(statement: Statement) -> tuple[str, str]:
    """Return the class of a statement's work on arrays, and the name of what does it."""
    node = _statements(statement.path)[statement.line]
    body = set(ast.walk(node))
    if hasattr(node, "body"):
        body -= {inner for child in node.body for inner in ast.walk(child)}
    if any(isinstance(n, ast.MatMult) for n in body):
        return BLAS, "@"
    calls = []
    for call in (n.func for n in body if isinstance(n, ast.Call)):
        if isinstance(call, ast.Attribute):
            calls.append((getattr(call.value, "id", ""), call.attr))
        elif isinstance(call, ast.Name):
            calls.append(("", call.id))
    for label, pattern in _NAMES.items():
        for owner, name in calls:
            if owner not in ("math", "self") and re.fullmatch(pattern, name):
                return label, name
    names = [name for owner, name in calls if owner == "np"]
    return PASSES, names[0] if names else f"arithmetic in {_where(statement)}"


def _where(statement: Statement) -> str:
    return f"{Path(statement.path).stem}.{statement.function}"


@contextmanager
def _sampling(samples: Counter[Line]) -> Iterator[None]:
    """Count the package's innermost line whenever the process has used some CPU time."""

    def note(_: int, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        if frame is not None:
            code = frame.f_code
            line = frame.f_lineno or code.co_firstlineno
            samples[code.co_filename, line, code.co_name] += 1

    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _count(run: Callable[[], object]) -> Counter[Statement]:
    """Return how often a function runs each statement of the package."""
    lines: Counter[Line] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event in ("call", "line"):
            lines[frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name] += 1
        return count

    sys.settrace(count)
    run()
    sys.settrace(None)
    counts: Counter[Statement] = Counter()
    for (path, line, function), n in lines.items():
        statement = _statement(path, line, function)
        # The first line of a statement of several lines runs twice, the others once.
        counts[statement] = min(counts.get(statement, n), n)
    return counts


def profile(estimator: Any, X: np.ndarray, y: np.ndarray, seconds: float) -> Profile:
    """Fit an estimator; instead of keeping draws, sample and profile for some time."""
    found: list[Profile] = []
    original = _one_chain._Sampling.iterate

    def run(sampling: Any, n_iterations: int) -> None:
        for _ in range(n_iterations):
            original(sampling)
            for drawn in sampling.draws:
                drawn.n_kept = 0

    def sample(self: Any) -> None:
        if found:
            original(self)
            return
        before = self.n_done, list(self.draws[0].snapshots)
        lines: Counter[Line] = Counter()
        n_iterations = 0
        start = time.process_time()
        with _sampling(lines):
            while time.process_time() - start < seconds:
                run(self, _N_COUNTED)
                n_iterations += _N_COUNTED
        cost = 1e6 * (time.process_time() - start) / n_iterations
        counts = _count(lambda: run(self, _N_COUNTED))
        per_iteration = {s: n / _N_COUNTED for s, n in counts.items()}
        samples: Counter[Statement] = Counter()
        for line, n in lines.items():
            samples[_statement(*line)] += n
        found.append(Profile(samples, per_iteration, cost))
        self.n_done, self.draws[0].snapshots = before
        original(self)

    estimator.set_params(n_chains=1, n_draws=2 * _N_COUNTED, random_state=0)
    with (
        threadpool_limits(1),
        warnings.catch_warnings(),
        mock.patch.object(_one_chain._Sampling, "iterate", sample),
    ):
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
    return found[0]


class Work(NamedTuple):
    """What one statement, or several, cost in an iteration; times in microseconds."""

    calls: float
    inside: float
    overhead: float


def split(large: Profile, small: Profile) -> dict[Statement, Work]:
    """Split the time of every statement into what grows with the rows and what does not."""
    works = {}
    for statement in large.samples.keys() | large.counts.keys():
        cost, calls = large.cost(statement), large.counts.get(statement, 0.0)
        base = small.cost(statement) / small.counts.get(statement, math.inf) * calls
        works[statement] = Work(calls, cost - base, base)
    return works


def _add(works: Sequence[Work]) -> Work:
    return Work(*(sum(column) for column in zip(*works, strict=True)))


def report(title: str, large: Profile, small: Profile) -> None:
    """Print the tables of one problem."""
    works, total = split(large, small), large.microseconds
    n = large.samples.total()
    print(f"\n### {title}\n\n{total / 1e3:.2f} ms an iteration; {n} samples, so that a share has")
    print(f"a standard error of at most {50.0 / math.sqrt(n):.1f} points.\n")
    groups: dict[tuple[str, str], list[Work]] = {}
    functions: defaultdict[str, float] = defaultdict(float)
    for statement, work in works.items():
        groups.setdefault(kind(statement), []).append(work)
        functions[_where(statement)] += work.overhead
    print("| class of work | share | calls an iteration | us a call |\n|---|---|---|---|")
    left = total
    for label in CLASSES:
        names = {name: _add(w) for (one, name), w in groups.items() if one == label}
        whole = _add(list(names.values()))
        left -= whole.inside
        print(f"| **{label}** | {100.0 * whole.inside / total:.1f} % | | |")
        for name, work in sorted(names.items(), key=lambda pair: -pair[1].inside):
            if work.inside > 0.005 * total:
                print(
                    f"| {name} | {100.0 * work.inside / total:.1f} % | {work.calls:.0f} | "
                    f"{work.inside / max(work.calls, 1.0):.1f} |"
                )
    print(f"| **{LEFT}** | {100.0 * left / total:.1f} % | | |")
    print("\n| what is left, by function | share |\n|---|---|")
    for name, overhead in sorted(functions.items(), key=lambda pair: -pair[1])[:15]:
        print(f"| {name} | {100.0 * overhead / total:.1f} % |")


def main() -> None:
    """Run the profiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a second, to see that it runs")
    smoke = parser.parse_args().smoke
    seconds = 0.3 if smoke else 20.0
    for title, (load, estimator) in PROBLEMS.items():
        if smoke:
            estimator.set_params(n_warmup=20)
        X, y = load()
        large = profile(estimator, X, y, seconds)
        rows = [*np.flatnonzero(y == y[0])[:2], *np.flatnonzero(y != y[0])[:2]]
        report(title, large, profile(estimator, X[rows], y[rows], seconds))


if __name__ == "__main__":
    main()
