"""Convergence diagnostics and effective sample sizes on plain arrays of draws.

Every function takes ``draws`` of shape (n_chains, n_draws), one scalar quantity; a
one-dimensional array is a single chain. Two families are computed:

- ``rhat``, ``ess_bulk``, ``ess_tail``, ``ess_mean`` and ``mcse_mean`` follow Vehtari, Gelman,
  Simpson, Carpenter and Buerkner (2021), "Rank-normalization, folding, and localization: an
  improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2), and agree with the
  R package posterior. Each chain is split in halves first; the middle draw of an odd number is
  left out.
- ``ess_spectral`` is the ``effectiveSize`` of the R package coda, the figure reported in the
  experiments of Murray and Adams (2010).

No function warns. The result is NaN where it is not defined:

- fewer than 4 draws a chain, or any NaN or infinity among the draws;
- all draws equal (``ess_spectral`` is 0 instead, as in coda): a quantity that never moved is
  either a constant or a stuck sampler, and the draws cannot tell which. Treat NaN as "not shown
  to have converged", so test ``not (rhat(draws) < 1.01)`` rather than ``rhat(draws) > 1.01``;
- effective sample sizes from split chains, and ``mcse_mean``, with fewer than 6 draws a chain.

Unlike in posterior and coda, "all equal" means exactly so, never "closer than an absolute
tolerance", and no diagnostic depends on the unit of the quantity.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

__all__ = [
    "ess_bulk",
    "ess_mean",
    "ess_spectral",
    "ess_tail",
    "mcse_mean",
    "rhat",
    "summarize",
]

FloatArray = NDArray[np.float64]

_MIN_DRAWS = 4


def rhat(draws: ArrayLike) -> float:
    """Rank-normalised split R-hat, the larger of the bulk and the folded one.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity. One chain is enough: its halves are compared.

    Returns
    -------
    float
        At least about 1; values above 1.01 say that the chains disagree. Infinite if every
        half-chain is constant but they differ. If the folded draws are all equal (two symmetric
        values), the bulk R-hat alone is returned. NaN where undefined, see the module's text.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

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
    chains = _as_chains(draws)
    if not _is_usable(chains):
        return np.nan
    folded = np.abs(chains - np.median(chains))
    bulk = _rhat(_normal_scores(_split(chains)))
    tail = _rhat(_normal_scores(_split(folded)))
    return float(np.fmax(bulk, tail))


def ess_bulk(draws: ArrayLike) -> float:
    """Effective sample size of the rank-normalised split chains.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity.

    Returns
    -------
    float
        A number of independent draws, over all chains together. It can exceed the number of
        draws when they alternate about the centre, up to a factor log10(n_chains * n_draws).
        With 6 to 11 draws a chain no autocorrelation is estimated and it is half the number of
        draws kept by the split. NaN where undefined, see the module's text.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

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
    chains = _as_chains(draws)
    return _ess(_normal_scores(_split(chains))) if _is_usable(chains) else np.nan


def ess_tail(draws: ArrayLike) -> float:
    """Effective sample size for the tails: the smaller one of the 5 % and 95 % quantiles.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity.

    Returns
    -------
    float
        A number of independent draws, over all chains together. If more than 5 % of the draws
        tie at the largest value, the indicator of the 95 % quantile is constant and the 5 %
        quantile alone counts. NaN where undefined, see the module's text.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

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
    chains = _as_chains(draws)
    if not _is_usable(chains):
        return np.nan
    lower, upper = np.quantile(chains, [0.05, 0.95])
    ess_lower = _ess(_split((chains <= lower).astype(np.float64)))
    ess_upper = _ess(_split((chains <= upper).astype(np.float64)))
    return float(np.fmin(ess_lower, ess_upper))


def ess_mean(draws: ArrayLike) -> float:
    """Effective sample size for the mean: split chains, without rank normalisation.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity, which should have a finite variance.

    Returns
    -------
    float
        A number of independent draws, over all chains together. NaN where undefined, see the
        module's text.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

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
    chains = _as_chains(draws)
    return _ess(_split(chains)) if _is_usable(chains) else np.nan


def mcse_mean(draws: ArrayLike) -> float:
    """Monte Carlo standard error of the mean over all draws.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity, which should have a finite variance.

    Returns
    -------
    float
        The standard deviation of all draws over the square root of `ess_mean`, in the unit of
        `draws`. NaN where undefined, see the module's text.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

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
    chains = _as_chains(draws)
    return float(_sd(chains) / np.sqrt(ess_mean(chains)))


def ess_spectral(draws: ArrayLike) -> float:
    """Effective sample size from an autoregressive fit, as ``coda::effectiveSize`` has it.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws) or (n_draws,)
        Draws of one scalar quantity.

    Returns
    -------
    float
        The sum over chains of n_draws times the variance of the chain over its spectral density
        at frequency zero. The chains are not compared with each other: chains that sit in
        different places are not penalised, use `rhat` for that. A chain that is constant, or a
        straight line up to rounding, counts 0. NaN with fewer than 4 draws or a draw that is not
        finite.

    Raises
    ------
    ValueError
        If `draws` has other than one or two dimensions.

    Notes
    -----
    The spectral density comes from an autoregressive model, fitted by Yule-Walker to the
    demeaned (not detrended) chain, its order at most 10 log10(n_draws) and chosen by AIC, as
    ``coda::spectrum0.ar`` and ``stats::ar`` of R do. It is the measure of Murray and Adams
    (2010), section 5.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((2, 1000))
    >>> bool(ess_spectral(draws) > 1500)
    True
    >>> ess_spectral(np.ones(100))
    0.0
    """
    chains = _as_chains(draws)
    if not _is_long_and_finite(chains):
        return np.nan
    return float(sum(_ess_autoregressive(chain) for chain in chains))


def summarize(draws_by_name: Mapping[str, ArrayLike]) -> dict[str, dict[str, float]]:
    """Summarise named quantities by their mean, spread and convergence diagnostics.

    Parameters
    ----------
    draws_by_name : mapping of str to array-like
        Draws of shape (n_chains, n_draws) for a scalar quantity, (n_chains, n_draws, dim) for a
        vector, (n_draws,) for one chain of a scalar.

    Returns
    -------
    dict of str to dict of str to float
        For each scalar the entries ``mean``, ``sd``, ``mcse`` (of the mean), ``ess_bulk``,
        ``ess_tail`` and ``rhat``. A vector ``name`` expands to ``name[0]``, ``name[1]``, ... If
        any draw of a quantity is not finite, its entries are NaN.

    Raises
    ------
    ValueError
        If an array has other than one to three dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> summary = summarize({"offset": rng.normal(3.0, 1.0, (4, 2500)),
    ...                      "theta": rng.normal(0.0, 1.0, (4, 2500, 2))})
    >>> list(summary)
    ['offset', 'theta[0]', 'theta[1]']
    >>> {name: round(summary["offset"][name], 1) for name in ("mean", "sd", "rhat")}
    {'mean': 3.0, 'sd': 1.0, 'rhat': 1.0}
    """
    return {name: _summarize_scalar(chains) for name, chains in _scalars(draws_by_name)}


def _scalars(draws_by_name: Mapping[str, ArrayLike]) -> Iterator[tuple[str, FloatArray]]:
    for name, draws in draws_by_name.items():
        array = np.asarray(draws, dtype=np.float64)
        if array.ndim not in (1, 2, 3):
            raise ValueError(
                f"draws_by_name[{name!r}] has shape {array.shape}; allowed are (n_draws,), "
                "(n_chains, n_draws) and (n_chains, n_draws, dim). Flatten further axes into one."
            )
        if array.ndim < 3:
            yield name, np.atleast_2d(array)
        else:
            for i in range(array.shape[2]):
                yield f"{name}[{i}]", array[:, :, i]


def _summarize_scalar(chains: FloatArray) -> dict[str, float]:
    return {
        "mean": _mean(chains),
        "sd": _sd(chains),
        "mcse": mcse_mean(chains),
        "ess_bulk": ess_bulk(chains),
        "ess_tail": ess_tail(chains),
        "rhat": rhat(chains),
    }


def _as_chains(draws: ArrayLike) -> FloatArray:
    chains = np.asarray(draws, dtype=np.float64)
    if chains.ndim not in (1, 2):
        raise ValueError(
            f"draws has shape {chains.shape}; allowed are (n_chains, n_draws) and (n_draws,). "
            "Pass one scalar quantity at a time, or use summarize for a vector."
        )
    return np.atleast_2d(chains)


def _is_long_and_finite(chains: FloatArray) -> bool:
    return chains.size > 0 and chains.shape[1] >= _MIN_DRAWS and bool(np.isfinite(chains).all())


def _is_usable(chains: FloatArray) -> bool:
    return _is_long_and_finite(chains) and not _is_constant(chains)


def _is_constant(chains: FloatArray) -> bool:
    return bool((chains == chains.flat[0]).all())


def _mean(chains: FloatArray) -> float:
    if chains.size == 0 or not np.isfinite(chains).all():
        return np.nan
    first = chains.flat[0]
    return float(first + np.mean(chains - first))


def _sd(chains: FloatArray) -> float:
    if chains.size < 2 or not np.isfinite(chains).all():
        return np.nan
    return float(np.std(chains - chains.flat[0], ddof=1))


def _split(chains: FloatArray) -> FloatArray:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: FloatArray) -> FloatArray:
    """Replace draws by normal quantiles of their pooled ranks (Blom's offset 3/8)."""
    ranks = rankdata(chains, method="average").reshape(chains.shape)
    scores: FloatArray = ndtri((ranks - 0.375) / (chains.size + 0.25))
    return scores


def _centre(chains: FloatArray) -> FloatArray:
    # The first draw goes before the mean does, so that a constant chain becomes exactly zero.
    shifted = chains - chains[:, :1]
    shifted -= shifted.mean(axis=1, keepdims=True)
    return shifted


def _rhat(chains: FloatArray) -> float:
    if _is_constant(chains):
        return np.nan
    n_draws = chains.shape[1]
    within = np.mean(np.sum(_centre(chains) ** 2, axis=1)) / (n_draws - 1)
    between = n_draws * np.var(chains.mean(axis=1), ddof=1)
    with np.errstate(divide="ignore"):
        return float(np.sqrt((between / within + n_draws - 1) / n_draws))


def _autocovariance(chains: FloatArray) -> FloatArray:
    """Biased autocovariance (divisor n_draws) of each chain at all lags."""
    n_draws = chains.shape[1]
    n_fft = next_fast_len(2 * n_draws, real=True)
    spectrum = rfft(_centre(chains), n=n_fft, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    acov: FloatArray = irfft(power, n=n_fft, axis=1)[:, :n_draws] / n_draws
    return acov


def _ess(chains: FloatArray) -> float:
    """Effective sample size from Geyer's initial monotone sequence over split chains."""
    n_draws = chains.shape[1]
    if n_draws < 3 or _is_constant(chains):
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


def _ess_autoregressive(chain: FloatArray) -> float:
    n_draws = chain.size
    centred = _centre(chain[np.newaxis])[0]
    time = np.arange(n_draws) - (n_draws - 1) / 2
    residual = centred - time * (time @ centred) / (time @ time)
    if np.std(residual, ddof=1) <= 16 * np.finfo(np.float64).eps * np.abs(chain).max():
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
