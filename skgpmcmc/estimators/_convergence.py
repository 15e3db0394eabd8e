"""One warning where the chains cannot be trusted, with advice that fits what is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .._messages import warn_user
from .._running._stopping import StoppingRule
from ..diagnostics._summary import Limits
from ..trace import OTHER_QUANTITIES

# Beyond these, chains stay where they are, and more draws are of no use: R-hat, and the share of
# effective draws (fewer are made by chains that take more than 50 iterations for each).
_STUCK_RHAT, _STUCK_SHARE = 1.1, 0.02
# Of a chain with fewer draws there is no effective sample size.
_FEWEST_DRAWS = 6
_LIMITS = StoppingRule()
_LATENT, _ = OTHER_QUANTITIES


@dataclass(frozen=True)
class Run:
    """A run of chains, as far as advice depends on it.

    Attributes
    ----------
    n_chains, n_draws, n_warmup : int
        Chains, draws of each, and iterations before them.
    warmup_is_longest : bool
        Whether the warm-up took all iterations that it was allowed to take.
    other_moves : str
        Another way to sample that may help chains which are stuck; empty if there is none.
    fit : str
        Which fit it is, in words that go on from "This is".
    rule : StoppingRule
        Says what counts as converged.
    """

    n_chains: int
    n_draws: int
    n_warmup: int
    warmup_is_longest: bool
    other_moves: str
    fit: str
    rule: StoppingRule


def warn_once(
    diagnostics: Mapping[str, Mapping[str, float]], run: Run, stopped: str = "", more: str = ""
) -> None:
    """Warn once if the chains were stopped or have not converged: the worst quantity, what to do.

    Parameters
    ----------
    diagnostics : mapping
        Name of a quantity -> its diagnostics.
    run : Run
        How they came about.
    stopped : str
        What to say where the chains were stopped; empty where they were not.
    more : str
        What is known of the reason where they have not converged.
    """
    name = max(diagnostics, key=lambda n: badness(diagnostics[n], run.rule))
    row = diagnostics[name]
    if badness(row, run.rule) <= 1.0:
        if stopped:
            warn_user(f"{stopped}They have converged.", ConvergenceWarning)
        return
    shown = f"{name!r}"
    if name.endswith(_LATENT):
        shown += ", the latent function where the chains agree least,"
    fault = _fault(row, run) + _other_fault(diagnostics, name, run.rule)
    warn_user(
        f"{stopped}The chains have not converged: the worst quantity is {shown}"
        f"{fault}.{more} {_advice(row, run, bool(stopped))}. "
        f"summary() has the table of all quantities. This is {run.fit}.",
        ConvergenceWarning,
    )


def more_draws(estimator: Any) -> str:
    """Say how a fitted estimator is to make more draws than it has.

    That depends on what ended the fit: somebody or the clock, enough effective draws, or `n_draws`.
    """
    if estimator._stopped_by:
        has_checkpoint = estimator.checkpoint is not None
        return "call fit again" if has_checkpoint else "fit again with warm_start=True"
    if estimator.min_ess is None or not estimator.converged_:
        return f"raise n_draws (now {estimator.n_draws_})"
    at_the_end = f" and n_draws (now {estimator.n_draws_})"
    is_last = estimator.n_draws_ >= estimator.n_draws
    return f"raise min_ess (now {estimator.min_ess:.10g})" + at_the_end * is_last


def limits_of_fit(estimator: Any, rule: StoppingRule) -> Limits:
    """Return what the tables of a fit mark: what its rule looks at, and no more."""
    return Limits(*rule.limits, ("ess_bulk",), more_draws(estimator))


def badness(row: Mapping[str, float], rule: StoppingRule = _LIMITS) -> float:
    """Return how far R-hat or ESS is beyond its limit: above 1 where one is."""
    min_ess, max_rhat = rule.limits
    ratios = (row["rhat"] - 1.0) / (max_rhat - 1.0), min_ess / max(row["ess_bulk"], 1e-300)
    # NaN: a quantity that never moved, or too few draws to tell.
    return max(math.inf if math.isnan(ratio) else ratio for ratio in ratios)


def _fault(row: Mapping[str, float], run: Run) -> str:
    """Say what is wrong with a quantity."""
    if row["sd"] == 0.0:
        return ", which never moved"
    faults = []
    min_ess, max_rhat = run.rule.limits
    if row["rhat"] > max_rhat:
        faults.append(f"R-hat {row['rhat']:.3f} (should be at most {max_rhat:.10g})")
    if row["ess_bulk"] < min_ess:
        faults.append(
            f"{row['ess_bulk']:.0f} effective draws (bulk; should be at least {min_ess:.10g})"
        )
    if run.n_draws < _FEWEST_DRAWS:
        faults.append("too few draws to estimate how many are effective")
    return f" with {' and '.join(faults)}"


def _other_fault(
    diagnostics: Mapping[str, Mapping[str, float]], name: str, rule: StoppingRule
) -> str:
    """Name the quantity with the largest R-hat, if it is too large and another one is the worst."""
    largest = max(diagnostics, key=lambda n: diagnostics[n]["rhat"])
    rhat = diagnostics[largest]["rhat"]
    if largest == name or not rhat > max(rule.limits[1], diagnostics[name]["rhat"]):
        return ""
    return f"; {largest!r} has R-hat {rhat:.3f}"


def _advice(row: Mapping[str, float], run: Run, is_stopped: bool) -> str:
    """Say what to do about it; how stopped chains go on was said before."""
    if _is_stuck(row, run):
        moves = f", or use {run.other_moves}" if run.other_moves else ""
        return (
            "More draws alone will not help, for the chains hardly move, or stay at different "
            "places: compare the chains with skgpmcmc.displays.TraceDisplay; then state narrower "
            f"priors, bring the columns of X to one scale{moves}"
        )
    draws = f"Raise n_draws (now {run.n_draws}; warm_start=True continues the chains)"
    if is_stopped:
        draws = "Going on makes the draws that are missing"
    if not row["rhat"] > run.rule.limits[1]:
        return draws
    # A warm-up that ended by itself ends there again, however long it may be.
    longer = f"more n_warmup (now {run.n_warmup}) or " * run.warmup_is_longest
    return f"{draws}, or start afresh with {longer}narrower priors"


def _is_stuck(row: Mapping[str, float], run: Run) -> bool:
    if row["sd"] == 0.0 or math.isinf(row["rhat"]):
        return True
    few = _STUCK_SHARE * run.n_chains * run.n_draws
    return row["rhat"] > _STUCK_RHAT and row["ess_bulk"] < few
