"""Fits whose arrays joblib maps into memory, read-only, on files that it deletes."""

import copy
import functools
import pickle

import joblib
import numpy as np
import pytest
from borrowed import borrowed
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

# Far below joblib's own limit of a megabyte: nearly every array is above it.
LIMIT = 100
SETTINGS = {"n_chains": 2, "n_warmup": 4, "n_draws": 54, "n_jobs": 2, "random_state": 0}
X = np.random.default_rng(0).normal(size=(30, 2))
COUNTS = np.random.default_rng(1).poisson(2.0, size=30)
FITS = {
    "classes": (MCMCGaussianProcessClassifier(**SETTINGS), np.where(COUNTS > 1, "many", "few")),
    "softmax": (MCMCGaussianProcessClassifier(multi_class="softmax", **SETTINGS), COUNTS % 3),
    "numbers": (MCMCGaussianProcessRegressor(**SETTINGS), COUNTS * 0.1),
    "outliers": (MCMCGaussianProcessRegressor(likelihood="student-t", **SETTINGS), COUNTS * 0.1),
    "counts": (MCMCCoxProcessRegressor(**SETTINGS), COUNTS),
}
pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:sample_weight"),
]


def fitted(name, **changes):
    model, y = FITS[name]
    with parallel_config(backend="loky", max_nbytes=LIMIT):
        return clone(model).set_params(warm_start=True, **changes).fit(X, y)


@pytest.fixture(scope="module")
def parallel_fit():
    """Return copies of fits whose chains ran in processes."""
    fits = {}

    def fit(name):
        if name not in fits:
            fits[name] = fitted(name)
        return copy.deepcopy(fits[name])

    return fit


def later_but_for(*names):
    """Return all fits; others than these run in the second stage."""
    return [
        pytest.param(name, marks=[] if name in names else pytest.mark.second_stage) for name in FITS
    ]


def continued(model, y):
    with parallel_config(backend="loky", max_nbytes=LIMIT):
        return model.set_params(n_draws=60).fit(X, y)


@pytest.fixture(scope="module")
def whole():
    """Return fits that never stopped."""
    return functools.cache(lambda name: fitted(name, n_draws=60, n_jobs=1))


def assert_same(model, other):
    for one, two in zip(model._traces, other._traces, strict=True):
        for trace, expected in zip(one, two, strict=True):
            np.testing.assert_array_equal(trace.theta, expected.theta)
            np.testing.assert_array_equal(trace.latent, expected.latent)


def reloaded(model, path, mmap_mode):
    joblib.dump(model, path / "model.joblib")
    return joblib.load(path / "model.joblib", mmap_mode=mmap_mode)


MAPS = "loaded as read-only maps"
WAYS = {
    "at once": lambda model, path: model,
    "after the pool is gone": lambda model, path: get_reusable_executor().shutdown() or model,
    "copied": lambda model, path: copy.deepcopy(model),
    "pickled": lambda model, path: pickle.loads(pickle.dumps(model)),
    "loaded": lambda model, path: reloaded(model, path, None),
    MAPS: lambda model, path: reloaded(model, path, "r"),
}


#: Each way, and each estimator in one way. What starts new processes is left to the second stage.
LATER = {("counts", "after the pool is gone"), ("classes", MAPS), ("numbers", MAPS)}
GO_ON = [*(("counts", way) for way in WAYS), *((name, MAPS) for name in FITS if name != "counts")]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(*case, marks=pytest.mark.second_stage if case in LATER else [])
        for case in GO_ON
    ],
)
def test_fits_go_on_to_the_same_draws(name, way, whole, parallel_fit, tmp_path):
    model = parallel_fit(name)
    assert borrowed(model) == []
    model = WAYS[way](model, tmp_path)
    model = continued(model, FITS[name][1])
    assert_same(model, whole(name))
    assert borrowed(model) == []


def test_parameters_that_are_arrays_are_the_same_when_mapped(tmp_path):
    """Noise variances, and length scales of a kernel."""
    _, y = FITS["numbers"]
    kernel = ConstantKernel() * RBF(np.array([1.0, 2.0]))
    model = MCMCGaussianProcessRegressor(kernel, **SETTINGS)
    model.set_params(alpha=np.linspace(0.1, 0.5, len(y)), warm_start=True, n_jobs=None)
    expected = clone(model).set_params(n_draws=60).fit(X, y)
    mapped = reloaded(model.fit(X, y), tmp_path, "r")
    assert isinstance(mapped.alpha, np.memmap)
    assert_same(mapped.set_params(n_draws=60).fit(X, y), expected)


@pytest.mark.parametrize("name", later_but_for("softmax"))
def test_fits_within_workers_keep_nothing_borrowed(name, whole):
    """What a search does in parallel: the data are memory maps there."""
    model, y = FITS[name]
    model = clone(model).set_params(n_draws=60, n_jobs=None, warm_start=True, copy_X_train=False)
    weights = np.ones(len(y))
    fits = Parallel(n_jobs=2, max_nbytes=LIMIT)(
        delayed(_fit)(clone(model), X, y, weights) for _ in range(2)
    )
    assert [places for _, places in fits] == [[], []]
    assert_same(fits[0][0], whole(name))


def _fit(model, X, y, weights):
    assert isinstance(X, np.memmap) or isinstance(X.base, np.memmap)
    model.fit(X, y, sample_weight=weights)
    return model, borrowed(model)


def test_read_only_arrays_can_be_fitted_and_stay_as_they_are():
    for name, (model, y) in FITS.items():
        mine, counts, weights = X.copy(), y.copy(), np.arange(1.0, len(y) + 1.0)
        for array in (mine, counts, weights):
            array.flags.writeable = False
        model = clone(model).set_params(n_jobs=None, n_draws=5)
        assert borrowed(model.fit(mine, counts, sample_weight=weights)) == [], name


@pytest.mark.parametrize("name", later_but_for("softmax"))
def test_mapped_fits_predict(name, parallel_fit, tmp_path):
    model = parallel_fit(name)
    mapped = reloaded(model, tmp_path, "r")
    expected = model.predict(X)
    for _ in range(2):
        np.testing.assert_array_equal(mapped.predict(X), expected)
    results = Parallel(n_jobs=2, max_nbytes=LIMIT)(delayed(_predict)(model, X) for _ in range(2))
    np.testing.assert_array_equal(results, [expected, expected])


def _predict(model, X):
    model.predict_latent(X, return_std=True)
    model.sample_y(X[:3], 2, random_state=0)
    return model.predict(X)


def test_draws_in_read_only_arrays_have_room_of_their_own(parallel_fit):
    """As Dask hands out what it received."""
    trace = parallel_fit("counts").trace_
    draws = trace.chain(1)
    for values in draws.arrays().values():
        values.flags.writeable = False
    more = draws.with_room(70)
    assert borrowed(more.arrays()) == []
    assert more.n_kept == 54
    for name, values in more.arrays().items():
        assert len(values) == 70
        np.testing.assert_array_equal(values[:54], getattr(trace, name)[1])
