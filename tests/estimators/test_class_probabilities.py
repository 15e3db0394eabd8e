"""Values of probabilities of several classes, and of their quantiles, by plain Monte Carlo."""

import functools
import warnings
from itertools import product

import numpy as np
import pytest
from rotation import in_turn
from scipy.special import expit, ndtr
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCGaussianProcessClassifier

N_DRAWS, N_ROWS, N_EACH, N_NODES = 200, 4, 250, 8
P = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
CASES = [
    *(("one_vs_rest", "logit", n_classes) for n_classes in (3, 4, 7)),
    *(("one_vs_rest", "probit", n_classes) for n_classes in (3, 5)),
    *(("softmax", "logit", n_classes) for n_classes in (2, 3, 4, 6)),
]
SPREADS = [0.1, 1.0, 3.0]
WITH_SPREADS = in_turn(product(CASES, SPREADS), 3, CASES, SPREADS)


class Draws:
    """Normal latent values given each draw, that nothing was fitted for."""

    def __init__(self, mean, variance):
        self.mean, self.variance = mean, variance

    def __len__(self):
        return len(self.mean)

    def chunks(self, X):
        for start in range(0, len(X), 3):
            rows = slice(start, min(start + 3, len(X)))
            yield rows, self.mean[:, rows], self.variance[:, rows]


def moments(n_classes, spread, seed=0):
    """Return means of latent values over classes, draws and rows, and variances."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(-0.5, 1.5, (n_classes, 1, N_ROWS))
    mean = centre + spread * rng.standard_normal((n_classes, N_DRAWS, N_ROWS))
    return mean, spread**2 * rng.uniform(0.2, 2.0, mean.shape)


@functools.cache
def fitted(multi_class, link, n_classes):
    model = MCMCGaussianProcessClassifier(
        multi_class=multi_class, link=link, n_chains=1, n_warmup=0, n_draws=4, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(np.arange(2.0 * n_classes)[:, None], np.repeat(np.arange(n_classes), 2))


def model_of(case, mean, variance, monkeypatch):
    """Return a classifier that predicts from these latent values."""
    model = fitted(*case)
    draws = [Draws(*each) for each in zip(mean, variance, strict=True)]
    monkeypatch.setattr(model, "_posterior_draws", lambda: draws)
    return model


def shares_of(case, latent):
    """Return the classes' probabilities by their definition."""
    weights = {"softmax": np.exp, "logit": expit, "probit": ndtr}
    values = weights[case[0] if case[0] == "softmax" else case[1]](latent)
    return values / values.sum(axis=0)


ROWS = np.zeros((N_ROWS, 1))


@pytest.mark.parametrize(("case", "spread"), WITH_SPREADS)
def test_quantiles_are_those_of_plain_monte_carlo(case, spread, monkeypatch):
    mean, variance = moments(case[2], spread)
    model = model_of(case, mean, variance, monkeypatch)
    normal = np.random.default_rng(1).standard_normal((N_EACH, *mean.shape))
    latent = np.moveaxis(mean + np.sqrt(variance) * normal, 0, 1)
    shares = shares_of(case, latent).reshape(case[2], -1, N_ROWS)
    # Nodes are not worse than as many random ones, and so is the median.
    error = np.sqrt(P * (1.0 - P)) * np.hypot(
        1.0 / np.sqrt(N_DRAWS * N_NODES), 1.0 / np.sqrt(N_DRAWS * N_EACH)
    )
    values = model.predict_quantiles(ROWS, P)
    assert values.shape == (N_ROWS, case[2], len(P))
    up_to = (shares[..., None] <= np.moveaxis(values, 0, 1)[:, None]).mean(axis=1)
    assert (np.abs(up_to - P) < 4.0 * error + 1.0 / (N_DRAWS * N_NODES)).all()
    interval = model.predict_interval(ROWS, 0.9)
    np.testing.assert_allclose(interval, values[..., [0, -1]], rtol=1e-12)
    for c in (0.1, 0.4, 0.8):
        above = (shares > c).mean(axis=1).T
        error = np.sqrt(np.maximum(above * (1.0 - above), 1e-3) / (N_DRAWS * N_NODES))
        assert (np.abs(model.predict_exceedance(ROWS, c) - above) < 4.0 * error).all()


@pytest.mark.parametrize("case", CASES)
def test_quantiles_of_known_latent_values_are_those_of_the_draws(case, monkeypatch):
    mean, variance = moments(case[2], 1.0, seed=2)
    model = model_of(case, mean, 0.0 * variance, monkeypatch)
    shares = shares_of(case, mean)
    each = np.repeat(shares, N_NODES, axis=1)
    expected = np.moveaxis(np.quantile(each, P, axis=1), (0, 1, 2), (2, 1, 0))
    np.testing.assert_allclose(model.predict_quantiles(ROWS, P), expected, rtol=1e-12)
    levels = np.linspace(0.2, 0.5, N_ROWS)
    above = model.predict_exceedance(ROWS, levels)
    np.testing.assert_allclose(above, (shares > levels).mean(axis=1).T, rtol=1e-12)


@pytest.mark.parametrize(("case", "spread"), WITH_SPREADS)
def test_probabilities_are_those_of_plain_monte_carlo(case, spread, monkeypatch):
    mean, variance = moments(case[2], spread, seed=3)
    model = model_of(case, mean, variance, monkeypatch)
    normal = np.random.default_rng(4).standard_normal((N_EACH, *mean.shape))
    latent = np.moveaxis(mean + np.sqrt(variance) * normal, 0, 1)
    if case[0] == "softmax":
        samples = shares_of(case, latent)
    else:  # the averages of independent models are normalised
        samples = {"logit": expit, "probit": ndtr}[case[1]](latent)
    expected = samples.mean(axis=(1, 2))
    expected = (expected / expected.sum(axis=0)).T
    within = samples.std(axis=1).mean(axis=1).T / np.sqrt(N_DRAWS)
    # 64 nodes for each draw, not worse than random ones.
    error = within * np.hypot(1.0 / np.sqrt(64), 1.0 / np.sqrt(N_EACH)) / samples.mean() * 0.5
    assert (np.abs(model.predict_proba(ROWS) - expected) < 4.0 * error + 1e-4).all()


@pytest.mark.parametrize("case", CASES)
def test_probabilities_too_small_for_floats_are_above_zero(case, monkeypatch):
    mean, variance = moments(case[2], 1.0)
    mean[0] -= 1e4
    model = model_of(case, mean, variance, monkeypatch)
    assert (model.predict_quantiles(ROWS, [0.5])[:, 0] == 0.0).all()
    assert (model.predict_exceedance(ROWS, [-1.0, -0.0, 0.0, -np.inf]) == 1.0).all()
    above = model.predict_exceedance(ROWS, [1e-300, 1.0, 1.5, np.inf])
    assert (above[:, 0] == 0.0).all()
    assert (above[1:] == 0.0).all()


def test_many_rows_are_taken_in_pieces(monkeypatch):
    from skgpmcmc.estimators import _class_predictions

    case = CASES[0]
    mean, variance = moments(3, 1.0)
    model = model_of(case, mean, variance, monkeypatch)
    whole = model.predict_quantiles(ROWS, P), model.predict_exceedance(ROWS, [0.1, 0.2, 0.3, 0.4])
    monkeypatch.setattr(_class_predictions, "CHUNK_BYTES", 8 * 3 * N_DRAWS * N_NODES * 2)
    parts = model.predict_quantiles(ROWS, P), model.predict_exceedance(ROWS, [0.1, 0.2, 0.3, 0.4])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
