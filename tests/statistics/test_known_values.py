"""Posteriors whose moments are known: they come out within Monte Carlo error."""

import math
import warnings

import numpy as np
import pytest
from rotation import one_in
from rounding import FEW_OPERATIONS
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import skgpmcmc._sampling._hyperparameter_moves as hyperparameters_module
import skgpmcmc._sampling._latent_moves as latents_module
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.likelihoods import BernoulliLogit, BernoulliProbit, Likelihood, Poisson
from skgpmcmc.updates import elliptical_slice_step, slice_step
from skgpmcmc.updates._slice import MAX_SHRINKS

#: Monte Carlo standard errors that a mean may be off: exceeded with probability 6e-5.
N_ERRORS = 4.0


def assert_moments(draws, mean, sd, rounding=0.0):
    """Compare mean and standard deviation with exact ones, which are rounded values."""
    assert abs(draws.mean() - mean) < N_ERRORS * mcse_mean(draws) + rounding
    squares = (draws - mean) ** 2
    # The error of a variance over twice the standard deviation is that of the latter.
    error = mcse_mean(squares) / (2.0 * sd)
    assert abs(math.sqrt(squares.mean()) - sd) < N_ERRORS * error + rounding


# A normal distribution in three dimensions.

MEAN = np.array([-0.1, 0.5, 1.1])
PRECISION_FACTOR = np.array([[2.0, 0.0, 0.0], [0.05, 0.1, 0.0], [1.0, -0.05, 5.5]])
PRECISION = PRECISION_FACTOR @ PRECISION_FACTOR.T
SDS = [0.56673, 10.00041, 0.18182]


def _axis_by_axis(n_draws, widths, rng, max_steps_out):
    point = np.zeros(3)
    draws = np.empty((n_draws, 3))
    for row in draws:
        for axis, width in enumerate(widths):
            centred = point - MEAN
            centred[axis] = 0.0
            slope = float(PRECISION[axis] @ centred)
            curvature, centre = float(PRECISION[axis, axis]), float(MEAN[axis])

            def log_density(x, slope=slope, curvature=curvature, centre=centre):
                return -(0.5 * curvature * (x - centre) + slope) * (x - centre)

            value = float(point[axis])
            point[axis] = slice_step(
                log_density, value, log_density(value), width, rng, max_steps_out=max_steps_out
            ).value
        row[:] = point
    return draws


@pytest.mark.parametrize(
    ("widths", "max_steps_out"), [((4.0, 60.0, 1.2), 0), ((1.0, 10.0, 10.0), 3)]
)
def test_normal_axis_by_axis(widths, max_steps_out):
    draws = _axis_by_axis(12_000, widths, np.random.default_rng(0), max_steps_out)[100:]
    for column, mean, sd in zip(draws.T, MEAN, SDS, strict=True):
        assert_moments(column, mean, sd, rounding=5e-6)


def test_elliptical_updates_of_a_gaussian_observation():
    # f ~ N(0, 1), one observation 2 of unit variance: f given it is N(1, 1/2).
    rng = np.random.default_rng(1)

    def log_likelihood(f):
        return -0.5 * float(f[0] - 2.0) ** 2

    f = np.zeros(1)
    level = log_likelihood(f)
    draws = np.empty(20_000)
    for i in range(len(draws)):
        result = elliptical_slice_step(log_likelihood, f, level, rng.standard_normal(1), rng)
        f, level = result.deviation, result.log_likelihood
        draws[i] = f[0]
    assert_moments(draws[100:], 1.0, math.sqrt(0.5))


def _log_power(p):
    """Return 1000 log p on (0, 1); NaN below, minus infinity above."""
    if p <= 0.0:
        return math.nan
    return 1000.0 * math.log(p) if p < 1.0 else -math.inf


@pytest.mark.parametrize("support", [{"lower": 0.0, "upper": 1.0}, {}])
@pytest.mark.parametrize("width", [0.003, 1.0])
def test_probability_of_a_thousand_successes(support, width):
    # A uniform prior and 1000 successes in 1000: Beta(1001, 1).
    rng = np.random.default_rng(2)
    p, level = 0.5, _log_power(0.5)
    draws = np.empty(10_000)
    for i in range(len(draws)):
        result = slice_step(_log_power, p, level, width, rng, **support)
        p, level = result.value, result.log_density
        draws[i] = p
    assert ((draws > 0.0) & (draws < 1.0)).all()
    # From 1/2 a narrow bracket takes a few hundred steps.
    variance = 1001.0 / (1002.0**2 * 1003.0)
    assert_moments(draws[1000:], 0.999002, math.sqrt(variance), rounding=5e-7)


@pytest.mark.parametrize(
    ("likelihood", "latent", "expected", "rounding"),
    [
        (BernoulliLogit, -800.0, -800.0, 0.0),
        (BernoulliProbit, -10.0, -53.231285, 5e-7),
        (BernoulliProbit, -40.0, -804.608442, 5e-7),
    ],
)
def test_log_probabilities_far_in_the_tail(likelihood, latent, expected, rounding):
    for y in (1.0, -1.0):
        value = likelihood(np.array([y])).pointwise(np.array([y * latent]))
        np.testing.assert_allclose(value, [expected], rtol=FEW_OPERATIONS, atol=rounding)


def test_one_cell_with_a_million_events():
    # f ~ N(0, 100) is 1.4 prior standard deviations from 0, and 1e4 times narrower.
    kernel = ConstantKernel(100.0, "fixed") * RBF(1.0, "fixed")
    model = LatentGaussianModel(kernel, np.zeros((1, 1)), Poisson([1e6]), jitter=0.0)
    workspace = model.workspace()
    state = workspace.state_at(np.empty(0), np.zeros(1))
    assert state.latent[0] == 0.0
    settings = SamplerSettings("prior-white", n_latent_updates=1)
    draws = np.empty(6000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain = Chain(workspace, settings, np.random.default_rng(3), state)
        for i in range(len(draws)):
            chain.iterate()
            draws[i] = chain.state.latent[0]
    assert_moments(draws[200:], 13.815510, 0.0010000, rounding=5e-7)


class UnnormalisedPoisson(Likelihood):
    """Counts without their constant, which leaves a large log likelihood."""

    def pointwise(self, latent, params=()):
        return self.y * latent - np.exp(latent)


COUNTS = np.random.default_rng(4).poisson(4000.0, 20).astype(float)


@pytest.fixture
def evaluations(monkeypatch):
    """Evaluations of every update, by name, and whether it moved."""
    found = {"slice_step": [], "elliptical_slice_step": []}

    def count(module, name):
        step = getattr(module, name)

        def counted(*args, **options):
            result = step(*args, **options)
            found[name].append((result.n_evaluations, result.moved))
            return result

        monkeypatch.setattr(module, name, counted)

    count(hyperparameters_module, "slice_step")
    count(latents_module, "elliptical_slice_step")
    return found


@pytest.mark.parametrize("representation", one_in(2, ["surr-site", "prior-white"]))
@pytest.mark.second_stage
def test_large_log_likelihood(representation, evaluations):
    kernel = ConstantKernel(10.0, (0.1, 1e4)) * RBF(1.0, (0.1, 10.0))
    X = np.linspace(0.0, 3.0, 20)[:, np.newaxis]
    model = LatentGaussianModel(kernel, X, UnnormalisedPoisson(COUNTS))
    settings = SamplerSettings(representation, n_warmup=0, n_draws=1000)
    trace = run_chains(model, settings, n_chains=1, random_state=5)
    for values in (trace.theta, trace.latent, trace.complete_data_log_likelihood):
        assert np.isfinite(values).all()
    slices, ellipses = evaluations["slice_step"], evaluations["elliptical_slice_step"]
    assert len(slices) == 2 * settings.n_draws
    assert len(ellipses) >= settings.n_latent_updates * settings.n_draws
    assert max(n for n, _ in slices + ellipses) <= MAX_SHRINKS
    # The slices are narrow, but not lost.
    assert all(moved for _, moved in slices + ellipses)
    # Six posterior standard deviations of a cell without neighbours.
    error = trace.latent[0, 500:].mean(axis=0) - np.log(COUNTS)
    assert np.abs(error).max() < 6.0 / math.sqrt(4000.0)
    assert trace.log_likelihood[0, 500:].min() > 5.8e5
