"""Gaussian noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_rows, check_vector
from ._additive_noise import AdditiveNoise
from ._base import Params
from ._checks import as_floats
from ._new_observations import Seed
from ._sites import Sites

_LOG_2PI = math.log(2.0 * math.pi)


class Sums(NamedTuple):
    """Sums over observations that make up the log likelihood.

    Squares are taken around each latent value's own mean, so that they do not cancel:
    ``sum_k w_k (y_k - f_i)^2 / v_k = total_i (f_i - centre_i)^2 + within_i``.
    """

    total: NDArray  # precision of each latent value
    centre: NDArray  # precision-weighted mean of its observations
    within: float  # summed over latent values
    log_scale: float  # sum_k w_k log(2 pi v_k)


class Gaussian(AdditiveNoise):
    """Observations with additive Gaussian noise, ``y_k ~ N(f, known_variance_k + noise)``.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Observations, in the units of the latent values.
    noise_variance : float or array-like of shape (n_obs,), default=None
        Fixed variance, positive, in squared units of y. None: one variance for all observations
        is a hyperparameter of the name ``noise_level``.
    known_variance : float or array-like of shape (n_obs,), default=0.0
        Added to the variance of each observation, for example the square of an instrument's
        standard error. Finite and non-negative, in squared units of y.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
        See `Likelihood`. A weight w acts like the variance divided by w, up to a constant.
    n_latent : int, default=None
        See `Likelihood`.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or holds a value that is not allowed.

    Notes
    -----
    Every kind of site (fitted, Taylor, exact) is the likelihood itself: with ``v_k`` the variance
    of observation k, precision ``sum w / v`` and shift ``sum w y / v``, whatever the prior.

    Known variances that differ between observations, beside a noise level that is a
    hyperparameter, make each evaluation sum over all observations; otherwise this is done once.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import Gaussian
    >>> Gaussian([1.0, 2.0], noise_variance=0.5).gaussian_sites()
    Sites(precision=array([2., 2.]), shift=array([2., 4.]))
    >>> likelihood = Gaussian([1.0, 2.0], known_variance=[0.0, 0.75])
    >>> likelihood.parameters
    ('noise_level',)
    >>> likelihood.gaussian_sites((0.25,)).precision
    array([4., 1.])
    """

    per_observation = ("noise_variance", "known_variance")
    fixed_scale = "noise_variance"

    def __init__(
        self,
        y: ArrayLike,
        noise_variance: ArrayLike | None = None,
        *,
        known_variance: ArrayLike = 0.0,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        y = check_vector(y, "y")
        self.noise_variance = check_noise_variance(noise_variance, "noise_variance", y.size)
        self.known_variance = check_known_variance(known_variance, y.size)
        self.parameters = ("noise_level",) if noise_variance is None else ()
        super().__init__(
            y, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )

    def _refresh(self) -> None:
        # In units of the sampled variance where that is the same for all observations. Where it
        # is not, there is nothing to prepare.
        self._constant_known = self._sums = None
        if self.noise_variance is not None:
            self._sums = self._sums_over_observations(self.noise_variance + self.known_variance)
        elif np.ptp(self.known_variance) == 0.0:
            self._constant_known = float(np.max(self.known_variance))
            self._sums = self._sums_over_observations(1.0)
        self._n_weighted = float(self._weighted(np.ones_like(self.y)).sum())

    def _sums_over_observations(self, variance: float | NDArray) -> Sums:
        precision = self._weighted(np.ones_like(self.y)) / variance
        total = self._sum_per_latent(precision)
        moment = self._sum_per_latent(precision * self.y)
        centre = moment / np.where(total == 0.0, 1.0, total)
        deviation = self.y - self._at_observations(centre)
        log_variance = np.broadcast_to(_LOG_2PI + np.log(variance), self.y.shape)
        log_scale = float(self._weighted(log_variance).sum())
        return Sums(total, centre, float((precision * deviation).dot(deviation)), log_scale)

    def _noise_level(self, params: Params) -> float:
        """Return the hyperparameter, NaN where it is not positive."""
        if len(params) != 1:
            raise ValueError(
                "Gaussian(noise_variance=None) needs params=(noise_level,), the noise variance; "
                f"got {len(params)} values. Pass it, or fix noise_variance."
            )
        level = float(params[0])
        return level if level > 0.0 else math.nan

    def _variance(self, params: Params) -> float | NDArray:
        fixed = self.noise_variance
        return self.known_variance + (self._noise_level(params) if fixed is None else fixed)

    def _sums_at(self, params: Params) -> tuple[Sums, float]:
        """Return the sums, and the factor by which their variances are to be multiplied."""
        if self._sums is None:
            return self._sums_over_observations(self._variance(params)), 1.0
        if self._constant_known is None:
            return self._sums, 1.0
        return self._sums, self._constant_known + self._noise_level(params)

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""
        variance = self._variance(params)
        return -0.5 * ((self.y - latent) ** 2 / variance + (_LOG_2PI + np.log(variance)))

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`."""
        sums, factor = self._sums_at(params)
        residual = latent - sums.centre
        squares = float((sums.total * residual).dot(residual)) + sums.within
        log_scale = sums.log_scale + self._n_weighted * math.log(factor)
        return -0.5 * (squares / factor + log_scale)

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        sums, factor = self._sums_at(params)
        precision = sums.total / factor
        return precision * (sums.centre - latent), np.broadcast_to(-precision, np.shape(latent))

    def gaussian_sites(self, params: Params = ()) -> Sites:
        """Return the likelihood itself as sites; exact."""
        sums, factor = self._sums_at(params)
        precision = sums.total / factor
        return Sites(precision, precision * sums.centre)

    def expected_score(self, mean: NDArray, variance: NDArray, params: Params = ()) -> NDArray:
        """Return the derivative along log noise_level; see `GaussianGivenAuxiliaries`."""
        if not self.parameters:
            return np.empty(0)
        total = self._variance(params)
        squares = (self.y - self._at_observations(mean)) ** 2 + self._at_observations(variance)
        along_total = 0.5 * (squares / total - 1.0) / total
        return np.array([self._noise_level(params) * float(self._weighted(along_total).sum())])

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Return `gaussian_sites`."""
        return self.gaussian_sites(params)

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Return `gaussian_sites`, whatever the prior."""
        return self.gaussian_sites(params)

    laplace_sites = moment_sites

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one observation per row; see `Likelihood.sample`."""
        noise = np.random.default_rng(rng).standard_normal(self.y.size)
        return self._at_observations(latent) + np.sqrt(self._variance(params)) * noise


def check_noise_variance(value: ArrayLike | None, name: str, n_obs: int) -> float | NDArray | None:
    """Return None, or one positive variance, or one for each observation."""
    if value is None:
        return None
    numbers = as_floats(name, value)
    if numbers.ndim == 0:
        level = float(numbers)
        if not 0.0 < level < math.inf:
            raise ValueError(
                f"{name} must be positive and finite; got {level}. Use None to sample it."
            )
        return level
    vector = check_vector(numbers, name, n_obs)
    check_rows(vector, vector > 0.0, name, "positive")
    return vector


def check_known_variance(value: ArrayLike, n_obs: int) -> float | NDArray:
    """Return one non-negative variance, or one for each observation."""
    numbers = as_floats("known_variance", value)
    if numbers.ndim == 0:
        level = float(numbers)
        if not 0.0 <= level < math.inf:
            raise ValueError(
                f"known_variance must be non-negative and finite; got {level}. Use 0 if all of "
                "the noise is unknown."
            )
        return level
    vector = check_vector(numbers, "known_variance", n_obs)
    check_rows(vector, vector >= 0.0, "known_variance", ">= 0")
    return vector
