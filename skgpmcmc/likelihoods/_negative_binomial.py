"""Overdispersed counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit, wrightomega

from .._checks import check_vector, shown
from ._augmentation import GaussianGivenAuxiliaries, SiteLikelihood
from ._base import Params
from ._checks import check_counts, check_exposure, positive_or_none
from ._counts import LARGEST_RATE, Counts
from ._new_observations import AnyGenerator, Moments, Seed
from ._polya_gamma import polya_gamma
from ._sites import Sites
from ._special import log_binomial
from .predictive._logistic import negative_binomial_log_pmf, negative_binomial_quantiles

_SMALLEST = float(np.finfo(float).tiny)
# New counts cannot tell less dispersion from none.
SMALLEST_DISPERSION = 1e-15
# The square of a half-normal variable of scale 1, the coefficient of variation of rates: much
# dispersion is unlikely, and none, Poisson's, is not far away.
_DISPERSION_PRIOR = stats.gamma(0.5, scale=2.0)
# Newton steps towards the modes of site posteriors. Over a longer one the curvature may change
# by more than a factor e.
_MOST_STEPS = 50
_LONGEST_STEP = 1.0
_SMALLEST_STEP = 1e-9


class NegativeBinomial(Counts):
    """Counts with log rate f that vary more than Poisson's.

    Mean ``mu = exposure * exp(f)``, variance ``mu + dispersion * mu^2``: Poisson counts whose
    rates vary from observation to observation with the squared coefficient of variation
    `dispersion`. In the limit of none it is the Poisson likelihood.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Counts: whole numbers, zero or larger.
    exposure : array-like of shape (n_obs,), default=None
        Positive and finite: the time, area or population in which the events were counted;
        ``exp(f)`` is the rate per unit. None: one each.
    dispersion : float, default=None
        Positive. None: a hyperparameter of the name ``dispersion``.
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
    With ``r = 1 / dispersion`` and ``t = f + log(exposure) - log(r)`` an observation has the
    probability ``Gamma(y + r) / (Gamma(r) y!) sigma(t)^y sigma(-t)^r``, sigma the logistic
    function: log-concave in f, and made Gaussian by Polya-Gamma variables. Their density is not
    known as a function of r.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import NegativeBinomial, Poisson
    >>> likelihood = NegativeBinomial([2, 0], exposure=[1.0, 0.5], dispersion=0.5)
    >>> round(likelihood.log_likelihood(np.zeros(2)), 4)
    -2.3558
    >>> almost_poisson = NegativeBinomial([2, 0], exposure=[1.0, 0.5], dispersion=1e-12)
    >>> round(almost_poisson.log_likelihood(np.zeros(2)), 4)
    -2.1931
    >>> NegativeBinomial([2, 0]).parameters
    ('dispersion',)
    """

    site_fit = "laplace"
    holds_parameters = True

    def __init__(
        self,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        dispersion: float | None = None,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        counts = check_counts(check_vector(y, "y"))
        self.exposure = check_exposure(exposure, counts.size)
        self.dispersion = _check_dispersion(dispersion)
        self.parameters = ("dispersion",) if dispersion is None else ()
        super().__init__(
            counts, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )

    def _refresh(self) -> None:
        """Sum the observations of the same latent value and exposure, in a fixed order."""
        exposure = self._exposures()
        self._offset = np.log(exposure)
        weight = np.ones_like(self.y) if self.sample_weight is None else self.sample_weight
        self._group(exposure, weight)
        # Gamma functions, once for each count that occurs.
        self._counts, place = np.unique(self.y, return_inverse=True)
        self._count_weights = np.bincount(place.reshape(-1), weights=weight)
        self._coefficient = math.nan, math.nan

    def _group(self, exposure: NDArray, weight: NDArray) -> None:
        """Sum over groups; a latent value without observations has one of no weight."""
        nothing = np.zeros(self._unobserved.size)
        index = np.append(self._full_index(), self._unobserved)
        exposure, weight = np.append(exposure, nothing + 1.0), np.append(weight, nothing)
        y = np.append(self.y, nothing)
        order = np.lexsort((exposure, index))
        new = np.diff(index[order], prepend=-1) != 0
        starts = np.flatnonzero(new | (np.diff(exposure[order], prepend=-1.0) != 0.0))
        self._group_latent = index[order][starts]
        self._group_offset = np.log(exposure[order][starts])
        self._group_count = np.add.reduceat((weight * y)[order], starts)
        self._group_weight = np.add.reduceat(weight[order], starts)

    def _shape(self, params: Params) -> float:
        """Return r; NaN for a sampled dispersion that is impossible."""
        if len(params) != len(self.parameters):
            raise ValueError(
                f"this NegativeBinomial needs params=({', '.join(self.parameters)}), got "
                f"{len(params)} values. Pass them, or fix the dispersion."
            )
        dispersion = params[0] if self.dispersion is None else self.dispersion
        return 1.0 / float(dispersion) if _SMALLEST <= dispersion < math.inf else math.nan

    def _log_coefficient(self, shape: float) -> float:
        """Return the part that does not depend on f; the last one is kept."""
        kept_shape, value = self._coefficient
        if kept_shape != shape:
            value = float(self._count_weights.dot(log_binomial(self._counts, shape)))
            self._coefficient = shape, value
        return value

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""
        shape = self._shape(params)
        t = latent + (self._offset - math.log(shape))
        value = log_binomial(self.y, shape) + self.y * np.minimum(t, 0.0)
        value -= shape * np.maximum(t, 0.0)
        return value - (self.y + shape) * np.log1p(np.exp(-np.abs(t)))

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`.

        With ``log sigma(t) = min(t, 0) - log(1 + exp(-|t|))`` nothing cancels where r is huge.
        """
        shape = self._shape(params)
        t = latent[self._group_latent] + (self._group_offset - math.log(shape))
        size = np.abs(t)
        failures = shape * self._group_weight
        linear = float(self._group_count.dot(np.minimum(t, 0.0)))
        linear -= float(failures.dot(np.maximum(t, 0.0)))
        np.negative(size, out=size)
        np.exp(size, out=size)
        np.log1p(size, out=size)
        curved = float((self._group_count + failures).dot(size))
        return linear - curved + self._log_coefficient(shape)

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        shape = self._shape(params)
        t = self._at_observations(np.asarray(latent, dtype=float))
        t = t + (self._offset - math.log(shape))
        success, failure = expit(t), expit(-t)
        gradient = self._weighted(self.y * failure - shape * success)
        second = self._weighted((self.y + shape) * (success * failure))
        return self._sum_per_latent(gradient), -self._sum_per_latent(second)

    def laplace_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Laplace sites; arguments as in `Likelihood.fit_sites`.

        By Newton's method from the mode that the Poisson likelihood has; generic where
        observations of a latent value differ in exposure.
        """
        if self._group_latent.size != self.n_latent:
            return super().laplace_sites(prior_mean, prior_variance, params)
        mean, variance = self._site_prior(prior_mean, prior_variance)
        count, weight = self._group_count, self._group_weight
        shape = self._shape(params)
        offset = self._group_offset - math.log(shape)
        failures = shape * weight
        largest_mode = mean + variance * count
        seen = weight > 0.0
        log_scale = np.log(variance * np.where(seen, weight, 1.0)) + self._group_offset
        mode = largest_mode - np.where(seen, wrightomega(log_scale + largest_mode), 0.0)
        for _ in range(_MOST_STEPS):
            success, failure = expit(mode + offset), expit(-mode - offset)
            gradient = count * failure - failures * success
            precision = (count + failures) * (success * failure)
            step = (gradient - (mode - mean) / variance) / (precision + 1.0 / variance)
            if not (np.abs(step) > _SMALLEST_STEP).any():
                break
            mode = mode + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        return Sites(precision, precision * mode + gradient)

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Expansion at ``f = log(y / exposure)``; zero where no events were counted.

        Generic where observations of a latent value differ in exposure. See
        `Likelihood.taylor_sites`.
        """
        if self._group_latent.size != self.n_latent:
            return super().taylor_sites(params)
        events = self._group_count > 0.0
        count, weight = np.where(events, (self._group_count, self._group_weight), 1.0)
        total = weight * self._shape(params)
        precision = np.where(events, count * (total / (count + total)), 0.0)
        return Sites(precision, precision * (np.log(count / weight) - self._group_offset))

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw Polya-Gamma variables (Polson, Scott and Windle 2013); see `Likelihood.augment`.

        With w ~ PG(y + r, t) an observation makes exp(k t - w t^2 / 2), where k = (y - r) / 2.
        Weights multiply y and r.
        """
        shape = self._shape(params)
        offset = self._group_offset - math.log(shape)
        index, failures = self._group_latent, shape * self._group_weight
        precision = polya_gamma(self._group_count + failures, latent[index] + offset, rng)
        shift = 0.5 * (self._group_count - failures) - precision * offset
        return SiteLikelihood(
            Sites(
                np.bincount(index, precision, minlength=self.n_latent),
                np.bincount(index, shift, minlength=self.n_latent),
            )
        )

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one count per row; see `Likelihood.sample`."""
        generator, shape = np.random.default_rng(rng), self._shape(params)
        rate = np.exp(self._at_observations(latent) + self._offset)
        rate *= generator.standard_gamma(shape, size=self.y.size) / shape
        return generator.poisson(np.minimum(rate, LARGEST_RATE)).astype(float)

    def default_prior(self, name: str) -> Any:
        """Gamma distributed with shape 1/2 and scale 2; see `Likelihood.default_prior`."""
        return _DISPERSION_PRIOR

    def _dispersions(self, params: NDArray) -> NDArray:
        """Return the dispersion of each draw."""
        if self.dispersion is not None:
            return np.full(len(params), self.dispersion)
        return np.maximum(params[:, 0], SMALLEST_DISPERSION)

    def _log_pmf(self, y: NDArray, moments: Moments, exposure: NDArray, params: NDArray) -> NDArray:
        return negative_binomial_log_pmf(y, *moments, exposure, self._dispersions(params))

    def _quantiles(
        self, quantiles: ArrayLike, moments: Moments, exposure: NDArray, params: NDArray
    ) -> NDArray:
        dispersion = self._dispersions(params)
        return negative_binomial_quantiles(*moments, exposure, dispersion, quantiles)

    def _draw(self, rate: NDArray, params: NDArray, rng: AnyGenerator) -> NDArray:
        shape = 1.0 / self._dispersions(params)
        rate = rate * rng.standard_gamma(shape, size=rate.shape) / shape
        return np.asarray(rng.poisson(np.minimum(rate, LARGEST_RATE)))


def _check_dispersion(value: float | None) -> float | None:
    return positive_or_none(
        value,
        f"dispersion must be positive and finite, or None to sample it; got "
        f"{shown(value)}. For counts without overdispersion use Poisson.",
    )
