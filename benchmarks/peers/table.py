"""The ratios as a Markdown page, and a CSV file with a row for each run."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .packages import OURS, PACKAGES
from .results import Entry, Estimate, largest_difference, ratio

#: Problem -> package -> what came out.
Entries = Mapping[str, Mapping[str, Entry]]

_HEAD = [
    "problem",
    "package",
    "seeds x chains x (warm-up + draws)",
    "evaluations a draw",
    "CPU s of warm-up",
    "CPU s of sampling",
    "smallest ESS per CPU s of sampling",
    "ours / it",
    "the same, warm-up counted",
    "ours / it",
    "sampling, seeds pooled",
    "R-hat",
    "means apart",
    "slowest",
    "divergences",
]

_INTRODUCTION = """# Our package beside others

Written by `python -m benchmarks.peers`, everything in this table in one run; the priors, the
data and the units are in `benchmarks/peers/README.md`. Ours is the public estimator with its
default settings. ESS: rank-normalised bulk effective sample size over all chains of a seed,
the smallest of all log hyperparameters, the mean offset and the complete-data log-likelihood.
CPU seconds of one thread, all chains of a seed together, mean over the seeds; compilation is in
neither phase. In parentheses: standard errors over the seeds. Seeds pooled: the same figure of
sampling, ESS over the chains of all seeds. It does more justice to short runs: the smallest of
many noisy estimates is too small. R-hat: the largest, over the chains of all seeds. Means apart:
the largest difference from our posterior means, in Monte Carlo standard errors of both.
"""


def make_page(entries: Entries, fits: Mapping[str, float], machine: Mapping[str, object]) -> str:
    """Return the page.

    Parameters
    ----------
    entries : mapping
        Problem -> package -> its entry.
    fits : mapping
        Problem -> CPU seconds of scikit-learn's fit.
    machine : mapping
        What the seconds depend on.
    """
    rows = [
        _cells(problem, package, entry, packages.get(OURS))
        for problem, packages in entries.items()
        for package, entry in packages.items()
    ]
    parts = [_INTRODUCTION, _table([_HEAD, ["---"] * len(_HEAD), *rows])]
    if fits:
        seconds = ", ".join(f"{name} {value:.2g} s" for name, value in fits.items())
        parts.append(
            "scikit-learn's Gaussian processes with the same kernel and bounds find one "
            f"setting of the hyperparameters and draw nothing; CPU time of `fit`: {seconds}.\n"
        )
    versions: dict[str, object] = {}
    for packages in entries.values():
        for package, entry in packages.items():
            versions[PACKAGES[package].title] = _listed(entry.versions)
    parts.append(f"Versions: {_listed(versions, ': ', '; ')}. Machine: {_listed(machine)}.\n")
    return "\n".join(parts)


def _cells(problem: str, package: str, entry: Entry, ours: Entry | None) -> list[str]:
    rows, first = entry.rows, entry.rows[0]
    n = len(rows)
    cells = [problem, PACKAGES[package].title]
    cells.append(f"{n} x {first.n_chains} x ({first.n_warmup} + {first.n_draws})")
    evaluations = sum(row.evaluations for row in rows) / n
    cells.append(f"{evaluations:.3g} {PACKAGES[package].unit}")
    cells += [f"{sum(row.warmup_seconds for row in rows) / n:.3g}"]
    cells += [f"{sum(row.seconds for row in rows) / n:.3g}"]
    is_peer = package != OURS and ours is not None
    for with_warmup in (False, True):
        rate = entry.rate(with_warmup=with_warmup)
        cells.append(with_error(rate))
        own = ours.rate(with_warmup=with_warmup) if is_peer and ours is not None else None
        cells.append("" if own is None else with_error(ratio(own, rate)))
    cells += [f"{entry.pooled_rate():.3g}", f"{entry.worst_rhat():.3f}"]
    cells.append(f"{largest_difference(ours, entry):.1f}" if is_peer and ours is not None else "")
    names = list(dict.fromkeys(row.slowest for row in rows))
    cells += [", ".join(f"`{name}`" for name in names), str(sum(r.divergences for r in rows))]
    return cells


def with_error(estimate: Estimate) -> str:
    """Return value (error), the value to three digits and to the error's place."""
    value, error = estimate
    if math.isnan(value):
        return "-"
    places = 2 if value == 0.0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f} ({'-' if math.isnan(error) else f'{error:.{places}f}'})"


def _listed(values: Mapping[str, object], between: str = " ", after: str = ", ") -> str:
    return after.join(f"{key}{between}{value}" for key, value in values.items())


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_rows(path: Path, entries: Entries) -> None:
    """Write a row for each run."""
    rows = [
        asdict(row) | {"rate": row.rate, "rate_with_warmup": row.rate_with_warmup}
        for packages in entries.values()
        for entry in packages.values()
        for row in entry.rows
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
