"""The rows that a model was fitted to, and their log likelihoods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from .._linalg import Array
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

    def log_likelihoods(self, traces: Sequence[Sequence[Trace]]) -> list[Array]:
        """Return those of each group, (n_chains, n_draws, n_rows), given latents and parameters.

        They are multiplied by the weights: a row of weight w is w copies of it. But for
        `log_base` they sum to `Trace.log_likelihood`.
        """
        weights = self.per_row.get("sample_weight")
        base = self.log_base * (1.0 if weights is None else weights)
        pairs = zip(self.groups, traces, strict=True)
        return [self._of_group(group, trace) + base for group, trace in pairs]

    def _of_group(self, group: Sequence[Likelihood], traces: Sequence[Trace]) -> Array:
        first = traces[0]
        values = np.empty((first.n_chains, first.n_draws, len(self.y)))
        for draw in np.ndindex(values.shape[:2]):
            latents = [trace.latent[draw] for trace in traces]
            if len(group) > 1:
                each = softmax_rows(group, latents)
            else:
                params = first.layout.likelihood_params(first.theta[draw])
                each = _weighted_rows(group[0], latents[0], params)
            values[draw] = each.reshape(-1, len(self.y)).sum(axis=0)
        return values


def softmax_rows(group: Sequence[Any], latents: Sequence[Array]) -> Array:
    """Return the weighted log probability of each row's class given all latent functions.

    Parameters
    ----------
    group : sequence of SoftmaxClass
        Of each class: 1 where a row is of the class.
    latents : sequence of ndarray of shape (n_latent,)
        Of each class.
    """
    first = group[0]
    classes = np.argmax([likelihood.y for likelihood in group], axis=0)
    at_rows = (
        np.stack(latents)
        if first.latent_index is None
        else np.stack(latents)[:, first.latent_index]
    )
    values = log_softmax(at_rows, axis=0)[classes, np.arange(len(classes))]
    return values if first.sample_weight is None else first.sample_weight * values


def _weighted_rows(likelihood: Likelihood, latent: Array, params: tuple[float, ...]) -> Array:
    index, weights = likelihood.latent_index, likelihood.sample_weight
    values = likelihood.pointwise(latent if index is None else latent[index], params)
    if weights is None:
        return values
    # Zero times minus infinity would be NaN.
    return np.multiply(weights, values, where=weights > 0.0, out=np.zeros_like(weights))
