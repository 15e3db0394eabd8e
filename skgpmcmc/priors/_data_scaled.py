"""Default kernel and priors, scaled to the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Kernel, Matern

from .._grid import ROUNDING
from .._linalg import Array
from . import HyperparameterSpec, log_uniform_default

# scikit-learn's default bounds: they state no opinion, and log-uniform over ten
# decades would put half the prior mass on white noise.
SKLEARN_BOUNDS = (1e-5, 1e5)
# With a smaller standard deviation of a column its squared distances underflow; with one larger
# than the reciprocal they overflow.
_SMALLEST_STD = 1e-100
# Standard deviation of the logarithm of a length scale under its default prior.
_LENGTH_SCALE_SD = 1.0
# `ard_factor` where columns are features of a data set and not coordinates: of the many that
# such data often have, few matter. Chosen by `benchmarks.bench_predictive`.
FEATURE_FACTOR = 2.0


class DataScaledPriors:
    """Weakly informative priors of the hyperparameters that the user left open.

    Bounds that the user set make the prior log-uniform on them. Where the bounds are
    scikit-learn's default or missing, the prior is scaled to the data, and log-normal if nothing
    else is said:

    - length scales: log-sd 1, the median (a multiple of the column's standard
      deviation with ARD, that of all columns together without) such that the median of
      the squared distance of two typical points, in length scales, is 2 in any number
      of dimensions, with ARD divided by the square of `ard_factor`;
    - the signal variance: median `signal_variance`, log-sd `signal_variance_sd`;
    - the noise level: median `noise_level`, log-sd 2;
    - the likelihood's own parameters, where it has a default prior: this;
    - a constant mean: normal;
    - everything else, length scales of periodic kernels among it (they have no unit): median at
      the value the kernel was given, log-sd 1.5.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Supplies the values that it was given.
    X : array-like of length n
        Training inputs.
    signal_variance : float
        Typical variance of the latent function.
    signal_variance_sd : float
        Standard deviation of its logarithm.
    signal_variance_prior : frozen distribution, optional
        Prior of signal variances in place of the log-normal one.
    noise_level : float, optional
        Typical variance of the noise, if it is a hyperparameter.
    ard_factor : float
        Length scales of several columns are so many times as long: larger than one where
        some of the columns may say nothing.
    mean : tuple of float
        Location and standard deviation of the prior of a constant mean.
    names : mapping, optional
        Name of a hyperparameter in `kernel` -> the name it goes by.
    likelihood : Likelihood, optional
        Whose method `default_prior` is asked for its own parameters.
    bounds_are_set : bool
        Whether bounds other than scikit-learn's default are the user's wish.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        signal_variance: float,
        *,
        signal_variance_sd: float = 1.5,
        signal_variance_prior: Any = None,
        noise_level: float | None = None,
        ard_factor: float = 1.0,
        mean: tuple[float, float] = (0.0, 1.0),
        bounds_are_set: bool,
        names: Mapping[str, str] | None = None,
        likelihood: Any = None,
    ) -> None:
        parameters = () if likelihood is None else likelihood.parameters
        self._of_likelihood = {name: likelihood.default_prior(name) for name in parameters}
        self._bounds_are_set = bounds_are_set
        values = kernel.get_params()
        self._values = {
            (names or {}).get(h.name, h.name): np.atleast_1d(values[h.name])
            for h in kernel.hyperparameters
        }
        self._without_unit = {
            (names or {}).get(h.name, h.name)
            for h in kernel.hyperparameters
            if isinstance(values.get(h.name.rpartition("__")[0], kernel), ExpSineSquared)
        }
        self._column_std = column_std(X)
        self._signal_variance = signal_variance, signal_variance_sd
        self._signal_variance_prior = signal_variance_prior
        self._noise_level = noise_level
        self._ard_factor = ard_factor
        self._mean = mean

    def __call__(self, spec: HyperparameterSpec, element: int) -> Any:
        """Return the prior of one element of a hyperparameter."""
        if spec.name == "mean":
            return stats.norm(*self._mean)
        if self._of_likelihood.get(spec.name) is not None:
            return self._of_likelihood[spec.name]
        bounds = None if spec.bounds is None else tuple(spec.bounds[element])
        if self._bounds_are_set and bounds not in (None, SKLEARN_BOUNDS):
            return log_uniform_default(spec, element)
        is_variance = spec.name.rsplit("__", 1)[-1] == "constant_value"
        if is_variance and self._signal_variance_prior is not None:
            return self._signal_variance_prior
        median, sigma = self._scale(spec, element)
        return stats.lognorm(s=sigma, scale=median)

    def _scale(self, spec: HyperparameterSpec, element: int) -> tuple[float, float]:
        kind = spec.name.rsplit("__", 1)[-1]
        has_unit = spec.name not in self._without_unit
        if kind == "length_scale" and has_unit and self._column_std is not None:
            std = self._column_std
            if spec.size == len(std):
                factor = self._ard_factor if len(std) > 1 else 1.0
                scale = factor * ard_scale(len(std))
                return float(std[element] or 1.0) * scale, _LENGTH_SCALE_SD
            return float(np.sqrt(std @ std) or 1.0), _LENGTH_SCALE_SD
        if kind == "constant_value":
            return self._signal_variance
        if kind == "noise_level" and self._noise_level is not None:
            return self._noise_level, 2.0
        return float(self._values[spec.name][element]), 1.5


def column_scale(X: Any) -> Array | None:
    """Return the standard deviation of each column, 1 for one that is constant up to rounding.

    None for inputs that are not numeric vectors.

    Raises
    ------
    ValueError
        For columns whose squared distances over- or underflow.
    """
    std = column_std(X)
    return None if std is None else np.where(std > 0.0, std, 1.0)


def column_std(X: Any) -> Array | None:
    """Return the standard deviation of each column, as `column_scale`; 0 for a constant column."""
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and np.issubdtype(X.dtype, np.floating)):
        return None
    size = np.abs(X).max(axis=0)
    size[size == 0.0] = 1.0
    shares = X / size
    with np.errstate(over="ignore"):
        std = np.where(np.ptp(shares, axis=0) > ROUNDING, shares.std(axis=0) * size, 0.0)
    bad = np.flatnonzero((std > 1.0 / _SMALLEST_STD) | ((std > 0) & (size < _SMALLEST_STD)))
    if bad.size:
        raise ValueError(
            f"X must have columns with standard deviations between {_SMALLEST_STD:g} and "
            f"{1.0 / _SMALLEST_STD:g}, or constant ones; column {bad[0]} has "
            f"{std[bad[0]]:.3g}. Rescale it, for example by sklearn's StandardScaler."
        )
    return std


def ard_scale(n_columns: int) -> float:
    """Return the median length scale, in standard deviations of its column.

    Two typical points have the squared distance 2 sum_d w_d, with w_d = 1 / l_d^2 in
    units of the columns' variances: log-normal with log-sd 2 s. The square returned is
    about the median of that sum at median length scales of one, the sum at the
    expected order statistics of the normal distribution (Blom 1958).
    """
    places = (np.arange(1, n_columns + 1) - 0.375) / (n_columns + 0.25)
    weights = np.exp(2.0 * _LENGTH_SCALE_SD * stats.norm.ppf(places))
    return math.sqrt(float(weights.sum()))


def default_kernel(X: Array, variance: float = 1.0, nu: float = math.inf) -> Kernel:
    """Return a constant times an ARD Matern kernel, scaled to the data.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Distinct rows.
    variance : float
        Typical variance of the latent function.
    nu : float
        Smoothness; infinity is the squared exponential.
    """
    std = column_scale(X)
    assert std is not None
    scale = std * ard_scale(X.shape[1])
    low, high = SKLEARN_BOUNDS
    constant = ConstantKernel(variance, (low * variance, high * variance))
    bounds = np.column_stack([low * scale, high * scale])
    return constant * (RBF(scale, bounds) if nu == math.inf else Matern(scale, bounds, nu))
