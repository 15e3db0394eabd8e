"""Slices or trajectories: what `hyperparameter_update="auto"` is to choose.

Both updates on the same data, by number of columns (the default kernel has one
hyperparameter more): smallest bulk effective sample size over the log hyperparameters and the
complete-data log likelihood for each CPU second of sampling, milliseconds of an iteration,
seconds with the warm-up, and the ratio of trajectories to slices.

With `--kernels`: sums and products of scikit-learn's kernels, whose gradient is the kernel's own.

    python -m benchmarks.bench_updates [--smoke] [--columns 1,2,4] [--rows 150] [--kernels]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    RationalQuadratic,
    WhiteKernel,
)
from threadpoolctl import threadpool_limits

from skgpmcmc import MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor
from skgpmcmc.diagnostics import ess_bulk, rhat

N_CHAINS = 2
N_COLUMNS = 4  # with --kernels
KERNELS = {
    "RBF (ARD) + linear": RBF(np.ones(N_COLUMNS)) + DotProduct(),
    "RBF + linear": ConstantKernel() * RBF() + ConstantKernel() * DotProduct(),
    "RBF x linear": ConstantKernel() * RBF() * DotProduct(),
    "two RBF": ConstantKernel() * RBF() + ConstantKernel() * RBF(),
    "rational quadratic": ConstantKernel() * RationalQuadratic(),
}
SEEDS = [0, 1, 2]


class Cost(NamedTuple):
    """What a fit cost, and what it brought."""

    ess_per_second: float
    milliseconds: float
    seconds: float
    rhat: float


def simulate(n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and a function of the first three of their columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    terms = [np.sin(2.0 * X[:, 0]), *X[:, 1:2].T, *(0.5 * X[:, 2:3] ** 2).T]
    return X, np.sum(terms, axis=0)


def classes(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels of overlapping classes."""
    return (2.0 * f + rng.logistic(size=f.shape) > 0.0).astype(int)


def noisy(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the function with normal noise."""
    return f + 0.3 * rng.standard_normal(f.shape)


def noisy_with_outliers(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the function with noise of three degrees of freedom."""
    return f + 0.2 * rng.standard_t(3.0, size=f.shape)


KINDS: dict[str, tuple[Callable, type, dict]] = {
    "classes": (classes, MCMCGaussianProcessClassifier, {}),
    "numbers": (noisy, MCMCGaussianProcessRegressor, {}),
    "numbers, Student-t": (
        noisy_with_outliers,
        MCMCGaussianProcessRegressor,
        {"likelihood": "student-t"},
    ),
}


def measure(
    kind: str,
    kernel: Kernel | None,
    n_rows: int,
    n_columns: int,
    seed: int,
    update: str,
    **budget: int,
) -> Cost:
    """Fit once, on one thread."""
    observe, estimator, options = KINDS[kind]
    if kernel is not None and kind != "classes":
        kernel = kernel + WhiteKernel()
    X, f = simulate(n_rows, n_columns, seed)
    y = observe(f, np.random.default_rng(seed))
    if kernel is not None and estimator is MCMCGaussianProcessClassifier:
        options = options | {"representation": "collapsed"}  # which has both updates
    model = estimator(
        kernel,
        hyperparameter_update=update,
        n_chains=N_CHAINS,
        random_state=seed,
        **options,
        **budget,
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trace = model.fit(X, y).trace_
    quantities = [*np.moveaxis(trace.theta, -1, 0), trace.complete_data_log_likelihood]
    sampling = sum(costs.seconds for costs in trace.sampling)
    return Cost(
        min(map(ess_bulk, quantities)) / sampling,
        1e3 * sampling / trace.theta[..., 0].size,
        sampling + sum(costs.seconds for costs in trace.warmup),
        max(map(rhat, quantities)),
    )


def row(
    kind: str, kernel: str | None, n_rows: int, n_columns: int, seeds: list[int], **budget: int
) -> str:
    """Return a row of the table: medians over the seeds, and the ratio with its error."""
    problem = kind, None if kernel is None else KERNELS[kernel], n_rows, n_columns
    pairs = [
        [measure(*problem, seed, update, **budget) for update in ("slice", "hmc")] for seed in seeds
    ]
    slices, trajectories = (Cost(*np.median(costs, axis=0)) for costs in zip(*pairs, strict=True))
    logs = [np.log(hmc.ess_per_second / slice_.ess_per_second) for slice_, hmc in pairs]
    error = np.std(logs, ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
    cells = [kind if kernel is None else f"{kind}, {kernel}", f"{n_rows} x {n_columns}"]
    for cost in (slices, trajectories):
        cells.append(
            f"{cost.ess_per_second:.1f} | {cost.milliseconds:.2f} | {cost.seconds:.1f} | "
            f"{cost.rhat:.3f}"
        )
    ratio = np.exp(np.mean(logs))
    return f"| {' | '.join(cells)} | {ratio:.1f} ({ratio * error:.1f}) |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny chains, one seed, few columns")
    parser.add_argument("--columns", default="1,2,4,8,16", help="numbers of columns")
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--kernels", action="store_true", help="other kernels, four columns")
    options = parser.parse_args()
    columns = [2] if options.smoke else [int(n) for n in options.columns.split(",")]
    seeds = SEEDS[: 1 if options.smoke else None]
    budget = {"n_warmup": 10, "n_draws": 10} if options.smoke else {"n_draws": 500, "min_ess": None}
    side = "ESS / s | ms | s | R-hat"
    head = f"| data | rows x columns | slices: {side} | trajectories: {side} | ratio of ESS / s |"
    print(head)
    print("|---" * (head.count("|") - 1) + "|")
    problems = [(kind, None, n_columns) for kind in KINDS for n_columns in columns]
    if options.kernels:
        kinds = list(KINDS)[: 1 if options.smoke else 2]
        problems = [(kind, kernel, N_COLUMNS) for kind in kinds for kernel in KERNELS]
    for kind, kernel, n_columns in problems:
        print(row(kind, kernel, options.rows, n_columns, seeds, **budget), flush=True)


if __name__ == "__main__":
    main()
