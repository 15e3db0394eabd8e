"""Gaussian sites by expectation propagation, at one setting of the hyperparameters.

The sampler is exact with any fixed sites; better sites only make the chain mix faster. So nothing
here raises an error, and sites that have not converged are used as they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._covariance import Factor, PseudoPosteriorWithVariances
from .._linalg import Array
from ..likelihoods import Likelihood, Sites
from ._site_rules import clip_precision

# All sites are updated at once. Full steps need two thirds of the iterations for counts, and
# more of them for labels, where neighbours that explain the same data overshoot together: the more
# so, the larger the signal variance, until all sites say nothing. Smaller steps then converge, from
# sites that say nothing.
_DAMPINGS = (0.8, 0.5, 0.25)
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
        Updates of all sites, with all dampings that were tried.
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
        Updates of all sites at most, with each damping.

    Returns
    -------
    propagation : Propagation
        With sites that say nothing, if no pseudo-posterior was finite.
    """
    nothing = Sites(np.zeros(factor.n), np.zeros(factor.n))
    fitted = clip_precision(likelihood.fit_sites(mean, factor.variance, params), factor.variance)
    best, least, n_iterations = Propagation(nothing, False, 0), math.inf, 0
    for damping in _DAMPINGS:
        start = fitted if damping == _DAMPINGS[0] else nothing
        iteration = _Iteration(likelihood, factor, mean, params, factory, damping)
        found, effect = iteration.run(start, tolerance, max_iterations)
        n_iterations += found.n_iterations
        if effect < least or damping == _DAMPINGS[0]:
            best, least = found, effect
        if found.converged:
            break
    return best._replace(n_iterations=n_iterations)


class _Iteration(NamedTuple):
    """Updates of all sites with one damping; the arguments are those of `propagate`."""

    likelihood: Likelihood
    factor: Factor
    mean: float
    params: tuple[float, ...]
    factory: Any
    damping: float

    def run(self, sites: Sites, tolerance: float, max_iterations: int) -> tuple[Propagation, float]:
        """Update sites until hardly anything changes; return how much still did, too."""
        factor, damping = self.factor, self.damping
        usable, effect = Sites(np.zeros(factor.n), np.zeros(factor.n)), math.inf
        for iteration in range(max_iterations):
            pseudo = self.factory.build(factor, sites.precision)
            if pseudo is None:
                return Propagation(usable, False, iteration), math.inf
            usable = sites
            marginals = site_marginals(factor, pseudo, sites.shift, self.mean)
            matched = _match(self.likelihood, sites, marginals, self.params)
            matched = clip_precision(matched, factor.variance)
            effect = _largest_effect(matched, sites, marginals)
            if effect <= tolerance:
                return Propagation(sites, True, iteration), effect
            sites = Sites(
                sites.precision + damping * (matched.precision - sites.precision),
                sites.shift + damping * (matched.shift - sites.shift),
            )
        return Propagation(usable, False, max_iterations), effect


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
