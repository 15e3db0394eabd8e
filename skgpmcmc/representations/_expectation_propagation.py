"""Gaussian sites by expectation propagation, at one setting of the hyperparameters.

The sampler is exact with any fixed sites; better sites only make the chain mix faster. So nothing
here raises an error, and sites that have not converged are used as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._covariance import Factor, PseudoPosteriorWithVariances
from .._linalg import Array
from ..likelihoods import Likelihood, Sites
from ._site_rules import clip_precision

# All sites are updated at once. Full steps need two thirds of the iterations for counts, and
# more of them for labels, where neighbours that explain the same data overshoot together.
_DAMPING = 0.8
_MAX_ITERATIONS = 50
_TOLERANCE = 1e-3
# A site is not updated where the cavity's precision, relative to the marginal's, is smaller.
_SMALLEST_CAVITY = 1e-6


class Marginals(NamedTuple):
    """Moments of each latent variable under a pseudo-posterior, each of shape (n,)."""

    mean: Array
    variance: Array


class Propagation(NamedTuple):
    """The result of expectation propagation.

    Attributes
    ----------
    sites : Sites
        The last that have a pseudo-posterior, with no precision below zero.
    converged : bool
        Whether another iteration would hardly change the marginals.
    n_iterations : int
        Updates of all sites.
    """

    sites: Sites
    converged: bool
    n_iterations: int


def propagate(
    likelihood: Likelihood,
    factor: Factor,
    mean: float,
    params: tuple[float, ...],
    factory: Any,
    *,
    tolerance: float = _TOLERANCE,
    max_iterations: int = _MAX_ITERATIONS,
) -> Propagation:
    """Find sites such that tilted distributions have the moments of the pseudo-posterior.

    Parallel expectation propagation (Minka 2001), damped, with precisions of at least zero.
    A tilted distribution is a marginal of the pseudo-posterior, its site replaced by the
    likelihood.

    Parameters
    ----------
    likelihood : Likelihood
        Matches the tilted moments by its `moment_sites`.
    factor : Factor
        Of the prior covariance K.
    mean : float
        Prior mean m.
    params : tuple of float
        The likelihood's own parameters.
    factory : PseudoPosteriorFactory
        Of `PseudoPosteriorWithVariances`, in whatever form; its buffers are overwritten.
    tolerance : float
        Of a site's effect on its marginal's mean and precision, in the marginal's units.
    max_iterations : int
        Updates of all sites at most.

    Returns
    -------
    propagation : Propagation
        With sites that say nothing, if no pseudo-posterior was finite.
    """
    usable = Sites(np.zeros(factor.n), np.zeros(factor.n))
    sites = clip_precision(likelihood.fit_sites(mean, factor.variance, params), factor.variance)
    for iteration in range(max_iterations):
        pseudo = factory.build(factor, sites.precision)
        if pseudo is None:
            return Propagation(usable, False, iteration)
        usable = sites
        marginals = site_marginals(factor, pseudo, sites.shift, mean)
        matched = clip_precision(_match(likelihood, sites, marginals, params), factor.variance)
        if _largest_effect(matched, sites, marginals) <= tolerance:
            return Propagation(sites, True, iteration)
        sites = Sites(
            sites.precision + _DAMPING * (matched.precision - sites.precision),
            sites.shift + _DAMPING * (matched.shift - sites.shift),
        )
    return Propagation(usable, False, max_iterations)


def site_marginals(
    factor: Factor, pseudo: PseudoPosteriorWithVariances, shift: Array, mean: float
) -> Marginals:
    """Return the pseudo-posterior's mean and its marginal variances."""
    projection = pseudo.project(shift, mean)
    centre = mean + factor.colour(pseudo.colour(np.zeros_like(projection), projection))
    return Marginals(centre, pseudo.marginal_variance())


def _match(
    likelihood: Likelihood, sites: Sites, marginals: Marginals, params: tuple[float, ...]
) -> Sites:
    """Return the sites that match the tilted moments; the old ones where the cavity is improper."""
    precision = 1.0 / marginals.variance
    cavity = precision - sites.precision
    proper = cavity > _SMALLEST_CAVITY * precision
    cavity = np.where(proper, cavity, precision)
    cavity_mean = (marginals.mean * precision - sites.shift) / cavity
    matched = likelihood.moment_sites(cavity_mean, 1.0 / cavity, params)
    return Sites(
        np.where(proper, matched.precision, sites.precision),
        np.where(proper, matched.shift, sites.shift),
    )


def _largest_effect(new: Sites, old: Sites, marginals: Marginals) -> float:
    """Return the largest change by new sites of any marginal alone, to first order."""
    precision = new.precision - old.precision
    gradient = new.shift - old.shift - precision * marginals.mean
    on_mean = np.abs(gradient) * np.sqrt(marginals.variance)
    on_variance = np.abs(precision) * marginals.variance
    return float(np.maximum(on_variance, on_mean).max())
