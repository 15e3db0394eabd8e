"""Cox processes on fine grids, and other counts that are not on a grid.

Three parts. `sizes`: counts of one simulated log-Gaussian Cox process on the unit square, in ever
finer cells: seconds of an iteration after the warm-up, smallest bulk effective sample size over
the log hyperparameters, the mean offset and the complete-data log likelihood for each CPU second
of sampling, peak memory, seconds to predict all cells, and how they grow. `recovery`: 100 x 100
cells with the default settings, and the true hyperparameters beside their 95 % intervals.
`others`: scattered rows, exposures over two decades and negative binomial counts with the
default settings. One BLAS thread; every measurement has a fresh process.

    python -m benchmarks.bench_grid [--smoke] [--parts sizes,recovery,others]
        [--sides 25,50,100,200] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks.bench_scaling import exponents, in_fresh_process, peak_memory
from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.diagnostics import ess_bulk, rhat

PARTS = "sizes,recovery,others"
SIDES = "25,50,100,200"
# Iterations of each of the chains of `sizes`.
BUDGET = {"n_chains": 2, "n_warmup": 250, "n_draws": 250, "min_ess": None}
SMOKE = {"n_chains": 2, "n_warmup": 10, "n_draws": 10, "min_ess": None}
RECOVERY_SIDE = 100

# The process on the unit square: a typical number of events, and hyperparameters.
N_EVENTS = 5000.0
TRUTH = {"constant_value": 1.0, "length_scale[0]": 0.1, "length_scale[1]": 0.2}

# The other counts: rows, columns, length scales, and dispersion.
N_ROWS, N_COLUMNS = 300, 3
DISPERSION = 0.5
LENGTH_SCALES = np.array([0.4, 0.8, 1.6])
OTHERS = ["scattered", "exposures over two decades", "negative binomial"]


class Counts(NamedTuple):
    """Inputs, counts and exposures."""

    X: np.ndarray
    y: np.ndarray
    exposure: np.ndarray


class Fit(NamedTuple):
    """What a fit cost, and what it brought."""

    seconds: float
    iteration: float
    ess_per_second: float
    rhat: float
    memory: float
    prediction: float
    intervals: dict[str, tuple[float, float]]


def on_square(side: int, seed: int) -> Counts:
    """Return counts in side x side cells of the unit square, with the cells' areas."""
    rng = np.random.default_rng(seed)
    middle = (np.arange(side) + 0.5) / side
    # K is a Kronecker product, and so is its root.
    roots = [_root(middle[:, None], TRUTH[f"length_scale[{d}]"]) for d in (0, 1)]
    f = roots[0] @ rng.standard_normal((side, side)) @ roots[1].T
    X = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    exposure = np.full(len(X), 1.0 / side**2)
    return Counts(X, rng.poisson(exposure * np.exp(true_mean() + f.ravel())), exposure)


def true_mean() -> float:
    """Return the mean log intensity for which N_EVENTS events are expected."""
    return float(np.log(N_EVENTS) - 0.5 * TRUTH["constant_value"])


def scattered(kind: str, n_rows: int, seed: int) -> Counts:
    """Return counts of scattered rows, about 3 where the exposure is 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, N_COLUMNS))
    f = _root(X, LENGTH_SCALES) @ rng.standard_normal(n_rows)
    exposure = np.ones(n_rows)
    if kind == "exposures over two decades":
        exposure = 10.0 ** rng.uniform(-1.0, 1.0, n_rows)
    rate = exposure * np.exp(1.0 + f)
    if kind == "negative binomial":
        rate = rate * rng.gamma(1.0 / DISPERSION, DISPERSION, n_rows)
    return Counts(X, rng.poisson(rate), exposure)


def _root(X: np.ndarray, length_scale: float | np.ndarray) -> np.ndarray:
    covariance = RBF(length_scale)(X)
    covariance[np.diag_indices(len(X))] += 1e-8
    return np.linalg.cholesky(covariance)


def measure(counts: Counts, options: dict) -> Fit:
    """Fit and predict once, on one thread; runs in its own process."""
    model = MCMCCoxProcessRegressor(random_state=0, memory_limit=None, **options)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        before, start = peak_memory(), time.process_time()
        model.fit(counts.X, counts.y, exposure=counts.exposure)
        seconds, memory = time.process_time() - start, peak_memory() - before
        start = time.process_time()
        model.predict(counts.X)
        prediction = time.process_time() - start
    trace = model.trace_
    quantities = [*np.moveaxis(trace.theta, -1, 0), trace.complete_data_log_likelihood]
    sampling = sum(costs.seconds for costs in trace.sampling)
    return Fit(
        seconds,
        sampling / trace.theta[..., 0].size,
        min(map(ess_bulk, quantities)) / sampling,
        max(map(rhat, quantities)),
        memory / 1e6,
        prediction,
        intervals(model),
    )


def intervals(model: MCMCCoxProcessRegressor) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of every hyperparameter, by the end of its name."""
    found = {}
    for name, draws in model.posterior_.items():
        short, ends = name.rsplit("__", 1)[-1], np.quantile(draws, [0.025, 0.975], axis=(0, 1)).T
        for d, (low, high) in enumerate(np.atleast_2d(ends)):
            found[f"{short}[{d}]" if draws.ndim > 2 else short] = (float(low), float(high))
    return found


def print_sizes(sides: list[int], seed: int, budget: dict) -> None:
    print(
        "## Finer and finer cells\n\n"
        f"{budget['n_chains']} chains of {budget['n_warmup']} + {budget['n_draws']} iterations.\n\n"
        "| cells | events | ms per iteration | smallest ESS / s | R-hat | peak memory, MB | "
        "fit, s | predict all cells, s |\n|---|---|---|---|---|---|---|---|"
    )
    fits = []
    for side in sides:
        counts = on_square(side, seed)
        fit = in_fresh_process(measure, counts, budget)
        fits.append(fit)
        print(
            f"| {side**2:,} | {counts.y.sum()} | {1e3 * fit.iteration:.1f} | "
            f"{fit.ess_per_second:.3g} | {fit.rhat:.3f} | {fit.memory:.0f} | {fit.seconds:.0f} | "
            f"{fit.prediction:.1f} |",
            flush=True,
        )
    if len(sides) < 2:
        return
    sizes = [side**2 for side in sides]
    print("\n| growth exponent of | last two sizes | all sizes |\n|---|---|---|")
    print(f"| seconds per iteration | {exponents(sizes, [fit.iteration for fit in fits])} |")
    print(f"| seconds to predict | {exponents(sizes, [fit.prediction for fit in fits])} |")
    memory = [max(fit.memory, 1.0) for fit in fits]  # small fits take what was free
    print(f"| peak memory | {exponents(sizes, memory)} |\n")


def print_recovery(side: int, seed: int, options: dict) -> None:
    fit = in_fresh_process(measure, on_square(side, seed), options)
    print(
        f"## {side} x {side} cells, default settings: {fit.seconds / 60.0:.1f} minutes on one "
        f"thread, R-hat {fit.rhat:.3f}, {fit.ess_per_second:.3g} effective draws a second\n\n"
        "| hyperparameter | truth | 95 % interval | inside |\n|---|---|---|---|"
    )
    for name, truth in {**TRUTH, "mean": true_mean()}.items():
        low, high = fit.intervals[name]
        inside = "yes" if low <= truth <= high else "no"
        print(f"| {name} | {truth:.3f} | {low:.3f} to {high:.3f} | {inside} |")
    print(flush=True)


def print_others(n_rows: int, seed: int, options: dict) -> None:
    print(
        f"## Other counts: {n_rows} rows, {N_COLUMNS} columns, default settings\n\n"
        "| counts | ms per iteration | smallest ESS / s | R-hat | fit, s |\n|---|---|---|---|---|"
    )
    for kind in OTHERS:
        likelihood = "negative-binomial" if kind == "negative binomial" else "poisson"
        fit = in_fresh_process(
            measure, scattered(kind, n_rows, seed), {"likelihood": likelihood, **options}
        )
        print(
            f"| {kind} | {1e3 * fit.iteration:.1f} | {fit.ess_per_second:.3g} | {fit.rhat:.3f} | "
            f"{fit.seconds:.0f} |",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="few cells and rows, tiny chains")
    parser.add_argument("--parts", default=PARTS, help=f"some of {PARTS}")
    parser.add_argument("--sides", default=SIDES, help=f"cells along a side, by default {SIDES}")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated data")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := sorted(set(parts) - set(PARTS.split(","))):
        parser.error(f"--parts must be some of {PARTS}; got {','.join(unknown)}")
    smoke, seed = options.smoke, options.seed
    sides = [15, 20] if smoke else [int(side) for side in options.sides.split(",")]
    if "sizes" in parts:
        print_sizes(sides, seed, SMOKE if smoke else BUDGET)
    if "recovery" in parts:
        print_recovery(15 if smoke else RECOVERY_SIDE, seed, SMOKE if smoke else {})
    if "others" in parts:
        print_others(30 if smoke else N_ROWS, seed, SMOKE if smoke else {})


if __name__ == "__main__":
    main()
