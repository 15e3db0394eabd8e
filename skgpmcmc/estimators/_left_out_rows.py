"""Log densities of the rows of a fitted estimator in each of its draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._linalg import Array
from .._prediction._dense import evenly_spaced_draws, likelihood_params
from .._prediction._left_out import (
    LeftOut,
    has_few_pairs,
    left_out_along_lines,
    left_out_of_gaussian,
)
from .._prediction._lines import RowsOfGroup
from .._prediction._low_rank import LowRankPosteriorDraws
from .._prediction._registry import posterior_draws, predictions_of
from ..representations import is_usable
from ._training_rows import Observed


def log_likelihoods_of_rows(estimator: Any) -> list[Array]:
    """Return those of each group, (n_chains, n_draws, n_rows), given what the draws keep."""
    observed: Observed = estimator._observed
    if estimator._structure.keeps_latents:
        return list(observed.log_likelihoods(estimator._traces))
    functions = functions_at_points(estimator)
    return list(observed.log_densities(estimator._traces, functions, estimator.X_train_))


def can_leave_out(estimator: Any) -> bool:
    """Return whether `left_out_rows` raises no error where draws keep the latent values."""
    few = has_few_pairs(len(estimator._observed.y), len(estimator.X_train_))
    return few or integrates_out(estimator)


def integrates_out(estimator: Any) -> bool:
    """Return whether the latent function given theta is normal, and integrated out."""
    return is_usable("marginal", estimator._observed.groups[0][0], estimator._structure)


def left_out_rows(estimator: Any, n_draws: int, log_likelihoods: Sequence[Array]) -> list[LeftOut]:
    """Return log densities of each row given draws and the other rows, of each group.

    In the units of y. Rows of weight w are left out with all their copies.

    Parameters
    ----------
    estimator : fitted estimator
    n_draws : int
        At most as many draws are taken, evenly spread.
    log_likelihoods : sequence of ndarray
        What `log_likelihoods_of_rows` returns. Given the function at inducing points, the other
        rows say nothing of a row.

    Raises
    ------
    MissingCapabilityError
        If there are too many rows.
    """
    observed: Observed = estimator._observed
    copies = observed.copies
    if not estimator._structure.keeps_latents and not integrates_out(estimator):
        which = evenly_spaced_draws(estimator._traces[0][0], n_draws)
        parts = [each.reshape(-1, each.shape[-1])[which] for each in log_likelihoods]
        return [LeftOut(part, part / copies) for part in parts]
    found = []
    for group, traces in zip(observed.groups, estimator._traces, strict=True):
        rows = RowsOfGroup(group, observed.places(), observed.per_row.get("sample_weight"))
        params = likelihood_params(traces[0], n_draws)
        part = _left_out_of_group(estimator, traces, rows, params, n_draws)
        base = observed.log_base
        found.append(LeftOut(part.all_copies + copies * base, part.one_copy + base))
    return found


def _left_out_of_group(
    estimator: Any, traces: Sequence[Any], rows: RowsOfGroup, params: Array, n_draws: int
) -> LeftOut:
    structure, kernel, X = estimator._structure, estimator._latent_kernel, estimator.X_train_
    if integrates_out(estimator):
        given = structure, kernel, X, traces[0], rows.group[0], estimator._jitter, n_draws
        draws = predictions_of(structure).for_leaving_out(*given)
        draws.n_jobs = estimator.n_jobs
        return left_out_of_gaussian(draws, rows, params)
    functions = [
        posterior_draws(structure, kernel, X, trace, estimator._jitter, n_draws) for trace in traces
    ]
    for each in functions:
        each.n_jobs = estimator.n_jobs
    return left_out_along_lines(functions, rows, params)


def functions_at_points(estimator: Any) -> list[list[LowRankPosteriorDraws]]:
    """Return all draws of each latent function at the inducing points."""
    structure, kernel = estimator._structure, estimator._latent_kernel
    inputs, jitter = structure.conditioned_on(estimator.X_train_), estimator._jitter
    n_draws = len(estimator._traces[0][0].all_theta())
    return [
        [
            LowRankPosteriorDraws.from_trace(kernel, inputs, trace, jitter, n_draws)
            for trace in group
        ]
        for group in estimator._traces
    ]
