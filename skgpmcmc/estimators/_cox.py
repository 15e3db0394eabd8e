"""Cox processes, counts with a log-Gaussian rate: the estimator and its fit."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import _fit_context
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils._param_validation import Interval, StrOptions

from .._covariance import CovarianceStructure
from ..likelihoods import Likelihood, NegativeBinomial, Poisson
from ..likelihoods._checks import check_counts
from ..likelihoods._negative_binomial import SMALLEST_DISPERSION
from ..priors._data_scaled import DataScaledPriors, default_kernel
from ._auto import (
    PREFERRED_FOR_COUNTS,
    allows_grid,
    default_smoothness,
    training_structure,
)
from ._base import keeps_fitted
from ._count_predictions import CountPredictions
from ._documentation import with_shared_documentation
from ._inputs import (
    check_sample_weight,
    check_y,
    drop_weightless,
    share_latents,
    warn_of_shares,
)
from ._public_methods import with_own_methods
from ._rates import check_exposure, check_rate, deviance_of_constant
from ._training_rows import Observed

# Prior of the variance v of the log rate. Its tail must be lighter than exp(-v / 2): otherwise the
# mean rate far from the data, E exp(f), would be infinite.
_SIGNAL_VARIANCE_PRIOR = stats.gamma(1.5, scale=1.5)
# Prior standard deviation of the mean log rate, around the log of a constant rate.
_MEAN_SD = 2.0

_SPREAD = (
    "predict_interval(X) gives intervals of the rate per unit of exposure, predict_quantiles(X, "
    "quantiles, exposure=...) those of new counts, and predict_latent(X, return_std=True) the "
    "standard deviation of the log rate."
)
_PER_UNIT = "It is about the rate per unit of exposure"
_HINTS = {
    "predict": {"return_std": _SPREAD, "return_cov": _SPREAD},
    "predict_interval": {
        "exposure": f"{_PER_UNIT}: multiply the intervals by the exposure. Intervals of new counts "
        "are predict_quantiles(X, [0.05, 0.95], exposure=...)."
    },
    "predict_exceedance": {
        "exposure": f"{_PER_UNIT}: divide the threshold by the exposure.",
    },
    "predict_latent": {"exposure": "It is the log rate per unit of exposure."},
}


@with_own_methods(_HINTS)
@with_shared_documentation
class MCMCCoxProcessRegressor(CountPredictions):
    """Counts whose log rate is a Gaussian process, hyperparameters integrated out.

    ``y ~ Poisson(exposure * exp(f))``: a log-Gaussian Cox process on a grid, or Poisson
    regression with a Gaussian process; or counts of that mean that vary more, negative
    binomial ones. The latent log rate and the hyperparameters are sampled from their joint
    posterior [1]_, and predictions average over the draws.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. None is a
        constant times a Matern kernel with nu=2.5 (on grids, and with inducing points, a squared
        exponential) with a length scale for each column, scaled to the data.
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
        ``"auto"`` means, but for grids and inducing points), ``"post-site"``,
        ``"post-taylor"``, ``"surr-ep"``, ``"surr-site"``, ``"surr-taylor"``,
        ``"prior-white"``, ``"fixed"``, the variance of constant surrogate noise; for negative
        binomial counts ``"collapsed"``: auxiliary variables, with the latent function
        integrated out; or, on grids, ``"joint-post"``, and with inducing points ``"joint-ep"``:
        nothing, the latent function moves along with the hyperparameters. ``"auto"`` is
        ``"joint-ep"`` with inducing points if trajectories can be followed fast (as
        ``hyperparameter_update="auto"`` says). See Notes for grids.
    hyperparameter_update : "auto", "slice", "hmc" or callable, default="auto"
        Slice sampling of one hyperparameter after the other; Hamiltonian Monte Carlo, for the
        representations "joint-post" and "joint-ep" (always) and "collapsed" and kernels that have
        a gradient (a chain whose trajectories fail in the warm-up goes on with slices); or a
        Metropolis-Hastings proposal: a callable that takes the vector theta and a generator,
        and returns the proposed vector and log q(old; new) - log q(new; old). ``"auto"`` is
        ``"hmc"`` for these representations if the kernel is a constant times a squared
        exponential or Matern kernel, also with white noise, and has 3 hyperparameters or more.
    %(points)s
    n_latent_updates : int, default=10
        Elliptical slice updates of the latent function in each iteration.
    priors : dict, default=None
        Name of a hyperparameter, as in ``kernel.hyperparameters`` or ``"mean"`` -> frozen
        scipy.stats distribution on the natural scale, or a list of one for each
        element. A single element goes by its name in `summary`, before the vector's entry:
        ``"k2__length_scale[2]"``, or ``"k2__length_scale[bmi]"`` if columns have names.
        Hyperparameters left out are log-uniform on bounds that you set,
        and otherwise weakly informative, scaled to the data: log-normal; normal for the mean,
        gamma for signal variance and dispersion.
    %(chains)s
    n_jobs : int, default=None
        Chains that run at the same time; the draws do not depend on it. Predictions run in as
        many threads, but for those from a grid.
    %(random_state)s

    Attributes
    ----------
    priors_ : PriorTable
        A read-only dictionary that prints as a table of families, medians, 90 % ranges and
        origins: name of a hyperparameter -> tuple of the prior of each element, a frozen
        scipy.stats distribution on the natural scale (also cut to bounds that the kernel sets).
    posterior_ : dict
        Name of a hyperparameter -> draws on the natural scale, shape
        (n_chains, n_draws), or (n_chains, n_draws, size).
    diagnostics_ : SummaryTable
        A dictionary, the numbers of `summary` without quantiles, with elements by number:
        name of a quantity -> mean, sd, mcse, ess_bulk, ess_tail, rhat.
    trace_ : Trace
        All draws and costs.
    kernel_ : kernel instance
        The kernel at the posterior median, for reading only.
    X_train_ : array-like of shape (n_latent, n_features)
        Distinct training inputs, sorted. On a grid (see Notes) all of its points: those without
        data too.
    is_observed_ : ndarray of bool of shape (n_latent,)
        Which rows of `X_train_` have data; all of them, but for a grid.
    exposure_range_ : tuple of two float
        The smallest and the largest exposure; 1 and 1 where there was none.
    %(fit)s

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

    scikit-learn's tags call it a regressor of positive targets; they have no word for counts,
    the only targets that can be fitted.

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

    _parameter_constraints: ClassVar[dict] = {
        **CountPredictions._parameter_constraints,
        "likelihood": [StrOptions({"poisson", "negative-binomial"})],
        "dispersion": [None, Interval(Real, SMALLEST_DISPERSION, None, closed="left")],
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
        self.likelihood = likelihood
        self.dispersion = dispersion
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
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
            default. (Predictions take 0 too: there are no events then.)

        Returns
        -------
        self : MCMCCoxProcessRegressor
            Fitted estimator.

        Raises
        ------
        ValueError
            For input that is not finite, masked or of the wrong shape, counts that are not whole
            numbers >= 0, exposures that are not positive, priors that do not fit the
            kernel, and more rows than `memory_limit` allows.
        TypeError
            For dates as X, and for what holds no values in memory, such as lazy frames.

        Warns
        -----
        ConvergenceWarning
            If R-hat or the effective sample size of a quantity says that the chains
            are too short.
        UserWarning
            If all weights are far below 1, or sum to 1: they count copies of rows.
        """
        check_y(y, exact=True)
        X, y = self._validate_training(X, y)
        y = check_counts(y)
        exposure = check_exposure(exposure, len(y))
        weights = check_sample_weight(sample_weight, len(y))
        numbers = np.arange(len(y))
        weights, (X, y, exposure, numbers) = drop_weightless(weights, X, y, exposure, numbers)
        warn_of_shares(weights)
        rate = check_rate(y, exposure, weights)
        self._constant_rate = rate
        self._constant_deviance = deviance_of_constant(y, rate * exposure, weights)
        distinct, index = share_latents(X, self.kernel)
        kernel = default_kernel(distinct) if self.kernel is None else self.kernel
        self.X_train_, index, structure = self._place_latents(distinct, index, kernel)
        if self.kernel is None and structure is None:
            kernel = default_kernel(distinct, nu=default_smoothness(self.n_inducing, distinct))
        options: dict[str, Any] = {
            "latent_index": index,
            "sample_weight": weights,
            "n_latent": len(self.X_train_),
        }
        likelihood: Likelihood = (
            Poisson(y, exposure, **options)
            if self.likelihood == "poisson"
            else NegativeBinomial(y, exposure, self.dispersion, **options)
        )
        defaults = DataScaledPriors(
            kernel,
            distinct,
            _SIGNAL_VARIANCE_PRIOR.mean(),
            signal_variance_prior=_SIGNAL_VARIANCE_PRIOR,
            mean=(float(np.log(rate)), _MEAN_SD),
            bounds_are_set=self.kernel is not None,
            likelihood=likelihood,
        )
        self.exposure_range_ = float(exposure.min()), float(exposure.max())
        per_row = {"sample_weight": weights, "exposure": exposure}
        self._observed = Observed([[likelihood]], numbers, y, per_row)
        self.is_observed_ = np.isin(np.arange(len(self.X_train_)), self._observed.places())
        self._sample(kernel, [[likelihood]], defaults=defaults, structure=structure)
        return self

    def _place_latents(
        self, distinct: Any, index: NDArray[np.intp] | None, kernel: Kernel
    ) -> tuple[Any, NDArray[np.intp] | None, CovarianceStructure | None]:
        """Return where the latent variables are, which one each row has, and their structure.

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
        if not allows_grid(self.n_inducing):
            return distinct, index, None
        structure, X, places = training_structure(
            self.representation, self.hyperparameter_update, kernel, distinct
        )
        return X, places[index], structure

    def _preferred_representations(
        self, kernel: Kernel, structure: CovarianceStructure
    ) -> tuple[str, ...]:
        return PREFERRED_FOR_COUNTS

    def _not_sampled(self) -> dict[str, str]:
        reasons = super()._not_sampled()
        if self.likelihood == "poisson" or self.dispersion is not None:
            reasons["dispersion"] = (
                f"likelihood={self.likelihood!r}, dispersion={self.dispersion!r}. Set "
                "likelihood='negative-binomial' and dispersion=None, or drop the prior"
            )
        return reasons
