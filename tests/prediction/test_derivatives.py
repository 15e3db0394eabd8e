"""The derivative of the latent function: of kernels, of posteriors, of estimators."""

import numpy as np
import pytest
from fits import quiet
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._covariance import DerivativeCovariance, check_differentiable, summands_of
from skgpmcmc._covariance._summands import Summand
from skgpmcmc._grid import Grid
from skgpmcmc._prediction._dense import PosteriorDraws
from skgpmcmc._prediction._grid import GridPosteriorDraws
from skgpmcmc._prediction._low_rank import LowRankPosteriorDraws

RNG = np.random.default_rng(1)
SMOOTH = {
    "rbf": RBF([0.7, 1.3]),
    "matern-3/2": Matern([0.7, 1.3], nu=1.5),
    "matern-5/2": Matern(0.9, nu=2.5),
    "matern-inf": Matern(0.9, nu=np.inf),
    "matern-1.2": Matern(0.9, nu=1.2),
    "matern-2": Matern(0.9, nu=2.0),
    "matern-3.7": Matern([0.7, 1.3], nu=3.7),
    "rational": RationalQuadratic(0.8, 1.7),
    "linear": DotProduct(0.6),
    "constant": ConstantKernel(2.0),
    "sum": 1.5 * RBF([0.7, 1.3]) + DotProduct(0.6),
    "product": 1.5 * RBF([0.7, 1.3]) * DotProduct(0.6) * Matern(1.1, nu=2.5),
    "power": DotProduct(0.6) ** 3 + RBF(1.0) ** 1,
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("column", [0, 1])
def test_derivatives_of_kernels(name, column):
    """Central differences of the kernel's own values, of order h^2."""
    check_derivatives(SMOOTH[name], RNG.uniform(-1.0, 1.0, (5, 2)), column)


def test_derivative_of_the_periodic_kernel():
    kernel = ExpSineSquared(0.8, 1.7)
    check_derivatives(kernel, RNG.uniform(-2.0, 2.0, (6, 1)), 0)
    check_derivatives(kernel * RBF(1.3) + kernel, RNG.uniform(-2.0, 2.0, (6, 1)), 0)


def check_derivatives(kernel, X, column):
    Y = X[::-1] + 0.3
    step = 1e-5 * np.eye(X.shape[1])[column]
    cross = DerivativeCovariance(kernel, Y, column)
    found = np.empty((len(X), len(Y)))
    cross.write(X, found)
    expected = (kernel(X + step, Y) - kernel(X - step, Y)) / 2e-5
    np.testing.assert_allclose(found, expected, atol=1e-7)
    # Mixed differences lose more digits, and need a larger step: rounding is some 1e-16 / 4e-8.
    step *= 10.0
    both = kernel(X + step, Y + step) - kernel(X + step, Y - step)
    both += kernel(X - step, Y - step) - kernel(X - step, Y + step)
    together = cross.among(np.concatenate([X, Y]))
    np.testing.assert_allclose(together[: len(X), len(X) :], both / 4e-8, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(together, together.T, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(together)[: len(X)], cross.variances(X), atol=1e-12)
    assert np.linalg.eigvalsh(together)[0] > -1e-9


def test_variances_of_derivatives():
    """Known values: 1 / l^2 of the squared exponential, nu / ((nu - 1) l^2) of Matern."""
    X = np.zeros((1, 1))
    for kernel, expected in [
        (RBF(0.5), 4.0),
        (Matern(0.5, nu=1.5), 12.0),
        (Matern(0.5, nu=2.5), 20.0 / 3.0),
        (Matern(0.5, nu=1.2), 24.0),
        (Matern(0.5, nu=3.7), 4.0 * 3.7 / 2.7),
        (RationalQuadratic(0.5, 1.7), 4.0),
        (ExpSineSquared(0.5, 2.0), 4.0 * np.pi**2),
        (DotProduct(0.3), 1.0),
    ]:
        variance = DerivativeCovariance(kernel, X, 0).variances(X)
        np.testing.assert_allclose(variance, [expected], rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Matern(1.0, nu=0.5), "too rough to have one"),
        (2.0 * Matern(1.0, nu=1.0), "too rough"),
        (RBF(1.0) + WhiteKernel(1.0), "white noise has none"),
        (RBF(1.0) * ExpSineSquared(), "takes 2 columns here"),
        (PairwiseKernel(metric="rbf"), "is not known"),
        (Matern(1.0, nu=0.5) ** 2, "too rough"),
    ],
)
def test_kernels_without_a_derivative(kernel, words):
    with pytest.raises(ValueError, match=words):
        check_differentiable(kernel, 2)


# Posteriors ---------------------------------------------------------------------------------------

GRID = Grid((np.linspace(0.0, 2.0, 5), np.linspace(0.0, 1.0, 4)))
POINTS = GRID.points()
NEW = np.concatenate([RNG.uniform(-0.2, 2.0, (5, 2)), POINTS[:2]])
SEPARABLE = ConstantKernel(1.3) * RBF([0.9, 0.6])
SUM = SEPARABLE + 0.5 * Matern([1.0, 0.8], nu=2.5)


def draws_of(structure):
    kernel = SEPARABLE if structure == "grid" else SUM
    theta = kernel.theta + 0.2 * RNG.standard_normal((3, kernel.n_dims))
    values, mean = RNG.standard_normal((3, len(POINTS))), RNG.standard_normal(3)
    if structure == "grid":
        return kernel, GridPosteriorDraws(kernel, GRID, theta, mean, values, 1e-3)
    if structure == "points":
        points = POINTS[::3]
        return kernel, LowRankPosteriorDraws(kernel, points, theta, mean, values[:, ::3], 1e-3)
    if structure == "noisy":
        noise = np.full(values.shape, 0.3)
        return kernel, PosteriorDraws(kernel, POINTS, theta, mean, values, 1e-6, noise)
    return kernel, PosteriorDraws(kernel, POINTS, theta, mean, values, 1e-3)


@pytest.mark.parametrize("structure", ["dense", "noisy", "points", "grid"])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("which", [None, 0])
def test_differences_of_the_joint_posterior(structure, column, which):
    """Means and covariances of (f(x + h) - f(x - h)) / 2h, by the joint moments of f."""
    kernel, draws = draws_of(structure)
    summands = summands_of(kernel)
    one = Summand.sum_of("", summands) if which is None else summands[which]
    part = draws.part(one)
    slope = draws.derivative(one, column)
    h = 1e-3
    step = h * np.eye(2)[column]
    n = len(NEW)
    difference = np.hstack([np.eye(n), -np.eye(n)]) / (2.0 * h)
    (_, means, variances), *_ = slope.chunks(NEW)
    for d in range(3):
        mean, covariance = part.joint(np.concatenate([NEW + step, NEW - step]), d)
        found = slope.joint(NEW, d)
        scale = abs(found[0]).max()
        np.testing.assert_allclose(found[0], difference @ mean, atol=2e-4 * scale)
        expected = difference @ covariance @ difference.T
        scale = np.diagonal(expected).max()
        np.testing.assert_allclose(found[1], expected, atol=1e-3 * scale)
        np.testing.assert_allclose(means[d], found[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(variances[d], np.diagonal(found[1]), rtol=1e-6, atol=1e-8)
        (_, only), *_ = slope.mean_chunks(NEW)
        np.testing.assert_allclose(only[d], means[d], rtol=1e-10, atol=1e-10)


def test_differences_of_joint_samples():
    _, draws = draws_of("noisy")
    one = Summand.sum_of("", summands_of(SUM))
    h, n = 1e-2, 20_000
    step = np.array([h, 0.0])
    ends = np.concatenate([NEW + step, NEW - step])
    above, below = np.split(draws.sample(ends, 1, n, np.random.RandomState(0)), 2)
    slopes = (above - below) / (2.0 * h)
    mean, covariance = draws.derivative(one, 0).joint(NEW, 1)
    std = np.sqrt(np.diagonal(covariance))
    assert (abs(slopes.mean(axis=1) - mean) < 5.0 * std / np.sqrt(n) + 1e-3).all()
    assert (abs(slopes.std(axis=1) / std - 1.0) < 5.0 / np.sqrt(2.0 * n) + 1e-3).all()


# Estimators ---------------------------------------------------------------------------------------

T = np.arange(24.0)[:, None] / 4.0
TREND, SEASON = 1.0 * RBF(3.0), 0.5 * ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 10, "random_state": 0}
SLOPE = 0.4
SIGNAL = SLOPE * T[:, 0] + np.sin(2.0 * np.pi * T[:, 0])


@pytest.fixture(scope="module")
def series():
    kernel = TREND + SEASON + WhiteKernel(0.01)
    model = MCMCGaussianProcessRegressor(kernel, normalize_y=True, **SHORT)
    return quiet(model, T, 10.0 * SIGNAL)


def test_of_an_estimator_in_the_units_of_y(series):
    middle = T[6:18]
    whole = series.predict_derivative(middle, quantiles=[0.05, 0.5, 0.95])
    h = 1e-4
    means = [series.predict_latent(middle + step) for step in (h, -h)]
    np.testing.assert_allclose(whole.mean, (means[0] - means[1]) / (2.0 * h), rtol=1e-4, atol=1e-2)
    trend, season = (
        series.predict_derivative(middle, component=name, labels=["trend", "season"])
        for name in ("trend", "season")
    )
    np.testing.assert_allclose(trend.mean + season.mean, whole.mean, rtol=1e-8, atol=1e-8)
    assert (abs(trend.mean - 10.0 * SLOPE) < 1.5).all()
    assert (trend.prob_positive > 0.95).all()
    assert whole.quantiles.shape == (12, 3)
    assert (np.diff(whole.quantiles, axis=1) > 0.0).all()


def test_probabilities_go_with_the_quantiles(series):
    found = series.predict_derivative(T, quantiles=[0.2])
    level = found.prob_positive
    alone = [series.predict_derivative(T[[i]], quantiles=[1.0 - level[i]]) for i in (3, 9)]
    for one in alone:
        assert abs(one.quantiles[0, 0]) < 1e-6 * one.std[0]


def test_of_classes_and_counts():
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.exp(2.0 + 0.3 * T[:, 0]))
    model = quiet(MCMCCoxProcessRegressor(TREND, **SHORT), T, counts)
    assert (model.predict_derivative(T[6:18]).prob_positive > 0.8).all()
    classes = MCMCGaussianProcessClassifier(TREND, multi_class="softmax", **SHORT)
    found = quiet(classes, T, np.arange(24) // 8).predict_derivative(T, quantiles=[0.1, 0.9])
    assert found.mean.shape == found.std.shape == found.prob_positive.shape == (24, 3)
    assert found.quantiles.shape == (24, 3, 2)
    assert (found.mean[:, 0].mean() < 0.0) & (found.mean[:, 2].mean() > 0.0)


def test_columns_by_number_and_name():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(RNG.standard_normal((14, 2)), columns=["age", "bmi"])
    kernel = 1.0 * RBF([1.0, 1.0]) + WhiteKernel(0.1)
    model = quiet(MCMCGaussianProcessRegressor(kernel, **SHORT), X, X["age"] - X["bmi"])
    bmi = model.predict_derivative(X, "bmi").mean
    np.testing.assert_array_equal(bmi, model.predict_derivative(X, 1).mean)
    np.testing.assert_array_equal(bmi, model.predict_derivative(X, -1).mean)
    assert stats.pearsonr(bmi, model.predict_derivative(X, 0).mean)[0] < 0.99
    for column in ("sex", 2, 0.0, True, None):
        with pytest.raises(ValueError, match="column must be a number from 0 to 1, or one of"):
            model.predict_derivative(X, column)


def test_refusals(series):
    with pytest.raises(ValueError, match="quantiles must be"):
        series.predict_derivative(T, quantiles=3.0)
    for component in ("trend", "mean", 3):
        with pytest.raises(ValueError, match="component must be one of"):
            series.predict_derivative(T, component=component)
    rough = MCMCCoxProcessRegressor(Matern(1.0, nu=0.5) + RBF(2.0), **SHORT)
    rough = quiet(rough, T, np.arange(24) % 3)
    with pytest.raises(ValueError, match="too rough to have one"):
        rough.predict_derivative(T)
    assert np.isfinite(rough.predict_derivative(T, component="k2").mean).all()
