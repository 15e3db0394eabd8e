"""Which classes of the package a fitted estimator may hold, when it is saved or loaded."""

from __future__ import annotations

from .._covariance import NoiseSplit
from .._grid import Grid
from .._model._layout import ParameterLayout
from .._serialization import from_plain, register, to_plain
from ..diagnostics import SummaryTable
from ..likelihoods import LIKELIHOODS, SoftmaxClass
from ..likelihoods._gaussian import Sums
from ..priors import HyperPrior
from ..priors._families import Truncated
from ..trace import Trace
from ._prior_table import PriorTable
from ._training_rows import Observed
from ._warm_start import Continuation

__all__ = ["from_plain", "to_plain"]

# The states of chains are registered where checkpoints save them.
register(
    *LIKELIHOODS.values(),
    Continuation,
    Grid,
    HyperPrior,
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
