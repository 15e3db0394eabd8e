"""The choice of inducing points, and what tells how good it is."""

import math
import tracemalloc

import numpy as np
import pytest
from fast_kernels import inputs
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from skgpmcmc._covariance import (
    DenseStructure,
    LowRankStructure,
    certificate,
    greedy_points,
    variance_left,
)

KERNELS = {
    "smooth": ConstantKernel(2.0) * RBF([1.0, 2.0, 0.7]),
    "rough-with-noise": 1.5 * Matern(0.8, nu=1.5) + WhiteKernel(0.3),
    "linear": DotProduct(0.5) + 0.5 * RBF(1.0),
}


def left_given(kernel, X, points):
    """The variances of all rows given the function at some points, by dense algebra."""
    if not len(points):
        return np.diagonal(kernel(X, X))
    among, cross = kernel(points, points), kernel(points, X)
    return np.diagonal(kernel(X, X) - cross.T @ np.linalg.solve(among, cross))


@pytest.mark.parametrize("name", KERNELS)
def test_each_point_is_where_the_most_variance_is_left(name):
    kernel, X = KERNELS[name], inputs(40)
    points = greedy_points(kernel, X, 6)
    for m in range(6):
        left = left_given(kernel, X, points[:m])
        row = np.flatnonzero((points[m] == X).all(axis=1))[0]
        assert left[row] == pytest.approx(left.max(), rel=1e-6)
    np.testing.assert_array_equal(greedy_points(kernel, X, 4), points[:4])
    share = np.mean(left_given(kernel, X, points) / np.diagonal(kernel(X, X)))
    assert variance_left(kernel, X, points) == pytest.approx(share, rel=1e-4)


def test_repeated_rows_are_chosen_once():
    X = np.repeat(inputs(8), 3, axis=0)
    points = greedy_points(RBF(0.5) + WhiteKernel(1.0), X, 20)
    assert len(points) == 8
    assert len(np.unique(points, axis=0)) == 8


def test_no_more_points_than_variance():
    X = np.linspace(0.0, 1.0, 200)[:, np.newaxis]
    few, more = (len(greedy_points(RBF(1.0), X, 100, tolerance)) for tolerance in (1e-2, 1e-8))
    assert 2 <= few < more < 20
    assert len(greedy_points(RBF(1e-3), X, 1000)) == 200


def test_inputs_that_are_no_vectors():
    class Words(RBF):
        def __call__(self, X, Y=None):
            return super().__call__(*([[float(len(s))] for s in one] for one in (X, Y)))

    words = ["a", "aa", "bb", "aaaaaaaaa", "cccc"]
    assert greedy_points(Words(1.0), words, 3) == ["a", "aaaaaaaaa", "cccc"]


def test_memory_is_not_that_of_all_pairs():
    X = inputs(4000)
    tracemalloc.start()
    greedy_points(RBF(1.0), X, 10)
    variance_left(RBF(1.0), X, X[:10])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8.0 * 4000**2 / 10.0


def test_number_of_points_is_checked():
    with pytest.raises(ValueError, match="n_points"):
        greedy_points(RBF(1.0), inputs(4), 0)


def test_certificate_against_dense_normal_densities():
    kernel, X = KERNELS["smooth"], inputs(30)
    theta = kernel.theta + 0.2 * np.random.default_rng(0).standard_normal((5, 4))
    noise, y = np.full(30, 0.2), np.sin(X.sum(axis=1))
    points = greedy_points(kernel, X, 12)
    found = certificate(kernel, X, points[:6], DenseStructure(), theta, noise, y)
    differences = []
    for one in theta:
        K = kernel.clone_with_theta(one)(X)
        cross, among = (kernel.clone_with_theta(one)(points[:6], Y) for Y in (X, points[:6]))
        Q = cross.T @ np.linalg.solve(among, cross)
        whole = Q + np.diag(np.diagonal(K - Q))
        exact, own = (
            stats.multivariate_normal(cov=C + np.diag(noise)).logpdf(y) for C in (K, whole)
        )
        differences.append(exact - own)
    assert found.evidence_variance == pytest.approx(np.var(differences, ddof=1), rel=1e-3)
    shares = [variance_left(kernel.clone_with_theta(one), X, points[:6]) for one in theta]
    assert found.variance_left == pytest.approx(np.mean(shares))
    assert 0.0 < found.variance_left < 1.0
    more = certificate(kernel, X, points[:6], LowRankStructure(points), theta, noise, y)
    assert more.evidence_variance > 0.0
    same = certificate(kernel, X, X, DenseStructure(), theta, noise, y)
    assert same.evidence_variance < 1e-6
    assert same.variance_left < 1e-6


def test_certificate_where_there_is_no_root():
    kernel, X = KERNELS["smooth"], inputs(10)
    theta = np.full((2, 4), math.nan)
    found = certificate(kernel, X, X[:3], DenseStructure(), theta, np.ones(10), np.ones(10))
    assert math.isnan(found.evidence_variance)
    assert math.isnan(found.variance_left)
