"""The latent Gaussian model, and the buffers of one chain."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import (
    Covariance,
    CovarianceStructure,
    DenseStructure,
    Factor,
    check_kernel_call,
)
from .._linalg import Array
from ..likelihoods import Likelihood
from ..likelihoods._contract import check_likelihood, describe_impossible
from ..priors import HyperparameterSpec, HyperPrior, log_uniform_default, resolve_priors
from ._inputs import (
    as_inputs,
    check_feature_names,
    check_jitter,
    check_kernel_of,
    check_mean,
    check_structure,
)
from ._layout import ParameterLayout
from ._mean_offset import log_normal_given, normal_parameters, offset_given
from ._state import LatentState

# The largest number of starting points, drawn from the prior, that are tried.
_MAX_STARTS = 100


class LatentGaussianModel:
    """f ~ N(m, K_theta), theta ~ p(theta), data ~ L(f).

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function of the latent variables.
    X : array-like of length n_latent
        Distinct inputs: rows of numbers, or whatever else the kernel takes.
    likelihood : Likelihood
        Holds the data; see `skgpmcmc.likelihoods`.
    priors : mapping, optional
        Name of a hyperparameter (the kernel's names, `"mean"`, the likelihood's
        parameters) -> frozen scipy.stats distribution on the natural scale. Of a vector: one for
        all elements, or a list; or, before these, of one element, as in ``"length_scale[2]"``.
    defaults : callable, optional
        ``defaults(spec, element)`` returns the prior of what `priors` leaves out. By default it is
        log-uniform on the kernel's bounds, also on scikit-learn's default ones, 1e-5 to 1e5: give
        every hyperparameter a prior. (Those of the estimators depend on the data.)
    mean : {"zero", "constant"}
        Prior mean of the latent variables. A constant one has a normal prior.
    collapse_mean : bool
        Whether a constant mean is integrated out and then drawn from its exact
        conditional, rather than sampled beside the hyperparameters.
    jitter : float
        Added to the diagonal of the covariance, relative to it.
    names : mapping, optional
        Name of a hyperparameter in `kernel` -> the name it goes by; its own by default.
    parameter_specs : sequence of HyperparameterSpec, optional
        What the likelihood's parameters go by; by default their own names.
    feature_names : sequence of str, optional
        Names of the columns of X, for `priors` of elements, as in ``"length_scale[age]"``.
    unset_bounds : (float, float), optional
        Bounds of the kernel that nobody has chosen: priors are not cut to them.
    structure : CovarianceStructure, optional
        How the covariance is stored and factored; by default as one matrix.

    Attributes
    ----------
    structure : CovarianceStructure
        The given one, or the first of its alternatives that the covariance has.

    Raises
    ------
    ValueError
        For an unknown name in `priors`, a missing or improper prior, a collapsed
        mean whose prior is not normal, data or a kernel that do not fit X, or a likelihood whose
        methods return other shapes than they must.
    TypeError
        For anything that is no kernel or no likelihood, and for a likelihood whose methods do not
        take ``(latent, params)``.

    See Also
    --------
    skgpmcmc.core.run_chains : Sample a model.
    skgpmcmc.likelihoods.Likelihood : What a likelihood of your own derives from.

    Examples
    --------
    >>> from scipy import stats
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc.core import LatentGaussianModel
    >>> from skgpmcmc.likelihoods import Gaussian
    >>> noise = {"noise_level": stats.lognorm(s=1.0)}
    >>> model = LatentGaussianModel(
    ...     RBF(1.0, (0.1, 10.0)), [[0.0], [1.0]], Gaussian([0.2, 0.7]), priors=noise
    ... )
    >>> model.layout.names
    ['length_scale', 'noise_level']
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        likelihood: Likelihood,
        *,
        priors: Mapping[str, Any] | None = None,
        defaults: Callable[[HyperparameterSpec, int], Any] = log_uniform_default,
        mean: str = "zero",
        collapse_mean: bool = False,
        jitter: float = 1e-6,
        names: Mapping[str, str] | None = None,
        parameter_specs: Sequence[HyperparameterSpec] | None = None,
        feature_names: Sequence[str] | None = None,
        unset_bounds: tuple[float, float] | None = None,
        structure: CovarianceStructure | None = None,
    ) -> None:
        check_kernel_of(kernel)
        check_likelihood(likelihood)
        X = as_inputs(kernel, X)
        check_kernel_call(kernel, X[:2])
        if len(X) != likelihood.n_latent:
            msg = (
                f"X has {len(X)} rows, but the likelihood has {likelihood.n_latent} latent "
                "variables. Give one row of X for each latent variable."
            )
            raise ValueError(msg)
        structure = DenseStructure() if structure is None else structure
        check_structure(structure, X)
        check_mean(mean)
        check_jitter(jitter)
        check_feature_names(feature_names, X)
        self.kernel = kernel
        self.X = X
        self.likelihood = likelihood
        self.jitter = jitter
        self.n_latent = len(X)
        specs = _kernel_specs(kernel, names or {})
        n_kernel = sum(spec.size for spec in specs)
        if mean == "constant":
            specs.append(HyperparameterSpec("mean", 1, False, None))
        if parameter_specs is None:
            parameter_specs = [HyperparameterSpec(p, 1, True, None) for p in likelihood.parameters]
        specs += parameter_specs
        resolved = resolve_priors(specs, priors, defaults, unset_bounds, feature_names)
        self._set_layout(specs, resolved, n_kernel, mean == "constant", collapse_mean)
        self.structure = _fitting(structure, kernel, self.mean_prior is not None)

    def _set_layout(
        self,
        specs: list[HyperparameterSpec],
        resolved: list[HyperPrior],
        n_kernel: int,
        constant: bool,
        collapse: bool,
    ) -> None:
        sizes = {spec.name: spec.size for spec in specs}
        self.mean_prior: tuple[float, float] | None = None
        if constant and collapse:
            self.mean_prior = normal_parameters(resolved.pop(n_kernel))
            del sizes["mean"]
        location = self.mean_prior[0] if self.mean_prior else 0.0
        samples_mean = constant and not collapse
        self.layout = ParameterLayout(resolved, sizes, n_kernel, samples_mean, location)

    @property
    def n_kept(self) -> int:
        """Number of latent values that each draw keeps; see `Covariance.kept_latents`."""
        return len(self.structure.kept_inputs(self.X))

    def with_structure(self, structure: CovarianceStructure) -> LatentGaussianModel:
        """Return the same model with another structure of the same covariance."""
        other = copy.copy(self)
        other.structure = structure
        return other

    def workspace(self, gradient: bool = False) -> Workspace:
        """Return buffers and counters for one chain; see `Workspace`."""
        return Workspace(self, gradient)


def _fitting(
    structure: CovarianceStructure, kernel: Kernel, integrates_mean: bool
) -> CovarianceStructure:
    """Return the first of a structure and its alternatives that the covariance fits."""
    for candidate in (structure, *structure.alternatives):
        if candidate.fits(kernel, integrates_mean):
            return candidate
    mean = " plus a constant, for a mean that is integrated out," * integrates_mean
    raise ValueError(
        f"structure={type(structure).__name__} cannot be used: the covariance of the kernel "
        f"{kernel}{mean} does not have this structure. Use another kernel, or leave structure out."
    )


def _kernel_specs(kernel: Kernel, names: Mapping[str, str]) -> list[HyperparameterSpec]:
    return [
        HyperparameterSpec(names.get(h.name, h.name), h.n_elements, True, h.bounds)
        for h in kernel.hyperparameters
        if not h.fixed
    ]


class Workspace:
    """The mutable data of one chain: the buffers of its covariance, and its costs.

    Parameters
    ----------
    model : LatentGaussianModel
        Shared between chains, never changed.
    gradient : bool
        Whether gradients along theta alone will be asked for; see `DenseCovariance`.

    Attributes
    ----------
    structure : CovarianceStructure
        The model's.
    covariance : Covariance
        Of that structure.
    n_likelihoods : int
        Evaluations of log L(f).
    """

    def __init__(self, model: LatentGaussianModel, gradient: bool = False) -> None:
        self.model = model
        self.layout = model.layout
        self.likelihood = model.likelihood
        self.structure = model.structure
        offset_variance = model.mean_prior[1] ** 2 if model.mean_prior else 0.0
        self.covariance: Covariance[Any] = model.structure.covariance(
            model.kernel, model.X, model.jitter, offset_variance, gradient
        )
        self.n_likelihoods = 0

    def log_likelihood(self, latent: Array, params: tuple[float, ...]) -> float:
        """Return log L(f), counted."""
        self.n_likelihoods += 1
        return self.likelihood.log_likelihood(latent, params)

    def state_at(self, theta: Array, whitened: Array) -> LatentState | None:
        """Return the state at theta and z, or None where it has no finite density."""
        factor = self.covariance.factor(theta[: self.layout.n_kernel])
        return self._state_with(factor, theta, whitened)

    def rebuilt(self, state: LatentState) -> LatentState | None:
        """Return the same state with a covariance that is built afresh, as `state_at` builds it.

        None where that fails in floating point. The given state stays valid.
        """
        return self._state_with(self.covariance.rebuild(state.factor), state.theta, state.whitened)

    def _state_with(
        self, factor: Factor | None, theta: Array, whitened: Array
    ) -> LatentState | None:
        if factor is None:
            return None
        mean, params = self.layout.mean(theta), self.layout.likelihood_params(theta)
        latent = mean + factor.colour(whitened)
        log_likelihood = self.log_likelihood(latent, params)
        if not math.isfinite(log_likelihood):
            return None
        return LatentState(theta, factor, mean, params, latent, whitened, log_likelihood)

    def initial_state(self, rng: np.random.Generator, theta: Array | None = None) -> LatentState:
        """Return a state drawn from the prior, at a given theta or at a theta drawn from its prior.

        Raises
        ------
        ValueError
            If no draw had a positive definite covariance and a finite likelihood.
        """
        for _ in range(_MAX_STARTS):
            start = self.layout.sample(rng) if theta is None else theta.copy()
            whitened = rng.standard_normal(self.model.n_latent)
            state = self.state_at(start, whitened)
            if state is not None:
                return state
        if self.covariance.n_failures == 0:
            raise ValueError(self._no_likelihood_message(start, whitened))
        raise ValueError(self._no_start_message(start))

    def _no_likelihood_message(self, theta: Array, whitened: Array) -> str:
        """Return the error message where the kernel is not to blame: the fault at the last try."""
        factor = self.covariance.factor(theta[: self.layout.n_kernel])
        assert factor is not None  # as before
        latent = self.layout.mean(theta) + factor.colour(whitened)
        fault = describe_impossible(self.likelihood, latent, self.layout.likelihood_params(theta))
        where = f"at {self.describe(theta)}, " if len(theta) else ""
        return (
            f"no starting point found in {_MAX_STARTS} tries: the log likelihood was not finite "
            f"in {_MAX_STARTS} of them. At the last, {where}{fault}. Can "
            f"{type(self.likelihood).__name__} have this y? If so, "
            + ("state narrower priors, or rescale y." if len(theta) else "rescale y.")
        )

    def _no_start_message(self, theta: Array) -> str:
        """Return the error message: the fault at the last theta that was tried."""
        model = self.model
        kernel = model.kernel.clone_with_theta(theta[: self.layout.n_kernel])
        fault = self.structure.describe_fault(kernel, model.X, model.jitter)
        fault = fault or "log L(f) was not finite, or f itself"
        where = f"at {self.describe(theta)}, " if len(theta) else ""
        return (
            f"no starting point found in {_MAX_STARTS} tries: the covariance of the kernel "
            f"{model.kernel} could not be factored in {self.covariance.n_failures} of them. At the "
            f"last, {where}{fault}. Check that the kernel "
            "is a valid covariance function for these inputs, "
            + ("rescale them, or state narrower priors." if len(theta) else "or rescale them.")
        )

    def describe(self, theta: Array) -> str:
        """Return theta on the natural scale, for messages."""
        natural = self.layout.natural(theta)
        pairs = zip(self.layout.names, natural, strict=True)
        return ", ".join(f"{name}={value:.4g}" for name, value in pairs)

    def draw_collapsed_mean(
        self, state: LatentState, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Draw the mean offset that was integrated out, from its exact conditional.

        Returns
        -------
        mean, log_normal : float
            The draw m, and log N(f; m, K) without the offset's variance.
        """
        assert self.model.mean_prior is not None
        given = self.model.mean_prior, state.factor, state.whitened
        centre, std = offset_given(*given)
        mean = centre + std * rng.standard_normal()
        return mean, log_normal_given(*given, mean)
