"""Effective sample size and standard error of the mean."""

import numpy as np
from numpy.typing import ArrayLike

from ._geyer import geyer_ess, split_halves
from ._moments import deviations, mean_and_sd
from ._validation import as_chains, is_usable


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
    chains = as_chains(draws)
    return geyer_ess(split_halves(deviations(chains)[0])) if is_usable(chains) else np.nan


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
    chains = as_chains(draws)
    return float(mean_and_sd(chains)[1] / np.sqrt(ess_mean(chains)))
