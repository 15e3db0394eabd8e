"""Leave-one-out estimates from one fit, and fits without each row: how far apart, how dear.

Six data sets of 30 to 60 rows, each with three kernels. For every row `loo` of the one fit is
compared with the log predictive density under a fit without the row; both have Monte Carlo errors,
and so have their differences.

    python -m benchmarks.bench_loo [--smoke] [--jobs 2] [--sets coal,iris-2]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    WhiteKernel,
)
from threadpoolctl import threadpool_limits

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.datasets import load_coal_mining

LENGTH = {"n_chains": 2, "n_warmup": 50, "n_draws": 150}
SMOKE = {"n_chains": 2, "n_warmup": 5, "n_draws": 20}
KERNELS = {
    "smooth": lambda p: ConstantKernel() * RBF(np.ones(p)),
    "rough": lambda p: ConstantKernel() * Matern(np.ones(p), nu=0.5),
    "linear": lambda p: ConstantKernel() * DotProduct(),
}

Data = tuple[np.ndarray, np.ndarray]


class Problem(NamedTuple):
    """Data, the estimator, and whether its kernel needs white noise."""

    load: Callable[[], Data]
    estimator: Any
    noise: bool = False


def standardised(X: np.ndarray, y: np.ndarray) -> Data:
    """Return rows whose columns have mean zero and variance one."""
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def two_irises() -> Data:
    """Return every second row of the two species that overlap."""
    X, y = load_iris(return_X_y=True)
    return standardised(X[y > 0][::2], y[y > 0][::2])


def three_irises() -> Data:
    """Return every fourth row, three species."""
    X, y = load_iris(return_X_y=True)
    return standardised(X[::4], y[::4])


def coal() -> Data:
    """Return disasters in every second year."""
    X, y = load_coal_mining(return_X_y=True)
    return standardised(X[::2], y[::2])


def waves(noise: str) -> Data:
    """Return a sine with noise, 40 rows."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-2.0, 2.0, 40))[:, np.newaxis]
    f = np.sin(3.0 * X[:, 0])
    if noise == "counts":
        return X, rng.negative_binomial(3, 3.0 / (3.0 + np.exp(1.0 + f)))
    return X, f + 0.2 * rng.standard_t(3, 40)


def diabetes() -> Data:
    """Return three columns of 50 rows."""
    X, y = load_diabetes(return_X_y=True)
    return standardised(X[:50][:, [2, 3, 8]], (y[:50] - y[:50].mean()) / y[:50].std())


PROBLEMS = {
    "iris-2": Problem(two_irises, MCMCGaussianProcessClassifier()),
    "iris-3": Problem(three_irises, MCMCGaussianProcessClassifier(multi_class="softmax")),
    "coal": Problem(coal, MCMCCoxProcessRegressor()),
    "overdispersed": Problem(
        lambda: waves("counts"), MCMCCoxProcessRegressor(likelihood="negative-binomial")
    ),
    "diabetes": Problem(diabetes, MCMCGaussianProcessRegressor(), noise=True),
    "outliers": Problem(
        lambda: waves("outliers"), MCMCGaussianProcessRegressor(likelihood="student-t"), noise=True
    ),
}


class Result(NamedTuple):
    """Log densities of rows by both ways, the largest Pareto k, and seconds of both."""

    left_out: np.ndarray
    mcse: np.ndarray
    refitted: np.ndarray
    largest_k: float
    seconds: float
    refit_seconds: float


def kernel_of(problem: Problem, name: str, n_columns: int) -> Kernel:
    """Return a kernel for an estimator."""
    kernel = KERNELS[name](n_columns)
    return kernel + WhiteKernel(0.1) if problem.noise else kernel


def without_row(model: Any, X: np.ndarray, y: np.ndarray, row: int) -> float:
    """Return the log predictive density of a row under a fit without it."""
    others = np.arange(len(y)) != row
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refit = clone(model).fit(X[others], y[others])
        return float(refit.log_predictive_density(X[[row]], y[[row]])[0])


def measure(
    problem: Problem, kernel: str, length: dict[str, int], n_rows: int, jobs: int
) -> Result:
    """Compare both ways on one data set with one kernel."""
    X, y = problem.load()
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:n_rows])
    X, y = X[some], y[some]
    model = clone(problem.estimator).set_params(
        kernel=kernel_of(problem, kernel, X.shape[1]), min_ess=None, random_state=0, **length
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        start = time.perf_counter()
        estimate = model.loo()
        seconds = time.perf_counter() - start
    start = time.perf_counter()
    refitted = Parallel(jobs)(delayed(without_row)(model, X, y, row) for row in range(len(y)))
    refit_seconds = time.perf_counter() - start
    return Result(
        estimate.pointwise,
        estimate.mcse,
        np.array(refitted),
        float(estimate.pareto_k.max()),
        seconds,
        refit_seconds,
    )


def ranking(totals: dict[str, float]) -> str:
    """Return names from best to worst, with how much worse each is than the best."""
    best = max(totals.values())
    names = sorted(totals, key=lambda name: -totals[name])
    return " > ".join(f"{name} ({totals[name] - best:.1f})" for name in names)


def describe(name: str, results: dict[str, Result]) -> str:
    """Return a row of the table."""
    every = list(results.values())
    differences = np.concatenate([result.left_out - result.refitted for result in every])
    by_loo = ranking({kernel: float(r.left_out.sum()) for kernel, r in results.items()})
    by_refits = ranking({kernel: float(r.refitted.sum()) for kernel, r in results.items()})
    cells = [
        name,
        str(len(every[0].left_out)),
        f"{differences.mean():+.3f}",
        f"{np.abs(differences).max():.2f}",
        f"{max(result.largest_k for result in every):.2f}",
        by_loo,
        by_refits,
        f"{sum(result.seconds for result in every):.1f}",
        f"{sum(result.refit_seconds for result in every):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--smoke", action="store_true", help="few rows, tiny chains")
    parser.add_argument("--jobs", type=int, default=1, help="refits at the same time")
    parser.add_argument("--sets", default=",".join(PROBLEMS), help="names of data sets")
    given = parser.parse_args()
    length, n_rows = (SMOKE, 12) if given.smoke else (LENGTH, 60)
    print(
        "| data | rows | mean difference | largest | largest k | by loo | by refits | s, loo "
        "| s, refits |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    with threadpool_limits(1):
        for name in given.sets.split(","):
            problem = PROBLEMS[name]
            results = {k: measure(problem, k, length, n_rows, given.jobs) for k in KERNELS}
            print(describe(name, results), flush=True)


if __name__ == "__main__":
    main()
