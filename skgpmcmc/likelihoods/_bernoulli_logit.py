"""Binary labels with a logistic link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, ndtr

from ._base import Likelihood, Params
from ._bernoulli import Bernoulli
from ._logistic import Logistic
from ._sites import Sites
from .predictive._logistic_normal import MIXTURE_VARIANCES, MIXTURE_WEIGHTS

# Where the normaliser is smaller, the mixture's absolute error of 1e-16 begins to count.
_SMALLEST_NORMALISER = 1e-5


class BernoulliLogit(Logistic, Bernoulli):
    """Binary labels with a logistic link, ``P(y = +1 | f) = 1 / (1 + exp(-f))``.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Labels, each -1 or +1.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
        See `Likelihood`.
    n_latent : int, default=None
        See `Likelihood`.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or holds a value that is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import BernoulliLogit
    >>> likelihood = BernoulliLogit([1, -1])
    >>> likelihood.pointwise(np.array([-800.0, 0.0])).round(6)
    array([-8.00000e+02, -6.93147e-01])
    >>> round(float(likelihood.success_probability(1.0, 4.0)), 6)
    0.647726
    """

    def _refresh(self) -> None:
        positive = self.y > 0.0
        self._count(positive.astype(float), (~positive).astype(float))

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each label; see `Likelihood.pointwise`."""
        return log_expit(self.y * latent)

    def log_likelihood_of_rows(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> NDArray:
        """Weighted log probability of each label; see `Likelihood`.

        In place, a quarter of the time of `log_expit`.
        """
        if len(group) > 1:
            return super().log_likelihood_of_rows(group, latents, params)
        latent = self._at_observations(latents[0])
        size = np.abs(latent, dtype=float)
        np.exp(np.negative(size, out=size), out=size)
        values = np.minimum(self.y * latent, 0.0)
        values -= np.log1p(size, out=size)
        return self._weighted(values)

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Moment-matching sites; arguments as in `Likelihood.fit_sites`.

        For single labels the quadrature over the prior is done once and for all: the logistic
        function is a mixture of probit functions (see `logistic_normal_mean`), so the normaliser
        and its derivatives in the prior mean are sums over fixed nodes. Repeated or weighted
        labels, and labels that the prior all but rules out, take the generic quadrature.
        """
        if not self._simple:
            return super().moment_sites(prior_mean, prior_variance, params)
        mean, variance = self._site_prior(prior_mean, prior_variance)
        label = self._n_successes - self._n_failures
        normaliser, gradient, second = _mixture_derivatives(label * mean, variance)
        likely = normaliser > _SMALLEST_NORMALISER
        normaliser = np.where(likely, normaliser, 1.0)
        gradient /= normaliser
        curvature = gradient**2 - second / normaliser
        shrinkage = 1.0 - variance * curvature
        precision = curvature / shrinkage
        sites = Sites(precision, label * gradient / shrinkage + mean * precision)
        if not likely.all():
            rest = np.flatnonzero(~likely)
            generic = Likelihood.moment_sites(self.of_latents(rest), mean[rest], variance[rest])
            sites.precision[rest], sites.shift[rest] = generic
        return sites


def _mixture_derivatives(mean: NDArray, variance: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """E[sigma(f)], f ~ N(mean, variance), and its two first derivatives in the mean."""
    scale = np.sqrt(MIXTURE_VARIANCES[:, np.newaxis] + variance)
    z = mean / scale
    density = np.exp(-0.5 * z**2) / (np.sqrt(2.0 * np.pi) * scale)
    weight = MIXTURE_WEIGHTS
    return weight @ ndtr(z), weight @ density, -(weight @ (density * z / scale))
