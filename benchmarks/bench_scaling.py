"""Time and memory of `fit` and `predict_proba` as rows are added, beside scikit-learn.

Both classifiers have the kernel constant * RBF with one length scale, on 10 columns.
Every measurement has a fresh process with one BLAS thread; peak memory is what the
measured call adds to the peak of the process before it, so that a few megabytes are
noise. The default fit (4 chains of 750 iterations) takes too long at the largest
sizes: a chain of a few iterations is measured, and the full fit is extrapolated from
its seconds per iteration after the warm-up. Slice sampling takes a random number of
proposals: those seconds vary by some ten per cent from one short chain to the next.

    python -m benchmarks.bench_scaling [--smoke] [--sizes 100,300,1000,2000]
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import resource
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from skgpmcmc import MCMCGaussianProcessClassifier

SIZES = "100,300,1000,2000"
SMOKE_SIZES = "50,100"
N_COLUMNS = 10
N_NEW_ROWS = 1000
N_WARMUP, N_DRAWS = 10, 10
OURS, PEER = "skgpmcmc", "scikit-learn"

DEFAULTS = MCMCGaussianProcessClassifier()
FULL_ITERATIONS = DEFAULTS.n_chains * (DEFAULTS.n_warmup + DEFAULTS.n_draws)
# What the default number of them never falls below.
FULL_DRAWS = 200


@dataclass
class Cost:
    """Seconds, and bytes above the peak of the process before."""

    cpu: float
    wall: float
    memory: int


@dataclass
class Fit:
    """Costs of one fit, and the fitted estimator's pickle."""

    cost: Cost
    pickled: bytes
    iteration: float = 0.0


def problem(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels of two classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_COLUMNS))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(n) > 0.0


def make_estimator(name: str) -> Any:
    """Return an estimator that is not fitted."""
    kernel = ConstantKernel(1.0) * RBF(np.sqrt(N_COLUMNS))
    if name == PEER:
        return GaussianProcessClassifier(kernel, random_state=0)
    return MCMCGaussianProcessClassifier(
        kernel, n_chains=1, n_warmup=N_WARMUP, n_draws=N_DRAWS, random_state=0, n_inducing=None
    )


def peak_memory() -> int:
    """Return the largest resident set of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(call: Callable[[], object]) -> Cost:
    """Return the costs of a call, on one BLAS thread."""
    with threadpool_limits(limits=1, user_api="blas"):
        before, cpu, wall = peak_memory(), time.process_time(), time.perf_counter()
        call()
        return Cost(time.process_time() - cpu, time.perf_counter() - wall, peak_memory() - before)


def warm(name: str) -> None:
    """Fit and predict a little: lazy imports, the first calls of BLAS."""
    X, y = problem(20, 0)
    make_estimator(name).fit(X, y).predict_proba(X)


def measure_fit(name: str, n: int) -> Fit:
    """Fit once; runs in its own process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warm(name)
        model = make_estimator(name)
        X, y = problem(n, 0)
        cost = measure(lambda: model.fit(X, y))
    fit = Fit(cost, pickle.dumps(model))
    if name == OURS:
        fit.iteration = model.trace_.sampling[0].seconds / N_DRAWS
    return fit


def measure_predict(name: str, pickled: bytes) -> Cost:
    """Predict once; runs in its own process, so that the memory of `fit` does not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warm(name)
    model = pickle.loads(pickled)
    X, _ = problem(N_NEW_ROWS, 1)
    return measure(lambda: model.predict_proba(X))


def in_fresh_process(function: Callable, *args: Any) -> Any:
    """Call a function in a process that has done nothing else."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the least-squares slope of log value on log size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def exponents(sizes: Sequence[int], values: Sequence[float]) -> str:
    """Return the growth exponents between the last two sizes and over all, as cells."""
    return f"{exponent(sizes[-2:], values[-2:]):.2f} | {exponent(sizes, values):.2f}"


def print_fits(sizes: Sequence[int], fits: dict[str, list[Fit]]) -> None:
    print(
        f"## fit\n\nOurs: 1 chain of {N_WARMUP} + {N_DRAWS} iterations. The full default budget is "
        f"{DEFAULTS.n_chains} chains of {DEFAULTS.n_warmup} + {DEFAULTS.n_draws}, "
        f"{FULL_ITERATIONS} iterations.\n\n"
        "| n | estimator | CPU, s | wall, s | peak memory, MB | CPU per iteration, s | "
        "full fit, CPU, s (extrapolated) |\n"
        "|---|---|---|---|---|---|---|"
    )
    for i, n in enumerate(sizes):
        for name, runs in fits.items():
            fit = runs[i]
            row = f"| {n} | {name} | {cells(fit.cost)} |"
            if name == OURS:
                row += f" {fit.iteration:.4f} | {FULL_ITERATIONS * fit.iteration:.0f} |"
            else:
                row += " | measured |"
            print(row, flush=True)


def print_predictions(sizes: Sequence[int], predictions: dict[str, list[Cost]]) -> None:
    print(
        f"\n## predict_proba of {N_NEW_ROWS} rows\n\n"
        f"Ours averages over {N_DRAWS} draws here, by default over {FULL_DRAWS} or more; the "
        "seconds are proportional to the draws.\n\n"
        "| n | estimator | CPU, s | wall, s | peak memory, MB | CPU per draw, ms | "
        f"CPU with {FULL_DRAWS} draws, s (extrapolated) |\n|---|---|---|---|---|---|---|"
    )
    for i, n in enumerate(sizes):
        for name, costs in predictions.items():
            row = f"| {n} | {name} | {cells(costs[i])} |"
            if name == OURS:
                per_draw = costs[i].cpu / N_DRAWS
                row += f" {1e3 * per_draw:.2f} | {FULL_DRAWS * per_draw:.2f} |"
            else:
                row += " | |"
            print(row, flush=True)


def cells(cost: Cost) -> str:
    """Return the cells that all rows have."""
    return f"{cost.cpu:.3f} | {cost.wall:.3f} | {cost.memory / 1e6:.0f}"


def print_exponents(
    sizes: Sequence[int], fits: dict[str, list[Fit]], predictions: dict[str, list[Cost]]
) -> None:
    print(
        f"\n## Growth exponents of CPU seconds\n\n| what | estimator | n = {sizes[-2]} to "
        f"{sizes[-1]} | all sizes |\n|---|---|---|---|"
    )
    for name in (OURS, PEER):
        print(f"| fit | {name} | {exponents(sizes, [f.cost.cpu for f in fits[name]])} |")
    print(f"| one iteration | {OURS} | {exponents(sizes, [f.iteration for f in fits[OURS]])} |")
    for name in (OURS, PEER):
        cpu = [cost.cpu for cost in predictions[name]]
        print(f"| predict_proba | {name} | {exponents(sizes, cpu)} |")


def parse_sizes(text: str) -> list[int]:
    """Return sizes in increasing order."""
    sizes = sorted({int(part) for part in text.split(",")})
    if len(sizes) < 2 or sizes[0] < 20:
        raise argparse.ArgumentTypeError(
            f"give at least two sizes of 20 rows or more, as in {SIZES}; got {text!r}"
        )
    return sizes


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help=f"sizes {SMOKE_SIZES}, unless given")
    parser.add_argument("--sizes", type=parse_sizes, help=f"rows to fit, by default {SIZES}")
    arguments = parser.parse_args()
    sizes = arguments.sizes or parse_sizes(SMOKE_SIZES if arguments.smoke else SIZES)
    fits: dict[str, list[Fit]] = {OURS: [], PEER: []}
    predictions: dict[str, list[Cost]] = {OURS: [], PEER: []}
    for n in sizes:
        for name in (OURS, PEER):
            fit = in_fresh_process(measure_fit, name, n)
            fits[name].append(fit)
            predictions[name].append(in_fresh_process(measure_predict, name, fit.pickled))
            print(f"{name}, n = {n}: {fit.cost.wall:.1f} s", file=sys.stderr)
    print_fits(sizes, fits)
    print_predictions(sizes, predictions)
    print_exponents(sizes, fits, predictions)


if __name__ == "__main__":
    main()
