"""Predictions of rates and of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import mean_poisson_deviance
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from .._linalg import Array
from .._warn import warn_user
from ..likelihoods._poisson import LARGEST_RATE
from ..likelihoods._validation import check_counts, check_quantiles
from ._counts import poisson_log_pmf, poisson_quantiles
from ._inputs import as_random_state, check_sample_weight, interval_ends
from ._latent_predictions import LatentPredictions
from ._logistic_counts import negative_binomial_log_pmf, negative_binomial_quantiles
from ._mixtures import log_mean_exp, normal_quantiles
from ._prediction import sample_latent, spread
from ._rates import check_exposure, expected_counts, overall_rate

# Counts cannot tell less dispersion from none.
SMALLEST_DISPERSION = 1e-15
# The sum of weighted deviances from larger ones, or smaller than the reciprocal, would overflow.
_LARGEST_EXPECTATION = 1e280


class CountPredictions(RegressorMixin, LatentPredictions):
    """What a fitted Cox process predicts; not for direct use."""

    # Set by fit.
    _is_poisson: bool
    _fixed_dispersion: float | None
    _had_exposure: bool

    def _warn_without_exposure(self, exposure: Any, method: str) -> None:
        """Warn where counts in unequal exposures are compared with rates per unit."""
        if self._had_exposure and exposure is None:
            warn_user(
                f"{method} takes the exposure of every row for 1, but fit was given other "
                "exposures. Pass exposure=...; in cross-validation, turn scikit-learn's metadata "
                "routing on and call set_score_request(exposure=True) beforehand.",
                UserWarning,
            )

    def _dispersions(self) -> Array:
        """Return the dispersion of each draw that predictions average over."""
        which = spread(self.trace_, self.max_prediction_draws)
        if self._fixed_dispersion is not None:
            return np.full(len(which), float(self._fixed_dispersion))
        draws = self.posterior_["dispersion"].reshape(-1)[which]
        return np.maximum(draws, SMALLEST_DISPERSION)

    def predict(self, X: Any, exposure: Any = None) -> Array:
        """Return the posterior mean of the rate, or of the counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        rate : ndarray of shape (n_samples,)
            Events per unit of exposure, times `exposure`; infinity where that is too large for
            a float. Far from the data the posterior of a rate is skewed, and its mean far
            above its median; see `predict_interval`.
        """
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X))
        log_rate = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            log_rate[rows] = log_mean_exp(mean + 0.5 * variance)
        return expected_counts(log_rate, exposure)

    def predict_interval(self, X: Any, confidence_level: float = 0.9) -> Array:
        """Return central posterior intervals of the rate per unit of exposure.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        confidence_level : float, default=0.9
            Posterior probability of each interval, in (0, 1).

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper end; infinity where that is too large for a float.
        """
        quantiles = interval_ends(confidence_level)
        X = self._validate_new(X)
        ends = np.empty((len(X), 2))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            ends[rows] = normal_quantiles(mean, variance, quantiles)
        return expected_counts(ends, np.ones(1))

    def predict_quantiles(self, X: Any, quantiles: Any, exposure: Any = None) -> Array:
        """Return predictive quantiles of new counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,)
            Probabilities in [0, 1].
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        counts : ndarray of shape (n_samples, n_quantiles)
            Whole numbers: the smallest count whose distribution function reaches the
            quantile; infinity for the quantile 1.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X))
        counts = np.empty((len(X), len(quantiles)))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            parts = mean, variance, exposure[rows]
            counts[rows] = (
                poisson_quantiles(*parts, quantiles)
                if self._is_poisson
                else negative_binomial_quantiles(*parts, self._dispersions(), quantiles)
            )
        return counts

    def log_predictive_density(self, X: Any, y: Any, exposure: Any = None) -> Array:
        """Return the logarithm of the predictive probability of new counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Counts.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)

        Warns
        -----
        UserWarning
            If `fit` was given exposures other than 1, and this method none.
        """
        X = self._validate_new(X)
        y = check_counts(column_or_1d(y))
        check_consistent_length(X, y)
        self._warn_without_exposure(exposure, "log_predictive_density")
        exposure = check_exposure(exposure, len(X))
        log_probability = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            parts = y[rows], mean, variance, exposure[rows]
            each = (
                poisson_log_pmf(*parts)
                if self._is_poisson
                else negative_binomial_log_pmf(*parts, self._dispersions())
            )
            log_probability[rows] = log_mean_exp(each)
        return log_probability

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = None, exposure: Any = None
    ) -> Array:
        """Draw new counts from their predictive distribution, jointly over the rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.
        exposure : float or array-like of shape (n_rows,), default=None
            Positive; 1 by default.

        Returns
        -------
        counts : ndarray of int of shape (n_rows, n_samples)
            Of rates up to 9e18, about the largest whole number of 64 bits; larger rates are
            taken for this one.

        Raises
        ------
        ValueError
            If that needs more memory than `memory_limit`. Rows that are points of the grid that
            was fitted need no covariance.
        """
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X))
        rng = as_random_state(random_state)
        chosen, (latent,) = sample_latent(
            self._posterior_draws(), X, n_samples, rng, self.memory_limit
        )
        rate = np.minimum(expected_counts(latent, exposure[:, np.newaxis]), LARGEST_RATE)
        if not self._is_poisson:
            shape = 1.0 / self._dispersions()[chosen]
            rate = np.minimum(
                rate * rng.standard_gamma(shape, size=rate.shape) / shape, LARGEST_RATE
            )
        return np.asarray(rng.poisson(rate))

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return D^2, the share of the Poisson deviance that is explained, for any likelihood.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        score : float
            1 is best; 0 is a constant rate.

        Warns
        -----
        UserWarning
            If `fit` was given exposures other than 1, and this method none.
        """
        expected = self.predict(X, exposure)
        self._warn_without_exposure(exposure, "score")
        y = check_counts(column_or_1d(y))
        check_consistent_length(expected, y)
        exposure = check_exposure(exposure, len(y))
        weights = check_sample_weight(sample_weight, len(y))
        shares = exposure / exposure.max()  # whose sum is no infinity
        constant = shares * overall_rate(y, shares, weights)
        ends = 1.0 / _LARGEST_EXPECTATION, _LARGEST_EXPECTATION
        deviance, null = (
            mean_poisson_deviance(y, np.clip(rate, *ends), sample_weight=weights)
            for rate in (expected, constant)
        )
        return float(1.0 - deviance / null) if null > 0.0 else float(deviance == 0.0)
