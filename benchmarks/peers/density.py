"""The complete-data log-likelihood of draws of packages that do not record it."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.special import gammaln, log_expit

from .exchange import Problem, Run


def covariance(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """Return K at theta."""
    n_columns = problem.X.shape[1]
    scaled = problem.X / np.exp(theta[1 : 1 + n_columns])
    squares = (scaled**2).sum(axis=1)
    distances = squares[:, np.newaxis] + squares - 2.0 * (scaled @ scaled.T)
    correlation = np.exp(-0.5 * np.maximum(distances, 0.0))
    np.fill_diagonal(correlation, 1.0 + problem.jitter)
    return np.exp(theta[0]) * correlation


def log_likelihood(problem: Problem, latent: np.ndarray) -> float:
    """Return log L(f)."""
    y = problem.y
    if problem.likelihood == "logit":
        return float(log_expit(y * latent).sum())
    if problem.likelihood == "poisson":
        return float((y * latent - np.exp(latent) - gammaln(y + 1.0)).sum())
    variance = float(problem.noise_variance)  # type: ignore[arg-type]
    squares = ((y - latent) ** 2).sum() / variance
    return -0.5 * float(squares + len(y) * math.log(2.0 * math.pi * variance))


def complete_data_log_likelihood(problem: Problem, run: Run, seed: int) -> np.ndarray:
    """Return log L(f) + log N(f; mean, K) of every draw, shape (n_chains, n_draws).

    Where f was integrated out, it is drawn from its conditional given theta, as our
    package does.
    """
    if run.complete_data_log_likelihood is not None:
        return run.complete_data_log_likelihood
    rng = np.random.default_rng(seed)
    values = np.empty(run.theta.shape[:2])
    for index in np.ndindex(values.shape):
        theta = run.theta[index]
        K = covariance(problem, theta)
        L = cholesky(K, lower=True)
        mean = theta[-1] if problem.mean else 0.0
        white = _draw_white(problem, K, L, rng) if run.whitened is None else run.whitened[index]
        log_prior = -0.5 * white @ white - np.log(np.diag(L)).sum()
        log_prior -= 0.5 * len(white) * math.log(2.0 * math.pi)
        values[index] = log_likelihood(problem, mean + L @ white) + log_prior
    return values


def _draw_white(
    problem: Problem, K: np.ndarray, L: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw L^-1 f given y: a draw of the prior, moved by the residual of a draw of the data."""
    variance = float(problem.noise_variance)  # type: ignore[arg-type]
    white, noise = rng.standard_normal((2, len(K)))
    residual = problem.y - L @ white - math.sqrt(variance) * noise
    factor = cho_factor(K + variance * np.eye(len(K)), lower=True)
    return white + L.T @ cho_solve(factor, residual)
