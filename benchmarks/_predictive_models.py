"""The models of the accuracy battery, and how their forecasts are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.metrics import (
    log_loss,
    mean_poisson_deviance,
    root_mean_squared_error,
    zero_one_loss,
)
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

DEFAULT, VARIANT, ML_II = "MCMC GP", "MCMC GP, variant", "ML-II GP"
LINEAR, SPLINES, BOOSTING = "linear", "splines", "boosting"
FAMILIES = [DEFAULT, VARIANT, ML_II, LINEAR, SPLINES, BOOSTING]
# Of each kind of problem; the first one is compared and summed up.
METRICS = {
    "classification": ["log loss", "Brier score", "error rate"],
    "regression": ["neg. log density", "RMSE", "coverage of 90 %"],
    "counts": ["neg. log mass", "Poisson deviance", "coverage of 90 %"],
}
_LEVEL = 0.9
_ENDS = [0.5 - _LEVEL / 2, 0.5 + _LEVEL / 2]
_N_RESTARTS = 2


@dataclass(frozen=True)
class Scores:
    """Metrics of one forecast; for classification also what the calibration needs."""

    metrics: dict[str, float]
    confidence: np.ndarray | None = None
    correct: np.ndarray | None = None


class BoostedGaussian(RegressorMixin, BaseEstimator):
    """Boosted trees; the density is normal with the variance of out-of-fold residuals."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BoostedGaussian:
        trees = HistGradientBoostingRegressor(random_state=self.random_state)
        residuals = y - cross_val_predict(trees, X, y, cv=5)
        self.std_ = float(np.sqrt(np.mean(residuals**2)))
        self.trees_ = trees.fit(X, y)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        mean = self.trees_.predict(X)
        return (mean, np.full(len(mean), self.std_)) if return_std else mean


def _kernel(n_columns: int, variance: float) -> Kernel:
    """Return the form of our default kernel, for standardised columns, with wide bounds."""
    scale = np.full(n_columns, np.sqrt(n_columns))
    return ConstantKernel(variance, (1e-4, 1e4)) * RBF(scale, (1e-2, 1e4))


def _classifiers(
    n_columns: int, n_classes: int, chains: dict[str, int], seed: int
) -> dict[str, Any]:
    models: dict[str, Any] = {
        DEFAULT: MCMCGaussianProcessClassifier(random_state=seed, **chains),
        ML_II: GaussianProcessClassifier(
            _kernel(n_columns, 4.0), n_restarts_optimizer=_N_RESTARTS, random_state=seed
        ),
        LINEAR: LogisticRegression(max_iter=1000),
        BOOSTING: HistGradientBoostingClassifier(random_state=seed),
    }
    if n_classes > 2:
        softmax = MCMCGaussianProcessClassifier(multi_class="softmax", random_state=seed, **chains)
        models[VARIANT] = softmax
    return models


def _regressors(n_columns: int, chains: dict[str, int], seed: int) -> dict[str, Any]:
    return {
        DEFAULT: MCMCGaussianProcessRegressor(random_state=seed, **chains),
        VARIANT: MCMCGaussianProcessRegressor(likelihood="student-t", random_state=seed, **chains),
        ML_II: GaussianProcessRegressor(
            _kernel(n_columns, 1.0) + WhiteKernel(0.1, (1e-6, 1e2)),
            normalize_y=True,
            n_restarts_optimizer=_N_RESTARTS,
            random_state=seed,
        ),
        LINEAR: BayesianRidge(),
        BOOSTING: BoostedGaussian(seed),
    }


def _count_models(chains: dict[str, int], seed: int) -> dict[str, Any]:
    splines = make_pipeline(SplineTransformer(extrapolation="linear"), PoissonRegressor())
    penalties = {"poissonregressor__alpha": np.logspace(-3, 1, 9)}
    return {
        DEFAULT: MCMCCoxProcessRegressor(random_state=seed, **chains),
        LINEAR: PoissonRegressor(),
        SPLINES: GridSearchCV(splines, penalties, scoring="neg_mean_poisson_deviance"),
        BOOSTING: HistGradientBoostingRegressor(loss="poisson", random_state=seed),
    }


def make_models(
    kind: str, n_columns: int, n_classes: int, chains: dict[str, int], seed: int
) -> dict[str, Any]:
    """Return the family of each model -> the model, our default first."""
    if kind == "classification":
        models = _classifiers(n_columns, n_classes, chains, seed)
    elif kind == "regression":
        models = _regressors(n_columns, chains, seed)
    else:
        models = _count_models(chains, seed)
    return {family: models[family] for family in FAMILIES if family in models}


def describe(model: Any) -> str:
    """Return the model's class, and what sets it apart from another of the same class."""
    name = type(model).__name__
    if isinstance(model, GridSearchCV):
        return "SplineTransformer, PoissonRegressor, GridSearchCV"
    for parameter in ("multi_class", "likelihood"):
        value = model.get_params().get(parameter)
        if value in ("softmax", "student-t"):
            return f"{name}({parameter}={value!r})"
    return name


def score(kind: str, pipeline: Pipeline, X: np.ndarray, y: np.ndarray) -> Scores:
    """Return the metrics of the forecasts of new rows."""
    scorer = {"classification": _score_classes, "regression": _score_numbers}
    return scorer.get(kind, _score_counts)(pipeline, X, y)


def _score_classes(pipeline: Pipeline, X: np.ndarray, y: np.ndarray) -> Scores:
    classes = pipeline.classes_
    probabilities = pipeline.predict_proba(X)
    truth = (y[:, None] == classes).astype(float)
    predicted = classes[probabilities.argmax(axis=1)]
    values = [
        log_loss(y, probabilities, labels=classes),
        # The sum over the classes; scikit-learn has it from 1.7 on only.
        float(((probabilities - truth) ** 2).sum(axis=1).mean()),
        zero_one_loss(y, predicted),
    ]
    metrics = dict(zip(METRICS["classification"], values, strict=True))
    return Scores(metrics, probabilities.max(axis=1), predicted == y)


def _is_ours(model: Any) -> bool:
    return hasattr(model, "log_predictive_density")


def _score_numbers(pipeline: Pipeline, X: np.ndarray, y: np.ndarray) -> Scores:
    model = pipeline[-1]
    Z = pipeline[:-1].transform(X)
    if _is_ours(model):
        mean, log_density = model.predict(Z), model.log_predictive_density(Z, y)
        low, high = model.predict_interval(Z, _LEVEL).T
    else:
        mean, std = model.predict(Z, return_std=True)
        forecast = stats.norm(mean, std)
        log_density, (low, high) = forecast.logpdf(y), (forecast.ppf(end) for end in _ENDS)
    covered = np.mean((low <= y) & (y <= high))
    values = [-log_density.mean(), root_mean_squared_error(y, mean), covered]
    return Scores(dict(zip(METRICS["regression"], map(float, values), strict=True)))


def _score_counts(pipeline: Pipeline, X: np.ndarray, y: np.ndarray) -> Scores:
    model = pipeline[-1]
    Z = pipeline[:-1].transform(X)
    rate = model.predict(Z)
    if _is_ours(model):
        log_mass = model.log_predictive_density(Z, y)
        low, high = model.predict_quantiles(Z, _ENDS).T
    else:
        forecast = stats.poisson(rate)
        log_mass, (low, high) = forecast.logpmf(y), (forecast.ppf(end) for end in _ENDS)
    covered = np.mean((low <= y) & (y <= high))
    values = [-log_mass.mean(), mean_poisson_deviance(y, rate), covered]
    return Scores(dict(zip(METRICS["counts"], map(float, values), strict=True)))


def calibration_error(confidence: np.ndarray, correct: np.ndarray, n_bins: int = 10) -> float:
    """Return the expected calibration error of the top class, bins of equal width."""
    index = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(index, weights=correct - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(confidence))
