"""Synthetic data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Relative to the signal variance: enough for a Cholesky factor of any draw of inputs.
_JITTER = 1e-6
# The length scales are drawn uniformly up to the diagonal of the 10-D unit cube (M&A section 5).
_LONGEST = 10**0.5


def make_gp_regression(
    n_samples: int = 200,
    n_features: int = 10,
    *,
    signal_variance: float = 1.0,
    length_scale: ArrayLike | None = None,
    noise: float = 0.3,
    return_truth: bool = False,
    random_state: Any = 2013,
) -> tuple[NDArray[np.float64], ...]:
    """Draw a regression problem from a Gaussian process with one length scale per feature.

    The inputs are uniform in the unit cube; the function has zero mean and the covariance
    ``signal_variance * exp(-sum_d (x_d - x'_d)^2 / (2 length_scale_d^2))``. The defaults are
    the synthetic problem of Murray and Adams (2010), section 5.

    Parameters
    ----------
    n_samples : int, default=200
        Number of inputs.
    n_features : int, default=10
        Dimension of the inputs.
    signal_variance : float, default=1.0
        Prior variance of the function's values.
    length_scale : float or array-like of shape (n_features,), default=None
        Length scales, in the units of the inputs. None: drawn uniformly from 0 to sqrt(10).
    noise : float, default=0.3
        Standard deviation of the Gaussian noise added to the function's values.
    return_truth : bool, default=False
        Return the function's values and the length scales too.
    random_state : int, SeedSequence, Generator or None, default=2013
        Passed to `numpy.random.default_rng`. None: different data at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Observations.
    latent : ndarray of shape (n_samples,)
        The function's values at X. With ``return_truth=True`` only.
    length_scale : ndarray of shape (n_features,)
        The length scales. With ``return_truth=True`` only.

    Raises
    ------
    ValueError
        If a size is below 1, `signal_variance` or a length scale is not positive and
        finite, `noise` is negative or not finite, or `length_scale` has another shape.

    References
    ----------
    .. [1] Murray, I. and Adams, R. P. (2010). Slice sampling covariance hyperparameters
       of latent Gaussian models. Advances in Neural Information Processing Systems 23.

    Examples
    --------
    >>> from skgpmcmc.datasets import make_gp_regression
    >>> X, y = make_gp_regression()
    >>> X.shape, y.shape
    ((200, 10), (200,))
    >>> X, y, latent, length_scale = make_gp_regression(50, 1, noise=0.0, return_truth=True)
    >>> bool((y == latent).all())
    True
    """
    _check(n_samples, n_features, signal_variance, noise)
    rng = np.random.default_rng(random_state)
    X = rng.random((n_samples, n_features))
    if length_scale is None:
        scales = rng.uniform(0.0, _LONGEST, n_features)
    else:
        scales = _check_length_scale(length_scale, n_features)
    scaled = X / scales
    squares = ((scaled[:, np.newaxis, :] - scaled) ** 2).sum(axis=2)
    covariance = signal_variance * np.exp(-0.5 * squares)
    covariance[np.diag_indices(n_samples)] *= 1.0 + _JITTER
    latent = np.linalg.cholesky(covariance) @ rng.standard_normal(n_samples)
    y = latent + noise * rng.standard_normal(n_samples)
    return (X, y, latent, scales) if return_truth else (X, y)


def _check(n_samples: int, n_features: int, signal_variance: float, noise: float) -> None:
    for name, size in (("n_samples", n_samples), ("n_features", n_features)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1; got {size!r}.")
    if not (np.isfinite(signal_variance) and signal_variance > 0.0):
        raise ValueError(f"signal_variance must be positive and finite; got {signal_variance!r}.")
    if not (np.isfinite(noise) and noise >= 0.0):
        raise ValueError(
            f"noise must be finite and at least 0; got {noise!r}. It is a standard deviation."
        )


def _check_length_scale(length_scale: ArrayLike, n_features: int) -> NDArray[np.float64]:
    scales = np.asarray(length_scale, dtype=np.float64)
    if scales.shape not in ((), (n_features,)):
        raise ValueError(
            f"length_scale must be a number or have the shape (n_features,) = ({n_features},); "
            f"got the shape {scales.shape}."
        )
    if not (np.isfinite(scales).all() and (scales > 0.0).all()):
        raise ValueError(f"length_scale must be positive and finite; got {length_scale!r}.")
    return np.broadcast_to(scales, (n_features,)).copy()
