"""Which of many scalars the chains agree on least: a cheap screening."""

import numpy as np

from ._draws import FloatArray


def least_agreed(draws: FloatArray) -> int:
    """Return the number of the scalar whose half-chains differ most, relative to their spread.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_scalars)
        Finite numbers.

    Returns
    -------
    index : int
        That with the largest split R-hat, without ranks and folding, which would take some
        hundred times as long; 0 where no half-chain has two draws.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 100, 3))
    >>> draws[2, :, 1] += 1.0
    >>> least_agreed(draws)
    1
    """
    n_half = draws.shape[1] // 2
    if n_half < 2:
        return 0
    halves = np.concatenate([draws[:, :n_half], draws[:, -n_half:]])
    # Neither far from zero nor large, so that no square loses digits or overflows.
    shifted = halves - halves[0, 0]
    largest = np.abs(shifted).max(axis=(0, 1))
    shifted /= np.where(largest > 0.0, largest, 1.0)
    within = shifted.var(axis=1, ddof=1).mean(axis=0)
    between = shifted.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / within  # infinite where no half-chain moved
    return int(np.argmax(np.where(np.isnan(ratio), 0.0, ratio)))
