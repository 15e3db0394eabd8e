"""Binary labels, whatever the link."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_rows
from ..exceptions import MissingCapabilityError
from ._base import Likelihood, Params
from ._sites import Sites


class Bernoulli(Likelihood):
    """Labels -1 and +1 with P(y = +1) a symmetric, increasing function of the latent value.

    A subclass defines `pointwise`, `success_probability`, `link` and `log_link`. For the
    parameters see `Likelihood`.
    """

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

    def sample(
        self,
        latent: NDArray,
        params: Params = (),
        rng: np.random.Generator | int | None = None,
    ) -> NDArray:
        """Draw one label, -1 or +1, per row; see `Likelihood.sample`."""
        probability = self.link(self._at_observations(latent))
        uniform = np.random.default_rng(rng).random(self.y.size)
        return np.where(uniform < probability, 1.0, -1.0)

    @abstractmethod
    def success_probability(self, mean: ArrayLike, variance: ArrayLike) -> NDArray:
        """Probability of the label +1 for a latent value that is uncertain.

        Parameters
        ----------
        mean, variance : array-like, broadcast together
            Of the Gaussian distribution of the latent value; variance >= 0.

        Returns
        -------
        ndarray
            E[P(y = +1 | f)], f ~ N(mean, variance), in [0, 1].
        """

    @staticmethod
    @abstractmethod
    def link(latent: NDArray) -> NDArray:
        """P(y = +1 | latent)."""

    @staticmethod
    @abstractmethod
    def log_link(latent: NDArray) -> NDArray:
        """Logarithm of `link`, also where that is zero in floating point."""
