"""Counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, wrightomega

from .._checks import check_vector
from ._base import Params
from ._checks import check_counts, check_exposure
from ._counts import LARGEST_RATE, Counts
from ._new_observations import AnyGenerator, Moments, Seed
from ._sites import Sites
from .predictive._poisson import poisson_log_pmf, poisson_quantiles

# exp() of anything larger overflows. Clipping the latent there keeps a log likelihood that is
# hugely negative without a floating-point warning, and costs less than silencing one.
_LARGEST_LOG_RATE = 709.0


class Poisson(Counts):
    """Counts with log rate f: ``y ~ Poisson(exposure * exp(f))``.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Counts: whole numbers, zero or larger.
    exposure : array-like of shape (n_obs,), default=None
        Positive and finite: the time, area or population in which the events were counted;
        ``exp(f)`` is the rate per unit. None: one each.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
        See `Likelihood`.
    n_latent : int, default=None
        See `Likelihood`.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or holds a value that is not allowed.

    Notes
    -----
    Up to a constant the log likelihood is ``Y f - E exp(f)`` for each latent value, with Y the
    weighted sum of its counts and E that of its exposures. Sites are fitted by Laplace's
    approximation, whose mode is in closed form through the Wright omega function.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import Poisson
    >>> likelihood = Poisson([2, 0], exposure=[1.0, 0.5])
    >>> round(likelihood.log_likelihood(np.zeros(2)), 4)
    -2.1931
    >>> likelihood.taylor_sites().precision
    array([2., 0.])
    """

    site_fit = "laplace"

    def __init__(
        self,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        counts = check_counts(check_vector(y, "y"))
        self.exposure = check_exposure(exposure, counts.size)
        super().__init__(
            counts, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )

    def _refresh(self) -> None:
        exposure = self._exposures()
        self._offset = self.y * np.log(exposure) - gammaln(self.y + 1.0)
        self._count = self._sum_per_latent(self._weighted(self.y))
        self._exposure = self._sum_per_latent(self._weighted(exposure))
        self._constant = float(self._weighted(self._offset).sum())

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""
        latent = np.minimum(latent, _LARGEST_LOG_RATE)
        rate = np.exp(latent) if self.exposure is None else self.exposure * np.exp(latent)
        return self.y * latent - rate + self._offset

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`."""
        clipped = np.minimum(latent, _LARGEST_LOG_RATE)
        linear = float(self._count.dot(clipped))
        return linear - float(self._exposure.dot(np.exp(clipped))) + self._constant

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        rate = self._exposure * np.exp(np.minimum(latent, _LARGEST_LOG_RATE))
        return self._count - rate, -rate

    def laplace_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Laplace sites in closed form; arguments as in `Likelihood.fit_sites`.

        The mode solves ``Y - E exp(f) = (f - m) / K``: with omega the Wright omega function at
        ``log(K E) + m + K Y``, ``f = m + K Y - omega`` and ``K E exp(f) = omega``.
        """
        mean, variance = self._site_prior(prior_mean, prior_variance)
        seen = self._exposure > 0.0
        log_scale = np.log(variance * np.where(seen, self._exposure, 1.0))
        largest_mode = mean + variance * self._count
        omega = np.where(seen, wrightomega(log_scale + largest_mode), 0.0)
        # The first form cancels where omega is large, the second where it is small.
        mode = np.where(
            omega > 1.0, np.log(np.maximum(omega, 1.0)) - log_scale, largest_mode - omega
        )
        precision = omega / variance
        return Sites(precision, precision * (mode - 1.0) + self._count)

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Expansion at ``f = log(Y / E)``; zero where no events were counted."""
        events = self._count > 0.0
        mode = np.log(np.where(events, self._count, 1.0) / np.where(events, self._exposure, 1.0))
        return Sites(self._count, self._count * mode)

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one count per row; see `Likelihood.sample`."""
        rate = np.exp(self._at_observations(latent))
        rate = rate if self.exposure is None else self.exposure * rate
        return np.random.default_rng(rng).poisson(np.minimum(rate, LARGEST_RATE)).astype(float)

    def _log_pmf(self, y: NDArray, moments: Moments, exposure: NDArray, params: NDArray) -> NDArray:
        return poisson_log_pmf(y, *moments, exposure)

    def _quantiles(
        self, quantiles: ArrayLike, moments: Moments, exposure: NDArray, params: NDArray
    ) -> NDArray:
        return poisson_quantiles(*moments, exposure, quantiles)

    def _draw(self, rate: NDArray, params: NDArray, rng: AnyGenerator) -> NDArray:
        return np.asarray(rng.poisson(rate))
