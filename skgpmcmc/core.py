"""The sampling core, for likelihoods of your own.

A `LatentGaussianModel` is a kernel, inputs, a likelihood and priors; `run_chains` samples it as
`SamplerSettings` says and returns a `Trace`; `predict_latent` goes to new inputs, and
`predict_mean`, `predict_quantiles`, `predict_log_density` and `predict_samples` to new
observations. The estimators are built of the same parts.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ._checks import as_random_state, check_vector, check_whole
from ._covariance import (
    Certificate,
    DenseStructure,
    LowRankStructure,
    certificate,
    check_kernel_call,
    greedy_points,
)
from ._linalg import Array
from ._model._inputs import as_inputs
from ._model._model import LatentGaussianModel
from ._prediction._averages import latent_moments, of_new_observations
from ._prediction._dense import PosteriorDraws, likelihood_params, sample_latent
from ._prediction._registry import posterior_draws
from ._running._chains import run_chains
from ._running._continuation import check_kind, check_origin
from ._sampling._settings import SamplerSettings
from .likelihoods._checks import check_quantiles
from .trace import Trace

__all__ = [
    "Certificate",
    "DenseStructure",
    "LatentGaussianModel",
    "LowRankStructure",
    "SamplerSettings",
    "Trace",
    "certificate",
    "greedy_points",
    "predict_latent",
    "predict_log_density",
    "predict_mean",
    "predict_quantiles",
    "predict_samples",
    "run_chains",
]


def predict_latent(
    model: LatentGaussianModel, trace: Trace, X: Any, max_draws: int = 200
) -> tuple[Array, Array]:
    """Return posterior mean and standard deviation of the latent function at new inputs.

    Parameters
    ----------
    model : LatentGaussianModel
        What was sampled.
    trace : Trace
        Its draws.
    X : array-like of shape (n_samples, n_features)
        New inputs.
    max_draws : int, default=200
        Draws, evenly spread, that the moments are averaged over.

    Returns
    -------
    mean, std : ndarray of shape (n_samples,)
        By the laws of total expectation and variance over the draws.

    Raises
    ------
    ValueError
        If the trace is of another model, or X has another number of columns than its inputs.
    TypeError
        For anything but a model and a trace.

    See Also
    --------
    predict_mean : The expectation of new observations.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc.core import LatentGaussianModel, SamplerSettings, predict_latent, run_chains
    >>> from skgpmcmc.likelihoods import Poisson
    >>> X = np.linspace(0.0, 1.0, 9)[:, np.newaxis]
    >>> model = LatentGaussianModel(
    ...     RBF(1.0), X, Poisson([0, 1, 0, 2, 5, 9, 7, 9, 8]),
    ...     priors={"length_scale": stats.lognorm(s=1.0)},
    ... )
    >>> trace = run_chains(model, SamplerSettings(n_warmup=50, n_draws=50), random_state=0)
    >>> mean, std = predict_latent(model, trace, [[0.0], [1.0]])
    >>> bool(mean[0] < mean[1])
    True
    """
    draws, X = _draws_and_rows(model, trace, X, max_draws)
    mean, variance = latent_moments(draws, X)
    return mean, np.sqrt(variance)


def predict_log_density(
    model: LatentGaussianModel, trace: Trace, X: Any, y: Any, max_draws: int = 200, **per_row: Any
) -> Array:
    """Return the logarithm of the predictive density, or probability, of new observations.

    Parameters
    ----------
    model : LatentGaussianModel
        What was sampled.
    trace : Trace
        Its draws.
    X : array-like of shape (n_samples, n_features)
        New inputs.
    y : array-like of shape (n_samples,)
        New observations.
    max_draws : int, default=200
        Draws, evenly spread, that are averaged over.
    **per_row : dict
        What else belongs to new rows, by the names in the likelihood's ``per_observation``, such
        as ``exposure=2.0``: a number, or one for each row.

    Returns
    -------
    log_density : ndarray of shape (n_samples,)
        Averaged over the draws; minus infinity for what is impossible.

    Raises
    ------
    ValueError, TypeError
        As by `predict_latent`, and for values of new rows that are missing or not known.

    See Also
    --------
    predict_quantiles : Quantiles of new observations.

    Examples
    --------
    See `predict_mean`.
    """
    draws, X = _draws_and_rows(model, trace, X, max_draws)
    y = check_vector(y, "y")
    if len(y) != len(X):
        raise ValueError(
            f"y must have one element for each of the {len(X)} rows of X; got {len(y)}."
        )
    values = model.likelihood.values_of_new_rows(len(X), per_row)
    method, params = model.likelihood.predictive_log_density, likelihood_params(trace, max_draws)
    return of_new_observations(method, draws, X, params, y, **values)


def predict_quantiles(
    model: LatentGaussianModel,
    trace: Trace,
    X: Any,
    quantiles: Any,
    max_draws: int = 200,
    **per_row: Any,
) -> Array:
    """Return predictive quantiles of new observations.

    Parameters
    ----------
    model : LatentGaussianModel
        What was sampled.
    trace : Trace
        Its draws.
    X : array-like of shape (n_samples, n_features)
        New inputs.
    quantiles : array-like of shape (n_quantiles,)
        Probabilities in [0, 1].
    max_draws : int, default=200
        Draws, evenly spread, that are averaged over. A likelihood that defines `pointwise` alone
        takes some seconds for each row of X; fewer draws take less.
    **per_row : dict
        As for `predict_log_density`.

    Returns
    -------
    values : ndarray of shape (n_samples, n_quantiles)
        The smallest y with at least that probability up to it.

    Raises
    ------
    ValueError, TypeError
        As by `predict_log_density`.

    See Also
    --------
    predict_mean : Their expectation.
    predict_samples : Draws of them.

    Examples
    --------
    See `predict_mean`.
    """
    draws, X = _draws_and_rows(model, trace, X, max_draws)
    quantiles = check_quantiles(quantiles)
    values = model.likelihood.values_of_new_rows(len(X), per_row)
    method = partial(model.likelihood.predictive_quantiles, quantiles)
    return of_new_observations(method, draws, X, likelihood_params(trace, max_draws), **values)


def predict_mean(
    model: LatentGaussianModel, trace: Trace, X: Any, max_draws: int = 200, **per_row: Any
) -> Array:
    """Return the expectation of new observations; of labels the probability of +1.

    Parameters
    ----------
    model : LatentGaussianModel
        What was sampled.
    trace : Trace
        Its draws.
    X : array-like of shape (n_samples, n_features)
        New inputs.
    max_draws : int, default=200
        Draws, evenly spread, that are averaged over.
    **per_row : dict
        As for `predict_log_density`.

    Returns
    -------
    mean : ndarray of shape (n_samples,)
        Averaged over the draws.

    Raises
    ------
    ValueError, TypeError
        As by `predict_log_density`.

    See Also
    --------
    predict_latent : The latent function.
    predict_quantiles : Quantiles of new observations.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc import core
    >>> from skgpmcmc.likelihoods import Poisson
    >>> X = np.linspace(0.0, 1.0, 9)[:, np.newaxis]
    >>> model = core.LatentGaussianModel(
    ...     RBF(1.0), X, Poisson([0, 1, 0, 2, 5, 9, 7, 9, 8]),
    ...     priors={"length_scale": stats.lognorm(s=1.0)},
    ... )
    >>> settings = core.SamplerSettings(n_warmup=50, n_draws=50)
    >>> trace = core.run_chains(model, settings, random_state=0)
    >>> low, high = core.predict_mean(model, trace, [[0.0], [1.0]])
    >>> bool(low < 3.0 < high)
    True
    >>> counts = core.predict_quantiles(model, trace, [[1.0]], [0.05, 0.95], exposure=2.0)
    >>> bool(counts[0, 0] < 2.0 * high < counts[0, 1])
    True
    >>> log_density = core.predict_log_density(model, trace, [[1.0], [1.0]], [8, 50])
    >>> bool(log_density[0] > log_density[1])
    True
    >>> core.predict_samples(model, trace, [[0.0], [1.0]], n_samples=3, random_state=0).shape
    (2, 3)
    """
    draws, X = _draws_and_rows(model, trace, X, max_draws)
    values = model.likelihood.values_of_new_rows(len(X), per_row)
    method, params = model.likelihood.predictive_mean, likelihood_params(trace, max_draws)
    return of_new_observations(method, draws, X, params, **values)


def predict_samples(
    model: LatentGaussianModel,
    trace: Trace,
    X: Any,
    n_samples: int = 1,
    random_state: Any = None,
    max_draws: int = 200,
    **per_row: Any,
) -> Array:
    """Draw new observations from their predictive distribution, jointly over the rows.

    Parameters
    ----------
    model : LatentGaussianModel
        What was sampled.
    trace : Trace
        Its draws.
    X : array-like of shape (n_rows, n_features)
        New inputs.
    n_samples : int, default=1
        Number of draws for each row.
    random_state : int, RandomState instance or None, default=None
        Determines the draws.
    max_draws : int, default=200
        Draws, evenly spread, that new observations are drawn given.
    **per_row : dict
        As for `predict_log_density`.

    Returns
    -------
    y : ndarray of shape (n_rows, n_samples)
        A row for each row of X.

    Raises
    ------
    MissingCapabilityError
        If the likelihood does not define how to draw.
    ValueError, TypeError
        As by `predict_log_density`.

    See Also
    --------
    predict_quantiles : Quantiles of new observations.
    predict_latent : The latent function.

    Examples
    --------
    See `predict_mean`.
    """
    draws, X = _draws_and_rows(model, trace, X, max_draws)
    rng = as_random_state(random_state)
    chosen, (latent,) = sample_latent([draws], X, n_samples, rng, None)
    params = likelihood_params(trace, max_draws)[chosen]
    values = model.likelihood.values_of_new_rows(len(X), per_row)
    return model.likelihood.predictive_sample(latent, params, rng, **values)


def _draws_and_rows(
    model: LatentGaussianModel, trace: Trace, X: Any, max_draws: int
) -> tuple[PosteriorDraws, Any]:
    """Return what predictions average over, and checked inputs."""
    check_kind("model", model, "LatentGaussianModel", "layout")
    check_origin("trace", trace, model)
    check_whole("max_draws", max_draws, 1)
    X = as_inputs(model.kernel, X)
    if model.kernel.requires_vector_input and X.shape[1] != model.X.shape[1]:
        raise ValueError(
            f"X must have the shape (n_samples, {model.X.shape[1]}), the columns of the model's "
            f"inputs; got {X.shape}."
        )
    check_kernel_call(model.kernel, X[:2])
    draws = posterior_draws(model.structure, model.kernel, model.X, trace, model.jitter, max_draws)
    return draws, X
