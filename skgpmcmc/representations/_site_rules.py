"""Site precisions and shifts as functions of theta (M&A section 3.2).

They may depend on theta in any deterministic way and the sampler stays exact, as
long as the same function is used at every evaluation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._linalg import Array
from .._model._state import LatentState
from ..likelihoods import Likelihood, Sites

#: A function that bounds the precisions of fitted sites, given the prior variances.
Bound = Callable[[Sites, float | Array], Sites]

# "Infinite variances were truncated to a large value" (M&A section 5). A constant, not
# a multiple of the prior variance: noise that grows with the signal variance would pin
# it through N(g; m, K + S) even where the data say nothing.
MAX_NOISE = 1e6
# The largest precision of a site, in units of the prior's. Beyond it the rounding errors of I + L^T
# W L, which are relative to its largest entries, are no longer small beside 1. This changes far
# less than the jitter: such a site holds f within 3e-6 prior standard deviations.
MAX_RELATIVE_PRECISION = 1e11
# The largest factor by which the likelihood's own parameters may scale a frozen site.
_MAX_RATIO = 1e6


class SiteRule(ABC):
    """Maps hyperparameters to Gaussian sites, one for each latent variable.

    Parameters
    ----------
    likelihood : Likelihood
        Supplies the sites.
    bound : callable
        ``bound(sites, variance)`` makes the precisions admissible.
    """

    def __init__(self, likelihood: Likelihood, bound: Bound) -> None:
        self._likelihood = likelihood
        self._bound = bound

    def sites(self, candidate: LatentState, current: LatentState) -> Sites:
        """Return the candidate's sites; the current state's own object if equal."""
        if self._same_inputs(candidate, current):
            return current.sites
        return self.fit(candidate)

    def fit(self, state: LatentState) -> Sites:
        """Return the sites at a state's hyperparameters."""
        return self._bound(self._fit(state), state.factor.variance)

    def _same_inputs(self, candidate: LatentState, current: LatentState) -> bool:
        """Whether two states have the same sites, because all that sites depend on is equal."""
        if candidate.params != current.params:
            return False
        new, old = candidate.factor.variance, current.factor.variance
        if isinstance(new, float) and isinstance(old, float):
            return new == old
        return np.array_equal(new, old)

    @abstractmethod
    def _fit(self, state: LatentState) -> Sites:
        """Return the fitted sites, before their precisions are bounded."""


class OneSiteFits:
    """Fits to the one-dimensional site posteriors, eq. (site_posterior).

    Parameters
    ----------
    likelihood : Likelihood
        Supplies the fits.
    """

    def __init__(self, likelihood: Likelihood) -> None:
        self._likelihood = likelihood
        self._distinct, self._inverse = likelihood.distinct()

    def fit(self, mean: float, variance: float | Array, params: tuple[float, ...]) -> Sites:
        """Return the sites given the prior mean and variances, with unbounded precisions."""
        if not isinstance(variance, float):
            return self._likelihood.fit_sites(mean, variance, params)
        # Equal prior variances: one fit for each distinct observation.
        sites = self._distinct.fit_sites(mean, variance, params)
        return Sites(sites.precision[self._inverse], sites.shift[self._inverse])


class PosteriorSiteRule(SiteRule):
    """Sites that reproduce the one-dimensional site posteriors, eq. (site_posterior)."""

    def __init__(self, likelihood: Likelihood, bound: Bound) -> None:
        super().__init__(likelihood, bound)
        self._fits = OneSiteFits(likelihood)

    def _same_inputs(self, candidate: LatentState, current: LatentState) -> bool:
        return candidate.mean == current.mean and super()._same_inputs(candidate, current)

    def _fit(self, state: LatentState) -> Sites:
        return self._fits.fit(state.mean, state.factor.variance, state.params)


class _ParameterSiteRule(SiteRule):
    """Sites that depend on the likelihood's own parameters and, through bounds, on the prior."""

    _last: tuple[tuple[float, ...], Sites] | None = None

    def _fit(self, state: LatentState) -> Sites:
        if self._last is None or self._last[0] != state.params:
            self._last = state.params, self._fit_at(state.params)
        return self._last[1]

    @abstractmethod
    def _fit_at(self, params: tuple[float, ...]) -> Sites:
        """Return the fitted sites, before their precisions are bounded."""


class TaylorSiteRule(_ParameterSiteRule):
    """Sites from a Taylor expansion of the log likelihood alone, eq. (taylor)."""

    def _fit_at(self, params: tuple[float, ...]) -> Sites:
        return self._likelihood.taylor_sites(params)


class HeldSiteRule(SiteRule):
    """The same sites at every theta, flat until others are set.

    Parameters
    ----------
    likelihood : Likelihood
        Only its number of latent variables matters.

    Attributes
    ----------
    held : Sites
        The sites.
    """

    def __init__(self, likelihood: Likelihood) -> None:
        super().__init__(likelihood, lambda sites, variance: sites)
        self.held = Sites(*np.zeros((2, likelihood.n_latent)))

    def sites(self, candidate: LatentState, current: LatentState) -> Sites:
        """Return the sites."""
        return self.held

    def _fit(self, state: LatentState) -> Sites:
        return self.held


def check_variance(alpha: float) -> None:
    """Raise a ValueError unless alpha can be the variance of constant surrogate noise."""
    if not (math.isfinite(alpha) and alpha > 0.0):
        raise ValueError(
            "representation, given as a number, is the variance of the surrogate noise and "
            f"must be positive and finite; got {alpha!r}. For the limits use 'fixed' (0) or "
            "'prior-white' (infinity)."
        )


class ConstantSiteRule(HeldSiteRule):
    """S = alpha I: `fixed` as alpha -> 0, `prior-white` as alpha -> infinity.

    Parameters
    ----------
    likelihood : Likelihood
        Only its number of latent variables matters.
    alpha : float
        Variance of the surrogate noise.

    Raises
    ------
    ValueError
        If alpha is not positive and finite.
    """

    def __init__(self, likelihood: Likelihood, alpha: float) -> None:
        super().__init__(likelihood)
        check_variance(alpha)
        precision = np.full(likelihood.n_latent, 1.0 / alpha)
        self.held = Sites(precision, np.zeros_like(precision))


class FrozenSites(NamedTuple):
    """Sites that were found at one theta.

    Attributes
    ----------
    sites : Sites
        The same at every theta, but for the likelihood's own parameters.
    mean, variance : float, float or ndarray of shape (n,)
        Prior moments of the latent variables there.
    params : tuple of float
        The likelihood's own parameters there.
    """

    sites: Sites
    mean: float
    variance: float | Array
    params: tuple[float, ...]


class FrozenSiteRule(_ParameterSiteRule):
    """Sites found once, and then only scaled by the likelihood's own parameters, if it has any.

    A site's precision and shift are multiplied by the ratio of two precisions of the
    one-dimensional site posterior: at the present parameters, and where the sites were found. This
    is exact for Gaussian noise. For other noise it keeps chains from getting stuck where the noise
    is small.

    Parameters
    ----------
    likelihood : Likelihood
        Supplies the sites.
    bound : callable
        ``bound(sites, variance)`` makes the precisions admissible.
    """

    def __init__(self, likelihood: Likelihood, bound: Bound) -> None:
        super().__init__(likelihood, bound)
        self._fits = OneSiteFits(likelihood) if likelihood.parameters else None
        self._frozen: FrozenSites | None = None

    @property
    def frozen(self) -> FrozenSites | None:
        """The sites and the theta at which they were found; None before that."""
        return self._frozen

    @frozen.setter
    def frozen(self, value: FrozenSites | None) -> None:
        self._frozen, self._last = value, None
        if value is not None and self._fits is not None:
            self._reference = self._fits.fit(value.mean, value.variance, value.params).precision

    def _fit_at(self, params: tuple[float, ...]) -> Sites:
        frozen = self._frozen
        assert frozen is not None
        if self._fits is None:
            return frozen.sites
        precision = self._fits.fit(frozen.mean, frozen.variance, params).precision
        ratio = precision / self._reference
        ratio = np.clip(np.where(ratio > 0.0, ratio, 1.0), 1.0 / _MAX_RATIO, _MAX_RATIO)
        return Sites(frozen.sites.precision * ratio, frozen.sites.shift * ratio)


def floor_precision(sites: Sites, variance: float | Array) -> Sites:
    """Bound the noise of surrogate data from below and above; see `clip_precision`."""
    return _bounded(sites, 1.0 / MAX_NOISE, variance)


def clip_precision(sites: Sites, variance: float | Array) -> Sites:
    """Bound precisions from above, and replace negative ones by zero: a site without effect.

    Parameters
    ----------
    sites : Sites
        As fitted; returned themselves if they are admissible.
    variance : float or ndarray of shape (n,)
        Prior variances.
    """
    return _bounded(sites, 0.0, variance)


def _bounded(sites: Sites, lowest: float, variance: float | Array) -> Sites:
    """Bound precisions. Where one is reduced, its pseudo-observation stays the same."""
    precision, largest = sites.precision, MAX_RELATIVE_PRECISION / variance
    if ((precision >= lowest) & (precision <= largest)).all():
        return sites
    kept = largest / np.maximum(precision, largest)
    bounded = np.minimum(np.maximum(precision, lowest), largest)
    return Sites(bounded, sites.shift * kept)
