"""Covariances through inducing points, against dense algebra with n x n matrices."""

import math
import tracemalloc

import numpy as np
import pytest
from fast_kernels import ARD, FAST_KERNELS, inputs
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from skgpmcmc import _linalg
from skgpmcmc._covariance import LowRankCovariance, LowRankStructure, make_covariance
from skgpmcmc._covariance import _low_rank_factor as _factor
from skgpmcmc._covariance._low_rank import POINT_JITTER
from skgpmcmc._covariance._low_rank_kernel import AnyCrossKernel

N, JITTER = 23, 1e-4
X = inputs(N)
Z = inputs(5) + 0.3
KERNELS = {
    **FAST_KERNELS,
    "sum": 1.5 * RBF(ARD) + 0.7 * Matern(1.1, nu=1.5),
    "linear": 1.5 * RBF(ARD) + 0.3 * DotProduct(0.5) + WhiteKernel(0.1),
    "rational": ConstantKernel(2.0) * RationalQuadratic(1.2, 0.7),
}
GENERIC = ("sum", "linear", "rational")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Rows are taken 16 at a time, and columns 2 at a time."""
    monkeypatch.setattr(_factor, "_PIECE", 1)
    monkeypatch.setattr(_linalg, "_BLOCK_SIZE", 2)


def covariance_of(kernel, points=Z, offset=0.0, X=X, jitter=JITTER):
    return LowRankStructure(points).covariance(kernel, X, jitter, offset, True)


def dense_matrix(kernel, points=Z, offset=0.0, X=X, jitter=JITTER):
    """Q + diag(K - Q), and the mean's variance, by dense algebra."""
    cross, among = kernel(X, points), kernel(points, points)
    among[np.diag_indices(len(points))] *= 1.0 + POINT_JITTER
    Q = cross @ np.linalg.solve(among, cross.T)
    return Q + np.diag(kernel.diag(X) * (1.0 + jitter) - np.diagonal(Q)) + offset


NOISE = np.linspace(0.05, 1.5, N)
DEVIATION = np.sin(np.arange(N))


@pytest.mark.parametrize("offset", [0.0, 0.8])
@pytest.mark.parametrize("name", KERNELS)
def test_factors_of_every_kernel(name, offset):
    kernel = KERNELS[name]
    covariance = covariance_of(kernel, offset=offset)
    assert isinstance(covariance._kernel, AnyCrossKernel) == (name in GENERIC)
    factor, K = covariance.factor(kernel.theta), dense_matrix(kernel, offset=offset)
    L = factor.colour_columns(np.asfortranarray(np.eye(N)))
    np.testing.assert_allclose(L @ L.T, K, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(factor.variance * np.ones(N), np.diagonal(K), rtol=1e-12)
    np.testing.assert_allclose(K @ factor.solve(DEVIATION), DEVIATION, atol=1e-9)
    expected = stats.multivariate_normal(cov=K).logpdf(DEVIATION)
    found = factor.log_normal(factor.whiten(DEVIATION)) - 0.5 * N * math.log(2.0 * math.pi)
    assert found == pytest.approx(expected, abs=1e-8)
    noisy = covariance.noisy_factor(kernel.theta, NOISE, factor)
    expected = stats.multivariate_normal(cov=K + np.diag(NOISE)).logpdf(DEVIATION)
    found = noisy.log_normal(noisy.whiten(DEVIATION)) - 0.5 * N * math.log(2.0 * math.pi)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.8])
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_of_every_kernel(name, offset):
    kernel = KERNELS[name]
    covariance = covariance_of(kernel, offset=offset)
    theta = kernel.theta

    def log_normal(theta):
        K = dense_matrix(kernel.clone_with_theta(theta), offset=offset)
        return stats.multivariate_normal(cov=K + np.diag(NOISE)).logpdf(DEVIATION)

    factor = covariance.noisy_factor(theta, NOISE, covariance.factor(theta))
    found = covariance.log_normal_gradient(factor, NOISE, DEVIATION)
    step = 1e-5
    expected = [
        (log_normal(theta + h) - log_normal(theta - h)) / (2.0 * step)
        for h in step * np.eye(len(theta))
    ]
    np.testing.assert_allclose(found.theta, expected, rtol=1e-6, atol=1e-7)
    inverse = np.linalg.inv(dense_matrix(kernel, offset=offset) + np.diag(NOISE))
    np.testing.assert_allclose(found.solution, inverse @ DEVIATION, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.inverse_diagonal, np.diagonal(inverse), rtol=1e-9)


@pytest.mark.parametrize("name", FAST_KERNELS)
def test_the_fast_path_equals_the_slow_one(name):
    kernel = FAST_KERNELS[name]
    fast, slow = covariance_of(kernel), LowRankCovariance(AnyCrossKernel(kernel, X, Z), JITTER)
    scales = sorted(slow.scale_parameters)
    assert sorted(fast.scale_parameters) == scales
    gradients, values = [], []
    for covariance in (fast, slow):
        factor = covariance.factor(kernel.theta)
        noisy = covariance.noisy_factor(kernel.theta, NOISE, factor)
        gradients.append(covariance.log_normal_gradient(noisy, NOISE, DEVIATION).theta)
        values.append(noisy.half_log_det)
    assert values[0] == pytest.approx(values[1], rel=1e-10)
    np.testing.assert_allclose(*gradients, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.8])
@pytest.mark.parametrize("name", ["matern-1.5-ard", "everything", "linear"])
def test_points_that_are_the_rows_give_the_covariance_itself(name, offset):
    kernel, theta = KERNELS[name], KERNELS[name].theta
    own = covariance_of(kernel, X, offset)
    dense = make_covariance(kernel, X, JITTER, offset, True)
    factors = [one.factor(theta) for one in (own, dense)]
    found, expected = (f.log_normal(f.whiten(DEVIATION)) for f in factors)
    assert found == pytest.approx(expected, rel=1e-8)
    noisy = [c.noisy_factor(theta, NOISE, f) for c, f in zip((own, dense), factors, strict=True)]
    found, expected = (f.log_normal(f.whiten(DEVIATION)) for f in noisy)
    assert found == pytest.approx(expected, rel=1e-8)
    found, expected = (
        c.log_normal_gradient(f, NOISE, DEVIATION) for c, f in zip((own, dense), noisy, strict=True)
    )
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.inverse_diagonal, expected.inverse_diagonal, rtol=1e-8)


PRECISIONS = {
    "none": np.zeros(N),
    "mixed": np.where(np.arange(N) % 3 == 0, 0.0, np.linspace(0.01, 9.0, N)),
    "strong": np.full(N, 1e7),
}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_pseudo_posteriors_against_dense_inverses(precision):
    kernel, W = KERNELS["constant-rbf-ard"], PRECISIONS[precision]
    covariance = covariance_of(kernel)
    factor, K = covariance.factor(kernel.theta), dense_matrix(kernel)
    pseudo = covariance.pseudo_posterior_factory().build(factor, W)
    R = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    np.testing.assert_allclose(pseudo.marginal_variance(), np.diagonal(R), rtol=1e-7)
    shift = W * DEVIATION
    b = pseudo.project(shift, 0.4)
    root = np.linalg.cholesky(K)
    M = np.eye(N) + root.T @ (W[:, np.newaxis] * root)
    assert pseudo.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(M)[1], rel=1e-8)
    centre = 0.4 + factor.colour(pseudo.colour(np.zeros(N), b))
    np.testing.assert_allclose(centre, 0.4 + R @ (shift - 0.4 * W), rtol=1e-6, atol=1e-7)
    # log N(g; m, K + S) of surrogate data g, but for W's determinant, as representations use it.
    observed, residual = W > 0.0, DEVIATION - 0.4
    quadratic = float((W * residual) @ residual - b @ b)
    r, S = residual[observed], np.diag(1.0 / W[observed])
    expected = r @ np.linalg.solve(K[np.ix_(observed, observed)] + S, r)
    assert quadratic == pytest.approx(float(expected), rel=1e-6, abs=1e-14 * float(W @ residual**2))
    eta = np.cos(np.arange(N))
    np.testing.assert_allclose(pseudo.whiten(pseudo.colour(eta, b), b), eta, atol=1e-7)


def test_only_a_move_of_the_length_scales_costs_anything():
    kernel = KERNELS["constant-rbf-ard"]
    covariance = covariance_of(kernel)
    theta = kernel.theta
    factor = covariance.factor(theta)
    moved = theta + np.array([0.7, 0.0, 0.0, 0.0])
    rescaled = covariance.factor(moved, factor)
    assert rescaled.columns is factor.columns
    noisy = covariance.noisy_factor(moved, NOISE, factor)
    assert noisy.columns is factor.columns
    assert covariance.factor_beside(theta, noisy).columns is factor.columns
    other = covariance.noisy_factor(theta + 0.1, NOISE, noisy)
    assert other.columns is not factor.columns
    assert covariance.n_constructions == 4
    K = dense_matrix(kernel.clone_with_theta(moved))
    np.testing.assert_allclose(K @ rescaled.solve(DEVIATION), DEVIATION, atol=1e-9)
    np.testing.assert_allclose((K + np.diag(NOISE)) @ noisy.solve(DEVIATION), DEVIATION, atol=1e-9)


@pytest.mark.parametrize("name", ["constant-rbf-ard", "sum"])
def test_what_is_not_finite_is_a_failure(name):
    kernel = KERNELS[name]
    covariance = covariance_of(kernel)
    factor = covariance.factor(kernel.theta)
    with np.errstate(all="ignore"):
        for theta in (kernel.theta + 800.0, np.full_like(kernel.theta, np.nan)):
            assert covariance.factor(theta, factor) is None
            assert covariance.noisy_factor(theta, NOISE, factor) is None
    assert covariance.n_failures == 4
    factory = covariance.pseudo_posterior_factory()
    assert factory.build(factor, np.full(N, np.nan)) is None


def test_kernels_that_are_not_positive_definite_are_a_failure():
    kernel = PairwiseKernel(metric="sigmoid", gamma=3.0)
    covariance = covariance_of(kernel)
    assert covariance.factor(kernel.theta) is None
    assert covariance.n_failures == 1


def test_far_and_repeated_points():
    far = np.concatenate([Z, Z[:2], [[1e9, 0.0, 0.0]]])
    kernel = KERNELS["constant-rbf-ard"]
    few, many = (covariance_of(kernel, points) for points in (Z, far))
    for points in (few, many):
        factor = points.factor(kernel.theta)
        noisy = points.noisy_factor(kernel.theta, NOISE, factor)
        gradient = points.log_normal_gradient(noisy, NOISE, DEVIATION).theta
        if points is few:
            expected = noisy.half_log_det, gradient
    assert noisy.half_log_det == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-5)


class Letters(RBF):
    """A kernel on strings, by their lengths."""

    @property
    def requires_vector_input(self):
        return False

    def __call__(self, X, Y=None, eval_gradient=False):
        X, Y = (None if one is None else [[float(len(s))] for s in one] for one in (X, Y))
        return super().__call__(X, Y, eval_gradient)

    def diag(self, X):
        return np.ones(len(X))


def test_inputs_that_are_no_vectors():
    words = ["a", "ab", "abc", "abcd", "abcdef", "abcdefgh"]
    kernel = ConstantKernel(2.0) * Letters(2.0)
    numbers = np.array([[float(len(word))] for word in words])
    own = covariance_of(kernel, words[:2], X=words)
    other = covariance_of(ConstantKernel(2.0) * RBF(2.0), numbers[:2], X=numbers)
    results = []
    for covariance in (own, other):
        factor = covariance.factor(kernel.theta)
        noisy = covariance.noisy_factor(kernel.theta, NOISE[:6], factor)
        gradient = covariance.log_normal_gradient(noisy, NOISE[:6], DEVIATION[:6])
        results.append([noisy.half_log_det, *gradient.theta])
    np.testing.assert_allclose(*results, rtol=1e-9)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.ones((3, 2)), "points must have shape .n_points, 3."),
        (np.ones((0, 3)), "at least one"),
        (np.full((2, 3), np.nan), "finite"),
    ],
)
def test_points_unlike_the_rows_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        LowRankStructure(points).check_inputs(X)


def test_nothing_is_as_large_as_all_pairs_of_rows(monkeypatch):
    monkeypatch.undo()
    n, m = 3000, 20
    X = inputs(n)
    kernel = ConstantKernel(1.0) * RBF(ARD)
    tracemalloc.start()
    covariance = covariance_of(kernel, X[:m], X=X)
    factor = covariance.factor(kernel.theta)
    noise, deviation = np.full(n, 0.1), np.sin(np.arange(n))
    noisy = covariance.noisy_factor(kernel.theta + 0.1, noise, factor)
    covariance.log_normal_gradient(noisy, noise, deviation)
    beside = covariance.factor_beside(kernel.theta, noisy)
    pseudo = covariance.pseudo_posterior_factory().build(beside, 1.0 / noise)
    pseudo.marginal_variance()
    pseudo.whiten(pseudo.colour(deviation, pseudo.project(deviation, 0.3)), deviation)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < LowRankStructure(X[:m]).memory(kernel, X, True) < 8.0 * n**2 / 4.0
