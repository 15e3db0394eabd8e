"""What the results say: ranks, differences, and where we lose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .catalogue import CLASSES, COUNTS, NUMBERS
from .running import losses, paired

OURS = "ours"
#: Methods of which "not worse than the better of them" is asked.
SIMPLE = ["linear", "gp-iso", "gp-ard"]

Rows = Sequence[Mapping[str, str]]
_TITLES = {
    CLASSES: "classes, log loss",
    NUMBERS: "numbers, negative log density",
    COUNTS: "counts, Poisson deviance",
}


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error; NaN where it has none."""
    if len(values) == 0:
        return math.nan, math.nan
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), float(error)


def mean_ranks(rows: Rows, base: str = OURS) -> dict[str, tuple[int, float, float, float]]:
    """Return method -> number of tables, mean rank, mean of its rank minus ours, its error.

    Ranks are among the methods that every table has, by the mean over the splits of a table.
    """
    means = _means(losses(rows))
    if not means:
        return {}
    methods = sorted(set.intersection(*(set(of) for of in means.values())))
    ranks = np.array([rankdata([of[m] for m in methods]) for of in means.values()])
    reference = ranks[:, methods.index(base)]
    found = {}
    for number, method in enumerate(methods):
        own = ranks[:, number]
        found[method] = (len(own), float(own.mean()), *mean_and_error(own - reference))
    return dict(sorted(found.items(), key=lambda item: item[1][1]))


def _means(found: Mapping[str, Mapping[str, Mapping[int, float]]]) -> dict[str, dict]:
    return {
        table: {method: float(np.mean(list(of.values()))) for method, of in methods.items()}
        for table, methods in found.items()
    }


def mean_differences(
    rows: Rows, base: str = OURS, measure: str = "loss"
) -> dict[str, tuple[int, float, float]]:
    """Return method -> number of tables, mean of its loss minus ours, the error over tables."""
    by_method: dict[str, list[float]] = {}
    for methods in losses(rows, measure).values():
        for method, of in methods.items():
            if method != base and base in methods:
                difference = paired(of, methods[base])
                if len(difference):
                    by_method.setdefault(method, []).append(difference.mean())
    return {m: (len(d), *mean_and_error(np.array(d))) for m, d in by_method.items()}


def differences(
    rows: Rows, method: str, base: str = OURS, measure: str = "loss"
) -> dict[str, tuple[float, float]]:
    """Return table -> mean over the splits of a method's loss minus ours, and its error."""
    return {
        table: mean_and_error(paired(methods[method], methods[base]))
        for table, methods in losses(rows, measure).items()
        if method in methods and base in methods
    }


def defeats(
    rows: Rows, others: Sequence[str] | None = None, base: str = OURS
) -> list[tuple[str, str, float, float]]:
    """Return (table, best other, ours minus its loss, error) where that is over two errors.

    Splits of a table share rows: the errors say how the mean over training sets of this table is
    known.
    """
    found = []
    for table, methods in losses(rows).items():
        means = _means({table: methods})[table]
        rivals = [m for m in means if m != base and (others is None or m in others)]
        rivals = [m for m in rivals if others is not None or not m.startswith(f"{OURS}-")]
        if base not in means or not rivals:
            continue
        best = min(rivals, key=lambda m: means[m])
        mean, error = mean_and_error(paired(methods[base], methods[best]))
        if mean > 2.0 * error:
            found.append((table, best, mean, error))
    return sorted(found, key=lambda item: -item[2])


def make_page(rows: Rows, base: str = OURS) -> str:
    """Return the report as Markdown."""
    parts = []
    for kind, title in _TITLES.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        if of_kind:
            parts.append(_section(title, of_kind, base))
    parts.append(_section("all kinds, methods that all of them have", rows, base, losses_too=False))
    for title, others in (("any other method", None), (f"the best of {', '.join(SIMPLE)}", SIMPLE)):
        lines = [
            [table, best, f"{mean:.4f} ({error:.4f})"]
            for table, best, mean, error in defeats(rows, others, base)
        ]
        parts.append(f"## Worse than {title} by over two standard errors\n")
        parts.append(_table(["table", "best other", f"{base} - it (error)"], lines))
    return "\n".join(parts)


def _section(title: str, rows: Rows, base: str, losses_too: bool = True) -> str:
    ranks = mean_ranks(rows, base)
    gaps = mean_differences(rows, base) if losses_too else {}
    head = ["method", "tables", "mean rank", f"rank - {base}'s (error)"]
    head += [f"loss - {base}'s (error)", *_EXTRA]
    lines = []
    for method in [*ranks, *(m for m in gaps if m not in ranks)]:
        n, rank, mean, error = ranks.get(method, (gaps.get(method, (0,))[0], *[math.nan] * 3))
        gap = gaps.get(method)
        lines.append(
            [method, str(n), _number(rank, 2), _with_error(mean, error, 2)]
            + ["" if gap is None else _with_error(gap[1], gap[2], 4)]
            + [_number(_mean_of(rows, method, name), 3) for name in _EXTRA]
        )
    return f"## {title[0].upper()}{title[1:]}\n\n" + _table(head, lines)


_EXTRA = ["nlpd", "brier", "error", "calibration", "coverage", "fit_seconds"]


def _mean_of(rows: Rows, method: str, name: str) -> float:
    """Return the mean over tables of a measure."""
    means = _means(losses(rows, name))
    known = [of[method] for of in means.values() if method in of]
    return float(np.mean(known)) if known else math.nan


def _number(value: float, places: int) -> str:
    return "" if math.isnan(value) else f"{value:.{places}f}"


def _with_error(value: float, error: float, places: int) -> str:
    return "" if math.isnan(value) else f"{value:+.{places}f} ({_number(error, places)})"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    everything = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in everything)


def draw(rows: Rows, path: Path, base: str = OURS) -> None:
    """Draw, for each kind, the losses of all methods on all tables, less ours."""
    from matplotlib.figure import Figure

    kinds = [kind for kind in _TITLES if any(row["kind"] == kind for row in rows)]
    figure = Figure(figsize=(5.0 * len(kinds), 0.25 * _most_tables(rows, kinds) + 1.5))
    for number, kind in enumerate(kinds):
        axes = figure.add_subplot(1, len(kinds), number + 1)
        _draw_kind(axes, [row for row in rows if row["kind"] == kind], base)
        axes.set_title(_TITLES[kind])
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _most_tables(rows: Rows, kinds: Sequence[str]) -> int:
    return max(len({row["table"] for row in rows if row["kind"] == kind}) for kind in kinds)


def _draw_kind(axes: Any, rows: Rows, base: str) -> None:
    tables = sorted({row["table"] for row in rows}, reverse=True)
    methods = [m for m in dict.fromkeys(row["method"] for row in rows) if m != base]
    for number, method in enumerate(methods):
        found = differences(rows, method, base)
        places = [tables.index(table) + 0.08 * (number - len(methods) / 2) for table in found]
        means, errors = np.array(list(found.values())).reshape(-1, 2).T
        axes.errorbar(means, places, xerr=errors, fmt="o", markersize=3, label=method)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=0.02)
    axes.set_yticks(range(len(tables)), tables)
    axes.set_xlabel(f"loss less that of {base}")
    axes.legend(fontsize="x-small")
