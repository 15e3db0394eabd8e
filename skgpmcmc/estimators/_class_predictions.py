"""Predictions of classes and of their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from .._linalg import Array
from ..likelihoods import Bernoulli, Binomial
from ..likelihoods._validation import check_quantiles
from ._class_likelihoods import check_successes
from ._inputs import as_random_state, check_sample_weight, interval_ends
from ._latent_predictions import LatentPredictions
from ._logistic_counts import binomial_log_pmf
from ._mixtures import log_mean_exp, normal_nodes, normal_quantiles, softmax_probabilities
from ._prediction import sample_latent

# For each draw; different draws have different nodes of one sequence.
_N_SOFTMAX_NODES = 64
_N_QUANTILE_NODES = 8
# Squares of larger ones overflow.
_LARGEST_LATENT = 1e150
# Of each latent function: a number for each draw and row.
_EachFunction = tuple[Array, ...]


class ClassPredictions(ClassifierMixin, LatentPredictions):
    """What a fitted classifier predicts; not for direct use."""

    # Set by fit. The likelihood is that of the first latent function, for the link.
    classes_: NDArray
    n_classes_: int
    _likelihood: Bernoulli | Binomial
    _is_softmax: bool
    _is_logit: bool

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, averaged over the posterior.

        For each draw the latent function at X is normal given the draw; the average of
        the link over it is computed by quadrature, for softmax on fixed low-discrepancy
        nodes, so that predictions are deterministic.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        X = self._validate_new(X)
        mean_probabilities = _mean_softmax if self._is_softmax else self._mean_link
        parts = [mean_probabilities(mean, variance) for mean, variance in self._chunks(X)]
        probabilities = np.concatenate(parts)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _chunks(self, X: Any) -> Iterator[tuple[_EachFunction, _EachFunction]]:
        """Yield means and variances of the latent functions, for some rows at a time."""
        for chunk in zip(*(draws.chunks(X) for draws in self._posterior_draws()), strict=True):
            _, mean, variance = zip(*chunk, strict=True)
            yield mean, variance

    def _mean_link(self, mean: _EachFunction, variance: _EachFunction) -> Array:
        """Return the probabilities of independent models, a column for each class."""
        columns = [
            self._likelihood.success_probability(*moments).mean(axis=0)
            for moments in zip(mean, variance, strict=True)
        ]
        if len(columns) == 1:
            columns = [1.0 - columns[0], columns[0]]
        probabilities = np.column_stack(columns)
        vanished = probabilities.sum(axis=1) == 0.0
        if vanished.any():  # every class is next to impossible: by logarithms, at the means
            latent = np.column_stack([each.mean(axis=0) for each in mean])
            probabilities[vanished] = self._shares(latent[vanished], axis=1)
        return probabilities

    def _shares(self, latent: Array, axis: int) -> Array:
        """Return the classes' probabilities, normalised, given their latent values."""
        if not self._is_softmax:
            latent = self._likelihood.log_link(np.clip(latent, -_LARGEST_LATENT, _LARGEST_LATENT))
        return np.asarray(softmax(latent, axis=axis))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        probabilities = self.predict_proba(X)  # raises first if not fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_interval(self, X: Any, confidence_level: float = 0.9) -> Array:
        """Return central posterior intervals of the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        confidence_level : float, default=0.9
            Posterior probability of each interval, in (0, 1).

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, n_classes, 2)
            Lower and upper end: for two classes of the probability of ``classes_[1]``,
            for more, or softmax, of every class.
        """
        return self.predict_quantiles(X, interval_ends(confidence_level))

    def predict_quantiles(self, X: Any, quantiles: Any) -> Array:
        """Return posterior quantiles of the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,)
            Probabilities in [0, 1].

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_classes, n_quantiles)
            For two classes of the probability of ``classes_[1]``, for more, or softmax,
            of every class.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        parts = [
            self._likelihood.link(normal_quantiles(mean[0], variance[0], quantiles))
            if len(mean) == 1
            else self._class_quantiles(mean, variance, quantiles)
            for mean, variance in self._chunks(X)
        ]
        return np.concatenate(parts)

    def _class_quantiles(
        self, means: _EachFunction, variances: _EachFunction, quantiles: Array
    ) -> Array:
        """Return quantiles over latent values on fixed nodes, all draws together."""
        mean, variance = np.array(means), np.array(variances)
        nodes = [normal_nodes(_N_QUANTILE_NODES, len(mean), d) for d in range(mean.shape[1])]
        # Axes: class, draw, node, row.
        latent = mean[:, :, None, :] + np.einsum(
            "cdr,dnc->cdnr", np.sqrt(variance), np.array(nodes)
        )
        flat = self._shares(latent, axis=0).reshape(len(mean), -1, mean.shape[2])
        return np.moveaxis(np.quantile(flat, quantiles, axis=1), 0, -1).transpose(1, 0, 2)

    def score(self, X: Any, y: Any, sample_weight: Any = None, trials: Any = None) -> float:
        """Return the accuracy, the share of labels or trials that `predict` gets right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels; with `trials` the number of successes of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        trials : int or array-like of shape (n_samples,), default=None
            Number of trials of each row; the classes must be 0 and 1.

        Returns
        -------
        score : float
        """
        if trials is None:
            return float(super().score(X, y, sample_weight))
        labels = self.predict(X)
        y, trials = self._check_trials(labels, y, trials)
        weights = check_sample_weight(sample_weight, len(y))
        right = np.where(labels == 1, y, trials - y)
        return float(
            np.average(right / trials, weights=trials if weights is None else trials * weights)
        )

    def _check_trials(self, X: Any, y: Any, trials: Any) -> tuple[Array, Array]:
        """Return numbers of successes and trials of new rows."""
        if self.classes_.tolist() != [0, 1]:
            raise ValueError(
                f"trials need the classes 0 and 1; the classes are {self.classes_.tolist()}. Fit "
                "with trials, or pass labels without them."
            )
        y = column_or_1d(y)
        check_consistent_length(X, y)
        return check_successes(y, trials)

    def log_predictive_density(self, X: Any, y: Any, trials: Any = None) -> Array:
        """Return the logarithm of the probability of the true class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels, all of them in `classes_`; with `trials` numbers of successes.
        trials : int or array-like of shape (n_samples,), default=None
            Number of trials of each row, for the logit link: the probability is that of the
            number of successes.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            For labels that `fit` has not seen, and numbers of successes or trials that are
            impossible.
        """
        if trials is not None:
            return self._log_density_of_successes(self._validate_new(X), y, trials)
        log_probabilities = self.predict_log_proba(X)
        y = column_or_1d(y)
        check_consistent_length(log_probabilities, y)
        classes, labels = self.classes_.tolist(), y.tolist()
        codes = {label: code for code, label in enumerate(classes)}
        unknown = list(dict.fromkeys(label for label in labels if label not in codes))
        if unknown:
            raise ValueError(
                f"y has labels that fit has not seen: {unknown[:3]}; the classes are {classes}."
            )
        return log_probabilities[np.arange(len(y)), [codes[label] for label in labels]]

    def _log_density_of_successes(self, X: Any, y: Any, trials: Any) -> Array:
        y, trials = self._check_trials(X, y, trials)
        if self._is_softmax or not self._is_logit:
            raise ValueError(
                "trials need link='logit' and multi_class='one_vs_rest' here. Pass labels, or fit "
                "such a model."
            )
        log_probability = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            each = binomial_log_pmf(y[rows], trials[rows], mean, variance)
            log_probability[rows] = log_mean_exp(each)
        return log_probability

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw labels from their posterior predictive distribution, jointly over the rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.

        Returns
        -------
        labels : ndarray of shape (n_rows, n_samples)
            Elements of `classes_`.
        """
        X = self._validate_new(X)
        rng = as_random_state(random_state)
        functions = self._posterior_draws()
        latent = np.array(sample_latent(functions, X, n_samples, rng, self.memory_limit)[1])
        if len(latent) == 1:
            probability = self._likelihood.link(latent[0])
            return self.classes_[(rng.random_sample(probability.shape) < probability).astype(int)]
        scale = softmax(latent, axis=0) if self._is_softmax else self._likelihood.link(latent)
        bounds = np.cumsum(scale / scale.sum(axis=0), axis=0)
        return self.classes_[(rng.random_sample(bounds.shape[1:]) > bounds[:-1]).sum(axis=0)]


def _mean_softmax(means: _EachFunction, variances: _EachFunction) -> Array:
    """Return the softmax averaged over the draws, each with its own block of nodes."""
    mean, variance = np.array(means), np.array(variances)
    n_classes, n_draws, _ = mean.shape
    total = sum(
        softmax_probabilities(
            mean[:, d], variance[:, d], normal_nodes(_N_SOFTMAX_NODES, n_classes, d)
        )
        for d in range(n_draws)
    )
    return np.asarray(total) / n_draws
