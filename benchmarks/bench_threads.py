"""Cores for chains, or for BLAS: wall seconds for each chain, one way beside the other.

The package limits BLAS to one thread in each chain. Here the same fit runs as it does, one chain
after the other and in parallel (`n_jobs=-1`), and once more one after the other with all threads
for BLAS, which changes draws in their last digits. On a machine that others use, too,
threads that wait for each other take many times as long: run it on a quiet one, and without
variables such as OMP_NUM_THREADS.

    python -m benchmarks.bench_threads [--smoke] [--rows 300,1000,2000]
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import ExitStack
from unittest import mock

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.bench_updates import classes, simulate
from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc._running import _one_chain, _rounds

N_COLUMNS, N_REPEATS = 5, 3


def seconds_per_chain(n_rows: int, n_draws: int, n_jobs: int, all_threads: bool) -> float:
    """Fit once, with as many chains as cores."""
    X, f = simulate(n_rows, N_COLUMNS, seed=0)
    y = classes(f, np.random.default_rng(0))
    n_chains = joblib.cpu_count()
    model = MCMCGaussianProcessClassifier(
        n_chains=n_chains,
        n_warmup=2,
        n_draws=n_draws,
        n_inducing=None,
        n_jobs=n_jobs,
        random_state=0,
    )
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if all_threads:
            for module in (_rounds, _one_chain):
                stack.enter_context(mock.patch.object(module, "blas_threads"))
        start = time.perf_counter()
        model.fit(X, y)
        return (time.perf_counter() - start) / n_chains


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="few rows, once")
    parser.add_argument("--rows", default="300,1000,2000", help="numbers of rows")
    options = parser.parse_args()
    rows = [50] if options.smoke else [int(n) for n in options.rows.split(",")]
    n_repeats = 1 if options.smoke else N_REPEATS
    ways = [(1, False), (1, True), (-1, False)]
    print(
        f"{joblib.cpu_count()} cores, as many chains; medians of {n_repeats} runs, wall seconds.\n"
    )
    print("| rows | iterations | one thread, in turn | all threads, in turn | in parallel |")
    print("|---|---|---|---|---|")
    seconds_per_chain(20, 4, -1, False)  # starts the workers
    for n_rows in rows:
        n_draws = int(np.clip(8e9 / n_rows**3, 4, 60))
        times = [
            [seconds_per_chain(n_rows, n_draws, *way) for way in ways] for _ in range(n_repeats)
        ]
        cells = " | ".join(f"{t:.2f}" for t in np.median(times, axis=0))
        print(f"| {n_rows} | {n_draws + 2} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
