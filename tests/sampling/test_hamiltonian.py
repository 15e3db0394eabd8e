"""Gradients against differences, coordinates, and Hamiltonian trajectories on known targets."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from fast_kernels import FAST_KERNELS, inputs
from problems import COMBINATIONS, LIKELIHOODS, make_model, make_representation
from rotation import in_turn
from rounding import ELEMENTWISE, EPS
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, RationalQuadratic

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._covariance import KernelCovariance, make_covariance
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._hyperparameter_moves import _LOWEST_ACCEPTANCE
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import Gaussian
from skgpmcmc.priors import HyperPrior
from skgpmcmc.priors._normal_coordinates import NormalCoordinates
from skgpmcmc.updates import HamiltonianTuner, Point, hamiltonian_step
from skgpmcmc.updates._hamiltonian import _window_ends

STEP = 1e-5


def differences(function, x):
    """Return central differences of a scalar function."""
    rows = STEP * np.eye(len(x))
    return np.array([(function(x + row) - function(x - row)) / (2 * STEP) for row in rows])


@pytest.mark.parametrize("offset_variance", [0.0, 2.0])
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", FAST_KERNELS)
def test_covariance_gradient(name, fast, offset_variance):
    kernel, X = FAST_KERNELS[name], inputs(23)
    make = make_covariance if fast else KernelCovariance
    covariance = make(kernel, X, 1e-6, offset_variance, gradient=True)
    rng = np.random.default_rng(1)
    theta = kernel.theta + 0.1 * rng.standard_normal(kernel.theta.size)
    noise, deviation = rng.uniform(0.1, 1.0, 23), rng.standard_normal(23)
    start = covariance.factor(kernel.theta)

    def log_normal(point):
        factor = covariance.noisy_factor(point, noise, start)
        return factor.log_normal(factor.whiten(deviation))

    expected = differences(log_normal, theta)
    factor = covariance.noisy_factor(theta, noise, start)
    result = covariance.log_normal_gradient(factor, noise, deviation)
    np.testing.assert_allclose(result.theta, expected, rtol=1e-5, atol=1e-6)
    dense = kernel.clone_with_theta(theta)(X) * (1.0 + 1e-6 * np.eye(23)) + offset_variance
    inverse = np.linalg.inv(dense + np.diag(noise))
    np.testing.assert_allclose(result.solution, inverse @ deviation, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(result.inverse_diagonal, np.diag(inverse), rtol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_gradient_of_a_factor_that_is_not_the_last_one_written(scale):
    # The tiny length scales are those at which distances are not computed by products.
    kernel, X = 1.5 * RBF(np.array([0.7, 1.3, 2.0]) * scale), inputs(23)
    covariance = make_covariance(kernel, X, gradient=True)
    noise, deviation = np.full(23, 0.3), np.arange(23.0) / 23
    start = covariance.factor(kernel.theta + 0.5)
    factor = covariance.noisy_factor(kernel.theta, noise, start)
    expected = covariance.log_normal_gradient(factor, noise, deviation).theta
    covariance.noisy_factor(kernel.theta + 0.2, noise, factor)
    again = covariance.log_normal_gradient(factor, noise, deviation).theta
    # The slopes alone are written anew, elsewhere in memory: exponentials of distances that are
    # differences of terms of up to the largest square. They are summed over all pairs of rows.
    K, slopes = kernel(X, eval_gradient=True)
    inverse = np.linalg.inv(K + np.diag(noise))
    solution = inverse @ deviation
    terms = np.abs(np.outer(solution, solution) - inverse)[..., np.newaxis] * np.abs(slopes)
    square = ((X - X.mean(axis=0)) ** 2 / kernel.k2.length_scale**2).sum(axis=1).max()
    square = square if scale == 1.0 else 0.0
    rounding = (23 + 8 * (1.0 + square)) * EPS * terms.sum(axis=(0, 1))
    assert np.all(np.abs(again - expected) <= rounding)


@pytest.mark.parametrize(
    ("name", "representation"), [c for c in COMBINATIONS if c[1] in ("marginal", "collapsed")]
)
def test_gradient_of_the_conditional(name, representation):
    model = make_model(LIKELIHOODS[name].make())
    workspace, rng = model.workspace(gradient=True), np.random.default_rng(2)
    state = workspace.initial_state(rng)
    held = make_representation(representation, workspace)
    assert held.begin(state, rng)
    conditional = held.condition(state, rng)
    here = conditional.gradient()
    theta = state.theta + 0.1 * rng.standard_normal(len(state.theta))
    expected = differences(conditional.evaluate, theta)
    conditional.evaluate(theta)
    np.testing.assert_allclose(conditional.gradient(), expected, rtol=1e-5, atol=1e-6)
    expected = differences(conditional.evaluate, state.theta)
    np.testing.assert_allclose(here, expected, rtol=1e-5, atol=1e-6)


PRIORS = {
    "log-uniform": HyperPrior(stats.loguniform(0.1, 10.0)),
    "log-normal": HyperPrior(stats.lognorm(s=0.7, scale=3.0)),
    "log-normal, cut": HyperPrior(stats.lognorm(s=0.7, scale=3.0), bounds=(1.0, 5.0)),
    "log-normal, cut below": HyperPrior(stats.lognorm(s=0.7, scale=3.0), bounds=(1.0, np.inf)),
    "log-normal, cut above": HyperPrior(stats.lognorm(s=0.7, scale=3.0), bounds=(0.0, 5.0)),
    "gamma": HyperPrior(stats.gamma(2.0, loc=2.0, scale=10.0)),
    "half-normal": HyperPrior(stats.halfnorm(scale=2.0)),
    "normal": HyperPrior(stats.norm(1.0, 2.0), log_scale=False),
}


@pytest.mark.parametrize("name", PRIORS)
def test_coordinates(name):
    prior = PRIORS[name]
    coordinates = NormalCoordinates([prior, prior])
    theta = prior.sample(np.random.default_rng(3), size=2)
    u = coordinates.from_theta(theta)
    np.testing.assert_allclose(coordinates.to_theta(u), theta, rtol=1e-10)
    slope = coordinates.derivative(u)
    numeric = (coordinates.to_theta(u + STEP) - coordinates.to_theta(u - STEP)) / (2 * STEP)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6)

    def log_prior(u):
        return coordinates.log_prior(u, coordinates.to_theta(u), coordinates.derivative(u))[0]

    value, gradient = coordinates.log_prior(u, theta, slope)
    expected = sum(prior.log_density(x) for x in theta) + np.log(np.abs(slope)).sum()
    assert value == pytest.approx(expected, rel=ELEMENTWISE)
    np.testing.assert_allclose(gradient, differences(log_prior, u), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["log-uniform", "log-normal", "normal"])
def test_common_priors_are_standard_normal_in_their_coordinates(name):
    coordinates = NormalCoordinates([PRIORS[name]])
    for u in np.array([[-1.5], [0.3], [2.0]]):
        value, gradient = coordinates.log_prior(
            u, coordinates.to_theta(u), coordinates.derivative(u)
        )
        assert value == pytest.approx(stats.norm.logpdf(u[0]), abs=1e-10)
        assert gradient == pytest.approx(-u, abs=1e-10)


def standard_normal(x):
    return Point(x, -0.5 * float(x @ x), -x)


def test_trajectory_is_the_leapfrog_one():
    class Fixed:
        def standard_normal(self, shape):
            return np.array([0.5])

        def standard_exponential(self):
            return 50.0

    x, p, step = 1.0, 0.5, 0.3
    for _ in range(4):
        p -= 0.5 * step * x
        x += step * p
        p -= 0.5 * step * x
    start = standard_normal(np.array([1.0]))
    result = hamiltonian_step(standard_normal, start, np.array([step]), 4, Fixed())
    assert result.point.value[0] == pytest.approx(x, rel=ELEMENTWISE)
    energy = 0.5 * (x * x + p * p) - 0.5 * (1.0 + 0.25)
    assert result.acceptance == pytest.approx(min(1.0, math.exp(-energy)), rel=1e-10)


def test_trajectories_keep_a_normal_target_with_a_hole():
    rng = np.random.default_rng(4)

    def evaluate(x):
        return None if abs(x[0] - 1.0) < 0.3 else standard_normal(x)

    draws = rng.standard_normal((12_000, 2))
    draws = draws[np.abs(draws[:, 0] - 1.0) > 0.3]
    half = len(draws) // 2
    moved = np.array(
        [
            hamiltonian_step(evaluate, standard_normal(x), np.array([0.9, 1.3]), 3, rng).point.value
            for x in draws[:half]
        ]
    )
    for column in (0, 1):
        assert stats.ks_2samp(moved[:, column], draws[half:, column]).pvalue > 1e-6


@pytest.mark.parametrize("bad", ["density", "gradient"])
def test_nan_ends_a_trajectory(bad):
    def evaluate(x):
        good = standard_normal(x)
        if bad == "density":
            return good._replace(log_density=math.nan)
        return good._replace(gradient=np.full_like(x, math.nan))

    start = standard_normal(np.zeros(2))
    result = hamiltonian_step(evaluate, start, np.full(2, 0.1), 3, np.random.default_rng(5))
    assert not result.moved
    assert result.point is start


def test_tuner_finds_scales_and_a_step_size_of_order_one():
    scales = np.array([1e-2, 1.0, 30.0])

    def evaluate(x):
        return Point(x, -0.5 * float(((x / scales) ** 2).sum()), -x / scales**2)

    rng, tuner = np.random.default_rng(6), HamiltonianTuner(3, 1000)
    point, acceptances = evaluate(np.zeros(3)), []
    for iteration in range(1500):
        result = hamiltonian_step(evaluate, point, tuner.step_sizes, 5, rng)
        point = result.point
        if iteration < 1000:
            tuner.record(point.value, result.acceptance)
        else:
            acceptances.append(result.acceptance)
        if iteration == 999:
            tuner.freeze()
    assert 0.3 < tuner.step_size < 2.5
    np.testing.assert_array_less(0.4 * scales, tuner.step_sizes / tuner.step_size)
    np.testing.assert_array_less(tuner.step_sizes / tuner.step_size, 2.5 * scales)
    assert 0.5 < np.mean(acceptances) < 0.98


WINDOW_ENDS = {0: [], 49: [], 50: [25], 99: [74], 100: [25, 75], 220: [25, 75, 195]}


@pytest.mark.parametrize(("n_iterations", "ends"), WINDOW_ENDS.items())
def test_windows_of_the_metric(n_iterations, ends):
    assert _window_ends(n_iterations) == ends


@pytest.mark.parametrize(
    ("n_chains", "n_warmup", "n_draws"),
    [(2, 100, 500), pytest.param(4, 200, 1000, marks=pytest.mark.slow)],
)
def test_slice_and_hamiltonian_sampling_agree(n_chains, n_warmup, n_draws):
    rng = np.random.default_rng(7)
    X = rng.uniform(-2.0, 2.0, (25, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(25)
    model = make_model(Gaussian(y), ConstantKernel(1.0) * RBF(1.0), X=X)
    traces = [
        run_chains(
            model,
            SamplerSettings(
                "marginal", hamiltonian=hamiltonian, n_warmup=n_warmup, n_draws=n_draws
            ),
            n_chains=n_chains,
            random_state=8,
        ).summary()
        for hamiltonian in (False, True)
    ]
    for name, row in traces[0].items():
        other = traces[1][name]
        error = math.hypot(row["mcse"], other["mcse"])
        assert abs(row["mean"] - other["mean"]) < 4.5 * error, name
        assert other["rhat"] < 1.05


X = np.random.default_rng(9).uniform(-2.0, 2.0, (30, 2))
SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 55, "random_state": 0}
SHORTER = {**SHORT, "n_warmup": 10, "n_draws": 10}
TARGETS = {
    MCMCGaussianProcessClassifier: X[:, 0] > 0.2,
    MCMCGaussianProcessRegressor: X[:, 0] + 0.1 * X[:, 1],
}
TAKE_HMC = {
    "default": None,
    "squared exponential": 1.5 * RBF(1.0),
    "rational quadratic": 1.5 * RationalQuadratic(),
}


class NoGradient(RBF):
    """A user's kernel without a gradient."""

    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient:
            raise NotImplementedError
        return super().__call__(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kernel", "estimator"), in_turn(product(TAKE_HMC, TARGETS), 2, TAKE_HMC, TARGETS)
)
def test_estimators_take_hmc_and_continue_it(kernel, estimator):
    kernel, y = TAKE_HMC[kernel], TARGETS[estimator]
    model = estimator(kernel, hyperparameter_update="hmc", **SHORT)
    whole = model.fit(X, y).trace_.theta
    part = estimator(kernel, hyperparameter_update="hmc", warm_start=True, **SHORT)
    part.set_params(n_draws=30).fit(X, y)
    part.set_params(n_draws=55).fit(X, y)
    np.testing.assert_array_equal(part.trace_.theta, whole)
    assert (model.trace_.moved > _fewest_moves(SHORT["n_draws"])).all()


def test_chains_keep_moving_after_a_long_warm_up():
    model = MCMCGaussianProcessRegressor(
        hyperparameter_update="hmc", n_warmup=400, n_draws=400, random_state=0
    ).fit(X, X[:, 0] + 0.1 * X[:, 1])
    assert not any(model.trace_.gave_up)
    assert (model.trace_.moved > _fewest_moves(400)).all()


def _fewest_moves(n_draws):
    """Return the least share of draws in which theta moves.

    Trajectories that are accepted more rarely than _LOWEST_ACCEPTANCE are given up in the warm-up;
    the share that is accepted afterwards has four binomial standard errors of room.
    """
    lowest = _LOWEST_ACCEPTANCE
    return lowest - 4.0 * math.sqrt(lowest * (1.0 - lowest) / n_draws)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"representation": "surr-site"}, "'surr-site' has none. Set representation='collapsed'"),
        ({"representation": 0.5}, "0.5 has none. Set representation='collapsed'"),
        ({"kernel": NoGradient(1.0)}, "eval_gradient=True; NoGradient"),
    ],
)
def test_hmc_where_there_is_no_gradient(options, message):
    model = MCMCGaussianProcessClassifier(hyperparameter_update="hmc", **SHORT)
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(X, X[:, 0] > 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_auto_takes_a_representation_with_a_gradient_where_hmc_is_asked_for():
    counts = np.arange(len(X)) % 4
    model = MCMCCoxProcessRegressor(likelihood="negative-binomial", **SHORTER).fit(X, counts)
    assert model.representation_ == "post-ep"
    model.set_params(hyperparameter_update="hmc").fit(X, counts)
    assert (model.representation_, model.hyperparameter_update_) == ("collapsed", "hmc")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hmc_with_weights_that_have_no_gradient():
    options = {"link": "probit", "hyperparameter_update": "hmc", **SHORTER}
    data = X, X[:, 0] > 0.0, np.full(len(X), 0.5)
    with pytest.raises(ValueError, match=r"No representation .*'joint-ep' \(n_inducing\)"):
        MCMCGaussianProcessClassifier(**options).fit(*data)
    model = MCMCGaussianProcessClassifier(n_inducing=5, **options).fit(*data)
    assert (model.representation_, model.hyperparameter_update_) == ("joint-ep", "hmc")


class WithoutGradient(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient:
            raise NotImplementedError
        return super().__call__(X, Y)


@pytest.mark.parametrize(
    ("n_columns", "options", "expected"),
    [
        (1, {"representation": "collapsed"}, "slice"),
        (2, {"representation": "collapsed"}, "hmc"),
        (4, {"representation": "surr-site"}, "slice"),
        (4, {"kernel": ConstantKernel() * WithoutGradient(np.ones(4))}, "slice"),
    ],
)
def test_auto_follows_trajectories_where_there_are_many_hyperparameters(
    n_columns, options, expected
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, n_columns))
    y = X[:, 0] > 0.0
    draws = [
        MCMCGaussianProcessClassifier(hyperparameter_update=update, **options, **SHORTER)
        .fit(X, y)
        .trace_.theta
        for update in ("auto", expected)
    ]
    np.testing.assert_array_equal(*draws)
