"""Hamiltonian Monte Carlo with a diagonal metric (Neal 2011), and its adaptation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._linalg import Array

# Hoffman and Gelman (2014), section 3.2: dual averaging of the logarithm of the step size.
_TARGET_ACCEPTANCE = 0.7
_SHRINKAGE, _OFFSET, _FORGETTING = 0.1, 10.0, 0.75
_FIRST_STEP_SIZE = 0.2
# Dual averaging shrinks step sizes towards this multiple of the last one. (With 10, as in Hoffman
# and Gelman, the first trajectories after each change of the metric are rejected, and the average
# keeps their effect.)
_OPTIMISM = 2.0
# Weight of the newest trajectory in the mean acceptance.
_NEWEST_SHARE = 0.1
# The number of iterations that estimate the first metric (each later window is twice as long), and
# the weight, in iterations, of a small prior variance in each estimate (as in Stan).
_FIRST_WINDOW = 25
# The number of iterations after the last window, which only tune the step size.
_LAST_ITERATIONS = 25
_REGULARISATION, _SMALL_VARIANCE = 5.0, 1e-3


class Point(NamedTuple):
    """A vector, and the log density and its gradient there."""

    value: Array
    log_density: float
    gradient: Array


class HamiltonianResult(NamedTuple):
    """The result of one trajectory.

    Attributes
    ----------
    point : Point
        The new point; the old one where `moved` is False.
    acceptance : float
        Probability with which the end of the trajectory was to be accepted.
    moved : bool
        Whether it was. If so it was the last point evaluated.
    """

    point: Point
    acceptance: float
    moved: bool


def hamiltonian_step(
    evaluate: Callable[[Array], Point | None],
    point: Point,
    step_sizes: Array,
    n_steps: int,
    rng: np.random.Generator,
    angle: float = 0.0,
) -> HamiltonianResult:
    """Update a vector by one Hamiltonian trajectory; leaves exp(log_density) invariant.

    Elements that are close to standard normal come last: they and their momenta turn by an angle,
    which solves the Hamiltonian of a standard normal distribution exactly, and only the rest of
    their gradient changes the momenta. Steps then are as large as that rest allows, however many
    elements there are.

    Parameters
    ----------
    evaluate : callable
        Vector -> Point, or None where the density is zero or not finite: the trajectory
        then ends, and the vector stays.
    point : Point
        Where the trajectory begins.
    step_sizes : ndarray
        Step sizes of the first elements, positive; of all of them, or the others turn.
    n_steps : int
        Leapfrog steps.
    rng : numpy.random.Generator
        Source of randomness.
    angle : float
        By which the other elements turn in each step.

    Returns
    -------
    result : HamiltonianResult
        New point, the probability of acceptance, and whether it moved.

    See Also
    --------
    HamiltonianTuner : Find step sizes in the warm-up.

    References
    ----------
    Neal (2011), MCMC using Hamiltonian dynamics, Figure 2; for elements that turn, Shahbaba, Lan,
    Johnson and Neal (2014), Split Hamiltonian Monte Carlo, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.updates import Point, hamiltonian_step
    >>> def evaluate(x):
    ...     return Point(x, -0.5 * float(x @ x), -x)
    >>> rng = np.random.default_rng(0)
    >>> start = evaluate(np.zeros(2))
    >>> hamiltonian_step(evaluate, start, np.full(2, 0.1), 10, rng).moved
    True
    """
    momentum = rng.standard_normal(point.value.shape)
    level = rng.standard_exponential()
    start_energy = point.log_density - 0.5 * float(momentum @ momentum)
    kicks = np.concatenate([step_sizes, np.full(len(momentum) - len(step_sizes), angle)])
    turns = slice(len(step_sizes), None)
    current = point
    momentum = momentum + 0.5 * kicks * _force(point, turns)
    for step in range(n_steps):
        value = current.value + kicks * momentum
        value[turns], momentum[turns] = _turned(current.value[turns], momentum[turns], angle)
        proposed = evaluate(value)
        if proposed is None or not np.isfinite(proposed.gradient).all():
            return HamiltonianResult(point, 0.0, False)
        current = proposed
        last = step == n_steps - 1
        momentum = momentum + (0.5 if last else 1.0) * kicks * _force(current, turns)
    change = current.log_density - 0.5 * float(momentum @ momentum) - start_energy
    if not change > -level:  # also for NaN
        acceptance = math.exp(min(change, 0.0)) if change == change else 0.0
        return HamiltonianResult(point, acceptance, False)
    return HamiltonianResult(current, math.exp(min(change, 0.0)), True)


def _force(point: Point, turns: slice) -> Array:
    """Return the gradient, without that of a standard normal density for elements that turn."""
    force = point.gradient.copy()
    force[turns] += point.value[turns]
    return force


def _turned(value: Array, momentum: Array, angle: float) -> tuple[Array, Array]:
    cosine, sine = math.cos(angle), math.sin(angle)
    return cosine * value + sine * momentum, cosine * momentum - sine * value


class HamiltonianTuner:
    """Step size by dual averaging and a diagonal metric, both frozen after the warm-up.

    The metric is estimated in windows that double in length, so that the start of the
    chain is forgotten.

    Parameters
    ----------
    size : int
        Length of the vector.
    n_iterations : int
        Length of the warm-up. The last of it adapts the step size to the last metric.
    previous : HamiltonianTuner, optional
        Of an earlier warm-up, whose metric and step size are the first ones.
    first_scale : float
        Of all elements, until the metric is estimated.

    Attributes
    ----------
    step_sizes : ndarray of shape (size,)
        For the next trajectory.
    n_since_restart : int
        Trajectories since the metric changed.
    acceptance : float
        Their mean probability of acceptance, the last ten or so counted most.

    See Also
    --------
    hamiltonian_step : The update that uses them.

    References
    ----------
    Hoffman and Gelman (2014), The No-U-Turn sampler, section 3.2.
    """

    def __init__(
        self,
        size: int,
        n_iterations: int,
        previous: HamiltonianTuner | None = None,
        first_scale: float = 1.0,
    ) -> None:
        first_scales = np.full(size, first_scale)
        self._scales: Array = first_scales if previous is None else previous._scales.copy()
        self._n_recorded = 0
        self._window_ends = _window_ends(n_iterations)
        first = _FIRST_STEP_SIZE * max(size, 1) ** -0.25
        self._restart_steps(first if previous is None else previous.step_size)
        self._restart_metric()

    def _restart_steps(self, step_size: float) -> None:
        self._centre = math.log(_OPTIMISM * step_size)
        self.n_since_restart, self._shortfall, self._averaged = 0, 0.0, 0.0
        self.acceptance = _TARGET_ACCEPTANCE
        self._set_step(step_size)

    def _set_step(self, step_size: float) -> None:
        self.step_size = step_size
        self.step_sizes = step_size * self._scales

    def _restart_metric(self) -> None:
        self._n_positions = 0
        self._mean = np.zeros_like(self._scales)
        self._squares = np.zeros_like(self._scales)

    def record(self, value: Array, acceptance: float) -> None:
        """Record the end of a trajectory of the warm-up, and the probability of accepting it."""
        self.n_since_restart += 1
        self.acceptance += _NEWEST_SHARE * (acceptance - self.acceptance)
        weight = 1.0 / (self.n_since_restart + _OFFSET)
        self._shortfall += weight * (_TARGET_ACCEPTANCE - acceptance - self._shortfall)
        logarithm = self._centre - math.sqrt(self.n_since_restart) / _SHRINKAGE * self._shortfall
        weight = self.n_since_restart**-_FORGETTING
        self._averaged += weight * (logarithm - self._averaged)
        self._set_step(math.exp(logarithm))
        self._n_positions += 1
        step = value - self._mean
        self._mean += step / self._n_positions
        self._squares += step * (value - self._mean)
        self._n_recorded += 1
        if self._n_recorded in self._window_ends:
            self._end_window()

    def _end_window(self) -> None:
        variance = self._squares / (self._n_positions - 1)
        weight = self._n_positions / (self._n_positions + _REGULARISATION)
        self._scales = np.sqrt(weight * variance + (1.0 - weight) * _SMALL_VARIANCE)
        self._restart_steps(math.exp(self._averaged))
        self._restart_metric()

    def freeze(self) -> None:
        """End the adaptation."""
        if self.n_since_restart:
            self._set_step(math.exp(self._averaged))


def _window_ends(n_iterations: int) -> list[int]:
    """Return the iterations at which windows end; the last takes the remainder."""
    ends, start, window = [], 0, _FIRST_WINDOW
    limit = n_iterations - _LAST_ITERATIONS
    while start + window <= limit:
        fits_another = start + 3 * window <= limit
        start = start + window if fits_another else limit
        ends.append(start)
        window *= 2
    return ends
