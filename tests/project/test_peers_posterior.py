"""The comparison with other packages: every package is given the same posterior."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from benchmarks.peers import packages
from benchmarks.peers.density import complete_data_log_likelihood, covariance
from benchmarks.peers.exchange import Lengths, Problem, Run
from benchmarks.peers.ours import make_estimator, sample
from benchmarks.peers.point_estimate import fit_seconds
from benchmarks.peers.problems import PEER_LENGTHS, load_problem

pytestmark = pytest.mark.second_stage


def few_rows(name, n=25):
    problem = load_problem(name)
    rows = np.linspace(0, len(problem.y) - 1, n).astype(int)
    return replace(problem, X=problem.X[rows], y=problem.y[rows])


def changed(run, **values):
    return Run(**vars(run) | values)


@pytest.mark.parametrize(
    ("name", "likelihood", "variance", "length_scale", "noise_variance", "mean"),
    [
        ("ionosphere", "logit", (0.1, 100.0), (0.1, 10.0), None, None),
        ("synthetic", "gaussian", (0.1, 10.0), (0.01, 10.0), 0.09, None),
        ("mining", "poisson", (0.01, 10.0), (1.0, 100.0), None, (math.log(191 / 112), 2.0)),
        ("redwoods", "poisson", (0.01, 100.0), (0.01, 1.0), None, (math.log(195 / 625), 2.0)),
    ],
)
def test_problems(name, likelihood, variance, length_scale, noise_variance, mean):
    problem = load_problem(name)
    assert problem.likelihood == likelihood
    assert problem.variance == variance
    assert problem.length_scale == length_scale
    assert problem.noise_variance == noise_variance
    assert problem.mean == (None if mean is None else pytest.approx(mean))
    assert problem.jitter == 1e-6
    assert len(problem.names) == 1 + problem.X.shape[1] + (mean is not None)


@pytest.mark.parametrize("name", PEER_LENGTHS)
def test_a_problem_comes_back_from_its_file(name, tmp_path):
    problem = load_problem(name)
    problem.save(tmp_path / "problem.npz")
    again = Problem.load(tmp_path / "problem.npz")
    assert_array_equal(again.X, problem.X)
    assert_array_equal(again.y, problem.y)
    assert replace(again, X=None, y=None) == replace(problem, X=None, y=None)


@pytest.fixture(scope="module", params=list(PEER_LENGTHS))
def fitted(request):
    """A problem, its run by our script, and an estimator that was fitted in the same way."""
    problem = few_rows(request.param)
    run = sample(problem, Lengths(2, 6, 2), seed=3)
    estimator = make_estimator(problem, n_warmup=2, n_draws=6, n_chains=2, random_state=3)
    with pytest.warns(ConvergenceWarning):
        estimator.fit(problem.X, problem.y)
    return problem, run, estimator


def test_the_estimator_has_the_likelihood_of_the_problem(fitted):
    """What it records is what the comparison computes for the draws of others."""
    problem, run, estimator = fitted
    distances = np.abs(problem.X[:, np.newaxis] - estimator.X_train_).sum(axis=2)
    latent = estimator.trace_.latent[..., distances.argmin(axis=1)]
    white = np.empty_like(latent)
    for index in np.ndindex(run.theta.shape[:2]):
        mean = run.theta[index][-1] if problem.mean else 0.0
        factor = np.linalg.cholesky(covariance(problem, run.theta[index]))
        white[index] = np.linalg.solve(factor, latent[index] - mean)
    others = changed(run, whitened=white, complete_data_log_likelihood=None)
    assert_allclose(
        complete_data_log_likelihood(problem, run, seed=0),
        complete_data_log_likelihood(problem, others, seed=0),
        rtol=1e-6,
    )


def test_the_estimator_has_the_priors_of_the_problem(fitted):
    problem, _, estimator = fitted
    priors = [prior for elements in estimator.priors_.values() for prior in elements]
    bounds = [problem.variance] + problem.X.shape[1] * [problem.length_scale]
    assert len(priors) == len(problem.names)
    for prior, (low, high) in zip(priors, bounds, strict=False):
        x = np.geomspace(low, high, 5)[1:-1]
        assert_allclose(prior.logpdf(x), stats.loguniform(low, high).logpdf(x))
        assert_allclose(prior.support(), (low, high))
    for prior in priors[len(bounds) :]:
        assert_allclose(prior.logpdf([0.0, 1.0]), stats.norm(*problem.mean).logpdf([0.0, 1.0]))


def test_our_run_is_that_of_the_estimator(fitted, tmp_path):
    problem, run, estimator = fitted
    run.save(tmp_path / "run.npz")
    run = Run.load(tmp_path / "run.npz")
    draws = {name: values.reshape(2, 6, -1) for name, values in estimator.posterior_.items()}
    mean = [draws.pop("mean")] if problem.mean else []
    expected = np.concatenate([*map(np.log, draws.values()), *mean], axis=-1)
    assert_allclose(run.theta, expected)
    assert run.theta.shape[-1] == len(problem.names)
    trace = estimator.trace_
    assert_array_equal(run.complete_data_log_likelihood, trace.complete_data_log_likelihood)
    assert run.whitened is None
    assert run.n_warmup == 2
    assert run.evaluations == sum(cost.n_covariances for cost in trace.sampling)
    assert run.seconds.shape == run.warmup_seconds.shape == (2,)
    assert (run.seconds > 0.0).all()
    assert {"python", "numpy"}.isdisjoint(run.versions)
    assert "skgpmcmc" in run.versions


@pytest.mark.parametrize("name", PEER_LENGTHS)
def test_ours_has_no_other_settings_than_a_user_gets(name):
    problem = load_problem(name)
    chosen = make_estimator(problem)
    defaults = type(chosen)().get_params(deep=False)
    own = {key for key, value in chosen.get_params(deep=False).items() if value != defaults[key]}
    expected = {"logit": set(), "gaussian": {"alpha"}, "poisson": {"priors"}}
    assert own == {"kernel"} | expected[problem.likelihood]


def tiny(likelihood, **options):
    X = np.array([[0.0, 0.0], [0.4, 1.0], [1.0, 0.3]])
    y = {"logit": [1.0, -1.0, 1.0], "gaussian": [0.5, -1.2, 0.8], "poisson": [2.0, 0.0, 5.0]}
    bounds = (0.1, 10.0), (0.1, 10.0)
    return Problem("tiny", X, np.array(y[likelihood]), likelihood, *bounds, 1e-6, **options)


def one_draw(theta, white=None):
    white = None if white is None else np.array(white)[np.newaxis, np.newaxis]
    costs = {"warmup_seconds": np.zeros(1), "seconds": np.ones(1)}
    theta = np.array(theta)[np.newaxis, np.newaxis]
    return Run(theta=theta, whitened=white, evaluations=1.0, n_warmup=0, **costs)


def by_hand(X, theta):
    """K, an entry at a time."""
    scales = np.exp(theta[1:3])
    K = [[math.exp(-0.5 * (((a - b) / scales) ** 2).sum()) for a in X] for b in X]
    return math.exp(theta[0]) * (np.array(K) + 1e-6 * np.eye(len(X)))


@pytest.mark.parametrize("likelihood", ["logit", "poisson"])
def test_complete_data_log_likelihood(likelihood):
    problem = tiny(likelihood, mean=(0.0, 2.0) if likelihood == "poisson" else None)
    theta = np.array([0.7, -0.3, 0.2] + ([1.5] if problem.mean else []))
    K = by_hand(problem.X, theta)
    mean = 1.5 if problem.mean else 0.0
    latent = mean + np.array([0.3, -0.6, 1.1])
    white = np.linalg.solve(np.linalg.cholesky(K), latent - mean)
    if likelihood == "logit":
        expected = stats.bernoulli(1.0 / (1.0 + np.exp(-latent))).logpmf([1, 0, 1]).sum()
    else:
        expected = stats.poisson(np.exp(latent)).logpmf([2, 0, 5]).sum()
    expected += stats.multivariate_normal(np.full(3, mean), K).logpdf(latent)
    actual = complete_data_log_likelihood(problem, one_draw(theta, white), seed=0)
    assert_allclose(actual, [[expected]])


def test_complete_data_log_likelihood_where_f_was_integrated_out():
    """Its mean over draws of f is that under f's conditional, by the trace formula."""
    problem = tiny("gaussian", noise_variance=0.09)
    theta = np.array([0.7, -0.3, 0.2])
    n = 4000
    run = changed(one_draw(theta), theta=np.broadcast_to(theta, (1, n, 3)))
    draws = complete_data_log_likelihood(problem, run, seed=0)[0]
    K = by_hand(problem.X, theta)
    gain = K @ np.linalg.inv(K + 0.09 * np.eye(3))
    mean, cov = gain @ problem.y, K - gain @ K
    expected = stats.norm(mean, 0.3).logpdf(problem.y).sum() - 0.5 * np.trace(cov) / 0.09
    expected += stats.multivariate_normal(np.zeros(3), K).logpdf(mean)
    expected -= 0.5 * np.trace(np.linalg.solve(K, cov))
    assert abs(draws.mean() - expected) < 4.0 * draws.std() / math.sqrt(n)


def test_our_script_as_a_process(tmp_path):
    few_rows("synthetic", 12).save(tmp_path / "problem.npz")
    packages.run_package(
        packages.OURS,
        sys.executable,
        tmp_path / "problem.npz",
        tmp_path / "run.npz",
        5,
        Lengths(2, 6, 2),
    )
    run = Run.load(tmp_path / "run.npz")
    assert run.theta.shape == (2, 6, 11)
    assert {"python", "numpy", "skgpmcmc"} <= set(run.versions)
    assert_array_equal(run.theta, sample(few_rows("synthetic", 12), Lengths(2, 6, 2), 5).theta)


@pytest.mark.parametrize("name", ["ionosphere", "synthetic"])
def test_seconds_of_a_point_estimate(name):
    problem = few_rows(name, 10)
    columns = replace(problem, X=problem.X[:, :2])
    assert fit_seconds(columns) > 0.0
