"""Slice sampling of one scalar (Neal 2003; M&A Algorithm 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# When a proposal is rejected, the bracket shrinks by a factor of 3/4 on average, and by much more
# if the proposal was far off: after 100 times it is as narrow as the spacing of floats.
MAX_SHRINKS = 100


class StepResult(NamedTuple):
    """The result of one update of a scalar or a vector.

    Attributes
    ----------
    value : float or ndarray
        The new value; the old one where `moved` is False.
    log_density : float
        At the new value.
    n_evaluations : int
        Of the log density.
    moved : bool
        Whether a proposal was accepted. If so it was the last point evaluated.
    """

    value: Any
    log_density: float
    n_evaluations: int
    moved: bool


def slice_step(
    log_density: Callable[[float], float],
    value: float,
    log_density_value: float,
    width: float,
    rng: np.random.Generator,
    *,
    lower: float = -math.inf,
    upper: float = math.inf,
    max_steps_out: int = 0,
    max_shrinks: int = MAX_SHRINKS,
) -> StepResult:
    """Update a scalar by slice sampling; leaves exp(log_density) invariant.

    Parameters
    ----------
    log_density : callable
        Logarithm of the unnormalised density. NaN counts as outside the slice.
    value : float
        Current point.
    log_density_value : float
        Log density at `value`.
    width : float
        Width of the initial bracket.
    rng : numpy.random.Generator
        Source of randomness.
    lower, upper : float
        Support of the density; the bracket is cut to it after both ends exist.
    max_steps_out : int
        How often, in all, the bracket may be widened by `width` (Neal's
        stepping-out procedure); 0 is Algorithm 4.
    max_shrinks : int
        Proposals after which the update gives up and stays where it is.

    Returns
    -------
    result : StepResult
        New point, its log density, the evaluations used, and whether it moved.

    See Also
    --------
    WidthAdapter : Find the width in the warm-up.
    elliptical_slice_step : For variables with a normal prior.

    References
    ----------
    Murray and Adams (2010), Algorithm 4; Neal (2003), Figures 3 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.updates import slice_step
    >>> rng = np.random.default_rng(0)
    >>> result = slice_step(lambda x: -0.5 * x**2, 0.3, -0.045, 4.0, rng)
    >>> result.moved
    True
    """
    level = log_density_value - rng.standard_exponential()
    left = value - width * rng.random()
    right = left + width
    n_evaluations = 0
    if max_steps_out:
        left, right, n_evaluations = _step_out(
            log_density, level, (left, right), (lower, upper), max_steps_out, rng
        )
    left, right = max(left, lower), min(right, upper)
    for _ in range(max_shrinks):
        proposal = left + (right - left) * rng.random()
        n_evaluations += 1
        proposal_log_density = log_density(proposal)
        if proposal_log_density > level:  # False for NaN
            return StepResult(proposal, proposal_log_density, n_evaluations, True)
        if proposal < value:
            left = proposal
        else:
            right = proposal
    return StepResult(value, log_density_value, n_evaluations, False)


def _step_out(
    log_density: Callable[[float], float],
    level: float,
    bracket: tuple[float, float],
    support: tuple[float, float],
    max_steps_out: int,
    rng: np.random.Generator,
) -> tuple[float, float, int]:
    """Widen the bracket until both ends are outside the slice (Neal 2003, Figure 3).

    The budget of steps is split between the two sides at random, without regard
    to where the support ends: only then is the procedure reversible.
    """
    left, right = bracket
    lower, upper = support
    width = right - left
    steps_left = int(rng.integers(0, max_steps_out + 1))
    steps_right = max_steps_out - steps_left
    n_evaluations = 0
    while steps_left > 0 and left > lower:
        n_evaluations += 1
        if not log_density(left) > level:
            break
        left -= width
        steps_left -= 1
    while steps_right > 0 and right < upper:
        n_evaluations += 1
        if not log_density(right) > level:
            break
        right += width
        steps_right -= 1
    return left, right, n_evaluations
