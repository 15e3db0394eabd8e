"""Updates of the latent variables given theta, by elliptical slice sampling."""

from __future__ import annotations

import numpy as np

from .._covariance import Factor
from .._linalg import Array
from .._model._model import Workspace
from .._model._state import LatentState
from ..updates import elliptical_slice_step


def update_latents(
    workspace: Workspace, state: LatentState, n_updates: int, rng: np.random.Generator
) -> None:
    """Update f by elliptical slice sampling around its prior; z = L^-1 (f - m) turns with it.

    Parameters
    ----------
    workspace : Workspace
        Of the chain.
    state : LatentState
        Changed in place.
    n_updates : int
        For which the auxiliary draws are made at once.
    rng : numpy.random.Generator
        Source of randomness.
    """
    mean, params = state.mean, state.params
    auxiliary_z, auxiliary = draw_prior_latents(state.factor, n_updates, rng)

    def log_likelihood(deviation: Array) -> float:
        return workspace.log_likelihood(deviation + mean if mean else deviation, params)

    deviation = state.latent - mean
    for i in range(n_updates):
        result = elliptical_slice_step(
            log_likelihood, deviation, state.log_likelihood, auxiliary[:, i], rng
        )
        deviation = result.deviation
        state.log_likelihood = result.log_likelihood
        state.whitened = state.whitened * result.cosine + auxiliary_z[:, i] * result.sine
    state.latent = deviation + mean


def update_latents_around_approximation(
    workspace: Workspace, state: LatentState, n_updates: int, rng: np.random.Generator
) -> None:
    """Update f by elliptical slice sampling around its pseudo-posterior.

    With f = m + L z and z = U^-T (omega + b), omega is standard normal under the
    pseudo-posterior, and the posterior's density relative to that is, up to a constant,
    L(f) / exp(-f^T W f / 2 + h^T f): what takes the likelihood's place. Where the sites
    approximate the likelihood well it is flat, and most first proposals are accepted.

    Parameters
    ----------
    workspace, state, n_updates, rng
        As in `update_latents`. The state has a pseudo-posterior and its sites.
    """
    factor, pseudo, params = state.factor, state.pseudo, state.params
    precision, shift = state.sites
    projection = pseudo.project(shift, state.mean)
    centre_z = pseudo.colour(np.zeros_like(projection), projection)
    centre = state.mean + factor.colour(centre_z)
    # Derivative of the log of the sites at the centre: large terms have cancelled in it.
    gradient = shift - precision * centre
    omega = np.asfortranarray(rng.standard_normal((n_updates, factor.n)).T)
    auxiliary_z = pseudo.colour_columns(omega)
    auxiliary = factor.colour_columns(auxiliary_z)
    log_likelihood = state.log_likelihood

    def log_ratio(deviation: Array) -> float:
        nonlocal log_likelihood
        log_likelihood = workspace.log_likelihood(centre + deviation, params)
        return log_likelihood - _log_sites(deviation, precision, gradient)

    deviation, whitened = state.latent - centre, state.whitened - centre_z
    current = state.log_likelihood - _log_sites(deviation, precision, gradient)
    for i in range(n_updates):
        result = elliptical_slice_step(log_ratio, deviation, current, auxiliary[:, i], rng)
        if result.moved:
            deviation, current = result.deviation, result.log_likelihood
            whitened = whitened * result.cosine + auxiliary_z[:, i] * result.sine
            state.log_likelihood = log_likelihood
    state.latent, state.whitened = centre + deviation, centre_z + whitened


def _log_sites(deviation: Array, precision: Array, gradient: Array) -> float:
    """Return the log of the sites relative to the point where they have that gradient."""
    return float((gradient - 0.5 * precision * deviation).dot(deviation))


def draw_prior_latents(factor: Factor, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw n vectors from N(0, K) in one matrix product.

    Returns
    -------
    whitened, coloured : ndarray of shape (n_latent, n)
        Standard normal columns, and the same coloured by the factor.
    """
    whitened = np.asfortranarray(rng.standard_normal((n, factor.n)).T)
    return whitened, factor.colour_columns(whitened)
