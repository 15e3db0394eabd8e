"""Moments of one latent function, and what follows from them, averaged over the draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._linalg import Array
from ..likelihoods.predictive._mixtures import (
    normal_exceedance,
    normal_quantiles,
    total_mean,
    total_moments,
)
from ._dense import PosteriorDraws
from ._views import MeanOffset


def latent_mean(draws: PosteriorDraws, X: Any) -> Array:
    """Return the mean of f at each row, averaged over the draws."""
    mean = np.empty(len(X))
    for rows, means in draws.mean_chunks(X):
        mean[rows] = total_mean(means)
    return mean


def latent_moments(draws: PosteriorDraws, X: Any) -> tuple[Array, Array]:
    """Return mean and variance of f at each row, averaged over the draws."""
    mean, variance = np.empty(len(X)), np.empty(len(X))
    for rows, means, variances in draws.chunks(X):
        mean[rows], variance[rows] = total_moments(means, variances)
    return mean, variance


def latent_summary(
    draws: PosteriorDraws | MeanOffset, X: Any, quantiles: Array
) -> tuple[Array, Array, Array]:
    """Return mean, variance and quantiles of f, or a part of it, averaged over the draws."""
    mean, variance = np.empty(len(X)), np.empty(len(X))
    values = np.empty((len(X), len(quantiles)))
    for rows, means, variances in draws.chunks(X):
        mean[rows], variance[rows] = total_moments(means, variances)
        values[rows] = normal_quantiles(means, variances, quantiles)
    return mean, variance, values


def latent_exceedance(draws: PosteriorDraws, X: Any, threshold: Array) -> Array:
    """Return the probability that f is above the threshold of each row, averaged over the draws."""
    probability = np.empty(len(X))
    for rows, means, variances in draws.chunks(X):
        probability[rows] = normal_exceedance(threshold[rows], means, variances)
    return probability


def of_new_observations(
    method: Callable[..., Array],
    draws: PosteriorDraws,
    X: Any,
    params: Array,
    /,
    *first: Array,
    **per_row: Array,
) -> Array:
    """Return what a method of the likelihood says of new observations, some rows at a time.

    Parameters
    ----------
    method : callable
        Such as `Likelihood.predictive_mean`.
    draws : PosteriorDraws
        They give mean and variance of f.
    X : array-like of length n_rows
        New inputs.
    params : ndarray of shape (n_draws, n_parameters)
        The likelihood's own parameters.
    *first, **per_row : ndarray of length n_rows
        Its arguments before the moments, such as y, and after the parameters.
    """
    parts = []
    for rows, *moments in draws.chunks(X):
        some = {name: values[rows] for name, values in per_row.items()}
        parts.append(method(*(each[rows] for each in first), *moments, params, **some))
    return np.concatenate(parts)


def latent_covariance(draws: PosteriorDraws, X: Any) -> tuple[Array, Array]:
    """Return mean and covariance of f at all rows, averaged over the draws."""
    means = np.empty((len(draws), len(X)))
    covariance = np.zeros((len(X), len(X)))
    for d in range(len(draws)):
        means[d], one = draws.joint(X, d)
        covariance += one / len(draws)
    mean = means.mean(axis=0)
    deviations = means - mean
    return mean, covariance + deviations.T @ deviations / len(draws)
