"""Metropolis-Hastings with a proposal of the caller's (M&A Algorithms 1, 2 and 3)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._linalg import Array
from ._slice import StepResult

#: A function of the current vector and a random generator. It returns the proposed vector theta',
#: and log q(theta; theta') - log q(theta'; theta).
Proposal = Callable[[Array, np.random.Generator], tuple[Array, float]]

_NAME = "proposal (hyperparameter_update of the estimators)"
_EXAMPLE = "See skgpmcmc.updates.RandomWalk for one that works."


def metropolis_step(
    log_density: Callable[[Array], float],
    value: Array,
    log_density_value: float,
    proposal: Proposal,
    rng: np.random.Generator,
) -> StepResult:
    """Update a vector by Metropolis-Hastings; leaves exp(log_density) invariant.

    Parameters
    ----------
    log_density : callable
        Logarithm of the unnormalised density; NaN is rejected.
    value : ndarray
        Current point.
    log_density_value : float
        Log density at `value`.
    proposal : callable
        ``proposal(value, rng)`` returns the proposed point and the logarithm of
        q(value; proposed) / q(proposed; value), 0 for a symmetric proposal; NaN in
        either is rejected.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    result : StepResult
        New point, its log density, one evaluation (none of a proposal with NaN), and
        whether it was accepted.

    Raises
    ------
    ValueError
        If the proposal does not return a vector of the same shape and a number.

    See Also
    --------
    RandomWalk : A proposal.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.updates import RandomWalk, metropolis_step
    >>> rng = np.random.default_rng(0)
    >>> start = np.zeros(2)
    >>> result = metropolis_step(lambda x: -x @ x / 2, start, 0.0, RandomWalk(0.1), rng)
    >>> result.n_evaluations
    1
    """
    proposed, log_ratio = _propose(proposal, value, rng)
    if _has_nan(proposed, log_ratio):
        return StepResult(value, log_density_value, 0, False)
    proposed_log_density = log_density(proposed)
    threshold = log_density_value - log_ratio - rng.standard_exponential()
    if proposed_log_density > threshold:  # False for NaN
        return StepResult(proposed, proposed_log_density, 1, True)
    return StepResult(value, log_density_value, 1, False)


def check_proposal(proposal: Proposal, value: Array) -> None:
    """Try a proposal once, before a chain depends on it; see `metropolis_step`.

    Parameters
    ----------
    proposal : callable
        What `metropolis_step` takes.
    value : ndarray
        Where it is tried, with a generator of its own.

    Raises
    ------
    TypeError
        If it does not take two arguments.
    ValueError
        If it does not return a vector of the same shape and a number, or returns NaN.
    """
    try:
        signature = inspect.signature(proposal)
    except (TypeError, ValueError):  # as for many callables that are written in C
        signature = None
    if signature is not None:
        try:
            signature.bind(value, None)
        except TypeError:
            raise TypeError(
                f"{_NAME} is called with (theta, rng), an array and a "
                f"numpy.random.Generator; got one that takes {signature}. {_EXAMPLE}"
            ) from None
    proposed, log_ratio = _propose(proposal, value, np.random.default_rng(0))
    if _has_nan(proposed, log_ratio):
        raise ValueError(
            f"{_NAME} returned NaN at theta={value.tolist()}: "
            f"{proposed.tolist()} and {log_ratio!r}. theta holds logarithms of positive "
            f"hyperparameters: it may be negative. {_EXAMPLE}"
        )


def _propose(proposal: Proposal, value: Array, rng: np.random.Generator) -> tuple[Array, float]:
    """Call the caller's proposal on a copy, which it may edit, and check what it returns."""
    result: Any = proposal(value.copy(), rng)
    message = (
        _NAME + " must return a pair: an array of shape {shape} with "
        "the proposed theta, and the number log q(old; new) - log q(new; old), 0 if it is "
        "symmetric; got {got}. " + _EXAMPLE
    )
    try:
        vector, ratio = result
        if np.iscomplexobj(vector):  # numpy would drop imaginary parts
            raise TypeError
        proposed, log_ratio = np.array(vector, dtype=np.float64), float(ratio)
    except (TypeError, ValueError):
        raise ValueError(message.format(shape=value.shape, got=repr(result))) from None
    if proposed.shape != value.shape:
        got = f"an array of shape {proposed.shape} and {log_ratio!r}"
        raise ValueError(message.format(shape=value.shape, got=got))
    return proposed, log_ratio


def _has_nan(proposed: Array, log_ratio: float) -> bool:
    return math.isnan(log_ratio) or bool(np.isnan(proposed).any())


class RandomWalk:
    """Symmetric normal proposal on theta.

    Parameters
    ----------
    scale : float or array-like
        Standard deviation, of all or of each element of theta.

    Raises
    ------
    ValueError
        If one is not positive and finite.

    See Also
    --------
    metropolis_step : The update that uses it.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.updates import RandomWalk
    >>> proposed, log_ratio = RandomWalk([0.1, 0.5])(np.zeros(2), np.random.default_rng(0))
    >>> proposed.shape, log_ratio
    ((2,), 0.0)
    """

    def __init__(self, scale: float | Array) -> None:
        self.scale = scale
        if not np.all(np.isfinite(scale)) or not np.all(np.asarray(scale) > 0.0):
            msg = f"scale must be positive and finite; got {scale!r}. Give standard deviations."
            raise ValueError(msg)

    def __call__(self, value: Array, rng: np.random.Generator) -> tuple[Array, float]:
        """Return a proposed vector, and 0."""
        return value + self.scale * rng.standard_normal(value.shape), 0.0

    def __repr__(self) -> str:
        return f"RandomWalk({self.scale!r})"
