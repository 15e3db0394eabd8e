"""Numbers of successes in several trials."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_vector
from ._base import Params
from ._checks import check_counts, check_trials, check_whole_trials
from ._logistic import Logistic
from ._new_observations import AnyGenerator, PerRow, Seed
from ._sites import Sites
from ._special import log_binomial
from .predictive._logistic import binomial_log_pmf


class Binomial(Logistic):
    """Successes of several trials: ``y ~ Binomial(trials, 1 / (1 + exp(-f)))``.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Numbers of successes: whole numbers from 0 to the number of trials.
    trials : array-like of shape (n_obs,)
        Numbers of trials: whole numbers, one or larger.
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
    But for the binomial coefficients it is the likelihood of that many binary labels of each
    latent value.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import Binomial
    >>> likelihood = Binomial([2, 0], trials=[5, 1])
    >>> round(float(np.exp(likelihood.pointwise(np.zeros(2))[0])), 6)
    0.3125
    >>> likelihood.taylor_sites().precision
    array([1.2, 0. ])
    """

    support = "counts"
    per_observation = ("trials",)

    def __init__(
        self,
        y: ArrayLike,
        trials: ArrayLike,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        successes = check_counts(check_vector(y, "y"), hint="")
        self.trials = check_trials(trials, successes)
        super().__init__(
            successes, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )

    def _refresh(self) -> None:
        failures = np.maximum(self.trials - self.y, 0.0)
        self._count(self.y, failures)
        coefficient = log_binomial(self.y, failures + 1.0)
        # New rows are asked for numbers of successes that are impossible.
        self._log_coefficient = np.where(self.y <= self.trials, coefficient, -np.inf)
        self._latent_coefficient = self._sum_per_latent(self._weighted(self._log_coefficient))
        self._constant = float(self._latent_coefficient.sum())

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""
        value = self._log_coefficient + self.y * np.minimum(latent, 0.0)
        value -= (self.trials - self.y) * np.maximum(latent, 0.0)
        return value - self.trials * np.log1p(np.exp(-np.abs(latent)))

    def per_latent(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Sum over the observations of each latent value; see `Likelihood.per_latent`."""
        return super().per_latent(latent, params) + self._latent_coefficient

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`."""
        return super().log_likelihood(latent, params) + self._constant

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Expansion at the share of successes; zero where all or none of the trials succeeded."""
        both = (self._n_successes > 0.0) & (self._n_failures > 0.0)
        successes = np.where(both, self._n_successes, 1.0)
        failures = np.where(both, self._n_failures, 1.0)
        precision = np.where(both, successes * (failures / (successes + failures)), 0.0)
        return Sites(precision, precision * np.log(successes / failures))

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one number of successes per row; see `Likelihood.sample`."""
        probability = self.link(self._at_observations(latent))
        draws = np.random.default_rng(rng).binomial(self.trials.astype(np.int64), probability)
        return draws.astype(float)

    def log_density_given_draws(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Log probability of new numbers of successes given each draw; see `Likelihood`."""
        new = self.at_new_rows(mean.shape[1], y, **per_row)
        possible = new.y <= new.trials
        values = binomial_log_pmf(np.where(possible, new.y, 0.0), new.trials, mean, variance)
        return np.where(possible, values, -np.inf)

    def predictive_quantiles(
        self,
        quantiles: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Quantiles of numbers of successes, at most the trials; see `Likelihood`."""
        values = super().predictive_quantiles(quantiles, mean, variance, params, **per_row)
        return np.minimum(values, self.at_new_rows(mean.shape[1], **per_row).trials[:, np.newaxis])

    def predictive_mean(
        self, mean: NDArray, variance: NDArray, params: ArrayLike = (), **per_row: PerRow
    ) -> NDArray:
        """Return expected numbers of successes; see `Likelihood.predictive_mean`."""
        trials = self.at_new_rows(mean.shape[1], **per_row).trials
        return np.asarray(trials * self.success_probability(mean, variance).mean(axis=0))

    def predictive_sample(
        self, latent: NDArray, params: ArrayLike, rng: AnyGenerator, **per_row: PerRow
    ) -> NDArray:
        """Draw numbers of successes; see `Likelihood.predictive_sample`."""
        trials = self.at_new_rows(len(latent), **per_row).trials.astype(np.int64)
        return rng.binomial(trials[:, np.newaxis], self.link(latent)).astype(float)

    def _check_new_values(self, name: str, values: NDArray) -> None:
        check_whole_trials(values)
