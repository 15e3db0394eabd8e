"""Mean and variance of f given one draw, where the covariance is badly conditioned."""

import numpy as np
import pytest
from rounding import EPS, FEW_OPERATIONS
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpmcmc._covariance import CrossCovariances, covariances
from skgpmcmc._prediction import _conditional
from skgpmcmc._prediction._conditional import Conditional

X = np.linspace(0.0, 1.0, 40)[:, np.newaxis]
NEW = np.vstack([np.linspace(-0.5, 1.5, 101)[:, np.newaxis], X[:5], [[30.0]]])
KERNELS = [
    ConstantKernel(4.0) * RBF(0.5),
    ConstantKernel(4.0) * RBF(5.0),
    ConstantKernel(0.3) * Matern(2.0, nu=2.5),
]


def given(kernel, jitter):
    covariance = covariances(kernel, X)
    covariance[np.diag_indices(len(X))] *= 1.0 + jitter
    lower = np.asfortranarray(np.linalg.cholesky(covariance))
    deviation = lower @ np.random.default_rng(0).standard_normal(len(X))
    cross = CrossCovariances(kernel, X).at(kernel.theta)
    return Conditional(cross, lower, deviation, 2.0), lower, deviation


def solved(lower, columns):
    """Solve with a triangular matrix in extended precision."""
    solution = columns.astype(np.longdouble)
    for i, row in enumerate(lower.astype(np.longdouble)):
        solution[i] = (solution[i] - row[:i] @ solution[:i]) / row[i]
    return solution


@pytest.mark.parametrize("jitter", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_with_the_inverse_are_as_exact_as_solves(kernel, jitter):
    conditional, lower, deviation = given(kernel, jitter)
    mean, variance = conditional.moments(NEW)
    v = solved(lower, covariances(kernel, X, NEW))
    w = solved(lower, deviation[:, np.newaxis])[:, 0]
    # As in `rounding.moment_bounds`; distances are taken by a product, of the size of |x|^2.
    condition = np.linalg.norm(lower) * np.linalg.norm(np.linalg.inv(lower), 2)
    relative = (len(X) * EPS + FEW_OPERATIONS) * condition
    length = np.linalg.norm(v.astype(float), axis=0) + 1e-150
    assert (np.abs(mean - (2.0 + w @ v)) <= relative * np.linalg.norm(w) * length + 4.0 * EPS).all()
    prior = float(kernel.diag(NEW[:1])[0])
    expected = prior - (v * v).sum(axis=0)
    error = np.abs(variance - expected)
    assert (error <= 2.0 * relative * length**2 + EPS * prior).all()
    # Among the inputs variances are as small as the jitter, and still have some digits.
    inside = (NEW[:, 0] >= 0.0) & (NEW[:, 0] <= 1.0)
    assert (error <= 1e-5 * np.abs(expected) + 20.0 * EPS * prior)[inside].all()


@pytest.mark.parametrize("size", [1, 1000, 2**17])
def test_blocks_of_rows_do_not_matter(size, monkeypatch):
    monkeypatch.setattr(_conditional, "_BLOCK_SIZE", size)
    monkeypatch.setattr(_conditional, "_FEWEST_ROWS", 3)
    conditional, *_ = given(KERNELS[0], 1e-6)
    mean, variance = conditional.moments(NEW)
    alone = [conditional.moments(NEW[[i]]) for i in range(len(NEW))]
    np.testing.assert_allclose(mean, [m[0] for m, _ in alone], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(variance, [v[0] for _, v in alone], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(conditional.means(NEW), mean, rtol=1e-12)
