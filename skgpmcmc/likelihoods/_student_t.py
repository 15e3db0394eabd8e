"""Heavy-tailed noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .._checks import check_vector, shown
from ._additive_noise import AdditiveNoise
from ._augmentation import GaussianGivenAuxiliaries, StudentTGivenPrecisions
from ._base import Likelihood, Params
from ._checks import positive_or_none
from ._gaussian import check_known_variance, check_noise_variance
from ._new_observations import AnyGenerator, Moments, Seed
from ._sites import Sites
from .predictive._student_t import (
    student_t_exceedance,
    student_t_log_density,
    student_t_quantiles,
)

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_SMALLEST = float(np.finfo(float).tiny)
# For more than 2 degrees of freedom the variance exists.
_DEGREES_OF_FREEDOM_PRIOR = stats.gamma(2.0, loc=2.0, scale=10.0)

# log Gamma(x + 1/2) - log Gamma(x) - log(x) / 2 is a series in odd powers of 1/x. From this x on
# its first terms are exact to rounding, and the difference of the two logarithms is not.
_LARGE = 16.0
_SERIES = (-1.0 / 8.0, 1.0 / 192.0, -1.0 / 640.0, 17.0 / 14336.0, -31.0 / 18432.0)

# The mixture over log(lambda) is summed on equal steps, which converges exponentially, between
# points that leave out a fraction exp(-40). With more degrees of freedom its peak is too narrow
# for these steps; the site posterior then has light tails and suits the generic quadrature.
_N_NODES = 200
_LOG_TOLERANCE = 40.0
_LARGEST_MIXTURE_NU = 500.0


class StudentT(AdditiveNoise):
    """Observations with Student-t noise: ``y_k = f + sqrt(known_variance_k + noise) * t_nu``.

    A robust alternative to `Gaussian`: an observation far from the others has little influence.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Observations, in the units of the latent values.
    scale2 : float or array-like of shape (n_obs,), default=None
        Fixed squared scale of the noise, positive, in squared units of y; the variance is
        ``nu / (nu - 2)`` times as large. None: one squared scale for all observations is a
        hyperparameter of the name ``noise_level``.
    degrees_of_freedom : float, default=4.0
        Fixed ``nu``, positive: small for heavy tails, large for almost Gaussian noise. None: a
        hyperparameter of the name ``degrees_of_freedom``.
    known_variance : float or array-like of shape (n_obs,), default=0.0
        Added to the squared scale of each observation. Finite and non-negative.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
        See `Likelihood`.
    n_latent : int, default=None
        See `Likelihood`.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or holds a value that is not allowed.

    Notes
    -----
    The likelihood is not log-concave: a site far from its observation has a negative precision,
    and the posterior of f can have several modes. Sites match moments by quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import StudentT
    >>> likelihood = StudentT([0.0, 3.0], scale2=1.0)
    >>> round(likelihood.log_likelihood(np.array([0.0, 1.0])), 4)
    -3.6945
    >>> StudentT([0.0, 3.0], degrees_of_freedom=None).parameters
    ('noise_level', 'degrees_of_freedom')
    """

    per_observation = ("scale2", "known_variance")
    fixed_scale = "scale2"

    def __init__(
        self,
        y: ArrayLike,
        scale2: ArrayLike | None = None,
        degrees_of_freedom: float | None = 4.0,
        *,
        known_variance: ArrayLike = 0.0,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        y = check_vector(y, "y")
        self.scale2 = check_noise_variance(scale2, "scale2", y.size)
        self.known_variance = check_known_variance(known_variance, y.size)
        self.degrees_of_freedom = _check_degrees_of_freedom(degrees_of_freedom)
        settings = {"noise_level": self.scale2, "degrees_of_freedom": self.degrees_of_freedom}
        self.parameters = tuple(name for name, value in settings.items() if value is None)
        super().__init__(
            y, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )

    def _refresh(self) -> None:
        self._n_weighted = float(self._weighted(np.ones_like(self.y)).sum())

    def _scale_and_shape(self, params: Params) -> tuple[float | NDArray, float]:
        """Return the squared scales and nu; sampled ones are NaN where impossible."""
        if len(params) != len(self.parameters):
            raise ValueError(
                f"this StudentT needs params=({', '.join(self.parameters)}), got {len(params)} "
                "values. Pass them, or fix scale2 and degrees_of_freedom."
            )
        values = {
            name: float(value) if _SMALLEST <= value < math.inf else math.nan
            for name, value in zip(self.parameters, params, strict=True)
        }
        scale2 = values["noise_level"] if self.scale2 is None else self.scale2
        nu = self.degrees_of_freedom
        return scale2 + self.known_variance, values["degrees_of_freedom"] if nu is None else nu

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""
        scale2, nu = self._scale_and_shape(params)
        tail = np.log1p((self.y - latent) ** 2 / (nu * scale2))
        return (_log_constant(nu) - 0.5 * np.log(scale2)) - 0.5 * (nu + 1.0) * tail

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`."""
        scale2, nu = self._scale_and_shape(params)
        tail = np.log1p((self.y - self._at_observations(latent)) ** 2 / (nu * scale2))
        terms = self._weighted(np.log(scale2) + (nu + 1.0) * tail)
        value = self._n_weighted * _log_constant(nu) - 0.5 * float(terms.sum())
        return value + 0.0 * float(latent[self._unobserved].sum())  # the NaN rule

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        scale2, nu = self._scale_and_shape(params)
        residual = self.y - self._at_observations(np.asarray(latent, dtype=float))
        squares = residual**2 / nu
        weight = self._weighted((1.0 + 1.0 / nu) / (scale2 + squares))
        second = weight * ((squares - scale2) / (squares + scale2))
        return self._sum_per_latent(weight * residual), self._sum_per_latent(second)

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Sites by matching the mean and variance; arguments as in `Likelihood.fit_sites`.

        For single observations through the mixture of normals that Student-t noise is: given
        ``lambda ~ Gamma(nu / 2, nu / 2)`` the noise variance is ``s2 / lambda``, and the posterior
        mean is ``m + a (y - m)`` and the variance ``K (1 - a)`` with ``a = K / (K + s2 / lambda)``.
        """
        scale2, nu = self._scale_and_shape(params)
        if not (self._simple and nu <= _LARGEST_MIXTURE_NU):
            return super().moment_sites(prior_mean, prior_variance, params)
        mean, variance = self._site_prior(prior_mean, prior_variance)
        scale2 = self._sum_per_latent(np.broadcast_to(scale2, self.y.shape))
        distance = self._sum_per_latent(self.y) - mean
        gain, rest, gain_variance = _mixture_gains(variance / scale2, distance**2 / scale2, nu)
        between = distance**2 / variance * gain_variance
        posterior_variance = variance * (rest + between)
        precision = (gain - between) / posterior_variance
        shift = mean * precision + distance * gain / posterior_variance
        usable = np.isfinite(precision) & np.isfinite(shift)
        return Sites(np.where(usable, precision, 0.0), np.where(usable, shift, 0.0))

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Expansion at ``f = y``, precision ``(nu + 1) / (nu s2)``; generic for repeated latents.

        See `Likelihood.taylor_sites`.
        """
        scale2, nu = self._scale_and_shape(params)
        scale2 = np.broadcast_to(scale2, self.y.shape)
        if self._one_each:
            precision = self._weighted((1.0 + 1.0 / nu) / scale2)
            return Sites(self._sum_per_latent(precision), self._sum_per_latent(precision * self.y))
        return self._taylor_sites_of_repeats(scale2, nu)

    def _taylor_sites_of_repeats(self, scale2: NDArray, nu: float) -> Sites:
        """Return the generic sites, whose search starts near zero and expects units of one."""
        index = self._full_index()
        counts = np.bincount(index, minlength=self.n_latent)
        middle = np.cumsum(counts) - 1 - counts // 2
        centre = self.y[np.lexsort((self.y, index))][middle]
        unit2 = np.where(counts > 0, self._sum_per_latent(scale2) / np.maximum(counts, 1), 1.0)
        standard = self._copy()
        standard.y = (self.y - centre[index]) / np.sqrt(unit2[index])
        standard.scale2, standard.known_variance = scale2 / unit2[index], 0.0
        standard.degrees_of_freedom, standard.parameters = nu, ()
        precision, shift = Likelihood.taylor_sites(standard)
        return Sites(precision / unit2, shift / np.sqrt(unit2) + precision / unit2 * centre)

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw the precisions of the normals whose mixture Student-t noise is.

        See `Likelihood.augment`. Given ``lambda ~ Gamma(nu / 2, nu / 2)`` an observation is
        normal with the variance ``s2 / lambda``.
        """
        rows, index = self._copies()
        y = self.y[rows]

        def scale_and_shape(params: Params) -> tuple[NDArray, float]:
            scale2, nu = self._scale_and_shape(params)
            return np.broadcast_to(scale2, self.y.shape)[rows], nu

        scale2, nu = scale_and_shape(params)
        squares = (y - latent[index]) ** 2 / scale2
        precision = rng.gamma(0.5 * (nu + 1.0), size=y.size) / (0.5 * (nu + squares))
        precision = np.maximum(precision, _SMALLEST)
        return StudentTGivenPrecisions(
            scale_and_shape, y, precision, index, self.n_latent, self.parameters
        )

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one observation per row; see `Likelihood.sample`."""
        scale2, nu = self._scale_and_shape(params)
        noise = np.random.default_rng(rng).standard_t(nu, size=self.y.size)
        return self._at_observations(latent) + np.sqrt(scale2) * noise

    def default_prior(self, name: str) -> Any:
        """Of the degrees of freedom 2 plus a gamma variable; see `Likelihood.default_prior`."""
        return _DEGREES_OF_FREEDOM_PRIOR if name == "degrees_of_freedom" else None

    def _degrees_of_freedom(self, params: NDArray) -> NDArray:
        """Return nu in each draw."""
        if self.degrees_of_freedom is not None:
            return np.full(len(params), self.degrees_of_freedom)
        return params[:, self.parameters.index("degrees_of_freedom")]

    def _log_density(
        self, y: NDArray, moments: Moments, scale2: NDArray, params: NDArray
    ) -> NDArray:
        if not scale2.any():
            return super()._log_density(y, moments, scale2, params)
        nu = self._degrees_of_freedom(params)
        return student_t_log_density(y, *moments, scale2, nu)

    def _quantiles(
        self, moments: Moments, scale2: NDArray, params: NDArray, quantiles: ArrayLike
    ) -> NDArray:
        if not scale2.any():
            return super()._quantiles(moments, scale2, params, quantiles)
        nu = self._degrees_of_freedom(params)
        return student_t_quantiles(*moments, scale2, nu, quantiles)

    def _exceedance(
        self, threshold: NDArray, moments: Moments, scale2: NDArray, params: NDArray
    ) -> NDArray:
        if not scale2.any():
            return super()._exceedance(threshold, moments, scale2, params)
        nu = self._degrees_of_freedom(params)
        return student_t_exceedance(threshold, *moments, scale2, nu)

    def _draw_standard(self, shape: tuple[int, ...], params: NDArray, rng: AnyGenerator) -> NDArray:
        nu = self._degrees_of_freedom(params)
        return np.asarray(rng.standard_normal(shape) / np.sqrt(rng.chisquare(nu, shape) / nu))

    def _variance_factor(self, params: NDArray) -> NDArray:
        nu = self._degrees_of_freedom(params)
        with np.errstate(divide="ignore"):
            return np.where(nu > 2.0, nu / (nu - 2.0), np.inf)


def _check_degrees_of_freedom(value: float | None) -> float | None:
    return positive_or_none(
        value,
        f"degrees_of_freedom must be a positive and finite number, or None to sample it; got "
        f"{shown(value)}. For Gaussian noise use Gaussian.",
    )


def _log_constant(nu: float) -> float:
    """Return log Gamma((nu + 1) / 2) - log Gamma(nu / 2) - log(nu pi) / 2, accurate for any nu."""
    x = 0.5 * nu
    if x >= _LARGE:
        inverse = 1.0 / x
        square = inverse * inverse
        value = 0.0
        for coefficient in reversed(_SERIES):
            value = value * square + coefficient
        return value * inverse - _HALF_LOG_2PI
    return math.lgamma(x + 0.5) - math.lgamma(x) - 0.5 * math.log(x) - _HALF_LOG_2PI


def _mixture_gains(
    variance: NDArray, distance2: NDArray, nu: float
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the posterior mean of a and of 1 - a, and the variance of a, each (n,).

    Parameters
    ----------
    variance, distance2 : ndarray of shape (n,)
        K and ``(y - m)^2`` in units of the squared scale of the noise.
    nu : float
    """

    def log_density(u: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return log p(u = log(lambda), y) up to a constant, a / K, and 1 - a."""
        factor = np.exp(u)
        rest = 1.0 / (1.0 + variance * factor)
        precision = factor * rest
        value = 0.5 * (nu * (u - factor) + u + np.log(rest) - distance2 * precision)
        return value, precision, rest

    peak = np.maximum(
        log_density(np.zeros_like(variance))[0],
        log_density(np.log((nu + 1.0) / (nu + distance2)))[0],
    )
    # Upper bounds of the density with the precision of y where it is best, and as lambda -> 0.
    best = np.maximum(variance, distance2)
    lowest = 2.0 * (peak - _LOG_TOLERANCE)
    lower = (lowest + np.log(best) + distance2 / best) / nu
    low, high = np.maximum(lower, lowest / (nu + 1.0)), np.log(-2.0 * lower)
    u = low + (high - low) * np.linspace(0.0, 1.0, _N_NODES)[:, np.newaxis]
    value, precision, rest = log_density(u)
    mass = np.exp(value - value.max(axis=0))
    mass /= mass.sum(axis=0)
    gain = variance * precision
    mean = (mass * gain).sum(axis=0)
    return mean, (mass * rest).sum(axis=0), (mass * (gain - mean) ** 2).sum(axis=0)
