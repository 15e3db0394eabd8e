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

__all__ = ["from_plain", "to_plain", "with_structure"]

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


def with_structure(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a fitted estimator as this version has it.

    Version 0.1.0 had a grid, or None, in place of the structure of the covariance.
    """
    if "_grid" not in state:
        return state
    state = dict(state)
    grid = state.pop("_grid")
    return state | {"_structure": DenseStructure() if grid is None else GridStructure(grid)}
