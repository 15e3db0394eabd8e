"""Which rows are sampled on the Cartesian grid that they form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import separable_form
from .._grid import Grid, find_grid
from ..representations import representation_class

# Points of a grid from which on it pays for itself; dense matrices of fewer are small.
FEWEST_POINTS = 200


def training_grid(
    representation: str | float, kernel: Kernel, X: Any
) -> tuple[Grid, NDArray[np.intp]] | None:
    """Return the grid that a model is to be sampled on, and which point each row is.

    That is the case where the rows take up at least half of a grid (`find_grid`), the kernel
    separates on it (`separable_form`), and the representation works on grids; with "auto", where
    there are also at least 200 points.

    Parameters
    ----------
    representation : str or float
        The estimators' parameter.
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
    return found if not is_auto or found[0].n >= FEWEST_POINTS else None
