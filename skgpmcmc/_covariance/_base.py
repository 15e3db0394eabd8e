"""The interface of a covariance: from log hyperparameters to factors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from .._linalg import Array
from ..exceptions import MissingCapabilityError

_DENSE_ONLY = "noise of any variances can only be added to a covariance in dense form."


class Factor(Protocol):
    """A square root of a covariance, K = L L^T, in whatever form; see `CholeskyFactor`."""

    @property
    def theta(self) -> Array:
        """Logarithms of the kernel's free hyperparameters."""

    @property
    def n(self) -> int:
        """Number of latent variables."""

    @property
    def variance(self) -> float | Array:
        """The diagonal of K; a float where all entries are equal."""

    @property
    def half_log_det(self) -> float:
        """Log |K| / 2."""

    def colour(self, whitened: Array) -> Array:
        """Return L z."""

    def colour_columns(self, whitened: Array) -> Array:
        """Return L Z for the columns of Z."""

    def colour_transpose(self, vector: Array) -> Array:
        """Return L^T x."""

    def whiten(self, deviation: Array) -> Array:
        """Return z with L z = f - m."""

    def solve(self, vector: Array) -> Array:
        """Return K^-1 x."""

    def log_normal(self, whitened: Array) -> float:
        """Return log N(f; m, K) up to the constant -n log(2 pi) / 2, given z."""


class AnyPseudoPosterior(Protocol):
    """A square root U of I + L^T W L, in whatever form; see `PseudoPosterior`."""

    @property
    def half_log_det(self) -> float:
        """Log |U|."""

    def project(self, shift: Array, mean: float) -> Array:
        """Return b = U^-1 L^T (h - W m)."""

    def whiten(self, whitened: Array, projection: Array) -> Array:
        """Return eta = U^T z - b."""

    def colour(self, eta: Array, projection: Array) -> Array:
        """Return z = U^-T (eta + b)."""

    def colour_columns(self, eta: Array) -> Array:
        """Return U^-T eta for the columns of eta."""


class PseudoPosteriorWithVariances(AnyPseudoPosterior, Protocol):
    """What structures with the capability ``"marginal variances"`` have."""

    def marginal_variance(self) -> Array:
        """Return the diagonal of L U^-T U^-1 L^T, the variances of the latent variables."""


class PosteriorCoordinates(Protocol):
    """Coordinates eta of latent variables, with sites exp(-w x^2 / 2 + r x) of x = f - m.

    N(f; m, K) times the sites is Z times the density of f that standard normal eta give.

    Attributes
    ----------
    log_evidence : float
        log Z.
    """

    log_evidence: float

    def deviation(self, eta: Array) -> Array:
        """Return f - m."""

    def coordinates(self, deviation: Array, factor: Any, rng: np.random.Generator) -> Array:
        """Return eta given f - m: where there are more coordinates than values, one at random."""

    def gradient(self, eta: Array, score: Array) -> PseudoPosteriorGradient:
        """Return the gradient of score . (f - m) + log Z - eta . eta / 2, score held fixed.

        That along the residual is the one along r, for a mean m that r depends on.
        """


#: The form in which a covariance keeps its square root.
F = TypeVar("F", bound=Factor)


class LogNormalGradient(NamedTuple):
    """Derivatives of log N(c; m, K + S), and what others are made of.

    Attributes
    ----------
    theta : ndarray of shape (n_kernel_parameters,)
        Along the logarithms of the kernel's free hyperparameters.
    solution : ndarray of shape (n,)
        (K + S)^-1 (c - m), the derivative along m.
    inverse_diagonal : ndarray of shape (n,)
        Diagonal of (K + S)^-1.
    """

    theta: Array
    solution: Array
    inverse_diagonal: Array


class PseudoPosteriorGradient(NamedTuple):
    """Derivatives of `Covariance.pseudo_posterior_gradient`.

    Attributes
    ----------
    theta : ndarray of shape (n_kernel_parameters,)
        Along the logarithms of the kernel's free hyperparameters.
    eta : ndarray of shape (n_coordinates,)
        Along eta.
    residual : ndarray of shape (n,)
        Along r.
    """

    theta: Array
    eta: Array
    residual: Array


class Covariance(ABC, Generic[F]):
    """Covariance of the latent variables of one chain.

    The diagonal of K is the kernel's, enlarged by the factor 1 + `jitter`.

    Parameters
    ----------
    n : int
        Number of latent variables.
    jitter : float
        Relative to the kernel's diagonal.

    Attributes
    ----------
    n_constructions : int
        Hyperparameter settings at which a covariance was asked for, apart from the
        current one: the cost that M&A count.
    n_failures : int
        How many of those were not positive definite in floating point.
    scale_parameters : list of int
        Elements of theta that only rescale K: a factor at another value of them is the
        current one with another `scale`, at no cost.
    """

    def __init__(self, n: int, jitter: float) -> None:
        self.n = n
        self.jitter = jitter
        self.n_constructions = 0
        self.n_failures = 0
        self.scale_parameters: list[int] = []

    def factor(self, theta: Array, current: F | None = None) -> F | None:
        """Return the factor at theta, or None where K is not positive definite.

        Parameters
        ----------
        theta : ndarray of shape (n_kernel_parameters,)
            Logarithms of the kernel's free hyperparameters; not modified, but kept.
        current : Factor, optional
            The factor of the chain's state. It stays valid, is returned itself if
            theta is the same, and saves work if only some entries differ.
        """
        moved: list[int] = []
        if current is not None:
            moved = moved_elements(theta, current)
            if not moved:
                return current
        self.n_constructions += 1
        factor = self._new_factor(theta, current, moved)
        if factor is None:
            self.n_failures += 1
        return factor

    def rebuild(self, current: F) -> F | None:
        """Return the factor at the same theta, built afresh beside the current one.

        It is free of the rounding errors that earlier moves have left behind.
        """
        self.forget()
        return self._build_afresh(current)

    def forget(self) -> None:
        """Forget what earlier factors left behind, so that the next is built afresh."""

    def kept_latents(
        self, factor: F, latent: Array, mean: float, rng: np.random.Generator
    ) -> Array:
        """Return the latent values that a draw keeps: those of all rows.

        Parameters
        ----------
        factor : Factor
            Of K.
        latent : ndarray of shape (n,)
            f.
        mean : float
            Prior mean m of f; where it was integrated out, a draw of it given f.
        rng : numpy.random.Generator
            For structures whose draws keep less, but have to draw it.
        """
        return latent

    @abstractmethod
    def pseudo_posterior_factory(self) -> Any:
        """Return what factors I + L^T W L for this covariance."""

    def pseudo_posterior_gradient(
        self, pseudo: Any, eta: Array, residual: Array, score: Array
    ) -> PseudoPosteriorGradient:
        """Return the gradient of score . (f - m) - z . z / 2 - log |U|, score held fixed.

        Here f - m = L z, z = U^-T (eta + b) and b = U^-1 L^T r.

        Parameters
        ----------
        pseudo : pseudo-posterior
            Of this covariance's factory; it gives L and U.
        eta : ndarray of shape (n,)
        residual : ndarray of shape (n,)
            r = h - W m.
        score : ndarray of shape (n,)

        Raises
        ------
        MissingCapabilityError
            If this covariance has no such gradient.
        """
        raise MissingCapabilityError("only the covariance of a grid has a gradient of its root.")

    def posterior_coordinates(
        self, theta: Array, precision: Array, residual: Array, current: F
    ) -> PosteriorCoordinates | None:
        """Return coordinates of the latent variables at theta; None where they are not finite.

        Parameters
        ----------
        theta : ndarray of shape (n_kernel_parameters,)
            As in `factor`.
        precision, residual : ndarray of shape (n,)
            w, at least zero, and r of the sites.
        current : Factor
            The factor that stays valid; coordinates given before do not.

        Raises
        ------
        MissingCapabilityError
            If this covariance has none.
        """
        raise MissingCapabilityError("only covariances through inducing points have coordinates.")

    def factor_at(self, coordinates: Any) -> F | None:
        """Return the factor of K where the last coordinates are; None where there is none."""
        raise MissingCapabilityError("only covariances through inducing points have coordinates.")

    def noisy_factor(self, theta: Array, noise: Array, current: F) -> F | None:
        """Return the factor of K + diag(noise) at theta, or None where there is none.

        Parameters
        ----------
        theta : ndarray of shape (n_kernel_parameters,)
            As in `factor`.
        noise : ndarray of shape (n,)
            Variances.
        current : CholeskyFactor
            The factor, with or without noise, that stays valid.

        Raises
        ------
        MissingCapabilityError
            If this covariance cannot add it.
        """
        raise MissingCapabilityError(_DENSE_ONLY)

    def factor_beside(self, theta: Array, current: F) -> F | None:
        """Return the factor of K at theta, in the buffer beside one that may have noise."""
        raise MissingCapabilityError(_DENSE_ONLY)

    def log_normal_gradient(self, factor: F, noise: Array, deviation: Array) -> LogNormalGradient:
        """Return the gradient of log N(c; m, K + S).

        Parameters
        ----------
        factor : CholeskyFactor
            Of K + S, as `noisy_factor` returned it.
        noise : ndarray of shape (n,)
            Diagonal of S.
        deviation : ndarray of shape (n,)
            c - m.

        Raises
        ------
        MissingCapabilityError
            If this covariance cannot add noise.
        """
        raise MissingCapabilityError(_DENSE_ONLY)

    @abstractmethod
    def _new_factor(self, theta: Array, current: F | None, moved: list[int]) -> F | None:
        """Return the factor at theta; `moved` are the elements that differ from the current."""

    @abstractmethod
    def _build_afresh(self, current: F) -> F | None:
        """Return the factor at the current theta, made of nothing but that."""


def moved_elements(theta: Array, current: Factor) -> list[int]:
    """Return the elements of theta that differ from the current ones."""
    return (theta != current.theta).nonzero()[0].tolist()
