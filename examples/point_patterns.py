"""From events to a picture of their rate
======================================

Five lines from events, as dates or as coordinates, to a picture of their rate.

Explosions in British coal mines over the calendar, and a map of redwood seedlings. `bin_events`
counts the events in cells of known length or area, so that the rate is per unit of time or area,
whatever the number of cells.

::

    python examples/point_patterns.py [--quick] [--output DIRECTORY]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.datasets import load_coal_mining, load_redwoods
from skgpmcmc.displays import IntensityDisplay
from skgpmcmc.point_patterns import bin_events


def draw_mining(dates: np.ndarray, path: Path, length: dict) -> None:
    """Draw the rate of explosions in units of 365 days, from 112 cells of that length."""
    labels: dict = {"feature_names": ["year"], "unit": "explosions in 365 days"}

    cells = bin_events(dates, bins=112, window=("1851-03-15", "1963-02-16"), unit="365D")
    # More draws than by default, or the ends of the band would be jagged.
    model = MCMCCoxProcessRegressor(max_prediction_draws=1000, random_state=0, **length)
    model.fit(cells.X, cells.y, exposure=cells.exposure)
    where: dict = {"events": cells.events, "convert": cells.to_dates}
    IntensityDisplay.from_estimator(model, **where, **labels).figure_.savefig(path, dpi=110)


def draw_redwoods(points: np.ndarray, path: Path, length: dict) -> None:
    """Draw the intensity of trees per unit area, where the region's side is 1."""
    labels: dict = {"feature_names": ["x (side)", "y (side)"], "unit": "trees per unit area"}

    cells = bin_events(points, bins=25, window=(0.0, 1.0))
    model = MCMCCoxProcessRegressor(random_state=0, **length)
    model.fit(cells.X, cells.y, exposure=cells.exposure)
    display = IntensityDisplay.from_estimator(model, events=cells.events, **labels)
    display.figure_.savefig(path, dpi=110)


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--output", default=".", type=Path, help="directory of the pictures")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)

    length = {"n_warmup": 10, "n_draws": 20} if arguments.quick else {}
    patterns = {
        "mining": (draw_mining, load_coal_mining().dates),
        "redwoods": (draw_redwoods, load_redwoods().points),
    }
    for name, (draw, events) in patterns.items():
        path = arguments.output / f"point_patterns_{name}.png"
        start = time.perf_counter()
        with warnings.catch_warnings():
            if arguments.quick:
                warnings.simplefilter("ignore", ConvergenceWarning)
            draw(events, path, length)
        print(f"{path}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
