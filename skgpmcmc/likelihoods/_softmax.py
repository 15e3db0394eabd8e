"""One class against the others, given their latent functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax

from ..exceptions import MissingCapabilityError
from ._augmentation import GaussianGivenAuxiliaries, SiteLikelihood
from ._base import Likelihood, Params
from ._bernoulli_logit import BernoulliLogit
from ._new_observations import PerRow
from ._sites import Sites
from .predictive._mixtures import mean_softmax

# Of quadrature nodes, for the probabilities of classes given one draw.
_N_NODE_SETS = 16


class SoftmaxClass(BernoulliLogit):
    """Softmax likelihood as a function of one class's latent values alone.

    Given the latent values of the other classes, with o the logarithm of the sum of their
    exponentials, an observation of this class has the probability sigmoid(f - o), and one of
    another class a probability proportional to sigmoid(o - f): a binary logit likelihood with
    an offset.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        1 for observations of this class, -1 for all others.
    n_classes : int
        Number of classes, at least two.
    latent_index, sample_weight : array-like of shape (n_obs,), default=None
        See `Likelihood`.
    n_latent : int, default=None
        See `Likelihood`.

    Notes
    -----
    Sites are fitted with the offset of equal latent values, log(n_classes - 1): they must not
    depend on what moves, and one fit for each label is cheap.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import SoftmaxClass
    >>> likelihood = SoftmaxClass([1, -1], n_classes=3)
    >>> likelihood.condition_on([np.zeros(2), np.zeros(2)])  # of the two other classes
    >>> round(float(np.exp(likelihood.log_likelihood(np.zeros(2)))), 6)  # 1/3 times 2/3
    0.222222
    """

    def __init__(
        self,
        y: ArrayLike,
        n_classes: int,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        super().__init__(
            y, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )
        self._typical_offset = math.log(n_classes - 1)
        self._offset: NDArray | float = self._typical_offset

    def condition_on(self, others: Sequence[NDArray]) -> None:
        """Set the latent values of the other classes, each of shape (n_latent,)."""
        self._offset = logsumexp(np.stack(others), axis=0)

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations; see `Likelihood.log_likelihood`."""
        return super().log_likelihood(latent - self._offset, params)

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw Polya-Gamma variables given the other classes; see `Likelihood.augment`."""
        sites = super().augment(latent - self._offset, params, rng).gaussian_sites()
        return SiteLikelihood(Sites(sites.precision, sites.shift + self._offset * sites.precision))

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Sites at the typical offset; arguments as in `Likelihood.fit_sites`."""
        offset = self._typical_offset
        mean = np.asarray(prior_mean, dtype=float) - offset
        sites = super().moment_sites(mean, prior_variance, params)
        return Sites(sites.precision, sites.shift + offset * sites.precision)

    def log_likelihood_of_rows(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> NDArray:
        """Weighted log probability of each row's class; see `Likelihood`.

        The group has one likelihood for each class.
        """
        at_rows = [self._at_observations(np.asarray(latent, dtype=float)) for latent in latents]
        own = np.empty_like(at_rows[0])
        labels = self._labels(group)
        for label, latent in enumerate(at_rows):
            rows = np.flatnonzero(labels == label)
            own[..., rows] = latent[..., rows]
        total, below = np.zeros_like(own), np.empty_like(own)
        with np.errstate(over="ignore", invalid="ignore"):
            for latent in at_rows:  # arrays of all classes would leave the cache
                np.subtract(latent, own, out=below)
                total += np.exp(below, out=below)
        if not math.isfinite(total.sum()):  # an overflow, or NaN
            return self._weighted(own - logsumexp(at_rows, axis=0))
        return self._weighted(np.negative(np.log(total, out=total), out=total))

    def curvatures(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> list[NDArray]:
        """Return p (1 - p), summed for each latent value; see `Likelihood.curvatures`."""
        shares = softmax(self._at_observations(np.stack(latents)), axis=0)
        return [self._sum_per_latent(self._weighted(p * (1.0 - p))) for p in shares]

    def row_gradients(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> NDArray:
        """Return 1 - p for the row's class, and -p for all others; see `Likelihood`."""
        shares = softmax(self._at_observations(np.stack(latents)), axis=0)
        is_class = np.arange(len(group))[:, np.newaxis] == self._labels(group)
        shape = (len(group), *(1,) * (shares.ndim - 2), is_class.shape[1])
        return np.asarray(is_class.reshape(shape) - shares)

    @staticmethod
    def _labels(group: Sequence[Likelihood]) -> NDArray:
        return np.argmax([likelihood.y for likelihood in group], axis=0)

    def log_density_of_rows(
        self,
        group: Sequence[Likelihood],
        means: Sequence[NDArray],
        variances: Sequence[NDArray],
        params: Params = (),
    ) -> NDArray:
        """Weighted log probability of each row's class given moments; see `Likelihood`."""
        classes = self._labels(group)
        # As so many draws, each of which has other nodes.
        moments = [
            np.repeat(self._at_observations(np.stack(each))[:, np.newaxis], _N_NODE_SETS, axis=1)
            for each in (means, variances)
        ]
        probabilities = mean_softmax(*moments)
        return self._weighted(np.log(probabilities[np.arange(len(classes)), classes]))

    def class_probabilities(self, mean: Sequence[NDArray], variance: Sequence[NDArray]) -> NDArray:
        """Probabilities of all classes, averaged over draws; see `Successes`."""
        return mean_softmax(np.array(mean), np.array(variance))

    def log_class_weight(self, latent: NDArray) -> NDArray:
        """Return the latent value itself; see `Successes`."""
        return latent

    def log_density_of_successes(
        self, y: NDArray, trials: NDArray, mean: NDArray, variance: NDArray
    ) -> NDArray:
        """Not available for one class alone.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        raise self._needs_all_classes()

    def log_density_given_draws(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Not available for one class alone; see `class_probabilities`.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        raise self._needs_all_classes()

    def predictive_mean(
        self, mean: NDArray, variance: NDArray, params: ArrayLike = (), **per_row: PerRow
    ) -> NDArray:
        """Not available for one class alone; see `class_probabilities`.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        raise self._needs_all_classes()

    @staticmethod
    def _needs_all_classes() -> MissingCapabilityError:
        return MissingCapabilityError(
            "SoftmaxClass depends on the latent functions of all classes, and has no predictions "
            "from one of them alone. class_probabilities takes all."
        )
