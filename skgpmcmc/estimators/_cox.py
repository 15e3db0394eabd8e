"""Cox processes: counts with a log-Gaussian rate."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import RegressorMixin, _fit_context
from sklearn.gaussian_process.kernels import Kernel
from sklearn.metrics import mean_poisson_deviance
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length

from .._grid import Grid
from .._linalg import Array
from ..likelihoods import Likelihood, NegativeBinomial, Poisson
from ..likelihoods._validation import check_counts, check_rows
from ..priors import HyperparameterSpec
from ._base import BaseMCMCGaussianProcess, keeps_fitted
from ._counts import poisson_log_pmf, poisson_quantiles
from ._defaults import DataScaledPriors, default_kernel
from ._grids import training_grid
from ._inputs import (
    as_random_state,
    check_quantiles,
    check_sample_weight,
    drop_weightless,
    interval_ends,
    number_per_row,
    share_latents,
)
from ._logistic_counts import negative_binomial_log_pmf, negative_binomial_quantiles
from ._mixtures import log_mean_exp, normal_quantiles
from ._observed import Observed
from ._prediction import sample_latent, spread

# Of the log rate. The tail of the variance v must be lighter than exp(-v / 2), or the
# mean rate where there are no data, E exp(f), would be infinite.
_SIGNAL_VARIANCE_PRIOR = stats.gamma(1.5, scale=1.5)
# The square of a half-normal variable of scale 1, the coefficient of variation of rates: much
# dispersion is unlikely, and none, Poisson's, is not far away.
_DISPERSION_PRIOR = stats.gamma(0.5, scale=2.0)
# Counts cannot tell less dispersion from none.
_SMALLEST_DISPERSION = 1e-15
# Of the prior of the mean log rate, around that of a constant rate.
_MEAN_SD = 2.0
# Of the overall rate and its reciprocal, and of weighted counts: more ends in overflow.
_LARGEST_UNIT = 1e100
_LARGEST_WEIGHTED_COUNT = 1e16
# exp() of more than that over- or underflows.
_LARGEST_LOG_RATE = 700.0
# The sum of weighted deviances from larger ones, or smaller than the reciprocal, would overflow.
_LARGEST_EXPECTATION = 1e280
# Poisson draws of numpy end here.
_LARGEST_RATE = 9e18


class MCMCCoxProcessRegressor(RegressorMixin, BaseMCMCGaussianProcess):
    """Counts whose log rate is a Gaussian process, hyperparameters integrated out.

    ``y ~ Poisson(exposure * exp(f))``: a log-Gaussian Cox process on a grid, or Poisson
    regression with a Gaussian process; or counts of that mean that vary more, negative
    binomial ones. The latent log rate and the hyperparameters are sampled from their joint
    posterior [1]_, and predictions average over the draws.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. None is a
        constant times a squared exponential with a length scale for each column,
        scaled to the data.
    likelihood : {"poisson", "negative-binomial"}, default="poisson"
        Negative binomial counts of mean mu have the variance ``mu + dispersion * mu^2``.
    dispersion : float or None, default=None
        Of negative binomial counts, from 1e-15 upwards. None makes it a hyperparameter of this
        name; by default the prior of its square root is half-normal with scale 1.
    mean : {"zero", "constant"}, default="constant"
        Prior mean of the log rate. The constant one is a hyperparameter, named ``"mean"``,
        with a normal prior around log(total count / total exposure), sd 2.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"post-ep"`` (what
        ``"auto"`` means, but for grids), ``"post-site"``, ``"post-taylor"``, ``"surr-ep"``,
        ``"surr-site"``, ``"surr-taylor"``, ``"prior-white"``, ``"fixed"``, the variance of
        constant surrogate noise; for negative binomial counts ``"collapsed"``: auxiliary
        variables, with the latent function integrated out; or, on grids, ``"joint-post"``:
        nothing, the latent function moves along with the hyperparameters. See Notes for grids.
    hyperparameter_update : "auto", "slice", "hmc" or callable, default="auto"
        Slice sampling of one hyperparameter after the other; Hamiltonian Monte Carlo, for the
        representations "joint-post" (always) and "collapsed" and kernels that have a
        gradient (``"auto"``: where they do and have 3 hyperparameters or more); or a
        Metropolis-Hastings proposal: a callable that takes the vector theta and a generator,
        and returns the proposed vector and log q(old; new) - log q(new; old).
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
        many threads, but for those from a grid.
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
        Distinct training inputs, sorted. On a grid (see Notes) all of its points: those without
        data too.
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

    Notes
    -----
    *Grids.* Where the rows, in any order, take up at least half of the points of a Cartesian grid
    with two or more axes, and the kernel is a constant times a squared exponential, the covariance
    is a Kronecker product: an iteration takes time proportional to n times the lengths of the
    axes, plus their cubes, and memory proportional to n, rather than n^3 and n^2. Points without
    data are latent variables without a likelihood; the trace's complete-data log likelihood
    counts their prior density too. Coordinates that differ by at most 1e-9 of their column's range,
    or by rounding, are the same. ``representation="auto"`` takes the grid where effective draws
    are sooner had on it: from 200 points on, unless the longest axis has more than a third as many
    coordinates as there are distinct rows (2 x 400 cells). It is then ``"joint-post"`` with
    Hamiltonian trajectories. With another `hyperparameter_update` it is ``"prior-white"``, which
    mixes slowly, from 2,000 points on; with ``"hmc"`` it is ``"joint-post"`` on any grid.
    ``"joint-post"``, ``"prior-white"``, ``"fixed"`` and a number use a grid of any size and
    shape, every other representation none.

    Only counts can be fitted, so that scikit-learn's tags do not call it a regressor of
    arbitrary targets; `score`, `GridSearchCV` and `cross_val_score` work as for one.

    Examples
    --------
    >>> from skgpmcmc import MCMCCoxProcessRegressor
    >>> from skgpmcmc.datasets import load_coal_mining
    >>> X, y = load_coal_mining(return_X_y=True)
    >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0)
    >>> early, late = model.fit(X, y).predict(X[[0, -1]])
    >>> bool(early > late)
    True
    """

    _representations = ("post-ep",)
    _parameter_constraints: ClassVar[dict] = {
        **BaseMCMCGaussianProcess._parameter_constraints,
        "likelihood": [StrOptions({"poisson", "negative-binomial"})],
        "dispersion": [None, Interval(Real, _SMALLEST_DISPERSION, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        likelihood: str = "poisson",
        dispersion: float | None = None,
        mean: str = "constant",
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
        self.likelihood = likelihood
        self.dispersion = dispersion
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = None  # see Notes
        tags.target_tags.positive_only = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    @keeps_fitted
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None
    ) -> MCMCCoxProcessRegressor:
        """Sample the posterior given counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, such as the centres of cells; a list of objects if the kernel takes these.
        y : array-like of shape (n_samples,)
            Counts: whole numbers, zero or larger.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 to 1e12. A whole number acts like that many copies of the row.
        exposure : float or array-like of shape (n_samples,), default=None
            Time, area or population in which the events were counted, positive; 1 by
            default.

        Returns
        -------
        self : MCMCCoxProcessRegressor
            Fitted estimator.

        Raises
        ------
        ValueError
            For input that is not finite or of the wrong shape, counts that are not whole
            numbers >= 0, exposures that are not positive, priors that do not fit the
            kernel, and more rows than `memory_limit` allows.

        Warns
        -----
        ConvergenceWarning
            If R-hat or the effective sample size of a quantity says that the chains
            are too short.
        """
        X, y = self._validate_inputs(X, y=y, reset=True, copy=self.copy_X_train)
        y = check_counts(y)
        exposure = check_exposure(exposure, len(y))
        weights = check_sample_weight(sample_weight, len(y))
        numbers = np.arange(len(y))
        weights, (X, y, exposure, numbers) = drop_weightless(weights, X, y, exposure, numbers)
        rate = check_rate(y, exposure, weights)
        distinct, index = share_latents(X, self.kernel)
        kernel = default_kernel(distinct) if self.kernel is None else self.kernel
        self.X_train_, index, grid = self._place_latents(distinct, index, kernel)
        options: dict[str, Any] = {
            "latent_index": index,
            "sample_weight": weights,
            "n_latent": len(self.X_train_),
        }
        # Parameters may be set anew after fit; predictions are of what was fitted.
        self._is_poisson = self.likelihood == "poisson"
        self._fixed_dispersion = None if self._is_poisson else self.dispersion
        likelihood: Likelihood = (
            Poisson(y, exposure, **options)
            if self._is_poisson
            else NegativeBinomial(y, exposure, self.dispersion, **options)
        )
        scaled = DataScaledPriors(
            kernel,
            distinct,
            _SIGNAL_VARIANCE_PRIOR.mean(),
            signal_variance_prior=_SIGNAL_VARIANCE_PRIOR,
            mean=(float(np.log(rate)), _MEAN_SD),
            bounds_are_set=self.kernel is not None,
        )

        def defaults(spec: HyperparameterSpec, element: int) -> Any:
            return _DISPERSION_PRIOR if spec.name == "dispersion" else scaled(spec, element)

        per_row = {"sample_weight": weights, "exposure": exposure}
        self._observed = Observed([[likelihood]], numbers, y, per_row)
        self._sample(kernel, [[likelihood]], defaults=defaults, grid=grid)
        return self

    def _place_latents(
        self, distinct: Any, index: NDArray[np.intp] | None, kernel: Kernel
    ) -> tuple[Any, NDArray[np.intp] | None, Grid | None]:
        """Return where the latent variables are, which one each row has, and on which grid.

        Parameters
        ----------
        distinct : array-like
            Distinct rows.
        index : ndarray of int of shape (n_samples,) or None
            Which of them each row is; None if all rows are to have latents of their own.
        kernel : Kernel
            Of the latent function.
        """
        if index is None:
            return distinct, None, None
        found = training_grid(self.representation, self.hyperparameter_update, kernel, distinct)
        if found is None:
            return distinct, index, None
        grid, places = found
        return grid.points(), places[index], grid

    def _not_sampled(self) -> dict[str, str]:
        reasons = super()._not_sampled()
        if self.likelihood == "poisson" or self.dispersion is not None:
            reasons["dispersion"] = (
                f"likelihood={self.likelihood!r}, dispersion={self.dispersion!r}. Set "
                "likelihood='negative-binomial' and dispersion=None, or drop the prior"
            )
        return reasons

    def _dispersions(self) -> Array:
        """Return the dispersion of each draw that predictions average over."""
        which = spread(self.trace_, self.max_prediction_draws)
        if self._fixed_dispersion is not None:
            return np.full(len(which), float(self._fixed_dispersion))
        draws = self.posterior_["dispersion"].reshape(-1)[which]
        return np.maximum(draws, _SMALLEST_DISPERSION)

    def predict(self, X: Any, exposure: Any = None) -> Array:
        """Return the posterior mean of the rate, or of the counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        rate : ndarray of shape (n_samples,)
            Events per unit of exposure, times `exposure`; infinity where that is too large for
            a float. Far from the data the posterior of a rate is skewed, and its mean far
            above its median; see `predict_interval`.
        """
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X))
        log_rate = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            log_rate[rows] = log_mean_exp(mean + 0.5 * variance)
        return _expected(log_rate, exposure)

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
        return _expected(ends, np.ones(1))

    def predict_quantiles(self, X: Any, quantiles: Any, exposure: Any = None) -> Array:
        """Return predictive quantiles of new counts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,)
            Probabilities in [0, 1].
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        counts : ndarray of shape (n_samples, n_quantiles)
            Whole numbers: the smallest count whose distribution function reaches the
            quantile; infinity for the quantile 1.
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        exposure = check_exposure(exposure, len(X))
        counts = np.empty((len(X), len(quantiles)))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            parts = mean, variance, exposure[rows]
            counts[rows] = (
                poisson_quantiles(*parts, quantiles)
                if self._is_poisson
                else negative_binomial_quantiles(*parts, self._dispersions(), quantiles)
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
            Positive; 1 by default.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
        """
        X = self._validate_new(X)
        y = check_counts(column_or_1d(y))
        check_consistent_length(X, y)
        exposure = check_exposure(exposure, len(X))
        log_probability = np.empty(len(X))
        for rows, mean, variance in self._posterior_draws()[0].chunks(X):
            parts = y[rows], mean, variance, exposure[rows]
            each = (
                poisson_log_pmf(*parts)
                if self._is_poisson
                else negative_binomial_log_pmf(*parts, self._dispersions())
            )
            log_probability[rows] = log_mean_exp(each)
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
            Positive; 1 by default.

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
        exposure = check_exposure(exposure, len(X))
        rng = as_random_state(random_state)
        chosen, (latent,) = sample_latent(
            self._posterior_draws(), X, n_samples, rng, self.memory_limit
        )
        rate = np.minimum(_expected(latent, exposure[:, np.newaxis]), _LARGEST_RATE)
        if not self._is_poisson:
            shape = 1.0 / self._dispersions()[chosen]
            rate = np.minimum(
                rate * rng.standard_gamma(shape, size=rate.shape) / shape, _LARGEST_RATE
            )
        return np.asarray(rng.poisson(rate))

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return D^2, the share of the Poisson deviance that is explained, for any likelihood.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive; 1 by default.

        Returns
        -------
        score : float
            1 is best; 0 is a constant rate.
        """
        expected = self.predict(X, exposure)
        y = check_counts(column_or_1d(y))
        check_consistent_length(expected, y)
        exposure = check_exposure(exposure, len(y))
        weights = check_sample_weight(sample_weight, len(y))
        shares = exposure / exposure.max()  # whose sum is no infinity
        constant = shares * _overall_rate(y, shares, weights)
        ends = 1.0 / _LARGEST_EXPECTATION, _LARGEST_EXPECTATION
        deviance, null = (
            mean_poisson_deviance(y, np.clip(rate, *ends), sample_weight=weights)
            for rate in (expected, constant)
        )
        return float(1.0 - deviance / null) if null > 0.0 else float(deviance == 0.0)


def _expected(log_rate: Array, exposure: Array) -> Array:
    """Return exposure exp(log rate): infinity only where that is too large for a float."""
    with np.errstate(over="ignore"):
        expected = exposure * np.exp(log_rate)
        extreme = np.abs(log_rate) > _LARGEST_LOG_RATE  # on its own; the product may be none
        sums = log_rate[extreme] + np.log(np.broadcast_to(exposure, log_rate.shape)[extreme])
        expected[extreme] = np.exp(sums)
    return expected


def check_exposure(exposure: Any, n_samples: int) -> Array:
    """Return the exposure of each row; raise a ValueError that names the first bad one."""
    return number_per_row("exposure", 1.0 if exposure is None else exposure, n_samples, zero=False)


def check_rate(y: Array, exposure: Array, weights: Array | None) -> float:
    """Return the overall rate; raise a ValueError where numbers are too large to compute with."""
    if weights is not None:
        hint = " Divide all weights by the same number."
        allowed = weights * y <= _LARGEST_WEIGHTED_COUNT
        check_rows(weights * y, allowed, "sample_weight times y", "at most 1e16", hint)
    with np.errstate(over="ignore"):
        rate = _overall_rate(y, exposure, weights)
    if not 1.0 / _LARGEST_UNIT < rate < _LARGEST_UNIT:
        raise ValueError(
            f"exposure must be in a unit in which the overall rate, total count / total exposure, "
            f"is between {1.0 / _LARGEST_UNIT:g} and {_LARGEST_UNIT:g}; got the rate {rate:.3g}. "
            "Change the unit of exposure."
        )
    return rate


def _overall_rate(y: Array, exposure: Array, weights: Array | None) -> float:
    """Return total count / total exposure, as if half an event had been seen where none was."""
    total = np.average(y, weights=weights) or 0.5 / len(y)
    return float(total / np.average(exposure, weights=weights))
