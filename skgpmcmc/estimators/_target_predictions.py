"""Predictions of targets with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length

from .._checks import check_rows
from .._covariance import NoiseSplit
from .._linalg import Array
from .._prediction._dense import PosteriorDraws, check_covariance_memory, sample_latent, spread
from .._prediction._registry import predictions_of
from ..likelihoods import Likelihood
from ..likelihoods._checks import as_floats, check_quantiles
from ..likelihoods.predictive._mixtures import (
    log_mean_exp,
    normal_exceedance,
    normal_log_density,
    normal_quantiles,
)
from ..likelihoods.predictive._student_t import (
    student_t_exceedance,
    student_t_log_density,
    student_t_quantiles,
)
from ._inputs import (
    as_random_state,
    check_sample_weight,
    check_threshold,
    interval_ends,
    new_vector,
)
from ._latent_predictions import (
    LatentPredictions,
    check_one_spread,
    latent_covariance,
    latent_moments,
)


class TargetPredictions(RegressorMixin, LatentPredictions):
    """What a fitted regressor predicts; not for direct use."""

    # Set by fit: the units in which the model is fitted, and its noise.
    _y_mean: float
    _y_scale: float
    _split: NoiseSplit
    _noise_likelihood: Likelihood
    _is_gaussian: bool
    _fixed_nu: float | None

    def _all_posterior_draws(self) -> list[PosteriorDraws]:
        if not self._is_gaussian:
            return super()._all_posterior_draws()
        draws = predictions_of(self._structure).from_gaussian(
            self._latent_kernel,
            self._structure.conditioned_on(self.X_train_),
            self.trace_,
            self._noise_likelihood,
            self._jitter,
            self.max_prediction_draws,
        )
        return [draws]

    def _noise(self) -> tuple[Array, Array]:
        """Return squared scale and degrees of freedom (inf: normal) of new noise, each draw."""
        which = spread(self.trace_, self.max_prediction_draws)
        noise = self._split.noise
        level = np.full(len(which), 0.0 if noise is None else noise.noise_level)
        if self._split.noise_name in self.posterior_:
            level = self.posterior_[self._split.noise_name].reshape(-1)[which]
        nu = np.full(len(which), np.inf)
        if not self._is_gaussian:
            nu = np.full(len(which), self._fixed_nu or 0.0)
            if self._fixed_nu is None:
                nu = self.posterior_["degrees_of_freedom"].reshape(-1)[which]
        return level, nu

    def _noise_variance(self) -> float:
        """Return the variance of new noise, averaged over the draws."""
        level, nu = self._noise()
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(np.isinf(nu), 1.0, np.where(nu > 2.0, nu / (nu - 2.0), np.inf))
            return float(np.where(level > 0.0, level * factor, 0.0).mean())

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the predictive mean, averaged over the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the predictive standard deviation too, that of a new
            observation: as in scikit-learn, with the kernel's white noise, without `alpha`.
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
        check_one_spread(return_std, return_cov)
        X = self._validate_new(X)
        draws = self._posterior_draws()[0]
        if return_cov:
            check_covariance_memory([draws], X, self.memory_limit)
            mean, covariance = latent_covariance(draws, X)
            covariance[np.diag_indices(len(X))] += self._noise_variance()
            return self._y_mean + self._y_scale * mean, self._y_scale**2 * covariance
        mean, variance = latent_moments(draws, X)
        mean = self._y_mean + self._y_scale * mean
        if not return_std:
            return mean
        return mean, self._y_scale * np.sqrt(variance + self._noise_variance())

    def predict_latent(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the posterior mean of the latent function, without noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std, return_cov : bool, default=False
            Whether to return its standard deviation, or covariance, too.

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
        mean, spread_ = result
        unit = self._y_scale**2 if return_cov else self._y_scale
        return self._y_mean + self._y_scale * mean, unit * spread_

    def predict_interval(self, X: Any, confidence_level: float = 0.9) -> Array:
        """Return central predictive intervals of new observations.

        Their noise is the kernel's white noise, without `alpha` and `noise_variance`.

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

        Their noise is the kernel's white noise, without `alpha` and `noise_variance`.

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
        level, nu = self._noise()
        values = np.empty((len(X), len(quantiles)))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            if _is_normal(level, nu):
                values[rows] = normal_quantiles(mean, variance + level[:, None], quantiles)
            else:
                values[rows] = student_t_quantiles(mean, variance, level, nu, quantiles)
        return self._y_mean + self._y_scale * values

    def predict_exceedance(self, X: Any, threshold: Any) -> Array:
        """Return the predictive probability that a new observation is above a threshold.

        It is computed, not simulated, and goes with `predict_quantiles`: above the quantile q is
        the probability 1 - q.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        threshold : float or array-like of shape (n_samples,)
            For all rows, or one for each, in the units of y; may be infinite.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Of a new observation, noise and all, that is larger than the threshold.

        Raises
        ------
        ValueError
            For a threshold of another shape, and NaN.

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
        level, nu = self._noise()
        probability = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            probability[rows] = (
                normal_exceedance(threshold[rows], mean, variance + level[:, None])
                if _is_normal(level, nu)
                else student_t_exceedance(threshold[rows], mean, variance, level, nu)
            )
        return probability

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """Return the logarithm of the predictive density of new observations.

        Their noise is the kernel's white noise, without `alpha` and `noise_variance`.

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
        level, nu = self._noise()
        density = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            if _is_normal(level, nu):
                each = normal_log_density(scaled[rows], mean, variance + level[:, None])
            else:
                each = student_t_log_density(scaled[rows], mean, variance, level, nu)
            density[rows] = log_mean_exp(each)
        return density - np.log(self._y_scale)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw new observations from their predictive distribution, jointly over the rows.

        Their noise is the kernel's white noise, without `alpha` and `noise_variance`.

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
        level, nu = (values[draws] for values in self._noise())
        noise = rng.standard_normal(latent.shape)
        finite = np.isfinite(nu)
        if finite.any():
            degrees = nu[finite]
            noise[:, finite] /= np.sqrt(rng.chisquare(degrees, (len(X), len(degrees))) / degrees)
        return self._y_mean + self._y_scale * (latent + np.sqrt(level) * noise)

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
            1 is best; 0 is the mean of y.
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


def _is_normal(level: Array, nu: Array) -> bool:
    """Whether new noise of these squared scales and degrees of freedom is normal, or none."""
    return bool(np.isinf(nu).all() or not level.any())
