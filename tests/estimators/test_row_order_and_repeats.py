"""Draws and predictions depend on nothing but the data and the random state."""

import copy
import functools
import io
import pickle

import joblib
import numpy as np
import pytest
from rounding import ELEMENTWISE, moment_bounds, remember_moments
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._prediction import _dense
from skgpmcmc._prediction._conditional import Conditional
from skgpmcmc.likelihoods.predictive import _normal, _poisson

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {
    "n_chains": 2,
    "n_warmup": 8,
    "n_draws": 10,
    "max_prediction_draws": 6,
    "random_state": 0,
}
QUANTILES = [0.0, 0.05, 0.5, 0.9]
ESTIMATORS = {
    "two classes": MCMCGaussianProcessClassifier(**SHORT),
    "one-vs-rest": MCMCGaussianProcessClassifier(**SHORT),
    "softmax": MCMCGaussianProcessClassifier(multi_class="softmax", **SHORT),
    "gaussian": MCMCGaussianProcessRegressor(normalize_y=True, **SHORT),
    "student-t": MCMCGaussianProcessRegressor(likelihood="student-t", **SHORT),
    "counts": MCMCCoxProcessRegressor(**SHORT),
}
# One of each class: the others differ in their predictions alone.
KINDS = ["two classes", "gaussian", "counts"]


def problem(name, n=24):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    signal = np.sin(X[:, 0]) + X[:, 1]
    if name == "counts":
        return X, rng.poisson(5.0 * np.exp(signal))
    noisy = signal + 0.2 * rng.standard_normal(n)
    if name in ("gaussian", "student-t"):
        return X, noisy
    return X, np.digitize(noisy, [0.0] if name == "two classes" else [-0.5, 0.5])


def fit(name, **changes):
    X, y = problem(name)
    return clone(ESTIMATORS[name]).set_params(**changes).fit(X, y)


@functools.cache
def _fitted(name):
    return fit(name)


def fitted(name):
    """Return a copy of a fit that several tests have."""
    return copy.deepcopy(_fitted(name))


def new_rows(n=9):
    """Return rows between, at and far from the training rows, one of them twice."""
    rows = np.random.default_rng(1).uniform(-2.5, 2.5, (n, 2))
    rows[1], rows[2], rows[3] = problem("two classes")[0][5], [50.0, -50.0], rows[0]
    return rows


def predictions(name, model, X):
    """Return all that is predicted row by row: an array for each method, rows first."""
    targets = problem(name)[1]
    y = targets[np.arange(len(X)) % 3]
    latent, latent_std = model.predict_latent(X, return_std=True)
    found = {
        "predict": model.predict(X),
        "latent": latent,
        "latent_std": latent_std,
        "interval": model.predict_interval(X, 0.8),
        "quantiles": model.predict_quantiles(X, QUANTILES),
        "exceedance": model.predict_exceedance(X, 0.5 + 0.4 * np.tanh(X[:, 0])),
        "density": model.log_predictive_density(X, y),
    }
    if hasattr(model, "predict_proba"):
        found["proba"] = model.predict_proba(X)
        found["log_proba"] = model.predict_log_proba(X)
    elif name == "counts":
        exposure = 1.0 + np.arange(len(X)) % 3
        found["exposed"] = model.predict(X, exposure=exposure)
        found["exposed_quantiles"] = model.predict_quantiles(X, QUANTILES, exposure=exposure)
    else:
        found["std"] = model.predict(X, return_std=True)[1]
    return found


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)


def assert_close(one, other):
    """Check predictions from the same moments: `remember_moments`."""
    assert one.keys() == other.keys()
    # Quantiles are searched for until a bracket is this fraction of a standard deviation wide;
    # of two searches one may take a step more. Links have slopes of up to 1, or of their value.
    spread = other.get("std", other["latent_std"]).max()
    searched = _normal._RESOLUTION * max(1.0, spread)
    for name, values in one.items():
        tolerance = searched if name in ("interval", "quantiles") else ELEMENTWISE
        np.testing.assert_allclose(
            values, other[name], rtol=tolerance, atol=tolerance, err_msg=name
        )


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": through_joblib,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("how", COPIES)
def test_copies_predict_the_same_bit_for_bit(name, how):
    model, X = fitted(name), new_rows()
    before = COPIES[how](model)
    expected = predictions(name, model, X)
    for other in (before, COPIES[how](model)):
        assert_equal(predictions(name, other, X), expected)
        np.testing.assert_array_equal(
            other.sample_y(X, 3, random_state=0), model.sample_y(X, 3, random_state=0)
        )


@pytest.mark.parametrize("name", KINDS)
def test_copies_continue_the_chains(name):
    X, y = problem(name)
    model = fit(name, warm_start=True)
    other = pickle.loads(pickle.dumps(model))
    model.set_params(n_draws=15).fit(X, y)
    other.set_params(n_draws=15).fit(X, y)
    np.testing.assert_array_equal(other.trace_.latent, model.trace_.latent)
    np.testing.assert_array_equal(other.trace_.theta, model.trace_.theta)


@pytest.mark.parametrize("name", KINDS)
def test_draws_do_not_depend_on_how_chains_run(name):
    serial = fit(name, n_chains=3, n_jobs=1)
    others = [fit(name, n_chains=3, n_jobs=n_jobs) for n_jobs in (2, -1, None)]
    with joblib.parallel_config(backend="threading"):
        others += [fit(name, n_chains=3, n_jobs=n_jobs) for n_jobs in (1, 2, -1)]
    for other in others:
        np.testing.assert_array_equal(other.trace_.theta, serial.trace_.theta)
        np.testing.assert_array_equal(other.trace_.latent, serial.trace_.latent)
    chains = serial.trace_.theta
    assert not np.array_equal(chains[0], chains[1])


@pytest.mark.parametrize("name", KINDS)
def test_a_pickle_holds_the_draws_and_little_else(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-10.0, 10.0, (400, 2))
    y = rng.poisson(2.0, 400) if name == "counts" else rng.standard_normal(400)
    kernel = ConstantKernel(1.0) * RBF(1.0, "fixed")
    if name == "gaussian":
        kernel += WhiteKernel(1.0, "fixed")
    # A single hyperparameter that only rescales the covariance, and the draws are cheap.
    options = {
        "n_chains": 1,
        "n_warmup": 0,
        "n_draws": 1000,
        "min_ess": None,
        "n_latent_updates": 1,
    }
    model = clone(ESTIMATORS[name]).set_params(
        kernel=kernel, representation="prior-white", **options
    )
    model.fit(X, y > 0.0 if name == "two classes" else y).predict(X[:5])
    assert model.trace_.latent.nbytes == 3.2e6
    assert len(pickle.dumps(model)) < 1.3 * (model.trace_.latent.nbytes + X.nbytes)


def moments(functions, X):
    """Return mean and variance, for each latent function: (functions, 2, draws, rows)."""
    chunks = [[part[1:] for part in draws.chunks(X)] for draws in functions]
    return np.array([np.concatenate(parts, axis=-1) for parts in chunks])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_moments_of_a_row_do_not_depend_on_the_others(name, monkeypatch):
    model, X = fitted(name), new_rows()
    functions = model._posterior_draws()
    allowed = np.array([moment_bounds(draws, X) for draws in functions])
    expected = moments(functions, X)

    def check(rows, where=slice(None)):
        difference = np.abs(moments(functions, X[rows]) - expected[..., rows])
        assert np.all((difference <= allowed[..., rows])[..., where])

    check(np.arange(len(X))[::-1])
    for row in range(len(X)):
        for n_beside in range(4):
            check(np.full(1 + n_beside, row), [n_beside])
    bytes_per_row = 8 * max(len(functions[0]), len(model.X_train_))
    for size, n_chunks in [(1, 9), (7, 2), (2**40, 1)]:
        monkeypatch.setattr(_dense, "CHUNK_BYTES", size * bytes_per_row)
        assert len(list(functions[0].chunks(X))) == n_chunks
        check(np.arange(len(X)))
    # The bounds are small: a millionth of the next row's covariances would be seen.
    project = Conditional.project

    def leak(self, X, mean):
        cross = project(self, X, mean)
        mean += 1e-6 * (np.roll(mean, 1) - mean)
        return cross + 1e-6 * (np.roll(cross, 1, axis=1) - cross)

    monkeypatch.setattr(Conditional, "project", leak)
    differs = np.abs(moments(functions, X) - expected) > allowed
    assert np.all(differs.any(axis=2))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_chunks_of_any_size_predict_the_same(name, monkeypatch):
    model, X = fitted(name), new_rows()
    draws = model._posterior_draws()[0]
    bytes_per_row = 8 * max(len(draws), len(model.X_train_))
    remember_moments(monkeypatch)
    expected = predictions(name, model, X)
    for size, n_chunks in [(1, 9), (7, 2), (2**40, 1)]:
        monkeypatch.setattr(_dense, "CHUNK_BYTES", size * bytes_per_row)
        monkeypatch.setattr(_poisson, "_CHUNK", size)
        monkeypatch.setattr(_normal, "_CHUNK", size * len(draws))
        assert len(list(draws.chunks(X))) == n_chunks
        assert_close(predictions(name, model, X), expected)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_predictions_of_a_row_do_not_depend_on_the_others(name, monkeypatch):
    model, X = fitted(name), new_rows()
    remember_moments(monkeypatch)
    expected = predictions(name, model, X)
    # Rows 3 apart have the same target and exposure in `predictions`.
    for start in range(3):
        alone = {key: [] for key in expected}
        for row in range(start, len(X), 3):
            rows = np.tile(X[row], (start + 1, 1))
            for key, values in predictions(name, model, rows).items():
                alone[key].append(values[start])
        apart = {key: values[start::3] for key, values in expected.items()}
        assert_close({key: np.array(values) for key, values in alone.items()}, apart)
    reverse = predictions(name, model, X[::-1])
    of_rows = expected.keys() - {"density", "exposed", "exposed_quantiles"}
    assert_close({k: reverse[k][::-1] for k in of_rows}, {k: expected[k] for k in of_rows})
