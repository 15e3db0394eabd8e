"""Rows of two columns, some of which repeat others, and targets of all kinds at them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


class NoisyRows(NamedTuple):
    """X, a latent value for each row, and labels, successes and counts that depend on it."""

    X: NDArray
    latent: NDArray
    labels: NDArray
    three: NDArray
    trials: NDArray
    successes: NDArray
    exposure: NDArray
    counts: NDArray


def noisy_rows(rng: np.random.Generator, n: int) -> NoisyRows:
    """Draw n rows, in an order that is not that of the latent variables; n is even."""
    X = rng.permutation(np.repeat(rng.uniform(-2.0, 2.0, (n // 2, 2)), 2, axis=0))
    latent = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)
    labels = np.where(latent > 0.0, "up", "down")
    three = np.array(["a", "b", "c"])[np.digitize(latent, [-0.4, 0.4])]
    trials = rng.integers(1, 9, n)
    successes = rng.binomial(trials, expit(latent))
    exposure = rng.uniform(0.5, 9.0, n)
    counts = rng.poisson(exposure * np.exp(latent))
    return NoisyRows(X, latent, labels, three, trials, successes, exposure, counts)
