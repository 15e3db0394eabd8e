"""Weights that sum to one, and others so small that the prior decides: said once for each fit."""

import warnings

import numpy as np
import pytest
from refusals import ESTIMATORS, SHORT, each_estimator
from refusals import TARGETS as ALL_TARGETS
from refusals import X as INPUTS
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N = 30
X = np.vstack([INPUTS + 0.01 * i for i in range(5)])
TARGETS = {estimator: np.tile(y, 5) for estimator, y in ALL_TARGETS.items()}
SHARES = np.full(N, 1.0 / N)
UNEVEN = np.arange(1.0, N + 1.0) / np.arange(1.0, N + 1.0).sum()


def messages(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [
        str(w.message)
        for w in caught
        if "sample_weight" in str(w.message) and not issubclass(w.category, ConvergenceWarning)
    ]


@pytest.mark.parametrize(
    "weights",
    [
        SHARES,
        UNEVEN,
        SHARES.astype(np.float32),
        [0.97, *([0.03 / 29] * 29)],  # a late round of boosting: one row has nearly all
        np.where(np.arange(N) < 3, 1.0 / 3.0, 0.0),  # three rows have any
        1e-3 * np.ones(N),  # no sum in particular
        np.where(np.arange(N) % 2, 0.05, 0.02),
        1.0 / N,
        np.full(N, 1e-90),
    ],
)
@each_estimator
def test_small_weights_are_said_once(estimator, weights):
    y = TARGETS[estimator]
    y = np.concatenate([[0, 1, 2], y[3:]]) if estimator is MCMCGaussianProcessClassifier else y
    (message,) = messages(lambda: estimator(**SHORT).fit(X, y, sample_weight=weights))
    for words in ("copies of its row", "The prior", "multiply", "number of rows"):
        assert words in message


@pytest.mark.parametrize(
    "weights",
    [
        None,
        np.ones(N),
        0.5,
        np.full(N, 0.3),
        np.arange(N),
        N * SHARES,
        N * UNEVEN,
        np.where(np.arange(N) == 4, 1.0, 0.01),  # one row of full weight and more beside
        np.where(np.arange(N) < 2, 0.6, 0.0),
    ],
)
@each_estimator
def test_nothing_is_said_of_others(estimator, weights):
    y = np.arange(N) % 2
    assert messages(lambda: estimator(**SHORT).fit(X, y, sample_weight=weights)) == []


@pytest.mark.parametrize("estimator", ESTIMATORS[1:])  # one row has one class
def test_a_single_row_of_weight_one(estimator):
    assert messages(lambda: estimator(**SHORT).fit(X[:1], [1])) == []
    assert messages(lambda: estimator(**SHORT).fit(X[:2], [1, 2], sample_weight=[1, 0])) == []


@each_estimator
def test_methods_do_not_repeat_it(estimator):
    y = TARGETS[estimator]
    model = estimator(**SHORT)
    messages(lambda: model.fit(X, y, sample_weight=SHARES))
    assert messages(lambda: model.score(X, y, sample_weight=SHARES)) == []
    assert messages(lambda: model.predict(X)) == []


def test_numbers_of_trials_are_copies_too():
    """Each row stands for weight times trials observations, but they are of one row."""
    y, trials = np.arange(N) % 5, np.full(N, 100)
    model = MCMCGaussianProcessClassifier(**SHORT)
    (message,) = messages(lambda: model.fit(X, y, sample_weight=SHARES, trials=trials))
    assert "multiply" in message


def test_multiplied_as_the_message_says():
    y = TARGETS[MCMCGaussianProcessClassifier]
    fits = [
        MCMCGaussianProcessClassifier(**SHORT).fit(X, y, sample_weight=w).predict_proba(X)
        for w in (None, N * SHARES)
    ]
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-6)


def test_boosting_works_and_says_it_once_for_each_fit():
    y = (X[:, 0] + X[:, 1] > 3.5).astype(int)
    model = MCMCGaussianProcessClassifier(n_chains=2, n_warmup=10, n_draws=10, random_state=0)
    boosting = AdaBoostClassifier(model, n_estimators=3, random_state=0)
    said = messages(lambda: boosting.fit(X, y))
    assert len(said) == len(boosting.estimators_) >= 1
    assert boosting.score(X, y) > 0.8


def test_other_ensembles():
    """They draw rows, or pass the weights on that they are given."""
    y = X[:, 0]
    booster = AdaBoostRegressor(
        MCMCGaussianProcessRegressor(**SHORT), n_estimators=2, random_state=0
    )
    assert messages(lambda: booster.fit(X, y)) == []
    labels = TARGETS[MCMCGaussianProcessClassifier]
    model = MCMCGaussianProcessClassifier(**SHORT)
    voting = VotingClassifier([("a", model), ("b", model)])
    assert len(messages(lambda: voting.fit(X, labels, sample_weight=SHARES))) == 2
    calibrated = CalibratedClassifierCV(model, cv=2, ensemble=False)
    # Two folds, and all rows.
    assert len(messages(lambda: calibrated.fit(X, labels, sample_weight=SHARES))) == 3
    pipeline = make_pipeline(StandardScaler(), model)
    name = "mcmcgaussianprocessclassifier__sample_weight"
    assert len(messages(lambda: pipeline.fit(X, labels, **{name: SHARES}))) == 1
