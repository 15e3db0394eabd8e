"""The methods beside ours.

All of them see the same standardised columns. What has a penalty has it chosen by
cross-validation; trees and boosting have their defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from .catalogue import CLASSES, COUNTS, NUMBERS
from .forecasters import (
    Forecaster,
    NormalByResiduals,
    NormalWithStd,
    PoissonRate,
    Probabilities,
)
from .scoring import Array

_N_TREES = 300
_INVERSE_PENALTIES = np.logspace(-4, 4, 13)
_RIDGE_PENALTIES = np.logspace(-3, 4, 29)
_POISSON_PENALTIES = np.logspace(-4, 2, 13)


@dataclass(frozen=True)
class Task:
    """What a method may know before it is fitted: the training rows, standardised."""

    kind: str
    X: Array
    y: NDArray
    seed: int


#: Kind of a table -> what makes the method for it. None: not for this one.
Method = dict[str, Callable[[Task], Forecaster | None]]


def _kernel(variance: float, scales: Array | float, root_columns: float) -> Kernel:
    scale = scales * root_columns
    return ConstantKernel(variance, (1e-4, 1e4)) * RBF(scale, (1e-2, 1e4))


def _optimised(n_scales: Callable[[int], int]) -> Method:
    """Return scikit-learn's Gaussian processes with so many length scales."""

    def kernel(task: Task, variance: float) -> Kernel:
        n_columns = task.X.shape[1]
        count = n_scales(n_columns)
        return _kernel(variance, np.ones(count) if count > 1 else 1.0, np.sqrt(n_columns))

    def classes(task: Task) -> Forecaster:
        model = GaussianProcessClassifier(
            kernel(task, 4.0), n_restarts_optimizer=1, random_state=task.seed
        )
        return Probabilities(model)

    def numbers(task: Task) -> Forecaster:
        model = GaussianProcessRegressor(
            kernel(task, 1.0) + WhiteKernel(0.1, (1e-6, 1e2)),
            normalize_y=True,
            n_restarts_optimizer=2,
            random_state=task.seed,
        )
        return NormalWithStd(model)

    return {CLASSES: classes, NUMBERS: numbers}


def _logistic(*before: Any) -> Forecaster:
    steps = make_pipeline(*before, LogisticRegression(max_iter=2000))
    penalties = {"logisticregression__C": _INVERSE_PENALTIES}
    return Probabilities(GridSearchCV(steps, penalties, scoring="neg_log_loss"))


def _ridge(*before: Any) -> Forecaster:
    return NormalByResiduals(make_pipeline(*before, RidgeCV(_RIDGE_PENALTIES)))


def _poisson(*before: Any) -> Forecaster:
    steps = make_pipeline(*before, PoissonRegressor(max_iter=1000))
    penalties = {"poissonregressor__alpha": _POISSON_PENALTIES}
    return PoissonRate(GridSearchCV(steps, penalties, scoring="neg_mean_poisson_deviance"))


def _splines() -> Any:
    return SplineTransformer(n_knots=12, extrapolation="linear")


def _for_one_column(make: Callable[..., Forecaster]) -> Callable[[Task], Forecaster | None]:
    return lambda task: make(_splines()) if task.X.shape[1] == 1 else None


def _forest_of_classes(task: Task) -> Forecaster:
    forest = RandomForestClassifier(_N_TREES, random_state=task.seed)
    return Probabilities(CalibratedClassifierCV(forest, method="sigmoid", cv=5))


def _lightgbm() -> Method:
    try:
        import lightgbm
    except ImportError:
        return {}
    options: dict[str, Any] = {"n_jobs": 1, "verbose": -1}

    def classes(task: Task) -> Forecaster:
        return Probabilities(lightgbm.LGBMClassifier(random_state=task.seed, **options))

    def numbers(task: Task) -> Forecaster:
        return NormalByResiduals(lightgbm.LGBMRegressor(random_state=task.seed, **options))

    def counts(task: Task) -> Forecaster:
        model = lightgbm.LGBMRegressor(objective="poisson", random_state=task.seed, **options)
        return PoissonRate(model)

    return {CLASSES: classes, NUMBERS: numbers, COUNTS: counts}


def other_methods() -> dict[str, Method]:
    """Return name -> method, of all that are installed."""
    methods: dict[str, Method] = {
        "gp-iso": _optimised(lambda n_columns: 1),
        "gp-ard": _optimised(lambda n_columns: n_columns),
        "linear": {
            CLASSES: lambda task: _logistic(),
            NUMBERS: lambda task: _ridge(),
            COUNTS: lambda task: _poisson(),
        },
        "splines": {
            CLASSES: _for_one_column(_logistic),
            NUMBERS: _for_one_column(_ridge),
            COUNTS: _for_one_column(_poisson),
        },
        "boosting": {
            CLASSES: lambda task: Probabilities(
                HistGradientBoostingClassifier(random_state=task.seed)
            ),
            NUMBERS: lambda task: NormalByResiduals(
                HistGradientBoostingRegressor(random_state=task.seed)
            ),
            COUNTS: lambda task: PoissonRate(
                HistGradientBoostingRegressor(loss="poisson", random_state=task.seed)
            ),
        },
        "forest": {
            CLASSES: _forest_of_classes,
            NUMBERS: lambda task: NormalByResiduals(
                RandomForestRegressor(_N_TREES, random_state=task.seed)
            ),
            COUNTS: lambda task: PoissonRate(
                RandomForestRegressor(
                    _N_TREES, criterion="poisson", min_samples_leaf=3, random_state=task.seed
                )
            ),
        },
    }
    if lightgbm := _lightgbm():
        methods["lightgbm"] = lightgbm
    return methods
