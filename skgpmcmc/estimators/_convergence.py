"""One warning where the chains cannot be trusted."""

from __future__ import annotations

import math
import warnings

from sklearn.exceptions import ConvergenceWarning

# Beyond these a quantity is reported as not converged (Vehtari et al. 2021 ask for
# R-hat below 1.01 and 400 effective draws for publication; a warning at every fit
# that is good enough for predictions would be ignored).
_MAX_RHAT = 1.05
_MIN_ESS = 100.0


def warn_if_not_converged(
    diagnostics: dict[str, dict[str, float]], n_draws: int, n_warmup: int, advice: str
) -> None:
    """Warn once, naming the worst quantity and what to do."""
    name = max(diagnostics, key=lambda n: _badness(diagnostics[n]))
    row = diagnostics[name]
    if _badness(row) <= 1.0:
        return
    faults = []
    if not row["rhat"] <= _MAX_RHAT:
        faults.append(f"R-hat {row['rhat']:.3f} (should be at most {_MAX_RHAT})")
    if not row["ess_bulk"] >= _MIN_ESS:
        faults.append(
            f"{row['ess_bulk']:.0f} effective draws (bulk; should be at least {_MIN_ESS:.0f})"
        )
    warnings.warn(
        f"The chains have not converged: the worst quantity is {name!r} with "
        f"{' and '.join(faults)}. Raise n_draws (now {n_draws}; warm_start=True continues the "
        f"chains), or start afresh with more n_warmup (now {n_warmup}) or narrower priors. The "
        f"table of all quantities is in diagnostics_.{advice}",
        ConvergenceWarning,
        stacklevel=7,
    )


def _badness(row: dict[str, float]) -> float:
    """Return how far R-hat or ESS is beyond its limit: above 1 where one is."""
    ratios = (row["rhat"] - 1.0) / (_MAX_RHAT - 1.0), _MIN_ESS / max(row["ess_bulk"], 1e-300)
    # NaN: a quantity that never moved, or too few draws to tell.
    return max(math.inf if math.isnan(ratio) else ratio for ratio in ratios)
