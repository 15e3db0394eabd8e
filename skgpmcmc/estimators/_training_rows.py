"""The rows that a model was fitted to, and their log likelihoods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from .._prediction._low_rank import LowRankPosteriorDraws
from ..likelihoods import Likelihood
from ..trace import Trace


@dataclass(frozen=True)
class Observed:
    """What `fit` was given, but for rows of weight zero, which are not data.

    Parameters
    ----------
    groups : sequence of sequence of Likelihood
        Independent problems, each of one or several coupled latent functions. A likelihood has
        one observation for each row, or several for each: those of all rows, one block after
        the other.
    numbers : ndarray of int of shape (n_rows,)
        Of the rows, in the X given to `fit`.
    y : ndarray of shape (n_rows,)
        As given.
    per_row : mapping of str to ndarray of shape (n_rows,) or None
        Exposures and the like; what is None is left out.
    log_base : float or ndarray of shape (n_rows,)
        Added to the log likelihood of each row: what the likelihood leaves out.
    location, scale : float
        Latent values times scale, plus location, are in the units of y.
    """

    groups: Sequence[Sequence[Likelihood]]
    numbers: NDArray[np.intp]
    y: NDArray
    per_row: Mapping[str, Array | None] = field(default_factory=dict)
    log_base: float | Array = 0.0
    location: float = 0.0
    scale: float = 1.0

    def places(self) -> NDArray[np.intp]:
        """Return which latent variable each row has."""
        index = self.groups[0][0].latent_index
        n_rows = len(self.y)
        return np.arange(n_rows) if index is None else index[:n_rows]

    def identity(self) -> dict[str, Any]:
        """Return what makes log densities of rows comparable: the rows, and what was observed.

        Numbers of rows count those in `fit`. Log densities of real numbers and log probabilities
        of labels or counts are no more comparable than different numbers of trials are. A weight
        of one in every row is none, and so is one trial in every row.
        """
        names = ("sample_weight", "trials")
        is_real = self.groups[0][0].support == "real"
        return {
            "rows": self.numbers,
            "y": self.y,
            **{name: _unless_ones(self.per_row.get(name)) for name in names},
            "kind": "numbers" if is_real else "classes or counts",
        }

    @property
    def copies(self) -> float | Array:
        """How many copies each row counts as: its weight, or 1."""
        weights = self.per_row.get("sample_weight")
        return 1.0 if weights is None else weights

    def log_likelihoods(self, traces: Sequence[Sequence[Trace]]) -> list[Array]:
        """Return those of each group, (n_chains, n_draws, n_rows), given latents and parameters.

        They are multiplied by the weights: a row of weight w is w copies of it. But for
        `log_base` they sum to `Trace.log_likelihood`.
        """
        pairs = zip(self.groups, traces, strict=True)
        return [
            self._of_group(group, trace) + self.log_base * self.copies for group, trace in pairs
        ]

    def log_densities(
        self,
        traces: Sequence[Sequence[Trace]],
        functions: Sequence[Sequence[LowRankPosteriorDraws]],
        X: Any,
    ) -> list[Array]:
        """Return those of rows given the latent functions at inducing points, f integrated out.

        Draws that do not keep f have no others; see `log_likelihoods`. Given the functions at the
        points, rows are independent of each other, but for rows that repeat each other.

        Parameters
        ----------
        traces : sequence of sequence of Trace
            Of each group.
        functions : sequence of sequence of LowRankPosteriorDraws
            All of their draws.
        X : array-like of length n_latent
            Distinct rows.
        """
        values = []
        for group, own, draws in zip(self.groups, traces, functions, strict=True):
            each = np.empty((len(draws[0]), len(self.y)))
            for d, theta in enumerate(own[0].all_theta()):
                means, variances = zip(*(one.at_rows(X, d) for one in draws), strict=True)
                params = own[0].layout.likelihood_params(theta)
                found = group[0].log_density_of_rows(group, means, variances, params)
                each[d] = found.reshape(-1, len(self.y)).sum(axis=0)
            values.append(each.reshape(*own[0].theta.shape[:2], -1) + self.log_base * self.copies)
        return values

    def _of_group(self, group: Sequence[Likelihood], traces: Sequence[Trace]) -> Array:
        first = traces[0]
        values = np.empty((first.n_chains, first.n_draws, len(self.y)))
        for draw in np.ndindex(values.shape[:2]):
            latents = [trace.latent[draw] for trace in traces]
            params = first.layout.likelihood_params(first.theta[draw])
            each = group[0].log_likelihood_of_rows(group, latents, params)
            values[draw] = each.reshape(-1, len(self.y)).sum(axis=0)
        return values


def _unless_ones(values: Array | None) -> Array | None:
    return None if values is not None and bool((values == 1.0).all()) else values
