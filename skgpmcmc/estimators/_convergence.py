"""One warning where the chains cannot be trusted."""

from __future__ import annotations

import math

from sklearn.exceptions import ConvergenceWarning

from .._warn import warn_user
from ..diagnostics._table import MAX_RHAT, MIN_ESS


def warn_once(
    diagnostics: dict[str, dict[str, float]],
    n_draws: int,
    n_warmup: int,
    stopped: str,
    advice: str,
) -> None:
    """Warn once if the chains were stopped or have not converged: the worst quantity, what to do.

    Parameters
    ----------
    diagnostics : dict
        Name of a quantity -> its diagnostics.
    n_draws, n_warmup : int
        Draws of each chain, and iterations before them.
    stopped : str
        What to say where the chains were stopped; empty where they were not.
    advice : str
        What else to say where they have not converged.
    """
    name = max(diagnostics, key=lambda n: badness(diagnostics[n]))
    row = diagnostics[name]
    if badness(row) <= 1.0:
        if stopped:
            warn_user(f"{stopped}They have converged.", ConvergenceWarning)
        return
    faults = []
    if not row["rhat"] <= MAX_RHAT:
        faults.append(f"R-hat {row['rhat']:.3f} (should be at most {MAX_RHAT})")
    if not row["ess_bulk"] >= MIN_ESS:
        faults.append(
            f"{row['ess_bulk']:.0f} effective draws (bulk; should be at least {MIN_ESS:.0f})"
        )
    warn_user(
        f"{stopped}The chains have not converged: the worst quantity is {name!r} with "
        f"{' and '.join(faults)}. Raise n_draws (now {n_draws}; warm_start=True continues the "
        f"chains), or start afresh with more n_warmup (now {n_warmup}) or narrower priors. The "
        f"table of all quantities is in diagnostics_.{advice}",
        ConvergenceWarning,
    )


def badness(row: dict[str, float]) -> float:
    """Return how far R-hat or ESS is beyond its limit: above 1 where one is."""
    ratios = (row["rhat"] - 1.0) / (MAX_RHAT - 1.0), MIN_ESS / max(row["ess_bulk"], 1e-300)
    # NaN: a quantity that never moved, or too few draws to tell.
    return max(math.inf if math.isnan(ratio) else ratio for ratio in ratios)
