"""The regressor: values, noise, units, repeated rows."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from skgpmcmc import MCMCGaussianProcessRegressor
from skgpmcmc._covariance import split_white_noise
from skgpmcmc.diagnostics import mcse_mean

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 0}
FIXED = RBF(1.0, "fixed")
X3, Y3 = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])


def waves(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize(
    ("kernel", "alpha", "noise"),
    [(FIXED + WhiteKernel(0.1, "fixed"), 1e-10, 0.1), (FIXED, 0.1, 0.0)],
)
def test_values_with_a_fixed_kernel(kernel, alpha, noise):
    model = MCMCGaussianProcessRegressor(kernel, alpha=alpha, **SHORT).fit(X3, Y3)
    mean, std = model.predict([[1.5]], return_std=True)
    latent_mean, latent_std = model.predict_latent([[1.5]], return_std=True)
    assert mean == latent_mean == pytest.approx(0.574548, abs=1e-6)
    assert latent_std**2 == pytest.approx(0.082395, abs=1e-6)
    assert std**2 == pytest.approx(0.082395 + noise, abs=1e-6)


def test_rows_of_known_noise():
    kernel = Matern(1.0, "fixed", nu=1.5)
    model = MCMCGaussianProcessRegressor(kernel, alpha=[0.01, 0.25], **SHORT)
    mean, std = model.fit(X3[:2], [0.5, 0.5]).predict([[0.0], [0.5], [1.0], [2.0]], return_std=True)
    np.testing.assert_allclose(mean, [0.49627, 0.49330, 0.43602, 0.17577], atol=1e-5)
    np.testing.assert_allclose(std, [0.09939, 0.47500, 0.43433, 0.90022], atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [
        FIXED + WhiteKernel(0.3, "fixed"),
        WhiteKernel(0.2, "fixed") + (FIXED + DotProduct(1.0, "fixed")),
        (FIXED + WhiteKernel(0.2, "fixed")) + WhiteKernel(0.1, "fixed"),
        ConstantKernel(2.0, "fixed") * (FIXED + WhiteKernel(0.2, "fixed")),
        FIXED * WhiteKernel(0.2, "fixed"),
    ],
)
@pytest.mark.parametrize("normalize_y", [True, False])
def test_scikit_learn_with_a_fixed_kernel(kernel, normalize_y):
    X, y = waves()
    options = {"alpha": 0.05, "normalize_y": normalize_y}
    model = MCMCGaussianProcessRegressor(kernel, **options, **SHORT).fit(X, y)
    peer = GaussianProcessRegressor(kernel, optimizer=None, **options).fit(X, y)
    grid = np.array([[0.1, 0.2], [0.5, -1.0], [9.0, 9.0]])
    for ours, theirs in zip(
        model.predict(grid, return_cov=True), peer.predict(grid, return_cov=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    std = model.predict(grid, return_std=True)[1]
    np.testing.assert_allclose(std, peer.predict(grid, return_std=True)[1], atol=1e-8)


def test_white_noise_is_split_off_by_name():
    kernel = ConstantKernel(2.0) * RBF([1.0, 2.0]) + WhiteKernel(0.3) + DotProduct()
    split = split_white_noise(kernel)
    assert split.noise_name == "k1__k2__noise_level"
    named = kernel.get_params()
    for latent_name, name in split.names.items():
        assert split.latent.get_params()[latent_name] is named[name]
    assert set(split.names.values()) | {split.noise_name} == {
        h.name for h in kernel.hyperparameters
    }


def test_posterior_names_are_the_kernels():
    X, y = waves()
    kernel = WhiteKernel(0.1) + ConstantKernel() * RBF([1.0, 1.0])
    model = MCMCGaussianProcessRegressor(kernel, mean="constant", **SHORT).fit(X, y)
    names = {h.name for h in kernel.hyperparameters} | {"mean"}
    assert set(model.posterior_) == names
    assert model.posterior_["k2__k2__length_scale"].shape == (2, 40, 2)
    medians = np.median(model.posterior_["k1__noise_level"])
    assert model.kernel_.k1.noise_level == pytest.approx(medians)


@pytest.mark.parametrize("mean", ["zero", "constant"])
@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
def test_change_of_units_maps_exactly(mean, likelihood):
    X, y = waves(20)
    model = MCMCGaussianProcessRegressor(
        normalize_y=True, mean=mean, likelihood=likelihood, **SHORT
    )
    mean_1, std_1 = model.fit(X, y).predict(X, return_std=True)
    density = model.log_predictive_density(X, y)
    mean_2, std_2 = model.fit(X, 64.0 * y - 7.0).predict(X, return_std=True)
    np.testing.assert_allclose((mean_2 + 7.0) / 64.0, mean_1, atol=1e-8)
    np.testing.assert_allclose(std_2 / 64.0, std_1, rtol=1e-8)
    shifted = model.log_predictive_density(X, 64.0 * y - 7.0)
    np.testing.assert_allclose(shifted + np.log(64.0), density, atol=1e-6)


def test_repeated_rows_and_weights_are_the_same():
    X, y = waves(12)
    weights = np.array([1, 2, 3, 1, 1, 2, 1, 1, 4, 1, 1, 0])
    rows = np.repeat(np.arange(12), weights)
    # Trajectories enlarge the rounding errors in which the two differ.
    model = MCMCGaussianProcessRegressor(hyperparameter_update="slice", **SHORT)
    weighted = model.fit(X, y, sample_weight=weights).predict(X, return_std=True)
    repeated = model.fit(X[rows], y[rows]).predict(X, return_std=True)
    assert len(model.X_train_) == 11
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_many_rows_of_few_inputs_cost_little():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (5000, 1)).astype(float)
    y = np.sin(X[:, 0]) + rng.standard_normal(5000)
    model = MCMCGaussianProcessRegressor(**SHORT).fit(X, y)
    assert len(model.X_train_) == 20
    noise = model.posterior_["k2__noise_level"]
    assert abs(noise.mean() - 1.0) < 5 * np.sqrt(2.0 / 5000) + 4 * mcse_mean(noise)


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
def test_predictive_distribution_is_consistent(likelihood):
    X, y = waves()
    model = MCMCGaussianProcessRegressor(likelihood=likelihood, **SHORT).fit(X, y)
    grid = X[:3]
    quantiles = model.predict_quantiles(grid, [0.1, 0.5, 0.9])
    assert (np.diff(quantiles, axis=1) > 0.0).all()
    np.testing.assert_allclose(model.predict_interval(grid, 0.8), quantiles[:, [0, 2]])
    draws = model.sample_y(grid, 4000, random_state=0)
    below = (draws[:, :, None] <= quantiles[:, None, :]).mean(axis=1)
    error = np.sqrt([0.09 / 4000, 0.25 / 4000, 0.09 / 4000])
    assert (np.abs(below - [0.1, 0.5, 0.9]) < 5 * error).all()
    # The density integrates to the probability between two quantiles.
    line = np.linspace(quantiles[0, 0], quantiles[0, 2], 401)
    density = np.exp(model.log_predictive_density(np.tile(grid[:1], (401, 1)), line))
    assert trapezoid(density, line) == pytest.approx(0.8, abs=1e-4)


def test_student_t_noise_withstands_outliers():
    X, y = waves(60)
    truth = np.sin(X[:, 0])
    y[:6] += 5.0
    options = {"n_warmup": 100, "n_draws": 100, "min_ess": None, "n_chains": 2, "random_state": 0}
    normal = MCMCGaussianProcessRegressor(**options).fit(X, y)
    robust = MCMCGaussianProcessRegressor(likelihood="student-t", **options).fit(X, y)
    error = [np.abs(m.predict(X) - truth).mean() for m in (normal, robust)]
    assert error[1] < 0.5 * error[0]
    free = MCMCGaussianProcessRegressor(
        likelihood="student-t", degrees_of_freedom=None, **SHORT
    ).fit(X, y)
    assert (free.posterior_["degrees_of_freedom"] > 2.0).all()


def test_posterior_of_the_noise_against_quadrature():
    rng = np.random.default_rng(1)
    y = 0.7 * rng.standard_normal(10)
    X = np.arange(10.0)[:, None]
    kernel = ConstantKernel(1e-12, "fixed") * FIXED + WhiteKernel(1.0)
    prior = stats.lognorm(s=1.0, scale=0.5)
    model = MCMCGaussianProcessRegressor(
        kernel, priors={"k2__noise_level": prior}, n_draws=2000, min_ess=None, random_state=0
    ).fit(X, y)
    grid = np.exp(np.linspace(-6.0, 5.0, 4001))
    weight = prior.pdf(grid) * grid * np.exp(stats.norm.logpdf(y[:, None], 0, grid**0.5).sum(0))
    expected = (weight * grid).sum() / weight.sum()
    draws = model.posterior_["k2__noise_level"]
    assert abs(draws.mean() - expected) < 4 * mcse_mean(draws)


def test_warm_start_continues_the_chains():
    X, y = waves(20)
    options = {**SHORT, "n_draws": 70, "min_ess": None}
    whole = MCMCGaussianProcessRegressor(**options).fit(X, y)
    model = MCMCGaussianProcessRegressor(**SHORT, min_ess=None, warm_start=True).fit(X, y)
    model.set_params(n_draws=70).fit(X, y)
    for name, draws in whole.posterior_.items():
        np.testing.assert_array_equal(model.posterior_[name], draws)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    for changed, arguments in [("X", (X + 1.0, y)), ("y, sample_weight", (X, y + 1.0))]:
        with pytest.raises(ValueError, match=f"differ from it: .*{changed}"):
            model.fit(*arguments)
    with pytest.raises(ValueError, match="must be at least 70"):
        model.set_params(n_draws=60).fit(X, y)
    with pytest.raises(ValueError, match="priors"):
        model.set_params(n_draws=80, priors={"k2__noise_level": stats.lognorm(1.0)}).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": [0.1, 0.2]}, r"alpha must be a number, or have shape.*3.*; got shape \(2,\)"),
        ({"alpha": [0.1, -0.2, 0.1]}, "alpha must be finite and >= 0; row 1"),
        ({"kernel": RBF(), "alpha": 0.0}, "alpha must be positive where the kernel has no White"),
        ({"likelihood": "cauchy"}, "likelihood"),
        ({"likelihood": "student-t", "kernel": RBF()}, "Add a WhiteKernel to the kernel"),
        ({"representation": "surr"}, "'marginal'"),
        ({"priors": {"noise": stats.norm()}}, "k2__noise_level"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MCMCGaussianProcessRegressor(**options).fit(X3, Y3)


def test_bad_arguments():
    model = MCMCGaussianProcessRegressor(**SHORT).fit(X3, Y3)
    with pytest.raises(RuntimeError, match="At most one"):
        model.predict(X3, return_std=True, return_cov=True)
    for level in (0.0, 1.0, 90, "0.9"):
        with pytest.raises(ValueError, match="confidence_level must be a number between 0 and 1"):
            model.predict_interval(X3, level)
    with pytest.raises(ValueError, match="quantiles must be"):
        model.predict_quantiles(X3, [0.5, 1.5])
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        model.sample_y(X3, 0)
    with pytest.raises(ValueError, match="one for each row of X"):
        model.fit(X3, Y3, sample_weight=[1.0])


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    X, y = waves(20)
    model = MCMCGaussianProcessRegressor(normalize_y=True, warm_start=True, **SHORT).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="differ from it"):
        model.fit(X + 3.0, 100.0 * y)
    with pytest.raises(ValueError, match="memory_limit"):
        model.set_params(memory_limit=1e-9).fit(X[:5] + 3.0, y[:5])
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("scale", [1e-80, 1e-6, 1e80])
def test_targets_of_any_unit(scale):
    X, y = waves(20)
    assert MCMCGaussianProcessRegressor(**SHORT).fit(X, y * scale).score(X, y * scale) > 0.9


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_beyond_double_precision_are_refused(scale):
    X, y = waves(20)
    with pytest.raises(ValueError, match=r"y must be zero.*Change its unit"):
        MCMCGaussianProcessRegressor(**SHORT).fit(X, y * scale)


def test_density_of_targets_that_are_not_finite_is_refused():
    model = MCMCGaussianProcessRegressor(**SHORT).fit(X3, Y3)
    with pytest.raises(ValueError, match="y must be finite; row 1 holds nan"):
        model.log_predictive_density(X3, [0.0, np.nan, 1.0])


def test_too_many_rows_are_refused_before_anything_is_allocated():
    X = np.arange(50_000.0)[:, None]
    with pytest.raises(
        ValueError, match=r"50000 distinct rows need about .* gigabytes.*memory_lim"
    ):
        MCMCGaussianProcessRegressor(n_inducing=None, **SHORT).fit(X, X[:, 0])


def test_bounds_that_nobody_chose_do_not_cut_the_posterior():
    x = np.random.default_rng(1).uniform(0.0, 10.0, (30, 1))
    noise = 0.5 * np.random.default_rng(2).standard_normal(30)
    kernel = 1.0 * RBF(1.0) + WhiteKernel()
    fits = [
        MCMCGaussianProcessRegressor(kernel, **SHORT).fit(
            unit_x * x, unit_y * (np.sin(x[:, 0]) + noise)
        )
        for unit_x, unit_y in ((1.0, 1.0), (1e7, 1e6))
    ]
    units = {
        "k1__k1__constant_value": 1e12,
        "k1__k2__length_scale": 1e7,
        "k2__noise_level": 1e12,
    }
    for name, unit in units.items():
        one, other = (fit.posterior_[name] for fit in fits)
        np.testing.assert_allclose(other, unit * one, rtol=1e-4)
        assert [prior.support() for prior in fits[0].priors_[name]] == [(0.0, np.inf)]


def test_warning_says_that_y_is_taken_as_free_of_noise():
    x = np.linspace(0.0, 6.0, 12)[:, np.newaxis]
    model = MCMCGaussianProcessRegressor(1.0 * RBF(1.0), n_warmup=5, n_draws=8, random_state=0)
    with pytest.warns(ConvergenceWarning, match="no WhiteKernel and alpha is its default"):
        model.fit(x, np.sin(x[:, 0]))


def test_warm_up_without_its_approximation():
    X, y = waves(14)
    alpha = np.array([0.01] * 13 + [1e-20])  # the site of the last row has no finite precision
    model = MCMCGaussianProcessRegressor(
        1.0 * RBF(1.0), alpha=alpha, likelihood="student-t", **SHORT
    )
    assert np.isfinite(model.fit(X, y).predict(X)).all()


def test_weights_that_would_overflow_are_refused():
    X, y = waves(14)
    weights = np.array([1e-310] + [1.0] * 13)
    with pytest.raises(ValueError, match=r"sample_weight.*at least 1e-100"):
        MCMCGaussianProcessRegressor(**SHORT).fit(X, y, sample_weight=weights)
