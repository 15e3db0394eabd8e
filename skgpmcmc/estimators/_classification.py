"""Classification: the estimator and its fit."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils._param_validation import StrOptions

from .._covariance import CovarianceStructure
from .._linalg import Array
from ..likelihoods import Bernoulli, Binomial
from ..priors._data_scaled import FEATURE_FACTOR, DataScaledPriors, default_kernel
from ._auto import preferred_for_classes
from ._base import keeps_fitted
from ._class_likelihoods import (
    LINKS,
    check_classes,
    check_successes,
    likelihood_of_trials,
    likelihoods_of_labels,
    log_left_out,
)
from ._class_predictions import ClassPredictions
from ._documentation import with_shared_documentation
from ._inputs import (
    check_labels,
    check_sample_weight,
    check_y,
    drop_weightless,
    share_latents,
    warn_of_shares,
)
from ._public_methods import with_own_methods
from ._training_rows import Observed

# Typical variance of the latent function, and the log-sd of its prior. On the logit scale
# a standard deviation of 3 spreads probabilities over (0.003, 0.997); where classes hardly
# overlap it is ten times as much. The median is between the two.
_SIGNAL_VARIANCE, _SIGNAL_VARIANCE_SD = 32.0, 2.0
# Prior standard deviation of a constant mean of the latent function.
_MEAN_SD = 2.0


_SPREAD = (
    "predict_interval(X) gives intervals of the probabilities, and predict_latent(X, "
    "return_std=True) the standard deviation of the latent function."
)
_OF_ONE_TRIAL = (
    "Probabilities are those of success in one trial: predict_proba(X)[:, 1] * trials is the "
    "expected number of successes."
)
_HINTS = {
    "predict": {"return_std": _SPREAD, "trials": _OF_ONE_TRIAL},
    "predict_proba": {"return_std": _SPREAD, "trials": _OF_ONE_TRIAL},
}


@with_own_methods(_HINTS)
@with_shared_documentation
class MCMCGaussianProcessClassifier(ClassPredictions):
    """Gaussian process classification that integrates out the kernel's hyperparameters.

    The latent function and the hyperparameters are sampled from their joint posterior by Markov
    chain Monte Carlo [1]_. Predictions average over the draws.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. None is a
        constant times a squared exponential with a length scale for each column,
        scaled to the data.
    link : {"logit", "probit"}, default="logit"
        Function from the latent value to the probability.
    mean : {"zero", "constant"}, default="zero"
        Prior mean of the latent function. A constant one is a further hyperparameter,
        named ``"mean"``, with a normal prior of standard deviation 2.
    multi_class : {"one_vs_rest", "softmax"}, default="one_vs_rest"
        What to do with more than two classes. ``"one_vs_rest"`` has a binary model of each class
        against the others, and normalises the probabilities. ``"softmax"`` is one joint model, also
        for two classes. It has a latent function and hyperparameters for each class, and needs the
        logit link.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"collapsed"`` (auxiliary variables,
        with the latent function integrated out), ``"post-ep"``, ``"surr-ep"``, ``"surr-site"``,
        ``"post-site"``, ``"prior-white"``, ``"fixed"``, or the variance of constant surrogate
        noise. With inducing points there is ``"joint-ep"`` too: nothing is held fixed, and the
        latent function moves together with the hyperparameters. ``"auto"`` is ``"joint-ep"`` if
        there are inducing points, the kernel is one of those of ``hyperparameter_update="auto"``,
        and `multi_class` is not softmax. If not, it is ``"collapsed"`` for softmax, and if
        `hyperparameter_update` is ``"hmc"``. If not, it is ``"post-ep"`` if the kernel has at most
        4 hyperparameters (9 with the probit link), or if the link is probit and `sample_weight` is
        not whole numbers. Otherwise it is ``"collapsed"``.
    hyperparameter_update : "auto", "slice", "hmc" or callable, default="auto"
        How the hyperparameters move. ``"slice"`` is slice sampling of one hyperparameter after the
        other. ``"hmc"`` is Hamiltonian Monte Carlo, for the representations "collapsed" and
        "joint-ep" (which always uses it), and kernels that have a gradient; a chain whose
        trajectories fail in the warm-up continues with slice sampling. A callable is a
        Metropolis-Hastings proposal: it takes the vector theta and a random generator, and returns
        the proposed vector and log q(old; new) - log q(new; old). ``"auto"`` is ``"hmc"`` for these
        representations if the kernel is a constant times a squared exponential or Matern kernel,
        also with white noise, and has 3 hyperparameters or more. Otherwise it is ``"slice"``.
    %(points)s
    n_latent_updates : int, default=10
        Elliptical slice updates of the latent function in each iteration.
    priors : dict, default=None
        Name of a hyperparameter, as in ``kernel.hyperparameters`` or ``"mean"`` -> frozen
        scipy.stats distribution on the natural scale, or a list of one for each element. The prior
        of one element has the name that `summary` shows, ``"k2__length_scale[2]"``, or
        ``"k2__length_scale[bmi]"`` if columns have names. It replaces the vector's prior for this
        element. Hyperparameters without a prior are log-uniform between bounds that you set.
        Without such bounds the prior is weakly informative and scaled to the data: log-normal;
        normal for the mean.
    %(chains)s
    n_jobs : int, default=None
        How many chains run at the same time. The draws do not depend on it. Predictions use as many
        threads.
    %(random_state)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_classes_ : int
        Number of classes.
    priors_ : PriorTable
        A read-only dictionary: name of a hyperparameter -> tuple with the prior of each element. A
        prior is a frozen scipy.stats distribution on the natural scale. In the model it is also cut
        to the bounds that the kernel sets. It prints as a table of families, medians, 90 % ranges
        and origins.
    posterior_ : dict
        Name of a hyperparameter -> draws on the natural scale, shape
        (n_chains, n_draws), or (n_chains, n_draws, size). With several latent functions
        there is an axis for them, shape (n_chains, n_draws, n_classes[, size]).
    diagnostics_ : SummaryTable
        A dictionary: name of a quantity -> mean, sd, mcse, ess_bulk, ess_tail, rhat. These are the
        numbers of `summary`, without quantiles. Elements of vectors have numbers, and not names of
        columns. With several latent functions the names begin with the class, as in
        ``"setosa: mean"``.
    trace_ : Trace, or list of Trace
        All draws and costs. For several latent functions there is one for each.
    kernel_ : kernel instance
        The kernel at the posterior median, for reading only; a `CompoundKernel` for
        several latent functions.
    X_train_ : array-like of shape (n_latent, n_features)
        Distinct training inputs, sorted.
    %(fit)s

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

    _parameter_constraints: ClassVar[dict] = {
        **ClassPredictions._parameter_constraints,
        "link": [StrOptions(set(LINKS))],
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
        n_inducing: Any = "auto",
        n_latent_updates: int = 10,
        priors: dict | None = None,
        n_chains: int = 4,
        n_warmup: int = 250,
        n_draws: int = 1000,
        min_ess: float | None = 100.0,
        max_rhat: float | None = 1.05,
        max_seconds: float | None = None,
        thin: int = 1,
        max_prediction_draws: int | None = None,
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
        self.n_inducing = n_inducing
        self.n_latent_updates = n_latent_updates
        self.priors = priors
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.min_ess = min_ess
        self.max_rhat = max_rhat
        self.max_seconds = max_seconds
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
            Inputs. If the kernel takes objects, a list of them.
        y : array-like of shape (n_samples,)
            Class labels, or with `trials` the number of successes of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 to 1e12. A whole number acts like that many copies of the row.
        trials : int or array-like of shape (n_samples,), default=None
            Number of trials of each row, at least 1. The number of successes is then binomial. The
            classes are 0 (failure) and 1 (success).

        Returns
        -------
        self : MCMCGaussianProcessClassifier
            Fitted estimator.

        Raises
        ------
        ValueError
            If input is not finite, is masked or has the wrong shape, if there is only one class, if
            numbers of successes or trials are impossible, if priors do not fit the kernel, or if
            there are more rows than `memory_limit` allows.
        TypeError
            If X has dates, or if it has no values in memory, as lazy frames.

        Warns
        -----
        ConvergenceWarning
            If R-hat or the effective sample size of a quantity says that the chains
            are too short.
        UserWarning
            If all weights are far below 1, or sum to 1, because weights are numbers of copies of
            rows. If there are more than 20 rows, and more than half of them have classes of their
            own, because y may be numbers of successes.
        """
        if trials is None:
            check_labels(y)
        else:
            check_y(y, exact=True)
        X, y = self._validate_training(X, y)
        weights = check_sample_weight(sample_weight, len(y))
        numbers = np.arange(len(y))
        model = {"link": self.link, "multi_class": self.multi_class}
        groups: Sequence[Sequence[Bernoulli | Binomial]]
        if trials is None:
            check_classes(y)
            weights, (X, y, numbers) = drop_weightless(weights, X, y, numbers)
            codes = self._set_classes(y, weights)
            self.X_train_, index = share_latents(X, self.kernel)
            groups = likelihoods_of_labels(
                codes, self.n_classes_, **model, latent_index=index, sample_weight=weights
            )
        else:
            y, trials = check_successes(y, trials)
            weights, (X, y, trials, numbers) = drop_weightless(weights, X, y, trials, numbers)
            self.classes_, self.n_classes_ = np.array([0, 1]), 2
            self.X_train_, index = share_latents(X, self.kernel)
            groups = [[likelihood_of_trials(y, trials, index, weights, **model)]]
        warn_of_shares(weights)
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
        per_row = {"sample_weight": weights, "trials": trials}
        self._observed = Observed(groups, numbers, y, per_row, log_left_out(y, trials, self.link))
        self._sample(kernel, groups, defaults=defaults)
        return self

    def _preferred_representations(
        self, kernel: Kernel, structure: CovarianceStructure
    ) -> tuple[str, ...]:
        return preferred_for_classes(kernel.n_dims, self.link, self.multi_class, structure)

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
