"""A rate over time
================

Explosions in British coal mines, 1851 to 1962: a rate that changed, with its uncertainty.

Counts in 112 bins of 365 days are Poisson with a log rate that is a Gaussian process; its
variance, length scale and mean are sampled too. Prints the convergence diagnostics and the rate
in a few years; saves a picture of the rate with its 50 and 90 % intervals.

::

    python examples/coal_mining.py [--quick] [--output coal_mining.png]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.datasets import load_coal_mining

DAYS_PER_BIN = 365
YEARS = (1860, 1880, 1900, 1920, 1940, 1960)
BLUE, PALE, PALER = "#0072B2", "#80B8D8", "#CCE3F0"  # of Okabe and Ito: colour-blind-safe


def years_since_first_event(dates: np.ndarray, first: np.datetime64) -> np.ndarray:
    """Return calendar dates in the unit of the inputs, 365 days, a row for each."""
    return ((dates - first) / np.timedelta64(DAYS_PER_BIN, "D"))[:, None]


def print_results(model: MCMCCoxProcessRegressor, first: np.datetime64) -> None:
    """Print the diagnostics, and the rate in the middle of some years."""
    print(f"{'quantity':<30}{'mean':>9}{'sd':>9}{'ESS':>7}{'R-hat':>8}")
    for name, row in model.diagnostics_.items():
        numbers = f"{row['mean']:>9.2f}{row['sd']:>9.2f}{row['ess_bulk']:>7.0f}{row['rhat']:>8.3f}"
        print(f"{name:<30}{numbers}")
    middles = np.array([f"{year}-07-01" for year in YEARS], dtype="datetime64[D]")
    X = years_since_first_event(middles, first)
    print(f"\n{'explosions in 365 days':<24}{'mean':>6}   90 % interval")
    for year, rate, (low, high) in zip(
        YEARS, model.predict(X), model.predict_interval(X, 0.9), strict=True
    ):
        print(f"{year:<24}{rate:>6.2f}   {low:.2f} to {high:.2f}")


def plot(model: MCMCCoxProcessRegressor, dates: np.ndarray, path: str) -> None:
    """Draw the rate over the calendar, with the events as a rug."""
    import matplotlib.pyplot as plt

    calendar = np.arange(dates[0], dates[-1], np.timedelta64(91, "D"))
    X = years_since_first_event(calendar, dates[0])
    figure, axes = plt.subplots(figsize=(11, 4.4), layout="constrained")
    for level, colour in ((0.9, PALER), (0.5, PALE)):
        low, high = model.predict_interval(X, level).T
        axes.fill_between(
            calendar, low, high, color=colour, linewidth=0, label=f"{100 * level:.0f} % interval"
        )
    axes.plot(calendar, model.predict(X), color=BLUE, linewidth=2, label="posterior mean")
    height, rug = np.full(len(dates), 0.02), axes.get_xaxis_transform()
    axes.plot(dates, height, "|", color="0.2", markersize=9, transform=rug, label="an explosion")
    axes.set(xlabel="year", ylabel="rate (explosions in 365 days)", xlim=calendar[[0, -1]])
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"{len(dates)} explosions in British coal mines that killed ten people or more")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--output", default="coal_mining.png", help="where the picture goes")
    arguments = parser.parse_args()

    data = load_coal_mining()
    length: dict = {"n_warmup": 10, "n_draws": 20} if arguments.quick else {}
    model = MCMCCoxProcessRegressor(max_prediction_draws=1000, random_state=0, **length)
    start = time.perf_counter()
    with warnings.catch_warnings():
        if arguments.quick:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.data, data.target)
    print(f"4 chains of {model.n_iter_} iterations: {time.perf_counter() - start:.1f} s\n")
    print_results(model, data.dates[0])
    plot(model, data.dates, arguments.output)


if __name__ == "__main__":
    main()
