"""Regression: the estimator and its fit."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.gaussian_process.kernels import Kernel, WhiteKernel
from sklearn.utils._param_validation import Interval, StrOptions

from .._covariance import split_white_noise
from .._linalg import Array
from ..priors._data_scaled import FEATURE_FACTOR, DataScaledPriors, default_kernel
from ._auto import default_smoothness
from ._base import keeps_fitted
from ._documentation import with_shared_documentation
from ._inputs import (
    check_sample_weight,
    check_y,
    drop_weightless,
    share_latents,
    warn_of_shares,
)
from ._public_methods import with_own_methods
from ._target_predictions import TargetPredictions
from ._targets import (
    DEFAULT_ALPHA,
    Given,
    check_targets,
    known_noise,
    noise_likelihood,
    typical_variance,
    warn_of_offset,
)
from ._training_rows import Observed

_NORMALISED_DECIMALS = 12
# The noise's typical share of the variance of y, where its level has the default prior.
_NOISE_SHARE = 0.1


@with_own_methods({})
@with_shared_documentation
class MCMCGaussianProcessRegressor(TargetPredictions):
    """Gaussian process regression that integrates out the kernel's hyperparameters.

    The hyperparameters are sampled from their posterior by Markov chain Monte Carlo [1]_.
    Predictions average over the draws. With Gaussian noise the latent function is integrated out
    exactly. With Student-t noise it is sampled too.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. A
        `WhiteKernel` that is added to the rest is the noise of new observations. None is
        a constant times a Matern kernel with nu=2.5 (with inducing points a squared
        exponential) with a length scale for each column, plus white noise, scaled to the data.
    alpha : float or array-like of shape (n_samples,), default=1e-10
        Known variance of the noise of each training observation, in addition to the kernel's white
        noise. Its units are those in which the model is fitted (see `normalize_y`). As in
        scikit-learn it is not part of the noise of new observations. The default means that there
        is none. Searches and cross-validation slice only X and y: use the argument `noise_variance`
        of `fit` for them.
    normalize_y : bool, default=False
        Whether to fit y with its mean removed and its standard deviation set to 1.
    likelihood : {"gaussian", "student-t"}, default="gaussian"
        Distribution of the noise. Student-t noise is for data with outliers. Its squared scale is
        the level of the white noise plus alpha.
    degrees_of_freedom : float or None, default=4.0
        Of Student-t noise. If it is None, it is a hyperparameter of this name.
    mean : {"zero", "constant"}, default="zero"
        Prior mean of the latent function. A constant one is a further hyperparameter,
        named ``"mean"``, with a normal prior around the mean of y.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"marginal"`` (nothing; ``"auto"`` for
        Gaussian noise), ``"collapsed"`` (auxiliary variables; only for Student-t noise),
        ``"surr-site"``, ``"surr-taylor"``, ``"surr-ep"``, ``"post-site"``, ``"post-taylor"``,
        ``"post-ep"``, ``"prior-white"``, ``"fixed"``, or the variance of constant surrogate noise.
    hyperparameter_update : "auto", "slice", "hmc" or callable, default="auto"
        How the hyperparameters move. ``"slice"`` is slice sampling of one hyperparameter after the
        other. ``"hmc"`` is Hamiltonian Monte Carlo, for the representations "marginal" and
        "collapsed", and kernels that have a gradient; a chain whose trajectories fail in the
        warm-up continues with slice sampling. A callable is a Metropolis-Hastings proposal: it
        takes the vector theta and a random generator, and returns the proposed vector and log
        q(old; new) - log q(new; old). ``"auto"`` is ``"hmc"`` for these representations if the
        kernel is a constant times a squared exponential or Matern kernel, also with white noise,
        and has 3 hyperparameters or more. Otherwise it is ``"slice"``.
    %(points)s
    n_latent_updates : int, default=10
        Elliptical slice updates of the latent function in each iteration.
    priors : dict, default=None
        Name of a hyperparameter, as in ``kernel.hyperparameters`` or ``"mean"`` -> frozen
        scipy.stats distribution on the natural scale, or a list of one for each element. The prior
        of one element has the name that `summary` shows, ``"k1__k2__length_scale[2]"``, or
        ``"k1__k2__length_scale[bmi]"`` if columns have names. It replaces the vector's prior for
        this element. Hyperparameters without a prior are log-uniform between bounds that you set.
        Without such bounds the prior is weakly informative and scaled to the data: log-normal;
        normal for the mean, 2 plus a gamma variable for the degrees of freedom.
    %(chains)s
    n_jobs : int, default=None
        How many chains run at the same time. The draws do not depend on it. Predictions use as many
        threads.
    %(random_state)s

    Attributes
    ----------
    priors_ : PriorTable
        A read-only dictionary: name of a hyperparameter -> tuple with the prior of each element. A
        prior is a frozen scipy.stats distribution on the natural scale. In the model it is also cut
        to the bounds that the kernel sets. It prints as a table of families, medians, 90 % ranges
        and origins.
    posterior_ : dict
        Name of a hyperparameter -> draws on the natural scale, shape
        (n_chains, n_draws), or (n_chains, n_draws, size).
    diagnostics_ : SummaryTable
        A dictionary: name of a quantity -> mean, sd, mcse, ess_bulk, ess_tail, rhat. These are the
        numbers of `summary`, without quantiles. Elements of vectors have numbers, and not names of
        columns.
    trace_ : Trace
        All draws and costs.
    kernel_ : kernel instance
        The kernel at the posterior median, for reading only.
    X_train_ : array-like of shape (n_latent, n_features)
        Distinct training inputs, sorted.
    has_known_noise_ : bool
        Whether `fit` was given the noise of rows, as `noise_variance` or `alpha`. Predictions of
        new observations do not include this noise.
    %(fit)s

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc import MCMCGaussianProcessRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30)
    >>> model = MCMCGaussianProcessRegressor(n_warmup=100, n_draws=200, random_state=0)
    >>> mean, std = model.fit(X, y).predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.2)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **TargetPredictions._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "normalize_y": ["boolean"],
        "likelihood": [StrOptions({"gaussian", "student-t"})],
        "degrees_of_freedom": [None, Interval(Real, 0.1, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alpha: Any = DEFAULT_ALPHA,
        normalize_y: bool = False,
        likelihood: str = "gaussian",
        degrees_of_freedom: float | None = 4.0,
        mean: str = "zero",
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
        self.alpha = alpha
        self.normalize_y = normalize_y
        self.likelihood = likelihood
        self.degrees_of_freedom = degrees_of_freedom
        self.mean = mean
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
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> MCMCGaussianProcessRegressor:
        """Sample the posterior given training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. If the kernel takes objects, a list of them.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 to 1e12. A whole number acts like that many copies of the row.
        noise_variance : float or array-like of shape (n_samples,), default=None
            Known variance of the noise of each observation, in addition to the kernel's white
            noise. Its units are those of y squared (also with `normalize_y`). It replaces `alpha`,
            and cross-validation slices it together with the rows: see `set_fit_request`.

        Returns
        -------
        self : MCMCGaussianProcessRegressor
            Fitted estimator.

        Raises
        ------
        ValueError
            If input is not finite, is masked or has the wrong shape, if priors do not fit the
            kernel, if there are more rows than `memory_limit` allows, or if both `noise_variance`
            and `alpha` are given.
        TypeError
            If X has dates, or if it has no values in memory, as lazy frames.

        Warns
        -----
        ConvergenceWarning
            If R-hat or the effective sample size of a quantity says that the chains
            are too short.
        UserWarning
            If all weights are far below 1, or sum to 1, because weights are numbers of copies of
            rows. And, with the default kernel, mean="zero" and normalize_y=False, if the mean of y
            is more than 10 times its standard deviation.
        """
        check_y(y, exact=True)
        X, y = self._validate_training(X, y)
        y = check_targets(y)
        noise = known_noise(self.alpha, noise_variance, len(y))
        none = DEFAULT_ALPHA if noise_variance is None else 0.0
        self.has_known_noise_ = bool((noise > none).any())
        weights = check_sample_weight(sample_weight, len(y))
        numbers = np.arange(len(y))
        weights, (X, y, noise, numbers) = drop_weightless(weights, X, y, noise, numbers)
        warn_of_shares(weights)
        given, y = y, self._scale_targets(y, weights)
        if self.kernel is None and self.mean == "zero":  # a kernel may have an offset of its own
            warn_of_offset(y, weights)
        variance = typical_variance(y, weights, centred=self.mean == "constant")
        kernel = self._default_kernel(X, variance) if self.kernel is None else self.kernel
        split = split_white_noise(kernel)
        self.X_train_, index = share_latents(X, split.latent)
        self._noise_is_given = noise_variance is not None
        likelihood, specs = noise_likelihood(
            y,
            self._in_units_of_the_model(noise, variance),
            split,
            given=self._given_noise(noise),
            kind=self.likelihood,
            degrees_of_freedom=self.degrees_of_freedom,
            latent_index=index,
            sample_weight=weights,
        )
        centre = float(np.average(y, weights=weights))
        defaults = DataScaledPriors(
            split.latent,
            self.X_train_,
            variance,
            noise_level=_NOISE_SHARE * variance,
            ard_factor=FEATURE_FACTOR,
            mean=(centre, np.sqrt(variance)),
            bounds_are_set=self.kernel is not None,
            names=split.names,
            likelihood=likelihood,
        )
        self._observed = Observed(
            [[likelihood]],
            numbers,
            given,
            {
                "sample_weight": weights,
                "noise_variance": noise if self._noise_is_given else None,
            },
            log_base=-np.log(self._y_scale),
            location=self._y_mean,
            scale=self._y_scale,
        )
        self._split = split
        self._sample(
            split.latent,
            [[likelihood]],
            defaults=defaults,
            names=split.names,
            parameter_specs=specs,
        )
        self.kernel_ = self._whole_kernel(kernel)
        return self

    def _in_units_of_the_model(self, noise: Array, variance: float) -> Array:
        """Return known noise; the default alpha, which stands for none, in the units of y."""
        if self._noise_is_given:
            return noise / self._y_scale**2
        return noise * min(1.0, variance) if self._alpha_is_default() else noise

    def _given_noise(self, noise: Array) -> Given:
        """Return known noise under the name, and in the units, of what users gave."""
        if self._noise_is_given:
            return Given("noise_variance", noise, self._y_scale**2)
        return Given("alpha", noise, 1.0)

    def _alpha_is_default(self) -> bool:
        return np.ndim(self.alpha) == 0 and self.alpha == DEFAULT_ALPHA

    def _scale_targets(self, y: Array, weights: Array | None) -> Array:
        """Set the units in which the model is fitted; return y in them."""
        self._y_mean, self._y_scale = 0.0, 1.0
        if self.normalize_y:
            self._y_mean = float(np.average(y, weights=weights))
            variance = np.average((y - self._y_mean) ** 2, weights=weights)
            self._y_scale = float(np.sqrt(variance)) or 1.0
        y = (y - self._y_mean) / self._y_scale
        # Rounding errors of the units would otherwise make other draws.
        return np.round(y, _NORMALISED_DECIMALS) if self.normalize_y else y

    def _not_sampled(self) -> dict[str, str]:
        reasons = super()._not_sampled()
        if self.likelihood == "gaussian" or self.degrees_of_freedom is not None:
            reasons["degrees_of_freedom"] = (
                f"likelihood={self.likelihood!r}, degrees_of_freedom={self.degrees_of_freedom!r}. "
                "Set likelihood='student-t' and degrees_of_freedom=None, or drop the prior"
            )
        return reasons

    def _advice(self) -> str:
        has_noise = self._noise_is_given or not self._alpha_is_default()
        if self._split.noise is not None or has_noise:
            return ""
        return (
            " The kernel has no WhiteKernel and alpha is its default: y is taken as free of "
            "noise. If it is not, add a WhiteKernel to the kernel, set alpha, or pass "
            "noise_variance to fit."
        )

    def _whole_kernel(self, kernel: Kernel) -> Kernel:
        """Return the kernel with its noise, at the posterior median."""
        medians = {
            name: np.median(draws.reshape(-1, *draws.shape[2:]), axis=0)
            for name, draws in self.posterior_.items()
        }
        free = [h.name for h in kernel.hyperparameters if not h.fixed]
        theta = [np.log(np.atleast_1d(medians[name])) for name in free]
        return kernel.clone_with_theta(np.concatenate(theta) if theta else np.empty(0))

    def _default_kernel(self, X: Array, variance: float) -> Kernel:
        """Return the default kernel with noise, whose bounds state no opinion."""
        distinct = np.unique(X, axis=0)
        level = _NOISE_SHARE * variance
        white = WhiteKernel(level, (1e-5 * level, 1e5 * level))
        nu = default_smoothness(self.n_inducing, distinct)
        return default_kernel(distinct, variance, nu) + white
