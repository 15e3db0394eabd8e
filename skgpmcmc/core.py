"""The sampling core, for likelihoods of your own.

A `LatentGaussianModel` is a kernel, inputs, a likelihood and priors; `run_chains` samples it as
`SamplerSettings` says and returns a `Trace`; `predict_latent` goes to new inputs. The estimators
are built of the same parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import check_whole
from ._covariance import check_kernel_call
from ._linalg import Array
from ._model._inputs import as_inputs
from ._model._model import LatentGaussianModel
from ._prediction._registry import posterior_draws
from ._running._chains import run_chains
from ._running._continuation import check_kind, check_origin
from ._sampling._settings import SamplerSettings
from .estimators._latent_predictions import latent_moments
from .trace import Trace

__all__ = ["LatentGaussianModel", "SamplerSettings", "Trace", "predict_latent", "run_chains"]


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
    mean, variance = latent_moments(draws, X)
    return mean, np.sqrt(variance)
