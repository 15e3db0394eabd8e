"""What a trace holds, and how it is named."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from problems import X_SMALL, make_model
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import diagnostics
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import Gaussian, Poisson
from skgpmcmc.trace import Costs

N_CHAINS, N_DRAWS = 2, 12
TARGETS = np.array([0.5, -0.2, 1.0, 0.3])
JITTER = 1e-4  # large enough that a reference that forgets it fails
PRIORS = {
    "k1__constant_value": stats.lognorm(s=0.7),
    "k2__length_scale": stats.lognorm(s=0.8),
    "mean": stats.norm(0.3, 0.7),
    "noise_level": stats.lognorm(s=0.7, scale=0.3),
}


def run(model, representation="surr-site"):
    settings = SamplerSettings(representation, n_warmup=5, n_draws=N_DRAWS, n_latent_updates=2)
    return run_chains(model, settings, n_chains=N_CHAINS, random_state=0)


def gaussian_model(**options):
    """Return a model with all kinds of hyperparameters, one of them a vector."""
    kernel = ConstantKernel(1.0) * RBF([1.0, 1.0])
    return make_model(Gaussian(TARGETS), kernel, PRIORS, jitter=JITTER, **options)


@pytest.fixture(scope="module", params=[False, True], ids=["sampled-mean", "collapsed-mean"])
def trace(request):
    return run(gaussian_model(collapse_mean=request.param))


def test_shapes(trace):
    n_parameters = 4 if trace.collapsed_mean is not None else 5
    assert (trace.n_chains, trace.n_draws) == (N_CHAINS, N_DRAWS)
    assert trace.theta.shape == (N_CHAINS, N_DRAWS, n_parameters)
    assert trace.latent.shape == (N_CHAINS, N_DRAWS, 4)
    assert trace.log_likelihood.shape == (N_CHAINS, N_DRAWS)
    assert trace.complete_data_log_likelihood.shape == (N_CHAINS, N_DRAWS)
    assert trace.moved.shape == (N_CHAINS, n_parameters)
    assert len(trace.warmup) == len(trace.sampling) == N_CHAINS


def test_posterior_is_on_the_natural_scale(trace):
    posterior = trace.posterior()
    assert set(posterior) == set(PRIORS)
    np.testing.assert_allclose(posterior["k1__constant_value"], np.exp(trace.theta[..., 0]))
    np.testing.assert_allclose(posterior["k2__length_scale"], np.exp(trace.theta[..., 1:3]))
    np.testing.assert_allclose(posterior["noise_level"], np.exp(trace.theta[..., -1]))
    # The mean has no logarithm, and the same name whether it was sampled or integrated out.
    collapsed = trace.collapsed_mean is not None
    mean = trace.collapsed_mean if collapsed else trace.theta[..., 3]
    np.testing.assert_array_equal(posterior["mean"], mean)
    np.testing.assert_array_equal(trace.mean_offset(), mean)
    assert mean.std() > 0.0


def test_names_without_a_mean():
    trace = run(make_model(Poisson([0.0, 3.0, 1.0, 0.0]), RBF(1.0), PRIORS, mean="zero"))
    assert list(trace.posterior()) == ["length_scale"]
    assert trace.posterior()["length_scale"].shape == (N_CHAINS, N_DRAWS)
    assert trace.collapsed_mean is None
    np.testing.assert_array_equal(trace.mean_offset(), np.zeros((N_CHAINS, N_DRAWS)))


@pytest.mark.parametrize("collapse", [False, True])
def test_no_hyperparameters_of_the_kernel(collapse):
    kernel = RBF(1.0, "fixed")
    likelihood = Gaussian(TARGETS, noise_variance=0.3)
    trace = run(make_model(likelihood, kernel, PRIORS, collapse_mean=collapse))
    assert list(trace.posterior()) == ["mean"]
    assert trace.mean_offset().shape == (N_CHAINS, N_DRAWS)


def test_nothing_but_latent_variables():
    model = LatentGaussianModel(RBF(1.0, "fixed"), X_SMALL, Gaussian(TARGETS, noise_variance=0.3))
    trace = run(model)
    assert trace.theta.shape == (N_CHAINS, N_DRAWS, 0)
    assert trace.posterior() == {}
    np.testing.assert_array_equal(trace.mean_offset(), np.zeros((N_CHAINS, N_DRAWS)))
    assert list(trace.summary()) == ["latent[worst]", "complete_data_log_likelihood"]


def test_summary(trace):
    summary = trace.summary()
    assert set(summary) == {
        "k1__constant_value",
        "k2__length_scale[0]",
        "k2__length_scale[1]",
        "noise_level",
        "mean",
        "latent[worst]",
        "complete_data_log_likelihood",
    }
    draws = trace.posterior()["k2__length_scale"][..., 1]
    row = summary["k2__length_scale[1]"]
    assert row["mean"] == pytest.approx(draws.mean())
    assert row["sd"] == pytest.approx(draws.std(ddof=1))
    assert row["mcse"] == diagnostics.mcse_mean(draws)
    assert row["ess_bulk"] == diagnostics.ess_bulk(draws)
    assert row["ess_tail"] == diagnostics.ess_tail(draws)
    assert row["rhat"] == diagnostics.rhat(draws)
    complete = summary["complete_data_log_likelihood"]
    assert complete["mean"] == pytest.approx(trace.complete_data_log_likelihood.mean())


@pytest.mark.parametrize("n_latent", [1, 3, 50, 130])
def test_the_latent_that_is_summed_up_is_the_worst_of_some(trace, n_latent):
    rng = np.random.default_rng(0)
    shown = np.unique(np.linspace(0, n_latent - 1, min(n_latent, 50)).astype(int))
    assert {0, n_latent - 1} <= set(shown)
    for worst in shown[[0, len(shown) // 2, -1]]:
        latent = rng.normal(1e6, 1e-3, size=(N_CHAINS, N_DRAWS, n_latent))
        latent[0, :, worst] += 0.01
        changed = dataclasses.replace(trace, latent=latent)
        np.testing.assert_array_equal(changed.quantities()["latent[worst]"], latent[..., worst])
        row = changed.summary()["latent[worst]"]
        assert row["rhat"] == diagnostics.rhat(latent[..., worst])
        assert row["rhat"] > 1.5
        assert row["50%"] == np.median(latent[..., worst])


def test_quantities_are_those_of_the_summary(trace):
    quantities = trace.quantities()
    assert list(quantities)[-2:] == ["latent[worst]", "complete_data_log_likelihood"]
    assert {name: draws.shape[:2] for name, draws in quantities.items()} == dict.fromkeys(
        [*trace.posterior(), "latent[worst]", "complete_data_log_likelihood"], (N_CHAINS, N_DRAWS)
    )


def test_costs(trace):
    for warmup, sampling in zip(trace.warmup, trace.sampling, strict=True):
        # Constant and two length scales; the latents at the start, and two updates each.
        assert warmup.n_covariances >= 1 + 3 * 5
        assert sampling.n_covariances >= 3 * N_DRAWS
        assert warmup.n_likelihoods >= 100 + 2 * 5
        assert sampling.n_likelihoods >= 2 * N_DRAWS
        assert sampling.n_failures == 0
        assert sampling.seconds > 0.0


def test_costs_of_a_phase():
    difference = Costs(10, 200, 3, 2.5) - Costs(4, 50, 1, 1.0)
    assert difference == Costs(6, 150, 2, 1.5)


def test_pickling(trace):
    copy = pickle.loads(pickle.dumps(trace))
    for name in ("theta", "latent", "log_likelihood", "complete_data_log_likelihood", "moved"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(trace, name))
    assert copy.sampling == trace.sampling
    assert copy.summary() == trace.summary()
    np.testing.assert_array_equal(copy.mean_offset(), trace.mean_offset())


def dense_complete_data_log_likelihood(theta, latent, mean):
    """Compute log L(f) + log N(f; m, K) of one draw with dense densities."""
    constant, first, second, noise = np.exp(theta)
    kernel = ConstantKernel(constant) * RBF([first, second])
    K = kernel(X_SMALL)
    K[np.diag_indices(4)] *= 1.0 + JITTER
    log_likelihood = stats.norm.logpdf(TARGETS, latent, np.sqrt(noise)).sum()
    return log_likelihood, stats.multivariate_normal.logpdf(latent, np.full(4, mean), K)


@pytest.mark.parametrize(
    "representation",
    [
        "fixed",
        "prior-white",
        "surr-site",
        "surr-taylor",
        "post-site",
        "post-taylor",
        "marginal",
        0.5,
    ],
)
@pytest.mark.parametrize("collapse", [False, True])
def test_log_likelihoods_agree_with_dense_densities(representation, collapse):
    trace = run(gaussian_model(collapse_mean=collapse), representation)
    means = trace.mean_offset()
    for index in np.ndindex(N_CHAINS, N_DRAWS):
        theta = trace.theta[index]
        theta = theta if collapse else np.delete(theta, 3)
        expected = dense_complete_data_log_likelihood(theta, trace.latent[index], means[index])
        assert trace.log_likelihood[index] == pytest.approx(expected[0], rel=1e-9)
        complete = trace.complete_data_log_likelihood[index]
        assert complete == pytest.approx(sum(expected), rel=1e-6, abs=1e-6)
