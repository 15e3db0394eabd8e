"""The log density of a row that is left out, integrated along a line through one draw.

Given a draw of theta and f, each row has a line f + b u. With e the part of f that is the same all
along it, p(y_i | e, y_-i, theta) is a ratio of two integrals over u: of the density of the draw
along the line, and of that without the row. Its inverse is the importance weight of (theta, e) for
the posterior without the row, exactly, whatever b is. The weights vary least where e tells nothing
of f_i: under a Gaussian approximation of the posterior of f, of covariance S = (K^-1 + W)^-1, these
are the lines of b = S_i / S_ii. (Holding all other latent values fixed, b = e_i, would leave f_i
nothing to vary: of a smooth function the others determine it.)

That approximation enters b alone. No inverse of K is needed along the lines, as K^-1 S = I - W S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array, slices
from ..likelihoods import Likelihood
from ..likelihoods._site_moments import site_moments

# The trapezoidal rule converges geometrically for densities that vanish smoothly at both ends: with
# half the nodes its error is about the square root. It is refined until both ends are so far below
# the peak, and until half of the nodes give all log integrals, and their differences, up to these.
# (The errors of two integrals are much alike. 99 of 100 differences are then right up to 6e-4.)
_LOWEST_END, _LARGEST_CHANGE, _LARGEST_CHANGE_OF_RATIO = 8.0, 0.05, 5e-3
# And a quarter of the nodes up to this, lest the other is small by chance.
_LARGEST_COARSE_CHANGE_OF_RATIO = 0.4
_FEWEST_NODES, _N_REFINEMENTS = 17, 3
_FIRST_HALF_WIDTH = 5.5
# A range that could be shorter than this share of itself begins anew, and is not refined.
_LARGEST_SHARE_OF_NEW_RANGE = 0.8
# Of the posterior standard deviation: the step of the differences that find where to begin.
_STEP = 0.05
_RANGE_BELOW_PEAK = 10.0
# Numbers at a time: all that is made of them stays in the processor's second-level cache.
_CHUNK = 2**16


class Sites(NamedTuple):
    """A Gaussian approximation of the likelihood, the same for all draws.

    Attributes
    ----------
    precisions : list of ndarray of shape (n_latent,)
        W of each latent function, none below zero.
    weights : ndarray of shape (n_functions, n_rows)
        The line of a row is the one along which this combination of its latent values, which its
        likelihood depends on most, tells most of all others.
    """

    precisions: list[Array]
    weights: Array


class RowsOfGroup(NamedTuple):
    """Rows of data, and the likelihood of the latent functions that they depend on.

    Attributes
    ----------
    group : sequence of Likelihood
        One for each of the latent functions.
    places : ndarray of int of shape (n_rows,)
        Latent value of each row.
    weights : ndarray of shape (n_rows,) or None
        How many copies each row counts as.
    """

    group: Sequence[Likelihood]
    places: NDArray[np.intp]
    weights: Array | None

    def with_latents_of_their_own(self) -> RowsOfGroup:
        """Return the same rows, with a latent value for each, also where others have equal X."""
        n_rows = len(self.places)
        group = [likelihood.with_latent_of_each_row(n_rows) for likelihood in self.group]
        return RowsOfGroup(group, np.arange(n_rows), self.weights)

    def log_likelihoods(self, latents: Sequence[Array], params: Sequence[float]) -> Array:
        """Return those of the rows with all their copies, (..., n_rows)."""
        values = self.group[0].log_likelihood_of_rows(self.group, latents, params)
        return self.sum_observations(values)

    def sum_observations(self, values: Array) -> Array:
        """Sum over the observations of each row, which are blocks of the last axis."""
        n_rows = len(self.places)
        n_blocks = values.shape[-1] // n_rows
        if n_blocks == 1:
            return values
        return np.asarray(values.reshape(*values.shape[:-1], n_blocks, n_rows).sum(axis=-2))

    def sites(self, draws: Sequence[tuple[Sequence[Array], Sequence[float]]]) -> Sites:
        """Return the approximation whose precisions are mean curvatures over the posterior.

        They are those of the Gaussian that is nearest to it (Opper and Archambeau 2009, eq. 7).

        Parameters
        ----------
        draws : sequence of pairs
            The latent functions and the likelihood's parameters in each draw.
        """
        first = self.group[0]
        curvatures, gradients = zip(
            *(
                (first.curvatures(self.group, *draw), first.row_gradients(self.group, *draw))
                for draw in draws
            ),
            strict=True,
        )
        precisions = [np.mean(each, axis=0) for each in zip(*curvatures, strict=True)]
        weights = np.nan_to_num(self.sum_observations(np.mean(gradients, axis=0)))
        weights[:, ~weights.any(axis=0)] = 1.0
        return Sites([np.maximum(np.nan_to_num(each), 0.0) for each in precisions], weights)


class Lines:
    """A line for each row through one draw of the latent functions.

    Parameters
    ----------
    rows : RowsOfGroup
        The data.
    latents, deviations : sequence of ndarray of shape (n_latent,)
        Of each function: f, and f - m.
    covariances : sequence of ndarray of shape (n_latent, n_latent)
        S of each function.
    sites : Sites
        W, as S was made of.
    params : sequence of float
        Of the likelihood.
    """

    def __init__(
        self,
        rows: RowsOfGroup,
        latents: Sequence[Array],
        deviations: Sequence[Array],
        covariances: Sequence[Array],
        sites: Sites,
        params: Sequence[float],
    ) -> None:
        places = rows.places
        variances = np.array([np.diagonal(S)[places] for S in covariances])
        self._variance = (sites.weights**2 * variances).sum(axis=0)
        shares = sites.weights / self._variance
        directions = [
            share[:, np.newaxis] * S[places] for share, S in zip(shares, covariances, strict=True)
        ]
        self._slope, self._curvature = np.zeros((2, len(places)))
        each = zip(shares, directions, deviations, sites.precisions, strict=True)
        for share, b, deviation, W in each:
            # Of -log N(f + b u; m, K): b K^-1 (f - m) and b K^-1 b.
            self._slope += share * deviation[places] - b @ (W * deviation)
            self._curvature += share * b[np.arange(len(places)), places] - (b * b) @ W
        # Where the prior is all but flat, rounding could make it negative.
        smallest = 16.0 * np.finfo(float).eps / self._variance
        self._curvature = np.maximum(self._curvature, smallest)
        # Rows with equal X get a latent value each: else they would look it up at every node.
        self._rows, self._params = rows.with_latents_of_their_own(), params
        self._lines = [
            np.stack(np.broadcast_arrays(f[places], b[:, places]), axis=1)
            for f, b in zip(latents, directions, strict=True)
        ]

    def log_densities(self) -> tuple[Array, Array]:
        """Return log p of each row given its e and the other rows: of all copies, and of one."""
        n_rows = len(self._rows.places)
        n_others = n_rows * len(self._lines)
        found, ranges = np.empty((2, 2, n_rows))
        every = np.arange(n_rows)
        for some in slices(n_rows, max(1, _CHUNK // (3 * n_others))):
            ranges[:, some] = self._first_range(every[some])
        for some in slices(n_rows, max(1, _CHUNK // (_FEWEST_NODES * n_others))):
            without, *others = self._log_integrals(every[some], *ranges[:, some])
            found[:, some] = others[0] - without, others[-1] - without
        return found[0], found[1]

    def _log_integrals(self, rows: NDArray[np.intp], low: Array, high: Array) -> Array:
        """Return log integrals, up to a constant: without each row, with it, with one copy."""
        u = _grids(low, high, _FEWEST_NODES)
        logs = self._integrands(u, rows)
        integrals, good = _trapezoidal(logs, u)
        left = np.flatnonzero(~good)
        for _ in range(_N_REFINEMENTS):
            if not left.size:
                return integrals
            u, logs = self._refined(u[:, ~good], logs[:, :, ~good], rows[left])
            integrals[:, left], good = _trapezoidal(logs, u)
            left = left[~good]
        if left.size:
            integrals[:, left] = self._by_adaptive_quadrature(rows[left])
        return integrals

    def _refined(self, u: Array, logs: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return nodes of half the step, or on a better range, and the log densities there."""
        low, high, is_new = _better_range(u, logs)
        n_nodes = 2 * len(u) - 1
        finer = _grids(low, high, n_nodes)
        values = np.empty((len(logs), n_nodes, len(rows)))
        values[:, ::2] = logs
        values[:, :, is_new] = self._integrands(finer[:, is_new], rows[is_new])
        between = np.ix_(np.arange(len(logs)), np.arange(1, n_nodes, 2), np.flatnonzero(~is_new))
        values[between] = self._integrands(finer[1::2, ~is_new], rows[~is_new])
        return finer, values

    def _first_range(self, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return ends around the peak without each row, by a step of Newton's method."""
        step = _STEP * np.sqrt(self._variance[rows])
        before, here, after = self._integrands(step * np.array([[-1.0], [0.0], [1.0]]), rows)[0]
        second = np.maximum((2.0 * here - before - after) / step**2, self._curvature[rows])
        sd = 1.0 / np.sqrt(second)
        centre = np.nan_to_num((after - before) / (2.0 * step * second))
        centre = np.clip(centre, -_FIRST_HALF_WIDTH * sd, _FIRST_HALF_WIDTH * sd)
        return centre - _FIRST_HALF_WIDTH * sd, centre + _FIRST_HALF_WIDTH * sd

    def _integrands(self, u: Array, rows: NDArray[np.intp]) -> Array:
        """Return log densities at u, (n_nodes, n_rows): without the row, with it, with one copy."""
        # Products with matrices of two columns: broadcasting takes several times as long.
        factors = np.ones((len(rows), len(u), 2))
        factors[:, :, 1] = u.T
        moved = [factors @ b[rows] for b in self._lines]
        values = self._rows.log_likelihoods(moved, self._params)
        places = np.arange(len(rows))
        own = values[places, :, rows].T
        values[places, :, rows] = 0.0
        prior = u * (self._slope[rows] + 0.5 * self._curvature[rows] * u)
        without = values.sum(axis=-1).T - prior
        integrands = [without, without + own]
        if self._rows.weights is not None:
            integrands.append(without + own / self._rows.weights[rows])
        return np.fmax(integrands, -np.inf)  # no NaN

    def _by_adaptive_quadrature(self, rows: NDArray[np.intp]) -> Array:
        """Return log integrals by a slower method that does not need to know where they are."""
        variance = self._variance[rows]

        def integral(number: int) -> Array:
            def log_site(u: Array) -> Array:
                flat = u.reshape(-1, len(rows))
                values = self._integrands(flat, rows)[number] + 0.5 * flat**2 / variance
                return np.asarray(values.reshape(u.shape))

            return site_moments(log_site, np.zeros(len(rows)), variance).log_normaliser

        numbers = range(2 if self._rows.weights is None else 3)
        found = np.array([integral(number) for number in numbers])
        found += 0.5 * np.log(2.0 * np.pi * variance)
        return np.where(np.isnan(found), -np.inf, found)


def _trapezoidal(logs: Array, u: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return log integrals, (n_integrands, n_rows), and of which rows all are accurate."""
    peak = logs.max(axis=1, keepdims=True)
    values = np.exp(logs - np.where(np.isfinite(peak), peak, 0.0))
    whole = np.log(values.sum(axis=1))
    half, quarter = (np.log(n * values[:, ::n].sum(axis=1)) - whole for n in (2, 4))
    ends = np.maximum(logs[:, 0], logs[:, -1]) - peak[:, 0]
    good = (np.abs(half) < _LARGEST_CHANGE) & (ends < -_LOWEST_END)
    good[1:] &= np.abs(half[1:] - half[0]) < _LARGEST_CHANGE_OF_RATIO
    good[1:] &= np.abs(quarter[1:] - quarter[0]) < _LARGEST_COARSE_CHANGE_OF_RATIO
    return whole + peak[:, 0] + np.log(u[1] - u[0]), good.all(axis=0)


def _grids(low: Array, high: Array, n_nodes: int) -> Array:
    return low + (high - low) * np.linspace(0.0, 1.0, n_nodes)[:, np.newaxis]


def _better_range(u: Array, logs: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return ends that leave out where all densities are negligible, or are further out.

    And whether they differ from those of u: where little could be left out they do not.
    """
    is_large = (logs > logs.max(axis=1, keepdims=True) - _RANGE_BELOW_PEAK).any(axis=0)
    first, last = is_large.argmax(axis=0), len(u) - 1 - is_large[::-1].argmax(axis=0)
    length, row = u[-1] - u[0], np.arange(u.shape[1])
    low = np.where(first == 0, u[0] - length, u[np.maximum(first - 1, 0), row])
    high = np.where(last == len(u) - 1, u[-1] + length, u[np.minimum(last + 1, len(u) - 1), row])
    share = (high - low) / length
    is_new = (share > 1.0) | (share < _LARGEST_SHARE_OF_NEW_RANGE)
    return np.where(is_new, low, u[0]), np.where(is_new, high, u[-1]), is_new
