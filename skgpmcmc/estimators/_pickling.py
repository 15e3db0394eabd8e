"""Which classes of the package a fitted estimator may hold, when it is saved or loaded."""

from __future__ import annotations

from typing import Any

from .._covariance import DenseStructure, GridStructure, LowRankStructure, NoiseSplit
from .._grid import Grid
from .._model._layout import ParameterLayout
from .._serialization import from_plain, register, to_plain
from ..diagnostics import SummaryTable
from ..diagnostics._summary import Limits
from ..likelihoods import LIKELIHOODS, SoftmaxClass
from ..likelihoods._gaussian import Sums
from ..priors import HyperPrior
from ..priors._families import Truncated
from ..trace import Trace
from ._prior_table import PriorTable
from ._training_rows import Observed
from ._warm_start import Continuation

__all__ = ["as_this_version", "from_plain", "to_plain"]

# The states of chains are registered where checkpoints save them.
register(
    *LIKELIHOODS.values(),
    Continuation,
    DenseStructure,
    Grid,
    GridStructure,
    HyperPrior,
    Limits,
    LowRankStructure,
    NoiseSplit,
    Observed,
    ParameterLayout,
    PriorTable,
    SoftmaxClass,
    SummaryTable,
    Sums,
    Trace,
    Truncated,
)


#: What fits of version 0.1.0 did not have: an end before `n_draws`, and inducing points.
_SINCE_0_1 = {
    "min_ess": None,
    "n_inducing": None,
    "n_inducing_": None,
    "inducing_points_": None,
    "approximation_": None,
    "_stopped_by": "",
}


def as_this_version(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a fitted estimator as this version has it.

    Version 0.1.0 had a grid, or None, in place of the structure of the covariance.
    """
    if "_grid" not in state:
        return state
    state = dict(state)
    grid = state.pop("_grid")
    structure = DenseStructure() if grid is None else GridStructure(grid)
    lengths = {"n_warmup_": state["n_warmup"], "n_draws_": state["_traces"][0][0].n_draws}
    return _SINCE_0_1 | lengths | state | {"_structure": structure}
