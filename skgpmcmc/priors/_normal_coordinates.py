"""Coordinates in which the prior of the hyperparameters is about standard normal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from .._linalg import Array
from . import HyperPrior

# Bound of the coordinates of priors with two ends: the mass beyond it is never visited.
_FARTHEST = 8.0
_BELOW, _ABOVE = 0.15865525393145707, 0.8413447460685429


class NormalCoordinates:
    """A smooth one-to-one map between theta and u.

    A line x = c + s u, opened to the support of the prior: theta = x without bounds,
    theta = a + exp(x) with one, theta = a + (b - a) Phi(x) with two. Centre and scale fit
    the prior's quantiles: normal priors, and flat ones between bounds, are standard normal
    in u; others keep a density of their own, about as wide.

    Parameters
    ----------
    priors : sequence of HyperPrior
        One for each element of theta.
    """

    def __init__(self, priors: Sequence[HyperPrior]) -> None:
        normal_forms = [prior.normal_form for prior in priors]
        self._others = [(i, p) for i, p in enumerate(priors) if p.normal_form is None]
        self._log_peak, self._mode, self._curvature = (
            np.array([form or (0.0, 0.0, 0.0) for form in normal_forms]).reshape(-1, 3).T
        )
        self._lowest, self._highest = np.array([p.finite_support for p in priors]).reshape(-1, 2).T
        lower, upper = np.array([prior.support for prior in priors]).reshape(-1, 2).T
        self._bounded = np.isfinite(lower) & np.isfinite(upper)
        self._half = np.isfinite(lower) ^ np.isfinite(upper)
        self._end = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
        self._sign = np.where(np.isfinite(upper) & ~np.isfinite(lower), -1.0, 1.0)
        self._width = np.where(self._bounded, upper - lower, 1.0)
        quantiles = [[p.quantile(q) for q in (_BELOW, 0.5, _ABOVE)] for p in priors]
        low, centre, high = self._to_line(np.array(quantiles).reshape(-1, 3).T)
        self._centre, self._scale = centre, 0.5 * np.abs(high - low)

    def _to_line(self, theta: Array) -> Array:
        distance = np.where(self._half, self._sign * (theta - self._end), 1.0)
        line = np.where(self._half, np.log(np.maximum(distance, np.finfo(float).tiny)), theta)
        share = np.where(self._bounded, (theta - self._end) / self._width, 0.5)
        bounded = np.clip(ndtri(np.clip(share, 0.0, 1.0)), -_FARTHEST, _FARTHEST)
        return np.where(self._bounded, bounded, line)

    def from_theta(self, theta: Array) -> Array:
        """Return u."""
        return (self._to_line(theta) - self._centre) / self._scale

    def to_theta(self, u: Array) -> Array:
        """Return theta."""
        line = self._centre + self._scale * u
        theta = np.where(self._bounded, self._end + self._width * ndtr(line), line)
        half = self._half
        theta[half] = (self._end + self._sign * np.exp(np.where(half, line, 0.0)))[half]
        return theta

    def derivative(self, u: Array) -> Array:
        """Return the derivative of each element of theta along its u."""
        derivative, line = self._scale.copy(), self._centre + self._scale * u
        half, bounded = self._half, self._bounded
        derivative[half] *= (self._sign * np.exp(np.where(half, line, 0.0)))[half]
        density = np.exp(-0.5 * line[bounded] ** 2) / math.sqrt(2.0 * math.pi)
        derivative[bounded] *= self._width[bounded] * density
        return derivative

    def log_prior(self, u: Array, theta: Array, derivative: Array) -> tuple[float, Array]:
        """Return the log density of u under the prior, and its gradient."""
        line, bounded = self._centre + self._scale * u, self._bounded
        if not (np.abs(line[bounded]) < _FARTHEST).all():
            return -math.inf, np.zeros_like(u)
        if not ((self._lowest <= theta) & (theta <= self._highest)).all():  # also for NaN
            return -math.inf, np.zeros_like(u)
        score = self._curvature * (self._mode - theta)
        value = float((self._log_peak - 0.5 * score * (self._mode - theta)).sum())
        for i, prior in self._others:
            value += prior.log_density(float(theta[i]))
            score[i] = prior.score(float(theta[i]))
        value += float(np.log(np.abs(derivative)).sum())
        gradient = derivative * score
        gradient[bounded] -= (self._scale * line)[bounded]
        gradient[self._half] += self._scale[self._half]
        return value, gradient
