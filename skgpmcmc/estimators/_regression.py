"""Regression."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.gaussian_process.kernels import Kernel, WhiteKernel
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length

from .._covariance import NoiseSplit, split_white_noise
from .._linalg import Array
from ..likelihoods import Gaussian, Likelihood, StudentT
from ..likelihoods._validation import as_floats, check_rows
from ..priors import HyperparameterSpec
from ._base import (
    BaseMCMCGaussianProcess,
    check_one_spread,
    keeps_fitted,
    latent_covariance,
    latent_moments,
)
from ._defaults import FEATURE_FACTOR, DataScaledPriors, default_kernel
from ._inputs import (
    as_random_state,
    check_quantiles,
    check_sample_weight,
    drop_weightless,
    interval_ends,
    number_per_row,
    share_latents,
)
from ._mixtures import log_mean_exp, normal_log_density, normal_quantiles
from ._observed import Observed
from ._prediction import PosteriorDraws, check_covariance_memory, sample_latent, spread
from ._student_t_mixtures import student_t_log_density, student_t_quantiles

_NORMALISED_DECIMALS = 12
# The noise's typical share of the variance of y, where its level has the default prior.
_NOISE_SHARE = 0.1
# Of the variance of y: noise below it is not meant as noise.
_NO_NOISE = 1e-6
_DEFAULT_ALPHA = 1e-10
# Squares of larger targets overflow, of smaller ones underflow.
_LARGEST_TARGET = 1e100


class MCMCGaussianProcessRegressor(RegressorMixin, BaseMCMCGaussianProcess):
    """Gaussian process regression, the kernel's hyperparameters integrated out.

    The hyperparameters are sampled from their posterior by Markov chain Monte Carlo
    [1]_, and predictions average over the draws. With Gaussian noise the latent
    function is integrated out exactly; with Student-t noise it is sampled too.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. A
        `WhiteKernel` that is added to the rest is the noise of new observations. None is
        a constant times a squared exponential with a length scale for each column,
        plus white noise, scaled to the data.
    alpha : float or array-like of shape (n_samples,), default=1e-10
        Known variance of the noise of each training observation, in the units in which
        the model is fitted (see `normalize_y`), beside the kernel's white noise. As in
        scikit-learn it is not part of the noise of new observations. The default
        stands for none.
    normalize_y : bool, default=False
        Whether to fit y with its mean removed and its standard deviation set to 1.
    likelihood : {"gaussian", "student-t"}, default="gaussian"
        Noise. Student-t noise, for outliers, has the white noise's level, plus alpha, as its
        squared scale.
    degrees_of_freedom : float or None, default=4.0
        Of Student-t noise; None makes it a hyperparameter of this name.
    mean : {"zero", "constant"}, default="zero"
        Prior mean of the latent function. A constant one is a further hyperparameter,
        named ``"mean"``, with a normal prior around the mean of y.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"marginal"`` (nothing; what
        ``"auto"`` means for Gaussian noise), ``"collapsed"`` (auxiliary variables; for
        Student-t noise), ``"surr-site"``, ``"surr-taylor"``, ``"surr-ep"``,
        ``"post-site"``, ``"post-taylor"``, ``"post-ep"``, ``"prior-white"``, ``"fixed"``, or
        the variance of constant surrogate noise.
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
    priors_ : dict
        Name of a hyperparameter -> list of the prior of each element, a frozen scipy.stats
        distribution on the natural scale (also cut to bounds that the kernel sets).
    posterior_ : dict
        Name of a hyperparameter -> draws on the natural scale, shape
        (n_chains, n_draws), or (n_chains, n_draws, size).
    diagnostics_ : dict
        Name of a quantity -> mean, sd, mcse, ess_bulk, ess_tail, rhat.
    trace_ : Trace
        All draws and costs.
    kernel_ : kernel instance
        The kernel at the posterior median, for reading only.
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
        **BaseMCMCGaussianProcess._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "normalize_y": ["boolean"],
        "likelihood": [StrOptions({"gaussian", "student-t"})],
        "degrees_of_freedom": [None, Interval(Real, 0.1, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alpha: Any = _DEFAULT_ALPHA,
        normalize_y: bool = False,
        likelihood: str = "gaussian",
        degrees_of_freedom: float | None = 4.0,
        mean: str = "zero",
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
        self.alpha = alpha
        self.normalize_y = normalize_y
        self.likelihood = likelihood
        self.degrees_of_freedom = degrees_of_freedom
        self.mean = mean
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MCMCGaussianProcessRegressor:
        """Sample the posterior given training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; a list of objects if the kernel takes these.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 to 1e12. A whole number acts like that many copies of the row.

        Returns
        -------
        self : MCMCGaussianProcessRegressor
            Fitted estimator.

        Raises
        ------
        ValueError
            For input that is not finite or of the wrong shape, priors that do not fit
            the kernel, and more rows than `memory_limit` allows.

        Warns
        -----
        ConvergenceWarning
            If R-hat or the effective sample size of a quantity says that the chains
            are too short.
        """
        X, y = self._validate_inputs(X, y=y, reset=True, copy=self.copy_X_train)
        y = check_targets(y)
        alpha = number_per_row("alpha", self.alpha, len(y), zero=True)
        weights = check_sample_weight(sample_weight, len(y))
        numbers = np.arange(len(y))
        weights, (X, y, alpha, numbers) = drop_weightless(weights, X, y, alpha, numbers)
        given = y
        self._set_scale(y, weights)
        y = (y - self._y_mean) / self._y_scale
        if self.normalize_y:
            # Rounding errors of the units would otherwise make other draws.
            y = np.round(y, _NORMALISED_DECIMALS)
        variance = _typical_variance(y, weights, centred=self.mean == "constant")
        alpha = self._known_noise(alpha, variance)
        kernel = self.kernel
        if kernel is None:
            kernel = default_kernel(np.unique(X, axis=0), variance)
            kernel = kernel + WhiteKernel(_NOISE_SHARE * variance, _wide(_NOISE_SHARE * variance))
        split = split_white_noise(kernel)
        self.X_train_, index = share_latents(X, split.latent)
        options = {"latent_index": index, "sample_weight": weights}
        self._noise_likelihood, specs = self._make_likelihood(y, alpha, split, options)
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
        )
        self._observed = Observed(
            [[self._noise_likelihood]],
            numbers,
            given,
            {"sample_weight": weights},
            log_base=-np.log(self._y_scale),
            location=self._y_mean,
            scale=self._y_scale,
        )
        self._split = split
        # Parameters may be set anew after fit; predictions are of what was fitted.
        self._is_gaussian, self._fixed_nu = self.likelihood == "gaussian", self.degrees_of_freedom
        self._sample(
            split.latent,
            [[self._noise_likelihood]],
            defaults=defaults,
            names=split.names,
            parameter_specs=specs,
        )
        self.kernel_ = self._whole_kernel(kernel)
        return self

    def _known_noise(self, alpha: Array, variance: float) -> Array:
        """Return alpha; its default, which stands for no noise, in the units of y."""
        return alpha * min(1.0, variance) if self._alpha_is_default() else alpha

    def _alpha_is_default(self) -> bool:
        return np.ndim(self.alpha) == 0 and self.alpha == _DEFAULT_ALPHA

    def _set_scale(self, y: Array, weights: Array | None) -> None:
        """Set what is subtracted from y, and what it is divided by."""
        self._y_mean, self._y_scale = 0.0, 1.0
        if self.normalize_y:
            self._y_mean = float(np.average(y, weights=weights))
            variance = np.average((y - self._y_mean) ** 2, weights=weights)
            self._y_scale = float(np.sqrt(variance)) or 1.0

    def _make_likelihood(
        self, y: Array, alpha: Array, split: NoiseSplit, options: dict[str, Any]
    ) -> tuple[Likelihood, list[HyperparameterSpec]]:
        """Return the likelihood, and what its parameters go by."""
        noise = split.noise
        sampled = noise is not None and not noise.hyperparameter_noise_level.fixed
        fixed = None
        if not sampled:
            fixed = alpha + (0.0 if noise is None else noise.noise_level)
            what = "positive where the kernel has no WhiteKernel, or one fixed at zero"
            check_rows(fixed, fixed > 0.0, "alpha", what)
            if self.likelihood == "student-t" and fixed.max() < _NO_NOISE * max(y.var(), 1e-300):
                raise ValueError(
                    "likelihood='student-t' takes its squared scale from the kernel's WhiteKernel "
                    "and alpha; the kernel has no WhiteKernel, and alpha is at most "
                    f"{fixed.max():.3g}. Add a WhiteKernel to the kernel, or set alpha."
                )
        known = alpha if sampled else 0.0
        specs = []
        if sampled:
            bounds = noise.hyperparameter_noise_level.bounds  # type: ignore[union-attr]
            specs.append(HyperparameterSpec(split.noise_name, 1, True, bounds))
        if self.likelihood == "gaussian":
            return Gaussian(y, fixed, known_variance=known, **options), specs
        if self.degrees_of_freedom is None:
            specs.append(HyperparameterSpec("degrees_of_freedom", 1, True, None))
        nu = self.degrees_of_freedom
        return StudentT(y, fixed, nu, known_variance=known, **options), specs

    def _not_sampled(self) -> dict[str, str]:
        reasons = super()._not_sampled()
        if self.likelihood == "gaussian" or self.degrees_of_freedom is not None:
            reasons["degrees_of_freedom"] = (
                f"likelihood={self.likelihood!r}, degrees_of_freedom={self.degrees_of_freedom!r}. "
                "Set likelihood='student-t' and degrees_of_freedom=None, or drop the prior"
            )
        return reasons

    def _advice(self) -> str:
        if self._split.noise is not None or not self._alpha_is_default():
            return ""
        return (
            " The kernel has no WhiteKernel and alpha is its default: y is taken as free of "
            "noise. If it is not, add a WhiteKernel to the kernel, or give alpha."
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

    def _all_posterior_draws(self) -> list[PosteriorDraws]:
        if not self._is_gaussian:
            return super()._all_posterior_draws()
        draws = PosteriorDraws.from_gaussian(
            self._latent_kernel,
            self.X_train_,
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
            if np.isinf(nu).all() or not level.any():
                values[rows] = normal_quantiles(mean, variance + level[:, None], quantiles)
            else:
                values[rows] = student_t_quantiles(mean, variance, level, nu, quantiles)
        return self._y_mean + self._y_scale * values

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """Return the logarithm of the predictive density of new observations.

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
        y = as_floats("y", column_or_1d(y))
        check_rows(y, np.isfinite(y), "y", "finite")
        check_consistent_length(X, y)
        scaled = (y - self._y_mean) / self._y_scale
        level, nu = self._noise()
        density = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            if np.isinf(nu).all() or not level.any():
                each = normal_log_density(scaled[rows], mean, variance + level[:, None])
            else:
                each = student_t_log_density(scaled[rows], mean, variance, level, nu)
            density[rows] = log_mean_exp(each)
        return density - np.log(self._y_scale)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw new observations from their predictive distribution, jointly over the rows.

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


def check_targets(y: Any) -> Array:
    """Return targets as floats; raise a ValueError for such whose squares are not."""
    y = as_floats("y", y)
    check_rows(y, np.isfinite(y), "y", "finite")
    largest = float(np.abs(y).max(initial=0.0))
    if not (largest == 0.0 or 1.0 / _LARGEST_TARGET < largest < _LARGEST_TARGET):
        raise ValueError(
            f"y must be zero, or its largest absolute value between {1.0 / _LARGEST_TARGET:g} and "
            f"{_LARGEST_TARGET:g}; got {largest:.3g}. Change its unit."
        )
    return y


def _typical_variance(y: Array, weights: Array | None, *, centred: bool) -> float:
    """Return the variance of y that the latent function has to account for; never zero."""
    centre = np.average(y, weights=weights) if centred else 0.0
    variance = float(np.average((y - centre) ** 2, weights=weights))
    return variance or 1.0


def _wide(value: float) -> tuple[float, float]:
    """Return bounds that state no opinion."""
    return 1e-5 * value, 1e5 * value
