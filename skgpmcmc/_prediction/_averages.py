"""Moments of one latent function at new inputs, averaged over the draws."""

from __future__ import annotations

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
