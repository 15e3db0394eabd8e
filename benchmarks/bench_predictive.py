"""Accuracy on held-out rows, beside scikit-learn's own models.

Data sets that ship with scikit-learn or the package, small training sets, repeated random
splits. Every model sees standardised columns (digits: six whitened principal components), by
a pipeline fitted on the training rows, and its own defaults otherwise. The kernel of
scikit-learn's Gaussian processes has the form of our default (a constant times a squared
exponential with a length scale for each column), wide bounds, and two restarts. The density
of boosted trees is normal with the variance of out-of-fold residuals; of models of counts
Poisson at the fitted rate; the splines' penalty is chosen by cross-validation.

Standard errors are over the splits of one data set; the splits share rows, so that they say
how the mean over training sets of this data set is known, not how other data would do.

    python -m benchmarks.bench_predictive [--smoke] [--n-splits N] [--output FILE.csv]
        [--problems a,b] [--n-jobs N]
"""

from __future__ import annotations

import argparse
import csv
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from ._predictive_models import (
    DEFAULT,
    FAMILIES,
    METRICS,
    Scores,
    calibration_error,
    describe,
    make_models,
    score,
)
from ._predictive_problems import PROBLEMS, SEED, Problem

_SMOKE_PROBLEMS = ["irises-2", "coal-mining"]
_SMOKE_CHAINS = {"n_warmup": 20, "n_draws": 20, "n_chains": 2}
_CALIBRATION = "calibration error"


@dataclass(frozen=True)
class Result:
    """One model on one split."""

    family: str
    model: str
    scores: Scores
    seconds: float
    warned: bool


def run(
    problem: Problem,
    family: str,
    split: int,
    rows: tuple[np.ndarray, np.ndarray],
    chains: dict[str, int],
) -> Result:
    """Fit one model on one split, and score it."""
    X, y = problem.load()
    train, test = rows
    n_columns = problem.n_components or X.shape[1]
    models = make_models(problem.kind, n_columns, len(np.unique(y)), chains, SEED + split)
    pipeline = make_pipeline(*problem.transformers(), models[family])
    with (
        threadpool_limits(limits=1),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", ConvergenceWarning)
        start = time.process_time()
        pipeline.fit(X[train], y[train])
        seconds = time.process_time() - start
    warned = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in (w for w in caught if w not in warned):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    with threadpool_limits(limits=1):
        scores = score(problem.kind, pipeline, X[test], y[test])
    return Result(family, describe(models[family]), scores, seconds, bool(warned))


def run_all(
    problems: list[Problem], n_splits: int, chains: dict[str, int], n_jobs: int
) -> Iterator[tuple[Problem, dict[str, list[Result]]]]:
    """Yield each problem with the results of each family, in the order of the splits."""
    tasks = []
    for problem in problems:
        X, y = problem.load()
        families = make_models(problem.kind, X.shape[1], len(np.unique(y)), chains, SEED)
        for split, rows in enumerate(problem.splits(n_splits)):
            tasks += [(problem, family, split, rows, chains) for family in families]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="all", batch_size=1)
    outcomes = parallel(delayed(run)(*task) for task in tasks)
    for problem in problems:
        results = defaultdict(list)
        for _ in range(sum(task[0] is problem for task in tasks)):
            result = next(outcomes)
            results[result.family].append(result)
        yield problem, dict(results)


def values(results: list[Result], metric: str) -> np.ndarray:
    """Return a metric on each split."""
    return np.array([result.scores.metrics[metric] for result in results])


def mean_and_error(sample: np.ndarray) -> tuple[float, float]:
    """Return the mean, and its standard error (NaN for a single split)."""
    error = sample.std(ddof=1) / math.sqrt(len(sample)) if len(sample) > 1 else math.nan
    return float(sample.mean()), float(error)


def show(sample: np.ndarray, form: str = ".3f") -> str:
    """Return the mean with its standard error, if there is one."""
    mean, error = mean_and_error(sample)
    return f"{mean:{form}}" if math.isnan(error) else f"{mean:{form}} ({error:.3f})"


def pooled_calibration(results: list[Result]) -> float | None:
    """Return the calibration error over the test rows of all splits, if there is one."""
    if results[0].scores.confidence is None:
        return None
    parts = [(r.scores.confidence, r.scores.correct) for r in results]
    return calibration_error(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def print_problem(problem: Problem, results: dict[str, list[Result]]) -> None:
    """Print the table of one problem."""
    metrics = METRICS[problem.kind]
    is_classification = problem.kind == "classification"
    n_columns = problem.n_components or problem.load()[0].shape[1]
    n_splits = len(results[DEFAULT])
    print(
        f"\n### {problem.name}: {problem.kind}, {problem.n_train} training rows, "
        f"{n_columns} columns, {n_splits} splits\n"
    )
    extra = [_CALIBRATION] if is_classification else []
    header = ["model", *metrics, *extra, f"{metrics[0]} - that of {DEFAULT}", "fit, CPU s"]
    print_row([*header, "fits warned"])
    print_row(["---"] * (len(header) + 1))
    for family, runs in results.items():
        cells = [f"{family}: {runs[0].model}"]
        for metric in metrics:
            cells.append(show(values(runs, metric)))
        if is_classification:
            cells.append(f"{pooled_calibration(runs):.3f}")
        difference = values(runs, metrics[0]) - values(results[DEFAULT], metrics[0])
        shown = "" if family == DEFAULT else show(difference, "+.3f")
        seconds = np.mean([r.seconds for r in runs])
        warned = np.mean([r.warned for r in runs])
        print_row([*cells, shown, f"{seconds:.2f}", f"{warned:.0%}"])


def print_row(cells: list[str]) -> None:
    """Print one row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def compare(ours: np.ndarray, other: np.ndarray) -> int:
    """Return -1, 0 or 1: `other` is better, level or worse, beyond two standard errors."""
    mean, error = mean_and_error(other - ours)
    # A single split has no standard error, and decides nothing.
    return int(np.sign(mean)) if abs(mean) > 2.0 * error else 0


def read_csv(paths: list[Path]) -> list[tuple[Problem, dict[str, np.ndarray]]]:
    """Return the first metric of every model on the splits of every problem, from CSV files."""
    found: dict[str, dict[str, list[float]]] = {}
    for path in paths:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row["metric"] == METRICS[row["kind"]][0]:
                    families = found.setdefault(row["problem"], defaultdict(list))
                    families[row["family"]].append(float(row["value"]))
    return [
        (PROBLEMS[name], {family: np.array(v) for family, v in families.items()})
        for name, families in found.items()
    ]


def print_summary(outcomes: list[tuple[Problem, dict[str, np.ndarray]]]) -> None:
    """Print the first metric of every model on every problem, and who wins."""
    print("\n### Summary: log loss, or negative log density (mass) a row; smaller is better\n")
    print_row(["problem", *FAMILIES])
    print_row(["---"] * (len(FAMILIES) + 1))
    versus: dict[str, list[int]] = {family: [] for family in FAMILIES}
    among_best = dict.fromkeys(FAMILIES, 0)
    for problem, first in outcomes:
        best = min(first, key=lambda family: first[family].mean())
        cells = []
        for family in FAMILIES:
            if family not in first:
                cells.append("")
                continue
            number = f"{first[family].mean():.3f}"
            cells.append(f"**{number}**" if family == best else number)
            versus[family].append(compare(first[DEFAULT], first[family]))
            among_best[family] += compare(first[best], first[family]) == 0
        print_row([f"{problem.name} ({problem.kind})", *cells])
    counts = [f"{among_best[f]} of {len(versus[f])}" for f in FAMILIES]
    print_row(["best, or within 2 standard errors of the best", *counts])
    records = [f"{v.count(-1)} / {v.count(0)} / {v.count(1)}" for v in versus.values()]
    records[0] = ""
    print_row([f"better / level / worse than {DEFAULT}", *records])


def write_csv(path: Path, problem: Problem, results: dict[str, list[Result]], new: bool) -> None:
    """Write the metrics of one problem, a row for each; append unless `new`."""
    with path.open("w" if new else "a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["problem", "kind", "family", "model", "split", "metric", "value"])
        for family, runs in results.items():
            key = [problem.name, problem.kind, family, runs[0].model]
            for split, result in enumerate(runs):
                numbers = {
                    **result.scores.metrics,
                    "fit, CPU s": result.seconds,
                    "warned": float(result.warned),
                }
                writer.writerows([*key, split, name, number] for name, number in numbers.items())
            if (pooled := pooled_calibration(runs)) is not None:
                writer.writerow([*key, "all", _CALIBRATION, pooled])


def main() -> None:
    """Run the battery."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--n-splits", type=int, default=5)
    parser.add_argument("--output", type=Path, help="CSV file")
    parser.add_argument("--problems", help=f"some of {','.join(PROBLEMS)}")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument(
        "--summary", type=Path, nargs="+", help="run nothing; print the summary of CSV files"
    )
    options = parser.parse_args()
    if options.summary:
        print_summary(read_csv(options.summary))
        return
    names = options.problems.split(",") if options.problems else list(PROBLEMS)
    if options.smoke and not options.problems:
        names = _SMOKE_PROBLEMS
    if unknown := set(names) - set(PROBLEMS):
        parser.error(f"unknown problems {sorted(unknown)}; there are {', '.join(PROBLEMS)}")
    n_splits = 1 if options.smoke else options.n_splits
    chains = _SMOKE_CHAINS if options.smoke else {}
    outcomes = []
    print(f"random_state of the splits: {SEED}; of the models: {SEED} + the number of the split")
    problems = [PROBLEMS[name] for name in names]
    for outcome in run_all(problems, n_splits, chains, options.n_jobs):
        print_problem(*outcome)
        if options.output:
            write_csv(options.output, *outcome, new=not outcomes)
        problem, results = outcome
        metric = METRICS[problem.kind][0]
        outcomes.append((problem, {f: values(runs, metric) for f, runs in results.items()}))
    print_summary(outcomes)


if __name__ == "__main__":
    main()
