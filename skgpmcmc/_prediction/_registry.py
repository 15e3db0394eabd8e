"""Which class predicts, for each structure of the covariance of what was sampled."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from .._covariance import CovarianceStructure, DenseStructure, GridStructure, LowRankStructure
from ..exceptions import MissingCapabilityError
from ..trace import Trace
from ._dense import PosteriorDraws
from ._grid import GridPosteriorDraws
from ._low_rank import LowRankPosteriorDraws

#: Structure -> its class of predictions. Here, and not as a method of the structures, because
#: predictions are made of traces: covariances stand below those, and may not import them.
PREDICTIONS: dict[type[CovarianceStructure], type[PosteriorDraws]] = {
    DenseStructure: PosteriorDraws,
    GridStructure: GridPosteriorDraws,
    LowRankStructure: LowRankPosteriorDraws,
}


#: Draws that predictions average over if nobody says how many: as many as together have at most
#: this many numbers in their factors, but at least FEWEST_DRAWS, and at most all. A thousand rows
#: then take a second or a few. It does not depend on the rows that are predicted: neither does the
#: prediction of a row on the others.
MOST_NUMBERS = 50_000_000
FEWEST_DRAWS = 200


def predictions_of(structure: CovarianceStructure) -> type[PosteriorDraws]:
    """Return the class that predicts, given draws of a model with this structure.

    Raises
    ------
    MissingCapabilityError
        If neither the structure nor a class that it derives from is registered: predictions
        that do not know of an approximation would be wrong, and not fail.
    """
    for kind in type(structure).__mro__:
        if kind in PREDICTIONS:
            return PREDICTIONS[kind]
    raise MissingCapabilityError(
        f"there are no predictions for the covariance structure {type(structure).__name__}: it is "
        "not in PREDICTIONS."
    )


def posterior_draws(
    structure: CovarianceStructure,
    kernel: Kernel,
    X: Any,
    trace: Trace,
    jitter: float,
    max_draws: int,
) -> PosteriorDraws:
    """Return draws of the latent function that predictions are conditional on.

    Parameters
    ----------
    structure : CovarianceStructure
        Of the model that was sampled.
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function of f, at any hyperparameters.
    X : array-like of length n_latent
        Inputs of the latent variables.
    trace : Trace
        Draws.
    jitter : float
        As the chains used it.
    max_draws : int
        At most as many are taken, evenly spread over chains and iterations.
    """
    known = structure.conditioned_on(X)
    return predictions_of(structure).from_trace(kernel, known, trace, jitter, max_draws)


def draws_within_budget(structure: CovarianceStructure, X: Any, n_functions: int) -> int:
    """Return how many draws have at most MOST_NUMBERS numbers in their factors.

    Parameters
    ----------
    structure : CovarianceStructure
        Of the model that was sampled.
    X : array-like of length n_latent
        Inputs of the latent variables.
    n_functions : int
        Latent functions.
    """
    numbers = predictions_of(structure).numbers_of_draw(structure.conditioned_on(X))
    return int(MOST_NUMBERS // (n_functions * numbers))
