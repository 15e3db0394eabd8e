"""Run methods on the tables, or report what was run.

    python -m benchmarks.tables run --output FILE.csv [--methods a,b] [--tables a,b]
        [--half choose|report] [--kind classes|numbers|counts] [--splits N] [--rows N]
        [--chains short]
    python -m benchmarks.tables report FILE.csv [FILE.csv ...] [--half report] [--picture F.png]
    python -m benchmarks.tables list
    python -m benchmarks.tables --smoke

What a file holds is not run again. One process, one thread; two processes may share a file
if they have different tables.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .catalogue import CHOOSE, CLASSES, COUNTS, NUMBERS, REPORT, TABLES, Table
from .methods import other_methods
from .ours import SEARCH, SHORT, SMOKE, our_methods
from .report import OURS, draw, make_page
from .running import Plan, read_rows, run

_CHAINS: dict[str, dict[str, int]] = {
    "default": {},
    "short": SHORT,
    "search": SEARCH,
    "smoke": SMOKE,
}
_SMOKE_TABLES = ["iris", "diabetes", "coal-mining"]


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.smoke:
        smoke()
    elif options.command is None:
        parser.error("say run, report or list, or --smoke")
    else:
        options.act(parser, options)


def smoke() -> None:
    """Run tiny chains and two other methods on tables that need no further package."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "smoke.csv"
        methods = {**our_methods(SMOKE), **other_methods()}
        chosen = {name: methods[name] for name in (OURS, "linear")}
        run(Plan([TABLES[name] for name in _SMOKE_TABLES], chosen, 2), path)
        print(make_page(read_rows([path])))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    available = {**our_methods(_CHAINS[options.chains]), **other_methods()}
    names = options.methods.split(",") if options.methods else [OURS, *other_methods()]
    methods = {name: _get(parser, "method", available, name) for name in names}
    print_halves(_chosen_tables(parser, options))
    run(
        Plan(_chosen_tables(parser, options), methods, options.splits, options.rows), options.output
    )


def _report(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    rows = [
        row
        for row in read_rows(options.files)
        if options.half in (None, row["half"]) and options.kind in (None, row["kind"])
    ]
    if options.methods:
        wanted = {options.base, *options.methods.split(",")}
        rows = [row for row in rows if row["method"] in wanted]
    print(make_page(rows, options.base))
    if options.picture:
        draw(rows, options.picture, options.base)


def _list(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    print_halves(list(TABLES.values()))


def print_halves(tables: list[Table]) -> None:
    """Print which tables may choose defaults, and which report them."""
    for half in (CHOOSE, REPORT):
        names = [f"{table.name} ({table.kind})" for table in tables if table.half == half]
        print(f"{half}: {', '.join(names) or 'none'}", flush=True)


def _chosen_tables(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Table]:
    names = options.tables.split(",") if options.tables else list(TABLES)
    tables = [_get(parser, "table", TABLES, name) for name in names]
    return [
        table
        for table in tables
        if options.half in (None, table.half) and options.kind in (None, table.kind)
    ]


def _get(parser: argparse.ArgumentParser, what: str, known: Mapping[str, Any], name: str) -> Any:
    if name not in known:
        parser.error(f"unknown {what} {name!r}; there are {', '.join(known)}")
    return known[name]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--smoke", action="store_true", help="tiny chains; writes nothing")
    commands = parser.add_subparsers(dest="command")
    selection = argparse.ArgumentParser(add_help=False)
    selection.add_argument("--methods", help="names; default: ours and all others")
    selection.add_argument("--half", choices=[CHOOSE, REPORT])
    selection.add_argument("--kind", choices=[CLASSES, NUMBERS, COUNTS])
    running = commands.add_parser("run", parents=[selection])
    running.add_argument("--output", type=Path, required=True, help="CSV file")
    running.add_argument("--tables", help="names; default: all")
    running.add_argument("--splits", type=int, default=10)
    running.add_argument("--rows", type=int, help="at most so many training rows")
    running.add_argument("--chains", choices=list(_CHAINS), default="default")
    running.set_defaults(act=_run)
    reporting = commands.add_parser("report", parents=[selection])
    reporting.add_argument("files", type=Path, nargs="+", help="CSV files")
    reporting.add_argument("--base", default=OURS, help="method that others are compared with")
    reporting.add_argument("--picture", type=Path, help="picture to draw")
    reporting.set_defaults(act=_report)
    commands.add_parser("list").set_defaults(act=_list)
    return parser


if __name__ == "__main__":
    main()
