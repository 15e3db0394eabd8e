"""One interface to all methods: `fit` on training rows, `score` on others."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from .scoring import LEVEL, Array, score_classes, score_counts, score_numbers

_ENDS = (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
_N_FOLDS = 5


class Forecaster(Protocol):
    """A method that a table can be given to."""

    def fit(self, X: Array, y: NDArray) -> Forecaster:
        """Learn from training rows."""

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Return the measures of the forecasts of other rows."""


class _Wrapper:
    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Array, y: NDArray) -> Any:
        self.model.fit(X, y)
        return self


class Probabilities(_Wrapper):
    """Any classifier."""

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Score the probabilities of classes."""
        return score_classes(y, self.model.classes_, self.model.predict_proba(X))


class OurNumbers(_Wrapper):
    """Our regressor."""

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Score the predictive densities."""
        low, high = self.model.predict_interval(X, LEVEL).T
        log_density = self.model.log_predictive_density(X, y)
        return score_numbers(y, self.model.predict(X), log_density, (low, high))


class OurCounts(_Wrapper):
    """Our regressor of counts."""

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Score the predictive distributions."""
        low, high = self.model.predict_quantiles(X, _ENDS).T
        log_mass = self.model.log_predictive_density(X, y)
        return score_counts(y, self.model.predict(X), log_mass, (low, high))


class NormalWithStd(_Wrapper):
    """A regressor whose `predict` returns standard deviations too."""

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Score normal densities."""
        return _score_normal(y, *self.model.predict(X, return_std=True))


class NormalByResiduals(_Wrapper):
    """Any regressor; the densities are normal with the variance of out-of-fold residuals."""

    def fit(self, X: Array, y: NDArray) -> NormalByResiduals:
        """Fit it to all rows, and to all rows but those of each fold."""
        folds = KFold(_N_FOLDS, shuffle=True, random_state=0)
        residuals = y - cross_val_predict(clone(self.model), X, y, cv=folds)
        self.std_ = float(np.sqrt(np.mean(residuals**2)))
        self.model.fit(X, y)
        return self

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Score normal densities."""
        return _score_normal(y, self.model.predict(X), self.std_)


def _score_normal(y: Array, mean: Array, std: Any) -> dict[str, float]:
    forecast = stats.norm(mean, std)
    low, high = (forecast.ppf(end) for end in _ENDS)
    return score_numbers(y, mean, forecast.logpdf(y), (low, high))


class PoissonRate(_Wrapper):
    """A regressor of rates; counts are Poisson, of rates that are no smaller than half an event
    in all training rows together.
    """

    def fit(self, X: Array, y: NDArray) -> PoissonRate:
        """Fit the rates."""
        self.smallest_ = 0.5 / len(y)
        self.model.fit(X, y)
        return self

    def score(self, X: Array, y: NDArray) -> dict[str, float]:
        """Score Poisson distributions."""
        rate = np.maximum(self.model.predict(X), self.smallest_)
        forecast = stats.poisson(rate)
        low, high = (forecast.ppf(end) for end in _ENDS)
        return score_counts(y, rate, forecast.logpmf(y), (low, high))
