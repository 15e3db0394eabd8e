"""Covariances from the kernel's own code, also where its arithmetic overflows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as skk

from .._linalg import Array, slices

# In length scales. Kernels that fall to zero are 1 up to rounding at smaller distances, and 0 at
# larger ones, wherever their own formula gives no number.
_NEAR, _FAR = 1e-8, 40.0
# Of which all pairs are computed for their variances alone.
_ROWS_AT_ONCE = 32
_FALLING = (skk.RBF, skk.Matern)


def covariances(kernel: skk.Kernel, X: Any, Y: Any = None) -> Array:
    """Return k(X, Y), or k(X, X), without warnings of what overflows.

    Far or very near inputs can be too much for the formula of a kernel: that of Matern, for
    most nu, multiplies infinity by zero. There, squared exponential and Matern kernels, also
    inside of sums, products and powers, have their limits, 0 or 1.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Any kernel.
    X : array-like of length n
        Inputs that the kernel takes.
    Y : array-like of length m, optional
        Others.

    Returns
    -------
    matrix : ndarray of shape (n, m)
        NaN or infinite where no limit is known.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> Matern(nu=2.2)([[0.0]], [[0.0]]), covariances(Matern(nu=2.2), [[0.0]], [[1e150]])
    (array([[1.]]), array([[0.]]))
    """
    with np.errstate(all="ignore"):
        matrix = _call(kernel, X, Y)
        if not np.isfinite(matrix).all():
            matrix = _by_parts(kernel, X, Y)
    return matrix


def variances(kernel: skk.Kernel, X: Any) -> Array:
    """Return the diagonal of k(X, X), without warnings of what overflows."""
    with np.errstate(all="ignore"):
        return np.asarray(kernel.diag(X))


def noiseless_variances(kernel: skk.Kernel, X: Any) -> Array:
    """Return k(x, x) for each row of X, white noise left out.

    White noise is no part of the covariances of two sets of inputs, even if both are the same.
    """
    parts = [X[rows] for rows in slices(len(X), _ROWS_AT_ONCE)]
    return np.concatenate([np.diagonal(covariances(kernel, rows, rows)) for rows in parts])


def _call(kernel: skk.Kernel, X: Any, Y: Any) -> Array:
    return np.asarray(kernel(X) if Y is None else kernel(X, Y))


def _by_parts(kernel: skk.Kernel, X: Any, Y: Any) -> Array:
    """Return k(X, Y) from its parts, each with its limits."""
    kind = type(kernel)
    if kind is skk.Sum:
        return _by_parts(kernel.k1, X, Y) + _by_parts(kernel.k2, X, Y)
    if kind is skk.Product:
        return _by_parts(kernel.k1, X, Y) * _by_parts(kernel.k2, X, Y)
    if kind is skk.Exponentiation:
        return np.asarray(_by_parts(kernel.kernel, X, Y) ** kernel.exponent)
    matrix = _call(kernel, X, Y)
    if kind in _FALLING and np.min(kernel.length_scale) > 0.0:
        X = np.asarray(X, dtype=np.float64)
        Y = X if Y is None else np.asarray(Y, dtype=np.float64)
        for i in np.flatnonzero(~np.isfinite(matrix).all(axis=1)):
            j = np.flatnonzero(~np.isfinite(matrix[i]))
            matrix[i, j] = _of_differences(kernel, X[i] - Y[j])
    return matrix


def _of_differences(kernel: skk.Kernel, differences: Array) -> Array:
    """Return the correlations at some differences of inputs, or their limits."""
    # Inputs may overflow when they are divided by length scales, and their differences may not.
    values = kernel(differences, np.zeros_like(differences[:1]))[:, 0]
    distances = np.abs(differences / kernel.length_scale).max(axis=1)
    unknown = ~np.isfinite(values)
    values[unknown & (distances < _NEAR)] = 1.0
    values[unknown & (distances > _FAR)] = 0.0
    return np.asarray(values)
