"""Likelihoods that auxiliary variables make Gaussian."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from ._sites import Sites
from ._special import log_stirling_ratio


class GaussianGivenAuxiliaries(Protocol):
    """A conditionally Gaussian likelihood: a Gaussian function of f given auxiliary variables."""

    def gaussian_sites(self, params: Sequence[float] = ()) -> Sites:
        """Return its precisions and shifts."""

    def log_likelihood(self, latent: NDArray, params: Sequence[float] = ()) -> float:
        """Return its logarithm, up to a constant that depends on neither argument."""

    def expected_score(
        self, mean: NDArray, variance: NDArray, params: Sequence[float] = ()
    ) -> NDArray:
        """Return its derivatives along the logarithms of the parameters, averaged over f.

        The latent values are normal with `mean` and `variance`, (n_latent,). By Fisher's
        identity that is the derivative of the integral over f.
        """


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

    def expected_score(
        self, mean: NDArray, variance: NDArray, params: Sequence[float] = ()
    ) -> NDArray:
        """Return zeros: it does not depend on parameters."""
        return np.zeros(len(params))


class StudentTGivenPrecisions:
    """Normal noise of variance ``s2 / lambda``, and the density of lambda.

    Parameters
    ----------
    scale_and_shape : callable
        Parameters -> s2 of each copy of an observation, and nu.
    y, precision : ndarray of shape (n,)
        Each copy of an observation, and its lambda.
    index : ndarray of shape (n,)
        Which latent value it has.
    n_latent : int
        How many there are.
    parameters : tuple of str
        Which of ``noise_level`` and ``degrees_of_freedom`` are in `params`, in their order.
    """

    def __init__(
        self,
        scale_and_shape: Callable[[Sequence[float]], tuple[NDArray, float]],
        y: NDArray,
        precision: NDArray,
        index: NDArray,
        n_latent: int,
        parameters: Sequence[str],
    ) -> None:
        self._parameters = parameters
        self._scale_and_shape = scale_and_shape
        self._y, self._precision, self._index = y, precision, index
        self._n_latent = n_latent
        difference = precision - 1.0
        # Each logarithm where it loses no digits.
        near = np.log1p(np.maximum(difference, -0.5))
        logs = np.where(difference > -0.5, near, np.log(precision))
        self._log_kernel = float((logs - difference).sum())

    def gaussian_sites(self, params: Sequence[float] = ()) -> Sites:
        """Return the precisions and shifts of the normal noise."""
        scale2, _ = self._scale_and_shape(params)
        precision = self._precision / scale2
        size = self._n_latent
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
        prior = self._precision.size * log_stirling_ratio(half) + half * self._log_kernel
        return noise + prior

    def expected_score(
        self, mean: NDArray, variance: NDArray, params: Sequence[float] = ()
    ) -> NDArray:
        """Return the derivatives; see `GaussianGivenAuxiliaries.expected_score`."""
        scale2, nu = self._scale_and_shape(params)
        index, half = self._index, 0.5 * nu
        squares = (self._y - mean[index]) ** 2 + variance[index]
        along_scale2 = 0.5 * (self._precision * squares / scale2 - 1.0) / scale2
        along_half = self._precision.size * (math.log(half) - digamma(half)) + self._log_kernel
        values = dict(zip(self._parameters, params, strict=True))
        scores = {
            "noise_level": values.get("noise_level", 0.0) * float(along_scale2.sum()),
            "degrees_of_freedom": half * along_half,
        }
        return np.array([scores[name] for name in self._parameters])
