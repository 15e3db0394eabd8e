"""Covariances of latent variables and new inputs: the fast path and the kernel's own call."""

import numpy as np
import pytest
from rounding import EPS, FEW_OPERATIONS
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpmcmc._covariance import CrossCovariances, _cross, covariances, variances
from skgpmcmc._covariance._cross import CrossCovariance, StationaryCrossCovariance

RNG = np.random.default_rng(0)
MIDDLE = np.array([0.0, 5.0, -2.0])
X = RNG.standard_normal((40, 3)) + MIDDLE
NEW = np.vstack([RNG.standard_normal((23, 3)) + MIDDLE, X[:4], X[5:7] + 1e-7])
ARD = [0.7, 1.3, 4.0]
KERNELS = {
    "squared exponential": ConstantKernel(2.3) * RBF(ARD),
    "isotropic": RBF(0.8) * ConstantKernel(0.1),
    "fixed": ConstantKernel(2.0, "fixed") * RBF(ARD, "fixed"),
    "Matern 1/2": ConstantKernel(2.3) * Matern(ARD, nu=0.5),
    "Matern 3/2": ConstantKernel(2.3) * Matern(ARD, nu=1.5),
    "Matern 5/2": ConstantKernel(2.3) * Matern(ARD, nu=2.5),
    "Matern infinity": Matern(ARD, nu=np.inf),
    "sum": ConstantKernel(0.4) + WhiteKernel(0.3) + ConstantKernel(2.0) * RBF(ARD),
    "short scales": ConstantKernel(2.0) * RBF([0.01, 0.02, 0.05]),
}


def written(cross, new):
    out = np.full((len(new), len(X)), np.nan)
    cross.write(new, out)
    return out


@pytest.mark.parametrize("name", KERNELS)
def test_fast_covariances_equal_the_kernels_own(name):
    kernel = KERNELS[name]
    cross = CrossCovariances(kernel, X).at(kernel.theta)
    assert type(cross) is StationaryCrossCovariance
    expected = covariances(kernel, X, NEW).T
    np.testing.assert_array_equal(written(CrossCovariance(kernel, X), NEW), expected)
    # A product of d + 2 terms of the size of |x|^2 in length scales, and an exponential.
    (scales,) = (v for k, v in kernel.get_params().items() if k.endswith("length_scale"))
    scaled = (np.vstack([X, NEW]) - X.mean(axis=0)) / scales
    square = np.square(scaled).sum(axis=1).max()
    allowed = FEW_OPERATIONS + (X.shape[1] + 4) * EPS * min(square, _cross._LARGEST_SQUARE)
    scale = float(kernel.diag(X[:1])[0])
    np.testing.assert_allclose(written(cross, NEW), expected, rtol=allowed, atol=allowed * scale)
    np.testing.assert_allclose(cross.kernel.theta, kernel.theta, rtol=FEW_OPERATIONS)
    np.testing.assert_allclose(cross.variances(NEW), variances(kernel, NEW), rtol=FEW_OPERATIONS)


def test_theta_is_that_which_is_asked_for():
    kernel = KERNELS["sum"]
    theta = kernel.theta + np.linspace(-0.5, 0.5, len(kernel.theta))
    other = kernel.clone_with_theta(theta)
    cross = CrossCovariances(kernel, X).at(theta)
    np.testing.assert_allclose(written(cross, NEW), covariances(other, X, NEW).T, rtol=1e-12)
    np.testing.assert_allclose(cross.variances(NEW), variances(other, NEW), rtol=FEW_OPERATIONS)


def test_other_kernels_are_called():
    kernel = RationalQuadratic() + RBF(ARD)
    cross = CrossCovariances(kernel, X).at(kernel.theta)
    assert type(cross) is CrossCovariance
    np.testing.assert_array_equal(written(cross, NEW), covariances(kernel, X, NEW).T)
    np.testing.assert_array_equal(cross.variances(NEW), variances(kernel, NEW))


@pytest.mark.parametrize("name", ["squared exponential", "Matern 1/2", "Matern 3/2", "sum"])
@pytest.mark.parametrize("far", [1e6, 1e160, 1.7e308])
def test_far_inputs_have_the_limits_of_the_kernel(name, far):
    kernel, new = KERNELS[name], NEW[:3].copy()
    new[1, 0] = far
    found = written(CrossCovariances(kernel, X).at(kernel.theta), new)
    expected = covariances(kernel, X, new).T
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert np.ptp(found[1]) == 0.0


def test_distances_are_taken_from_among_the_inputs():
    """A calendar year is many length scales from zero."""
    kernel, offset = KERNELS["squared exponential"], 2.0**20
    near = written(CrossCovariances(kernel, X).at(kernel.theta), NEW)
    cross = CrossCovariances(kernel, X + offset).at(kernel.theta)
    expected = covariances(kernel, X + offset, NEW + offset).T
    # The inputs themselves are rounded by that offset: compare with the kernel at the rounded ones.
    np.testing.assert_allclose(written(cross, NEW + offset), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(expected, near, rtol=1e-7)
