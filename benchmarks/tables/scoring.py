"""How forecasts are scored: the smaller the better, but for coverage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, mean_poisson_deviance

Array = NDArray[np.float64]

LEVEL = 0.9
#: `loss` is what methods are compared by: log loss, negative log density, Poisson deviance.
MEASURES = ["loss", "nlpd", "brier", "error", "calibration", "coverage"]


def score_classes(y: NDArray, classes: NDArray, probabilities: Array) -> dict[str, float]:
    """Score probabilities of classes; `error` is the share of wrong labels.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    classes : ndarray of shape (n_classes,)
        What the columns of `probabilities` are.
    probabilities : ndarray of shape (n, n_classes)
        Forecasts.
    """
    truth = (y[:, None] == classes).astype(float)
    top = probabilities.argmax(axis=1)
    is_right = classes[top] == y
    loss = float(log_loss(truth.argmax(axis=1), probabilities, labels=np.arange(len(classes))))
    return {
        "loss": loss,
        "nlpd": loss,
        "brier": float(((probabilities - truth) ** 2).sum(axis=1).mean()),
        "error": float(1.0 - is_right.mean()),
        "calibration": calibration_error(probabilities.max(axis=1), is_right),
    }


def calibration_error(confidence: Array, is_right: NDArray, n_bins: int = 10) -> float:
    """Return the expected calibration error of the likeliest class, in bins of equal width."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, weights=is_right - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(confidence))


def score_numbers(
    y: Array, mean: Array, log_density: Array, ends: tuple[Array, Array]
) -> dict[str, float]:
    """Score densities of numbers; `error` is the root mean squared error."""
    nlpd = float(-log_density.mean())
    error = float(np.sqrt(((y - mean) ** 2).mean()))
    return {"loss": nlpd, "nlpd": nlpd, "error": error, "coverage": coverage(y, ends)}


def score_counts(
    y: Array, rate: Array, log_mass: Array, ends: tuple[Array, Array]
) -> dict[str, float]:
    """Score forecasts of counts; `error` is the root mean squared error."""
    return {
        "loss": float(mean_poisson_deviance(y, rate)),
        "nlpd": float(-log_mass.mean()),
        "error": float(np.sqrt(((y - rate) ** 2).mean())),
        "coverage": coverage(y, ends),
    }


def coverage(y: Array, ends: tuple[Array, Array]) -> float:
    """Return the share of rows that are inside their intervals of 90 %."""
    low, high = ends
    return float(np.mean((low <= y) & (y <= high)))
