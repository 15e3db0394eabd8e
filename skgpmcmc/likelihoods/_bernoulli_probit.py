"""Binary labels with a probit link."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtr, ndtri, ndtri_exp

from ._augmentation import GaussianGivenAuxiliaries, SiteLikelihood
from ._base import Params
from ._bernoulli import Bernoulli
from ._sites import Sites


class BernoulliProbit(Bernoulli):
    """Binary labels with a probit link, ``P(y = +1 | f) = Phi(f)``.

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
    >>> from skgpmcmc.likelihoods import BernoulliProbit
    >>> likelihood = BernoulliProbit([1, -1])
    >>> likelihood.pointwise(np.array([-10.0, 0.0])).round(6)
    array([-53.231285,  -0.693147])
    >>> round(float(likelihood.success_probability(1.0, 4.0)), 6)
    0.67264
    """

    def _refresh(self) -> None:
        positive = self.y > 0.0
        self._n_positive = self._sum_per_latent(self._weighted(positive.astype(float)))
        self._n_negative = self._sum_per_latent(self._weighted((~positive).astype(float)))
        self._majority = np.where(self._n_positive >= self._n_negative, 1.0, -1.0)
        self._n_majority = np.maximum(self._n_positive, self._n_negative)
        self._n_minority = np.minimum(self._n_positive, self._n_negative)
        self._mixed = np.flatnonzero(self._n_minority)

    link = staticmethod(ndtr)
    log_link = staticmethod(log_ndtr)
    inverse_link = staticmethod(ndtri)

    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each label; see `Likelihood.pointwise`."""
        return log_ndtr(self.y * latent)

    def per_latent(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Sum over the labels of each latent value; see `Likelihood.per_latent`."""
        signed = self._majority * latent
        values = self._n_majority * log_ndtr(signed)
        if self._mixed.size:
            rare = log_ndtr(-signed[..., self._mixed])
            values[..., self._mixed] += self._n_minority[self._mixed] * rare
        return values

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all labels; see `Likelihood.log_likelihood`."""
        signed = self._majority * latent
        total = float(self._n_majority.dot(log_ndtr(signed)))
        if self._mixed.size:
            rare = log_ndtr(-signed[self._mixed])
            total += float(self._n_minority[self._mixed].dot(rare))
        return total

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """Exact derivatives; see `Likelihood.derivatives`."""
        latent = np.asarray(latent, dtype=float)
        up, up_sum = _hazard(latent)
        down, down_sum = _hazard(-latent)
        gradient = self._n_positive * up - self._n_negative * down
        second = -self._n_positive * up * up_sum - self._n_negative * down * down_sum
        return gradient, second

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Moment-matching sites; arguments as in `Likelihood.fit_sites`.

        In closed form for single labels (Rasmussen and Williams 2006, equation 3.58), rearranged
        so that small and large prior variances do not cancel; generic quadrature otherwise.
        """
        if not self._simple:
            return super().moment_sites(prior_mean, prior_variance, params)
        mean, variance = self._site_prior(prior_mean, prior_variance)
        label = self._n_positive - self._n_negative
        scale = np.sqrt(1.0 + variance)
        hazard, hazard_sum = _hazard(label * mean / scale)
        curvature = hazard * hazard_sum
        shrinkage = 1.0 + variance * (1.0 - curvature)  # (1 + K) v / K
        precision = curvature / shrinkage
        return Sites(precision, label * hazard * scale / shrinkage + mean * precision)

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw u ~ N(f, 1) with the sign of each label (Albert and Chib 1993).

        See `Likelihood.augment`; the draws are by inversion, exact in both tails.
        """
        rows, index = self._copies()
        label = self.y[rows]
        signed = label * latent[index]
        uniform = 1.0 - rng.random(signed.size)  # in (0, 1]
        distance = signed - ndtri_exp(np.log(uniform) + log_ndtr(signed))
        n_labels = np.bincount(index, minlength=self.n_latent).astype(float)
        total = np.bincount(index, label * distance, minlength=self.n_latent)
        return SiteLikelihood(Sites(n_labels, total))

    def success_probability(self, mean: ArrayLike, variance: ArrayLike) -> NDArray:
        """Probability of the label +1 for a latent value that is uncertain; exact.

        Parameters
        ----------
        mean, variance : array-like, broadcast together
            Of the Gaussian distribution of the latent value; variance >= 0.

        Returns
        -------
        ndarray
            E[P(y = +1 | f)], f ~ N(mean, variance), in [0, 1].
        """
        mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
        tail = ndtr(-np.abs(mean) / np.sqrt(1.0 + variance))
        return np.where(mean > 0.0, 1.0 - tail, tail)


# Below this argument z + hazard(z) cancels; Laplace's continued fraction takes over.
_TAIL_START = -10.0
_TAIL_LEVELS = 16


def _hazard(z: NDArray) -> tuple[NDArray, NDArray]:
    """``r = N(z) / Phi(z)`` and ``z + r``, both to full relative accuracy."""
    hazard = np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0))
    hazard_sum = z + hazard
    tail = z < _TAIL_START
    if tail.any():
        distance = -z[tail]
        fraction = distance
        for level in range(_TAIL_LEVELS, 1, -1):
            fraction = distance + level / fraction
        hazard_sum[tail] = 1.0 / fraction
    return hazard, hazard_sum
