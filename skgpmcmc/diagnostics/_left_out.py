"""Predictive densities of rows that are left out, and how far they can be relied on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ._draws import FloatArray
from ._pareto import FEWEST_DRAWS, largest_good_shape, smoothed_log_weights
from ._vehtari import mcse_of_means


class LeftOutDensities(NamedTuple):
    """Log predictive densities of rows given all others, each of shape (n_rows,).

    Attributes
    ----------
    log_density : ndarray
    mcse : ndarray
        Monte Carlo standard errors; NaN where they are not defined.
    shape : ndarray
        Pareto k of the importance weights.
    """

    log_density: FloatArray
    mcse: FloatArray
    shape: FloatArray


def reweighted(
    all_copies: FloatArray, one_copy: FloatArray, chains: NDArray[Any]
) -> LeftOutDensities:
    """Average densities given draws over the posteriors without each row.

    Parameters
    ----------
    all_copies : ndarray of shape (n_draws, n_rows)
        Log density of what is left out given each draw and the other rows: minus the logarithm
        of the importance weight.
    one_copy : ndarray of shape (n_draws, n_rows)
        Log density that is averaged.
    chains : ndarray of int of shape (n_draws,)
        Chain of each draw, in order.
    """
    relative_ess = _relative_ess(all_copies, chains)
    log_weights, shape = smoothed_log_weights(-all_copies, relative_ess)
    log_density = logsumexp(log_weights + one_copy, axis=0)
    # How much each draw moves the ratio of two means, to first order.
    with np.errstate(over="ignore", invalid="ignore"):
        ratios = np.exp(log_weights) * np.expm1(one_copy - log_density) * len(log_weights)
    return LeftOutDensities(log_density, mcse_of_means(ratios, chains), shape)


def _relative_ess(log_values: FloatArray, chains: NDArray[Any]) -> FloatArray:
    """Return the effective number of draws over their number, at most 1, of densities."""
    values = np.exp(log_values - log_values.max(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = values.var(axis=0) / (len(values) * mcse_of_means(values, chains) ** 2)
    return np.where(np.isfinite(share), np.clip(share, 1.0 / len(values), 1.0), 1.0)


@dataclass(frozen=True, repr=False)
class LooEstimate:
    """The expected log predictive density of new rows, estimated by leaving out each row in turn.

    `loo` of the estimators returns it. The names are those of ArviZ. It prints as a small table.

    Attributes
    ----------
    elpd_loo : float
        Sum of `pointwise`. The larger, the better.
    se : float
        Its standard error, if other rows of the same kind were observed: the root of the number of
        rows times the standard deviation of `pointwise`.
    p_loo : float
        Effective number of parameters. This is the same sum with each row among the data, minus
        `elpd_loo`. The values of the latent function at the rows count too, if only these rows tell
        what they are. If it is near the number of rows, or above it, the model fits its rows one by
        one: predictions of other rows may be poor, and Pareto k is mostly large. If it is above, a
        line below the table says so.
    n_samples : int
        Number of posterior draws that were used.
    n_data_points : int
        Number of rows, without rows of weight zero.
    pointwise : ndarray of shape (n_data_points,)
        Log predictive density of each row given all others, in the order given to `fit`. For a row
        of weight w it is multiplied by w.
    mcse : ndarray of shape (n_data_points,)
        Monte Carlo standard errors of `pointwise`. Do not trust them where `pareto_k` is large.
    pareto_k : ndarray of shape (n_data_points,)
        How unequal the weights of the draws are when the row is left out. It is infinite for fewer
        than about 25 draws.
    good_k : float
        Up to this k the estimate is reliable. It is 0.7, and smaller for fewer than 2200 draws.
    warning : bool
        Whether some `pareto_k` is larger than `good_k`, or there are too few draws (fewer than
        100) to judge.
    converged : bool
        Whether the chains of the fit have converged (`converged_`). Do not trust the estimate where
        they have not.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.diagnostics import LooEstimate
    >>> LooEstimate(np.array([-1.0, -1.2, -0.9]), np.full(3, 0.01), np.array([0.1, 0.2, 0.8]),
    ...             in_sample=-2.6, n_samples=400)  # doctest: +NORMALIZE_WHITESPACE
    Leave-one-out estimate from 400 draws and 3 rows
              estimate    se
    elpd_loo      -3.1  0.22
    p_loo          0.5
    Pareto k above 0.62 at 1 of 3 rows, the largest 0.80: not reliable there.
    """

    pointwise: FloatArray
    mcse: FloatArray
    pareto_k: FloatArray
    in_sample: float
    n_samples: int
    #: What the rows were, by name: models are compared on the same data alone.
    data: dict[str, Any] = field(default_factory=dict)
    converged: bool = True

    @property
    def elpd_loo(self) -> float:
        """Sum of the log predictive densities."""
        return float(self.pointwise.sum())

    @property
    def se(self) -> float:
        """Standard error of `elpd_loo`."""
        return math.sqrt(self.n_data_points) * float(self.pointwise.std())

    @property
    def p_loo(self) -> float:
        """Effective number of parameters."""
        return self.in_sample - self.elpd_loo

    @property
    def n_data_points(self) -> int:
        """Number of rows."""
        return len(self.pointwise)

    @property
    def good_k(self) -> float:
        """The largest Pareto k that is reliable."""
        return largest_good_shape(self.n_samples)

    @property
    def warning(self) -> bool:
        """Whether a Pareto k is larger than `good_k`, or there are too few draws to judge."""
        return self._has_few_draws or bool((self.pareto_k > self.good_k).any())

    @property
    def _has_few_draws(self) -> bool:
        return self.n_samples < FEWEST_DRAWS

    def describe_shapes(self) -> str:
        """Say at how many rows Pareto k is too large, or that nobody knows; empty if at none."""
        if self._has_few_draws:
            return (
                f"Pareto k cannot be judged: {self.n_samples} draws are too few, it needs "
                f"{FEWEST_DRAWS} at least."
            )
        n_bad = int((self.pareto_k > self.good_k).sum())
        if not n_bad:
            return ""
        return (
            f"Pareto k above {self.good_k:.2f} at {n_bad} of {self.n_data_points} rows, the "
            f"largest {self.pareto_k.max():.2f}: not reliable there."
        )

    def __repr__(self) -> str:
        """Return a small table, and a line on Pareto k."""
        good = (
            f"Pareto k at most {self.pareto_k.max():.2f}: good at all rows (<= {self.good_k:.2f})."
        )
        doubt = "" if self.converged else "The chains of the fit have not converged."
        return "\n".join(
            [
                f"Leave-one-out estimate from {self.n_samples} draws and {self.n_data_points} rows",
                f"{'':10}{'estimate':>10}{'se':>8}",
                f"{'elpd_loo':10}{self.elpd_loo:>10.1f}{self.se:>8.2g}",
                f"{'p_loo':10}{self.p_loo:>10.1f}",
                self.describe_shapes() or good,
                *filter(None, [describe_parameters(self), doubt]),
            ]
        )


def describe_parameters(estimate: LooEstimate) -> str:
    """Say that a model has more effective parameters than rows; empty where it has not.

    A row of weight w is as good as w rows.
    """
    weights = estimate.data.get("sample_weight")
    n_copies = 0.0 if weights is None else float(np.sum(weights))
    if estimate.p_loo <= max(estimate.n_data_points, n_copies):
        return ""
    text = "p_loo is above the number of rows: the model fits each row by itself"
    if estimate.data.get("kind") != "numbers":
        return f"{text}."
    return f"{text}, almost without noise. Does its kernel have a WhiteKernel?"
