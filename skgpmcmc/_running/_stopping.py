"""Whether enough has been drawn: R-hat and effective draws of what predictions depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._linalg import Array
from ..diagnostics._summary import MAX_RHAT, MIN_ESS
from ..diagnostics._vehtari import rhat_and_ess
from ..trace import Trace, some_latents

# The length of the first warm-up; the first two together are 2.5 times as long, and so on.
_FIRST_WARM_UP = 100
_GROWTH = 2.5
# R-hat of the hyperparameters in the second half of a warm-up, beyond which there is another one.
_SETTLED_RHAT = 1.3


def warm_up_lengths(n_warmup: int) -> tuple[int, ...]:
    """Return the lengths of warm-ups that follow each other, of `n_warmup` iterations in all.

    Examples
    --------
    >>> [warm_up_lengths(n) for n in (0, 60, 120, 250, 600)]
    [(0,), (60,), (120,), (100, 150), (100, 150, 350)]
    """
    lengths: list[int] = []
    length = _FIRST_WARM_UP
    while sum(lengths) + 1.5 * length <= n_warmup:
        lengths.append(length)
        length = round((_GROWTH - 1.0) * sum(lengths))
    return (*lengths, n_warmup - sum(lengths))


def have_settled(recent: Sequence[Array]) -> bool:
    """Return whether the chains are at the same place after a warm-up.

    Parameters
    ----------
    recent : sequence of ndarray of shape (n_iterations, n_parameters)
        Theta in the second half of the warm-up of each chain.
    """
    draws = np.stack(recent)
    if 0 in draws.shape:
        return True
    rhat, _ = rhat_and_ess(draws)
    return bool((rhat <= _SETTLED_RHAT).all())  # False for NaN


@dataclass(frozen=True)
class Convergence:
    """How far chains have converged.

    Attributes
    ----------
    n_draws : int
        Draws of each chain.
    rhat, ess : float
        The largest R-hat and the smallest number of effective draws (bulk) of all quantities; NaN
        where one of them never moved or has too few draws.
    """

    n_draws: int
    rhat: float
    ess: float


@dataclass(frozen=True)
class StoppingRule:
    """Limits that end a fit, or that are only used to judge it.

    Attributes
    ----------
    min_ess : float or None
        Effective draws (bulk) that every quantity is to have. None: all draws are made.
    max_rhat : float or None
        R-hat that no quantity may exceed; None is no limit.
    """

    min_ess: float | None = None
    max_rhat: float | None = MAX_RHAT

    @property
    def is_on(self) -> bool:
        """Whether it may end a fit."""
        return self.min_ess is not None

    @property
    def limits(self) -> tuple[float, float]:
        """The least effective draws and the largest R-hat of chains that count as converged."""
        least = MIN_ESS if self.min_ess is None else self.min_ess
        return least, math.inf if self.max_rhat is None else self.max_rhat

    def is_met(self, found: Convergence) -> bool:
        """Return whether chains have converged; False for NaN."""
        min_ess, max_rhat = self.limits
        return found.ess >= min_ess and found.rhat <= max_rhat


def convergence(groups: Sequence[Sequence[Trace]]) -> Convergence:
    """Return how far the chains of all latent functions have converged.

    Looked at is what `Trace.summary` shows: all hyperparameters, the mean, the latent function at
    up to 50 of the training inputs, and the complete-data log likelihood.
    """
    traces = [trace for group in groups for trace in group]
    found = [rhat_and_ess(_quantities(trace)) for trace in traces]
    # NaN if any is.
    largest = max((rhat.max() for rhat, _ in found), key=_nan_last)
    smallest = min((ess.min() for _, ess in found), key=lambda ess: -_nan_last(-ess))
    return Convergence(traces[0].n_draws, float(largest), float(smallest))


def _nan_last(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _quantities(trace: Trace) -> Array:
    """Return what is looked at, (n_chains, n_draws, n_quantities)."""
    scalars = [trace.complete_data_log_likelihood]
    if trace.collapsed_mean is not None:
        scalars.append(trace.collapsed_mean)
    latents = trace.latent[..., some_latents(trace.latent.shape[2])]
    # On the scale of the tables: R-hat of folded draws, |x - median|, depends on it.
    natural = trace.layout.natural(trace.theta)
    return np.concatenate([natural, np.stack(scalars, axis=-1), latents], axis=-1)
