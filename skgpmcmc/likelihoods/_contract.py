"""Checks of a user's own likelihood, by calling it before anything is sampled."""

from __future__ import annotations

import inspect
import reprlib
from typing import Any

import numpy as np

from .._checks import shown
from .._linalg import Array
from ._base import Likelihood
from .predictive._distributions import DISTRIBUTIONS

_METHODS = ("pointwise", "per_latent", "log_likelihood", "derivatives")


def check_likelihood(likelihood: Likelihood) -> None:
    """Raise an error for a likelihood whose methods do not fit together.

    Its values do not matter: it is tried where all latent values are 0 and all parameters 1.

    Parameters
    ----------
    likelihood : Likelihood
        Any, also one of the user's own.

    Raises
    ------
    TypeError
        For anything that is no likelihood, if ``parameters`` is one string, or if a method does
        not take ``(latent, params)``.
    ValueError
        If a method returns anything but real numbers of the right shape, or ``support`` is no
        support that there is.
    """
    _check_kind(likelihood)
    name, parameters = type(likelihood).__name__, likelihood.parameters
    if isinstance(parameters, str):
        raise TypeError(
            f"{name}.parameters must be a tuple of names; got {parameters!r}. For one parameter "
            f"write ({parameters!r},)."
        )
    support = getattr(likelihood, "support", "real")
    if support not in DISTRIBUTIONS:
        raise ValueError(
            f"{name}.support must be one of {', '.join(map(repr, DISTRIBUTIONS))}, what y can be; "
            f"got {shown(support)}."
        )
    for method in _METHODS:
        _check_signature(f"{name}.{method}", getattr(likelihood, method))
    n_obs, params = likelihood.y.size, (1.0,) * len(parameters)
    with np.errstate(all="ignore"):
        for shape in ((n_obs,), (2, n_obs)):
            _check_pointwise(name, shape, likelihood.pointwise(np.zeros(shape), params))
        total = likelihood.log_likelihood(np.zeros(likelihood.n_latent), params)
    if np.shape(total) != () or not _is_real(np.asarray(total)):
        raise ValueError(
            f"{name}.log_likelihood must return one number, the sum over all observations; it "
            f"returned {_describe(total)}."
        )


def describe_impossible(likelihood: Likelihood, latent: Array, params: tuple[float, ...]) -> str:
    """Return in words why the log likelihood is not finite: the first observation without one."""
    if not np.isfinite(latent).all():
        return "f itself was not finite"
    index, weight = likelihood.latent_index, likelihood.sample_weight
    values = likelihood.pointwise(latent if index is None else latent[index], params)
    is_data = np.ones(len(values), dtype=bool) if weight is None else weight > 0.0
    rows = np.flatnonzero(is_data & ~np.isfinite(values))
    if not rows.size:
        return "pointwise is finite for all rows of y, but log_likelihood is not"
    row = rows[0]
    return f"pointwise is {values[row]:g} for row {row} of y, which is {likelihood.y[row]:g}"


def _check_kind(likelihood: Any) -> None:
    """Raise an error for an object without the methods and attributes of a likelihood."""
    needed = ("n_latent", "y", "parameters", *_METHODS)
    missing = [name for name in needed if not hasattr(likelihood, name)]
    is_class = isinstance(likelihood, type)
    if missing or is_class:
        hint = "Give an instance of the class, made with the data" if is_class else ""
        hint = hint or f"What came has no {missing[0]}"
        raise TypeError(
            "likelihood must be one of skgpmcmc.likelihoods, such as Poisson(y), or one of your "
            f"own that is derived from its class Likelihood; got {reprlib.repr(likelihood)}. "
            f"{hint}."
        )


def _check_signature(name: str, method: Any) -> None:
    """Raise an error for a method that cannot be called with latent values and parameters."""
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # of something compiled
        return
    try:
        signature.bind(np.zeros(1), ())
    except TypeError:
        raise TypeError(
            f"{name} must take the arguments (latent, params), also without parameters (params is "
            f"then empty); it takes {signature}. Write `def {name.rsplit('.', 1)[-1]}(self, "
            "latent, params=()):`."
        ) from None


def _check_pointwise(name: str, shape: tuple[int, ...], values: Any) -> None:
    if isinstance(values, np.ndarray) and values.shape == shape and _is_real(values):
        return
    raise ValueError(
        f"{name}.pointwise must return an array of real numbers, the log probability of each "
        f"observation: of shape {shape} for latent values of shape {shape}; it returned "
        f"{_describe(values)}. Do not sum over observations, and take latent of any shape "
        "(..., n_obs)."
    )


def _is_real(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiu"


def _describe(values: Any) -> str:
    if isinstance(values, (np.ndarray, np.generic)):
        return f"shape {values.shape} and dtype {values.dtype}"
    return reprlib.repr(values)
