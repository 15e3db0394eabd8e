"""A mean offset with a normal prior that is integrated out, and drawn afterwards.

Notation: K' = K + tau^2 1 1^T and f = m0 + L' z. All functions take the prior's mean and standard
deviation, (m0, tau).
"""

from __future__ import annotations

import math

import numpy as np

from .._covariance import Factor
from .._linalg import Array
from ..priors import HyperPrior

_LOG_2PI = math.log(2.0 * math.pi)


def normal_parameters(prior: HyperPrior) -> tuple[float, float]:
    """Return mean and standard deviation of a normal prior of the offset.

    Raises
    ------
    ValueError
        If it is not normal.
    """
    if prior.distribution.dist.name != "norm" or not np.isinf(prior.support).all():
        msg = (
            "a collapsed mean needs a normal prior for 'mean'; got "
            f"{prior.distribution.dist.name}. Give scipy.stats.norm(loc, scale), or sample the "
            "mean (collapse_mean=False)."
        )
        raise ValueError(msg)
    return float(prior.distribution.mean()), float(prior.distribution.std())


def offset_given(
    prior: tuple[float, float], factor: Factor, whitened: Array
) -> tuple[float, float]:
    """Return mean and standard deviation of the offset given f.

    With a = L'^-1 1 it is normal with mean m0 + tau^2 a.z and variance tau^2 (1 - tau^2 a.a).

    Parameters
    ----------
    prior : (float, float)
    factor : Factor
        Of K'.
    whitened : ndarray of shape (n_latent,)
        z.
    """
    location, scale = prior
    variance = scale**2
    ones = factor.whiten(np.ones(len(whitened)))
    centre = location + variance * float(ones @ whitened)
    std = math.sqrt(max(variance * (1.0 - variance * float(ones @ ones)), 0.0))
    return centre, std


def log_normal_given(
    prior: tuple[float, float], factor: Factor, whitened: Array, mean: float
) -> float:
    """Return log N(f; m, K), without the offset's variance, for a value m of the offset.

    By Bayes' rule it is log N(f; m0, K') + log p(m given f) - log p(m). For the parameters see
    `offset_given`.
    """
    location, scale = prior
    centre, std = offset_given(prior, factor, whitened)
    if not std:
        return math.inf
    log_marginal = factor.log_normal(whitened) - 0.5 * _LOG_2PI * len(whitened)
    log_conditional = -0.5 * ((mean - centre) / std) ** 2 - math.log(std)
    log_prior = -0.5 * ((mean - location) / scale) ** 2 - math.log(scale)
    return log_marginal + log_conditional - log_prior
