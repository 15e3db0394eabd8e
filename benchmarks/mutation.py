"""Whether the tests notice faults in the core: one line changed at a time.

For each fault of `benchmarks._mutations` the project is copied and the line changed; then the
tests run that should notice it, and where these pass, the whole default suite. The page that is
printed says which test failed first. A fault that survives needs a new test, or an explanation.

    python -m benchmarks.mutation [--only N,...] [--list] [--targeted]

It takes about half an hour. What is running is told on the error stream.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ._mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
# It fails for every fault, because it compares the list of faults with the code.
_LIST_TEST = "tests/project/test_mutation_list.py"
# Faults may make tests run for ever. Then they are noticed too.
_TIME_LIMIT = 1800.0
_FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PASSED, _NOTHING_RUN = 0, (4, 5)

_PAGE = """# Faults in the core, and the tests that notice them

Written by `python -m benchmarks.mutation`. Of {total} faults of one line each, {killed} are
noticed ({share:.0%}). Seconds are those until the first test fails, on a busy machine.

| | fault | instead of | spoils | noticed by | seconds |
| --- | --- | --- | --- | --- | --- |
{rows}
"""


@dataclass
class Outcome:
    """What became of one fault.

    Attributes
    ----------
    number : int
        Of the mutation.
    killer : str or None
        The first test that failed; None where all passed.
    seconds : float
        Until then.
    """

    number: int
    killer: str | None
    seconds: float


def mutated(mutation: Mutation, source: str) -> str:
    """Return a file's text with the fault in it.

    Raises
    ------
    ValueError
        If the line is not there exactly once.
    """
    n_found = source.count(mutation.old)
    if n_found != 1:
        raise ValueError(
            f"{mutation.old!r} must occur once in {mutation.file}; it occurs {n_found} times. "
            "Adapt the list in benchmarks/_mutations.py to the code."
        )
    return source.replace(mutation.old, mutation.new)


def copy_project(target: Path) -> None:
    """Copy all files that git knows or would take, but for the test of the list itself."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted(set(listed.split("\0")) - {"", _LIST_TEST}):
        if (ROOT / name).is_file():  # others have been deleted
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def try_mutation(number: int, whole_suite: bool) -> Outcome:
    """Make a copy with one fault, and run tests until one fails."""
    mutation = MUTATIONS[number - 1]
    start = time.perf_counter()
    with TemporaryDirectory(prefix="mutation-") as name:
        copy = Path(name)
        copy_project(copy)
        path = copy / "skgpmcmc" / mutation.file
        path.write_text(mutated(mutation, path.read_text()))
        _check_import(copy)
        killer = first_failure(copy, shlex.split(mutation.tests))
        if killer is None and whole_suite:
            killer = first_failure(copy, ["-n", "auto"])
    return Outcome(number, killer, time.perf_counter() - start)


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}


def _check_import(copy: Path) -> None:
    """Make sure that the copy is what its tests import."""
    code = "import importlib.util; print(importlib.util.find_spec('skgpmcmc').origin)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(
        command, cwd=copy, env=_environment(copy), check=True, capture_output=True, text=True
    ).stdout
    if not Path(found.strip()).resolve().is_relative_to(copy.resolve()):
        raise RuntimeError(f"tests would import {found.strip()}, not the changed copy in {copy}.")


def first_failure(copy: Path, arguments: Sequence[str]) -> str | None:
    """Return the first test that fails, None where all pass.

    Raises
    ------
    RuntimeError
        If pytest found no tests.
    """
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=_environment(copy),
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return "(no end within half an hour)"
    if done.returncode == _PASSED:
        return None
    if done.returncode in _NOTHING_RUN:
        raise RuntimeError(f"no tests were run by {shlex.join(command)}: {done.stdout[-500:]}")
    found = _FIRST_FAILURE.search(done.stdout)
    return found.group(1) if found else f"(exit code {done.returncode})"


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the table of results in Markdown."""
    rows = []
    for outcome in outcomes:
        mutation = MUTATIONS[outcome.number - 1]
        killer = "SURVIVED" if outcome.killer is None else _code(outcome.killer)
        where = f"{outcome.number} | `{mutation.file}`: {_code(mutation.new)}"
        what = f"{_code(mutation.old)} | {mutation.spoils} | {killer}"
        rows.append(f"| {where} | {what} | {outcome.seconds:.0f} |")
    killed = sum(outcome.killer is not None for outcome in outcomes)
    total = len(outcomes)
    return _PAGE.format(total=total, killed=killed, share=killed / total, rows="\n".join(rows))


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation")
    parser.add_argument("--only", help="numbers of faults, with commas; all by default")
    parser.add_argument("--list", action="store_true", help="say what they are, and run nothing")
    parser.add_argument(
        "--targeted", action="store_true", help="only the tests that should notice, not all"
    )
    options = parser.parse_args(argv)
    numbers = range(1, len(MUTATIONS) + 1)
    if options.only:
        numbers = [int(number) for number in options.only.split(",")]
    outcomes = []
    for number in numbers:
        mutation = MUTATIONS[number - 1]
        if options.list:
            print(f"{number}: {mutation.file}: {mutation.old}  ->  {mutation.new}")
            continue
        outcome = try_mutation(number, not options.targeted)
        outcomes.append(outcome)
        print(f"{number}: {outcome.killer or 'SURVIVED'}", file=sys.stderr, flush=True)
    if outcomes:
        print(page(outcomes), end="")


if __name__ == "__main__":
    main()
