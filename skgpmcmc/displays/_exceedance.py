"""The posterior probability that a rate is above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from .._linalg import Array
from ..estimators import MCMCCoxProcessRegressor


def exceedance_probability(estimator: MCMCCoxProcessRegressor, X: Any, threshold: float) -> Array:
    """Return the posterior probability that the rate is above a threshold, row by row.

    Given a draw, the log rate at a row is normal; the probability is averaged over the draws,
    nothing is simulated.

    Parameters
    ----------
    estimator : MCMCCoxProcessRegressor
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    threshold : float
        Events per unit of exposure, positive.

    Returns
    -------
    probability : ndarray of shape (n_samples,)
    """
    X = estimator._validate_new(X)
    probability = np.empty(len(X))
    for rows, mean, variance in estimator._posterior_draws()[0].chunks(X):
        above = mean - np.log(threshold)
        certain = np.where(above > 0.0, np.inf, -np.inf)  # where the draw leaves no doubt
        positive = variance > 0.0
        score = np.where(positive, above / np.sqrt(np.where(positive, variance, 1.0)), certain)
        probability[rows] = ndtr(score).mean(axis=0)
    return probability
