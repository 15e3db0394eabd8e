"""One point of the joint space of hyperparameters and latent variables."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._covariance import AnyPseudoPosterior, Factor
from .._linalg import Array
from ..likelihoods import Sites

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(slots=True, eq=False)
class LatentState:
    """A point of the joint space of hyperparameters and latent variables.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
        Hyperparameters on their sampling scale.
    factor : Factor
        Of the covariance at theta.
    mean : float
        Prior mean m of the latent variables.
    params : tuple of float
        The likelihood's own parameters, natural scale.
    latent, whitened : ndarray of shape (n_latent,)
        f, and z with f = m + L z.
    log_likelihood : float
        log L(f).
    sites : Sites
        Site precisions and shifts at theta.
    pseudo : AnyPseudoPosterior
        The factor of the pseudo-posterior that these sites make.
    """

    theta: Array
    factor: Factor
    mean: float
    params: tuple[float, ...]
    latent: Array
    whitened: Array
    log_likelihood: float
    # Only set and read by the representations that use them.
    sites: Sites = None  # type: ignore[assignment]
    pseudo: AnyPseudoPosterior = None  # type: ignore[assignment]

    def complete_data_log_likelihood(self) -> float:
        """Return log L(f) + log N(f; m, K_theta)."""
        constant = -0.5 * _LOG_2PI * self.latent.shape[0]
        return self.log_likelihood + self.factor.log_normal(self.whitened) + constant
