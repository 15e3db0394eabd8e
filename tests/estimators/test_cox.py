"""The Cox process regressor: values, exposure, counts."""

import numpy as np
import pytest
import sklearn
from rounding import ELEMENTWISE
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import GridSearchCV

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.datasets import load_coal_mining
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.likelihoods._counts import expected_counts

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 0}


def rates(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X, exposure = rng.uniform(0.0, 6.0, (n, 1)), rng.uniform(0.5, 20.0, n)
    return X, rng.poisson(exposure * np.exp(np.sin(X[:, 0]))), exposure


@pytest.mark.parametrize("n_draws", [500, pytest.param(1000, marks=pytest.mark.slow)])
def test_mean_alone(n_draws):
    deaths = [5, 30, 2, 4, 5, 4, 7, 10]
    population = [1000, 2300, 300, 400, 500, 700, 1000, 700]
    kernel = ConstantKernel(1e-10, "fixed") * RBF(1.0, "fixed")
    model = MCMCCoxProcessRegressor(
        kernel, priors={"mean": stats.norm(0.0, 10.0)}, n_draws=n_draws, min_ess=None,
        random_state=0, max_prediction_draws=4000,
    )  # fmt: skip
    model.fit(np.arange(8.0)[:, None], deaths, exposure=population)
    mean = model.posterior_["mean"]
    assert abs(mean.mean() + 4.6414) < 4 * mcse_mean(mean) + 5e-5
    assert abs(mean.std() - 0.1226) < 4 * mcse_mean((mean + 4.6414) ** 2) / (2 * 0.1226) + 5e-5
    rate = model.predict([[3.0]])[0]
    assert abs(rate - 0.0097169) < 4 * mcse_mean(np.exp(mean)) + 5e-8


def test_exposure_is_exact_and_predictions_are_consistent():
    X, y, exposure = rates()
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, y, exposure=exposure)
    np.testing.assert_array_equal(model.predict(X, exposure=exposure), exposure * model.predict(X))
    ends = model.predict_interval(X)
    assert (ends[:, 0] < model.predict(X)).all()
    assert (model.predict(X) < ends[:, 1]).all()
    counts = model.predict_quantiles(X, [0.0, 0.1, 0.5, 0.9], exposure=exposure)
    np.testing.assert_array_equal(counts, np.floor(counts))
    assert (np.diff(counts, axis=1) >= 0).all()
    assert (counts[:, 0] == 0).all()
    grid = np.tile(X[:1], (400, 1))
    log_p = model.log_predictive_density(grid, np.arange(400), exposure=5.0)
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-6)
    draws = model.sample_y(X[:1], 4000, random_state=0, exposure=5.0)
    assert np.issubdtype(draws.dtype, np.integer)
    cdf = np.exp(log_p).cumsum()
    for k in (1, 5, 10):
        error = np.sqrt(cdf[k] * (1 - cdf[k]) / 4000)
        assert abs((draws <= k).mean() - cdf[k]) < 5 * error


def test_score_is_the_explained_deviance():
    X, y, exposure = rates()
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, y, exposure=exposure)
    assert 0.3 < model.score(X, y, exposure=exposure) < 1.0
    flat = MCMCCoxProcessRegressor(ConstantKernel(1e-10, "fixed") * RBF(1.0, "fixed"), **SHORT).fit(
        X, y, exposure=exposure
    )
    assert abs(flat.score(X, y, exposure=exposure)) < 0.02


def test_exposure_is_routed():
    X, y, exposure = rates()
    kernel = ConstantKernel(1.0) * RBF(1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = MCMCCoxProcessRegressor(kernel, **SHORT)
        model.set_fit_request(exposure=True).set_score_request(exposure=True)
        grid = {"representation": ["post-site", "surr-site"]}
        search = GridSearchCV(model, grid, cv=2).fit(X, y, exposure=exposure)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_repeated_rows_and_weights_are_the_same():
    X, y, exposure = rates(10)
    weights = np.array([1, 2, 3, 1, 0, 2, 1, 1, 4, 1])
    rows = np.repeat(np.arange(10), weights)
    model = MCMCCoxProcessRegressor(**SHORT)
    weighted = model.fit(X, y, sample_weight=weights, exposure=exposure).predict(X)
    repeated = model.fit(X[rows], y[rows], exposure=exposure[rows]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


def test_extremes():
    X = np.arange(6.0)[:, None]
    none = MCMCCoxProcessRegressor(**SHORT).fit(X, np.zeros(6), exposure=10.0)
    assert none.predict(X).max() < 0.1
    exposure = np.logspace(-5, 5, 6)
    model = MCMCCoxProcessRegressor(**SHORT)
    model.fit(X, np.round(1e3 * exposure), exposure=exposure)
    assert np.isfinite(model.predict(X * 1e6)).all()
    assert (model.sample_y(X, 3, exposure=1e300) >= 0).all()
    one = MCMCCoxProcessRegressor(**SHORT).fit([[1.0]], [3])
    assert 0.5 < one.predict([[1.0]])[0] < 9.0


def test_mining_falls():
    X, y = load_coal_mining(return_X_y=True)
    model = MCMCCoxProcessRegressor(n_warmup=100, n_draws=100, min_ess=None, random_state=0).fit(
        X, y
    )
    early, late = model.predict_interval(X[[10, -10]])
    assert early[0] > late[1]


@pytest.mark.parametrize(
    ("y", "exposure", "message"),
    [
        ([1, 2.5, 3], None, r"y must be a whole number.*; row 1 holds 2\.5"),
        ([1, 2, -3], None, "row 2 holds -3.0"),
        ([1, 2, 3], [1.0, 0.0, 1.0], "exposure must be positive and finite; row 1"),
        ([1, 2, 3], [1.0, 1.0, np.inf], "exposure .* row 2 holds inf"),
        ([1, 2, 3], [1.0, 1.0], r"exposure must be a number, or have shape \(3,\)"),
    ],
)
def test_bad_counts_and_exposures(y, exposure, message):
    X = np.arange(3.0)[:, None]
    with pytest.raises(ValueError, match=message):
        MCMCCoxProcessRegressor().fit(X, y, exposure=exposure)


def test_counts_too_large_to_be_whole_and_strings_are_refused():
    X = np.arange(3.0)[:, None]
    with pytest.raises(ValueError, match="row 1 holds 1e"):
        MCMCCoxProcessRegressor().fit(X, [1.0, 1e20, 2.0])
    with pytest.raises(ValueError, match="exposure must be real numbers; got 'a'"):
        MCMCCoxProcessRegressor().fit(X, [1, 2, 3], exposure="a")
    with pytest.raises(ValueError, match="sample_weight must be real numbers; got 'abc'"):
        MCMCCoxProcessRegressor().fit(X, [1, 2, 3], sample_weight="abc")


def test_mean_rate_without_data_is_finite():
    X, y = np.ones((24, 2)), np.tile([1, 0, 2, 4], 6)
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, y)
    assert model.predict([[5.0, -5.0]])[0] < 1e3


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("likelihood", ["poisson", "negative-binomial"])
def test_predictions_at_the_ends_of_floats(likelihood):
    X, y, _ = rates(8)
    options = {**SHORT, "n_chains": 1, "n_draws": 10}
    model = MCMCCoxProcessRegressor(likelihood=likelihood, **options).fit(X, y)
    rate = model.predict(X)
    for exposure in (1e-300, 1e300):
        np.testing.assert_array_equal(model.predict(X, exposure=exposure), exposure * rate)
        assert np.isfinite(model.predict_quantiles(X, [0.5], exposure=exposure)).all()
    for exposure in (5e-324, 1e308):
        predicted = model.predict(X, exposure=exposure)
        np.testing.assert_array_equal(predicted, [exposure * float(r) for r in rate])
        assert (model.sample_y(X, 3, random_state=0, exposure=exposure) >= 0).all()
        assert not np.isnan(model.log_predictive_density(X, y, exposure=exposure)).any()
        assert np.isfinite(model.score(X, y, exposure=exposure))
    top = model.predict_quantiles(X, [0.999], exposure=1e308)[:, 0]
    assert np.isinf(top[rate > 1.0]).all()
    drawn = model.sample_y(X, 3, random_state=0, exposure=1e308)
    assert drawn[rate > 1.0].max() > 8e18


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rates_beyond_floats_are_infinite():
    log_rate = np.array([-800.0, -650.0, 1.0, 650.0, 800.0])
    for log_exposure, rate in {
        0.0: [0.0, np.exp(-650.0), np.e, np.exp(650.0), np.inf],
        # The product with an exposure may be a float where the rate is none.
        -600.0: [0.0, 0.0, np.exp(-599.0), np.exp(50.0), np.exp(200.0)],
        600.0: [np.exp(-200.0), np.exp(-50.0), np.exp(601.0), np.inf, np.inf],
    }.items():
        expected = expected_counts(log_rate, np.exp(np.array([log_exposure])))
        np.testing.assert_allclose(expected, rate, rtol=ELEMENTWISE)


def test_score_does_not_depend_on_the_unit_of_exposure():
    X, y, exposure = rates()
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, y, exposure=exposure)
    flat = MCMCCoxProcessRegressor(**SHORT).fit(X, y, exposure=1e90 * exposure)
    assert flat.score(X, y, exposure=1e90 * exposure) == pytest.approx(
        model.score(X, y, exposure=exposure), abs=1e-4
    )


def test_exposures_of_every_kind():
    pandas = pytest.importorskip("pandas")
    X, y, exposure = rates(8)
    model = MCMCCoxProcessRegressor(n_chains=1, n_warmup=2, n_draws=4, random_state=0)
    theta = model.fit(X, y, exposure=exposure).trace_.theta
    shuffled = pandas.Series(exposure, index=np.arange(8)[::-1])  # rows are in order, not labels
    for same in (shuffled, exposure.tolist(), exposure.astype(object)):
        np.testing.assert_array_equal(model.fit(X, y, exposure=same).trace_.theta, theta)
        np.testing.assert_array_equal(model.predict(X, same), exposure * model.predict(X))
    theta = model.fit(X, y, exposure=2.0).trace_.theta
    for same in (np.array(2.0), np.float32(2.0), 2, np.full(8, 2.0)):
        np.testing.assert_array_equal(model.fit(X, y, exposure=same).trace_.theta, theta)
        np.testing.assert_array_equal(model.predict(X, same), 2.0 * model.predict(X))


def test_counts_as_digits_are_read_as_by_scikit_learn():
    X, y, _ = rates(8)
    for digits in (y.astype(str), y.astype(str).astype(object), y.astype(str).tolist()):
        slope = PoissonRegressor().fit(X, digits).coef_
        np.testing.assert_array_equal(slope, PoissonRegressor().fit(X, y).coef_)
        model = MCMCCoxProcessRegressor(n_chains=1, n_warmup=2, n_draws=4, random_state=0)
        theta = model.fit(X, digits).trace_.theta
        np.testing.assert_array_equal(theta, model.fit(X, y).trace_.theta)


@pytest.mark.parametrize("method", ["score", "log_predictive_density"])
def test_unequal_exposures_that_are_left_out_are_warned_of(method):
    X, y, exposure = rates()
    unequal = MCMCCoxProcessRegressor(**SHORT).fit(X, y, exposure=exposure)
    with pytest.warns(UserWarning, match=f"{method} assumes exposure=1 for every row.*routing"):
        getattr(unequal, method)(X, y)
    getattr(unequal, method)(X, y, exposure=exposure)  # warnings are errors
    one = MCMCCoxProcessRegressor(**SHORT).fit(X, y, exposure=np.ones(len(y)))
    getattr(one, method)(X, y)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("post-ep", "slice")),
        ({"likelihood": "negative-binomial", "representation": "collapsed"}, ("collapsed", "hmc")),
        ({"representation": 0.5}, (0.5, "slice")),
    ],
)
def test_what_auto_stood_for_can_be_seen(options, expected):
    X, y, _ = rates()
    X = np.column_stack([X, X[::-1]])
    model = MCMCCoxProcessRegressor(**SHORT, **options).fit(X, y)
    assert (model.representation_, model.hyperparameter_update_) == expected
