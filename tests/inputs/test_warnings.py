"""Warnings point at the user's line."""

import inspect
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
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
