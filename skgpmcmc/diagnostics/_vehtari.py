"""R-hat, effective sample sizes and standard errors of split chains (Vehtari et al., 2021)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from ._draws import (
    FloatArray,
    as_chains,
    centre,
    deviations,
    is_constant,
    is_long_and_finite,
    is_usable,
    mean_and_sd,
)

# The functions without a public name take draws of many scalars at once: any axes, then chains and
# draws. The costly parts are sorts and Fourier transforms, a call of each for all scalars.


def split_halves(chains: FloatArray) -> FloatArray:
    """Make two chains of each; the middle draw of an odd number is left out."""
    half = chains.shape[-1] // 2
    return np.concatenate([chains[..., :half], chains[..., -half:]], axis=-2)


def geyer_ess(chains: FloatArray) -> FloatArray:
    """Effective sample size from Geyer's initial monotone sequence over split chains."""
    n_draws = chains.shape[-1]
    size = chains.shape[-2] * n_draws
    constant = is_constant(chains)
    if n_draws < 3:
        return np.full(constant.shape, np.nan)
    if n_draws < 6:  # too short for a second pair of lags; posterior's convention
        return np.where(constant, np.nan, size / 2.0)
    acov = _autocovariance(chains).mean(axis=-2)
    within = acov[..., :1] * n_draws / (n_draws - 1)
    pooled = acov[..., :1] + np.var(chains.mean(axis=-1), axis=-1, ddof=1)[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):  # constant draws
        rho = 1.0 - (within - acov) / pooled
    rho[..., 0] = 1.0
    time = _autocorrelation_time(rho)
    # Antithetic chains can have a time near or below zero; the bound keeps the estimate sane.
    return np.where(constant, np.nan, size / np.maximum(time, 1.0 / np.log10(size)))


def _autocovariance(chains: FloatArray) -> FloatArray:
    """Biased autocovariance (divisor n_draws) of each chain at all lags."""
    n_draws = chains.shape[-1]
    n_fft = next_fast_len(2 * n_draws, real=True)
    spectrum = rfft(centre(chains), n=n_fft, axis=-1)
    power = spectrum.real**2 + spectrum.imag**2
    acov: FloatArray = irfft(power, n=n_fft, axis=-1)[..., :n_draws] / n_draws
    return acov


def _autocorrelation_time(rho: FloatArray) -> FloatArray:
    """Sum 1 + 2 rho[1] + 2 rho[2] + ... up to Geyer's truncation.

    Sums over pairs of lags (2k, 2k + 1) are positive and decreasing for a reversible chain:
    the sum stops at the first pair that is not positive, and the pairs are made decreasing.
    """
    n_pairs = (rho.shape[-1] - 2) // 2  # the last lags are too noisy to enter
    pairs = rho[..., 0 : 2 * n_pairs : 2] + rho[..., 1 : 2 * n_pairs : 2]
    stops = pairs <= 0.0
    stop = np.where(stops.any(axis=-1), stops.argmax(axis=-1), n_pairs - 1)[..., np.newaxis]
    before = np.arange(n_pairs) < stop
    decreasing = np.minimum.accumulate(pairs, axis=-1)
    time = -1.0 + 2.0 * np.sum(decreasing, axis=-1, where=before)
    # A single weight for the next even lag lowers the variance for antithetic chains.
    next_even = np.take_along_axis(rho, 2 * stop, axis=-1)[..., 0]
    at_stop = np.take_along_axis(pairs, stop, axis=-1)[..., 0]
    return time + np.where((next_even > 0.0) | (at_stop >= 0.0), next_even, 0.0)


def rhat(draws: ArrayLike) -> float:
    """Rank-normalised split R-hat: the larger one of the bulk R-hat and the folded R-hat.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity. One chain is enough, because its halves are compared.

    Returns
    -------
    float
        At least about 1. Values above 1.01 mean that the chains disagree. Infinite if every
        half-chain is constant, and they differ. If the folded draws are all equal (two symmetric
        values), only the bulk R-hat is used. NaN if it is not defined: see the text of the module.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    See Also
    --------
    ess_bulk : Effective sample size.
    summarize : A table of all diagnostics.

    Notes
    -----
    Vehtari et al. (2021), rank-normalised and folded split R-hat; ``posterior::rhat`` in R.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((4, 500))
    >>> bool(rhat(draws) < 1.01)
    True
    >>> bool(rhat(draws + np.array([[0.0], [0.0], [0.0], [1.0]])) > 1.05)
    True
    """
    chains = as_chains(draws)
    if not is_usable(chains):
        return np.nan
    return float(rhat_from_scores(chains, split_scores(chains)))


def ess_bulk(draws: ArrayLike) -> float:
    """Effective sample size of the rank-normalised split chains.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity.

    Returns
    -------
    float
        A number of independent draws, over all chains together. It can be larger than the number of
        draws if they alternate about the centre, by a factor of at most log10(n_chains * n_draws).
        With 6 to 11 draws in a chain no autocorrelation is estimated, and the result is half the
        number of draws that the split keeps. NaN if it is not defined: see the text of the module.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    See Also
    --------
    ess_tail : The same for the tails.
    ess_spectral : The one that Murray and Adams (2010) report.

    Notes
    -----
    Vehtari et al. (2021), bulk effective sample size; ``posterior::ess_bulk`` in R.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((4, 500))
    >>> bool(ess_bulk(draws) > 1500)
    True
    >>> bool(ess_bulk(np.cumsum(draws, axis=1)) < 50)
    True
    """
    chains = as_chains(draws)
    return float(geyer_ess(split_scores(chains))) if is_usable(chains) else np.nan


def ess_tail(draws: ArrayLike) -> float:
    """Effective sample size for the tails: the smaller of those for the 5 % and 95 % quantiles.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity.

    Returns
    -------
    float
        A number of independent draws, over all chains together. If more than 5 % of the draws have
        the largest value, the indicator of the 95 % quantile is constant, and only the 5 % quantile
        is used. NaN if it is not defined: see the text of the module.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    See Also
    --------
    ess_bulk : The same for the middle of the distribution.

    Notes
    -----
    Vehtari et al. (2021), tail effective sample size; ``posterior::ess_tail`` in R.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_cauchy((4, 500))
    >>> bool(ess_tail(draws) > 1000)
    True
    """
    chains = as_chains(draws)
    if not is_usable(chains):
        return np.nan
    lower, upper = np.quantile(chains, [0.05, 0.95])
    ess_lower = geyer_ess(split_halves((chains <= lower).astype(np.float64)))
    ess_upper = geyer_ess(split_halves((chains <= upper).astype(np.float64)))
    return float(np.fmin(ess_lower, ess_upper))


def split_scores(chains: FloatArray) -> FloatArray:
    """Replace the draws of half-chains by normal quantiles of their pooled ranks."""
    halves = split_halves(chains)
    n_pooled = halves.shape[-2] * halves.shape[-1]
    pooled = halves.reshape(*halves.shape[:-2], n_pooled)
    ranks = rankdata(pooled, method="average", axis=-1).reshape(halves.shape)
    scores: FloatArray = ndtri((ranks - 0.375) / (n_pooled + 0.25))  # Blom's offset 3/8
    return scores


def rhat_from_scores(chains: FloatArray, scores: FloatArray) -> FloatArray:
    """R-hat of usable chains whose `split_scores` are known: ranking is the costly part."""
    folded = np.abs(chains - np.median(chains, axis=(-2, -1), keepdims=True))
    return np.fmax(_rhat(scores), _rhat(split_scores(folded)))


def _rhat(chains: FloatArray) -> FloatArray:
    n_draws = chains.shape[-1]
    within = np.mean(np.sum(centre(chains) ** 2, axis=-1), axis=-1) / (n_draws - 1)
    between = n_draws * np.var(chains.mean(axis=-1), axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((between / within + n_draws - 1) / n_draws)
    return np.where(is_constant(chains), np.nan, ratio)


def mcse_means(draws: FloatArray) -> FloatArray:
    """Return `mcse_mean` of many scalars, faster than one after the other.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_scalars)

    Returns
    -------
    mcse : ndarray of shape (n_scalars,)
    """
    chains = np.ascontiguousarray(np.moveaxis(draws, -1, 0))
    results = np.full(len(chains), np.nan)
    usable = is_long_and_finite(chains) & ~is_constant(chains)
    if usable.any():
        z, _, exponent = deviations(chains[usable])
        sd = np.ldexp(z.std(axis=(-2, -1), ddof=1), exponent[..., 0, 0])
        results[usable] = sd / np.sqrt(geyer_ess(split_halves(z)))
    return results


def mcse_of_means(values: FloatArray, chains: NDArray[np.intp]) -> FloatArray:
    """Return the Monte Carlo standard errors of means over draws.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_means)
        Ordered by chain, then by iteration.
    chains : ndarray of int of shape (n_draws,)
        Chain of each draw. Evenly spaced draws may be one more of some chains than of others: all
        chains count as far as the shortest goes.

    Returns
    -------
    mcse : ndarray of shape (n_means,)
        See `mcse_mean`.
    """
    _, starts, counts = np.unique(chains, return_index=True, return_counts=True)
    which = starts[:, np.newaxis] + np.arange(counts.min())
    factor = np.sqrt(which.size / len(chains))
    return np.asarray(factor * mcse_means(values[which]))


def rhat_and_ess(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `rhat` and `ess_bulk` of many scalars, faster than one after the other.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_scalars)

    Returns
    -------
    rhat, ess_bulk : ndarray of shape (n_scalars,)
    """
    chains = np.ascontiguousarray(np.moveaxis(draws, -1, 0))
    results = np.full((2, len(chains)), np.nan)
    usable = is_long_and_finite(chains) & ~is_constant(chains)
    if usable.any():
        chains = chains[usable]
        scores = split_scores(chains)
        results[:, usable] = rhat_from_scores(chains, scores), geyer_ess(scores)
    return results[0], results[1]


def ess_mean(draws: ArrayLike) -> float:
    """Effective sample size for the mean: split chains, without rank normalisation.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity, which should have a finite variance.

    Returns
    -------
    float
        A number of independent draws, over all chains together. NaN if it is not defined: see the
        text of the module.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    See Also
    --------
    mcse_mean : The standard error of the mean.

    Notes
    -----
    Vehtari et al. (2021), effective sample size; ``posterior::ess_mean`` in R.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((4, 500))
    >>> bool(ess_mean(draws) > 1500)
    True
    """
    chains = as_chains(draws)
    if not is_usable(chains):
        return np.nan
    return float(geyer_ess(split_halves(deviations(chains)[0])))


def mcse_mean(draws: ArrayLike) -> float:
    """Monte Carlo standard error of the mean over all draws.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity, which should have a finite variance.

    Returns
    -------
    float
        The standard deviation of all draws divided by the square root of `ess_mean`, in the unit of
        `draws`. NaN if it is not defined: see the text of the module.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    See Also
    --------
    ess_mean : Effective sample size for the mean.

    Notes
    -----
    Vehtari et al. (2021), standard error of the mean; ``posterior::mcse_mean`` in R.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((4, 2500))
    >>> round(mcse_mean(draws), 3)
    0.01
    """
    chains = as_chains(draws)
    return float(mean_and_sd(chains)[1] / np.sqrt(ess_mean(chains)))
