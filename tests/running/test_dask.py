"""Chains on a Dask cluster: two worker processes of a real `LocalCluster`."""

import joblib
import numpy as np
import pytest
from borrowed import borrowed

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessClassifier

pytestmark = pytest.mark.second_stage

distributed = pytest.importorskip("distributed")

LENGTH = {"n_chains": 4, "n_warmup": 10, "n_draws": 10, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    """A client of a cluster of two processes, one thread each."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return X, X[:, 0] + rng.normal(size=30)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [MCMCGaussianProcessClassifier, MCMCCoxProcessRegressor])
def test_draws_are_those_of_a_serial_fit(client, estimator):
    X, y = problem()
    y = y > 0.0 if estimator is MCMCGaussianProcessClassifier else np.exp(y).astype(int)
    serial = estimator(**LENGTH).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        spread = estimator(**LENGTH).fit(X, y)
    np.testing.assert_array_equal(spread.trace_.theta, serial.trace_.theta)
    np.testing.assert_array_equal(spread.trace_.latent, serial.trace_.latent)
    np.testing.assert_array_equal(spread.predict(X), serial.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_run_on_both_workers(client):
    # In every round: none waits where the data of others are.
    X, y = problem()
    with distributed.get_task_stream(client) as stream, joblib.parallel_config(backend="dask"):
        MCMCGaussianProcessClassifier(**LENGTH | {"n_draws": 150, "min_ess": None}).fit(X, y > 0.0)
    tasks = [task for task in stream.data if "run" in str(task["key"])]
    tasks.sort(key=lambda task: task["startstops"][0]["start"])
    workers = [task["worker"] for task in tasks]
    n_chains = LENGTH["n_chains"]
    rounds = [workers[k : k + n_chains] for k in range(0, len(workers), n_chains)]
    # The warm-up, and the rounds that end after 50, 100 and 150 iterations.
    assert [len(of_round) for of_round in rounds] == [n_chains] * 4
    assert all(len(set(of_round)) == 2 for of_round in rounds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_go_on_and_own_their_arrays(client):
    X, y = problem()
    with joblib.parallel_config(backend="dask"):
        model = MCMCGaussianProcessClassifier(**LENGTH | {"warm_start": True}).fit(X, y > 0.0)
        assert borrowed(model) == []
        model.set_params(n_draws=60).fit(X, y > 0.0)
    assert borrowed(model) == []
    whole = MCMCGaussianProcessClassifier(**LENGTH | {"n_draws": 60}).fit(X, y > 0.0)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)
