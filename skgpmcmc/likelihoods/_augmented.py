"""Likelihoods that auxiliary variables make Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ._sites import Sites

if TYPE_CHECKING:
    from ._student_t import StudentT


class GaussianGivenAuxiliaries(Protocol):
    """What is left of a likelihood, given auxiliary variables: a Gaussian function of f."""

    def gaussian_sites(self, params: Sequence[float] = ()) -> Sites:
        """Return its precisions and shifts."""

    def log_likelihood(self, latent: NDArray, params: Sequence[float] = ()) -> float:
        """Return its logarithm, up to a constant that depends on neither argument."""


class SiteLikelihood:
    """The function exp(h f - W f^2 / 2) of each latent value.

    Parameters
    ----------
    sites : Sites
        W and h.
    """

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def gaussian_sites(self, params: Sequence[float] = ()) -> Sites:
        """Return W and h."""
        return self._sites

    def log_likelihood(self, latent: NDArray, params: Sequence[float] = ()) -> float:
        """Return the sum of h f - W f^2 / 2."""
        precision, shift = self._sites
        return float(latent.dot(shift - 0.5 * precision * latent))


class StudentTGivenPrecisions:
    """Normal noise of variance ``s2 / lambda``, and the density of lambda.

    Parameters
    ----------
    likelihood : StudentT
        What it is a mixture of.
    precision : ndarray of shape (n,)
        lambda of each copy of an observation.
    rows, index : ndarray of shape (n,)
        Which observation it is, and which latent value it has.
    """

    def __init__(
        self, likelihood: StudentT, precision: NDArray, rows: NDArray, index: NDArray
    ) -> None:
        self._likelihood, self._precision = likelihood, precision
        self._rows, self._index = rows, index
        self._y = likelihood.y[rows]
        self._sum_of_logs = float(np.log(precision).sum())
        self._sum = float(precision.sum())

    def _scale_and_shape(self, params: Sequence[float]) -> tuple[NDArray, float]:
        scale2, nu = self._likelihood._scale_and_shape(params)
        return np.broadcast_to(scale2, self._likelihood.y.shape)[self._rows], nu

    def gaussian_sites(self, params: Sequence[float] = ()) -> Sites:
        """Return the precisions and shifts of the normal noise."""
        scale2, _ = self._scale_and_shape(params)
        precision = self._precision / scale2
        size = self._likelihood.n_latent
        return Sites(
            np.bincount(self._index, precision, minlength=size),
            np.bincount(self._index, precision * self._y, minlength=size),
        )

    def log_likelihood(self, latent: NDArray, params: Sequence[float] = ()) -> float:
        """Return the log density of observations and lambda, up to a constant."""
        scale2, nu = self._scale_and_shape(params)
        squares = self._precision * (self._y - latent[self._index]) ** 2 / scale2
        noise = -0.5 * float((np.log(scale2) + squares).sum())
        half = 0.5 * nu
        n = self._precision.size
        prior = n * (half * math.log(half) - math.lgamma(half))
        return noise + prior + half * (self._sum_of_logs - self._sum)
