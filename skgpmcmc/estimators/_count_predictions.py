"""Predictions of rates and of counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length

from .._checks import as_random_state
from .._linalg import Array
from .._messages import warn_user
from .._prediction._averages import latent_exceedance
from .._prediction._dense import sample_latent
from ..likelihoods._checks import check_counts, check_quantiles
from ..likelihoods._counts import expected_counts
from ..likelihoods.predictive._mixtures import normal_quantiles
from ._derivative import DerivativePredictions
from ._documentation import with_shared_documentation
from ._inputs import (
    check_sample_weight,
    check_threshold,
    interval_ends,
    new_vector,
)
from ._rates import check_exposure, check_possible, deviance_reduction
from ._shares import VarianceShares


class CountPredictions(RegressorMixin, VarianceShares, DerivativePredictions):
    """What a fitted Cox process predicts; not for direct use."""

    # Set by fit. The last two are the rate of all its rows, and their mean deviance from it.
    exposure_range_: tuple[float, float]
    _constant_rate: float
    _constant_deviance: float

    def _warn_without_exposure(self, exposure: Any, method: str) -> None:
        """Warn where counts in unequal exposures are compared with rates per unit."""
        if self.exposure_range_ != (1.0, 1.0) and exposure is None:
            warn_user(
                f"{method} assumes exposure=1 for every row, but fit was given exposures. "
                "Pass exposure=...; in cross-validation, turn scikit-learn's metadata "
                "routing on and call set_score_request(exposure=True) beforehand.",
                UserWarning,
            )

    def predict(self, X: Any, exposure: Any = None) -> Array:
        """Return the posterior mean of the rate, or of the counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger; 1 by default.

        Returns
        -------
        rate : ndarray of shape (n_samples,)
            Events per unit of exposure, times `exposure`; infinity where that is too large for
            a float. Far from the data the posterior of a rate is skewed, and its mean far
            above its median; see `predict_interval`.
        """
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X), zero=True)
        expected, params = np.empty(len(X)), self._params()
        for rows, *moments in self._posterior_draws()[0].chunks(X):
            expected[rows] = self._likelihood.predictive_mean(
                *moments, params, exposure=exposure[rows]
            )
        return expected

    @with_shared_documentation
    def prediction_mcse(self, X: Any, exposure: Any = None) -> Array:
        """Return the Monte Carlo standard error of the expected counts.

        That is the standard deviation of the prediction over repeated runs of the chains: how
        far it may be from that of endless chains. It says nothing of how far the truth may be:
        for that see `predict_interval`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger; 1 by default.

        Returns
        -------
        mcse : ndarray of shape (n_samples,)
            In the unit of `predict`. NaN where it is not defined: with fewer than 6 of the
            draws used from each chain, and where all draws predict exactly the same.

        Notes
        -----
        %(mcse)s
        Where the rate is very uncertain its posterior is so skewed that few draws make up most of
        the mean, and the error is larger than they tell.

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0).fit(X, y)
        >>> bool((model.prediction_mcse(X[:3]) < 0.5).all())
        True
        """
        X = self._validate_new(X)
        return check_exposure(exposure, len(X), zero=True) * self._mcse_at(X)

    def _conditional_predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        params = self._params()
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            each = (part[:, np.newaxis] for part in (mean, variance, params))
            given = zip(*each, strict=True)
            likelihood = self._likelihood
            yield rows, np.array([likelihood.predictive_mean(*g, exposure=1.0) for g in given])

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

    def predict_exceedance(self, X: Any, threshold: Any) -> Array:
        """Return the posterior probability that the rate per unit of exposure is above a threshold.

        It is computed, not simulated, and goes with `predict_interval`: above the upper end of
        90 % intervals is the probability 5 %. (`predict_quantiles` is of new counts, which have
        noise besides.)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        threshold : float or array-like of shape (n_samples,)
            For all rows, or one for each, in events per unit of exposure; may be infinite. All
            rates are above zero.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Of a rate that is larger than the threshold.

        Raises
        ------
        ValueError
            For a threshold of another shape, and NaN.

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0).fit(X, y)
        >>> early, late = model.predict_exceedance(X[[10, -10]], 1.5)
        >>> bool(early > 0.99), bool(late < 0.05)
        (True, True)
        """
        X = self._validate_new(X)
        threshold = np.maximum(check_threshold(threshold, len(X)), 0.0)
        with np.errstate(divide="ignore"):
            return latent_exceedance(self._posterior_draws()[0], X, np.log(threshold))

    def predict_quantiles(self, X: Any, quantiles: Any, exposure: Any = None) -> Array:
        """Return predictive quantiles of new counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,)
            Probabilities in [0, 1].
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger; 1 by default.

        Returns
        -------
        counts : ndarray of shape (n_samples, n_quantiles)
            Whole numbers: the smallest count whose distribution function reaches the
            quantile; infinity for the quantile 1, but 0 without exposure.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X), zero=True)
        counts, params = np.empty((len(X), len(quantiles))), self._params()
        for rows, *moments in self._posterior_draws()[0].chunks(X):
            counts[rows] = self._likelihood.predictive_quantiles(
                quantiles, *moments, params, exposure=exposure[rows]
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
            Zero or larger; 1 by default.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
            Without exposure 0 for no events, and minus infinity for some.

        Warns
        -----
        UserWarning
            If `fit` was given exposures other than 1, and this method none.
        """
        X = self._validate_new(X)
        y = check_counts(new_vector(y, exact=True))
        check_consistent_length(X, y)
        self._warn_without_exposure(exposure, "log_predictive_density")
        exposure = check_exposure(exposure, len(X), zero=True)
        log_probability, params = np.empty(len(X)), self._params()
        for rows, *moments in self._posterior_draws()[0].chunks(X):
            log_probability[rows] = self._likelihood.predictive_log_density(
                y[rows], *moments, params, exposure=exposure[rows]
            )
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
            Zero or larger; 1 by default.

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
        exposure = check_exposure(exposure, len(X), zero=True)
        rng = as_random_state(random_state)
        chosen, (latent,) = sample_latent(
            self._posterior_draws(), X, n_samples, rng, self.memory_limit
        )
        params = self._params()[chosen]
        return self._likelihood.predictive_sample(latent, params, rng, exposure=exposure)

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return D^2: how much of a constant rate's Poisson deviance the predictions save.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger; 1 by default.

        Returns
        -------
        score : float
            0 is a constant rate: total count / total exposure of the rows given to `fit`, and of
            half an event where these had none. 1 is best on the rows given to `fit`; on others
            the score can be larger, see Notes.

        Raises
        ------
        ValueError
            For events in a row without exposure: no prediction can be judged by them.

        Warns
        -----
        UserWarning
            If `fit` was given exposures other than 1, and this method none.

        Notes
        -----
        The deviance ``d(y, mu) = 2 (y log(y / mu) - y + mu)``, of negative binomial counts too, of
        the prediction mu is compared with that of the constant rate's prediction mu_0::

            score = mean(d(y, mu_0) - d(y, mu)) / D

        D is the mean of d(y, mu_0) over the rows given to `fit`. On these rows the score is the
        share of the deviance that is explained. It is not divided by the deviance of the rows at
        hand, which may be zero, or next to it where they have no events: the mean of such shares
        over small folds is largest for the model that predicts least. With D the scores of single
        rows are finite, those of parts add up to that of the whole, and the mean over folds is
        best for the model of the smallest deviance. Rows that vary more than those of `fit` can
        score more than 1. (Should all counts of `fit` be as the constant rate has them, D is 1
        divided by the number of rows, each as often as its weight says.)

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0).fit(X, y)
        >>> bool(0.2 < model.score(X, y) < 1.0)
        True
        """
        expected = self.predict(X, exposure)
        self._warn_without_exposure(exposure, "score")
        y = check_counts(new_vector(y, exact=True))
        check_consistent_length(expected, y)
        exposure = check_exposure(exposure, len(y), zero=True)
        check_possible(y, exposure)
        weights = check_sample_weight(sample_weight, len(y))
        with np.errstate(over="ignore"):
            constant = self._constant_rate * exposure
        reduction = deviance_reduction(y, expected, constant)
        return float(np.average(reduction, weights=weights) / self._constant_deviance)
