"""Which rows are sampled on the Cartesian grid that they form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import separable_form
from .._grid import Grid, find_grid
from ..representations import representation_class

# Points of a grid from which on it pays for itself; dense matrices of fewer are small. Without
# trajectories the chains mix slowly on a grid ("prior-white" beside "post-ep").
FEWEST_POINTS = 200
FEWEST_POINTS_WITHOUT_TRAJECTORIES = 2000
# An iteration on a grid has some 20 eigendecompositions of each axis' matrix, a dense one a few
# Cholesky factors of the rows': about equal in cost where the rows are 2.5 times as many as the
# longest axis has coordinates, from 200 rows to 1000.
FEWEST_ROWS_PER_COORDINATE = 3


def training_grid(
    representation: str | float, update: Any, kernel: Kernel, X: Any
) -> tuple[Grid, NDArray[np.intp]] | None:
    """Return the grid that a model is to be sampled on, and which point each row is.

    That is the case where the rows take up at least half of a grid (`find_grid`), the kernel
    separates on it (`separable_form`), and the representation works on grids; with "auto", where
    that is also worth it (`pays`).

    Parameters
    ----------
    representation : str or float
        The estimators' parameter.
    update : str or callable
        The estimators' `hyperparameter_update`.
    kernel : Kernel
        Of the latent function.
    X : array-like of length n_rows
        Distinct rows.
    """
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        return None
    is_auto = representation == "auto"
    if not (is_auto or representation_class(representation).works_on_grids):
        return None
    found = find_grid(X)
    if found is None or separable_form(kernel, found[0]) is None:
        return None
    return found if not is_auto or pays(found[0], len(X), update) else None


def pays(grid: Grid, n_rows: int, update: Any) -> bool:
    """Return whether effective draws are sooner had on a grid than with dense matrices.

    Parameters
    ----------
    grid : Grid
        Of the latent variables.
    n_rows : int
        Distinct rows: latent variables without the grid.
    update : str or callable
        The estimators' `hyperparameter_update`. ``"hmc"`` has nothing but a grid for all counts.
    """
    if update == "hmc":
        return True
    fewest = FEWEST_POINTS if update == "auto" else FEWEST_POINTS_WITHOUT_TRAJECTORIES
    return grid.n >= fewest and n_rows >= FEWEST_ROWS_PER_COORDINATE * max(grid.shape)
