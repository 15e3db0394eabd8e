"""Tests of draws of Polya-Gamma variables."""

import numpy as np
from scipy import stats

ALARM = 1e-7


def mean_of(tilt):
    return 0.25 if tilt < 1e-6 else np.tanh(tilt / 2) / (2 * tilt)


def variance_of(tilt):
    if tilt < 1e-2:  # The next term of the expansion is -tilt**2 / 120, far below what shows.
        return 1 / 24 - tilt**2 / 120
    return (np.sinh(tilt) - tilt) / (4 * tilt**3 * np.cosh(tilt / 2) ** 2)


def z_test(values, expectation):
    """Two-sided p-value of the mean of independent values."""
    error = values.std() / np.sqrt(values.size)
    return 2 * stats.norm.sf(abs(values.mean() - expectation) / error)


def moments_test(draws, shape, tilt):
    mean = shape * mean_of(tilt)
    of_variance = z_test((draws - mean) ** 2, shape * variance_of(tilt))
    return min(z_test(draws, mean), of_variance)


def transform_test(draws, shape, tilt):
    """Laplace transform and characteristic function at points from both ends of the range."""
    p_values = []
    for s in [0.3, 3.0, 30.0, -2.0j, -20.0j]:
        root = np.sqrt(tilt**2 / 4 + s / 2 + 0j)
        exact = (np.cosh(tilt / 2) / np.cosh(root)) ** shape
        values = np.exp(-s * draws)
        p_values.append(z_test(values.real, exact.real))
        if np.iscomplexobj(values):
            p_values.append(z_test(values.imag, exact.imag))
    return min(p_values)
