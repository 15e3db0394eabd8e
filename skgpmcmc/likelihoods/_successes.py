"""Successes and failures, whatever the link and whatever is observed of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import MissingCapabilityError
from ._base import Likelihood

# Squares of larger ones overflow.
_LARGEST_LATENT = 1e150


class Successes(Likelihood):
    """P(success) is a symmetric, increasing function of the latent value."""

    @staticmethod
    @abstractmethod
    def link(latent: NDArray) -> NDArray:
        """P(success | latent)."""

    @staticmethod
    @abstractmethod
    def log_link(latent: NDArray) -> NDArray:
        """Logarithm of `link`, also where that is zero in floating point."""

    @staticmethod
    @abstractmethod
    def inverse_link(probability: NDArray) -> NDArray:
        """Latent value of a probability of success in [0, 1]; infinite at both ends."""

    @abstractmethod
    def success_probability(self, mean: ArrayLike, variance: ArrayLike) -> NDArray:
        """Probability of success for a latent value that is uncertain.

        Parameters
        ----------
        mean, variance : array-like, broadcast together
            Of the Gaussian distribution of the latent value; variance >= 0.

        Returns
        -------
        ndarray
            E[P(success | f)], f ~ N(mean, variance), in [0, 1].
        """

    def class_probabilities(self, mean: Sequence[NDArray], variance: Sequence[NDArray]) -> NDArray:
        """Probabilities of the classes of a group of latent functions, averaged over draws.

        Parameters
        ----------
        mean, variance : sequence of ndarray of shape (n_draws, n_rows)
            Moments of each latent function; here of a single one.

        Returns
        -------
        ndarray of shape (n_rows, n_functions)
        """
        pairs = zip(mean, variance, strict=True)
        return np.column_stack([self.success_probability(*pair).mean(axis=0) for pair in pairs])

    def log_class_weight(self, latent: NDArray) -> NDArray:
        """Logarithm of a class's probability, but for a factor that all classes share."""
        return self.log_link(np.clip(latent, -_LARGEST_LATENT, _LARGEST_LATENT))

    def log_density_of_successes(
        self, y: NDArray, trials: NDArray, mean: NDArray, variance: NDArray
    ) -> NDArray:
        """Log probability of numbers of successes in new rows, averaged over draws.

        Parameters
        ----------
        y, trials : ndarray of shape (n_rows,)
        mean, variance : ndarray of shape (n_draws, n_rows)
            Moments of f given each draw.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        MissingCapabilityError
            Unless the link is the logistic one.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} has no probabilities of several successes: these need the "
            "logit link and a single latent function."
        )
