"""Effective sample size of split chains, from their autocovariances."""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from ._moments import centre
from ._validation import FloatArray, is_constant


def split_halves(chains: FloatArray) -> FloatArray:
    """Make two chains of each; the middle draw of an odd number is left out."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def geyer_ess(chains: FloatArray) -> float:
    """Effective sample size from Geyer's initial monotone sequence over split chains."""
    n_draws = chains.shape[1]
    if n_draws < 3 or is_constant(chains):
        return np.nan
    if n_draws < 6:  # too short for a second pair of lags; posterior's convention
        return chains.size / 2.0
    acov = _autocovariance(chains).mean(axis=0)
    within = acov[0] * n_draws / (n_draws - 1)
    pooled = acov[0] + np.var(chains.mean(axis=1), ddof=1)
    rho = 1.0 - (within - acov) / pooled
    rho[0] = 1.0
    time = _autocorrelation_time(rho)
    # Antithetic chains can have a time near or below zero; the bound keeps the estimate sane.
    return chains.size / max(time, 1.0 / float(np.log10(chains.size)))


def _autocovariance(chains: FloatArray) -> FloatArray:
    """Biased autocovariance (divisor n_draws) of each chain at all lags."""
    n_draws = chains.shape[1]
    n_fft = next_fast_len(2 * n_draws, real=True)
    spectrum = rfft(centre(chains), n=n_fft, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    acov: FloatArray = irfft(power, n=n_fft, axis=1)[:, :n_draws] / n_draws
    return acov


def _autocorrelation_time(rho: FloatArray) -> float:
    """Sum 1 + 2 rho[1] + 2 rho[2] + ... up to Geyer's truncation.

    Sums over pairs of lags (2k, 2k + 1) are positive and decreasing for a reversible chain:
    the sum stops at the first pair that is not positive, and the pairs are made decreasing.
    """
    n_pairs = (rho.size - 2) // 2  # the last lags are too noisy to enter
    pairs = rho[0 : 2 * n_pairs : 2] + rho[1 : 2 * n_pairs : 2]
    stops = np.flatnonzero(pairs <= 0.0)
    stop = int(stops[0]) if stops.size else n_pairs - 1
    time = -1.0 + 2.0 * np.minimum.accumulate(pairs[:stop]).sum()
    # A single weight for the next even lag lowers the variance for antithetic chains.
    next_even = rho[2 * stop]
    return float(time + (next_even if next_even > 0.0 or pairs[stop] >= 0.0 else 0.0))
