"""Densities and scores against sums by hand, over several chunks of rows and with weights."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp
from sklearn.metrics import accuracy_score, r2_score

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._prediction import _dense

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 8, "n_draws": 8, "random_state": 0}
N = 11
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (20, 1))
NEW = RNG.uniform(-2.5, 2.5, (N, 1))
EXPOSURE = 10.0 ** np.linspace(-2.0, 2.0, N)[RNG.permutation(N)]
WEIGHTS = np.array([0.2, 3.0, 1.0, 0.0, 2.0, 7.0, 1.0, 0.5, 1.0, 4.0, 1.0])
COUNTS = RNG.poisson(EXPOSURE)
TRIALS = RNG.integers(1, 30, N)
SUCCESSES = RNG.binomial(TRIALS, 0.4)


@pytest.fixture(params=[1, 4, 10**6])
def chunks(request, monkeypatch):
    """Set the number of rows of each chunk to 1, 4 or all."""

    def of(model):
        draws = model._posterior_draws()[0]
        size = request.param * 8 * max(len(draws), len(model.X_train_))
        monkeypatch.setattr(_dense, "CHUNK_BYTES", size)
        assert len(list(draws.chunks(NEW))) == -(-N // min(request.param, N))
        return model

    return of


def moments(model):
    """Mean and variance of the latent function at the new rows, given each draw."""
    ((_, mean, variance),) = model._posterior_draws()[0].chunks(NEW)
    return mean, variance


def log_mean(log_density, mean, variance):
    """Log of the average over draws and over the latent function given each, on a fine grid."""
    z = np.linspace(-12.0, 12.0, 4001)
    latent = mean[..., np.newaxis] + np.sqrt(variance)[..., np.newaxis] * z
    log_weights = stats.norm.logpdf(z) + np.log(z[1] - z[0])
    terms = log_density(latent) + log_weights
    return logsumexp(terms, axis=(0, 2)) - np.log(len(mean))


def counts_model(likelihood="poisson"):
    y = np.random.default_rng(1).poisson(3.0 * np.exp(np.sin(X[:, 0])))
    exposure = np.linspace(1.0, 5.0, len(X))
    return MCMCCoxProcessRegressor(likelihood=likelihood, **SHORT).fit(X, y, exposure=exposure)


@pytest.mark.parametrize("likelihood", ["poisson", "negative-binomial"])
def test_density_of_counts_in_unequal_exposures(likelihood, chunks):
    model = counts_model(likelihood)
    mean, variance = moments(model)
    units, y = EXPOSURE[:, np.newaxis], COUNTS[:, np.newaxis]

    def log_density(latent):
        rate = units * np.exp(latent)
        if likelihood == "poisson":
            return stats.poisson.logpmf(y, rate)
        shape = 1.0 / model.posterior_["dispersion"].reshape(-1, 1, 1)
        return stats.nbinom.logpmf(y, shape, shape / (shape + rate))

    expected = log_mean(log_density, mean, variance)
    found = chunks(model).log_predictive_density(NEW, COUNTS, EXPOSURE)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.ptp(found) > 1.0  # rows that are mixed up are noticed


def test_predictions_of_counts_in_unequal_exposures(chunks):
    model = counts_model()
    mean, variance = moments(model)
    rate = np.exp(mean + 0.5 * variance).mean(axis=0)
    model = chunks(model)
    np.testing.assert_allclose(model.predict(NEW, EXPOSURE), EXPOSURE * rate, rtol=1e-10)
    quantiles = model.predict_quantiles(NEW, [0.5, 0.9], EXPOSURE)
    alone = [model.predict_quantiles(NEW[[row]], [0.5, 0.9], EXPOSURE[row])[0] for row in range(N)]
    np.testing.assert_array_equal(quantiles, alone)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_explained_deviance_of_counts(weights, chunks):
    model = counts_model()
    y, exposure = model._observed.y, np.linspace(1.0, 5.0, len(X))
    rate = y.sum() / exposure.sum()

    def deviances(y, expected):
        log_ratio = np.log(np.where(y > 0, y, 1.0) / expected)
        return 2.0 * (np.where(y > 0, y * log_ratio, 0.0) - y + expected)

    mean, variance = moments(model)
    expected = EXPOSURE * np.exp(mean + 0.5 * variance).mean(axis=0)
    gain = deviances(COUNTS, rate * EXPOSURE) - deviances(COUNTS, expected)
    share = np.average(gain, weights=weights) / deviances(y, rate * exposure).mean()
    found = chunks(model).score(NEW, COUNTS, sample_weight=weights, exposure=EXPOSURE)
    assert found == pytest.approx(share, rel=1e-9)


def successes_model():
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 12, len(X))
    y = rng.binomial(trials, expit(X[:, 0]))
    return MCMCGaussianProcessClassifier(**SHORT).fit(X, y, trials=trials)


def test_density_of_successes_in_unequal_trials(chunks):
    model = successes_model()
    mean, variance = moments(model)
    expected = log_mean(
        lambda f: stats.binom.logpmf(SUCCESSES[:, np.newaxis], TRIALS[:, np.newaxis], expit(f)),
        mean,
        variance,
    )
    found = chunks(model).log_predictive_density(NEW, SUCCESSES, TRIALS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_accuracy_of_successes(weights, chunks):
    model = chunks(successes_model())
    copies = np.repeat(np.arange(N), TRIALS)
    labels = np.concatenate(
        [[1] * y + [0] * (n - y) for y, n in zip(SUCCESSES, TRIALS, strict=True)]
    )
    predicted = (model.predict_proba(NEW)[:, 1] > 0.5).astype(int)[copies]
    expected = accuracy_score(
        labels, predicted, sample_weight=None if weights is None else weights[copies]
    )
    found = model.score(NEW, SUCCESSES, sample_weight=weights, trials=TRIALS)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
def test_density_of_numbers(likelihood, chunks):
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(len(X))
    model = MCMCGaussianProcessRegressor(likelihood=likelihood, normalize_y=True, **SHORT).fit(X, y)
    mean, variance = moments(model)
    level = model.posterior_["k2__noise_level"].reshape(-1, 1, 1)
    new = np.linspace(-1.0, 1.0, N)
    scaled = ((new - y.mean()) / y.std())[:, np.newaxis]
    family = stats.norm if likelihood == "gaussian" else stats.t(4.0)

    def log_density(latent):
        return family.logpdf((scaled - latent) / np.sqrt(level)) - 0.5 * np.log(level)

    expected = log_mean(log_density, mean, variance) - np.log(y.std())
    found = chunks(model).log_predictive_density(NEW, new)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_explained_variance_of_numbers(weights, chunks):
    y = np.sin(X[:, 0])
    model = chunks(MCMCGaussianProcessRegressor(**SHORT).fit(X, y))
    new = np.sin(NEW[:, 0]) + 0.1
    predicted = np.array([model.predict(NEW[[row]])[0] for row in range(N)])
    expected = r2_score(new, predicted, sample_weight=weights)
    assert model.score(NEW, new, sample_weight=weights) == pytest.approx(expected, rel=1e-9)
