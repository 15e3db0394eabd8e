"""Polya-Gamma variables of large shape, at a cost that does not depend on it.

``PG(b, c)`` is the sum of ``g_k / (2 pi^2 ((k - 1/2)^2 + d^2))`` over k = 1, 2, ..., with
``d = c / (2 pi)`` and independent g_k ~ Gamma(b, 1) (Polson, Scott and Windle 2013, equation 1).
Here the first terms are drawn, and the sum of all others is replaced by a constant and an inverse
Gaussian variable that have the sum's mean, variance and third cumulant. An inverse Gaussian is what
the whole sum becomes for a large c, so that no number of terms has to grow with c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_N_TERMS = 8
_HALF_INTEGERS = np.arange(_N_TERMS)[:, np.newaxis] + 0.5

# The integrals below have their nearest poles at (1 +- i) / 2: 20 nodes are exact to rounding.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = 0.5 * (_NODES.reshape(-1, 1) + 1.0), 0.5 * _WEIGHTS.reshape(-1, 1)


def polya_gamma_series(shape: NDArray, tilt: NDArray, rng: np.random.Generator) -> NDArray:
    """Draw independent PG(shape, tilt), almost exactly.

    Parameters
    ----------
    shape, tilt : ndarray of shape (n,)
        Positive, and non-negative. NaN tilts give NaN.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    Mean, variance and third cumulant are exact to 1e-8 of themselves; the excess kurtosis is wrong
    by less than 0.0024 / shape, most where the tilt is near 200.

    References
    ----------
    Michael, J. R., Schucany, W. R. and Haas, R. W. (1976). Generating random variates using
    transformations with multiple roots. The American Statistician 30, 88-90.
    """
    # In units of 1 / (2 pi^2 unit) nothing overflows, and the mean is of order one.
    unit = _N_TERMS + tilt / (2.0 * np.pi)
    first = rng.standard_gamma(shape, size=(_N_TERMS, shape.size))
    first /= (_HALF_INTEGERS / unit) ** 2 + (1.0 - _N_TERMS / unit) ** 2
    sums = _sums_of_powers(unit)
    # An inverse Gaussian variable's third cumulant times its mean is 3 variances squared.
    mean = 1.5 * sums[1] ** 2 / sums[2]
    rest = mean * inverse_gaussian(shape * mean**2 / sums[1] * unit, 1, rng)[0]
    total = first.sum(axis=0) / unit + shape * (np.maximum(sums[0] - mean, 0.0) + rest)
    return total / (2.0 * np.pi**2 * unit)


def inverse_gaussian(shape: NDArray, n_rows: int, rng: np.random.Generator) -> NDArray:
    """Draw from inverse Gaussians with mean 1 and shapes (n,), (n_rows, n).

    Michael, Schucany and Haas (1976): the draw and its inverse belong to the same chi-square
    draw. Written so that nothing cancels or overflows.
    """
    normal = rng.standard_normal((n_rows, shape.size))
    excess = normal * normal * (0.5 / shape)
    draw = np.sqrt(excess * (excess + 2.0))
    draw += excess
    draw += 1.0
    smaller_root = rng.random(draw.shape) * (draw + 1.0) < draw
    return np.where(smaller_root, 1.0 / draw, draw)


def _sums_of_powers(unit: NDArray) -> list[NDArray]:
    """Return unit^(2 p - 1) times the sum over the other terms of ((k - 1/2)^2 + d^2)^-p.

    For p = 1, 2, 3, by the Euler-Maclaurin formula at midpoints. The integral over k is one over
    v in (0, 1) with ``k = K + unit v / (1 - v)``.
    """
    near = _N_TERMS / unit
    left = 1.0 - _NODES
    inverse = 1.0 / ((near * left + _NODES) ** 2 + ((1.0 - near) * left) ** 2)
    powers = [inverse * (left * left * inverse) ** (p - 1) for p in (1, 2, 3)]
    integrals = [(_WEIGHTS * power).sum(axis=0) for power in powers]
    inverse, step2 = 1.0 / (near**2 + (1.0 - near) ** 2), (1.0 / unit) ** 2
    return [
        integral
        - step2 * _derivative(p, near, inverse) / 24.0
        + step2**2 * _third_derivative(p, near, inverse) * 7.0 / 5760.0
        for p, integral in enumerate(integrals, start=1)
    ]


def _derivative(p: int, t: NDArray, inverse: NDArray) -> NDArray:
    """Return minus the derivative of (t^2 + c)^-p, given 1 / (t^2 + c)."""
    return 2.0 * p * t * inverse ** (p + 1)


def _third_derivative(p: int, t: NDArray, inverse: NDArray) -> NDArray:
    """Return minus the third derivative of (t^2 + c)^-p."""
    cubic = 8.0 * p * (p + 1) * (p + 2) * t**3 * inverse ** (p + 3)
    return cubic - 12.0 * p * (p + 1) * t * inverse ** (p + 2)
