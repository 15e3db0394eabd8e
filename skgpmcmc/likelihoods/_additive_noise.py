"""Noise that is added to the latent value, whatever its distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Likelihood
from ._checks import check_not_negative
from ._new_observations import AnyGenerator, Moments, PerRow
from .predictive._mixtures import (
    normal_exceedance,
    normal_log_density,
    normal_quantiles,
)


class AdditiveNoise(Likelihood):
    """``y = f + noise``, the square of whose scale is a known part and, if sampled, a level.

    The known part at a new row is ``known_variance``, beside a `noise_level` that is sampled, or
    one fixed number. Where the fixed variances of the training rows differ it is all of the noise
    there.

    A subclass defines `pointwise` and the attributes below. Methods say that noise is normal; one
    with other noise overrides the five at the end, for scales that are not all zero.
    """

    known_variance: float | NDArray
    #: Name of the attribute with the fixed squared scale, None where it is sampled.
    fixed_scale: ClassVar[str]

    def at_new_rows(self, n_rows: int, y: ArrayLike | None = None, **per_row: PerRow) -> Self:
        """Return the likelihood of new observations; see `Likelihood.at_new_rows`."""
        if np.ndim(getattr(self, self.fixed_scale)):
            if per_row.get("known_variance") is None:
                raise ValueError(
                    f"{self.fixed_scale} differs between the training rows of this "
                    f"{type(self).__name__}, so new rows need the noise that they have: pass "
                    "known_variance=..., one number or one for each new row."
                )
            per_row = {self.fixed_scale: 0.0, **per_row}
        return super().at_new_rows(n_rows, y, **per_row)

    def _check_new_values(self, name: str, values: NDArray) -> None:
        check_not_negative(values, name)

    def log_density_given_draws(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Log density of new observations given each draw; see `Likelihood`."""
        new = self.at_new_rows(mean.shape[1], y, **per_row)
        params = self._params_of_draws(params, len(mean))
        values = np.empty(mean.shape)
        for rows, scale2 in new._scales(params):
            some = mean[:, rows], variance[:, rows]
            values[:, rows] = self._log_density(new.y[rows], some, scale2, params)
        return values

    def predictive_quantiles(
        self,
        quantiles: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Quantiles of new observations; see `Likelihood.predictive_quantiles`."""
        new = self.at_new_rows(mean.shape[1], **per_row)
        params = self._params_of_draws(params, len(mean))
        values = np.empty((mean.shape[1], np.size(quantiles)))
        for rows, scale2 in new._scales(params):
            some = mean[:, rows], variance[:, rows]
            values[rows] = self._quantiles(some, scale2, params, quantiles)
        return values

    def predictive_exceedance(
        self,
        threshold: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Probability of observations above a threshold; see `Likelihood`."""
        new = self.at_new_rows(mean.shape[1], **per_row)
        params = self._params_of_draws(params, len(mean))
        thresholds = np.broadcast_to(np.asarray(threshold, dtype=float), mean.shape[1:])
        values = np.empty(mean.shape[1])
        for rows, scale2 in new._scales(params):
            some = mean[:, rows], variance[:, rows]
            values[rows] = self._exceedance(thresholds[rows], some, scale2, params)
        return values

    def predictive_mean(
        self, mean: NDArray, variance: NDArray, params: ArrayLike = (), **per_row: PerRow
    ) -> NDArray:
        """Return the expectation of f; see `Likelihood.predictive_mean`."""
        self.at_new_rows(mean.shape[1], **per_row)  # checks names
        return np.asarray(mean.mean(axis=0))

    def predictive_sample(
        self, latent: NDArray, params: ArrayLike, rng: AnyGenerator, **per_row: PerRow
    ) -> NDArray:
        """Draw new observations; see `Likelihood.predictive_sample`."""
        new = self.at_new_rows(len(latent), **per_row)
        params = self._params_of_draws(params, latent.shape[1])
        noise = self._draw_standard(latent.shape, params, rng)
        scale2 = np.empty(latent.shape)
        for rows, values in new._scales(params):
            scale2[rows] = values
        return np.asarray(latent + np.sqrt(scale2) * noise)

    def noise_variance_of_draws(self, n_rows: int, params: ArrayLike, **per_row: PerRow) -> NDArray:
        """Variance of the noise of new observations in each draw, without that of f.

        Parameters
        ----------
        n_rows : int
        params, **per_row
            See `NewObservations`.

        Returns
        -------
        ndarray of shape (n_draws, n_rows)
            Infinite where it does not exist.
        """
        new = self.at_new_rows(n_rows, **per_row)
        params = self._params_of_draws(params, len(np.asarray(params)))
        variance = np.empty((len(params), n_rows))
        factor = self._variance_factor(params)
        for rows, scale2 in new._scales(params):
            with np.errstate(invalid="ignore"):
                each = np.where(scale2 > 0.0, scale2 * factor, 0.0)
            variance[:, rows] = each[:, np.newaxis]
        return variance

    def _scales(self, params: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
        """Yield rows of the same known noise, and its squared scale in each draw, (n_draws,)."""
        fixed, level = getattr(self, self.fixed_scale), np.zeros(len(params))
        known = self.known_variance + (0.0 if fixed is None else fixed)
        if fixed is None:
            level = params[:, self.parameters.index("noise_level")]
        distinct, which = np.unique(np.broadcast_to(known, self.y.shape), return_inverse=True)
        for number, part in enumerate(distinct):
            yield np.flatnonzero(which.reshape(-1) == number), level + part

    def _log_density(
        self, y: NDArray, moments: Moments, scale2: NDArray, params: NDArray
    ) -> NDArray:
        """Return log densities, (n_draws, n_rows), with noise of these squared scales."""
        return normal_log_density(y, *_with_noise(moments, scale2))

    def _quantiles(
        self, moments: Moments, scale2: NDArray, params: NDArray, quantiles: ArrayLike
    ) -> NDArray:
        """Return quantiles, (n_rows, n_quantiles), with noise of these squared scales."""
        return normal_quantiles(*_with_noise(moments, scale2), quantiles)

    def _exceedance(
        self, threshold: NDArray, moments: Moments, scale2: NDArray, params: NDArray
    ) -> NDArray:
        """Return probabilities above thresholds, with noise of these squared scales."""
        return normal_exceedance(threshold, *_with_noise(moments, scale2))

    def _draw_standard(self, shape: tuple[int, ...], params: NDArray, rng: AnyGenerator) -> NDArray:
        """Draw noise of scale one, (n_rows, n_samples)."""
        return rng.standard_normal(shape)

    def _variance_factor(self, params: NDArray) -> NDArray:
        """Return the variance of noise of scale one in each draw."""
        return np.ones(len(params))


def _with_noise(moments: Moments, scale2: NDArray) -> Moments:
    """Return mean and variance of f + noise."""
    mean, variance = moments
    return mean, variance + scale2[:, np.newaxis]
