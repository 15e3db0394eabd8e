"""The root search behind the quantiles of predictive mixtures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from ..._linalg import Array

Rows = NDArray[np.intp]
# Whether the target is reached, and an estimate of the root.
Evaluation = tuple[NDArray[np.bool_], Array]

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
# Newton's method has this many steps before midpoints are forced between them.
_FREE_STEPS = 6


def by_row(values: Array) -> Array:
    """Return one contiguous row of draws per row of X: sums then never depend on other rows."""
    return np.ascontiguousarray(values.T)


def solve_each(
    quantiles: ArrayLike, solve: Callable[[float], Array], n_rows: int, lowest: float
) -> Array:
    """Return columns of quantiles: `lowest` at 0, infinity at 1, never decreasing between."""
    wanted = np.asarray(quantiles, dtype=float)
    values = np.empty((n_rows, wanted.size))
    largest = np.full(n_rows, lowest)
    for column in np.argsort(wanted, kind="stable"):
        quantile = float(wanted[column])
        if 0.0 < quantile < 1.0:
            largest = np.maximum(largest, solve(quantile))
        values[:, column] = largest if quantile < 1.0 else np.inf
    return values


def smallest_reaching(
    evaluate: Callable[[Array, Rows], Evaluation],
    low: Array,
    high: Array,
    start: Array,
    resolution: Array | float,
    *,
    whole: bool = False,
) -> Array:
    """Return the smallest x at which a non-decreasing function reaches its target.

    Parameters
    ----------
    evaluate : callable
        Takes x and the rows that it belongs to. Returns whether the target is reached, and
        an estimate of the root (anything, even NaN, where there is no good one).
    low, high : ndarray of shape (n_rows,)
        The target is not reached at `low` and reached at `high`, both finite.
    start : ndarray of shape (n_rows,)
        First guess between the two.
    resolution : ndarray of shape (n_rows,) or float
        Width of the bracket at which a search ends; the spacing of floats if that is larger.
    whole : bool, default=False
        Search whole numbers only.

    Returns
    -------
    x : ndarray of shape (n_rows,)
        The upper end of the last bracket.
    """
    low, high = low.copy(), high.copy()
    resolution = np.broadcast_to(resolution, low.shape)
    rows = np.flatnonzero(high - low > _gap(low, high, resolution))
    x, step = start[rows], 0
    while rows.size:
        if whole:
            x = np.clip(np.rint(x), low[rows] + 1.0, high[rows] - 1.0)
        reached, root = evaluate(x, rows)
        # Half a resolution beyond the root, so that the next point closes the bracket.
        x_next = root + np.where(reached, -0.5, 0.5) * resolution[rows]
        low[rows], high[rows] = np.where(reached, low[rows], x), np.where(reached, x, high[rows])
        is_open = high[rows] - low[rows] > _gap(low[rows], high[rows], resolution[rows])
        rows, x, step = rows[is_open], x_next[is_open], step + 1
        x = _safeguard(x, low[rows], high[rows], step)
    return high


def _gap(low: Array, high: Array, resolution: Array | float) -> Array:
    return np.maximum(resolution, np.spacing(np.maximum(np.abs(low), np.abs(high))))


def _safeguard(x: Array, low: Array, high: Array, step: int) -> Array:
    """Replace x by a midpoint where it is outside the bracket, and on every third late step."""
    if step > _FREE_STEPS and step % 6 == 0:
        return 0.5 * low + 0.5 * high
    if step > _FREE_STEPS and step % 3 == 0:
        return _middle_float(low, high)
    return np.where((x > low) & (x < high), x, _middle_float(low, high))


def _middle_float(low: Array, high: Array) -> Array:
    """Return the float with as many floats below it as above: any bracket closes in 64 steps."""
    a, b = _order(low.view(np.int64)), _order(high.view(np.int64))
    return _order((a & b) + ((a ^ b) >> 1)).view(np.float64)


def _order(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map the bits of a float to an integer of the same order, and back."""
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


class TailTarget:
    """The probability q to reach, measured in the smaller of the two tails.

    Parameters
    ----------
    quantile : float
        q, strictly between 0 and 1.

    Attributes
    ----------
    sign : float
        1 where probabilities are of values up to x, -1 where of values beyond x.
    tail : float
        The smaller of q and 1 - q.
    score : float
        Standard normal quantile at q.
    """

    def __init__(self, quantile: float) -> None:
        self.sign = 1.0 if quantile <= 0.5 else -1.0
        self.tail = quantile if quantile <= 0.5 else 1.0 - quantile
        self.score = float(self.sign * ndtri(self.tail))
        # q is rounded: m of n equal atoms must reach the quantile m / n.
        self._slack = quantile * np.finfo(float).eps

    def compare(self, x: Array, probability: Array, density: Array) -> Evaluation:
        """Return whether q is reached, and Newton's estimate of the root on the normal scale.

        On that scale the distribution function of a mixture is almost a straight line.
        """
        reached = self.sign * (probability - self.tail) >= -self._slack
        with np.errstate(all="ignore"):
            score = self.sign * ndtri(np.minimum(probability, 1.0))
            derivative = density / np.exp(-0.5 * score**2 - _HALF_LOG_2PI)
            return reached, x - (score - self.score) / derivative
