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

# The trapezoidal rule converges geometrically for densities that vanish smoothly at both ends. It
# is refined until leaving out every second node changes no log integral by more than this (the
# error that is left is about its square), three of four nodes not by more than that, lest the
# first is small by chance, and both ends are so far below the peak.
_LARGEST_CHANGE, _LARGEST_COARSE_CHANGE, _LOWEST_END = 2e-3, 0.1, 14.0
_N_NODES = (25, 49, 97, 193)
_FIRST_HALF_WIDTH = 7.0
# Of the posterior standard deviation: the step of the differences that find where to begin.
_STEP = 0.05
_RANGE_BELOW_PEAK = 20.0
# Numbers at a time: all that is made of them stays in the processor's second-level cache.
_CHUNK = 2**14


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

    def log_likelihoods(self, latents: Sequence[Array], params: Sequence[float]) -> Array:
        """Return those of the rows with all their copies, (..., n_rows)."""
        values = self.group[0].log_likelihood_of_rows(self.group, latents, params)
        return self.sum_observations(values)

    def sum_observations(self, values: Array) -> Array:
        """Sum over the observations of each row, which are blocks of the last axis."""
        n_rows = len(self.places)
        if values.shape[-1] == n_rows:
            return values
        return np.asarray(values.reshape(*values.shape[:-1], -1, n_rows).sum(axis=-2))

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
        self._rows, self._latents, self._params = rows, latents, params
        places = rows.places
        variances = np.array([np.diagonal(S)[places] for S in covariances])
        self._variance = (sites.weights**2 * variances).sum(axis=0)
        shares = sites.weights / self._variance
        self._directions = [
            share[:, np.newaxis] * S[places] for share, S in zip(shares, covariances, strict=True)
        ]
        self._slope, self._curvature = np.zeros((2, len(places)))
        each = zip(shares, self._directions, deviations, sites.precisions, strict=True)
        for share, b, deviation, W in each:
            # Of -log N(f + b u; m, K): b K^-1 (f - m) and b K^-1 b.
            self._slope += share * deviation[places] - b @ (W * deviation)
            self._curvature += share * b[np.arange(len(places)), places] - (b * b) @ W
        # Where the prior is all but flat, rounding could make it negative.
        smallest = 16.0 * np.finfo(float).eps / self._variance
        self._curvature = np.maximum(self._curvature, smallest)

    def log_densities(self) -> tuple[Array, Array]:
        """Return log p of each row given its e and the other rows: of all copies, and of one."""
        n_rows = len(self._rows.places)
        n_others = sum(map(np.size, self._latents))
        found = np.empty((2, n_rows))
        for some in slices(n_rows, max(1, _CHUNK // (_N_NODES[0] * n_others))):
            found[:, some] = self._some_log_densities(np.arange(n_rows)[some])
        return found[0], found[1]

    def _some_log_densities(self, rows: NDArray[np.intp]) -> Array:
        without, *others = self._log_integrals(rows)
        return np.array([others[0] - without, others[-1] - without])

    def _log_integrals(self, rows: NDArray[np.intp]) -> Array:
        """Return log integrals, up to a constant: without each row, with it, with one copy."""
        low, high = self._first_range(rows)
        left = np.arange(len(rows))
        integrals = np.empty((2 if self._rows.weights is None else 3, len(rows)))
        for n_nodes in _N_NODES:
            u = low + (high - low) * np.linspace(0.0, 1.0, n_nodes)[:, np.newaxis]
            logs = self._integrands(u, rows[left])
            results, good = _trapezoidal(logs, u)
            integrals[:, left[good]] = results[:, good]
            left = left[~good]
            if not left.size:
                return integrals
            low, high = _better_range(u[:, ~good], logs[:, :, ~good])
        integrals[:, left] = self._by_adaptive_quadrature(rows[left])
        return integrals

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
        moved = [
            f + b[rows] * u[..., np.newaxis]
            for f, b in zip(self._latents, self._directions, strict=True)
        ]
        values = self._rows.log_likelihoods(moved, self._params)
        of_row = (..., np.arange(len(rows)), rows)
        own = values[of_row].copy()
        values[of_row] = 0.0
        prior = u * (self._slope[rows] + 0.5 * self._curvature[rows] * u)
        without = values.sum(axis=-1) - prior
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
    change, coarse = (np.abs(np.log(n * values[:, ::n].sum(axis=1)) - whole) for n in (2, 4))
    ends = np.maximum(logs[:, 0], logs[:, -1]) - peak[:, 0]
    good = (change < _LARGEST_CHANGE) & (coarse < _LARGEST_COARSE_CHANGE) & (ends < -_LOWEST_END)
    return whole + peak[:, 0] + np.log(u[1] - u[0]), good.all(axis=0)


def _better_range(u: Array, logs: Array) -> tuple[Array, Array]:
    """Return ends that leave out where all densities are negligible, or are further out."""
    is_large = (logs > logs.max(axis=1, keepdims=True) - _RANGE_BELOW_PEAK).any(axis=0)
    first, last = is_large.argmax(axis=0), len(u) - 1 - is_large[::-1].argmax(axis=0)
    length, row = u[-1] - u[0], np.arange(u.shape[1])
    low = np.where(first == 0, u[0] - length, u[np.maximum(first - 1, 0), row])
    high = np.where(last == len(u) - 1, u[-1] + length, u[np.minimum(last + 1, len(u) - 1), row])
    return low, high
