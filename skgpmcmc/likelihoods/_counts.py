"""Counts with a log rate, whatever their distribution given the rate."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Likelihood
from ._checks import check_not_negative
from ._new_observations import AnyGenerator, Moments, PerRow
from .predictive._mixtures import log_mean_exp

# Poisson draws of numpy end here.
LARGEST_RATE = 9e18
# exp() of more than that over- or underflows.
_LARGEST_LOG_RATE = 700.0


class Counts(Likelihood):
    """Counts of mean ``exposure exp(f)``; new rows may be without exposure, and have no events.

    A subclass defines `pointwise`, and what new counts are where there is exposure:
    `_log_pmf`, `_quantiles` and `_draw`.
    """

    support = "counts"
    per_observation: ClassVar[tuple[str, ...]] = ("exposure",)
    exposure: NDArray | None

    def log_density_given_draws(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Log probability of new counts given each draw; see `Likelihood`."""
        new = self.at_new_rows(mean.shape[1], y, **per_row)
        exposure, is_none = new._positive_exposures()
        params = self._params_of_draws(params, len(mean))
        values = self._log_pmf(new.y, (mean, variance), exposure, params)
        values[:, is_none] = np.where(new.y[is_none] == 0.0, 0.0, -np.inf)
        return values

    def predictive_quantiles(
        self,
        quantiles: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Quantiles of new counts; see `Likelihood.predictive_quantiles`."""
        exposure, is_none = self.at_new_rows(mean.shape[1], **per_row)._positive_exposures()
        params = self._params_of_draws(params, len(mean))
        values = self._quantiles(quantiles, (mean, variance), exposure, params)
        values[is_none] = 0.0
        return values

    def predictive_mean(
        self, mean: NDArray, variance: NDArray, params: ArrayLike = (), **per_row: PerRow
    ) -> NDArray:
        """Return the expectation of new counts; see `Likelihood.predictive_mean`."""
        new = self.at_new_rows(mean.shape[1], **per_row)
        return expected_counts(log_mean_exp(mean + 0.5 * variance), new._exposures())

    def predictive_sample(
        self, latent: NDArray, params: ArrayLike, rng: AnyGenerator, **per_row: PerRow
    ) -> NDArray:
        """Draw new counts given log rates; see `Likelihood.predictive_sample`."""
        new = self.at_new_rows(len(latent), **per_row)
        rate = np.minimum(expected_counts(latent, new._exposures()[:, np.newaxis]), LARGEST_RATE)
        return np.asarray(self._draw(rate, self._params_of_draws(params, latent.shape[1]), rng))

    def _check_new_values(self, name: str, values: NDArray) -> None:
        check_not_negative(values, name)

    def _exposures(self) -> NDArray:
        """Return the exposure of each observation."""
        return np.ones_like(self.y) if self.exposure is None else self.exposure

    def _positive_exposures(self) -> tuple[NDArray, NDArray]:
        """Return exposures, 1 in place of 0, and where they are 0."""
        exposure = self._exposures()
        is_none = exposure == 0.0
        return np.where(is_none, 1.0, exposure), is_none

    @abstractmethod
    def _log_pmf(self, y: NDArray, moments: Moments, exposure: NDArray, params: NDArray) -> NDArray:
        """Return log probabilities of counts, (n_draws, n_rows)."""

    @abstractmethod
    def _quantiles(
        self, quantiles: ArrayLike, moments: Moments, exposure: NDArray, params: NDArray
    ) -> NDArray:
        """Return quantiles of counts over the draws, (n_rows, n_quantiles)."""

    @abstractmethod
    def _draw(self, rate: NDArray, params: NDArray, rng: AnyGenerator) -> NDArray:
        """Draw counts of these expectations, (n_rows, n_samples)."""


def expected_counts(log_rate: NDArray, exposure: NDArray) -> NDArray:
    """Return exposure exp(log rate): infinity only where that is too large for a float.

    Without exposure it is 0, however large the rate is.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        expected = exposure * np.exp(log_rate)
        extreme = np.abs(log_rate) > _LARGEST_LOG_RATE  # on its own; the product may be none
        sums = log_rate[extreme] + np.log(np.broadcast_to(exposure, log_rate.shape)[extreme])
        expected[extreme] = np.exp(sums)
    return expected
