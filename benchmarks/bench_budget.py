"""What a default fit costs beside scikit-learn's optimised Gaussian processes, and if it suffices.

One row for each kind of data, number of rows and number of columns, in one process with one BLAS
thread: CPU seconds of `fit` with the defaults, of scikit-learn's estimator with a length scale for
each column (the form of our default kernel, no restarts; there is none for counts), their ratio,
and what the fit has: iterations of warm-up and draws of each chain, the largest R-hat and the
smallest number of effective draws. Data: a smooth function of the first two columns.

    python -m benchmarks.bench_budget [--smoke] [--rows 50,100] [--columns 2,4] [--kinds numbers]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from threadpoolctl import threadpool_limits

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

ROWS, COLUMNS = (50, 100, 200, 400), (2, 4, 10, 30)
KINDS = ("classes", "numbers", "counts")
_BOUNDS = (1e-3, 1e4)


def problem(kind: str, n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets."""
    rng = np.random.default_rng(n_rows + 1000 * n_columns)
    X = rng.normal(size=(n_rows, n_columns))
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]
    if kind == "classes":
        return X, f + 0.5 * rng.logistic(size=n_rows) > 0.0
    if kind == "counts":
        return X, rng.poisson(np.exp(f))
    return X, f + 0.3 * rng.normal(size=n_rows)


def estimators(kind: str, n_columns: int, **options: Any) -> tuple[Any, Any]:
    """Return our estimator, and scikit-learn's, if it has one."""
    kernel: Kernel = ConstantKernel(1.0, _BOUNDS) * RBF(
        np.full(n_columns, np.sqrt(n_columns)), _BOUNDS
    )
    if kind == "classes":
        return MCMCGaussianProcessClassifier(**options), GaussianProcessClassifier(kernel)
    if kind == "numbers":
        with_noise = kernel + WhiteKernel(0.1, _BOUNDS)
        return MCMCGaussianProcessRegressor(**options), GaussianProcessRegressor(with_noise)
    return MCMCCoxProcessRegressor(**options), None


def cpu_seconds(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the CPU seconds of a fit; NaN where there is no estimator."""
    if estimator is None:
        return float("nan")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        estimator.fit(X, y)
        return time.process_time() - start


def measure(kind: str, n_rows: int, n_columns: int, **options: Any) -> str:
    """Fit both, and return their row of the table."""
    X, y = problem(kind, n_rows, n_columns)
    ours, theirs = estimators(kind, n_columns, random_state=0, **options)
    seconds, other = cpu_seconds(ours, X, y), cpu_seconds(theirs, X, y)
    rows = ours.diagnostics_.values()
    rhat, ess = max(r["rhat"] for r in rows), min(r["ess_bulk"] for r in rows)
    return (
        f"| {kind} | {n_rows} x {n_columns} | {seconds:.1f} | {other:.2f} | {seconds / other:.1f} "
        f"| {ours.n_warmup_} + {ours.n_draws_} | {rhat:.3f} | {ess:.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny chains, few rows")
    for name, values in {"rows": ROWS, "columns": COLUMNS, "kinds": KINDS}.items():
        parser.add_argument(f"--{name}", default=",".join(map(str, values)))
    given = parser.parse_args()
    options = {"n_chains": 2, "n_warmup": 5, "n_draws": 10} if given.smoke else {}
    print("| kind | rows x columns | CPU s | scikit-learn, s | ratio | warm-up + draws", end="")
    print(" | R-hat | ESS |\n|---|---|---|---|---|---|---|---|")
    for kind in given.kinds.split(","):
        for n_rows in [20] if given.smoke else map(int, given.rows.split(",")):
            for n_columns in [2] if given.smoke else map(int, given.columns.split(",")):
                print(measure(kind, n_rows, n_columns, **options), flush=True)


if __name__ == "__main__":
    main()
