"""Several classes, weights, intervals, continued chains: the classifier's wider interface."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from rounding import ELEMENTWISE, FEW_OPERATIONS, remember_moments
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    WhiteKernel,
)
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict

from skgpmcmc import MCMCGaussianProcessClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 20, "random_state": 0}
MODES = ["one_vs_rest", "softmax"]


def flowers(step=3):
    X, y = load_iris(return_X_y=True)
    return X[::step], np.array(["setosa", "versicolor", "virginica"])[y[::step]]


@pytest.mark.parametrize("mode", MODES)
def test_three_classes(mode, monkeypatch):
    X, y = flowers(5)
    remember_moments(monkeypatch)
    model = MCMCGaussianProcessClassifier(multi_class=mode, mean="constant", **SHORT).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=FEW_OPERATIONS)
    assert model.score(X, y) > 0.9
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert model.posterior_["k2__length_scale"].shape == (2, 20, 3, 4)
    assert model.posterior_["mean"].shape == (2, 20, 3)
    assert "virginica: k2__length_scale[3]" in model.diagnostics_
    assert isinstance(model.kernel_, CompoundKernel)
    assert len(model.trace_) == 3
    ends = model.predict_interval(X)
    assert ends.shape == (30, 3, 2)
    assert (ends[..., 0] <= ends[..., 1]).all()
    assert ((ends >= 0.0) & (ends <= 1.0)).all()
    mean, std = model.predict_latent(X, return_std=True)
    assert mean.shape == std.shape == (30, 3)
    own = model.log_predictive_density(X, y)
    np.testing.assert_allclose(own, np.log(p[np.arange(30), np.unique(y, return_inverse=True)[1]]))
    np.testing.assert_allclose(model.predict_proba(X[3:4]), p[3:4], atol=ELEMENTWISE)
    draws = model.sample_y(X[:1], 4000, random_state=0)
    for label, probability in zip(model.classes_, p[0], strict=True):
        error = np.sqrt(probability * (1.0 - probability) / 4000)
        assert abs((draws == label).mean() - probability) < 5 * error


@pytest.mark.parametrize("mode", MODES)
def test_weights_are_copies(mode):
    X, y = flowers(10)
    weights = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    model = MCMCGaussianProcessClassifier(multi_class=mode, **SHORT)
    weighted = model.fit(X, y, sample_weight=weights).predict_proba(X)
    repeated = model.fit(X[rows], y[rows]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.second_stage
def test_warm_start_continues_the_chains(mode):
    X, y = flowers(10)
    options = {"multi_class": mode, "min_ess": None, **SHORT}
    whole = MCMCGaussianProcessClassifier(**{**options, "n_draws": 55}).fit(X, y)
    model = MCMCGaussianProcessClassifier(warm_start=True, **options).fit(X, y)
    model.set_params(n_draws=55).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    with pytest.warns(UserWarning, match="adds no draws"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"differ from it: kernel\. Pass the same"):
        model.set_params(kernel=RBF(1.0)).fit(X, y)


def test_order_of_the_rows_does_not_matter():
    X, y = flowers(10)
    order = np.random.default_rng(0).permutation(len(y))
    model = MCMCGaussianProcessClassifier(**SHORT)
    first = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X[order], y[order]).predict_proba(X), first, atol=1e-6)


def test_white_noise_keeps_equal_rows_apart():
    X, y = np.zeros((4, 1)), [0, 0, 1, 1]
    kernel = RBF(1.0, "fixed") + WhiteKernel(0.5, "fixed")
    model = MCMCGaussianProcessClassifier(kernel, **SHORT).fit(X, y)
    assert len(model.X_train_) == 4
    assert len(MCMCGaussianProcessClassifier(RBF(1.0), **SHORT).fit(X, y).X_train_) == 1


@pytest.mark.parametrize("mode", MODES)
def test_draws_do_not_depend_on_how_chains_run(mode):
    X, y = flowers(10)
    options = {"multi_class": mode, **SHORT}
    serial = MCMCGaussianProcessClassifier(**options).fit(X, y).trace_
    parallel = MCMCGaussianProcessClassifier(n_jobs=2, **options).fit(X, y).trace_
    with joblib.parallel_config(backend="threading"):
        threads = MCMCGaussianProcessClassifier(n_jobs=2, **options).fit(X, y).trace_
    for other in (parallel, threads):
        for a, b in zip(serial, other, strict=True):
            np.testing.assert_array_equal(a.theta, b.theta)
            np.testing.assert_array_equal(a.latent, b.latent)


@pytest.mark.second_stage
def test_copies_predict_the_same():
    X, y = flowers(5)
    options = {**SHORT, "n_draws": 200, "min_ess": None}
    model = MCMCGaussianProcessClassifier(ConstantKernel() * RBF(1.0), **options).fit(X, y)
    before = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    first = model.predict_proba(X)
    for other in [*before, pickle.loads(pickle.dumps(model))]:
        np.testing.assert_array_equal(other.predict_proba(X), first)
    draws = sum(t.latent.nbytes + 2 * t.theta.nbytes for t in model.trace_)
    # Priors, labels and so on take a quarter of a megabyte at any size.
    assert len(pickle.dumps(model)) < 1.2 * draws + 300_000


@pytest.mark.second_stage
def test_scikit_learn_tools():
    X, y = flowers(5)
    kernel = ConstantKernel() * RBF(1.0)
    model = MCMCGaussianProcessClassifier(kernel, **SHORT)
    p = cross_val_predict(model, X, y, cv=2, method="predict_proba")
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    grid = {"multi_class": MODES}
    search = GridSearchCV(model, grid, cv=2, scoring="roc_auc_ovr").fit(X, y)
    assert search.best_score_ > 0.8
    assert CalibratedClassifierCV(model, cv=2).fit(X, y).score(X, y) > 0.7
    importance = permutation_importance(model.fit(X, y), X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean[2:].max() > 0.05


def test_binary_quantiles_and_densities():
    X, y = flowers()
    X, y = X[y != "setosa"], y[y != "setosa"]
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    low, middle, high = model.predict_quantiles(X, [0.01, 0.5, 0.99]).T
    assert ((low < p) & (p < high)).all()
    assert ((low < middle) & (middle < high)).all()
    np.testing.assert_array_equal(model.predict_quantiles(X[:1], [0.0, 1.0]), [[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"labels that fit has not seen: \['setosa'\]"):
        model.log_predictive_density(X[:1], ["setosa"])


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_probabilities_that_all_underflow(link, multi_class):
    if (link, multi_class) == ("probit", "softmax"):
        pytest.skip("softmax is logistic")
    X = np.array([[1e9], [1e9], [1e9 - 1.0], [1e9]])  # a plane through the origin: f is huge
    model = MCMCGaussianProcessClassifier(
        DotProduct(), link=link, multi_class=multi_class, n_chains=1, n_warmup=0, n_draws=4,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, [0, 1, 2, 2])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    quantiles = model.predict_quantiles(X, [0.1, 0.9])
    assert ((quantiles >= 0.0) & (quantiles <= 1.0)).all()
