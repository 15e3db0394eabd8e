"""Binary labels, whatever the link."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_rows
from ..exceptions import MissingCapabilityError
from ._base import Params
from ._new_observations import AnyGenerator, PerRow, Seed
from ._sites import Sites
from ._successes import Successes


class Bernoulli(Successes):
    """Labels -1 and +1 with P(y = +1) a symmetric, increasing function of the latent value.

    A subclass defines `pointwise`, `success_probability`, `link`, `log_link` and
    `inverse_link`. For the parameters see `Likelihood`.
    """

    support = "labels"

    def __init__(
        self,
        y: ArrayLike,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        super().__init__(
            y, latent_index=latent_index, sample_weight=sample_weight, n_latent=n_latent
        )
        hint = " Encode the two classes as -1.0 and +1.0."
        check_rows(self.y, np.abs(self.y) == 1.0, "y", "-1 or +1 in every row", hint)

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Not available: the log likelihood of a label has its maximum at infinity.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} has no Taylor sites: the log likelihood of a binary label has "
            "its maximum at plus or minus infinity."
        )

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one label, -1 or +1, per row; see `Likelihood.sample`."""
        probability = self.link(self._at_observations(latent))
        uniform = np.random.default_rng(rng).random(self.y.size)
        return np.where(uniform < probability, 1.0, -1.0)

    def log_density_given_draws(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Log probability of new labels given each draw; see `Likelihood`."""
        new = self.at_new_rows(mean.shape[1], y, **per_row)
        with np.errstate(divide="ignore"):
            return np.log(self.success_probability(new.y * mean, variance))

    def predictive_mean(
        self, mean: NDArray, variance: NDArray, params: ArrayLike = (), **per_row: PerRow
    ) -> NDArray:
        """Probability of a new label +1; see `Likelihood.predictive_mean`."""
        self.values_of_new_rows(mean.shape[1], per_row)  # checks names
        return np.asarray(self.success_probability(mean, variance).mean(axis=0))

    def predictive_sample(
        self, latent: NDArray, params: ArrayLike, rng: AnyGenerator, **per_row: PerRow
    ) -> NDArray:
        """Draw new labels given latent values; see `Likelihood.predictive_sample`."""
        self.values_of_new_rows(len(latent), per_row)  # checks names
        probability = self.link(latent)
        return np.where(rng.uniform(size=probability.shape) < probability, 1.0, -1.0)
