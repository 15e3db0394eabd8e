"""Covariances on grids against dense algebra: nothing is approximated, so to rounding."""

import math

import numpy as np
import pytest
from problems import LIKELIHOODS
from rounding import ELEMENTWISE, EPS
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)

from skgpmcmc import _linalg
from skgpmcmc._covariance import (
    DenseCovariance,
    DenseStructure,
    GridCovariance,
    GridStructure,
    PseudoPosteriorFactory,
    make_covariance,
    separable_form,
)
from skgpmcmc._grid import Grid
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._sampling._latent_moves import draw_prior_latents
from skgpmcmc._sampling._plan import plan
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import Poisson

JITTER = 1e-5
#: Of one, two and three axes; the coordinates are not evenly spread.
GRIDS = {
    size: Grid(tuple(np.sort(np.random.default_rng(size).random(n)) for n in shape))
    for size, shape in {1: (6,), 2: (4, 5), 3: (3, 2, 4)}.items()
}
KERNELS = {
    "isotropic": lambda d: ConstantKernel(2.0) * RBF(0.4),
    "ard": lambda d: ConstantKernel(2.0) * RBF(0.3 + 0.1 * np.arange(d)),
    "fixed length scales": lambda d: ConstantKernel(2.0) * RBF(0.3 + 0.1 * np.arange(d), "fixed"),
    "white noises": lambda d: (
        ConstantKernel(2.0) * RBF(0.3 + 0.1 * np.arange(d))
        + ConstantKernel(3.0) * WhiteKernel(0.1)
        + WhiteKernel(0.2, "fixed")
    ),
    "no constant": lambda d: RBF(0.4) + WhiteKernel(0.3),
}
CASES = [(name, d) for name in KERNELS for d in GRIDS]


def make(name, d):
    """Return the covariance, its kernel, K by scikit-learn, and a generator."""
    kernel, grid = KERNELS[name](d), GRIDS[d]
    form = separable_form(kernel, grid)
    K = kernel(grid.points())
    K[np.diag_indices_from(K)] *= 1.0 + JITTER
    return GridCovariance(form, grid, JITTER), kernel, K, np.random.default_rng(0)


def rotation_bound(matrix, x=1.0):
    """Return the bound for each element of Q diag(d) Q^T x, and of the matrix itself.

    Q is a Kronecker product of orthogonal matrices, which are eigenvectors of small matrices up
    to some n u; multiplying by each of them adds as much, of |matrix| |x|.
    """
    return 8.0 * len(matrix) * EPS * np.linalg.norm(matrix, 2) * np.linalg.norm(x)


@pytest.mark.parametrize(("name", "d"), CASES)
def test_factor(name, d):
    covariance, kernel, K, rng = make(name, d)
    factor, n = covariance.factor(kernel.theta), len(K)
    root = factor.colour_columns(np.eye(n))
    np.testing.assert_allclose(root, root.T, rtol=0.0, atol=rotation_bound(root))
    np.testing.assert_allclose(root @ root, K, rtol=0.0, atol=rotation_bound(K))
    assert factor.n == covariance.n == n
    assert factor.variance == pytest.approx(K[0, 0], rel=ELEMENTWISE)
    assert factor.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(K)[1], rel=1e-8)
    x, scale = rng.standard_normal(n), math.sqrt(K[0, 0])
    rounding = rotation_bound(root, x)
    np.testing.assert_allclose(factor.colour(x), root @ x, rtol=0.0, atol=rounding)
    np.testing.assert_allclose(factor.colour_transpose(x), root.T @ x, rtol=0.0, atol=rounding)
    f = root @ x
    np.testing.assert_allclose(factor.whiten(f), x, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(factor.solve(scale * f), np.linalg.solve(K, scale * f), rtol=1e-7)
    expected = stats.multivariate_normal.logpdf(f, cov=K) + 0.5 * n * math.log(2.0 * math.pi)
    assert factor.log_normal(x) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("name", "d"), CASES)
@pytest.mark.parametrize("alpha", [0.02, 1.0, 50.0])
def test_pseudo_posterior(name, d, alpha):
    covariance, kernel, K, rng = make(name, d)
    factor, n, mean = covariance.factor(kernel.theta), len(K), 0.7
    shift = rng.standard_normal(n)
    pseudo = covariance.pseudo_posterior_factory().build(factor, np.full(n, 1.0 / alpha))
    log_det = np.linalg.slogdet(np.eye(n) + K / alpha)[1]
    assert pseudo.half_log_det == pytest.approx(0.5 * log_det, rel=1e-8)
    projection = pseudo.project(shift, mean)
    # The mean and the covariance of N(f; m, K) exp(h f - f^2 / 2 alpha).
    R = np.linalg.inv(np.linalg.inv(K) + np.eye(n) / alpha)
    centre = mean + factor.colour(pseudo.colour(np.zeros(n), projection))
    np.testing.assert_allclose(centre, mean + R @ (shift - mean / alpha), rtol=1e-7, atol=1e-8)
    columns = [factor.colour(pseudo.colour(e, np.zeros(n))) for e in np.eye(n)]
    np.testing.assert_allclose(np.transpose(columns) @ columns, R, rtol=1e-7, atol=1e-9)
    eta = rng.standard_normal(n)
    again = pseudo.whiten(pseudo.colour(eta, projection), projection)
    np.testing.assert_allclose(again, eta, rtol=1e-9, atol=1e-9)


def build(covariance, theta, w):
    """The pseudo-posterior of sites of precision w."""
    factor = covariance.factor(theta)
    return covariance.pseudo_posterior_factory().build(factor, np.full(factor.n, w))


def value_at(covariance, theta, w, eta, residual, score):
    """What `pseudo_posterior_gradient` is the gradient of."""
    pseudo = build(covariance, theta, w)
    z = pseudo.colour(eta, pseudo.project(residual, 0.0))
    return score @ pseudo.factor.colour(z) - 0.5 * z @ z - pseudo.half_log_det


def differences(function, point, step=1e-5):
    steps = step * np.eye(len(point))
    return [(function(point + e) - function(point - e)) / (2.0 * step) for e in steps]


@pytest.mark.parametrize("w", [0.0, 0.7])
@pytest.mark.parametrize(("name", "d"), CASES)
def test_gradient_by_differences(name, d, w):
    covariance, kernel, K, rng = make(name, d)
    theta = kernel.theta
    eta, residual, score = rng.standard_normal((3, len(K)))
    gradient = covariance.pseudo_posterior_gradient(
        build(covariance, theta, w), eta, residual, score
    )
    for found, function, point in [
        (gradient.theta, lambda t: value_at(covariance, t, w, eta, residual, score), theta),
        (gradient.eta, lambda x: value_at(covariance, theta, w, x, residual, score), eta),
        (gradient.residual, lambda r: value_at(covariance, theta, w, eta, r, score), residual),
    ]:
        np.testing.assert_allclose(found, differences(function, point), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("name", "d"), CASES)
def test_gradient_by_dense_algebra(name, d):
    """The derivative R of the root of K solves R L + L R = dK, a linear system."""
    covariance, kernel, K, rng = make(name, d)
    n = len(K)
    z, score = rng.standard_normal((2, n))
    values, vectors = np.linalg.eigh(K)
    roots = np.sqrt(values)
    _, slopes = kernel(GRIDS[d].points(), eval_gradient=True)
    slopes[np.diag_indices(n)] *= 1.0 + JITTER
    expected = []
    for k in range(slopes.shape[2]):
        rotated = vectors.T @ slopes[:, :, k] @ vectors / np.add.outer(roots, roots)
        expected.append(score @ vectors @ rotated @ vectors.T @ z)
    flat = build(covariance, kernel.theta, 0.0)
    gradient = covariance.pseudo_posterior_gradient(flat, z, np.zeros(n), score)
    np.testing.assert_allclose(gradient.theta, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(gradient.eta, flat.factor.colour(score) - z, rtol=1e-10, atol=1e-10)


def test_long_axes():
    """Many negligible eigenvalues."""
    grid = Grid((np.linspace(0.0, 1.0, 60), np.linspace(0.0, 1.0, 70)))
    kernel = ConstantKernel(1.3) * RBF([0.1, 0.02])
    covariance = GridCovariance(separable_form(kernel, grid), grid)
    eta, residual, score = np.random.default_rng(1).standard_normal((3, grid.n))
    gradient = covariance.pseudo_posterior_gradient(
        build(covariance, kernel.theta, 0.4), eta, residual, score
    )
    expected = differences(
        lambda theta: value_at(covariance, theta, 0.4, eta, residual, score), kernel.theta
    )
    np.testing.assert_allclose(gradient.theta, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["isotropic", "ard", "white noises"])
def test_root_moves_continuously(name):
    """Eigenvectors turn abruptly where eigenvalues cross; the symmetric root does not."""
    kernel, grid = KERNELS[name](2), Grid((np.arange(5.0), np.arange(5.0)))
    covariance = GridCovariance(separable_form(kernel, grid), grid)
    z = np.random.default_rng(2).standard_normal(grid.n)
    theta = kernel.theta
    theta[1:3] = math.log(1.0)  # equal length scales: all eigenvalues but some are double
    before = covariance.factor(theta).colour(z)
    moved = theta + 1e-9 * np.arange(1.0, len(theta) + 1.0)
    np.testing.assert_allclose(covariance.factor(moved).colour(z), before, atol=1e-6)


def test_only_the_axis_that_moved_is_decomposed(monkeypatch):
    covariance, kernel, _, _ = make("white noises", 3)
    decompose, sizes = _linalg.symmetric_spectrum, []

    def counted(matrix):
        sizes.append(len(matrix))
        return decompose(matrix)

    monkeypatch.setattr(_linalg, "symmetric_spectrum", counted)
    current = covariance.factor(kernel.theta)
    assert sizes == [3, 2, 4]
    for element, expected in enumerate([[], [3], [2], [4], [], []]):
        sizes.clear()
        theta = kernel.theta
        theta[element] += 0.3
        factor = covariance.factor(theta, current)
        assert sizes == expected
        fresh = covariance.factor(theta)
        x = np.arange(covariance.n, dtype=float)
        # The same decompositions of the same matrices; variances may be multiplied elsewhere.
        rounding = rotation_bound(np.diag(factor.scale * factor.unit.root), x)
        np.testing.assert_allclose(factor.colour(x), fresh.colour(x), rtol=0.0, atol=rounding)
        assert factor.half_log_det == pytest.approx(fresh.half_log_det, rel=ELEMENTWISE)
    assert covariance.factor(kernel.theta, current) is current
    assert covariance.n_constructions == 1 + 2 * 6
    assert covariance.n_failures == 0


@pytest.mark.parametrize("name", ["isotropic", "ard"])
def test_another_variance_shares_the_spectrum(name):
    covariance, kernel, K, _ = make(name, 2)
    assert covariance.scale_parameters == [0]
    current = covariance.factor(kernel.theta)
    theta = kernel.theta
    theta[0] += math.log(4.0)
    factor = covariance.factor(theta, current)
    assert factor.unit is current.unit
    root = factor.colour_columns(np.eye(len(K)))
    np.testing.assert_allclose(root @ root, 4.0 * K, rtol=0.0, atol=rotation_bound(4.0 * K))
    assert factor.variance == pytest.approx(4.0 * K[0, 0])


def test_white_noise_does_not_scale_with_the_variance():
    covariance, *_ = make("white noises", 2)
    assert covariance.scale_parameters == []


@pytest.mark.parametrize(
    "theta", [[800.0, 0.0, 0.0], [-800.0, 0.0, 0.0], [0.0, -800.0, 0.0], [math.nan, 0.0, 0.0]]
)
def test_what_is_not_finite_has_no_factor(theta):
    covariance, kernel, _, _ = make("ard", 2)
    for current in (None, covariance.factor(kernel.theta)):
        covariance.n_failures = 0
        with np.errstate(all="ignore"):
            assert covariance.factor(np.array(theta), current) is None
        assert covariance.n_failures == 1


def test_sites_of_different_precisions_are_refused():
    covariance, kernel, K, _ = make("ard", 2)
    precision = np.ones(len(K))
    precision[3] = 2.0
    factory = covariance.pseudo_posterior_factory()
    with pytest.raises(ValueError, match="same precision; got precisions from 1 to 2"):
        factory.build(covariance.factor(kernel.theta), precision)


@pytest.mark.parametrize(
    ("kernel", "separates"),
    [
        (RBF(1.0), True),
        (ConstantKernel(2.0) * RBF([1.0, 2.0]) * ConstantKernel(3.0), True),
        (Matern(1.0, nu=math.inf), True),
        (RBF([1.0, 2.0]) + WhiteKernel(1.0), True),
        (RBF([1.0, 2.0, 3.0]), False),
        (RBF(1.0) + ConstantKernel(1.0), False),
        (RBF(1.0) + RBF(2.0), False),
        (Matern(1.0, nu=2.5), False),
        (RBF(1.0) * DotProduct(), False),
        (RBF(1.0) * WhiteKernel(), False),
    ],
)
def test_which_kernels_separate(kernel, separates):
    assert (separable_form(kernel, GRIDS[2]) is not None) == separates


def test_dense_covariances_have_no_gradient_of_their_root():
    covariance = make_covariance(RBF(1.0), GRIDS[1].points())
    factor = covariance.factor(np.zeros(1))
    assert "pseudo-posterior gradient" not in DenseStructure.capabilities
    with pytest.raises(MissingCapabilityError, match="grid"):
        covariance.pseudo_posterior_gradient(factor, *np.zeros((3, 6)))
    assert type(covariance.pseudo_posterior_factory()) is PseudoPosteriorFactory


@pytest.mark.parametrize("method", ["noisy_factor", "log_normal_gradient"])
def test_noise_of_any_variances_needs_dense_form(method):
    covariance, kernel, K, _ = make("ard", 2)
    factor = covariance.factor(kernel.theta)
    arguments = {
        "noisy_factor": (kernel.theta, np.ones(len(K)), factor),
        "log_normal_gradient": (factor, np.ones(len(K)), np.ones(len(K))),
    }
    with pytest.raises(MissingCapabilityError, match="dense form"):
        getattr(covariance, method)(*arguments[method])


# ---------------------------------------------------------------- the model's side

SMALL = Grid((np.array([0.0, 1.0]), np.array([0.0, 0.7])))
KERNEL = ConstantKernel(1.0, (0.1, 10.0)) * RBF(1.0, (0.1, 10.0))


def model_on(structure=GridStructure(SMALL), kernel=KERNEL, **options):  # noqa: B008
    likelihood = LIKELIHOODS["poisson"].make()
    return LatentGaussianModel(kernel, SMALL.points(), likelihood, structure=structure, **options)


@pytest.mark.parametrize(
    ("model", "representation", "kind"),
    [
        (model_on(), "fixed", GridCovariance),
        (model_on(), "prior-white", GridCovariance),
        (model_on(), 3.0, GridCovariance),
        (model_on(), "joint-post", GridCovariance),
        (model_on(), "surr-site", DenseCovariance),
        (model_on(), "post-taylor", DenseCovariance),
        (model_on(DenseStructure()), "prior-white", DenseCovariance),
        (model_on(kernel=Matern(1.0, (0.1, 10.0))), "prior-white", DenseCovariance),
        (
            model_on(mean="constant", collapse_mean=True, priors={"mean": stats.norm()}),
            "prior-white",
            DenseCovariance,
        ),
    ],
)
def test_which_covariance_a_chain_has(model, representation, kind):
    planned = plan(model, SamplerSettings(representation))
    assert isinstance(planned.workspace().covariance, kind)


def test_grid_must_fit_the_rows():
    with pytest.raises(ValueError, match="the 6 points of the grid, in their order; got 4 rows"):
        model_on(GridStructure(Grid((np.arange(2.0), np.arange(3.0)))))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (GRIDS[2].points()[::-1], r"in row 0, where the grid has \["),
        (GRIDS[2].points()[:, ::-1], r"in row 1, where the grid has \["),
        (GRIDS[2].points() + np.eye(20, 2, -7), r"in row 7, where the grid has \["),
        (GRIDS[2].points()[:, :1], r"got an array of shape \(20, 1\)"),
    ],
)
def test_rows_must_be_the_points_in_their_order(X, words):
    """Else the covariance would be that of other inputs."""
    kernel, likelihood = ConstantKernel(1.0, (0.1, 9.0)) * RBF(1.0, (0.1, 9.0)), Poisson([1.0] * 20)
    with pytest.raises(ValueError, match="the 20 points of the grid, in their order.*" + words):
        LatentGaussianModel(kernel, X, likelihood, structure=GridStructure(GRIDS[2]))
    rounded = GRIDS[2].points() * (1.0 + EPS)
    LatentGaussianModel(kernel, rounded, likelihood, structure=GridStructure(GRIDS[2]))


def test_prior_draws():
    covariance, kernel, K, _ = make("ard", 2)
    factor = covariance.factor(kernel.theta)
    whitened, coloured = draw_prior_latents(factor, 7, np.random.default_rng(3))
    assert whitened.shape == coloured.shape == (len(K), 7)
    for z, f in zip(whitened.T, coloured.T, strict=True):
        rounding = rotation_bound(np.diag(factor.scale * factor.unit.root), z)
        np.testing.assert_allclose(factor.colour(z), f, rtol=0.0, atol=rounding)


@pytest.mark.parametrize("grid", [None, np.zeros((4, 2)), (np.arange(2.0), np.arange(3.0))])
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(TypeError, match=r"^grid must be a Grid, .*; got "):
        GridStructure(grid)
