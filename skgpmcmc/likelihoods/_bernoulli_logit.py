"""Binary labels with a logistic link."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, ndtr

from ._augmented import GaussianGivenAuxiliaries, SiteLikelihood
from ._base import Likelihood, Params
from ._bernoulli import Bernoulli
from ._polya_gamma import polya_gamma
from ._sites import Sites


class BernoulliLogit(Bernoulli):
    """Binary labels with a logistic link, ``P(y = +1 | f) = 1 / (1 + exp(-f))``.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Labels, each -1 or +1.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
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
        super()._refresh()
        self._n_labels = self._n_positive + self._n_negative
        self._half_labels = 0.5 * self._n_labels
        self._half_balance = 0.5 * (self._n_positive - self._n_negative)

    link = staticmethod(expit)

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each label; see `Likelihood.pointwise`."""
        return log_expit(self.y * latent)

    def per_latent(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Sum over the labels of each latent value; see `Likelihood.per_latent`."""
        size = np.abs(latent, dtype=float)
        linear = self._half_balance * latent - self._half_labels * size
        return linear - self._n_labels * np.log1p(np.exp(-size))

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all labels; see `Likelihood.log_likelihood`.

        Uses ``log sigma(y f) = (y f - |f|) / 2 - log(1 + exp(-|f|))``, in place: about half the
        time of `numpy.logaddexp`.
        """
        size = np.abs(latent, dtype=float)
        linear = float(self._half_balance.dot(latent)) - float(self._half_labels.dot(size))
        np.negative(size, out=size)
        np.exp(size, out=size)
        np.log1p(size, out=size)
        return linear - float(self._n_labels.dot(size))

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        success, failure = expit(latent), expit(-np.asarray(latent))
        gradient = self._n_positive * failure - self._n_negative * success
        return gradient, -self._n_labels * success * failure

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Moment-matching sites; arguments as in `Likelihood.fit_sites`.

        For single labels the quadrature over the prior is done once and for all: the logistic
        function is a mixture of probit functions (see `success_probability`), so the normaliser
        and its derivatives in the prior mean are sums over fixed nodes. Repeated or weighted
        labels, and labels that the prior all but rules out, take the generic quadrature.
        """
        if not self._simple:
            return super().moment_sites(prior_mean, prior_variance, params)
        mean, variance = self._site_prior(prior_mean, prior_variance)
        label = self._n_positive - self._n_negative
        normaliser, slope, bend = _mixture_derivatives(label * mean, variance)
        likely = normaliser > _SMALLEST_NORMALISER
        normaliser = np.where(likely, normaliser, 1.0)
        slope /= normaliser
        curvature = slope**2 - bend / normaliser
        shrinkage = 1.0 - variance * curvature
        precision = curvature / shrinkage
        sites = Sites(precision, label * slope / shrinkage + mean * precision)
        if not likely.all():
            rest = np.flatnonzero(~likely)
            generic = Likelihood.moment_sites(self._select(rest), mean[rest], variance[rest])
            sites.precision[rest], sites.shift[rest] = generic
        return sites

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw Polya-Gamma variables (Polson, Scott and Windle 2013); see `Likelihood.augment`.

        With w ~ PG(n, f), n labels of a latent value make exp(h f - w f^2 / 2), where h is half
        of the positive labels' surplus.

        Raises
        ------
        MissingCapabilityError
            For weights that are not whole numbers.
        """
        _, index = self._copies()
        n_labels = np.bincount(index, minlength=self.n_latent)
        precision = polya_gamma(n_labels, latent, rng)
        return SiteLikelihood(Sites(precision, self._half_balance))

    def success_probability(self, mean: ArrayLike, variance: ArrayLike) -> NDArray:
        """Probability of the label +1 for a latent value that is uncertain.

        Parameters
        ----------
        mean, variance : array-like, broadcast together
            Of the Gaussian distribution of the latent value; variance >= 0.

        Returns
        -------
        ndarray
            E[P(y = +1 | f)], f ~ N(mean, variance), in [0, 1]; the values for ``mean`` and
            ``-mean`` sum to one. Absolute error below 1e-14 for every mean and variance.

        Notes
        -----
        A logistic variable is a Gaussian one with standard deviation twice a Kolmogorov variable
        (Andrews and Mallows 1974), so the integral is a mixture of probit integrals, each in
        closed form. The density of the Kolmogorov variable's logarithm falls off doubly
        exponentially on both sides: the trapezoidal rule with 33 nodes is exact to rounding.
        """
        mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
        distance = -np.abs(mean)
        tail = np.zeros(np.broadcast_shapes(mean.shape, variance.shape))
        for node, weight in zip(_MIXTURE_VARIANCES, _MIXTURE_WEIGHTS, strict=True):
            tail += weight * ndtr(distance / np.sqrt(node + variance))
        return np.where(mean > 0.0, 1.0 - tail, tail)


def _logistic_scale_mixture() -> tuple[NDArray, NDArray]:
    """Variances and weights of Gaussians whose mixture is the standard logistic distribution."""
    step = 0.1
    scale = 0.17 * np.exp(step * np.arange(33))
    order = np.arange(1, 30)[:, np.newaxis]
    # The density of Kolmogorov's distribution by its two series, each where it converges fast.
    sign = np.where(order % 2 == 1, 1.0, -1.0)
    upper = 8.0 * scale * (sign * order**2 * np.exp(-2.0 * (order * scale) ** 2)).sum(axis=0)
    rate = ((2 * order - 1) * np.pi) ** 2 / 8.0
    terms = (2.0 * rate / scale**4 - 1.0 / scale**2) * np.exp(-rate / scale**2)
    density = np.where(scale > 1.0, upper, np.sqrt(2.0 * np.pi) * terms.sum(axis=0))
    weight = scale * density
    return 4.0 * scale**2, weight / weight.sum()


_MIXTURE_VARIANCES, _MIXTURE_WEIGHTS = _logistic_scale_mixture()

# Where the normaliser is smaller, the mixture's absolute error of 1e-16 begins to count.
_SMALLEST_NORMALISER = 1e-5


def _mixture_derivatives(mean: NDArray, variance: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """E[sigma(f)], f ~ N(mean, variance), and its two first derivatives in the mean."""
    scale = np.sqrt(_MIXTURE_VARIANCES[:, np.newaxis] + variance)
    z = mean / scale
    density = np.exp(-0.5 * z**2) / (np.sqrt(2.0 * np.pi) * scale)
    weight = _MIXTURE_WEIGHTS
    return weight @ ndtr(z), weight @ density, -(weight @ (density * z / scale))
