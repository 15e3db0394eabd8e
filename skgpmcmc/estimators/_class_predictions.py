"""Predictions of classes and of their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._checks import as_random_state
from .._linalg import Array, slices
from .._messages import warn_user
from .._prediction._averages import latent_exceedance
from .._prediction._dense import CHUNK_BYTES, sample_latent
from ..diagnostics._left_out import LeftOutDensities
from ..exceptions import MissingCapabilityError
from ..likelihoods._checks import check_quantiles
from ..likelihoods.predictive._mixtures import normal_nodes, normal_quantiles
from ._class_likelihoods import check_successes
from ._derivative import DerivativePredictions
from ._documentation import with_shared_documentation
from ._inputs import (
    check_sample_weight,
    check_threshold,
    interval_ends,
    new_labels,
    new_vector,
)
from ._leave_one_out import shares_of_classes
from ._shares import VarianceShares

# For each draw; different draws have different nodes of one sequence.
_N_QUANTILE_NODES = 8
# Of each latent function: a number for each draw and row.
_EachFunction = tuple[Array, ...]


class ClassPredictions(ClassifierMixin, VarianceShares, DerivativePredictions):
    """What a fitted classifier predicts; not for direct use."""

    _function_dimension = "class"
    # Set by fit.
    classes_: NDArray
    n_classes_: int

    def _function_labels(self) -> list[Any] | None:
        several = sum(len(group) for group in self._observed.groups) > 1
        return self.classes_.tolist() if several else None

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, averaged over the posterior.

        Given each draw, the latent function at X is normal. The average of the link over this
        normal distribution is computed by quadrature (for softmax: on fixed low-discrepancy nodes).
        So predictions are deterministic.

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
        parts = [self._mean_probabilities(*moments) for _, *moments in self._chunks(X)]
        probabilities = np.concatenate(parts)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _chunks(self, X: Any) -> Iterator[tuple[slice, _EachFunction, _EachFunction]]:
        """Yield some rows at a time, and means and variances of the latent functions there."""
        for chunk in zip(*(draws.chunks(X) for draws in self._posterior_draws()), strict=True):
            rows, mean, variance = zip(*chunk, strict=True)
            yield rows[0], mean, variance

    def _mean_probabilities(self, mean: _EachFunction, variance: _EachFunction) -> Array:
        """Return the probabilities of the groups of latent functions, a column for each class."""
        parts, first = [], 0
        for group in self._observed.groups:
            functions = slice(first, first + len(group))
            parts.append(group[0].class_probabilities(mean[functions], variance[functions]))
            first += len(group)
        if first == 1:
            parts = [1.0 - parts[0], parts[0]]
        probabilities = np.concatenate(parts, axis=1)
        vanished = probabilities.sum(axis=1) == 0.0
        if vanished.any():  # every class is next to impossible: by logarithms, at the means
            latent = np.column_stack([each.mean(axis=0) for each in mean])
            probabilities[vanished] = self._shares(latent[vanished], axis=1)
        return probabilities

    def _shares(self, latent: Array, axis: int) -> Array:
        """Return the classes' probabilities, normalised, given their latent values."""
        return np.asarray(softmax(self._likelihood.log_class_weight(latent), axis=axis))

    @with_shared_documentation
    def prediction_mcse(self, X: Any) -> Array:
        """Return the Monte Carlo standard error of the probabilities.

        This is the standard deviation of the probability over repeated runs of the chains. It says
        how far the probability may be from that of endless chains. It does not say how far the
        truth may be: for that see `predict_interval`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        mcse : ndarray of shape (n_samples, n_classes)
            In the unit of `predict_proba`. NaN where it is not defined: if fewer than 6 draws of
            each chain are used, or if all draws predict exactly the same.

        Notes
        -----
        %(mcse)s
        Several classes have independent models, whose probabilities are normalised. The error takes
        account of this to first order.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skgpmcmc import MCMCGaussianProcessClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X, y = X[50::5, 2:], y[50::5]
        >>> model = MCMCGaussianProcessClassifier(n_warmup=100, n_draws=100, random_state=0)
        >>> bool((model.fit(X, y).prediction_mcse([[4.0, 1.2]]) < 0.05).all())
        True
        """
        return self._mcse_at(self._validate_new(X))

    def _conditional_predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        for rows, mean, variance in self._chunks(X):
            values = np.array(
                [
                    self._mean_probabilities(
                        tuple(m[[d]] for m in mean), tuple(v[[d]] for v in variance)
                    )
                    for d in range(len(mean[0]))
                ]
            )
            total = values.mean(axis=0).sum(axis=1, keepdims=True)
            shares = values.mean(axis=0) / total
            # The first-order change of a share p_k / sum_j p_j with all p.
            yield rows, (values - shares * values.sum(axis=2, keepdims=True)) / total

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
            Lower and upper end. For two classes, of the probability of ``classes_[1]``. For more
            classes, or softmax, of the probability of every class.
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
            For two classes, of the probability of ``classes_[1]``. For more classes, or softmax, of
            the probability of every class.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        functions = self._posterior_draws()
        if len(functions) == 1:
            latent = np.empty((len(X), len(quantiles)))
            for rows, mean, variance in functions[0].chunks(X):
                latent[rows] = normal_quantiles(mean, variance, quantiles)
            return np.asarray(self._likelihood.link(latent))
        values = np.empty((len(X), len(functions), len(quantiles)))
        for rows, samples in self._class_samples(X):
            values[rows] = np.quantile(samples, quantiles, axis=1).T
        return values

    def predict_exceedance(self, X: Any, threshold: Any) -> Array:
        """Return the posterior probability that the probability of a class is above a threshold.

        It is computed, not simulated, and agrees with `predict_quantiles`: the posterior
        probability above the quantile q is 1 - q. With several latent functions, both use the same
        fixed low-discrepancy nodes, 8 for each draw, and agree up to one node.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        threshold : float or array-like of shape (n_samples,)
            One for all rows, or one for each. It is mostly between 0 and 1: all probabilities are
            above a negative threshold, and none is above a threshold that is larger than 1.

        Returns
        -------
        probability : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, of the probability of ``classes_[1]``. For more classes, or softmax, of
            the probability of every class.

        Raises
        ------
        ValueError
            If the threshold has another shape, or is NaN.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skgpmcmc import MCMCGaussianProcessClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X, y = X[50::5, 2:], y[50::5]
        >>> model = MCMCGaussianProcessClassifier(n_warmup=100, n_draws=100, random_state=0)
        >>> model.fit(X, y).predict_exceedance([[4.0, 1.2], [6.0, 2.2]], 0.5).round(1)
        array([0., 1.])
        """
        X = self._validate_new(X)
        threshold = check_threshold(threshold, len(X))
        functions = self._posterior_draws()
        if len(functions) == 1:
            latent = self._likelihood.inverse_link(np.clip(threshold, 0.0, 1.0))
            return latent_exceedance(functions[0], X, latent)
        probability = np.empty((len(X), len(functions)))
        for rows, samples in self._class_samples(X):
            probability[rows] = (samples > threshold[rows]).mean(axis=1).T
        probability[threshold <= 0.0] = 1.0  # also of samples that are too small for a float
        return probability

    def _class_samples(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield some rows at a time, and the classes' probabilities there on fixed nodes.

        They have the shape (n_classes, n_nodes, n_rows), all draws together.
        """
        for rows, means, variances in self._chunks(X):
            mean, scale = np.array(means), np.sqrt(variances)
            n_classes, n_draws, n_rows = mean.shape
            nodes = np.array(
                [normal_nodes(_N_QUANTILE_NODES, n_classes, d) for d in range(n_draws)]
            )
            size = max(1, CHUNK_BYTES // (8 * n_classes * n_draws * _N_QUANTILE_NODES))
            for some in slices(n_rows, size):
                # Axes: class, draw, node, row.
                latent = mean[:, :, None, some] + np.einsum(
                    "cdr,dnc->cdnr", scale[:, :, some], nodes
                )
                samples = self._shares(latent, axis=0).reshape(n_classes, -1, latent.shape[3])
                yield slice(rows.start + some.start, rows.start + some.stop), samples

    def _of_all_groups(self, parts: list[LeftOutDensities]) -> LeftOutDensities:
        if len(parts) == 1:
            return parts[0]
        return shares_of_classes(parts, np.searchsorted(self.classes_, self._observed.y))

    def score(self, X: Any, y: Any, sample_weight: Any = None, trials: Any = None) -> float:
        """Return the accuracy, the share of labels or trials that `predict` gets right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels, or with `trials` the number of successes of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        trials : int or array-like of shape (n_samples,), default=None
            Number of trials of each row; the classes must be 0 and 1. Labels are single trials.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError
            If `fit` was given trials, this method was not, and y has other values than 0 and 1. If
            numbers of successes or trials are impossible.

        Warns
        -----
        UserWarning
            If `fit` was given trials, this method was not, and y is 0 or 1 in each row. These may
            be labels, or few successes in many trials. If they are labels, pass ``trials=1``.
        """
        check_is_fitted(self)
        if trials is None:
            self._check_labels_without_trials(y, "score")
        labels = self.predict(X)
        if trials is None:
            weights = check_sample_weight(sample_weight, len(labels))
            return float(accuracy_score(new_labels(y), labels, sample_weight=weights))
        y, trials = self._check_trials(labels, y, trials)
        weights = check_sample_weight(sample_weight, len(y))
        right = np.where(labels == 1, y, trials - y)
        return float(
            np.average(right / trials, weights=trials if weights is None else trials * weights)
        )

    def _check_labels_without_trials(self, y: Any, method: str) -> None:
        """Refuse numbers of successes whose trials are missing; warn where y may be such."""
        trials = self._observed.per_row["trials"]
        if trials is None or (trials == 1.0).all():
            return
        way = (
            "in cross-validation, turn scikit-learn's metadata routing on and call "
            "set_score_request(trials=True) beforehand."
        )
        others = [label for label in new_labels(y).tolist() if label not in (0, 1)]
        if others:
            raise ValueError(
                f"{method} needs trials=... here: fit was given numbers of trials, and y has "
                f"{others[0]!r}, which is no label of a single trial (0 or 1). Pass trials; {way}"
            )
        warn_user(
            f"{method} takes each row for a single trial, but fit was given other numbers of "
            f"trials. Pass trials=... (trials=1 if y are labels of single trials); {way}",
            UserWarning,
        )

    def _check_trials(self, X: Any, y: Any, trials: Any) -> tuple[Array, Array]:
        """Return numbers of successes and trials of new rows."""
        if self.classes_.tolist() != [0, 1]:
            raise ValueError(
                f"trials need the classes 0 and 1; the classes are {self.classes_.tolist()}. Fit "
                "with trials, or pass labels without them."
            )
        y = new_vector(y, exact=True)
        check_consistent_length(X, y)
        return check_successes(y, trials)

    def log_predictive_density(self, X: Any, y: Any, trials: Any = None) -> Array:
        """Return the logarithm of the probability of the true class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels, all of them in `classes_`, or with `trials` numbers of successes.
        trials : int or array-like of shape (n_samples,), default=None
            Number of trials of each row. The result is then about the number of successes. Only the
            logit link allows more than 1.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If `fit` has not seen a label, if numbers of successes or trials are impossible, or if
            there are numbers of successes without trials.

        Warns
        -----
        UserWarning
            If `fit` was given trials, and this method was not. y is then taken as labels of single
            trials. Pass ``trials=1`` if this is right.
        """
        if trials is not None:
            return self._log_density_of_successes(self._validate_new(X), y, trials)
        check_is_fitted(self)
        self._check_labels_without_trials(y, "log_predictive_density")
        return self._log_density_of_labels(X, y)

    def _log_density_of_labels(self, X: Any, y: Any) -> Array:
        log_probabilities = self.predict_log_proba(X)
        y = new_vector(y, what="a class label")
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
        log_probability = np.empty(len(X))
        try:
            for rows, *moments in self._posterior_draws()[0].chunks(X):
                log_probability[rows] = self._likelihood.log_density_of_successes(
                    y[rows], trials[rows], *moments
                )
        except MissingCapabilityError:
            if (trials == 1.0).all():
                return self._log_density_of_labels(X, y)
            raise ValueError(
                "trials need link='logit' and multi_class='one_vs_rest' here. Pass labels with "
                "trials=1, or fit such a model."
            ) from None
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
        bounds = np.cumsum(self._shares(latent, axis=0), axis=0)
        return self.classes_[(rng.random_sample(bounds.shape[1:]) > bounds[:-1]).sum(axis=0)]
