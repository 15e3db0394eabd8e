"""Predictions of targets with noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length

from .._checks import as_random_state, check_rows
from .._covariance import NoiseSplit
from .._linalg import Array
from .._prediction._averages import latent_covariance, latent_mean, latent_moments
from .._prediction._dense import PosteriorDraws, check_covariance_memory, sample_latent
from .._prediction._registry import predictions_of
from ..likelihoods._checks import as_floats, check_quantiles
from ..representations import is_usable
from ._derivative import DerivativePredictions
from ._documentation import with_shared_documentation
from ._inputs import (
    check_sample_weight,
    check_threshold,
    interval_ends,
    new_vector,
)
from ._latent_predictions import check_one_uncertainty
from ._shares import VarianceShares


class TargetPredictions(RegressorMixin, VarianceShares, DerivativePredictions):
    """What a fitted regressor predicts; not for direct use."""

    # Set by fit: the units in which the model is fitted, and the kernel's white noise.
    _y_mean: float
    _y_scale: float
    _split: NoiseSplit

    def _all_posterior_draws(self) -> list[PosteriorDraws]:
        if not is_usable("marginal", self._likelihood):
            return super()._all_posterior_draws()
        draws = predictions_of(self._structure).from_gaussian(
            self._latent_kernel,
            self._structure.conditioned_on(self.X_train_),
            self.trace_,
            self._likelihood,
            self._jitter,
            self._n_prediction_draws(),
        )
        return [draws]

    def _name_in_kernel(self, path: str) -> str:
        return self._split.name_of(path)

    def _known_variance(self) -> float:
        """Return the noise of new rows that is not sampled, in the units of the model.

        It is the kernel's white noise, without `alpha` and `noise_variance`.
        """
        noise = self._split.noise
        is_sampled = "noise_level" in self._likelihood.parameters
        return 0.0 if noise is None or is_sampled else noise.noise_level

    def _noise_variance(self) -> float:
        """Return the variance of new noise, averaged over the draws."""
        known, params = self._known_variance(), self._params()
        each = self._likelihood.noise_variance_of_draws(1, params, known_variance=known)
        return float(each[:, 0].mean())

    def _with_noise(self, method: Callable[..., Array], X: Any, *first: Array) -> Array:
        """Return what a method of the likelihood says of new observations and their noise."""
        known = np.full(len(X), self._known_variance())
        return self._predicted(method, X, *first, known_variance=known)

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the predictive mean, averaged over the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the predictive standard deviation of a new observation too. As in
            scikit-learn, it includes the kernel's white noise, but not `alpha`.
        return_cov : bool, default=False
            Whether to return the predictive covariance of all rows too.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            In the units of y.
        std : ndarray of shape (n_samples,)
            Only if `return_std`.
        cov : ndarray of shape (n_samples, n_samples)
            Only if `return_cov`.

        Raises
        ------
        RuntimeError
            If both `return_std` and `return_cov` are asked for.
        ValueError
            If a covariance needs more memory than `memory_limit`.
        """
        check_one_uncertainty(return_std, return_cov)
        X = self._validate_new(X)
        draws = self._posterior_draws()[0]
        if return_cov:
            check_covariance_memory([draws], X, self.memory_limit)
            mean, covariance = latent_covariance(draws, X)
            covariance[np.diag_indices(len(X))] += self._noise_variance()
            return self._y_mean + self._y_scale * mean, self._y_scale**2 * covariance
        if not return_std:
            return self._y_mean + self._y_scale * latent_mean(draws, X)
        mean, variance = latent_moments(draws, X)
        std = self._y_scale * np.sqrt(variance + self._noise_variance())
        return self._y_mean + self._y_scale * mean, std

    @with_shared_documentation
    def prediction_mcse(self, X: Any) -> Array:
        """Return the Monte Carlo standard error of the predictive mean.

        This is the standard deviation of the prediction over repeated runs of the chains. It says
        how far the prediction may be from that of endless chains. It does not say how far the truth
        may be: for that see `predict(return_std=True)`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        mcse : ndarray of shape (n_samples,)
            In the unit of `predict`. NaN where it is not defined: if fewer than 6 draws of each
            chain are used, or if all draws predict exactly the same.

        Notes
        -----
        %(mcse)s

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc import MCMCGaussianProcessRegressor
        >>> X = np.linspace(0.0, 6.0, 30)[:, None]
        >>> y = np.sin(X[:, 0])
        >>> model = MCMCGaussianProcessRegressor(n_warmup=100, n_draws=100, random_state=0)
        >>> bool(model.fit(X, y).prediction_mcse([[1.5]])[0] < 0.01)
        True
        """
        return self._mcse_at(self._validate_new(X))

    def _conditional_predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        for rows, mean in self._posterior_draws()[0].mean_chunks(X):
            yield rows, self._y_mean + self._y_scale * mean

    def predict_latent(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the posterior mean of the latent function, without noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std, return_cov : bool, default=False
            Whether to return its standard deviation or its covariance too.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            In the units of y.
        std : ndarray of shape (n_samples,)
            Only if `return_std`.
        cov : ndarray of shape (n_samples, n_samples)
            Only if `return_cov`.
        """
        result = super().predict_latent(X, return_std, return_cov)
        if not isinstance(result, tuple):
            return self._y_mean + self._y_scale * result
        mean, uncertainty = result
        unit = self._y_scale**2 if return_cov else self._y_scale
        return self._y_mean + self._y_scale * mean, unit * uncertainty

    def predict_interval(self, X: Any, confidence_level: float = 0.9) -> Array:
        """Return central predictive intervals of new observations.

        Their noise is the kernel's white noise. It does not include `alpha` or `noise_variance`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        confidence_level : float, default=0.9
            Predictive probability of each interval, in (0, 1).

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper end, in the units of y.
        """
        return self.predict_quantiles(X, interval_ends(confidence_level))

    def predict_quantiles(self, X: Any, quantiles: Any) -> Array:
        """Return predictive quantiles of new observations.

        Their noise is the kernel's white noise. It does not include `alpha` or `noise_variance`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,)
            Probabilities in [0, 1].

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles)
            In the units of y.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        method = partial(self._likelihood.predictive_quantiles, quantiles)
        return self._y_mean + self._y_scale * self._with_noise(method, X)

    def predict_exceedance(self, X: Any, threshold: Any) -> Array:
        """Return the predictive probability that a new observation is above a threshold.

        It is computed, not simulated, and agrees with `predict_quantiles`: the probability above
        the quantile q is 1 - q.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        threshold : float or array-like of shape (n_samples,)
            One for all rows, or one for each, in the units of y. It may be infinite.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Probability that a new observation, with its noise, is larger than the threshold.

        Raises
        ------
        ValueError
            If the threshold has another shape, or is NaN.

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc import MCMCGaussianProcessRegressor
        >>> X = np.linspace(0.0, 6.0, 30)[:, None]
        >>> y = np.sin(X[:, 0])
        >>> model = MCMCGaussianProcessRegressor(n_warmup=100, n_draws=100, random_state=0)
        >>> model.fit(X, y).predict_exceedance([[1.5], [4.5]], 0.5).round(2)
        array([1., 0.])
        """
        X = self._validate_new(X)
        threshold = check_threshold(threshold, len(X))
        with np.errstate(over="ignore"):
            threshold = (threshold - self._y_mean) / self._y_scale
        return self._with_noise(self._likelihood.predictive_exceedance, X, threshold)

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """Return the logarithm of the predictive density of new observations.

        Their noise is the kernel's white noise. It does not include `alpha` or `noise_variance`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Observations.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Per unit of y.
        """
        X = self._validate_new(X)
        y = _new_targets(X, y)
        scaled = (y - self._y_mean) / self._y_scale
        density = self._with_noise(self._likelihood.predictive_log_density, X, scaled)
        return density - np.log(self._y_scale)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw new observations from their predictive distribution, jointly over the rows.

        Their noise is the kernel's white noise. It does not include `alpha` or `noise_variance`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, RandomState instance or None, default=None
            Determines the draws. (scikit-learn's default is 0.)

        Returns
        -------
        y : ndarray of shape (n_rows, n_samples)
            In the units of y.
        """
        X = self._validate_new(X)
        rng = as_random_state(random_state)
        draws, (latent,) = sample_latent(
            self._posterior_draws(), X, n_samples, rng, self.memory_limit
        )
        known, params = self._known_variance(), self._params()[draws]
        y = self._likelihood.predictive_sample(latent, params, rng, known_variance=known)
        return self._y_mean + self._y_scale * y

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the share of the variance of y that the predictive mean explains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Observations.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            1 is the best score. 0 is the score of the mean of y.
        """
        mean = self.predict(X)
        y = _new_targets(mean, y)
        weights = check_sample_weight(sample_weight, len(y))
        return float(r2_score(y, mean, sample_weight=weights))


def _new_targets(X: Any, y: Any) -> Array:
    """Return observations at the rows of X as finite floats."""
    y = as_floats("y", new_vector(y, exact=True))
    check_rows(y, np.isfinite(y), "y", "finite")
    check_consistent_length(X, y)
    return y
