"""Successes and failures with a logistic link, whatever is observed of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, logit

from ._augmentation import GaussianGivenAuxiliaries, SiteLikelihood
from ._base import Params
from ._polya_gamma import polya_gamma
from ._sites import Sites
from ._successes import Successes
from .predictive._logistic import binomial_log_pmf
from .predictive._logistic_normal import logistic_normal_mean
from .predictive._mixtures import log_mean_exp


class Logistic(Successes):
    """P(success) = 1 / (1 + exp(-f)); the likelihood is that of the numbers of successes.

    A subclass defines `pointwise`, and calls `_count` in `_refresh`. For the parameters see
    `Likelihood`.
    """

    link = staticmethod(expit)
    log_link = staticmethod(log_expit)
    inverse_link = staticmethod(logit)

    def _count(self, successes: NDArray, failures: NDArray) -> None:
        """Sum what was observed, both (n_obs,), for each latent value."""
        self._n_successes = self._sum_per_latent(self._weighted(successes))
        self._n_failures = self._sum_per_latent(self._weighted(failures))
        self._n_trials = self._n_successes + self._n_failures
        self._half_trials = 0.5 * self._n_trials
        self._half_balance = 0.5 * (self._n_successes - self._n_failures)

    def per_latent(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Sum over the trials of each latent value; see `Likelihood.per_latent`."""
        size = np.abs(latent, dtype=float)
        linear = self._half_balance * latent - self._half_trials * size
        return linear - self._n_trials * np.log1p(np.exp(-size))

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all trials; see `Likelihood.log_likelihood`.

        Uses ``log sigma(y f) = (y f - |f|) / 2 - log(1 + exp(-|f|))``, in place: about half the
        time of `numpy.logaddexp`.
        """
        size = np.abs(latent, dtype=float)
        linear = float(self._half_balance.dot(latent)) - float(self._half_trials.dot(size))
        np.negative(size, out=size)
        np.exp(size, out=size)
        np.log1p(size, out=size)
        return linear - float(self._n_trials.dot(size))

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        success, failure = expit(latent), expit(-np.asarray(latent))
        gradient = self._n_successes * failure - self._n_failures * success
        return gradient, -self._n_trials * success * failure

    def log_density_of_successes(
        self, y: NDArray, trials: NDArray, mean: NDArray, variance: NDArray
    ) -> NDArray:
        """Log probability of numbers of successes; see `Successes`."""
        return log_mean_exp(binomial_log_pmf(y, trials, mean, variance))

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw Polya-Gamma variables (Polson, Scott and Windle 2013); see `Likelihood.augment`.

        With w ~ PG(n, f), n trials of a latent value make exp(h f - w f^2 / 2), where h is half
        of the successes' surplus. Weighted trials have an n that need not be whole.
        """
        precision = polya_gamma(self._n_trials, latent, rng)
        return SiteLikelihood(Sites(precision, self._half_balance))

    def success_probability(self, mean: ArrayLike, variance: ArrayLike) -> NDArray:
        """Probability of a success for a latent value that is uncertain.

        Parameters
        ----------
        mean, variance : array-like, broadcast together
            Of the Gaussian distribution of the latent value; variance >= 0.

        Returns
        -------
        ndarray
            E[P(success | f)], f ~ N(mean, variance), in [0, 1]; the values for ``mean`` and
            ``-mean`` sum to one. Absolute error below 1e-13 for every mean and variance.
        """
        return logistic_normal_mean(mean, variance)
