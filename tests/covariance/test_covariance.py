"""Factors of covariances and pseudo-posteriors against dense algebra."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from fast_kernels import ARD, FAST_KERNELS, FIXED, inputs
from rounding import ELEMENTWISE, EPS, FEW_OPERATIONS, product_bound
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    RationalQuadratic,
    StationaryKernelMixin,
    WhiteKernel,
)

from skgpmcmc._covariance import (
    CholeskyFactor,
    KernelCovariance,
    PseudoPosteriorFactory,
    StationaryCovariance,
    _packed_distances,
    make_covariance,
)


def dense_covariance(kernel, theta, X, jitter=1e-6, offset_variance=0.0):
    """Return K as scikit-learn computes it, with what a Covariance adds."""
    K = kernel.clone_with_theta(theta)(X)
    K[np.diag_indices_from(K)] *= 1.0 + jitter
    return K + offset_variance


def dense_root(factor):
    return factor.scale * np.tril(factor.lower)


def reconstruct(factor):
    root = dense_root(factor)
    return root @ root.T


def rounding_of_variances(theta):
    """Return the relative bound: exp(x) is off by |x| u if x is off by an ulp."""
    return FEW_OPERATIONS + EPS * np.abs(theta).sum()


def assert_is_factor_of(factor, K, rtol=1e-10):
    """Check everything that a factor holds, against a dense K."""
    np.testing.assert_allclose(reconstruct(factor), K, rtol=rtol, atol=rtol * np.abs(K).max())
    variance = np.broadcast_to(factor.variance, len(K))
    np.testing.assert_allclose(variance, np.diag(K), rtol=ELEMENTWISE)
    # An error in K is amplified by no more than the condition number.
    condition = np.linalg.cond(K, 1)
    expected = 0.5 * np.linalg.slogdet(K)[1]
    assert factor.half_log_det == pytest.approx(expected, abs=1e-12 * condition + 1e-9)


class Halved(RBF):
    """A user's kernel: a subclass that changes the values."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return 0.5 * super().__call__(X, Y)


class Tilted(StationaryKernelMixin, Kernel):
    """Not positive definite: minus a kernel."""

    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale

    @property
    def hyperparameter_length_scale(self):
        return RBF().hyperparameter_length_scale

    def __call__(self, X, Y=None, eval_gradient=False):
        return -RBF(self.length_scale)(X)

    def diag(self, X):
        return -np.ones(len(X))


SLOW_KERNELS = {
    "matern-0.7": 1.5 * Matern(0.8, nu=0.7),
    "sum": 1.5 * RBF(0.8) + RBF(2.0),
    "sum-constant": RBF(0.8) + RBF(2.0) + ConstantKernel(0.5),
    "product": RBF(0.8) * RBF(2.0),
    "product-mixed": 2.0 * RBF(ARD) * Matern(0.9, nu=1.5),
    "exponentiation": Exponentiation(RBF(0.8), 2.0) + WhiteKernel(0.1),
    "rational-quadratic": 1.5 * RationalQuadratic(0.8, 1.2),
    "dot-product": DotProduct(0.8) + WhiteKernel(0.1),
    "dot-product-rbf": ConstantKernel(0.8) * RBF(0.9) + DotProduct(0.8),
    "subclass": 1.5 * Halved(0.8),
    "white-times-rbf": WhiteKernel(0.2) * RBF(0.8),
    "sum-in-product": ConstantKernel(0.5) * (RBF(0.8) + WhiteKernel(0.1)),
    "constant-sum-in-product": (ConstantKernel(0.5) + ConstantKernel(0.1)) * RBF(ARD),
    "white": WhiteKernel(0.3),
    "constant-white": ConstantKernel(0.5) + WhiteKernel(0.3),
}


@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 65, 130])
@pytest.mark.parametrize("name", FAST_KERNELS)
def test_fast_path_equals_slow_twin_and_sklearn(name, n):
    kernel, X = FAST_KERNELS[name], inputs(n)
    rng = np.random.default_rng(0)
    for offset_variance in (0.0, 0.8):
        fast = make_covariance(kernel, X, 1e-5, offset_variance)
        slow = KernelCovariance(kernel, X, 1e-5, offset_variance)
        assert type(fast) is StationaryCovariance
        for spread in (0.0, 0.5):
            theta = kernel.theta + spread * rng.standard_normal(kernel.n_dims)
            K = dense_covariance(kernel, theta, X, 1e-5, offset_variance)
            factors = fast.factor(theta), slow.factor(theta)
            for factor in factors:
                assert_is_factor_of(factor, K)
            rounding = rounding_of_variances(theta)
            np.testing.assert_allclose(factors[0].variance, factors[1].variance, rtol=rounding)


@pytest.mark.parametrize("n", [1, 2, 65])
@pytest.mark.parametrize("name", SLOW_KERNELS)
def test_other_kernels_take_the_generic_path(name, n):
    kernel, X = SLOW_KERNELS[name], inputs(n)
    covariance = make_covariance(kernel, X, 1e-5, 0.8)
    assert type(covariance) is KernelCovariance
    theta = kernel.theta + 0.3 * np.random.default_rng(0).standard_normal(kernel.n_dims)
    K = dense_covariance(kernel, theta, X, 1e-5, 0.8)
    assert_is_factor_of(covariance.factor(theta), K)


def test_variance_is_a_float_only_where_it_is_constant():
    X = inputs(6)
    stationary = make_covariance(2.0 * RationalQuadratic(), X).factor(np.log([1.0, 1.0, 2.0]))
    assert isinstance(stationary.variance, float)
    varying = make_covariance(DotProduct(1.0) + WhiteKernel(0.1), X).factor(np.zeros(2))
    assert varying.variance.shape == (6,)


def test_repeated_rows_and_columns_without_spread():
    X = inputs(8)
    X[1], X[:, 2] = X[0], 3.0
    kernel = 1.3 * Matern(ARD, nu=0.5)
    assert_is_factor_of(
        make_covariance(kernel, X, 1e-3).factor(kernel.theta),
        dense_covariance(kernel, kernel.theta, X, 1e-3),
    )


def test_ard_kernel_on_the_wrong_number_of_columns_raises_sklearns_error(monkeypatch):
    for budget in (_packed_distances.TABLE_BYTES, 0):
        monkeypatch.setattr(_packed_distances, "TABLE_BYTES", budget)
        with pytest.raises(ValueError, match="must have the same number of dimensions"):
            make_covariance(RBF([1.0, 2.0]), inputs(5)).factor(np.zeros(2))


# ---------------------------------------------------------------- moves of a chain

WALK_KERNELS = {
    "rbf": ConstantKernel(1.0) * RBF([1.0] * 4),
    "rbf-isotropic": ConstantKernel(1.0) * RBF(1.0),
    "matern-0.5": Matern([1.0] * 4, nu=0.5) * ConstantKernel(1.0),
    "matern-1.5": ConstantKernel(1.0) * Matern([1.0] * 4, nu=1.5),
    "matern-2.5": ConstantKernel(1.0) * Matern([1.0] * 4, nu=2.5) * ConstantKernel(1.0),
    "white-constant": (
        WhiteKernel(1.0) + ConstantKernel(1.0) * Matern([1.0] * 4, nu=0.5) + ConstantKernel(1.0)
    ),
    "generic": ConstantKernel(1.0) * RBF([1.0] * 4) + RBF(1.0),
}

# Large enough for a determinant that is known to many digits at every theta.
WALK_JITTER = 1e-3


def _proposal(theta, rng):
    """Propose one of the moves that a sampler makes, and some that it should not."""
    moved, kind = theta.copy(), rng.integers(5)
    if kind <= 1:  # one element, near
        moved[rng.integers(theta.size)] += 0.5 * rng.standard_normal()
    elif kind == 2:  # one element, many orders of magnitude, up or down
        moved[rng.integers(theta.size)] = rng.uniform(-12.0, 12.0)
    elif kind == 3:  # all elements
        moved += 0.3 * rng.standard_normal(theta.size)
    else:  # one element a little: most of these are accepted
        moved[rng.integers(theta.size)] += 0.01 * rng.standard_normal()
    return np.clip(moved, -12.0, 12.0), rng.random() < (0.9 if kind == 4 else 0.5)


def assert_equal_factors(factor, fresh):
    K = reconstruct(fresh)
    # Elementwise: small covariances of distant points count too.
    np.testing.assert_allclose(reconstruct(factor), K, rtol=1e-10, atol=1e-10 * np.diag(K).max())
    rounding = rounding_of_variances(fresh.theta)
    np.testing.assert_allclose(factor.variance, fresh.variance, rtol=rounding)
    assert factor.half_log_det == pytest.approx(fresh.half_log_det, rel=1e-10, abs=1e-7)
    np.testing.assert_array_equal(factor.theta, fresh.theta)


WITH_AND_WITHOUT_TABLES = [
    *[(name, _packed_distances.TABLE_BYTES) for name in WALK_KERNELS],
    *[(name, 0) for name in ("rbf", "matern-2.5", "white-constant")],
]


@pytest.mark.parametrize(("name", "table_bytes"), WITH_AND_WITHOUT_TABLES)
def test_walk_equals_fresh_factors(name, table_bytes, monkeypatch):
    monkeypatch.setattr(_packed_distances, "TABLE_BYTES", table_bytes)
    kernel, X, rng = WALK_KERNELS[name], inputs(20, 4), np.random.default_rng(1)
    walker = make_covariance(kernel, X, WALK_JITTER)
    other = KernelCovariance(kernel, X, WALK_JITTER)
    current = walker.factor(np.zeros(kernel.n_dims))
    vector = rng.standard_normal(20)
    for _ in range(150):
        before = np.tril(current.lower), current.colour(vector), current.whiten(vector)
        theta, accept = _proposal(current.theta, rng)
        candidate = walker.factor(theta, current)
        assert_equal_factors(candidate, other.factor(theta))
        # The current factor stands as it was.
        np.testing.assert_array_equal(np.tril(current.lower), before[0])
        np.testing.assert_array_equal(current.colour(vector), before[1])
        np.testing.assert_array_equal(current.whiten(vector), before[2])
        current = candidate if accept else current
    assert walker.n_failures == 0


@pytest.mark.parametrize("name", ["rbf", "matern-0.5", "matern-2.5", "white-constant"])
def test_many_fused_updates_in_a_row(name):
    kernel, X, rng = WALK_KERNELS[name], inputs(20, 4), np.random.default_rng(2)
    walker, other = (make_covariance(kernel, X, WALK_JITTER) for _ in range(2))
    current = walker.factor(np.zeros(kernel.n_dims))
    for _ in range(3 * _packed_distances.MAX_FUSED_UPDATES):
        theta = current.theta.copy()
        theta[rng.integers(theta.size)] += 0.4 * rng.standard_normal()
        current = walker.factor(theta, current)
    assert_equal_factors(current, other.factor(theta))


def test_base_is_computed_afresh_now_and_then_and_not_more(monkeypatch):
    kernel, calls = WALK_KERNELS["rbf"], []
    covariance = make_covariance(kernel, inputs(20, 4))
    current = covariance.factor(np.zeros(kernel.n_dims))
    distances = covariance._distances
    afresh = distances._set_base_afresh
    monkeypatch.setattr(
        distances, "_set_base_afresh", lambda weights: (calls.append(1), afresh(weights))
    )
    period = _packed_distances.MAX_FUSED_UPDATES + 1
    for i in range(3 * period):
        theta = current.theta.copy()
        theta[1 + i % 4] += 0.1 if i % 8 < 4 else -0.1
        current = covariance.factor(theta, current)
        assert len(calls) == 1 + i // period


@pytest.mark.parametrize("step", [0.5, 1.7, 3.4])
@pytest.mark.parametrize("name", ["rbf", "matern-0.5", "matern-1.5", "white-constant"])
def test_weights_that_fall_step_by_step_lose_no_digits(name, step):
    # Each step keeps the sum of distances if it is short enough; what was rounded
    # off at the first, huge weights must not stay in it.
    kernel, X = WALK_KERNELS[name], inputs(20, 4)
    walker, other = (make_covariance(kernel, X, WALK_JITTER) for _ in range(2))
    first = kernel.n_dims - 5 if name == "white-constant" else kernel.n_dims - 4
    axes = range(first, first + 2)
    theta = np.zeros(kernel.n_dims)
    theta[axes] = -13.0
    current = walker.factor(theta)
    while theta[axes[0]] < 2.0:
        for axis in axes:
            theta = theta.copy()
            theta[axis] += step
            current = walker.factor(theta, current)
            assert_equal_factors(current, other.factor(theta))


@pytest.mark.parametrize("name", WALK_KERNELS)
def test_candidates_use_the_other_buffer(name):
    kernel, X, rng = WALK_KERNELS[name], inputs(9, 4), np.random.default_rng(3)
    covariance = make_covariance(kernel, X)
    current = covariance.factor(np.zeros(kernel.n_dims))
    for _ in range(4):
        candidates = [
            covariance.factor(current.theta + 0.1 * rng.standard_normal(kernel.n_dims), current)
            for _ in range(3)
        ]
        for candidate in candidates:
            assert candidate.slot != current.slot
            assert not np.shares_memory(candidate.lower, current.lower)
            assert np.shares_memory(candidate.lower, candidates[0].lower)
        current = candidates[-1]


def test_move_of_the_signal_variance_shares_the_factor():
    kernel, X = ConstantKernel(1.0) * RBF(ARD) * ConstantKernel(2.0), inputs(12)
    covariance = make_covariance(kernel, X)
    current = covariance.factor(kernel.theta)
    for move in (0.7, -9.0, 30.0):
        for index in (0, 4):
            theta = current.theta.copy()
            theta[index] += move
            candidate = covariance.factor(theta, current)
            assert candidate.lower is current.lower
            assert candidate.slot == current.slot
            assert candidate.scale != current.scale
            assert_is_factor_of(candidate, dense_covariance(kernel, theta, X))
            current = candidate


@pytest.mark.parametrize(
    ("kernel", "scale_parameters"),
    [
        (ConstantKernel(1.0) * RBF(ARD) * ConstantKernel(2.0), [0, 4]),
        (ConstantKernel(2.0, "fixed") * RBF(1.0), []),
        (RationalQuadratic() * ConstantKernel(0.7), [2]),
        (ConstantKernel(0.7) * (DotProduct(0.5) + WhiteKernel(0.1)), [0]),
        (ConstantKernel(0.7) * RBF(1.0) + WhiteKernel(0.1), []),
    ],
    ids=str,
)
def test_scale_parameters_rescale_every_kernel(kernel, scale_parameters):
    X, rng = inputs(8), np.random.default_rng(3)
    covariance = make_covariance(kernel, X)
    assert covariance.scale_parameters == scale_parameters
    current = covariance.factor(kernel.theta)
    for _ in range(3):
        theta = current.theta + rng.standard_normal(kernel.n_dims)
        current = covariance.factor(theta, current)
        for index in scale_parameters:
            moved = current.theta.copy()
            moved[index] += 2.0
            rescaled = covariance.factor(moved, current)
            assert rescaled.lower is current.lower
            assert_is_factor_of(rescaled, dense_covariance(kernel, moved, X))
    assert make_covariance(kernel, X, offset_variance=1.0).scale_parameters == []


def test_signal_variance_does_not_only_rescale_beside_other_terms():
    X, theta = inputs(12), np.log([1.5, 0.8, 0.1])
    for kernel, offset in (
        (ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1), 0.0),
        (ConstantKernel(1.0) * RBF(1.0) + ConstantKernel(0.1), 0.0),
        (ConstantKernel(1.0) * RBF(1.0) * ConstantKernel(0.1), 2.0),
    ):
        covariance = make_covariance(kernel, X, offset_variance=offset)
        current = covariance.factor(kernel.theta)
        candidate = covariance.factor(theta, current)
        assert not np.shares_memory(candidate.lower, current.lower)
        K = dense_covariance(kernel, theta, X, offset_variance=offset)
        assert_is_factor_of(candidate, K)


@pytest.mark.parametrize(
    ("name", "table_bytes"), [case for case in WITH_AND_WITHOUT_TABLES if case[0] != "generic"]
)
def test_no_matrix_is_allocated_in_the_loop(name, table_bytes, monkeypatch):
    monkeypatch.setattr(_packed_distances, "TABLE_BYTES", table_bytes)
    n = 320
    kernel, X, rng = WALK_KERNELS[name], inputs(n, 4), np.random.default_rng(4)
    covariance, pseudo_posteriors = make_covariance(kernel, X), PseudoPosteriorFactory(n)
    current = covariance.factor(np.zeros(kernel.n_dims))
    pseudo = pseudo_posteriors.build(current, np.ones(n))
    tracemalloc.start()
    try:
        for i in range(100):
            theta = current.theta.copy()
            theta[i % theta.size] += 0.1 * rng.standard_normal()
            candidate = covariance.factor(theta, current)
            proposed = pseudo_posteriors.build(candidate, np.ones(n), pseudo)
            if i % 3:
                current, pseudo = candidate, proposed
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Less than one triangle; without tables, blocks of 64 columns are computed too. The
    # buffers of numpy's own loops, 200 kB whatever n is, are why n is not smaller.
    assert peak < 8 * n**2 * (0.4 if table_bytes else 0.75)


# ---------------------------------------------------------------- failures, counters


@pytest.mark.parametrize("make", [make_covariance, KernelCovariance])
@pytest.mark.parametrize(
    "theta",
    [
        [math.nan, 0.0, 0.0],
        [0.0, math.nan, 0.0],
        [0.0, 0.0, math.nan],
        [math.inf, 0.0, 0.0],
        [800.0, 0.0, 0.0],
        [0.0, -math.inf, 0.0],
        [0.0, -800.0, 0.0],
        [0.0, 0.0, math.inf],
        [0.0, 0.0, 800.0],
    ],
)
def test_theta_without_a_covariance_is_a_counted_failure(make, theta):
    kernel, X = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(1.0), inputs(5)
    covariance = make(kernel, X)
    current = covariance.factor(np.zeros(3))
    K = reconstruct(current)
    with np.errstate(all="ignore"):
        assert covariance.factor(np.array(theta), current) is None
        assert covariance.factor(np.array(theta), current) is None
    assert (covariance.n_constructions, covariance.n_failures) == (3, 2)
    np.testing.assert_array_equal(reconstruct(current), K)
    # The chain goes on.
    theta = np.array([0.2, 0.3, -0.4])
    assert_is_factor_of(covariance.factor(theta, current), dense_covariance(kernel, theta, X))
    assert (covariance.n_constructions, covariance.n_failures) == (4, 2)


def test_signal_variance_without_a_factor_fails_on_the_rescaling_path():
    covariance = make_covariance(ConstantKernel(1.0) * RBF(1.0), inputs(5))
    current = covariance.factor(np.zeros(2))
    with np.errstate(all="ignore"):
        for value in (math.nan, math.inf, -math.inf, 800.0, -800.0):
            assert covariance.factor(np.array([value, 0.0]), current) is None
    assert covariance.n_failures == 5


def test_variance_that_overflows_with_its_jitter_fails_on_every_path():
    kernel, theta = ConstantKernel(1.0) * RBF(1.0), np.array([709.5, 0.0])
    assert np.isfinite(np.exp(theta[0]))
    for make in (make_covariance, KernelCovariance):
        covariance = make(kernel, inputs(5), 0.5)
        with np.errstate(over="ignore"):
            assert covariance.factor(theta) is None
            current = covariance.factor(np.zeros(2))
            assert covariance.factor(theta, current) is None


def test_indefinite_kernel_of_a_user_is_a_counted_failure():
    covariance = make_covariance(Tilted(), inputs(5))
    assert covariance.factor(np.zeros(1)) is None
    assert covariance.factor(np.ones(1)) is None
    assert (covariance.n_constructions, covariance.n_failures) == (2, 2)


def test_singular_covariance_without_jitter_is_a_failure():
    # Whatever adds the numbers: the second pivot is 1 - 1 * 1.
    X = np.array([[0.0], [0.0], [1.0]])
    for make in (make_covariance, KernelCovariance):
        covariance = make(RBF(1.0), X, 0.0)
        with np.errstate(all="ignore"):
            assert covariance.factor(np.zeros(1)) is None
        assert covariance.n_failures == 1


@pytest.mark.parametrize("name", WALK_KERNELS)
def test_same_theta_returns_the_same_factor_and_costs_nothing(name):
    kernel = WALK_KERNELS[name]
    covariance = make_covariance(kernel, inputs(5, 4))
    current = covariance.factor(np.zeros(kernel.n_dims))
    assert covariance.factor(np.zeros(kernel.n_dims), current) is current
    assert covariance.n_constructions == 1


def test_kernel_without_free_hyperparameters():
    kernel = ConstantKernel(3.0, FIXED) * RBF(0.6, FIXED)
    for make in (make_covariance, KernelCovariance):
        covariance = make(kernel, inputs(5))
        current = covariance.factor(np.empty(0))
        assert covariance.factor(np.empty(0), current) is current
        assert covariance.n_constructions == 1


# ---------------------------------------------------------------- section 3 of the paper


def make_factor(n, scale):
    """Return a factor whose scale is a number of our choice, and its dense K."""
    kernel, X = ConstantKernel(1.0) * Matern(ARD, nu=1.5), inputs(n)
    covariance = make_covariance(kernel, X, 1e-3)
    theta = np.log([scale**2, *ARD])
    factor = covariance.factor(theta, covariance.factor(np.log([1.0, *ARD])))
    assert factor.scale == pytest.approx(scale)
    return factor, dense_covariance(kernel, theta, X, 1e-3)


FACTOR_CASES = [(1, 1.0), (4, 1.0), (4, 0.3), (70, 2.5)]


@pytest.mark.parametrize(("n", "scale"), FACTOR_CASES)
def test_cholesky_factor_identities(n, scale):
    factor, K = make_factor(n, scale)
    rng = np.random.default_rng(5)
    z, columns = rng.standard_normal(n), np.asfortranarray(rng.standard_normal((n, 3)))
    root = dense_root(factor)
    # The factor is that of a matrix off by n u |L| |L^T|, and the covariances are off by ulps.
    rounding = 2.0 * product_bound(root, root.T).max() + FEW_OPERATIONS * K.max()
    np.testing.assert_allclose(root @ root.T, K, rtol=0.0, atol=rounding)
    coloured = factor.colour(z)
    assert np.all(np.abs(coloured - root @ z) <= product_bound(root, z))
    difference = factor.colour_columns(columns) - root @ columns
    assert np.all(np.abs(difference) <= product_bound(root, columns))
    difference = factor.colour_transpose(z) - root.T @ z
    assert np.all(np.abs(difference) <= product_bound(root.T, z))
    np.testing.assert_allclose(factor.whiten(coloured), z, rtol=1e-9, atol=1e-10)
    expected = stats.multivariate_normal(np.zeros(n), K).logpdf(coloured)
    constant = -0.5 * n * math.log(2.0 * math.pi)
    assert factor.log_normal(z) + constant == pytest.approx(expected, rel=1e-9, abs=1e-9)


PRECISIONS = {
    "constant": lambda rng, n: np.full(n, 1.7),
    "varying": lambda rng, n: rng.gamma(1.0, 2.0, n),
    "some-zero": lambda rng, n: rng.gamma(1.0, 2.0, n) * (np.arange(n) % 2),
    "zero": lambda rng, n: np.zeros(n),
    "tiny-and-huge": lambda rng, n: 10.0 ** rng.uniform(-6, 4, n),
}


@pytest.mark.parametrize("mean", [0.0, -0.8])
@pytest.mark.parametrize("name", PRECISIONS)
@pytest.mark.parametrize(("n", "scale"), FACTOR_CASES)
def test_pseudo_posterior_identities(n, scale, name, mean):
    factor, K = make_factor(n, scale)
    rng = np.random.default_rng(6)
    W, shift, eta = PRECISIONS[name](rng, n), rng.standard_normal(n), rng.standard_normal(n)
    pseudo = PseudoPosteriorFactory(n).build(factor, W)
    L, U = dense_root(factor), np.tril(pseudo.lower)
    eye = np.eye(n)
    M = eye + L.T @ (W[:, None] * L)
    np.testing.assert_allclose(U @ U.T, M, rtol=1e-9, atol=1e-10 * np.abs(M).max())
    assert pseudo.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(M)[1], abs=1e-9)
    assert pseudo.precision is W

    # R = (K^-1 + W)^-1 = K (I + W K)^-1, which needs no inverse of K.
    R = np.linalg.solve(eye + K * W, K)
    root = L @ np.linalg.inv(U).T
    np.testing.assert_allclose(root @ root.T, R, rtol=1e-8, atol=1e-10)
    log_root = factor.half_log_det - pseudo.half_log_det
    assert log_root == pytest.approx(0.5 * np.linalg.slogdet(R)[1], abs=1e-8)

    # f = (mean under the pseudo-posterior) + root eta.
    kept = shift.copy(), eta.copy()
    projection = pseudo.project(shift, mean)
    np.testing.assert_allclose(
        projection, np.linalg.solve(U, L.T @ (shift - W * mean)), rtol=1e-8, atol=1e-9
    )
    z = pseudo.colour(eta, projection)
    centre = mean + R @ (shift - W * mean)
    np.testing.assert_allclose(mean + factor.colour(z), centre + root @ eta, atol=1e-8)
    np.testing.assert_allclose(pseudo.whiten(z, projection), eta, atol=1e-8)
    np.testing.assert_array_equal(shift, kept[0])
    np.testing.assert_array_equal(eta, kept[1])


@pytest.mark.parametrize("mean", [0.0, -0.8])
@pytest.mark.parametrize("name", ["constant", "varying", "tiny-and-huge"])
@pytest.mark.parametrize(("n", "scale"), FACTOR_CASES)
def test_density_of_surrogate_data(n, scale, name, mean):
    factor, K = make_factor(n, scale)
    rng = np.random.default_rng(7)
    W, g = PRECISIONS[name](rng, n), rng.standard_normal(n)
    pseudo = PseudoPosteriorFactory(n).build(factor, W)
    b = pseudo.project(W * g, mean)
    quadratic = (g - mean) @ (W * (g - mean)) - b @ b
    log_normal = 0.5 * np.log(W).sum() - pseudo.half_log_det - 0.5 * quadratic
    dense = stats.multivariate_normal(np.full(n, mean), K + np.diag(1.0 / W)).logpdf(g)
    constant = -0.5 * n * math.log(2.0 * math.pi)
    # The quadratic forms cancel to about the size of W g^2.
    tolerance = 1e-12 * float(W @ (g - mean) ** 2) + 1e-9
    assert log_normal + constant == pytest.approx(dense, abs=tolerance)


def test_pseudo_posteriors_alternate_and_leave_the_current_one():
    factor, _ = make_factor(70, 1.3)
    factory, rng = PseudoPosteriorFactory(70), np.random.default_rng(8)
    current = factory.build(factor, rng.random(70))
    lower = current.lower.copy()
    candidates = [factory.build(factor, rng.random(70), current) for _ in range(3)]
    for candidate in candidates:
        assert candidate.slot == 1 - current.slot
        assert not np.shares_memory(candidate.lower, current.lower)
        assert candidate.lower is candidates[0].lower
    np.testing.assert_array_equal(current.lower, lower)
    accepted = factory.build(factor, rng.random(70), candidates[-1])
    assert accepted.slot == current.slot
    assert not np.shares_memory(accepted.lower, candidates[-1].lower)
    assert not np.shares_memory(accepted.lower, factor.lower)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e308])
def test_pseudo_posterior_that_overflows_is_none(bad):
    factor, _ = make_factor(5, 1e3)
    with np.errstate(all="ignore"):
        assert PseudoPosteriorFactory(5).build(factor, np.array([1.0, 1.0, bad, 1.0, 1.0])) is None


def test_pseudo_posterior_ignores_the_upper_triangle():
    factor, _ = make_factor(70, 1.3)
    dirty = factor.lower.copy(order="F")
    dirty[np.triu_indices(70, 1)] = 1e300
    other = CholeskyFactor(
        factor.theta, dirty, factor.unit_half_log_det, factor.unit_variance, 0, factor.scale**2
    )
    W = np.linspace(0.0, 2.0, 70)
    with np.errstate(over="ignore"):
        a, b = (PseudoPosteriorFactory(70).build(f, W) for f in (factor, other))
    np.testing.assert_array_equal(np.tril(a.lower), np.tril(b.lower))
    x = np.linspace(-1.0, 1.0, 70)
    np.testing.assert_array_equal(a.project(x, 0.3), b.project(x, 0.3))
    np.testing.assert_array_equal(factor.colour(x), other.colour(x))
    np.testing.assert_array_equal(factor.whiten(x), other.whiten(x))
