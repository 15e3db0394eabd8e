"""Every ready-made picture
========================

Pictures of fitted estimators, on real data, and scikit-learn's of calibration.

Fits a classifier to the three irises and to radar returns (Ionosphere), a regressor to the
diabetes data, and Cox processes to explosions in coal mines and to redwood seedlings; draws each
display, one PNG each.

::

    python examples/displays.py [--quick] [--output displays]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.datasets import load_coal_mining, load_ionosphere, load_redwoods
from skgpmcmc.displays import (
    HyperparameterDisplay,
    IntensityDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    TraceDisplay,
)

N_TRAIN = 150
DAYS_PER_BIN = 365


def draw_irises(settings: dict) -> dict:
    """Three classes: probabilities along a petal's length, and relevant columns."""
    data = load_iris(as_frame=True)
    X, y = data.data[::2], data.target_names[data.target][::2]
    model = MCMCGaussianProcessClassifier(**settings).fit(X, y)
    return {
        "predictive_irises": PredictiveDisplay.from_estimator(
            model, X, y, feature="petal length (cm)"
        ),
        "relevance_irises": RelevanceDisplay.from_estimator(model),
    }


def draw_radar(settings: dict) -> dict:
    """Two classes, 34 columns: chains, relevance of the columns, calibration on new rows.

    The chains are too short for some length scales, and the fit warns: the traces show where.
    """
    data = load_ionosphere(as_frame=True)
    X, y = data.data, data.target
    model = MCMCGaussianProcessClassifier(**settings).fit(X[:N_TRAIN], y[:N_TRAIN])
    ax = plt.figure(figsize=(5.5, 5.0), layout="constrained").add_subplot()
    options = {"n_bins": 6, "strategy": "quantile", "name": "skgpmcmc", "ax": ax}
    new = X[N_TRAIN:], y[N_TRAIN:]
    return {
        "trace_radar": TraceDisplay.from_estimator(model),
        "relevance_radar": RelevanceDisplay.from_estimator(model),
        "predictive_radar": PredictiveDisplay.from_estimator(
            model, X[:N_TRAIN], y[:N_TRAIN], feature=str(X.columns[4])
        ),
        "calibration_radar": CalibrationDisplay.from_estimator(model, *new, **options),
    }


def draw_diabetes(settings: dict) -> dict:
    """Regression behind a scaler: the progression of diabetes along the body mass index."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, y = X[:N_TRAIN], y[:N_TRAIN]
    regressor = MCMCGaussianProcessRegressor(normalize_y=True, **settings)
    model = make_pipeline(StandardScaler(), regressor).fit(X, y)
    return {
        "hyperparameters_diabetes": HyperparameterDisplay.from_estimator(model),
        "predictive_diabetes": PredictiveDisplay.from_estimator(
            model, X, y, feature="bmi", ylabel="disease progression after one year"
        ),
    }


def draw_coal_mining(settings: dict) -> dict:
    """A rate over time, on a calendar; the posterior of its hyperparameters in pairs."""
    data = load_coal_mining()
    model = MCMCCoxProcessRegressor(max_prediction_draws=1000, **settings)
    model.fit(data.data, data.target)
    first = data.dates[0]

    def to_dates(t):
        return first + (t * DAYS_PER_BIN).astype("timedelta64[D]")

    return {
        "trace_coal_mining": TraceDisplay.from_estimator(model),
        "hyperparameters_coal_mining": HyperparameterDisplay.from_estimator(model),
        "pairs_coal_mining": HyperparameterDisplay.from_estimator(model, kind="pairs"),
        "predictive_coal_mining": PredictiveDisplay.from_estimator(
            model,
            data.data,
            data.target,
            feature_names=["year"],
            ylabel="explosions in 365 days",
            convert=to_dates,
        ),
        "intensity_coal_mining": IntensityDisplay.from_estimator(
            model,
            events=data.events / DAYS_PER_BIN,
            feature_names=["year"],
            unit="explosions in 365 days",
            convert=to_dates,
        ),
    }


def draw_redwoods(settings: dict) -> dict:
    """A map of seedlings: their intensity, and where it surely differs from a constant."""
    data = load_redwoods()
    model = MCMCCoxProcessRegressor(**settings)
    model.fit(data.data, data.target, exposure=1.0 / len(data.data))
    display = IntensityDisplay.from_estimator(
        model,
        events=data.points,
        threshold=float(len(data.points)),
        feature_names=["x (unit: the square's side)", "y (unit: the square's side)"],
        unit="trees per unit area",
    )
    return {"intensity_redwoods": display}


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--output", default="displays", help="folder that the pictures go to")
    arguments = parser.parse_args()

    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    length = {"n_warmup": 10, "n_draws": 20} if arguments.quick else {"n_draws": 500}
    for draw in (draw_irises, draw_radar, draw_diabetes, draw_coal_mining, draw_redwoods):
        start = time.perf_counter()
        with warnings.catch_warnings():
            if arguments.quick:
                warnings.simplefilter("ignore", ConvergenceWarning)
            displays = draw({"random_state": 0, **length})
        for name, display in displays.items():
            path = folder / f"{name}.png"
            display.figure_.savefig(path, dpi=110)
            print(f"picture: {path}")
            plt.close(display.figure_)
        print(f"{draw.__name__}: {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
