"""The contract of a likelihood, with generic defaults for everything but ``pointwise``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import MissingCapabilityError
from . import _sites
from ._augmentation import GaussianGivenAuxiliaries
from ._new_observations import NewObservations, Seed
from ._site_moments import LogSite, SiteDerivatives, numerical_derivatives
from ._sites import Sites

Params = Sequence[float]

# Of differences along latent values, where no more than a direction is wanted.
_STEP = 1e-4


class Likelihood(NewObservations, ABC):
    """Observations that depend on latent values one at a time.

    ``log L(f) = sum_k w_k log p(y_k | f[latent_index[k]])``. A likelihood holds its data and knows
    nothing of covariances. Several observations may share one latent value.

    Only `pointwise` has to be written, and where y is no real number `support`. Worth overriding
    for speed: `log_likelihood` (the innermost loop of every sampler), `per_latent` (called by
    every generic fit), `derivatives`, `moment_sites` or `laplace_sites`.

    Parameters
    ----------
    y : array-like of shape (n_obs,)
        Observations, finite.
    latent_index : array-like of int of shape (n_obs,), default=None
        The latent value of each observation. None: one latent value per observation, in order.
    sample_weight : array-like of shape (n_obs,), default=None
        Finite and non-negative. A whole number acts like that many copies of the observation.
    n_latent : int, default=None
        How many latent values there are; those that do not occur in ``latent_index`` have no
        observation. None: every number from 0 to the maximum of ``latent_index`` must occur.

    Attributes
    ----------
    y : ndarray of shape (n_obs,)
    latent_index : ndarray of shape (n_obs,) or None
    sample_weight : ndarray of shape (n_obs,) or None
    n_latent : int
    parameters : tuple of str
        Names of the likelihood's own positive hyperparameters. The argument ``params`` of the
        methods holds their values, on the natural scale and in this order.
    support : {"real", "counts", "labels"}
        What y can be, and what `pointwise` is: the log density of a real number, or the log
        probability of a whole number from zero (minus infinity where one is impossible), or of a
        label -1 or +1. Predictions of new observations sum or integrate over it.
    per_observation : tuple of str
        Names of further attributes with one value for each observation, such as ``exposure``.
        Predictions take those of new rows by these names.
    site_fit : {"moment", "laplace"}
        What `fit_sites` is: `moment_sites` or `laplace_sites`.
    holds_parameters : bool
        Whether the parameters stay as they are while the auxiliary variables of `augment` are
        held, because the density of these is not known as a function of them. They are then
        updated given the latent values.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or holds a value that is not allowed.

    Notes
    -----
    *The NaN rule.* A NaN in ``latent`` or ``params`` makes `log_likelihood` NaN or minus infinity,
    never a finite number: a sampler that accepts only when ``value > level`` then rejects it.
    Overrides must keep this rule.

    A subclass that stores anything computed from ``y`` or from the attributes in
    ``per_observation`` computes it in `_refresh`.

    *Predictions.* The methods ``predictive_...`` are made of `log_density_given_draws`, whose
    default integrates over f by quadrature, about 20 milliseconds for each draw and row; override
    it, or them, where there is a formula.

    Examples
    --------
    Observations with Student-t noise, four degrees of freedom:

    >>> import numpy as np
    >>> from skgpmcmc.likelihoods import Likelihood
    >>> class StudentT(Likelihood):
    ...     def pointwise(self, latent, params=()):
    ...         return np.log(0.375) - 2.5 * np.log1p((self.y - latent) ** 2 / 4.0)
    >>> likelihood = StudentT([0.0, 3.0])
    >>> round(likelihood.log_likelihood(np.array([0.0, 1.0])), 4)
    -3.6945
    >>> likelihood.fit_sites(0.0, 1.0).precision.shape
    (2,)
    """

    parameters: tuple[str, ...] = ()
    holds_parameters: bool = False
    site_fit: ClassVar[str] = "moment"

    @abstractmethod
    def pointwise(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Log probability of each observation, without weights.

        Parameters
        ----------
        latent : ndarray of shape (..., n_obs)
            Latent value at each observation.
        params : sequence of float
            Values of ``parameters``.

        Returns
        -------
        ndarray of shape (..., n_obs)
        """

    def per_latent(self, latent: NDArray, params: Params = ()) -> NDArray:
        """Weighted log likelihood of the observations of each latent value.

        Parameters
        ----------
        latent : ndarray of shape (..., n_latent)
        params : sequence of float

        Returns
        -------
        ndarray of shape (..., n_latent)
        """
        at_observations = self._at_observations(np.asarray(latent, dtype=float))
        values = self.pointwise(at_observations, params)
        if self._ignored is not None:
            # Zero times minus infinity would be NaN; zero times the latent keeps the NaN rule.
            values = np.array(values, dtype=float)
            values[..., self._ignored] = 0.0 * at_observations[..., self._ignored]
        return self._sum_per_latent(self._weighted(values))

    def log_likelihood(self, latent: NDArray, params: Params = ()) -> float:
        """Log likelihood of all observations.

        Parameters
        ----------
        latent : ndarray of shape (n_latent,)
        params : sequence of float

        Returns
        -------
        float
            NaN or minus infinity if any argument is NaN.
        """
        if np.isnan(latent).any() or any(map(math.isnan, params)):
            return math.nan
        return float(self.per_latent(latent, params).sum())

    def derivatives(self, latent: NDArray, params: Params = ()) -> tuple[NDArray, NDArray]:
        """First and second derivative of `per_latent` with respect to each latent value.

        Parameters
        ----------
        latent : ndarray of shape (..., n_latent)
        params : sequence of float

        Returns
        -------
        gradient, second_derivative : ndarray of shape (..., n_latent)
            By central differences unless a subclass knows better.
        """
        return numerical_derivatives(lambda f: self.per_latent(f, params), latent)

    def fit_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Gaussian sites fitted to each latent value's posterior (M&A section 3.2).

        A Gaussian with mean mu and variance v is fitted to ``L_i(f) N(f; m, K)``; the site is
        ``precision = 1/v - 1/K``, ``shift = mu/v - m/K``. Precisions are not floored: they may be
        zero or negative.

        Parameters
        ----------
        prior_mean, prior_variance : float or ndarray of shape (n_latent,)
        params : sequence of float

        Returns
        -------
        Sites
        """
        fit = self.moment_sites if self.site_fit == "moment" else self.laplace_sites
        return fit(prior_mean, prior_variance, params)

    def moment_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Sites by matching the mean and variance; arguments as in `fit_sites`."""
        mean, variance = self._site_prior(prior_mean, prior_variance)
        log_site, _ = self._site_functions(params)
        return self._flat_where_unobserved(_sites.moment_sites(log_site, mean, variance))

    def laplace_sites(
        self, prior_mean: ArrayLike, prior_variance: ArrayLike, params: Params = ()
    ) -> Sites:
        """Sites by Laplace's approximation at the mode; arguments as in `fit_sites`."""
        mean, variance = self._site_prior(prior_mean, prior_variance)
        functions = self._site_functions(params)
        return self._flat_where_unobserved(_sites.laplace_sites(*functions, mean, variance))

    def taylor_sites(self, params: Params = ()) -> Sites:
        """Second-order Taylor expansion of the log likelihood alone at its maximum.

        M&A equation "taylor". A latent value whose likelihood is flat, or has its maximum at
        infinity, gets precision and shift zero.
        """
        sites = _sites.taylor_sites(*self._site_functions(params), self.n_latent)
        return self._flat_where_unobserved(sites)

    def gaussian_sites(self, params: Params = ()) -> Sites:
        """Sites that equal the likelihood, for exactly Gaussian likelihoods only.

        Raises
        ------
        MissingCapabilityError
            For every other likelihood.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} is not a Gaussian likelihood, so it cannot be integrated out "
            "exactly."
        )

    def expected_score(self, mean: NDArray, variance: NDArray, params: Params = ()) -> NDArray:
        """Return derivatives along the parameters; see `GaussianGivenAuxiliaries`.

        Raises
        ------
        MissingCapabilityError
            For a likelihood that is not Gaussian.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} has no derivatives along its parameters. Use slice sampling."
        )

    def augment(
        self, latent: NDArray, params: Params, rng: np.random.Generator
    ) -> GaussianGivenAuxiliaries:
        """Draw auxiliary variables given the latent values, and return what is left given them.

        Parameters
        ----------
        latent : ndarray of shape (n_latent,)
        params : sequence of float
        rng : numpy.random.Generator

        Returns
        -------
        GaussianGivenAuxiliaries
            The likelihood and the density of the auxiliary variables as a function of the
            latent values, which is Gaussian, and of the parameters.

        Raises
        ------
        MissingCapabilityError
            For a likelihood without such variables.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} has no auxiliary variables that make it Gaussian."
        )

    def condition_on(self, others: Sequence[NDArray]) -> None:
        """Set the latent values of other latent functions that the observations depend on.

        Raises
        ------
        MissingCapabilityError
            For a likelihood of one latent function.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} depends on one latent function, not on {len(others) + 1}."
        )

    def log_likelihood_of_rows(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> NDArray:
        """Weighted log probability of each observation given all latent functions.

        Parameters
        ----------
        group : sequence of Likelihood
            Those of the latent functions that the observations depend on, this one first.
        latents : sequence of ndarray of shape (..., n_latent)
            Of each latent function.
        params : sequence of float

        Returns
        -------
        ndarray of shape (..., n_obs)

        Raises
        ------
        MissingCapabilityError
            For several latent functions, unless the class knows what they stand for.
        """
        if len(group) > 1:
            self.condition_on(latents[1:])
        values = self.pointwise(self._at_observations(latents[0]), params)
        if self.sample_weight is None:
            return values
        # Zero times minus infinity would be NaN.
        weights = self.sample_weight
        return np.multiply(weights, values, where=weights > 0.0, out=np.zeros(values.shape))

    def curvatures(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> list[NDArray]:
        """Minus the second derivative of the log likelihood along each latent value alone.

        Parameters
        ----------
        group, latents, params
            As for `log_likelihood_of_rows`.

        Returns
        -------
        list of ndarray of shape (..., n_latent)
            Of each latent function. Zero or larger where the likelihood is log-concave.

        Raises
        ------
        MissingCapabilityError
            For several latent functions, unless the class knows what they stand for.
        """
        curvatures = []
        for number, (one, latent) in enumerate(zip(group, latents, strict=True)):
            if len(group) > 1:
                one.condition_on([*latents[:number], *latents[number + 1 :]])
            curvatures.append(-one.derivatives(latent, params)[1])
        return curvatures

    def row_gradients(
        self, group: Sequence[Likelihood], latents: Sequence[NDArray], params: Params = ()
    ) -> NDArray:
        """Direction in which each observation's log probability grows most, up to its length.

        Parameters
        ----------
        group, latents, params
            As for `log_likelihood_of_rows`.

        Returns
        -------
        ndarray of shape (n_functions, ..., n_obs)
            A component for each latent function, by differences unless a subclass knows better;
            1 for a single latent function.
        """
        if len(group) == 1:
            return np.ones((1, *np.shape(self._at_observations(latents[0]))))
        gradients = []
        for number, latent in enumerate(latents):
            below, above = (
                self.log_likelihood_of_rows(
                    group, [*latents[:number], latent + step, *latents[number + 1 :]], params
                )
                for step in (-_STEP, _STEP)
            )
            gradients.append((above - below) / (2.0 * _STEP))
        return np.array(gradients)

    def log_density_of_rows(
        self,
        group: Sequence[Likelihood],
        means: Sequence[NDArray],
        variances: Sequence[NDArray],
        params: Params = (),
    ) -> NDArray:
        """Weighted log probability of each observation given moments of the latent functions.

        Parameters
        ----------
        group : sequence of Likelihood
            As for `log_likelihood_of_rows`.
        means, variances : sequence of ndarray of shape (n_latent,)
            Of each latent function, which is normal there.
        params : sequence of float

        Returns
        -------
        ndarray of shape (n_obs,)

        Raises
        ------
        MissingCapabilityError
            For several latent functions, unless the class knows what they stand for.
        """
        if len(group) > 1:
            self.condition_on(means[1:])
        per_row = {name: getattr(self, name) for name in self.per_observation}
        moments = [self._at_observations(each[0])[np.newaxis] for each in (means, variances)]
        mean, variance = moments
        values = self.log_density_given_draws(self.y, mean, variance, [params], **per_row)[0]
        return self._weighted(values)

    def _site_prior(self, mean: ArrayLike, variance: ArrayLike) -> tuple[NDArray, NDArray]:
        shape = (self.n_latent,)
        return (
            np.broadcast_to(np.asarray(mean, dtype=float), shape),
            np.broadcast_to(np.asarray(variance, dtype=float), shape),
        )

    def _flat_where_unobserved(self, sites: Sites) -> Sites:
        """Set sites of latent values without data to zero: quadrature leaves rounding errors."""
        if self._unobserved.size:
            sites.precision[self._unobserved] = 0.0
            sites.shift[self._unobserved] = 0.0
        return sites

    def _site_functions(self, params: Params) -> tuple[LogSite, SiteDerivatives]:
        return (
            lambda latent: self.per_latent(latent, params),
            lambda latent: self.derivatives(latent, params),
        )

    def sample(self, latent: NDArray, params: Params = (), rng: Seed = None) -> NDArray:
        """Draw one observation per row given the latent values.

        Weights, which act like copies of a row, do not change the draws.

        Parameters
        ----------
        latent : ndarray of shape (n_latent,)
        params : sequence of float
        rng : numpy.random.Generator or seed

        Returns
        -------
        ndarray of shape (n_obs,)

        Raises
        ------
        MissingCapabilityError
            If the likelihood does not define how to draw.
        """
        raise MissingCapabilityError(
            f"{type(self).__name__} does not define sample(), so no observations can be drawn "
            "from it. Implement sample(latent, params, rng) in the class."
        )
