"""Troubles that Gaussian process software is known for, each as a test."""

import functools
import tracemalloc

import numpy as np
import pytest
from rotation import one_in
from rounding import ELEMENTWISE
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.core import LatentGaussianModel, SamplerSettings, run_chains
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.likelihoods import BernoulliLogit, Gaussian, Poisson

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 10, "random_state": 0}


class TestTwoPoints:
    """x = 0, 1; y = (-4, -0.001) or (-4, +0.001): tuned point estimates jump, averages do not."""

    X = np.array([[0.0], [1.0]])
    middle = np.array([[0.5]])
    targets = (np.array([-4.0, -0.001]), np.array([-4.0, 0.001]))

    def log_likelihood(self, s2, scale, y):
        """Return the log density of y, up to a constant, and E f(0.5) given y."""
        off, cross = s2 * np.exp(-0.5 / scale**2), s2 * np.exp(-0.125 / scale**2)
        diagonal = s2 + 1e-4
        determinant = diagonal**2 - off**2
        quadratic = (diagonal * (y @ y) - 2.0 * off * y[0] * y[1]) / determinant
        return -0.5 * np.log(determinant) - 0.5 * quadratic, cross * y.sum() / (diagonal + off)

    def posterior_mean(self, y):
        """Return E f(0.5) by quadrature over a fine grid of log s2 and log l."""
        s2 = np.exp(np.linspace(np.log(0.1), np.log(100.0), 600))[:, None]
        scale = np.exp(np.linspace(np.log(0.01), np.log(100.0), 800))[None, :]
        log_weight, mean = self.log_likelihood(s2, scale, y)
        weight = np.exp(log_weight - log_weight.max())
        return float((weight * mean).sum() / weight.sum())

    @pytest.mark.parametrize(
        ("n_chains", "n_draws"), [(2, 1000), pytest.param(4, 2000, marks=pytest.mark.slow)]
    )
    def test_averages_do_not_jump(self, n_chains, n_draws):
        exact = [self.posterior_mean(y) for y in self.targets]
        assert abs(exact[0] - exact[1]) < 1e-3

        kernel = ConstantKernel(1.0, (0.1, 100.0)) * RBF(1.0, (0.01, 100.0))
        kernel += WhiteKernel(1e-4, "fixed")
        options = {
            "n_chains": n_chains,
            "n_draws": n_draws,
            "min_ess": None,
            "max_prediction_draws": 8000,
            "random_state": 0,
        }
        for y, other, expected in zip(self.targets, self.targets[::-1], exact, strict=True):
            model = MCMCGaussianProcessRegressor(kernel, **options).fit(self.X, y)
            names = "k1__k1__constant_value", "k1__k2__length_scale"
            draws = [model.posterior_[name] for name in names]
            own, each = self.log_likelihood(*draws, y)
            assert model.predict(self.middle)[0] == pytest.approx(each.mean(), abs=1e-5)
            assert abs(each.mean() - expected) < 4.0 * mcse_mean(each)
            # The same draws, weighted for the other data set: free of most Monte Carlo error.
            log_ratio, there = self.log_likelihood(*draws, other)
            weight = np.exp(log_ratio - own)
            assert abs((weight * there).sum() / weight.sum() - each.mean()) < 1e-3

    def test_tuned_point_estimates_jump(self):
        kernel = ConstantKernel(1.0, (0.1, 100.0)) * RBF(1.0, (0.01, 100.0))
        options = {"alpha": 1e-4, "n_restarts_optimizer": 20, "random_state": 0}
        low, high = (
            GaussianProcessRegressor(kernel, **options).fit(self.X, y).predict(self.middle)[0]
            for y in self.targets
        )
        assert abs(low - high) > 0.1


FAR = [(0.0, np.log(1e-3)), (0.0, np.log(1e3)), (np.log(1e4), 0.0)]


@functools.cache
def chains_from(start, seed):
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 5.0, 30)[:, None]
    kernel = ConstantKernel(1.0, (1e-5, 1e5)) * RBF(1.0, (1e-5, 1e5))
    priors = {"k1__constant_value": stats.lognorm(1.5), "k2__length_scale": stats.lognorm(1.5)}
    y = np.where(rng.random(30) < 1.0 / (1.0 + np.exp(-3.0 * np.sin(X[:, 0]))), 1, -1)
    model = LatentGaussianModel(kernel, X, BernoulliLogit(y), priors=priors)
    settings = SamplerSettings(n_warmup=200, n_draws=400)
    theta = np.tile(start, (2, 1))
    return run_chains(model, settings, n_chains=2, theta=theta, random_state=seed).theta


@pytest.mark.parametrize("start", one_in(2, [(start,) for start in FAR]))
def test_starting_points_ten_decades_away_arrive(start):
    far, near = chains_from(start, 0), chains_from((0.0, 0.0), 1)
    for i in range(2):
        error = np.hypot(mcse_mean(far[..., i]), mcse_mean(near[..., i]))
        assert abs(far[..., i].mean() - near[..., i].mean()) < 5.0 * error


def test_diagonal_covariance_predicts_the_prior_mean():
    X = np.arange(6.0)[:, None]
    y = np.array([3.0, -1.0, 2.0, 5.0, 0.0, 4.0])
    model = MCMCGaussianProcessRegressor(RBF() * WhiteKernel(), alpha=0.1, **SHORT).fit(X, y)
    # The covariances with new rows are zeros.
    np.testing.assert_allclose(model.predict(X + 0.5), 0.0, atol=ELEMENTWISE)
    counts = MCMCCoxProcessRegressor(ConstantKernel() * WhiteKernel(), mean="zero", **SHORT)
    counts.fit(X, [1, 0, 2, 3, 0, 1])
    mean, _ = counts.predict_latent(X + 0.5, return_std=True)
    np.testing.assert_allclose(mean, 0.0, atol=ELEMENTWISE)


def test_rank_deficient_kernel_equals_bayesian_linear_regression():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((25, 2)), rng.standard_normal((4, 2))
    y = X @ [1.0, -2.0] + 0.3 + 0.1 * rng.standard_normal(25)
    kernel = DotProduct(sigma_0=1.0, sigma_0_bounds="fixed")  # prior N(0, I) of three weights
    model = MCMCGaussianProcessRegressor(kernel, alpha=0.01, **SHORT).fit(X, y)
    design, at_new = (np.column_stack([np.ones(len(rows)), rows]) for rows in (X, new))
    covariance = np.linalg.inv(design.T @ design / 0.01 + np.eye(3))
    weights = covariance @ design.T @ y / 0.01
    mean, std = model.predict(new, return_std=True)
    # But for the jitter of the covariance, relative to a diagonal of up to 10.
    np.testing.assert_allclose(mean, at_new @ weights, rtol=1e-4)
    variance = np.einsum("ij,jk,ik->i", at_new, covariance, at_new)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-3)


def test_nearly_singular_covariance_has_no_negative_variance():
    X = np.linspace(0.0, 1.0, 20)[:, None]
    kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
    model = MCMCGaussianProcessRegressor(kernel, alpha=1e-8, **SHORT).fit(X, np.sin(X[:, 0]))
    new = np.linspace(-0.5, 1.5, 101)[:, None]
    mean, std = model.predict(new, return_std=True)
    assert (std >= 0.0).all()
    assert np.isfinite(mean).all()
    inside = (new[:, 0] >= 0.0) & (new[:, 0] <= 1.0)
    np.testing.assert_allclose(mean[inside], np.sin(new[inside, 0]), atol=1e-3)


def labels_of_any_type():
    pandas = pytest.importorskip("pandas")
    whole = np.array([0, 1, 1, 0, 1, 0])
    return [
        whole,
        whole.astype(float),
        whole.astype(bool),
        list(whole),
        pandas.Series(whole, dtype="Int64"),
        pandas.Series(whole, dtype="category"),
        pandas.Series(whole, index=list("abcdef")),
    ]


def test_labels_that_differ_only_in_type_give_the_same_fit():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    probabilities = [
        MCMCGaussianProcessClassifier(**SHORT).fit(X, y).predict_proba(X)
        for y in labels_of_any_type()
    ]
    for other in probabilities[1:]:
        np.testing.assert_array_equal(other, probabilities[0])


@pytest.mark.parametrize("estimator", [MCMCGaussianProcessRegressor, MCMCCoxProcessRegressor])
def test_targets_that_differ_only_in_type_give_the_same_fit(estimator):
    pandas = pytest.importorskip("pandas")
    X = np.arange(6.0)[:, None]
    whole = np.array([0, 3, 1, 0, 2, 5])
    same = [whole.astype(float), list(whole), pandas.Series(whole, dtype="Int64")]
    first = estimator(**SHORT).fit(X, whole).predict(X)
    for y in same:
        np.testing.assert_array_equal(estimator(**SHORT).fit(X, y).predict(X), first)
    with pytest.warns(UserWarning, match="column-vector"):
        column = estimator(**SHORT).fit(X, whole[:, None]).predict(X)
    np.testing.assert_array_equal(column, first)


def test_column_of_labels_is_taken_with_a_warning():
    X = np.arange(6.0)[:, None]
    y = np.array([0, 1, 1, 0, 1, 0])
    with pytest.warns(UserWarning, match="column-vector"):
        column = MCMCGaussianProcessClassifier(**SHORT).fit(X, y[:, None]).predict_proba(X)
    flat = MCMCGaussianProcessClassifier(**SHORT).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(column, flat)


def test_feature_names_that_changed():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "dose": [2.0, 1.0, 2.0]})
    model = MCMCGaussianProcessRegressor(**SHORT).fit(X, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"age": "weight"}))


def test_huge_rates_do_not_overflow_integers():
    X = np.arange(4.0)[:, None]
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, [10**15, 10**15, 10**14, 10**15])
    counts = model.sample_y(X, 3, random_state=0, exposure=1e10)
    assert counts.dtype.kind == "i"
    assert (counts > 0).all()


def test_exposures_over_ten_decades():
    rng = np.random.default_rng(0)
    X = np.arange(30.0)[:, None]
    exposure = 10.0 ** rng.uniform(-5.0, 5.0, 30)
    y = rng.poisson(2.0 * exposure)
    model = MCMCCoxProcessRegressor(n_chains=2, random_state=0).fit(X, y, exposure=exposure)
    low, high = model.predict_interval(X, 0.999).T
    assert ((low < 2.0) & (high > 2.0)).all()


def test_all_counts_zero():
    X = np.arange(5.0)[:, None]
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, np.zeros(5), exposure=10.0)
    assert (model.predict(X) < 1.0).all()
    assert (model.predict(X) > 0.0).all()


@pytest.mark.parametrize(
    ("estimator", "y"), [(MCMCGaussianProcessRegressor, [1.5]), (MCMCCoxProcessRegressor, [3])]
)
def test_one_row(estimator, y):
    model = estimator(**SHORT).fit([[2.0]], y)
    assert np.isfinite(model.predict([[2.0], [3.0]])).all()


def test_two_rows_of_different_classes_at_the_same_place():
    model = MCMCGaussianProcessClassifier(**SHORT).fit([[1.0], [1.0]], ["no", "yes"])
    np.testing.assert_allclose(model.predict_proba([[1.0]]).sum(), 1.0)
    low, high = model.predict_interval([[1.0]])[0]
    assert low < 0.5 < high


def test_ten_thousand_rows_are_predicted_in_bounded_memory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X, X[:, 0] > 0.0)
    new = rng.standard_normal((10_000, 2))
    tracemalloc.start()
    model.predict_proba(new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300e6  # a matrix of all pairs of new rows would take 800 MB


def test_exact_gaussian_observations_do_not_break_counts_beside_them():
    """Poisson and Gaussian models of one kernel in turn: no state is shared."""
    X = np.arange(5.0)[:, None]
    kernel = ConstantKernel(1.0, (0.1, 10.0)) * RBF(1.0, (0.1, 10.0))
    settings = SamplerSettings(n_warmup=5, n_draws=5)
    counts = LatentGaussianModel(kernel, X, Poisson([1, 0, 2, 1, 0]))
    first = run_chains(counts, settings, n_chains=1, random_state=0).theta
    run_chains(LatentGaussianModel(kernel, X, Gaussian(X[:, 0], 0.1)), settings, n_chains=1)
    again = run_chains(counts, settings, n_chains=1, random_state=0).theta
    np.testing.assert_array_equal(first, again)
