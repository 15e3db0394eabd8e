"""The Monte Carlo standard error of predictions."""

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.diagnostics._vehtari import mcse_of_means
from skgpmcmc.estimators import _latent_predictions, _monte_carlo
from skgpmcmc.estimators._monte_carlo import describe_mcse, spread_rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (12, 2))
NEW = RNG.uniform(-2.0, 2.0, (5, 2))
Y = RNG.poisson(2.0, 12)
SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 20, "random_state": 0}
ESTIMATORS = {
    "two classes": (MCMCGaussianProcessClassifier(), Y > 1),
    "one against the rest": (MCMCGaussianProcessClassifier(), Y % 3),
    "softmax": (MCMCGaussianProcessClassifier(multi_class="softmax"), Y % 3),
    "regression": (MCMCGaussianProcessRegressor(normalize_y=True), 3.0 + 10.0 * X[:, 0]),
    "student-t": (MCMCGaussianProcessRegressor(likelihood="student-t"), Y + X[:, 0]),
    "counts": (MCMCCoxProcessRegressor(), Y),
    "negative binomial": (MCMCCoxProcessRegressor(likelihood="negative-binomial"), Y),
}


@pytest.fixture(scope="module")
def models():
    return {
        name: clone(estimator).set_params(**SHORT).fit(X, y)
        for name, (estimator, y) in ESTIMATORS.items()
    }


def predict(model, new=NEW):
    return getattr(model, "predict_proba", model.predict)(new)


# The formula ------------------------------------------------------------------------------------


def test_independent_draws():
    """sd / sqrt(n), whatever the chains; an ESS of 4,000 is off by a few percent."""
    values = 3.0 * np.random.default_rng(0).standard_normal((4000, 60))
    found = mcse_of_means(values, np.repeat(np.arange(4), 1000))
    ratio = found / (values.std(axis=0, ddof=1) / np.sqrt(4000))
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std() / np.sqrt(60) + 0.02
    assert ratio.std() < 0.1


@pytest.mark.parametrize("n_used", [4000, 999, 203])
def test_correlated_draws_and_subsets_of_them(n_used):
    """Of a first-order autoregression the variance of any mean is known."""
    rho, n = 0.8, 1000
    noise = np.random.default_rng(1).standard_normal((4, n + 200, 60))
    chains = np.sqrt(1.0 - rho**2) * lfilter([1.0], [1.0, -rho], noise, axis=1)[:, 200:]
    which = np.unique(np.linspace(0, 4 * n - 1, n_used).round().astype(int))
    found = mcse_of_means(chains.reshape(4 * n, 60)[which], which // n)
    same = (which[:, None] // n) == (which // n)
    variance = (same * rho ** np.abs(which[:, None] - which)).sum() / len(which) ** 2
    ratio = found / np.sqrt(variance)
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std() / np.sqrt(60) + 0.05
    # Without the correlation it would be a third at n_used=4000.
    assert (found.mean() > 2.0 / np.sqrt(len(which))) == (n_used == 4000)


def test_chains_of_unequal_numbers_of_draws():
    values = np.random.default_rng(2).standard_normal((61, 3))
    chains = np.repeat([0, 1, 3], [20, 21, 20])
    rest = np.delete(values, 40, axis=0)
    expected = [np.sqrt(60 / 61) * mcse_mean(column.reshape(3, 20)) for column in rest.T]
    np.testing.assert_allclose(mcse_of_means(values, chains), expected, rtol=1e-12)


def test_too_few_draws_have_none():
    values = np.random.default_rng(3).standard_normal((10, 2))
    assert np.isnan(mcse_of_means(values, np.repeat([0, 1], 5))).all()


# Estimators -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_shape_and_size(name, models):
    model = models[name]
    found, predicted = model.prediction_mcse(NEW), predict(model)
    assert found.shape == predicted.shape
    assert (found > 0.0).all()
    alone = np.concatenate([model.prediction_mcse(row[np.newaxis]) for row in NEW])
    np.testing.assert_allclose(found, alone, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if "rest" not in n and n != "softmax"])
def test_predictions_are_means_of_what_it_is_made_of(name, models):
    model = models[name]
    values = np.concatenate([v for _, v in model._conditional_predictions(NEW)], axis=1)
    expected = predict(model)
    if "classes" in name:
        expected = 0.0 * expected  # deviations from the probabilities
    np.testing.assert_allclose(values.mean(axis=0), expected, rtol=1e-8, atol=1e-12)


def test_classes_against_the_rest_are_normalised(models):
    """Numerical derivatives of the normalised probabilities along the weight of each draw."""
    model = models["one against the rest"]
    ((_, mean, variance),) = model._chunks(NEW)
    ((_, values),) = model._conditional_predictions(NEW)
    pairs = zip(mean, variance, strict=True)
    p = np.stack([model._likelihood.success_probability(*pair) for pair in pairs], axis=-1)
    for draw in (0, 7, 39):
        weights = np.full(len(p), 1.0 / len(p))
        step = 1e-6
        weights[draw] += step
        moved, still = (np.tensordot(w, p, axes=1) for w in (weights, np.full(len(p), 1 / len(p))))
        change = moved / moved.sum(axis=1, keepdims=True) - still / still.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(values[draw], change / step, rtol=1e-4, atol=1e-6)


def test_units(models):
    model = models["regression"]
    copy = clone(model).fit(X, 100.0 * ESTIMATORS["regression"][1])
    np.testing.assert_allclose(
        copy.prediction_mcse(NEW), 100.0 * model.prediction_mcse(NEW), rtol=1e-3
    )
    counts = models["counts"]
    exposure = np.array([0.0, 0.5, 1.0, 2.0, 10.0])
    np.testing.assert_allclose(
        counts.prediction_mcse(NEW, exposure), exposure * counts.prediction_mcse(NEW), rtol=1e-12
    )


def test_fewer_draws_have_a_larger_error(models):
    model = clone(models["counts"]).set_params(n_draws=200).fit(X, Y)
    every = model.prediction_mcse(NEW)
    few = model.set_params(max_prediction_draws=20).prediction_mcse(NEW)
    assert np.median(few / every) > 1.5


# The summary ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_summary_tells_the_error_at_training_rows(name, models, monkeypatch):
    model = models[name]
    found = model.prediction_mcse(model.X_train_)
    line = (
        f"Monte Carlo error of predictions at the training rows: at most {found.max():.2g} "
        f"(median {np.median(found):.2g})."
    )
    table = model.summary()
    assert repr(table).split("\n")[-1] == line
    assert line in table._repr_html_()
    assert repr(table.copy()).split("\n")[-1] == line
    monkeypatch.setattr(_latent_predictions.LatentPredictions, "_n_affordable_draws", lambda _: 39)
    assert "Monte Carlo error" not in repr(model.summary())


def test_at_most_fifty_rows_are_looked_at():
    assert len(spread_rows(np.zeros((7, 2)))) == 7
    np.testing.assert_array_equal(spread_rows(np.arange(99)), 2 * np.arange(50))
    assert spread_rows(["a", "b"]) == ["a", "b"]
    assert _monte_carlo._MOST_ROWS == 50


def test_nothing_is_said_of_errors_that_are_not_defined():
    assert describe_mcse(np.array([np.nan, np.nan])) == ""
    assert describe_mcse(np.array([np.nan, 0.5])).endswith("at most 0.5 (median 0.5).")


# Repeated fits ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("max_prediction_draws", [None, 120])
def test_spread_of_repeated_fits(max_prediction_draws):
    """The variance over 30 fits, in units of the mean squared error that each of them states.

    It is a chi-square variable of 29 degrees of freedom over 29, of standard deviation 0.26, for
    each row; those of different rows are correlated, so that they are not averaged out.
    """
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    options = {"n_chains": 3, "n_warmup": 150, "n_draws": 300}
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0.0, 6.0, 15))[:, np.newaxis]
    y, new = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(15), np.array([[1.0], [3.3], [7.0]])
    model = MCMCGaussianProcessRegressor(
        kernel, max_prediction_draws=max_prediction_draws, **options
    )
    fits = [clone(model).set_params(random_state=seed).fit(x, y) for seed in range(30)]
    spread = np.var([fit.predict(new) for fit in fits], axis=0, ddof=1)
    stated = np.mean([fit.prediction_mcse(new) ** 2 for fit in fits], axis=0)
    assert (np.abs(spread / stated - 1.0) < 4.0 * np.sqrt(2.0 / 29.0)).all()
