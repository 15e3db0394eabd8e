"""Warnings point at the user's line."""

import inspect
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCGaussianProcessRegressor

X = np.arange(5.0)[:, np.newaxis]
SHORT = {"n_chains": 1, "n_warmup": 1, "n_draws": 4, "random_state": 0}


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ConvergenceWarning)
        call()
    return [w for w in found if w.category is ConvergenceWarning]


@pytest.mark.parametrize(
    "model",
    [
        MCMCGaussianProcessRegressor(**SHORT),
        make_pipeline(StandardScaler(), MCMCGaussianProcessRegressor(**SHORT)),
    ],
    ids=["estimator", "pipeline"],
)
def test_convergence_warning_points_at_the_call_of_fit(model):
    line = inspect.currentframe().f_lineno + 1
    (warning,) = caught(lambda: model.fit(X, X[:, 0]))
    assert warning.filename == __file__
    assert warning.lineno == line


def test_a_fit_that_is_a_threads_only_call_can_warn():
    model = MCMCGaussianProcessRegressor(**SHORT)

    def fit_in_thread():
        thread = threading.Thread(target=model.fit, args=(X, X[:, 0]))
        thread.start()
        thread.join()

    assert len(caught(fit_in_thread)) == 1


OFFSET = {"n_chains": 2, "n_warmup": 5, "n_draws": 6, "min_ess": None, "random_state": 0}


def offset_warnings(y, sample_weight=None, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        MCMCGaussianProcessRegressor(**OFFSET | options).fit(X, y, sample_weight)
    return [str(w.message) for w in found if "The mean of y" in str(w.message)]


SIGNAL = np.sin(np.arange(5.0))


@pytest.mark.parametrize("offset", [1000.0, -1000.0, 8.0])
def test_targets_far_from_zero(offset):
    (text,) = offset_warnings(SIGNAL + offset)
    assert "mean='constant' or normalize_y=True" in text
    assert "return to zero away from the rows" in text


@pytest.mark.parametrize(
    "options",
    [
        {"mean": "constant"},
        {"normalize_y": True},
        {"kernel": ConstantKernel() + RBF() + WhiteKernel()},
    ],
)
def test_models_that_know_of_an_offset(options):
    assert offset_warnings(SIGNAL + 1000.0, **options) == []


def test_targets_near_zero_and_constant_ones():
    assert offset_warnings(SIGNAL) == []
    assert offset_warnings(SIGNAL + 5.0) == []
    assert offset_warnings(np.full(5, 0.1)) == []


def test_weights_count_for_the_offset():
    y = np.array([100.0, 100.5, 101.0, 100.2, -900.0])
    assert offset_warnings(y) == []
    assert len(offset_warnings(y, [1.0, 1.0, 1.0, 1.0, 0.0])) == 1
