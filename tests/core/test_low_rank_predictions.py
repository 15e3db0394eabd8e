"""Chains through inducing points in the core: what draws keep, and what they predict."""

import numpy as np
import pytest
from problems import LIKELIHOODS, PRIORS, X_SMALL, make_model
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpmcmc import core
from skgpmcmc._covariance import POINT_JITTER, LowRankStructure
from skgpmcmc._prediction import _dense
from skgpmcmc._prediction._low_rank import LowRankPosteriorDraws
from skgpmcmc._running import _one_chain
from skgpmcmc.likelihoods import Poisson

N, JITTER = 17, 1e-6
RNG = np.random.default_rng(3)
X = RNG.uniform(-2.0, 2.0, (N, 2))
Z = X[:5] + 0.2
NEW = np.concatenate([RNG.uniform(-2.5, 2.5, (7, 2)), X[:1], Z[:1], [[40.0, 40.0]]])
#: Of one the signal variance rescales everything.
KERNELS = {
    "rescales": ConstantKernel(1.7) * Matern([0.9, 1.4], nu=1.5),
    "with-noise": ConstantKernel(1.7) * Matern([0.9, 1.4], nu=1.5) + WhiteKernel(0.1),
    "generic": ConstantKernel(1.7) * RationalQuadratic(0.9, 1.4),
}
MOVES = np.array([[0.3, -0.2, 0.1, 0.2], [-0.3, 0.2, 0.4, -0.1]])
MEAN = np.array([0.4, -0.7])


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


def thetas(kernel):
    return kernel.theta + MOVES[:, : kernel.n_dims]


def parts(kernel, theta, inputs):
    """The kernel, K_mm, K_mn and Q by dense algebra."""
    kernel = kernel.clone_with_theta(theta)
    among, cross = kernel(Z, Z), kernel(Z, inputs)
    among[np.diag_indices(len(Z))] *= 1.0 + 1e-8
    Q = cross.T @ np.linalg.solve(among, cross)
    return kernel, among, cross, Q


def whole(kernel, Q):
    return Q + np.diag(kernel.diag(X) * (1.0 + JITTER) - np.diagonal(Q))


class Given:
    """In place of a random generator: what it draws."""

    def __init__(self, values):
        self.values = values

    def standard_normal(self, size):
        return self.values[:size]


@pytest.mark.parametrize("offset", [0.0, 0.6])
def test_function_at_the_points_given_all_rows(kernel, offset):
    theta = thetas(kernel)[0]
    covariance = LowRankStructure(Z).covariance(kernel, X, JITTER, offset, False)
    factor = covariance.factor(theta)
    kernel, among, cross, Q = parts(kernel, theta, X)
    latent, zero = np.sin(np.arange(N)), np.zeros(len(Z))
    # The mean is given, whether or not the covariance has one that is integrated out.
    gain = np.linalg.solve(whole(kernel, Q), cross.T).T
    mean = covariance.kept_latents(factor, latent, 0.4, Given(zero))
    np.testing.assert_allclose(mean, 0.4 + gain @ (latent - 0.4), rtol=1e-6, atol=1e-7)
    root = [covariance.kept_latents(factor, latent, 0.4, Given(e)) - mean for e in np.eye(len(Z))]
    spread = among - gain @ cross.T
    np.testing.assert_allclose(np.transpose(root) @ np.array(root), spread, rtol=1e-6, atol=1e-7)


@pytest.fixture(params=[1, 4, 100])
def chunks(request, monkeypatch):
    monkeypatch.setattr(_dense, "CHUNK_BYTES", request.param * 8 * N)


def assert_moments(draws, expected):
    """Moments of each row, and of all together, given each draw: pairs of mean and covariance."""
    parts = [moments for _, *moments in draws.chunks(NEW)]
    means, variances = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    for d, (mean, covariance) in enumerate(expected):
        np.testing.assert_allclose(means[d], mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(variances[d], np.diagonal(covariance), rtol=1e-6, atol=1e-7)
        found, spread = draws.joint(NEW, d)
        np.testing.assert_allclose(found, mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(spread, covariance, rtol=1e-6, atol=1e-7)


def test_moments_given_the_function_at_the_points(kernel, chunks):
    u, theta = RNG.standard_normal((2, len(Z))), thetas(kernel)
    draws = LowRankPosteriorDraws(kernel, Z, theta, MEAN, u, POINT_JITTER)
    expected = []
    for one, mean, values in zip(theta, MEAN, u, strict=True):
        at, among, cross, Q = parts(kernel, one, NEW)
        expected.append((mean + cross.T @ np.linalg.solve(among, values - mean), at(NEW) - Q))
    assert_moments(draws, expected)


def test_samples_have_the_moments():
    kernel, u = KERNELS["with-noise"], RNG.standard_normal((2, len(Z)))
    draws = LowRankPosteriorDraws(kernel, Z, thetas(kernel), MEAN, u, POINT_JITTER)
    mean, covariance = draws.joint(NEW, 1)
    n = 20000
    sample = draws.sample(NEW, 1, n, np.random.RandomState(0))
    error = np.sqrt(np.diagonal(covariance) / n)
    assert (np.abs(sample.mean(axis=1) - mean) < 4.5 * error + 1e-12).all()
    spread = np.sqrt((np.outer(np.diagonal(covariance), np.diagonal(covariance)) * 2.0) / n)
    assert (np.abs(np.cov(sample) - covariance) < 5.0 * spread + 1e-12).all()


def sampled(likelihood, representation="post-ep", n_draws=6, **options):
    model = make_model(likelihood, structure=LowRankStructure(X_SMALL[:2] + 0.1), **options)
    settings = core.SamplerSettings(representation, n_warmup=4, n_draws=n_draws)
    return model, core.run_chains(model, settings, n_chains=2, random_state=0)


@pytest.mark.parametrize("name", ["logit", "gaussian-noise"])
@pytest.mark.parametrize("collapse_mean", [False, True])
def test_draws_keep_the_function_at_the_points(name, collapse_mean):
    likelihood = LIKELIHOODS[name].make()
    model, trace = sampled(likelihood, collapse_mean=collapse_mean)
    assert trace.latent.shape == (2, 6, 2)
    mean, std = core.predict_latent(model, trace, model.structure.points)
    np.testing.assert_allclose(mean, trace.latent.mean(axis=(0, 1)), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(std, trace.latent.std(axis=(0, 1)), rtol=1e-2)
    assert "latent[worst]" in trace.quantities()
    y = model.likelihood.y[:4]
    assert np.isfinite(core.predict_log_density(model, trace, X_SMALL, y)).all()
    assert core.predict_samples(model, trace, X_SMALL, 3, random_state=0).shape == (4, 3)
    dense = make_model(likelihood, collapse_mean=collapse_mean)
    with pytest.raises(ValueError, match=r"not of this model.*2 latent variables.*has 4"):
        core.predict_latent(dense, trace, X_SMALL)


def test_draws_do_not_depend_on_the_number_of_processes_or_interruptions(monkeypatch):
    monkeypatch.setattr(_one_chain, "SNAPSHOT_INTERVAL", 3)
    model, trace = sampled(LIKELIHOODS["poisson"].make(), n_draws=8)
    settings = core.SamplerSettings("post-ep", n_warmup=4, n_draws=8)
    again = core.run_chains(model, settings, n_chains=2, n_jobs=2, random_state=0)
    short = core.SamplerSettings("post-ep", n_warmup=4, n_draws=4)
    first = core.run_chains(model, short, n_chains=2, random_state=0)
    continued = core.run_chains(model, settings, n_chains=2, previous=first)
    for other in (again, continued):
        np.testing.assert_array_equal(other.theta, trace.theta)
        np.testing.assert_array_equal(other.latent, trace.latent)


# tests/statistics/test_low_rank_chains.py compares such posteriors with quadrature by default.
@pytest.mark.slow
def test_data_of_a_dense_model_are_fitted_as_well():
    """At points that are the rows, draws of theta and predictions follow the same distribution."""
    x = np.linspace(0.0, 3.0, 12)[:, np.newaxis]
    y = np.random.default_rng(0).poisson(np.exp(1.0 + np.sin(2.0 * x[:, 0])))
    settings = core.SamplerSettings("post-ep", n_warmup=150, n_draws=700)
    moments = []
    for structure in (None, LowRankStructure(x)):
        model = make_model(Poisson(y), X=x, structure=structure)
        trace = core.run_chains(model, settings, n_chains=2, random_state=1)
        posterior = trace.summary()
        moments.append(
            [(posterior[name]["mean"], posterior[name]["mcse"]) for name in trace.posterior()]
        )
    for (a, e), (b, f) in zip(*moments, strict=True):
        assert abs(a - b) < 4.0 * np.hypot(e, f)


def test_priors_of_another_model_are_noticed():
    model, trace = sampled(LIKELIHOODS["poisson"].make())
    priors = {**PRIORS, "mean": stats.norm(0.0, 3.0)}
    other = make_model(model.likelihood, priors=priors, structure=model.structure)
    with pytest.raises(ValueError, match="the priors differ"):
        core.predict_latent(other, trace, X_SMALL)


def test_a_kernel_that_is_not_finite_is_told():
    theta = np.full((1, 2), np.nan)
    zero = np.zeros((1, len(Z)))
    kernel = ConstantKernel(1.0) * RBF(1.0)
    draws = LowRankPosteriorDraws(kernel, Z, theta, np.zeros(1), zero, JITTER)
    with pytest.raises(ValueError, match="too large for double precision, or NaN"):
        draws.joint(NEW, 0)
