"""Methods that forecast counts: ours, naive ones, regressions, and a state-space model.

All of them know the lengths of the rows. A method takes a `Task`, and returns the log probability
of each count that came, and of smaller ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Kernel, Matern
from sklearn.linear_model import PoissonRegressor

from skgpmcmc import MCMCCoxProcessRegressor

from .tables.sources import MissingSourceError

# Of new counts, from which ours has the probability of smaller ones.
N_SAMPLES = 4000
MAX_HARMONICS = 4
# Bounds of the variance of a rate, relative to its square.
_DISPERSIONS = (1e-6, 10.0)
OURS = "GP, negative binomial"


class Task(NamedTuple):
    """Rows that are known, and rows that are forecast.

    Attributes
    ----------
    t, new_t : ndarray of shape (n, 1)
        Middles of the rows in years.
    exposure, new_exposure : ndarray of shape (n,)
    y, new_y : ndarray of shape (n,)
        Counts.
    period : int
        Rows in a year.
    options : dict
        Of chains.
    """

    t: np.ndarray
    exposure: np.ndarray
    y: np.ndarray
    new_t: np.ndarray
    new_exposure: np.ndarray
    new_y: np.ndarray
    period: int
    options: dict[str, Any]


class Forecast(NamedTuple):
    """A forecast of each new row.

    Attributes
    ----------
    log_probability : ndarray of shape (n_new,)
        Of the counts that came.
    below, up_to : ndarray of shape (n_new,)
        Distribution function just below these counts, and at them.
    converged : bool
        Whether chains did.
    """

    log_probability: np.ndarray
    below: np.ndarray
    up_to: np.ndarray
    converged: bool = True


Method = Callable[[Task], Forecast]


def _from_distribution(distribution: Any, task: Task) -> Forecast:
    """Return the forecast of a frozen distribution of shape (n_new, 1)."""
    y = task.new_y[:, None]
    found = distribution.logpmf(y), distribution.cdf(y - 1), distribution.cdf(y)
    return Forecast(*(values[:, 0] for values in found))


def negative_binomial(mean: np.ndarray, dispersion: float) -> Any:
    """Return distributions with the variance mean + dispersion * mean^2."""
    return stats.nbinom(1.0 / dispersion, 1.0 / (1.0 + dispersion * mean[:, None]))


def most_likely_dispersion(y: np.ndarray, mean: np.ndarray) -> float:
    """Return the dispersion of the largest likelihood, given the means."""

    def loss(log_dispersion: float) -> float:
        return -negative_binomial(mean, np.exp(log_dispersion)).logpmf(y[:, None]).sum()

    found = optimize.minimize_scalar(loss, bounds=np.log(_DISPERSIONS), method="bounded")
    return float(np.exp(found.x))


def last_year(task: Task) -> Forecast:
    """Seasonal naive: negative binomial around the same season's rate of the last known year.

    The dispersion is that of the known rows around the rows a year before them. Half an event is
    added to each count, so that none forbids events.
    """
    rate = (task.y + 0.5) / task.exposure
    before = rate[: -task.period] * task.exposure[task.period :]
    dispersion = most_likely_dispersion(task.y[task.period :], before)
    mean = np.resize(rate[-task.period :], len(task.new_y)) * task.new_exposure
    return _from_distribution(negative_binomial(mean, dispersion), task)


def all_years(task: Task) -> Forecast:
    """Negative binomial around the same season's mean rate over all known years."""
    season = np.arange(len(task.y) + len(task.new_y)) % task.period
    known, new = season[: len(task.y)], season[len(task.y) :]
    counts = np.bincount(known, task.y, task.period) + 0.5
    rate = counts / np.bincount(known, task.exposure, task.period)
    dispersion = most_likely_dispersion(task.y, rate[known] * task.exposure)
    return _from_distribution(negative_binomial(rate[new] * task.new_exposure, dispersion), task)


def fourier_means(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return means of known and of new rows by Poisson regression on a line and a Fourier series.

    The number of harmonics, 1 to 4, is that of the smallest Akaike criterion.
    """
    best = (np.inf, np.empty(0), np.empty(0))
    for n_harmonics in range(1, MAX_HARMONICS + 1):
        X, new_X = (_fourier_columns(t, n_harmonics) for t in (task.t, task.new_t))
        scale = np.abs(X).max(axis=0)
        model = PoissonRegressor(alpha=0.0, solver="newton-cholesky", max_iter=1000, tol=1e-8)
        model.fit(X / scale, task.y / task.exposure, sample_weight=task.exposure)
        mean = model.predict(X / scale) * task.exposure
        criterion = 2.0 * (X.shape[1] + 1) - 2.0 * stats.poisson(mean).logpmf(task.y).sum()
        if criterion < best[0]:
            best = (criterion, mean, model.predict(new_X / scale) * task.new_exposure)
    return best[1], best[2]


def _fourier_columns(t: np.ndarray, n_harmonics: int) -> np.ndarray:
    angles = 2.0 * np.pi * t * np.arange(1, n_harmonics + 1)
    return np.hstack([t, np.sin(angles), np.cos(angles)])


def fourier_poisson(task: Task) -> Forecast:
    """Poisson regression."""
    return _from_distribution(stats.poisson(fourier_means(task)[1][:, None]), task)


def fourier_negative_binomial(task: Task) -> Forecast:
    """The same means, and negative binomial counts of the dispersion that the known rows have."""
    known, new = fourier_means(task)
    dispersion = most_likely_dispersion(task.y, known)
    return _from_distribution(negative_binomial(new, dispersion), task)


def state_space(task: Task) -> Forecast:
    """Structural model of log rates: local linear trend and trigonometric season (statsmodels).

    Forecasts are normal on the scale of log(count + 1/2). A count has the probability between it
    and the next one.
    """
    try:
        from statsmodels.tsa.statespace.structural import UnobservedComponents
    except ImportError as error:
        raise MissingSourceError("pip install statsmodels") from error
    is_monthly = task.period == 12
    season = {
        "period": 12 if is_monthly else 365.2425 * task.period / 364.0,
        "harmonics": 6 if is_monthly else 3,
    }
    observed = np.log((task.y + 0.5) / task.exposure)
    model = UnobservedComponents(
        observed, level="local linear trend", freq_seasonal=[season],
        stochastic_freq_seasonal=[True],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead = model.fit(disp=False, maxiter=500).get_forecast(len(task.new_y))
    normal = stats.norm(ahead.predicted_mean[:, None], ahead.se_mean[:, None])
    y, exposure = task.new_y[:, None], task.new_exposure[:, None]
    with np.errstate(divide="ignore"):
        low, high = np.log(y / exposure), np.log((y + 1.0) / exposure)
    # From the nearer tail, so that small probabilities keep their digits.
    probability = np.where(
        low > normal.mean(), normal.sf(low) - normal.sf(high), normal.cdf(high) - normal.cdf(low)
    )
    log_probability = np.log(np.maximum(probability[:, 0], 1e-300))
    return Forecast(log_probability, normal.cdf(low)[:, 0], normal.cdf(high)[:, 0])


def _season() -> Kernel:
    return ConstantKernel() * ExpSineSquared(periodicity=1.0, periodicity_bounds="fixed")


def _plain() -> tuple[Kernel, dict[str, Any]]:
    """Return trend and season, with the default priors."""
    return ConstantKernel() * RBF() + _season(), {}


def _with_irregular() -> tuple[Kernel, dict[str, Any]]:
    """Return the same and a short irregular part, of months rather than years, and its priors."""
    kernel = _plain()[0] + ConstantKernel() * Matern(nu=0.5)
    priors = {
        "k2__k1__constant_value": stats.gamma(1.5, scale=0.02),
        "k2__k2__length_scale": stats.lognorm(s=1.0, scale=0.25),
    }
    return kernel, priors


def gaussian_process(
    likelihood: str, make_kernel: Callable[[], tuple[Kernel, dict[str, Any]]]
) -> Method:
    """Return the method of our estimator with a likelihood and a kernel."""

    def forecast(task: Task) -> Forecast:
        kernel, priors = make_kernel()
        model = MCMCCoxProcessRegressor(
            kernel, likelihood=likelihood, priors=priors or None, random_state=0, **task.options
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(task.t, task.y, exposure=task.exposure)
        new_t, y, exposure = task.new_t, task.new_y, task.new_exposure
        samples = model.sample_y(new_t, N_SAMPLES, random_state=0, exposure=exposure)
        return Forecast(
            model.log_predictive_density(new_t, y, exposure),
            (samples < y[:, None]).mean(axis=1),
            (samples <= y[:, None]).mean(axis=1),
            bool(model.converged_),
        )

    return forecast


# These are what is reported.
METHODS: dict[str, Method] = {
    OURS: gaussian_process("negative-binomial", _plain),
    "GP, Poisson": gaussian_process("poisson", _plain),
    "last year": last_year,
    "all years": all_years,
    "Fourier, Poisson": fourier_poisson,
    "Fourier, negative binomial": fourier_negative_binomial,
    "state space": state_space,
}
# These are compared at the first origins only.
CANDIDATES: dict[str, Method] = {
    OURS: METHODS[OURS],
    f"{OURS}, irregular": gaussian_process("negative-binomial", _with_irregular),
}
