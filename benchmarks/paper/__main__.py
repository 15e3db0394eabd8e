"""Run the experiments of Murray and Adams (2010), and report.

    python -m benchmarks.paper                    the paper's protocol (hours)
    python -m benchmarks.paper --quick            short chains (ten minutes on two cores)
    python -m benchmarks.paper --problems mining --report

Every finished chain is a file in `chains/` of the output folder: a run that was stopped goes on
where it was. Tables, figure and README.md are written to `results/`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from .figure import draw_figures
from .problems import (
    PROBLEMS,
    QUICK_PROBLEMS,
    SMOKE,
    SMOKE_METHODS,
    SMOKE_PROBLEMS,
    Lengths,
)
from .report import write_report
from .results import collect
from .runner import Task, make_tasks, run_tasks

_HERE = Path(__file__).parent


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = _parse(arguments)
    if options.output is not None:
        _run(options, options.output)
    elif options.smoke:
        with tempfile.TemporaryDirectory() as folder:
            _run(options, Path(folder))
    else:
        _run(options, _HERE / "quick" if options.quick else _HERE)


def _run(options: argparse.Namespace, output: Path) -> None:
    chains, results = output / "chains", output / "results"
    tasks = {problem: _tasks(problem, options) for problem in options.problems}
    if not options.report:
        # The first chain of every problem before the second of any.
        order = sorted((t for group in tasks.values() for t in group), key=lambda t: t.chain)
        n_run = run_tasks(order, chains, options.n_jobs)
        print(f"{n_run} chains run, {len(order) - n_run} were there\n")
    for group in tasks.values():
        collect(group, chains, results)
    draw_figures(results)
    print(write_report(results))


def _tasks(problem: str, options: argparse.Namespace) -> list[Task]:
    methods = [
        name
        for name in PROBLEMS[problem].methods
        if options.methods is None or name in options.methods
    ]
    return make_tasks(problem, methods, _lengths(problem, options))


def _lengths(problem: str, options: argparse.Namespace) -> Lengths:
    lengths = PROBLEMS[problem].full
    if options.quick:
        lengths = PROBLEMS[problem].quick
    if options.smoke:
        lengths = SMOKE
    given = {name: getattr(options, name) for name in Lengths._fields}
    return lengths._replace(**{name: n for name, n in given.items() if n is not None})


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="short chains, ten minutes")
    size.add_argument("--smoke", action="store_true", help="two problems, to see that it runs")
    parser.add_argument("--problems", type=_names, help=f"of {','.join(PROBLEMS)}; default: all")
    parser.add_argument("--methods", type=_names, help="comma-separated; default: all that apply")
    parser.add_argument("--n-chains", type=int, help="chains of each method; default: 10")
    parser.add_argument("--n-warmup", type=int, help="iterations of burn-in; default: 1000")
    parser.add_argument("--n-draws", type=int, help="iterations kept; default: the protocol's")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes; default: 2")
    parser.add_argument("--output", type=Path, help="folder of chains/ and results/")
    parser.add_argument("--report", action="store_true", help="run nothing, report what is there")
    options = parser.parse_args(arguments)
    if options.smoke:
        options.methods = options.methods or SMOKE_METHODS
    options.problems = options.problems or _default_problems(options)
    _check(parser, "--problems", options.problems, list(PROBLEMS))
    known = {method for problem in options.problems for method in PROBLEMS[problem].methods}
    _check(parser, "--methods", options.methods or [], sorted(known))
    return options


def _default_problems(options: argparse.Namespace) -> list[str]:
    if options.smoke:
        return SMOKE_PROBLEMS
    return QUICK_PROBLEMS if options.quick else list(PROBLEMS)


def _names(text: str) -> list[str]:
    return text.split(",")


def _check(
    parser: argparse.ArgumentParser, option: str, given: list[str], allowed: list[str]
) -> None:
    for name in given:
        if name not in allowed:
            parser.error(f"{option} must be of {', '.join(allowed)}; got {name!r}")


if __name__ == "__main__":
    main()
