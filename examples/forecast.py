"""A forecast of counts, and how good it was
=========================================

Monthly counts, the next three years of them, and the intervals beside a seasonal naive forecast.

Drivers of vans killed on the roads of Great Britain in each month. A Cox process with a trend and
a season is fitted to the years 1969 to 1979. It forecasts the counts of 1980 to 1982, after which
a law changed them: seat belts became compulsory. Months have unequal lengths, which is their
exposure. The naive forecast is negative binomial around the count of the same month of 1979. Its
dispersion is that of all earlier years around the year before. Prints how many of the counts are
in their intervals, and the mean log probability of the counts (larger is better); saves a picture.

::

    python examples/forecast.py [--quick] [--output forecast.png]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.datasets import load_van_drivers

FIRST_FORECAST, END = np.datetime64("1980-01"), np.datetime64("1983-01")
QUANTILES = (0.05, 0.25, 0.75, 0.95)
BLUE, PALE, PALER = "#0072B2", "#80B8D8", "#CCE3F0"  # of Okabe and Ito: colour-blind-safe


class Forecast(NamedTuple):
    """Of the counts of each month.

    Attributes
    ----------
    name : str
    quantiles : ndarray of shape (n_months, 4)
        Ends of 50 and 90 % intervals.
    log_probability : ndarray of shape (n_months,)
        Of the counts that came.
    """

    name: str
    quantiles: np.ndarray
    log_probability: np.ndarray

    def describe(self, y: np.ndarray) -> str:
        """Return how many counts are in the intervals, and the log score."""
        inside = [
            int(((low <= y) & (y <= high)).sum())
            for low, high in (self.quantiles[:, [1, 2]].T, self.quantiles[:, [0, 3]].T)
        ]
        return (
            f"{self.name}: {inside[0]} of {len(y)} in 50 % intervals, {inside[1]} in 90 %, "
            f"log score {self.log_probability.mean():.2f}"
        )


def seasonal_naive(y: np.ndarray, new_y: np.ndarray) -> Forecast:
    """Return negative binomial forecasts around the count of the same month of the last year."""

    def around(mean: np.ndarray, dispersion: float) -> stats.rv_discrete:
        return stats.nbinom(1.0 / dispersion, 1.0 / (1.0 + dispersion * mean[:, None]))

    def loss(log_dispersion: float) -> float:
        return -around(rate[:-12], np.exp(log_dispersion)).logpmf(y[12:, None]).sum()

    rate = y + 0.5  # a month without events does not forbid events
    dispersion = np.exp(optimize.minimize_scalar(loss, bounds=(-12.0, 2.0), method="bounded").x)
    forecast = around(np.resize(rate[-12:], len(new_y)), dispersion)
    log_probability = forecast.logpmf(new_y[:, None])[:, 0]
    return Forecast("seasonal naive", forecast.ppf(QUANTILES), log_probability)


def plot(
    forecasts: list[Forecast], months: np.ndarray, y: np.ndarray, n_fitted: int, path: str
) -> None:
    """Draw the intervals of each forecast with the counts, over the calendar."""
    import matplotlib.dates as mdates
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        len(forecasts), figsize=(10, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    steps, middles = months[n_fitted:], months[:-1] + np.diff(months) // 2
    for axes, forecast in zip(panels, forecasts, strict=True):
        for low, high, colour, level in ((0, 3, PALER, 90), (1, 2, PALE, 50)):
            ends = np.vstack([forecast.quantiles, forecast.quantiles[-1:]])[:, [low, high]].T
            axes.fill_between(
                steps, *ends, step="post", color=colour, linewidth=0, label=f"{level} % interval"
            )
        known, new = slice(n_fitted - 60, n_fitted), slice(n_fitted, None)
        axes.plot(middles[known], y[known], "o", color="0.6", markersize=4, label="known")
        axes.plot(middles[new], y[new], "o", color="0.1", markersize=4, label="held out")
        axes.axvline(months[n_fitted], color="0.4", linestyle=":")
        axes.set_title(forecast.describe(y[new]), loc="left", fontsize=11)
        axes.set_ylabel("drivers killed a month")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(bottom=0.0)
    panels[0].set_xlim(months[n_fitted - 60], months[-1])
    panels[-1].xaxis.set_major_locator(mdates.YearLocator())
    panels[-1].xaxis.set_major_formatter(mdates.DateFormatter("%Y"))
    panels[-1].set_xlabel("year")
    figure.suptitle("Drivers of vans killed in Great Britain, forecast from the years 1969 to 1979")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--output", default="forecast.png", help="where the picture goes")
    arguments = parser.parse_args()

    vans = load_van_drivers()
    n_fitted, n_months = (int((vans.edges < end).sum()) for end in (FIRST_FORECAST, END))
    fitted, new = slice(0, n_fitted), slice(n_fitted, n_months)
    t, y, exposure = vans.data, vans.target, vans.exposure
    season = ConstantKernel() * ExpSineSquared(periodicity=1.0, periodicity_bounds="fixed")
    length: dict = {"n_chains": 2, "n_warmup": 10, "n_draws": 20} if arguments.quick else {}
    model = MCMCCoxProcessRegressor(
        ConstantKernel() * RBF() + season,
        likelihood="negative-binomial", max_prediction_draws=1000, random_state=0, **length,
    )  # fmt: skip
    start = time.perf_counter()
    with warnings.catch_warnings():
        if arguments.quick:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(t[fitted], y[fitted], exposure=exposure[fitted])
    print(f"{model.n_iter_} iterations of each chain: {time.perf_counter() - start:.0f} s\n")
    forecasts = [
        Forecast(
            "trend and season",
            model.predict_quantiles(t[new], QUANTILES, exposure=exposure[new]),
            model.log_predictive_density(t[new], y[new], exposure=exposure[new]),
        ),
        seasonal_naive(y[fitted], y[new]),
    ]
    for forecast in forecasts:
        print(forecast.describe(y[new]))
    plot(forecasts, vans.edges[: n_months + 1], y[:n_months], n_fitted, arguments.output)


if __name__ == "__main__":
    main()
