"""How many draws predictions average over, and what is kept between them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._prediction import _dense, _registry
from skgpmcmc._prediction._dense import PosteriorDraws
from skgpmcmc.estimators import _latent_predictions
from skgpmcmc.estimators._latent_predictions import _KEPT

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
NEW = RNG.standard_normal((5, 2))
Y = RNG.poisson(2.0, 12)
SHORT = {"n_chains": 2, "n_warmup": 3, "n_draws": 8, "random_state": 0}
ESTIMATORS = {
    "classes": (MCMCGaussianProcessClassifier(), Y % 3),
    "regression": (MCMCGaussianProcessRegressor(), Y + 0.5 * X[:, 0]),
    "counts": (MCMCCoxProcessRegressor(), Y),
}


def fit(name, **options):
    estimator, y = ESTIMATORS[name]
    return clone(estimator).set_params(**SHORT, **options).fit(X, y)


def predict(model):
    return getattr(model, "predict_proba", model.predict)(NEW)


@pytest.fixture(params=ESTIMATORS)
def name(request):
    return request.param


def test_all_draws_of_small_problems_are_used(name):
    model = fit(name)
    assert model.max_prediction_draws is None
    assert {len(draws) for draws in model._posterior_draws()} == {16}
    every = predict(model)
    np.testing.assert_array_equal(every, predict(model.set_params(max_prediction_draws=16)))
    assert not np.array_equal(every, predict(model.set_params(max_prediction_draws=15)))


def test_numbers_in_factors_bound_the_draws(name, monkeypatch):
    model = fit(name)
    functions = 3 if name == "classes" else 1
    monkeypatch.setattr(_latent_predictions, "FEWEST_DRAWS", 2)
    monkeypatch.setattr(_registry, "MOST_NUMBERS", functions * 5 * 12**2)
    assert {len(draws) for draws in model._posterior_draws()} == {5}
    monkeypatch.setattr(_latent_predictions, "FEWEST_DRAWS", 7)
    assert {len(draws) for draws in model._posterior_draws()} == {7}
    assert len(model._params()) == 7
    monkeypatch.setattr(_latent_predictions, "FEWEST_DRAWS", 200)
    assert {len(draws) for draws in model._posterior_draws()} == {16}


def test_draws_of_a_grid_cost_less(monkeypatch):
    square = np.stack(np.meshgrid(np.arange(20.0), np.arange(15.0)), axis=-1).reshape(-1, 2)
    model = MCMCCoxProcessRegressor(**SHORT).fit(square, RNG.poisson(2.0, 300))
    monkeypatch.setattr(_latent_predictions, "FEWEST_DRAWS", 1)
    monkeypatch.setattr(_registry, "MOST_NUMBERS", 3 * 300 * (20 + 15))
    assert len(model._posterior_draws()[0]) == 3


def test_what_is_made_of_draws_is_kept(name, monkeypatch):
    model = fit(name)
    original, made = PosteriorDraws._condition_on, []

    def condition_on(self, draw):
        made.append(draw)
        return original(self, draw)

    monkeypatch.setattr(PosteriorDraws, "_condition_on", condition_on)
    before = dict(model.__dict__)
    first = predict(model)
    n_made = len(made)
    assert n_made == 16 * len(model._posterior_draws())
    np.testing.assert_array_equal(predict(model), first)
    assert len(made) == n_made
    assert model.__dict__ == before
    # Kept beside the estimator: neither files nor copies have it.
    other = pickle.loads(pickle.dumps(model))
    assert other not in _KEPT
    np.testing.assert_array_equal(predict(other), first)
    assert len(made) == 2 * n_made
    # Another fit makes it anew.
    second = predict(model.set_params(random_state=1).fit(X, ESTIMATORS[name][1]))
    assert len(made) == 3 * n_made
    assert not np.array_equal(second, first)


def test_it_is_kept_within_a_number_of_bytes(name, monkeypatch):
    expected = predict(fit(name))
    monkeypatch.setattr(_dense, "CACHE_BYTES", 3 * 8 * 12**2)
    model = fit(name)
    np.testing.assert_array_equal(predict(model), expected)
    np.testing.assert_array_equal(predict(model), expected)
    assert all(sorted(draws._known) == [0, 1, 2] for draws in model._posterior_draws())


def test_estimators_that_are_gone_keep_nothing():
    before = len(_KEPT)
    model = fit("regression")
    model.predict(NEW)
    assert len(_KEPT) == before + 1
    del model
    assert len(_KEPT) == before
