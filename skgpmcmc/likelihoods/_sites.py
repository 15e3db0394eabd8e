"""Gaussian fits to one-dimensional site posteriors, vectorised over sites.

A site posterior is ``L_i(f_i) N(f_i; m_i, K_ii)`` (Murray and Adams 2010, section 3.2). Everything
here works on the standardised latent ``z = (f - m) / sqrt(K)``, whose prior is standard normal:
its digits do not drown in a large mean or vanish in a small variance. No function raises, warns or
iterates without a bound; a site where a fit fails keeps the prior (precision and shift zero).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._site_moments import LogSite, SiteDerivatives, find_mode, site_moments

# A prior so wide that it only bounds the search for the maximum of a likelihood on its own.
_FLAT_VARIANCE = 1e12
# Latent values where that search starts: the scale of the likelihood is not known.
_FLAT_GRID = np.exp2(np.arange(-3.0, 24.0, 2.0))
_FLAT_GRID = np.concatenate([-_FLAT_GRID[::-1], [0.0], _FLAT_GRID])

# Newton steps that remove the small shift by the wide prior; the last, relative to the width.
_MAX_NEWTON_STEPS = 3
_NEWTON_TOLERANCE = 1e-6


class Sites(NamedTuple):
    """Gaussian sites ``exp(-precision f^2 / 2 + shift f)``, one per latent value.

    Attributes
    ----------
    precision : ndarray of shape (n_latent,)
        ``W``, the inverse of the pseudo-noise variance. May be negative where the likelihood is
        not log-concave; zero means that the site says nothing.
    shift : ndarray of shape (n_latent,)
        ``h``, the precision times the pseudo-observation.
    """

    precision: NDArray
    shift: NDArray


def laplace_sites(
    log_site: LogSite, derivatives: SiteDerivatives, mean: NDArray, variance: NDArray
) -> Sites:
    """Sites that match the mode of each site posterior and the second derivative there.

    Parameters
    ----------
    log_site : callable
        Maps latent values of shape (..., n) to the log of each site, same shape.
    derivatives : callable
        Maps latent values to the first and second derivatives of ``log_site``.
    mean, variance : ndarray of shape (n,)
        Of the Gaussian prior at each site.
    """
    with np.errstate(all="ignore"):
        scale = np.sqrt(variance)
        z = find_mode(log_site, derivatives, mean, variance)
        mode = mean + scale * z
        precision = -derivatives(mode)[1]
        return _or_prior(precision, precision * mode + z / scale, variance)


def moment_sites(log_site: LogSite, mean: NDArray, variance: NDArray) -> Sites:
    """Sites that match the mean and the variance of each site posterior.

    The parameters are those of `laplace_sites`; no derivatives are needed.
    """
    with np.errstate(all="ignore"):
        scale = np.sqrt(variance)
        _, z_mean, z_variance = site_moments(log_site, mean, variance)
        precision = (1.0 - z_variance) / (z_variance * variance)
        shift = z_mean / (scale * z_variance) + mean * precision
        return _or_prior(precision, shift, variance)


def taylor_sites(log_site: LogSite, derivatives: SiteDerivatives, n_sites: int) -> Sites:
    """Second-order expansion of each log site at its own maximum (M&A equation "taylor").

    A site whose maximum lies at infinity, or that is flat, gets precision and shift zero.
    """
    mean, variance = np.zeros(n_sites), np.full(n_sites, _FLAT_VARIANCE)
    with np.errstate(all="ignore"):
        scale = np.sqrt(_FLAT_VARIANCE)
        mode = scale * find_mode(log_site, derivatives, mean, variance, _FLAT_GRID / scale)
        first, second = derivatives(mode)
        # At a maximum at infinity only the wide prior stops the search, and the curvature there
        # is no larger than the prior's times a few logarithms.
        proper = -second * _FLAT_VARIANCE > 1e3
        for _ in range(_MAX_NEWTON_STEPS):
            step = np.where(proper, first / second, 0.0)
            mode = mode - step
            if (np.abs(step) * np.sqrt(np.abs(second)) <= _NEWTON_TOLERANCE).all():
                break
            first, second = derivatives(mode)
        proper &= np.abs(first) < 1e-3 * np.sqrt(-second)
        second = np.where(proper, second, 0.0)
        return _or_prior(-second, -second * mode, variance)


def _or_prior(precision: NDArray, shift: NDArray, variance: NDArray) -> Sites:
    """Replace sites that are not finite, or make an improper posterior, by empty ones."""
    usable = np.isfinite(precision) & np.isfinite(shift)
    usable &= 1.0 / variance + precision > 0.0
    return Sites(np.where(usable, precision, 0.0), np.where(usable, shift, 0.0))
