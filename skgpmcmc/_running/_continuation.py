"""Whether draws are of a model, and chains can be continued: told from the draws themselves.

A trace holds no model. But it holds densities of its draws, which another model does not give.
"""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np

from .._model._mean_offset import log_normal_given
from .._model._model import LatentGaussianModel
from .._sampling._settings import SamplerSettings, recorded
from ..trace import Trace

# Likelihoods and priors are computed again by the same formulas.
_SMALL = 1e-6
# What f = m + L z may change by, if it is computed again.
_ROUGHLY = 1e-4
# Over the jitter, and times the number of latent variables: what rounding does to log N(f; m, K)
# where the covariance is almost singular: fifty times the most that was measured.
_ROUNDING = 1e-13


def check_kind(name: str, value: Any, kind: str, attribute: str) -> None:
    """Raise a TypeError for an object without an attribute that all objects of its kind have.

    Parameters
    ----------
    name : str
        Of the parameter.
    value : object
        What came.
    kind : str
        Name of a class of `skgpmcmc.core`.
    attribute : str
        What its instances have.
    """
    if isinstance(value, type) or not hasattr(value, attribute):
        raise TypeError(f"{name} must be a {kind} of skgpmcmc.core; got {reprlib.repr(value)}.")


def check_origin(name: str, trace: Trace, model: LatentGaussianModel) -> None:
    """Raise an error for a trace of another model.

    Parameters
    ----------
    name : str
        Of the parameter that is the trace.
    trace : Trace
        Its last draw is tried, which takes one factorisation.
    model : LatentGaussianModel
        Made in the same way as that which was sampled, if it is not that itself.

    Raises
    ------
    TypeError
        For no trace.
    ValueError
        If hyperparameters, latent variables or densities are not the model's.
    """
    if isinstance(trace, type) or not hasattr(trace, "complete_data_log_likelihood"):
        raise TypeError(
            f"{name} must be a Trace, as run_chains returns it; got {reprlib.repr(trace)}."
        )
    difference = _difference_of_sizes(trace, model) or _difference_of_densities(trace, model)
    if difference:
        raise ValueError(
            f"{name} is not of this model: {difference}. Pass the model that was sampled, or one "
            "that is made in the same way."
        )


def _difference_of_sizes(trace: Trace, model: LatentGaussianModel) -> str:
    integrated = ["mean (integrated out)"]
    names = trace.layout.names + integrated * (trace.collapsed_mean is not None)
    own_names = model.layout.names + integrated * (model.mean_prior is not None)
    if names != own_names:
        return f"it has the hyperparameters {names}, the model has {own_names}"
    n_latent = trace.latent.shape[-1]
    if n_latent != model.n_kept:
        return f"it has {n_latent} latent variables, the model has {model.n_kept}"
    return ""


def _difference_of_densities(trace: Trace, model: LatentGaussianModel) -> str:
    """Say which density of the first chain's last draw is not the model's."""
    theta, latent = trace.theta[0, -1], trace.latent[0, -1]
    prior = model.layout.log_prior(theta)
    if not math.isclose(prior, trace.layout.log_prior(theta), rel_tol=_SMALL, abs_tol=_SMALL):
        return "the priors differ"
    if not model.structure.keeps_latents:
        return _difference_at_snapshot(trace, model)
    then = float(trace.log_likelihood[0, -1])
    with np.errstate(all="ignore"):
        now = model.likelihood.log_likelihood(latent, model.layout.likelihood_params(theta))
    if not math.isclose(now, then, rel_tol=_SMALL, abs_tol=_SMALL):
        return f"{_told('log L(f)', then, now)}: the likelihood or its data differ"
    then = float(trace.complete_data_log_likelihood[0, -1]) - then
    now = _log_normal(trace, model)
    slack = _SMALL + _ROUNDING / model.jitter if model.jitter else math.inf
    if abs(now - then) > slack * (abs(then) + model.n_latent):  # False for NaN
        return f"{_told('log N(f; m, K)', then, now)}: kernel, X or jitter differ"
    return ""


def _difference_at_snapshot(trace: Trace, model: LatentGaussianModel) -> str:
    """Say which density of the first chain was not the model's where it has left its f.

    Draws that do not keep f have it where the chain can be continued, if that is after a draw.
    """
    snapshot = trace.snapshots[0] if trace.snapshots else None
    index, rest = divmod(snapshot.iteration, trace.settings["thin"]) if snapshot else (0, 0)
    if snapshot is None or rest or not index:
        return ""
    (chain,) = snapshot.chains
    with np.errstate(all="ignore"):
        state = model.workspace().state_at(np.array(chain.theta), np.array(chain.whitened))
    then, now = float(trace.log_likelihood[0, index - 1]), math.nan
    if state is not None:
        now = state.log_likelihood
    if not math.isclose(now, then, rel_tol=_ROUGHLY, abs_tol=_ROUGHLY):
        return (
            f"at draw {index} log L(f) was {then:.6g}, and is {now:.6g} for the model: likelihood, "
            "data, kernel, X or points differ"
        )
    return ""


def _told(density: str, then: float, now: float) -> str:
    return f"at its last draw {density} was {then:.6g}, and is {now:.6g} for the model"


def _log_normal(trace: Trace, model: LatentGaussianModel) -> float:
    """Return log N(f; m, K) at that draw; NaN where the covariance has no square root."""
    theta, latent = trace.theta[0, -1], trace.latent[0, -1]
    factor = model.workspace().covariance.factor(theta[: model.layout.n_kernel])
    if factor is None:
        return math.nan
    whitened = factor.whiten(latent - model.layout.mean(theta))
    if model.mean_prior is not None and trace.collapsed_mean is not None:
        mean = float(trace.collapsed_mean[0, -1])
        return log_normal_given(model.mean_prior, factor, whitened, mean)
    return factor.log_normal(whitened) - 0.5 * math.log(2.0 * math.pi) * model.n_latent


def check_continuation(
    previous: Trace, model: LatentGaussianModel, settings: SamplerSettings, n_chains: int
) -> None:
    """Raise an error unless the chains of a trace can go on.

    Raises
    ------
    TypeError, ValueError
        For a trace of another model, see `check_origin`, of another number of chains, other
        settings, or more draws.
    """
    check_origin("previous", previous, model)
    if n_chains != previous.n_chains:
        raise ValueError(
            f"n_chains must be {previous.n_chains}, the chains of previous, which are continued; "
            f"got {n_chains}."
        )
    if settings.n_draws < previous.n_draws:
        raise ValueError(
            f"n_draws must be at least {previous.n_draws}, the draws of each chain of previous, "
            f"which are continued; got {settings.n_draws}."
        )
    now, then = recorded(settings), previous.settings
    changed = [name for name in then if now[name] != then[name]]
    if changed:
        shown = "; ".join(f"{name}={now[name]!r}, but was {then[name]!r}" for name in changed)
        raise ValueError(
            "settings must be those of previous, but for n_draws, to continue its chains; got "
            f"{shown}."
        )
