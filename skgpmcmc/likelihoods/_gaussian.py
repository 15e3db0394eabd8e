"""Gaussian noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Likelihood, Params
from ._sites import Sites
from ._validation import check_rows, check_vector

_LOG_2PI = math.log(2.0 * math.pi)


class Gaussian(Likelihood):
    """Observations with additive Gaussian noise, ``y ~ N(f, noise_variance)``.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Observations, in the units of the latent values.
    noise_variance : float or array-like of shape (n_obs,), default=None
        Fixed variance, positive, in squared units of y. None: one variance for all observations
        is a hyperparameter of the name ``noise_level``.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
        See `Likelihood`. A weight w acts like the variance divided by w, up to a constant.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or holds a value that is not allowed.

    Notes
    -----
    Every kind of site (fitted, Taylor, exact) is the likelihood itself: precision
    ``sum w / s2``, shift ``sum w y / s2``, whatever the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import Gaussian
    >>> Gaussian([1.0, 2.0], noise_variance=0.5).gaussian_sites()
    Sites(precision=array([2., 2.]), shift=array([2., 4.]))
    >>> Gaussian([1.0, 2.0]).parameters
    ('noise_level',)
    """

    per_observation = ("noise_variance",)

    def __init__(
        self,
        y: ArrayLike,
        noise_variance: ArrayLike | None = None,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self.noise_variance = _check_noise_variance(noise_variance, np.size(y))
        self.parameters = ("noise_level",) if noise_variance is None else ()
        super().__init__(y, latent_index=latent_index, sample_weight=sample_weight)

    def _refresh(self) -> None:
        # Sums of squares are taken around each latent value's own mean, so that they do not
        # cancel; in units of the noise level where that is a hyperparameter.
        variance = 1.0 if self.noise_variance is None else self.noise_variance
        precision = self._weighted(np.ones_like(self.y)) / variance
        self._total = self._sum_per_latent(precision)
        moment = self._sum_per_latent(precision * self.y)
        self._centre = moment / np.where(self._total > 0.0, self._total, 1.0)
        deviation = self.y - self._at_observations(self._centre)
        log_variance = np.broadcast_to(_LOG_2PI + np.log(variance), self.y.shape)
        self._within = float(precision.dot(deviation**2))
        self._log_scale = float(self._weighted(log_variance).sum())
        self._n_weighted = float(self._weighted(np.ones_like(self.y)).sum())

    def _noise_level(self, params: Params) -> float:
        """Return the factor that multiplies the variances: the hyperparameter, or one."""
        if self.noise_variance is not None:
            return 1.0
        if len(params) != 1:
            raise ValueError(
                "Gaussian(noise_variance=None) needs params=(noise_level,), the noise variance; "
                f"got {len(params)} values. Pass it, or fix noise_variance."
            )
        level = float(params[0])
        return level if level > 0.0 else math.nan

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""
        variance = self._noise_level(params) if self.noise_variance is None else self.noise_variance
        return -0.5 * ((self.y - latent) ** 2 / variance + (_LOG_2PI + np.log(variance)))

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`."""
        level = self._noise_level(params)
        residual = latent - self._centre
        squares = float((self._total * residual).dot(residual)) + self._within
        log_scale = self._log_scale + self._n_weighted * math.log(level)
        return -0.5 * (squares / level + log_scale)

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        precision = self._total / self._noise_level(params)
        return precision * (self._centre - latent), np.broadcast_to(-precision, np.shape(latent))

    def gaussian_sites(self, params: Params = ()) -> Sites:
        """Return the likelihood itself as sites; exact."""
        precision = self._total / self._noise_level(params)
        return Sites(precision, precision * self._centre)

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Return `gaussian_sites`."""
        return self.gaussian_sites(params)

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Return `gaussian_sites`, whatever the prior."""
        return self.gaussian_sites(params)

    def laplace_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Return `gaussian_sites`, whatever the prior."""
        return self.gaussian_sites(params)

    def sample(
        self,
        latent: NDArray,
        params: Params = (),
        rng: np.random.Generator | int | None = None,
    ) -> NDArray:
        """Draw one observation per row; see `Likelihood.sample`."""
        variance = self._noise_level(params) if self.noise_variance is None else self.noise_variance
        noise = np.random.default_rng(rng).standard_normal(self.y.size)
        return self._at_observations(latent) + np.sqrt(variance) * noise


def _check_noise_variance(noise_variance: ArrayLike | None, n_obs: int) -> float | NDArray | None:
    if noise_variance is None:
        return None
    if np.ndim(noise_variance) == 0:
        level = float(noise_variance)  # type: ignore[arg-type]
        if not 0.0 < level < math.inf:
            raise ValueError(
                f"noise_variance must be positive and finite; got {level}. Use None to sample it."
            )
        return level
    vector = check_vector(noise_variance, "noise_variance", n_obs)
    check_rows(vector, vector > 0.0, "noise_variance", "positive")
    return vector
