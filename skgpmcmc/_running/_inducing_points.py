"""Inducing points that suit the posterior: chosen by short runs, before the chains begin.

The chains themselves never change their points, so that all have the same ones, whatever runs at
the same time, and can be continued from any of their draws.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._checks import as_random_state, check_whole
from .._covariance import (
    Certificate,
    CovarianceStructure,
    LowRankStructure,
    certificate,
    greedy_points,
)
from .._linalg import Array
from .._model._model import LatentGaussianModel
from .._prediction._dense import evenly_spaced_draws
from .._sampling._settings import SamplerSettings
from ..likelihoods import Sites
from ..representations import is_usable
from ..representations._expectation_propagation import propagate
from ..trace import Trace
from ._chains import run_chains
from ._continuation import check_origin

# Iterations of the short runs; the draws say roughly where the posterior is.
_N_WARMUP, _N_DRAWS = 50, 40
# Of the draws of length scales: points chosen where these are long would make short ones look
# worse than they are, and confirm themselves.
_SHORT = 0.1
# Of a site, in place of zero: latent values without data.
_LEAST_PRECISION = 1e-10


class ChosenPoints(NamedTuple):
    """Inducing points, and where chains on them can begin.

    Attributes
    ----------
    structure : LowRankStructure
        Of the points.
    theta : ndarray of shape (n_chains, n_parameters)
        Where the short runs ended, on the sampling scale.
    """

    structure: LowRankStructure
    theta: Array


def choose_points(
    model: LatentGaussianModel,
    settings: SamplerSettings,
    n_points: int,
    *,
    n_rounds: int = 2,
    n_chains: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ChosenPoints:
    """Choose inducing points among the rows, in turn with short runs of chains on them.

    First where the hyperparameters have the medians of their priors, then where a short run on
    these points found them: at their medians, length scales at a low quantile.

    Parameters
    ----------
    model : LatentGaussianModel
        The target; its own structure does not matter.
    settings : SamplerSettings
        How it is going to be sampled. The short runs have fewer iterations.
    n_points : int
        Points at most; see `greedy_points`.
    n_rounds : int, default=2
        Number of short runs.
    n_chains : int, default=1
        Chains of each.
    n_jobs : int or None, default=None
        See `run_chains`.
    random_state : int, RandomState instance or None, default=None
        Determines the choice; `n_jobs` does not.

    Returns
    -------
    chosen : ChosenPoints

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc import core
    >>> from skgpmcmc.likelihoods import Gaussian
    >>> X = np.linspace(0.0, 9.0, 60)[:, np.newaxis]
    >>> model = core.LatentGaussianModel(
    ...     RBF(1.0), X, Gaussian(np.sin(X[:, 0]), noise_variance=0.1),
    ...     priors={"length_scale": stats.lognorm(s=1.0)},
    ... )
    >>> settings = core.SamplerSettings("marginal", n_warmup=50, n_draws=50)
    >>> chosen = core.choose_points(model, settings, 15, random_state=0)
    >>> trace = core.run_chains(model.with_structure(chosen.structure), settings, random_state=1)
    >>> trace.latent.shape
    (4, 50, 15)
    """
    check_whole("n_rounds", n_rounds, 0)
    check_whole("n_chains", n_chains, 1)
    rng = as_random_state(random_state)
    short = replace(
        settings,
        n_warmup=_N_WARMUP,
        n_draws=_N_DRAWS,
        thin=1,
        n_approximate=min(settings.n_approximate, _N_WARMUP // 2),
    )
    n_kernel = model.layout.n_kernel
    theta = np.array([prior.quantile(0.5) for prior in model.layout.priors])
    structure = _structure(model, theta[:n_kernel], n_points)
    starts = None
    for _ in range(n_rounds):
        trace = run_chains(
            model.with_structure(structure),
            short,
            n_chains=n_chains,
            random_state=rng,
            n_jobs=n_jobs,
            theta=starts,
        )
        starts = trace.theta[:, -1]
        structure = _structure(model, _amid(model, trace.all_theta()), n_points)
    if starts is None:
        starts = np.tile(theta, (n_chains, 1))
    return ChosenPoints(structure, starts)


def certify(
    model: LatentGaussianModel,
    trace: Trace,
    *,
    reference: CovarianceStructure | None = None,
    n_draws: int = 20,
) -> Certificate:
    """Tell how much the inducing points of a model lose, by draws of its chains.

    Log evidences are compared at draws of the hyperparameters: of the data where these are
    Gaussian given f; of Gaussian sites in their place, found by expectation propagation at the
    median, where they are not.

    Parameters
    ----------
    model : LatentGaussianModel
        With a `LowRankStructure`.
    trace : Trace
        Its draws.
    reference : CovarianceStructure or None, default=None
        What it is compared with: ``DenseStructure()`` where there are few enough rows. None is a
        `LowRankStructure` of twice as many points, chosen where length scales are short.
    n_draws : int, default=20
        Draws, evenly spread.

    Returns
    -------
    certificate : Certificate
        See there what is good enough.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc import core
    >>> from skgpmcmc.likelihoods import Gaussian
    >>> X = np.linspace(0.0, 9.0, 60)[:, np.newaxis]
    >>> model = core.LatentGaussianModel(
    ...     RBF(1.0), X, Gaussian(np.sin(X[:, 0]), noise_variance=0.1),
    ...     priors={"length_scale": stats.lognorm(s=1.0)}, structure=core.LowRankStructure(X[::4]),
    ... )
    >>> settings = core.SamplerSettings("marginal", n_warmup=50, n_draws=50)
    >>> trace = core.run_chains(model, settings, n_chains=2, random_state=0)
    >>> certificate = core.certify(model, trace)
    >>> bool(certificate.evidence_variance < 0.1)
    True
    """
    check_origin("trace", trace, model)
    check_whole("n_draws", n_draws, 2)
    points, n_kernel = model.structure.kept_inputs(model.X), model.layout.n_kernel
    if reference is None:
        short = _amid(model, trace.all_theta())
        reference = _structure(model, short, 2 * len(points))
    which = evenly_spaced_draws(trace, n_draws)
    theta, means = trace.all_theta()[which], trace.mean_offset().reshape(-1)[which]
    sites = _gaussian_data(model, trace, theta)
    noise = np.array([1.0 / np.maximum(one.precision, _LEAST_PRECISION) for one in sites])
    centre = noise * np.array([one.shift for one in sites])
    deviation = centre - means[:, np.newaxis]
    return certificate(
        model.kernel,
        model.X,
        points,
        reference,
        theta[:, :n_kernel],
        noise,
        deviation,
        model.jitter,
    )


def _gaussian_data(model: LatentGaussianModel, trace: Trace, theta: Array) -> list[Sites]:
    """Return Gaussian data at each theta, or sites in their place, the same for all."""
    layout, likelihood = model.layout, model.likelihood
    if is_usable("marginal", likelihood, model.structure):
        return [likelihood.gaussian_sites(layout.likelihood_params(one)) for one in theta]
    median = np.median(trace.all_theta(), axis=0)
    covariance = model.workspace().covariance
    factor = covariance.factor(median[: layout.n_kernel])
    if factor is None:
        return [Sites(*np.full((2, model.n_latent), math.nan))] * len(theta)
    mean, params = layout.mean(median), layout.likelihood_params(median)
    factory = covariance.pseudo_posterior_factory()
    found = propagate(likelihood, factor, mean, params, factory)
    return [found.sites] * len(theta)


def _structure(model: LatentGaussianModel, theta: Array, n_points: int) -> LowRankStructure:
    kernel = model.kernel.clone_with_theta(theta)
    return LowRankStructure(greedy_points(kernel, model.X, n_points))


def _amid(model: LatentGaussianModel, draws: Array) -> Array:
    """Return the kernel's hyperparameters amid the draws, with short length scales."""
    free = [h for h in model.kernel.hyperparameters if not h.fixed]
    quantiles = np.repeat(
        [_SHORT if h.name.endswith("length_scale") else 0.5 for h in free],
        [h.n_elements for h in free],
    )
    columns = zip(draws.T[: len(quantiles)], quantiles, strict=True)
    return np.array([np.quantile(column, q) for column, q in columns])
