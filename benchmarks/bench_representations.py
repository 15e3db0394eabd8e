"""What `representation="auto"` is to choose for classification: "collapsed" or "post-ep".

Both on the same data, each with the update of the hyperparameters that it has by default, by
numbers of rows and columns (the default kernel has one hyperparameter more), for classes that
overlap and classes that a line separates: smallest bulk effective sample size over the log
hyperparameters and the complete-data log likelihood for each CPU second of sampling, and the
ratio of post-ep to collapsed.

    python -m benchmarks.bench_representations [--smoke] [--link probit] [--rows 70,200]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.bench_updates import SEEDS, classes, simulate
from skgpmcmc import MCMCGaussianProcessClassifier

REPRESENTATIONS = ["collapsed", "post-ep"]
N_CHAINS = 2


def labels(X: np.ndarray, f: np.ndarray, separable: bool, seed: int) -> np.ndarray:
    """Return two classes."""
    if separable:
        return (X[:, 0] > 0.0).astype(int)
    return classes(f, np.random.default_rng(seed))


def ess_per_second(
    X: np.ndarray, y: np.ndarray, representation: str, seed: int, **options
) -> float:
    """Fit once, on one thread."""
    model = MCMCGaussianProcessClassifier(
        representation=representation, n_chains=N_CHAINS, random_state=seed, min_ess=None, **options
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trace = model.fit(X, y).trace_
    rows = model.diagnostics_
    # Hyperparameters and the complete-data log likelihood: what other samplers are measured by.
    smallest = min(rows[name]["ess_bulk"] for name in rows if name != "latent[worst]")
    return smallest / sum(costs.seconds for costs in trace.sampling)


def row(n_rows: int, n_columns: int, separable: bool, seeds: list[int], **options) -> str:
    """Return a row of the table: geometric means over the seeds, and the ratio with its error."""
    rates = np.empty((len(seeds), len(REPRESENTATIONS)))
    for i, seed in enumerate(seeds):
        X, f = simulate(n_rows, n_columns, seed)
        y = labels(X, f, separable, seed)
        rates[i] = [ess_per_second(X, y, r, seed, **options) for r in REPRESENTATIONS]
    means = np.exp(np.log(rates).mean(axis=0))
    logs = np.log(rates[:, 1] / rates[:, 0])
    error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
    ratio = np.exp(logs.mean())
    kind = "separable" if separable else "overlapping"
    return (
        f"| {n_rows} x {n_columns} | {kind} | {means[0]:.3g} | {means[1]:.3g} | "
        f"{ratio:.2f} ({ratio * error:.2f}) |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny chains, one seed, few columns")
    parser.add_argument("--columns", default="1,2,3,4,8", help="numbers of columns")
    parser.add_argument("--rows", default="70,200", help="numbers of rows")
    parser.add_argument("--link", default="logit", choices=["logit", "probit"])
    options = parser.parse_args()
    if options.smoke:
        options.columns, options.rows = "1", "30"
    seeds = SEEDS[: 1 if options.smoke else None]
    lengths = {"n_warmup": 10, "n_draws": 10} if options.smoke else {}
    print("| rows x columns | classes | collapsed, ESS / s | post-ep, ESS / s | ratio |")
    print("|---|---|---|---|---|")
    for n_rows in map(int, options.rows.split(",")):
        for n_columns in map(int, options.columns.split(",")):
            for separable in (False, True):
                print(
                    row(n_rows, n_columns, separable, seeds, link=options.link, **lengths),
                    flush=True,
                )


if __name__ == "__main__":
    main()
