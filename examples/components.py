"""Trend, season, and what comes next
==================================

Monthly counts as a sum: a trend, a season, and what comes next.

The series is generated, so that the truth is known: accidents in each month of ten years, whose log
rate is a trend that first rises and then falls, plus a season. A Cox process is fitted to the first
eight years; months have unequal lengths, which is their exposure. Prints how much of the variance
each part explains, when the trend has been falling, and how many of the counts of the last two
years are in their intervals; saves a picture of the parts.

    python examples/components.py [--quick] [--output components.png]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.displays import ComponentsDisplay

FIRST = np.datetime64("2014-01-01")
N_YEARS, N_FITTED = 10, 8
DAYS_PER_YEAR, DAYS_PER_MONTH = 365.2425, 365.2425 / 12.0
LABELS = ["trend", "season"]


def make_series(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the middle of each month in years since the first, its days, and its count."""
    starts = FIRST.astype("datetime64[M]") + np.arange(12 * N_YEARS + 1)
    edges = (starts.astype("datetime64[D]") - FIRST) / np.timedelta64(1, "D")
    t = 0.5 * (edges[1:] + edges[:-1]) / DAYS_PER_YEAR
    log_rate = 3.0 + 0.4 * np.sin(0.75 * t) - 0.03 * t + 0.4 * np.cos(2.0 * np.pi * (t - 0.05))
    days = np.diff(edges)
    y = np.random.default_rng(seed).poisson(np.exp(log_rate) * days / DAYS_PER_MONTH)
    return t[:, None], days, y


def to_dates(t: np.ndarray) -> np.ndarray:
    """Return years since the first day as dates."""
    return FIRST + (t * DAYS_PER_YEAR).astype("timedelta64[D]")


def print_trend(model: MCMCCoxProcessRegressor) -> None:
    """Print how fast the trend changes in the middle of each year."""
    t = np.arange(N_YEARS)[:, None] + 0.5
    slope = model.predict_derivative(t, component="trend", labels=LABELS)
    print(f"\n{'trend in':<10}{'change a year':>14}   90 % interval      P(falling)")
    ends = slope.quantiles
    for at, mean, (low, high), rising in zip(
        t[:, 0], slope.mean, ends, slope.prob_positive, strict=True
    ):
        percent = [f"{100.0 * np.expm1(value):+.0f} %" for value in (mean, low, high)]
        interval = f"{percent[1]:>6} to {percent[2]:>6}"
        print(f"{to_dates(np.array(at))!s:.4}{percent[0]:>20}   {interval}{1.0 - rising:>13.2f}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--output", default="components.png", help="where the picture goes")
    arguments = parser.parse_args()

    t, days, y = make_series()
    exposure, fitted = days / DAYS_PER_MONTH, slice(0, 12 * N_FITTED)
    # The season repeats itself exactly: its period is fixed, its shape is not.
    season = ConstantKernel() * ExpSineSquared(periodicity=1.0, periodicity_bounds="fixed")
    length: dict = {"n_chains": 2, "n_warmup": 10, "n_draws": 20} if arguments.quick else {}
    model = MCMCCoxProcessRegressor(
        ConstantKernel() * RBF() + season, max_prediction_draws=400, random_state=0, **length
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        if arguments.quick:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(t[fitted], y[fitted], exposure=exposure[fitted])
    print(f"{model.n_iter_} iterations of each chain: {time.perf_counter() - start:.0f} s\n")
    print(model.component_shares(t[fitted], labels=LABELS, random_state=0))
    print_trend(model)
    new = slice(12 * N_FITTED, None)
    low, high = model.predict_quantiles(t[new], [0.05, 0.95], exposure=exposure[new]).T
    inside = int(((low <= y[new]) & (y[new] <= high)).sum())
    print(f"\n{inside} of the next {len(low)} counts are in their 90 % intervals")
    display = ComponentsDisplay.from_estimator(
        model, t, labels=LABELS, feature_names=["month"], convert=to_dates
    )
    display.figure_.savefig(arguments.output, dpi=110)
    print(f"picture: {arguments.output}")


if __name__ == "__main__":
    main()
