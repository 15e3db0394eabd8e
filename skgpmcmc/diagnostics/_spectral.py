"""Effective sample size from an autoregressive fit to each chain."""

import numpy as np
from numpy.typing import ArrayLike

from ._draws import FloatArray, as_chains, centre, deviations, is_long_and_finite


def ess_spectral(draws: ArrayLike) -> float:
    """Effective sample size from an autoregressive fit, as in ``coda::effectiveSize``.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity.

    Returns
    -------
    float
        For each chain it is n_draws times the variance of the chain, divided by its spectral
        density at frequency zero. The result is the sum over chains. The chains are not compared
        with each other: use `rhat` to find chains that are at different places. A chain that is
        constant, or a straight line up to rounding, counts 0. NaN if there are fewer than 4 draws,
        or if a draw is not finite.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    See Also
    --------
    ess_bulk : The one that rank-normalises the draws.

    Notes
    -----
    The spectral density comes from an autoregressive model. It is fitted by Yule-Walker to the
    chain minus its mean. (A trend is not removed.) The order is at most 10 log10(n_draws), and is
    chosen by AIC, as in ``coda::spectrum0.ar`` and ``stats::ar`` of R. Murray and Adams (2010),
    section 5, use this measure.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((2, 1000))
    >>> bool(ess_spectral(draws) > 1500)
    True
    >>> ess_spectral(np.ones(100))
    0.0
    """
    chains = as_chains(draws)
    if not is_long_and_finite(chains):
        return np.nan
    return float(sum(_ess_autoregressive(chain) for chain in chains))


def _ess_autoregressive(chain: FloatArray) -> float:
    n_draws = chain.size
    centred = centre(deviations(chain[np.newaxis])[0])[0]
    time = np.arange(n_draws) - (n_draws - 1) / 2
    residual = centred - time * (time @ centred) / (time @ time)
    # Only rounding is left of a straight line; the scaled draws are at most 1.
    if np.std(residual, ddof=1) <= 8 * np.finfo(np.float64).eps:
        return 0.0
    # Order n_draws - 1, which R admits, would have an infinite prediction variance.
    max_order = min(n_draws - 2, int(10 * np.log10(n_draws)))
    acov = np.array([centred[lag:] @ centred[: n_draws - lag] for lag in range(max_order + 1)])
    spectral_density = _spectrum_at_zero(acov / acov[0], n_draws)
    # Both are relative to the biased variance; the sample variance has divisor n_draws - 1.
    return n_draws * (n_draws / (n_draws - 1)) / spectral_density


def _spectrum_at_zero(acf: FloatArray, n_draws: int) -> float:
    """Spectral density at zero of the autoregression that AIC chooses, for unit variance."""
    best_aic, best = 0.0, (0, 1.0, 0.0)
    coefficients, variance = np.zeros(0), 1.0
    for order in range(1, acf.size):
        # Levinson-Durbin recursion
        reflection = (acf[order] - coefficients @ acf[order - 1 : 0 : -1]) / variance
        coefficients = np.append(coefficients - reflection * coefficients[::-1], reflection)
        variance *= 1.0 - reflection**2
        aic = n_draws * np.log(variance) + 2 * order
        if aic < best_aic:
            best_aic, best = aic, (order, variance, coefficients.sum())
    order, variance, total = best
    prediction_variance = variance * n_draws / (n_draws - order - 1)
    return float(prediction_variance / (1.0 - total) ** 2)
