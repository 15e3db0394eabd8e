"""Does the default budget suffice: seconds of `fit` and R-hat on small problems.

One row for each problem and seed: CPU seconds of `fit` with the defaults on one core,
the largest R-hat and the smallest bulk effective sample size over all hyperparameters
and the complete-data log likelihood, and that smallest size for each second.

    python -m benchmarks.bench_budget [--smoke]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.datasets import load_coal_mining

SEEDS = [0, 1, 2]


def doubled_iris():
    """Return the two classes that overlap, each flower twice, the second one jittered."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    noise = 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    return np.vstack([X, X + noise]), np.concatenate([y, y])


def diabetes():
    """Return the first 150 patients."""
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]


PROBLEMS = {
    "iris, two classes, doubled": (doubled_iris, MCMCGaussianProcessClassifier, {}),
    "the same, surr-site": (
        doubled_iris,
        MCMCGaussianProcessClassifier,
        {"representation": "surr-site"},
    ),
    "the same, probit": (doubled_iris, MCMCGaussianProcessClassifier, {"link": "probit"}),
    "diabetes": (diabetes, MCMCGaussianProcessRegressor, {}),
    "diabetes, Student-t noise": (
        diabetes,
        MCMCGaussianProcessRegressor,
        {"likelihood": "student-t"},
    ),
    "the same noise, surr-site": (
        diabetes,
        MCMCGaussianProcessRegressor,
        {"likelihood": "student-t", "representation": "surr-site"},
    ),
    "coal mining": (
        lambda: load_coal_mining(return_X_y=True),
        MCMCCoxProcessRegressor,
        {},
    ),
}


def measure(name: str, seed: int, **budget: int) -> str:
    """Fit a problem, and return its row of the table."""
    load, estimator, options = PROBLEMS[name]
    X, y = load()
    model = estimator(random_state=seed, **options, **budget)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
    # Hyperparameters and the complete-data log likelihood: what other samplers are measured by.
    rows = {name: row for name, row in model.diagnostics_.items() if name != "latent[worst]"}
    worst = max(rows, key=lambda quantity: rows[quantity]["rhat"])
    smallest = min(row["ess_bulk"] for row in rows.values())
    return (
        f"| {name} | {X.shape[0]} x {X.shape[1]} | {seed} | {seconds:.1f} | "
        f"{rows[worst]['rhat']:.3f} | {worst} | {smallest:.0f} | {smallest / seconds:.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny chains, one seed")
    smoke = parser.parse_args().smoke
    budget = {"n_chains": 2, "n_warmup": 5, "n_draws": 10} if smoke else {}
    print("| problem | rows x columns | seed | CPU s | worst R-hat | of | smallest ESS | ESS / s |")
    print("|---|---|---|---|---|---|---|---|")
    for name in PROBLEMS:
        for seed in SEEDS[: 1 if smoke else None]:
            print(measure(name, seed, **budget), flush=True)


if __name__ == "__main__":
    main()
