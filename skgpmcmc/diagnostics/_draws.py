"""Draws as all diagnostics take them: their shape, whether they are constant, their moments."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_floats

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

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


def is_long_and_finite(chains: FloatArray) -> BoolArray:
    """Whether there are enough draws, all of them finite; for each scalar of leading axes."""
    long = chains.size > 0 and chains.shape[-1] >= _MIN_DRAWS
    return np.asarray(np.isfinite(chains).all(axis=(-2, -1)) & long)


def is_usable(chains: FloatArray) -> bool:
    """Whether R-hat and the sizes from split chains can be defined."""
    return bool(is_long_and_finite(chains) and not is_constant(chains))


def is_constant(chains: FloatArray) -> BoolArray:
    """Whether all draws of all chains are exactly equal; for each scalar of leading axes."""
    equal: BoolArray = (chains == chains[..., :1, :1]).all(axis=(-2, -1))
    return equal


def deviations(chains: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int_]]:
    """Return ``z``, ``first`` and ``exponent`` with ``chains = (first + z) 2**exponent``.

    For each scalar of leading axes; the last two have axes of length one for chains and draws.
    The scaled draws are at most 1, so that no square overflows or underflows, and the power of
    two keeps their digits. Subtracting the first draw keeps those of draws far from zero.
    """
    exponent = np.frexp(np.abs(chains).max(axis=(-2, -1), keepdims=True))[1]
    scaled = np.ldexp(chains, -exponent)
    first = scaled[..., :1, :1]
    return scaled - first, first, exponent


def mean_and_sd(chains: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation (divisor n - 1) of all draws; NaN where undefined."""
    if chains.size == 0 or not np.isfinite(chains).all():
        return np.nan, np.nan
    z, first, exponent = deviations(chains)
    sd = z.std(ddof=1) if z.size > 1 else np.nan
    return np.ldexp(first + z.mean(), exponent).item(), np.ldexp(sd, exponent).item()


def centre(chains: FloatArray) -> FloatArray:
    """Subtract its mean from each chain; a constant chain becomes exactly zero."""
    # The first draw goes before the mean does: the mean of equal draws may be rounded.
    shifted = chains - chains[..., :1]
    shifted -= shifted.mean(axis=-1, keepdims=True)
    return shifted
