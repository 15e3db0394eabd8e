"""What all diagnostics ask of their draws."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_floats

FloatArray = NDArray[np.float64]

_MIN_DRAWS = 4


def as_chains(draws: ArrayLike) -> FloatArray:
    """Return the draws of one scalar as floats of shape (n_chains, n_draws)."""
    chains = as_numbers("draws", draws)
    if chains.ndim not in (1, 2):
        raise ValueError(
            f"draws has shape {chains.shape}; allowed are (n_chains, n_draws) and (n_draws,). "
            "Pass one scalar quantity at a time, or use summarize for a vector."
        )
    return np.atleast_2d(chains)


def as_numbers(name: str, draws: ArrayLike) -> FloatArray:
    """Return draws as floats, without a copy if they are; an error says what is no number."""
    if type(draws) is np.ndarray and draws.dtype == np.float64:
        return draws
    return as_floats(name, draws)


def is_long_and_finite(chains: FloatArray) -> bool:
    """Whether there are enough draws, all of them finite."""
    return chains.size > 0 and chains.shape[1] >= _MIN_DRAWS and bool(np.isfinite(chains).all())


def is_usable(chains: FloatArray) -> bool:
    """Whether R-hat and the sizes from split chains can be defined."""
    return is_long_and_finite(chains) and not is_constant(chains)


def is_constant(chains: FloatArray) -> bool:
    """Whether all draws of all chains are exactly equal."""
    return bool((chains == chains.flat[0]).all())
