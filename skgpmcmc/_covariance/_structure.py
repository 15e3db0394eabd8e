"""The structure of a covariance, chosen once for a model: one dense matrix, a grid, ..."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from sklearn.gaussian_process.kernels import Kernel

from ._base import Covariance
from ._kernel_checks import describe_fault

_MOST_ROWS_OF_A_MESSAGE = 500


class CovarianceStructure(ABC):
    """How the covariance of the latent variables is stored and factored.

    An instance belongs to a model and is shared by its chains, so it holds no buffers. Only this
    class is asked about the structure: a new one needs no change in chains and representations.

    Attributes
    ----------
    capabilities : frozenset of str
        What its covariances have beside the methods that all have. Representations name what
        they need in `Representation.requires`:

        - ``"any precisions"``: pseudo-posteriors whose sites have different precisions;
        - ``"marginal variances"``: `marginal_variance` of pseudo-posteriors;
        - ``"added noise"``: `noisy_factor`, `factor_beside` and, where `has_gradient` says so,
          `log_normal_gradient`;
        - ``"pseudo-posterior gradient"``: `pseudo_posterior_gradient`;
        - ``"posterior coordinates"``: `posterior_coordinates` and `factor_at`.
    keeps_latents : bool
        Whether draws keep the latent variables themselves, or others; see `kept_inputs`.
    alternatives : tuple of CovarianceStructure
        Others for the same covariance, in the order in which they are tried where this one
        cannot be used. A structure that approximates the covariance has none: another one would
        sample another model.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    keeps_latents: ClassVar[bool] = True
    alternatives: ClassVar[tuple[CovarianceStructure, ...]] = ()

    def check_inputs(self, X: Any) -> None:  # noqa: B027 - a hook; most take any inputs
        """Raise a ValueError for inputs of the latent variables that do not have this structure."""

    def fits(self, kernel: Kernel, integrates_mean: bool) -> bool:
        """Return whether the covariance has this structure.

        Parameters
        ----------
        kernel : sklearn.gaussian_process.kernels.Kernel
            Of the latent function.
        integrates_mean : bool
            Whether a constant is added to every entry, for a mean that is integrated out.
        """
        return True

    @abstractmethod
    def covariance(
        self, kernel: Kernel, X: Any, jitter: float, offset_variance: float, gradient: bool
    ) -> Covariance[Any]:
        """Return the covariance of one chain, with buffers of its own.

        Parameters
        ----------
        kernel : sklearn.gaussian_process.kernels.Kernel
            For which `fits` is true.
        X : array-like of length n
            Inputs of the latent variables.
        jitter : float
            Added to the diagonal, relative to it.
        offset_variance : float
            Added to every entry.
        gradient : bool
            Whether `log_normal_gradient` will be called.
        """

    @abstractmethod
    def memory(self, kernel: Kernel, X: Any, gradient: bool) -> float:
        """Return the bytes that a chain needs beside its draws, at most about that many."""

    def has_gradient(self, kernel: Kernel, rows: Any) -> bool:
        """Return whether covariances have `log_normal_gradient`, given a few rows."""
        return False

    def has_fast_gradient(self, kernel: Kernel, rows: Any) -> bool:
        """Return whether that gradient costs little more than the covariance."""
        return False

    def kept_inputs(self, X: Any) -> Any:
        """Return where draws keep the latent function, given the inputs of all latent variables.

        See `Covariance.kept_latents`.
        """
        return X

    def conditioned_on(self, X: Any) -> Any:
        """Return the inputs of the latent variables, as the class of predictions takes them.

        See `skgpmcmc._prediction._registry`.
        """
        return X

    def describe_fault(self, kernel: Kernel, X: Any, tolerance: float) -> str:
        """Return what is wrong with the covariance of a kernel at X, or an empty string.

        Of the first rows only: whole matrices may be too large.
        """
        return describe_fault(kernel, X[:_MOST_ROWS_OF_A_MESSAGE], tolerance)
