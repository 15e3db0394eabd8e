"""The distribution of one new observation, computed from its log density alone.

Three kinds, one for each `Likelihood.support`. All have the methods `quantile`, `exceedance` and
`mean`; probabilities are accurate to about 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from ..._linalg import Array

# Takes values of y of one row, (n,), and returns their log densities given each draw, (n_draws, n).
LogDensity = Callable[[Array], Array]

# A probability that differs from its target by less is equal to it.
_TOLERANCE = 1e-8
# Errors of the total probability given a draw: cells are halved while it is larger than the first
# one; one larger than the second raises an error.
_MASS_ERROR, _LARGEST_MASS_ERROR = 1e-6, 1e-3
# Real y are centre + scale sinh(t). Heavy tails reach far; the square of y must not overflow.
_EDGES = np.array([0.0, 1.0, 3.0, 8.0, 30.0, 100.0, 300.0])
_EDGES = np.concatenate([-_EDGES[:0:-1], _EDGES])
_MAX_ROUNDS = 100
_MOST_CELLS = 1000
_NARROWEST = 1e-13
_NODES, _WEIGHTS = legendre.leggauss(10)
# Row k: the weights that make the k-th Legendre coefficient of the values at the nodes.
_TO_SERIES = np.array(
    [(k + 0.5) * _WEIGHTS * legendre.legval(_NODES, np.eye(10)[k]) for k in range(10)]
)
_N_HALVINGS = 60
# Counts are summed one by one, in blocks that grow.
_FIRST_BLOCK = 64
_MOST_COUNTS = 2**14
_NEGLIGIBLE = 1e-8


class Distribution(Protocol):
    """The interface of a distribution."""

    def quantile(self, probability: float) -> float:
        """Return the smallest value with at least this probability up to it."""
        ...

    def exceedance(self, threshold: float) -> float:
        """Return the probability of values that are strictly larger."""
        ...

    def mean(self) -> float:
        """Return the expectation."""
        ...


class RealDistribution:
    """The distribution of a real y; the density is integrated over adaptive cells.

    Parameters
    ----------
    log_density : callable
        Of y.
    y : ndarray of shape (n_obs,)
        Observations; they say in which order of magnitude y is.

    Raises
    ------
    ValueError
        If the density does not integrate to one.
    """

    def __init__(self, log_density: LogDensity, y: Array) -> None:
        self._log_density = log_density
        self._centre = float(np.median(y))
        self._scale = float(y.std()) or abs(self._centre) or 1.0
        cells = self._evaluate(_EDGES[:-1], _EDGES[1:])
        unsettled = cells.masses().mean(axis=1) > _TOLERANCE
        for _ in range(_MAX_ROUNDS):
            if not unsettled.any():
                unsettled = cells.around_missing()
            if not unsettled.any() or len(unsettled) > _MOST_CELLS:
                break
            cells, unsettled = self._halve(cells, unsettled)
        each = cells.masses().sum(axis=0)
        if not (np.abs(each - 1.0) <= _LARGEST_MASS_ERROR).all():
            raise ValueError(
                "pointwise must be the log density of a real y, which integrates to 1 over all y; "
                f"here it integrates to {each[np.abs(each - 1.0).argmax()]:.3g}. If y is only "
                "positive, return -inf where self.y < 0. For counts write "
                'support = "counts" in the class of the likelihood, and for labels -1 and +1 '
                'support = "labels".'
            )
        self._cells = cells
        self._total = float(each.mean())
        self._up_to = np.append(0.0, np.cumsum(cells.masses().mean(axis=1) / self._total))

    def _evaluate(self, low: Array, high: Array) -> _Cells:
        t = _at_nodes(low, high)
        y = self._centre + self._scale * np.sinh(t)
        with np.errstate(all="ignore"):
            values = self._log_density(y.ravel()).reshape(-1, *t.shape)
            values = values + np.log(self._scale * np.cosh(t))
            values = np.where(np.isnan(values), -np.inf, values).swapaxes(0, 1)
            return _Cells(low, high, np.exp(values), values.max(axis=2))

    def _halve(self, cells: _Cells, which: NDArray[np.bool_]) -> tuple[_Cells, NDArray[np.bool_]]:
        """Halve some cells; return also which of the new cells are to be halved again.

        Those are the halves of cells which they do not sum to.
        """
        whole = cells.select(which)
        middle = 0.5 * (whole.low + whole.high)
        left, right = self._evaluate(whole.low, middle), self._evaluate(middle, whole.high)
        with np.errstate(invalid="ignore"):  # of what is no density
            error = (left.masses() + right.masses() - whole.masses()).mean(axis=1)
        again = (np.abs(error) > _TOLERANCE) & (whole.high - whole.low > _NARROWEST)
        kept = cells.select(~which)
        pairs = zip(kept, left, right, strict=True)
        together = _Cells(*(np.concatenate(three) for three in pairs))
        order = np.argsort(together.low)
        unsettled = np.concatenate([np.zeros(len(kept.low), dtype=bool), again, again])
        return together.select(order), unsettled[order]

    def quantile(self, probability: float) -> float:
        """Return the smallest value with at least this probability up to it."""
        if probability in (0.0, 1.0):
            return -math.inf if probability == 0.0 else math.inf
        cell = int(np.searchsorted(self._up_to, probability)) - 1
        target, integral = probability - self._up_to[cell], self._integral(cell)
        low, high = -1.0, 1.0
        for _ in range(_N_HALVINGS):
            middle = 0.5 * (low + high)
            reached = legendre.legval(middle, integral) >= target
            low, high = (low, middle) if reached else (middle, high)
        left, right = self._cells.low[cell], self._cells.high[cell]
        return float(self._centre + self._scale * np.sinh(left + 0.5 * (right - left) * (1 + high)))

    def exceedance(self, threshold: float) -> float:
        """Return the probability of values that are larger."""
        t = float(np.arcsinh((threshold - self._centre) / self._scale))
        if not _EDGES[0] < t < _EDGES[-1]:
            return 1.0 if t < 0.0 else 0.0
        cell = int(np.searchsorted(self._cells.low, t, side="right")) - 1
        left, right = self._cells.low[cell], self._cells.high[cell]
        inside = legendre.legval(2.0 * (t - left) / (right - left) - 1.0, self._integral(cell))
        return float(np.clip(1.0 - self._up_to[cell] - inside, 0.0, 1.0))

    def mean(self) -> float:
        """Return the expectation; the density must fall off fast enough for there to be one."""
        cells = self._cells
        y = self._centre + self._scale * np.sinh(_at_nodes(cells.low, cells.high))
        values = cells.values * y[:, np.newaxis]
        return float(cells._replace(values=values).masses().mean(axis=1).sum() / self._total)

    def _integral(self, cell: int) -> Array:
        """Return the probability from the left end of a cell, as a Legendre series on [-1, 1]."""
        values = self._cells.values[cell].mean(axis=0)
        half = 0.5 * (self._cells.high[cell] - self._cells.low[cell])
        return np.asarray(half / self._total * legendre.legint(_TO_SERIES @ values, lbnd=-1.0))


class _Cells(NamedTuple):
    """Intervals of t, and densities in them.

    Attributes
    ----------
    low, high : ndarray of shape (n_cells,)
        Their ends.
    values : ndarray of shape (n_cells, n_draws, n_nodes)
        Density at the nodes of each cell given each draw.
    log_peaks : ndarray of shape (n_cells, n_draws)
        Logarithm of the largest of these.
    """

    low: Array
    high: Array
    values: Array
    log_peaks: Array

    def select(self, which: NDArray[Any]) -> _Cells:
        return _Cells(*(part[which] for part in self))

    def masses(self) -> Array:
        """Return the probability of each cell given each draw."""
        return np.asarray(0.5 * (self.high - self.low)[:, np.newaxis] * (self.values @ _WEIGHTS))

    def around_missing(self) -> NDArray[np.bool_]:
        """Return which cells are at the peak of a draw whose density was not found there."""
        missing = np.abs(self.masses().sum(axis=0) - 1.0) > _MASS_ERROR
        peaks = self.log_peaks[:, missing].argmax(axis=0)
        which = np.zeros(len(self.low), dtype=bool)
        for neighbour in (peaks - 1, peaks, peaks + 1):
            which[np.clip(neighbour, 0, len(which) - 1)] = True
        return which & (self.high - self.low > _NARROWEST)


def _at_nodes(low: Array, high: Array) -> Array:
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return np.asarray(middle[:, np.newaxis] + half[:, np.newaxis] * _NODES)


class CountDistribution:
    """The distribution of a count: the probabilities are summed one after the other.

    Parameters
    ----------
    log_density : callable
        Of y.
    y : ndarray of shape (n_obs,)
        Observations; not used.

    Raises
    ------
    ValueError
        By its methods, where that would take too many probabilities.
    """

    def __init__(self, log_density: LogDensity, y: Array) -> None:
        self._log_density = log_density
        self._masses = np.empty(0)
        self._up_to = np.empty(0)
        self._ends = False

    def quantile(self, probability: float) -> float:
        """Return the smallest count with at least this probability up to it."""
        if probability in (0.0, 1.0):
            return 0.0 if probability == 0.0 else math.inf
        target = probability - _TOLERANCE
        while not self._ends and not (self._up_to >= target).any():
            self._extend()
        return float(min(int(np.searchsorted(self._up_to, target)), len(self._up_to) - 1))

    def exceedance(self, threshold: float) -> float:
        """Return the probability of larger counts."""
        if threshold < 0.0 or threshold == math.inf:
            return float(threshold < 0.0)
        while not self._ends and threshold >= len(self._up_to):
            self._extend()
        last = int(min(threshold, len(self._up_to) - 1.0))
        return float(np.clip(1.0 - self._up_to[last], 0.0, 1.0))

    def mean(self) -> float:
        """Return the expectation."""
        while not self._ends:
            self._extend()
        return float(np.arange(len(self._masses)) @ self._masses)

    def _extend(self) -> None:
        """Double the number of counts; find out whether the rest of them matters."""
        first = len(self._masses)
        last = max(_FIRST_BLOCK, 2 * first)
        if last > _MOST_COUNTS:
            raise ValueError(
                f"the distribution of a new count extends beyond {_MOST_COUNTS}: too far for the "
                "general method, which sums probabilities one by one. Define "
                "predictive_quantiles, predictive_exceedance and predictive_mean in the class of "
                "the likelihood, or leave out rows that are far from the data."
            )
        counts = np.arange(first, last, dtype=float)
        with np.errstate(all="ignore"):
            masses = np.exp(self._log_density(counts)).mean(axis=0)
        self._masses = np.append(self._masses, masses)
        self._up_to = np.cumsum(self._masses)
        # What follows matters less than this block, which is as long as all before it; to the mean
        # too.
        mean = float(np.arange(last) @ self._masses)
        self._ends = bool(self._up_to[-1] > 0.5 and counts @ masses <= _NEGLIGIBLE * mean)


class LabelDistribution:
    """The distribution of a label, -1 or +1.

    Parameters
    ----------
    log_density : callable
        Of y.
    y : ndarray of shape (n_obs,)
        Observations; not used.
    """

    def __init__(self, log_density: LogDensity, y: Array) -> None:
        labels = np.array([-1.0, 1.0])
        self._negative, self._positive = np.exp(log_density(labels)).mean(axis=0).tolist()

    def quantile(self, probability: float) -> float:
        """Return the smallest label with at least this probability up to it."""
        return -1.0 if probability <= self._negative else 1.0

    def exceedance(self, threshold: float) -> float:
        """Return the probability of a larger label."""
        if threshold < -1.0:
            return 1.0
        return self._positive if threshold < 1.0 else 0.0

    def mean(self) -> float:
        """Return the probability of +1."""
        return self._positive


#: Support of a likelihood -> the kind of distribution that its observations have.
DISTRIBUTIONS: dict[str, Callable[[LogDensity, Array], Distribution]] = {
    "real": RealDistribution,
    "counts": CountDistribution,
    "labels": LabelDistribution,
}
