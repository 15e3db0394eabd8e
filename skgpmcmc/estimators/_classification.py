"""Classification."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from .._linalg import Array
from ..likelihoods import Bernoulli, BernoulliLogit, BernoulliProbit, Binomial, SoftmaxClass
from ..likelihoods._log_gamma import log_binomial
from ..likelihoods._validation import check_counts, check_trials
from ._base import BaseMCMCGaussianProcess, keeps_fitted
from ._defaults import FEATURE_FACTOR, DataScaledPriors, default_kernel
from ._inputs import (
    as_random_state,
    check_labels,
    check_quantiles,
    check_sample_weight,
    drop_weightless,
    interval_ends,
    number_per_row,
    share_latents,
)
from ._logistic_counts import binomial_log_pmf
from ._mixtures import log_mean_exp, normal_nodes, normal_quantiles, softmax_probabilities
from ._observed import Observed
from ._prediction import sample_latent

_LINKS: dict[str, type[Bernoulli]] = {"logit": BernoulliLogit, "probit": BernoulliProbit}
# Typical variance of the latent function, and the log-sd of its prior. On the logit scale
# a standard deviation of 3 spreads probabilities over (0.003, 0.997); where classes hardly
# overlap it is ten times as much. The median is between the two.
_SIGNAL_VARIANCE, _SIGNAL_VARIANCE_SD = 32.0, 2.0
# Of a constant mean of the latent function.
_MEAN_SD = 2.0
# For each draw; different draws have different nodes of one sequence.
_N_SOFTMAX_NODES = 64
_N_QUANTILE_NODES = 8
# Squares of larger ones overflow.
_LARGEST_LATENT = 1e150


class MCMCGaussianProcessClassifier(ClassifierMixin, BaseMCMCGaussianProcess):
    """Gaussian process classification, the kernel's hyperparameters integrated out.

    The latent function and the hyperparameters are sampled from their joint posterior
    by Markov chain Monte Carlo [1]_, and predictions average over the draws.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. None is a
        constant times a squared exponential with a length scale for each column,
        scaled to the data.
    link : {"logit", "probit"}, default="logit"
        From the latent function to the probability.
    mean : {"zero", "constant"}, default="zero"
        Prior mean of the latent function. A constant one is a further hyperparameter,
        named ``"mean"``, with a normal prior of standard deviation 2.
    multi_class : {"one_vs_rest", "softmax"}, default="one_vs_rest"
        For more than two classes: a binary model of each class against the others, the
        probabilities normalised; or one joint model with a latent function and
        hyperparameters for each class. ``"softmax"`` does so for two classes too, and
        needs the logit link.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"collapsed"`` (auxiliary
        variables, with the latent function integrated out; what ``"auto"`` means),
        ``"post-ep"`` (what it means for the probit link if `sample_weight` is not whole
        numbers), ``"surr-ep"``, ``"surr-site"``, ``"post-site"``, ``"prior-white"``,
        ``"fixed"``, or the variance of constant surrogate noise.
    hyperparameter_update : "auto", "slice", "hmc" or callable, default="auto"
        Slice sampling of one hyperparameter after the other; Hamiltonian Monte Carlo, for the
        representations "marginal" and "collapsed" and kernels that have a gradient (``"auto"``:
        where they do and have 3 hyperparameters or more); or a Metropolis-Hastings proposal: a
        callable that takes the vector theta and a generator, and returns the proposed
        vector and log q(old; new) - log q(new; old).
    n_latent_updates : int, default=10
        Elliptical slice updates of the latent function in each iteration.
    priors : dict, default=None
        Name of a hyperparameter, as in ``kernel.hyperparameters`` or ``"mean"`` -> frozen
        scipy.stats distribution on the natural scale, or a list of one for each
        element. Hyperparameters left out are log-uniform on bounds that you set, and
        otherwise log-normal, scaled to the data.
    n_chains : int, default=4
        Independent Markov chains.
    n_warmup, n_draws : int, default=250, 1000
        Iterations of each chain that are discarded, and draws that are kept.
    thin : int, default=1
        Iterations for each kept draw.
    max_prediction_draws : int, default=200
        Posterior draws, evenly spread, that predictions average over.
    memory_limit : float or None, default=8.0
        Gigabytes that the chains that run at the same time, and all draws, may take, and joint
        predictions later; more is an error before anything is allocated. None is no limit.
    copy_X_train : bool, default=True
        Whether the fitted estimator keeps its own copy of the training inputs.
    warm_start : bool, default=False
        Whether `fit` with a larger `n_draws`, and all else as before, continues the chains:
        250 draws and then 500 are the draws of 500 in one go, bit for bit (`random_state`
        matters for the first fit only).
    checkpoint : str or path-like, default=None
        Directory in which draws and states of the chains are kept while they run. If the
        process dies, `fit` with the same arguments goes on from there, to the same draws, bit
        for bit; a directory of other data, parameters or versions is refused. A larger `n_draws`
        continues the chains. One directory for each fit: not in a search over parameters.
    n_jobs : int, default=None
        Chains that run at the same time; the draws do not depend on it. Predictions run in as
        many threads.
    random_state : int, RandomState instance or None, default=None
        Determines all draws.
    verbose : int, default=0
        1 shows progress: a bar if tqdm is installed, a few lines for each chain otherwise.
        More is joblib's verbosity, plus one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_classes_ : int
        How many there are.
    priors_ : dict
        Name of a hyperparameter -> list of the prior of each element, a frozen scipy.stats
        distribution on the natural scale (also cut to bounds that the kernel sets).
    posterior_ : dict
        Name of a hyperparameter -> draws on the natural scale, shape
        (n_chains, n_draws), or (n_chains, n_draws, size). With several latent functions
        there is an axis for them, shape (n_chains, n_draws, n_classes[, size]).
    diagnostics_ : dict
        Name of a quantity -> mean, sd, mcse, ess_bulk, ess_tail, rhat. With several
        latent functions the names begin with the class, as in ``"setosa: mean"``.
    trace_ : Trace, or list of Trace
        All draws and costs; for several latent functions one for each.
    kernel_ : kernel instance
        The kernel at the posterior median, for reading only; a `CompoundKernel` for
        several latent functions.
    X_train_ : array-like of shape (n_latent, n_features)
        Distinct training inputs, sorted.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names.
    n_iter_ : int
        Iterations of each chain.

    References
    ----------
    .. [1] Murray and Adams (2010), Slice sampling covariance hyperparameters of latent
       Gaussian models, NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc import MCMCGaussianProcessClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.where(np.sin(2 * X[:, 0]) > 0, "up", "down")
    >>> model = MCMCGaussianProcessClassifier(n_warmup=100, n_draws=200, random_state=0)
    >>> model.fit(X, y).predict([[0.8], [-0.8]])
    array(['up', 'down'], dtype='<U4')
    """

    _representations = ("collapsed", "post-ep")
    _parameter_constraints: ClassVar[dict] = {
        **BaseMCMCGaussianProcess._parameter_constraints,
        "link": [StrOptions(set(_LINKS))],
        "multi_class": [StrOptions({"one_vs_rest", "softmax"})],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        link: str = "logit",
        mean: str = "zero",
        multi_class: str = "one_vs_rest",
        representation: str | float = "auto",
        hyperparameter_update: Any = "auto",
        n_latent_updates: int = 10,
        priors: dict | None = None,
        n_chains: int = 4,
        n_warmup: int = 250,
        n_draws: int = 1000,
        thin: int = 1,
        max_prediction_draws: int = 200,
        memory_limit: float | None = 8.0,
        copy_X_train: bool = True,
        warm_start: bool = False,
        checkpoint: str | PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.mean = mean
        self.multi_class = multi_class
        self.representation = representation
        self.hyperparameter_update = hyperparameter_update
        self.n_latent_updates = n_latent_updates
        self.priors = priors
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.max_prediction_draws = max_prediction_draws
        self.memory_limit = memory_limit
        self.copy_X_train = copy_X_train
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @keeps_fitted
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, trials: Any = None
    ) -> MCMCGaussianProcessClassifier:
        """Sample the posterior given training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; a list of objects if the kernel takes these.
        y : array-like of shape (n_samples,)
            Class labels; with `trials` the number of successes of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 to 1e12. A whole number acts like that many copies of the row.
        trials : int or array-like of shape (n_samples,), default=None
            Number of trials of each row, at least 1: its successes are binomial. The classes
            are then 0 (failure) and 1 (success).

        Returns
        -------
        self : MCMCGaussianProcessClassifier
            Fitted estimator.

        Raises
        ------
        ValueError
            For input that is not finite or of the wrong shape, a single class, numbers of
            successes or trials that are impossible, priors that do not fit the kernel, and
            more rows than `memory_limit` allows.

        Warns
        -----
        ConvergenceWarning
            If R-hat or the effective sample size of a quantity says that the chains
            are too short.
        """
        X, y = self._validate_inputs(X, y=y, reset=True, copy=self.copy_X_train)
        weights = check_sample_weight(sample_weight, len(y))
        numbers = np.arange(len(y))
        groups: Sequence[Sequence[Bernoulli | Binomial]]
        if trials is None:
            check_labels(y)
            check_classification_targets(y)
            weights, (X, y, numbers) = drop_weightless(weights, X, y, numbers)
            codes = self._set_classes(y, weights)
            self.X_train_, index = share_latents(X, self.kernel)
            groups = self._likelihoods(codes, latent_index=index, sample_weight=weights)
        else:
            y, trials = check_successes(y, trials)
            weights, (X, y, trials, numbers) = drop_weightless(weights, X, y, trials, numbers)
            self.classes_, self.n_classes_ = np.array([0, 1]), 2
            self.X_train_, index = share_latents(X, self.kernel)
            groups = [[self._likelihood_of_trials(y, trials, index, weights)]]
        kernel = default_kernel(self.X_train_) if self.kernel is None else self.kernel
        defaults = DataScaledPriors(
            kernel,
            self.X_train_,
            _SIGNAL_VARIANCE,
            signal_variance_sd=_SIGNAL_VARIANCE_SD,
            ard_factor=FEATURE_FACTOR,
            mean=(0.0, _MEAN_SD),
            bounds_are_set=self.kernel is not None,
        )
        labels = None if len(groups) * len(groups[0]) == 1 else self.classes_.tolist()
        self._observed = self._observe(groups, numbers, y, trials, weights)
        self._sample(kernel, groups, labels, defaults=defaults)
        self._likelihood = groups[0][0]
        self._is_softmax, self._is_logit = self.multi_class == "softmax", self.link == "logit"
        return self

    def _set_classes(self, y: NDArray, weights: Array | None) -> NDArray[np.intp]:
        """Set the classes; return the number of that of each row."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes; got 1 class, "
                f"{self.classes_.tolist()[0]!r}. Check y"
                + ("." if weights is None else ", in the rows of positive sample_weight.")
            )
        return codes

    def _observe(
        self,
        groups: Sequence[Sequence[Bernoulli | Binomial]],
        numbers: NDArray[np.intp],
        y: NDArray,
        trials: Array | None,
        weights: Array | None,
    ) -> Observed:
        """Return the rows; successes and failures that are rows of their own make one."""
        log_base: float | Array = 0.0
        if trials is not None and self.link == "probit":
            log_base = log_binomial(y, trials - y + 1.0)
        per_row = {"sample_weight": weights, "trials": trials}
        return Observed(groups, numbers, y, per_row, log_base)

    def _likelihood_of_trials(
        self, y: Array, trials: Array, index: NDArray[np.intp] | None, weights: Array | None
    ) -> Bernoulli | Binomial:
        """Return the likelihood of numbers of successes."""
        if self.multi_class == "softmax":
            raise ValueError(
                "trials need a single latent function; got multi_class='softmax'. Use "
                "multi_class='one_vs_rest'."
            )
        if self.link == "logit":
            return Binomial(y, trials, latent_index=index, sample_weight=weights)
        # Successes and failures are rows of their own that stand for so many copies.
        signs = np.repeat([1.0, -1.0], len(y))
        copies = np.concatenate([y, trials - y]) * (1.0 if weights is None else np.tile(weights, 2))
        index = np.tile(np.arange(len(y)) if index is None else index, 2)
        return _LINKS[self.link](signs, latent_index=index, sample_weight=copies)

    def _likelihoods(self, codes: NDArray[np.intp], **options: Any) -> list[list[Bernoulli]]:
        """Return independent problems, each a list of coupled latent functions."""
        n_classes = len(self.classes_)
        signs = [np.where(codes == c, 1.0, -1.0) for c in range(n_classes)]
        if self.multi_class == "softmax":
            if self.link != "logit":
                raise ValueError(
                    f"multi_class='softmax' needs link='logit'; got link={self.link!r}. Use "
                    "multi_class='one_vs_rest' for the probit link."
                )
            return [[SoftmaxClass(s, n_classes, **options) for s in signs]]
        likelihood = _LINKS[self.link]
        if n_classes == 2:
            return [[likelihood(signs[1], **options)]]
        return [[likelihood(s, **options)] for s in signs]

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
        functions = self._posterior_draws()
        probabilities = np.empty((len(X), len(self.classes_)))
        for chunk in zip(*(draws.chunks(X) for draws in functions), strict=True):
            rows = chunk[0][0]
            if self._is_softmax:
                probabilities[rows] = _mean_softmax(chunk)
                continue
            columns = [
                self._likelihood.success_probability(mean, variance).mean(axis=0)
                for _, mean, variance in chunk
            ]
            if len(columns) == 1:
                columns = [1.0 - columns[0], columns[0]]
            probabilities[rows] = np.column_stack(columns)
            vanished = probabilities[rows].sum(axis=1) == 0.0
            if vanished.any():  # every class is next to impossible: by logarithms, at the means
                latent = np.column_stack([mean.mean(axis=0) for _, mean, _ in chunk])
                probabilities[rows][vanished] = self._shares(latent[vanished], axis=1)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

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
        parts = []
        for chunk in zip(*(draws.chunks(X) for draws in self._posterior_draws()), strict=True):
            if len(chunk) == 1:
                _, mean, variance = chunk[0]
                parts.append(self._likelihood.link(normal_quantiles(mean, variance, quantiles)))
            else:
                parts.append(self._class_quantiles(chunk, quantiles))
        return np.concatenate(parts)

    def _class_quantiles(self, chunk: Any, quantiles: Array) -> Array:
        """Return quantiles over latent values on fixed nodes, all draws together."""
        mean, variance = (np.array([part[i] for part in chunk]) for i in (1, 2))
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


def _mean_softmax(chunk: Any) -> Array:
    """Return the softmax averaged over the draws, each with its own block of nodes."""
    mean, variance = (np.array([part[i] for part in chunk]) for i in (1, 2))
    n_classes, n_draws, _ = mean.shape
    total = sum(
        softmax_probabilities(
            mean[:, d], variance[:, d], normal_nodes(_N_SOFTMAX_NODES, n_classes, d)
        )
        for d in range(n_draws)
    )
    return np.asarray(total) / n_draws


def check_successes(y: Any, trials: Any) -> tuple[Array, Array]:
    """Return numbers of successes and of trials; raise a ValueError that names a bad row."""
    y = check_counts(y, hint="")
    return y, check_trials(number_per_row("trials", trials, len(y), zero=False), y)
