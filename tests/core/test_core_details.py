"""Details of the core in which `benchmarks.mutation` makes faults that other tests may miss."""

from __future__ import annotations

import numpy as np
import pytest
from problems import X_SMALL, make_model
from rounding import ELEMENTWISE
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._prediction._dense import PosteriorDraws, evenly_spaced_draws, sample_latent
from skgpmcmc._running._chains import run_chains
from skgpmcmc._running._interrupts import StopSignal
from skgpmcmc._running._one_chain import RoundStart, run_chain
from skgpmcmc._running._progress import ProgressSender
from skgpmcmc._sampling import _hyperparameter_moves
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._latent_functions import LatentFunctionsGibbs
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import Gaussian, Poisson, StudentT
from skgpmcmc.likelihoods._softmax import SoftmaxClass
from skgpmcmc.priors._normal_coordinates import NormalCoordinates
from skgpmcmc.representations import ApproximateMarginalRepresentation
from skgpmcmc.updates import HamiltonianResult, RandomWalk, StepResult

TARGETS = np.array([0.5, -0.2, 1.0, 0.3])


class Given:
    """A generator whose normal draws are given."""

    def __init__(self, values):
        self.values = np.array(values)

    def standard_normal(self, size):
        assert self.values.shape == (size,)
        return self.values


def _prior_at(model, theta):
    """Return K, m and the noise level at theta, in dense form."""
    K = model.kernel.clone_with_theta(theta[:2])(X_SMALL)
    K[np.diag_indices(4)] *= 1.0 + model.jitter
    return K, theta[2], np.exp(theta[3])


def _approximation(theta):
    model = make_model(Gaussian(TARGETS))
    workspace = model.workspace()
    state = workspace.state_at(theta, np.array([0.4, -1.0, 0.3, 1.2]))
    approximation = ApproximateMarginalRepresentation(workspace)
    assert approximation.prepare(state)
    return model, approximation, state


def test_approximate_marginal_posterior_is_exact_for_gaussian_noise():
    """Laplace's approximation of a Gaussian integral is that integral."""
    theta = np.array([0.3, -0.2, 0.4, -0.5])
    model, approximation, state = _approximation(theta)
    conditional = approximation.condition(state, np.random.default_rng(0))
    others = [theta + step for step in 0.6 * np.eye(4)]
    values = [conditional.log_density, *(conditional.evaluate(other) for other in others)]
    for value, at in zip(values, [theta, *others], strict=True):
        K, mean, noise = _prior_at(model, at)
        total = K + noise * np.eye(4)
        expected = stats.multivariate_normal.logpdf(TARGETS, np.full(4, mean), total)
        assert value == pytest.approx(expected, rel=1e-10)


def test_approximate_marginal_posterior_draws_latents_from_the_pseudo_posterior():
    theta, eta = np.array([0.3, -0.2, 0.4, -0.5]), np.array([1.0, -0.5, 0.2, -2.0])
    model, approximation, state = _approximation(theta)
    K, mean, noise = _prior_at(model, theta)
    drawn = approximation.refresh(state, Given(eta))
    L = np.linalg.cholesky(K)
    root = L @ np.linalg.inv(np.linalg.cholesky(np.eye(4) + L.T @ L / noise)).T
    centre = mean + K @ np.linalg.solve(K + noise * np.eye(4), TARGETS - mean)
    np.testing.assert_allclose(drawn.latent, centre + root @ eta, rtol=1e-9)
    np.testing.assert_allclose(mean + L @ drawn.whitened, drawn.latent, rtol=1e-9)
    density = stats.norm.logpdf(TARGETS, drawn.latent, np.sqrt(noise)).sum()
    assert drawn.log_likelihood == pytest.approx(density, rel=1e-10)


def test_predictions_from_some_draws_belong_to_those_draws():
    """At the training inputs each function passes through its own draw's latent values."""
    model = make_model(Poisson(np.array([0.0, 3.0, 1.0, 0.0])), jitter=1e-9)
    settings = SamplerSettings("prior-white", n_warmup=5, n_draws=20)
    trace = run_chains(model, settings, n_chains=2, random_state=0)
    draws = PosteriorDraws.from_trace(model.kernel, X_SMALL, trace, model.jitter, 5)
    which = evenly_spaced_draws(trace, 5)
    np.testing.assert_array_equal(which, [0, 10, 20, 29, 39])
    np.testing.assert_array_equal(draws.theta, trace.theta.reshape(40, -1)[which])
    for _, mean, variance in draws.chunks(X_SMALL):
        np.testing.assert_allclose(mean, trace.latent.reshape(40, -1)[which], atol=1e-5)
        np.testing.assert_allclose(variance, 0.0, atol=1e-6)


def _start(**options):
    """Return a model with Gaussian noise, and a chain in which f is integrated out."""
    model = make_model(Gaussian(TARGETS))
    settings = SamplerSettings("marginal", n_warmup=0, **options)
    return model, Chain.start(model, settings, np.random.default_rng(0))


def _log_posterior(model, theta):
    """Return log p(theta, y) in dense form."""
    K, mean, noise = _prior_at(model, theta)
    total = K + noise * np.eye(4)
    log_likelihood = stats.multivariate_normal.logpdf(TARGETS, np.full(4, mean), total)
    priors = zip(model.layout.priors, theta, strict=True)
    return log_likelihood + sum(prior.log_density(value) for prior, value in priors)


class Recorder:
    """Stands for an update: evaluates the density at one other point, and stays."""

    def __init__(self, offset):
        self.offset, self.seen = offset, []

    def __call__(self, log_density, value, log_density_value, *rest, **options):
        moved = value + self.offset
        self.seen.append((value, moved, log_density(moved) - log_density_value))
        return StepResult(value, log_density_value, 1, False)


def test_slices_are_of_the_posterior(monkeypatch):
    """Of what an update is given, the value at its start has the prior in it too."""
    model, chain = _start()
    recorder = Recorder(0.3)
    monkeypatch.setattr(_hyperparameter_moves, "slice_step", recorder)
    theta = chain.state.theta
    chain.iterate()
    assert sorted(value for value, _, _ in recorder.seen) == sorted(theta.tolist())
    for value, moved, difference in recorder.seen:
        there = np.where(theta == value, moved, theta)
        expected = _log_posterior(model, there) - _log_posterior(model, theta)
        assert difference == pytest.approx(expected, rel=1e-9)


def test_metropolis_updates_are_of_the_posterior(monkeypatch):
    model, chain = _start(proposal=RandomWalk(0.1))
    recorder = Recorder(np.array([0.3, -0.2, 0.1, 0.4]))
    monkeypatch.setattr(_hyperparameter_moves, "metropolis_step", recorder)
    chain.iterate()
    ((theta, moved, difference),) = recorder.seen
    expected = _log_posterior(model, moved) - _log_posterior(model, theta)
    assert difference == pytest.approx(expected, rel=1e-9)


def test_trajectories_are_of_the_posterior(monkeypatch):
    """In coordinates u: the derivative of theta along u is in the density."""
    model, chain = _start(hamiltonian=True)
    seen = []

    def record(evaluate, point, step_sizes, n_steps, rng, angle):
        seen.append((point, evaluate(point.value + np.array([0.3, -0.2, 0.1, 0.4]))))
        return HamiltonianResult(point, 1.0, False)

    monkeypatch.setattr(_hyperparameter_moves, "hamiltonian_step", record)
    chain.iterate()
    ((start, there),) = seen
    coordinates = NormalCoordinates(model.layout.priors)

    def expected(u):
        log_slope = np.log(np.abs(coordinates.derivative(u))).sum()
        return _log_posterior(model, coordinates.to_theta(u)) + log_slope

    difference = there.log_density - start.log_density
    assert difference == pytest.approx(expected(there.value) - expected(start.value), rel=1e-9)


def test_precisions_of_student_t_noise_are_gamma_variables():
    """Given the noise they are Gamma((nu + 1) / 2) variables over (nu + squares) / 2."""
    n, nu, scale2, distance = 40_000, 3.0, 0.5, 1.2
    likelihood = StudentT(np.full(n, distance), scale2=scale2, degrees_of_freedom=nu)
    given = likelihood.augment(np.zeros(n), (), np.random.default_rng(0))
    precision = given.gaussian_sites().precision * scale2
    exact = stats.gamma(0.5 * (nu + 1.0), scale=2.0 / (nu + distance**2 / scale2))
    assert abs(precision.mean() - exact.mean()) < 5.0 * exact.std() / np.sqrt(n)
    squares = (precision - exact.mean()) ** 2
    assert abs(squares.mean() - exact.var()) < 5.0 * squares.std() / np.sqrt(n)


@pytest.mark.parametrize("thin", [1, 3])
def test_kept_draws_are_states_after_every_thin_th_iteration(thin):
    model = make_model(Gaussian(TARGETS))
    settings = SamplerSettings("marginal", n_warmup=2, n_draws=4, thin=thin)
    seed = np.random.SeedSequence(0)
    silent = ProgressSender(lambda report: None, None, 2, settings.n_iterations)
    start = RoundStart(0, seed, None, None, (2,))
    (draws,) = run_chain([model], settings, start, 4 * thin, StopSignal(), silent)
    assert draws.n_kept == 4
    group = LatentFunctionsGibbs.start([model], settings, seed)
    for iteration in range(2):
        group.warm_up(iteration)
    group.end_warm_up()
    for theta, latent in zip(draws.theta, draws.latent, strict=True):
        for _ in range(thin):
            group.iterate()
        np.testing.assert_allclose(theta, group.chains[0].state.theta, rtol=1e-9)
        np.testing.assert_allclose(latent, group.chains[0].state.latent, rtol=1e-9)


def test_step_sizes_of_trajectories_are_frozen_after_the_warm_up():
    _, chain = _start(hamiltonian=True)
    chain.iterate(adapt=True)
    chain.end_warm_up()
    frozen = chain.trajectories.tuner.step_sizes.copy()
    for _ in range(5):
        chain.iterate()
    np.testing.assert_array_equal(chain.trajectories.tuner.step_sizes, frozen)


def test_functions_are_sampled_from_every_draw_alike():
    kernel = ConstantKernel(1e-8) * RBF(1.0)
    theta = np.tile(kernel.theta, (3, 1))
    means = np.array([-1.0, 0.0, 1.0])
    draws = PosteriorDraws(kernel, X_SMALL, theta, means, np.tile(means, (4, 1)).T, 1e-6)
    n = 3000
    chosen, (latent,) = sample_latent([draws], X_SMALL, n, np.random.RandomState(0), None)
    np.testing.assert_allclose(latent, np.tile(means[chosen], (4, 1)), atol=1e-3)
    counts = np.bincount(chosen, minlength=3)
    assert (np.abs(counts - n / 3) < 5.0 * np.sqrt(n * 2.0 / 9.0)).all()


@pytest.mark.parametrize("n_approximate", [1, 3])
def test_warm_up_leaves_the_approximation_in_time(n_approximate):
    """The iterations under it are as many as asked for, even all but one."""
    model = make_model(Gaussian(TARGETS))
    settings = SamplerSettings("surr-site", n_warmup=4, n_approximate=n_approximate)
    chain = Chain.start(model, settings, np.random.default_rng(0))
    approximate = []
    for iteration in range(4):
        chain.warm_up(iteration)
        approximate.append(type(chain.representation) is ApproximateMarginalRepresentation)
    assert approximate == [iteration < n_approximate for iteration in range(4)]


def test_softmax_given_auxiliary_variables_is_a_function_of_the_distance_to_the_others():
    """It is exp(k (f - o) - w (f - o)^2 / 2), k = +-1/2, o the others' log-sum-exp."""
    y, latent = np.array([1.0, -1.0, 1.0]), np.array([0.3, -1.0, 0.4])
    others = [np.array([0.5, 2.0, -1.0]), np.array([-0.3, 0.1, 1.5])]
    likelihood = SoftmaxClass(y, 3)
    likelihood.condition_on(others)
    precision, shift = likelihood.augment(latent, (), np.random.default_rng(0)).gaussian_sites()
    offset = np.log(np.exp(others[0]) + np.exp(others[1]))
    np.testing.assert_allclose(shift - precision * offset, 0.5 * y, rtol=1e-9)


def test_likelihood_of_a_state_is_that_given_the_present_others():
    """Updates begin at a level of the density: the value of an old one would be another level."""
    model = make_model(SoftmaxClass(np.array([1.0, -1.0, 1.0, -1.0]), 3))
    chain = Chain.start(model, SamplerSettings("prior-white"), np.random.default_rng(0))
    before = chain.state.log_likelihood
    chain.condition_on([np.array([2.0, -1.0, 0.5, 0.0]), np.array([-0.3, 0.1, 1.5, 3.0])])
    assert chain.state.log_likelihood != before
    expected = model.likelihood.log_likelihood(chain.state.latent)
    assert chain.state.log_likelihood == pytest.approx(expected, rel=ELEMENTWISE)
