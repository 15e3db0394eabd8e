"""Inducing points that are chosen by short runs."""

import numpy as np
import pytest
from problems import PRIORS, make_model
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import core
from skgpmcmc._running import _inducing_points
from skgpmcmc.likelihoods import Gaussian

X = np.random.default_rng(0).uniform(-3.0, 3.0, (40, 2))
KERNEL = ConstantKernel(1.0) * RBF([1.0, 1.0])
SETTINGS = core.SamplerSettings("marginal", n_warmup=60, n_draws=20, n_approximate=50)


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(_inducing_points, "_N_WARMUP", 8)
    monkeypatch.setattr(_inducing_points, "_N_DRAWS", 6)
    return make_model(Gaussian(np.sin(3.0 * X[:, 0])), KERNEL, X=X)


def test_the_choice_depends_on_nothing_but_the_seed(model):
    first, second, other = (
        core.choose_points(model, SETTINGS, 10, n_chains=2, n_jobs=n_jobs, random_state=seed)
        for n_jobs, seed in [(None, 0), (2, 0), (None, 1)]
    )
    np.testing.assert_array_equal(first.structure.points, second.structure.points)
    np.testing.assert_array_equal(first.theta, second.theta)
    assert first.theta.shape == (2, len(model.layout))
    assert (first.theta != other.theta).any()
    points = first.structure.points
    assert len(points) == 10
    assert all((row == X).all(axis=1).any() for row in points)
    trace = core.run_chains(
        model.with_structure(first.structure), SETTINGS, n_chains=2, theta=first.theta
    )
    assert trace.latent.shape == (2, 20, 10)


def test_points_are_those_of_short_length_scales(model, monkeypatch):
    asked = []
    greedy = _inducing_points.greedy_points
    monkeypatch.setattr(
        _inducing_points,
        "greedy_points",
        lambda kernel, *a: asked.append(kernel) or greedy(kernel, *a),
    )
    traces = []
    run = _inducing_points.run_chains
    monkeypatch.setattr(
        _inducing_points, "run_chains", lambda *a, **k: traces.append(run(*a, **k)) or traces[-1]
    )
    core.choose_points(model, SETTINGS, 10, random_state=0)
    medians = [PRIORS[name].median() for name in ("k1__constant_value", "k2__length_scale")]
    np.testing.assert_allclose(np.exp(asked[0].theta), [medians[0], medians[1], medians[1]])
    for kernel, trace in zip(asked[1:], traces, strict=True):
        draws = trace.all_theta()
        expected = [np.quantile(draws[:, i], q) for i, q in enumerate((0.5, 0.1, 0.1))]
        np.testing.assert_allclose(kernel.theta, expected)
    np.testing.assert_array_equal(traces[1].settings["n_warmup"], 8)


def test_without_a_short_run_points_are_those_of_the_prior(model):
    chosen = core.choose_points(model, SETTINGS, 5, n_rounds=0, n_chains=3)
    kernel = KERNEL.clone_with_theta(chosen.theta[0, :3])
    np.testing.assert_array_equal(chosen.structure.points, core.greedy_points(kernel, X, 5))
    assert chosen.theta.shape == (3, len(model.layout))


def test_numbers_are_checked(model):
    with pytest.raises(ValueError, match="n_rounds"):
        core.choose_points(model, SETTINGS, 5, n_rounds=-1)
    with pytest.raises(ValueError, match="n_points"):
        core.choose_points(model, SETTINGS, 0)
