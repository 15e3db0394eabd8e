"""Moments that neither the unit of the draws nor their distance from zero spoils."""

import numpy as np

from ._validation import FloatArray


def deviations(chains: FloatArray) -> tuple[FloatArray, float, int]:
    """Return ``z``, ``first`` and ``exponent`` with ``chains = (first + z) 2**exponent``.

    The scaled draws are at most 1, so that no square overflows or underflows, and the power of
    two keeps their digits. Subtracting the first draw keeps those of draws far from zero.
    """
    exponent = int(np.frexp(np.abs(chains).max())[1])
    scaled = np.ldexp(chains, -exponent)
    first = float(scaled.flat[0])
    return scaled - first, first, exponent


def mean_and_sd(chains: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation (divisor n - 1) of all draws; NaN where undefined."""
    if chains.size == 0 or not np.isfinite(chains).all():
        return np.nan, np.nan
    z, first, exponent = deviations(chains)
    sd = z.std(ddof=1) if z.size > 1 else np.nan
    return float(np.ldexp(first + z.mean(), exponent)), float(np.ldexp(sd, exponent))


def centre(chains: FloatArray) -> FloatArray:
    """Subtract its mean from each chain; a constant chain becomes exactly zero."""
    # The first draw goes before the mean does: the mean of equal draws may be rounded.
    shifted = chains - chains[:, :1]
    shifted -= shifted.mean(axis=1, keepdims=True)
    return shifted
