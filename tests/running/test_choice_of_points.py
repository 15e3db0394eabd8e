"""Inducing points that are chosen by short runs."""

import numpy as np
import pytest
from problems import PRIORS, make_model
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import core
from skgpmcmc._running import _inducing_points
from skgpmcmc.likelihoods import BernoulliLogit, Gaussian, Poisson

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


def sampled(likelihood, points, representation="post-ep"):
    model = make_model(likelihood, KERNEL, X=X, structure=core.LowRankStructure(points))
    settings = core.SamplerSettings(representation, n_warmup=10, n_draws=12)
    return model, core.run_chains(model, settings, n_chains=1, random_state=0)


def test_certificate_of_gaussian_data():
    y = np.sin(3.0 * X[:, 0])
    model, trace = sampled(Gaussian(y), X[:8], "marginal")
    theta = trace.all_theta()
    noise, mean = np.exp(theta[:, 4:]), theta[:, 3:4]
    for reference in (core.DenseStructure(), core.LowRankStructure(X[:16])):
        found = core.certify(model, trace, reference=reference, n_draws=12)
        expected = core.certificate(
            KERNEL, X, X[:8], reference, theta[:, :3], noise * np.ones(40), y - mean
        )
        assert found == pytest.approx(expected, rel=1e-9)
    twice = core.certify(model, trace, n_draws=12)
    assert twice.variance_left == pytest.approx(found.variance_left)
    assert twice.evidence_variance > 0.0


@pytest.mark.parametrize(
    "likelihood", [BernoulliLogit(np.sign(X[:, 0])), Poisson(np.arange(40) % 3)]
)
def test_certificate_of_other_data(likelihood):
    few, all_rows = (
        core.certify(*sampled(likelihood, points), reference=core.DenseStructure())
        for points in (X[:3], X)
    )
    assert all_rows.evidence_variance < 1e-6 < few.evidence_variance
    assert all_rows.variance_left < 1e-6 < few.variance_left


def test_certificate_is_of_the_model_that_was_sampled():
    model, trace = sampled(Poisson(np.arange(40) % 3), X[:4])
    other = model.with_structure(core.LowRankStructure(X[:5]))
    with pytest.raises(ValueError, match="not of this model"):
        core.certify(other, trace)
    with pytest.raises(ValueError, match="n_draws"):
        core.certify(model, trace, n_draws=1)
