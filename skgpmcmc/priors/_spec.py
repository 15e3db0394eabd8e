"""The description of a hyperparameter before it has a prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class HyperparameterSpec:
    """What a prior needs to know of one, possibly vector-valued, hyperparameter.

    Attributes
    ----------
    name : str
    size : int
        Number of its elements.
    log_scale : bool
        Whether its elements are positive and sampled as logarithms.
    bounds : ndarray of shape (size, 2) or None
        Lower and upper bounds on the natural scale.
    """

    name: str
    size: int
    log_scale: bool
    bounds: NDArray[np.float64] | None

    def element_name(self, index: int) -> str:
        """Name of one element: the plain name if there is only one."""
        return self.name if self.size == 1 else f"{self.name}[{index}]"
