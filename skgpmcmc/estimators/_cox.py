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
    """Regression of counts whose log rate is a Gaussian process with uncertain hyperparameters.

    The model is ``y ~ Poisson(exposure * exp(f))``: a log-Gaussian Cox process on a grid, or
    Poisson regression with a Gaussian process. Negative binomial counts have the same mean, but
    vary more. The latent log rate and the hyperparameters are sampled from their joint posterior
    [1]_, so that the hyperparameters are integrated out. Predictions average over the draws.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. None is a
        constant times a Matern kernel with nu=2.5 (on grids, and with inducing points, a squared
        exponential) with a length scale for each column, scaled to the data.
    likelihood : {"poisson", "negative-binomial"}, default="poisson"
        Negative binomial counts of mean mu have the variance ``mu + dispersion * mu^2``.
    dispersion : float or None, default=None
        Dispersion of negative binomial counts, at least 1e-15. If it is None, it is a
        hyperparameter of this name. By default the prior of its square root is half-normal with
        scale 1.
    mean : {"zero", "constant"}, default="constant"
        Prior mean of the log rate. The constant one is a hyperparameter, named ``"mean"``,
        with a normal prior around log(total count / total exposure), sd 2.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"post-ep"``, ``"post-site"``,
        ``"post-taylor"``, ``"surr-ep"``, ``"surr-site"``, ``"surr-taylor"``, ``"prior-white"``,
        ``"fixed"``, or the variance of constant surrogate noise. For negative binomial counts there
        is ``"collapsed"`` too: auxiliary variables, with the latent function integrated out. On
        grids there is ``"joint-post"``, and with inducing points ``"joint-ep"``: nothing is held
        fixed, and the latent function moves together with the hyperparameters. ``"auto"`` is
        ``"joint-ep"`` if there are inducing points and the kernel is one of those of
        ``hyperparameter_update="auto"``. See Notes for grids. Otherwise it is ``"post-ep"``, or
        ``"collapsed"`` if the likelihood has it and `hyperparameter_update` is ``"hmc"``.
    hyperparameter_update : "auto", "slice", "hmc" or callable, default="auto"
        How the hyperparameters move. ``"slice"`` is slice sampling of one hyperparameter after the
        other. ``"hmc"`` is Hamiltonian Monte Carlo, for the representations "joint-post" and
        "joint-ep" (which always use it) and "collapsed", and kernels that have a gradient; a chain
        whose trajectories fail in the warm-up continues with slice sampling. A callable is a
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
        normal for the mean, gamma for signal variance and dispersion.
    %(chains)s
    n_jobs : int, default=None
        How many chains run at the same time. The draws do not depend on it. Predictions use as many
        threads, except predictions from a grid.
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
        Distinct training inputs, sorted. On a grid (see Notes) these are all of its points, also
        those without data.
    is_observed_ : ndarray of bool of shape (n_latent,)
        Which rows of `X_train_` have data. Without a grid these are all rows.
    exposure_range_ : tuple of two float
        The smallest and the largest exposure. Both are 1 if `fit` was given none.
    %(fit)s

    Notes
    -----
    *Grids.* There is a fast method if the rows, in any order, are at least half of the points of a
    Cartesian grid with two or more axes, and if the kernel is a constant times a squared
    exponential. The covariance is then a Kronecker product. The time of an iteration is
    proportional to n times the lengths of the axes, plus their cubes, instead of n^3. The memory is
    proportional to n instead of n^2. Points without data are latent variables without a likelihood.
    The trace's complete-data log likelihood counts their prior density too. Coordinates that differ
    by at most 1e-9 of their column's range, or by rounding, are the same.

    ``representation="auto"`` uses the grid if this gives effective draws faster. It does so from
    200 points on, unless the longest axis has more than a third as many coordinates as there are
    distinct rows (2 x 400 cells). It is then ``"joint-post"`` with Hamiltonian trajectories. With
    ``hyperparameter_update="hmc"`` it is ``"joint-post"`` on any grid. With another
    `hyperparameter_update` it uses the grid from 2,000 points on, and is ``"prior-white"``, which
    mixes slowly. ``"joint-post"``, ``"prior-white"``, ``"fixed"`` and a number use a grid of any
    size and shape. The other representations never use a grid.

    scikit-learn's tags call it a regressor of positive targets, because they have no word for
    counts. Only counts can be fitted.

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
            Inputs, such as the centres of cells. If the kernel takes objects, a list of them.
        y : array-like of shape (n_samples,)
            Counts: whole numbers, zero or larger.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 to 1e12. A whole number acts like that many copies of the row.
        exposure : float or array-like of shape (n_samples,), default=None
            Time, area or population in which the events were counted. It is positive, and 1 by
            default. (Predictions take 0 too: then there are no events.)

        Returns
        -------
        self : MCMCCoxProcessRegressor
            Fitted estimator.

        Raises
        ------
        ValueError
            If input is not finite, is masked or has the wrong shape, if counts are not whole
            numbers >= 0, if exposures are not positive, if priors do not fit the kernel, or if
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
            rows.
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
