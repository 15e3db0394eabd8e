"""Measure our package and every peer that is installed, and print the ratios.

    python -m benchmarks.peers
    python -m benchmarks.peers --peer numpyro=envs/numpyro/bin/python --seeds 1
    python -m benchmarks.peers --smoke       only ours, tiny chains; writes nothing

Every run is a process of its own on one thread, one after the other; seed by seed, so that
whatever slows the machine down slows all packages down. Peers that another environment holds are
named by its interpreter.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from ..paper.machine import describe_machine
from .exchange import Lengths, Problem, Run
from .packages import OURS, PACKAGES, find_interpreters, run_package
from .point_estimate import LIKELIHOODS, fit_seconds
from .problems import PEER_LENGTHS, load_problem
from .results import make_entry
from .table import make_page, write_rows

_PAGE = Path(__file__).parents[1] / "results" / "peers.md"
_SMOKE = Lengths(5, 10, 2)


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1; got {options.seeds}")
    names = [OURS] if options.smoke else options.packages
    try:
        interpreters = find_interpreters(names, dict(options.peer))
    except ValueError as error:
        parser.error(str(error))
    for name in set(names) - set(interpreters):
        requirements = f"benchmarks/peers/requirements-{name}.txt"
        print(f"{name} is not installed: pip install -r {requirements}", file=sys.stderr)
    problems = {name: load_problem(name) for name in options.problems}
    with tempfile.TemporaryDirectory() as scratch:
        runs = _run_all(problems, interpreters, options, options.keep or Path(scratch))
    # On a busy machine, threads that wait for each other take many times as long.
    with threadpool_limits(1):
        entries = {
            name: {
                package: make_entry(problems[name], package, seeds) for package, seeds in of.items()
            }
            for name, of in runs.items()
        }
        fits = {
            name: fit_seconds(problem)
            for name, problem in problems.items()
            if problem.likelihood in LIKELIHOODS and not options.smoke
        }
    page = make_page(entries, fits, describe_machine())
    print(page)
    if not options.smoke:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(page, encoding="utf-8")
        write_rows(options.output.with_suffix(".csv"), entries)


def _run_all(
    problems: dict[str, Problem],
    interpreters: dict[str, str],
    options: argparse.Namespace,
    folder: Path,
) -> dict[str, dict[str, dict[int, Run]]]:
    """Return the runs by problem, package and seed."""
    folder.mkdir(parents=True, exist_ok=True)
    runs: dict = {name: {package: {} for package in interpreters} for name in problems}
    for seed in range(1 if options.smoke else options.seeds):
        for name, problem in problems.items():
            problem.save(folder / f"{name}.npz")
            for package, interpreter in interpreters.items():
                if (
                    package != OURS
                    and options.peer_seeds is not None
                    and seed >= options.peer_seeds
                ):
                    continue
                path = folder / f"{name}-{package}-seed{seed}.npz"
                if not path.exists():
                    lengths = _lengths(name, package, options)
                    run_package(package, interpreter, folder / f"{name}.npz", path, seed, lengths)
                run = Run.load(path)
                runs[name][package][seed] = run
                costs = f"{run.warmup_seconds.sum():.1f} + {run.seconds.sum():.1f} CPU s"
                print(f"{name}, {package}, seed {seed}: {costs}", file=sys.stderr, flush=True)
    return runs


def _lengths(problem: str, package: str, options: argparse.Namespace) -> Lengths:
    """Return how long chains are: ours as long as a user gets them."""
    if package == OURS:
        return _SMOKE if options.smoke else Lengths()
    given = {name: getattr(options, f"peer_{name}") for name in Lengths.__dataclass_fields__}
    return replace(PEER_LENGTHS[problem], **{k: n for k, n in given.items() if n is not None})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--smoke", action="store_true", help="only ours, tiny chains")
    parser.add_argument(
        "--problems",
        type=_names(list(PEER_LENGTHS)),
        default=["ionosphere", "synthetic"],
        help=f"of {','.join(PEER_LENGTHS)}; default: ionosphere,synthetic",
    )
    parser.add_argument(
        "--packages",
        type=_names(list(PACKAGES)),
        default=list(PACKAGES),
        help=f"of {','.join(PACKAGES)}; default: all that are installed",
    )
    parser.add_argument(
        "--peer",
        type=_interpreter,
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="interpreter that has a peer; default: the one that runs this",
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of each package; default: 5")
    parser.add_argument("--peer-seeds", type=int, help="runs of each peer, where fewer are wanted")
    for name, what in (
        ("warmup", "iterations of warm-up"),
        ("draws", "draws"),
        ("chains", "chains"),
    ):
        parser.add_argument(f"--peer-n-{name}", type=int, help=f"{what} of each run of a peer")
    parser.add_argument("--output", type=Path, default=_PAGE, help="default: %(default)s")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep runs here, and use those that are here"
    )
    return parser


def _names(allowed: list[str]) -> object:
    def names(text: str) -> list[str]:
        given = text.split(",")
        for name in given:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"must be of {', '.join(allowed)}; got {name!r}")
        return given

    return names


def _interpreter(text: str) -> tuple[str, str]:
    name, _, interpreter = text.partition("=")
    peers = [package for package in PACKAGES if package != OURS]
    if name not in peers or not interpreter:
        raise argparse.ArgumentTypeError(
            f"must be NAME=PYTHON with a name of {', '.join(peers)}; got {text!r}"
        )
    # Not resolved: in a virtual environment it is a link.
    return name, str(Path(interpreter).absolute())


if __name__ == "__main__":
    main()
