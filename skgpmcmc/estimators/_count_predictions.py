"""Predictions of rates and of counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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
            Zero or larger. The default is 1.

        Returns
        -------
        rate : ndarray of shape (n_samples,)
            Events per unit of exposure, times `exposure`. It is infinite where it is too large for
            a float. Far from the data the posterior of a rate is skewed, and its mean is far above
            its median: see `predict_interval`.
        """
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X), zero=True)
        return self._predicted(self._likelihood.predictive_mean, X, exposure=exposure)

    @with_shared_documentation
    def prediction_mcse(self, X: Any, exposure: Any = None) -> Array:
        """Return the Monte Carlo standard error of the expected counts.

        This is the standard deviation of the prediction over repeated runs of the chains. It says
        how far the prediction may be from that of endless chains. It does not say how far the truth
        may be: for that see `predict_interval`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger. The default is 1.

        Returns
        -------
        mcse : ndarray of shape (n_samples,)
            In the unit of `predict`. NaN where it is not defined: if fewer than 6 draws of each
            chain are used, or if all draws predict exactly the same.

        Notes
        -----
        %(mcse)s
        If the rate is very uncertain, its posterior is so skewed that most of the mean comes from
        few draws. The true error is then larger than the one that is returned.

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
            Lower and upper end. It is infinite where it is too large for a float.
        """
        quantiles = interval_ends(confidence_level)
        X = self._validate_new(X)
        ends = np.empty((len(X), 2))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            ends[rows] = normal_quantiles(mean, variance, quantiles)
        return expected_counts(ends, np.ones(1))

    def predict_exceedance(self, X: Any, threshold: Any) -> Array:
        """Return the posterior probability that the rate per unit of exposure is above a threshold.

        It is computed, not simulated, and agrees with `predict_interval`: the probability above the
        upper end of a 90 % interval is 5 %. (`predict_quantiles` is about new counts, which also
        have noise.)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        threshold : float or array-like of shape (n_samples,)
            One for all rows, or one for each, in events per unit of exposure. It may be infinite.
            All rates are above zero.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Probability that the rate is larger than the threshold.

        Raises
        ------
        ValueError
            If the threshold has another shape, or is NaN.

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
            Zero or larger. The default is 1.

        Returns
        -------
        counts : ndarray of shape (n_samples, n_quantiles)
            Whole numbers: the smallest count whose distribution function reaches the quantile. The
            quantile 1 is infinite. All quantiles are 0 where the exposure is 0.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X), zero=True)
        method = partial(self._likelihood.predictive_quantiles, quantiles)
        return self._predicted(method, X, exposure=exposure)

    def log_predictive_density(self, X: Any, y: Any, exposure: Any = None) -> Array:
        """Return the logarithm of the predictive probability of new counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Counts.
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger. The default is 1.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
            Where the exposure is 0, it is 0 for no events, and minus infinity for some events.

        Warns
        -----
        UserWarning
            If `fit` was given exposures other than 1, and this method was given none.
        """
        X = self._validate_new(X)
        y = check_counts(new_vector(y, exact=True))
        check_consistent_length(X, y)
        self._warn_without_exposure(exposure, "log_predictive_density")
        exposure = check_exposure(exposure, len(X), zero=True)
        return self._predicted(self._likelihood.predictive_log_density, X, y, exposure=exposure)

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
            Zero or larger. The default is 1.

        Returns
        -------
        counts : ndarray of int of shape (n_rows, n_samples)
            Rates above 9e18, about the largest whole number of 64 bits, are replaced by 9e18.

        Raises
        ------
        ValueError
            If the covariance of the rows needs more memory than `memory_limit`. Rows that are
            points of the fitted grid need no covariance.
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
        """Return D^2, the explained deviance: how much better than a constant rate predictions are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        exposure : float or array-like of shape (n_samples,), default=None
            Zero or larger. The default is 1.

        Returns
        -------
        score : float
            0 is the score of a constant rate: total count / total exposure of the rows given to
            `fit`. (If these have no events, half an event is taken.) 1 is the best score on the
            rows given to `fit`. On other rows the score can be larger, see Notes.

        Raises
        ------
        ValueError
            If a row has events, but an exposure of 0: they cannot be used to judge a prediction.

        Warns
        -----
        UserWarning
            If `fit` was given exposures other than 1, and this method was given none.

        Notes
        -----
        The deviance of the prediction mu is ``d(y, mu) = 2 (y log(y / mu) - y + mu)``, for negative
        binomial counts too. It is compared with the deviance of the prediction mu_0 of the constant
        rate::

            score = mean(d(y, mu_0) - d(y, mu)) / D

        D is the mean of d(y, mu_0) over the rows given to `fit`. On these rows the score is the
        share of the deviance that is explained. The deviance of the scored rows is not used as the
        divisor, because it is zero or almost zero where they have no events. With small folds, the
        mean of such shares would be largest for the model that predicts the smallest rates. With D
        the score of a single row is finite, the scores of parts add up to the score of the whole,
        and the model with the smallest deviance has the best mean over folds. Rows that vary more
        than those of `fit` can score more than 1. (If the constant rate predicts all counts of
        `fit` exactly, D is 1 divided by the number of rows. A row then counts as often as its
        weight says.)

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
