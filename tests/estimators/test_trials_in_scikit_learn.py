"""Numbers of successes in scores and cross-validation: what works, what says it does not."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc.displays import PredictiveDisplay

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 8, "n_draws": 8, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (24, 1))
TRIALS = RNG.integers(2, 15, 24)
Y = RNG.binomial(TRIALS, expit(2.0 * np.sin(X[:, 0])))
FOLDS = KFold(3, shuffle=True, random_state=0)
METHODS = ["score", "log_predictive_density"]


def fitted(**options):
    return MCMCGaussianProcessClassifier(**options, **SHORT).fit(X, Y, trials=TRIALS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("y", [Y, Y.tolist(), Y.astype(float), np.full(24, 7), Y / TRIALS])
def test_successes_without_trials_are_refused(method, link, y):
    model = fitted(link=link)
    with pytest.raises(ValueError, match=rf"{method} .* trials=.*set_score_request\(trials=True\)"):
        getattr(model, method)(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_labels_are_scored_with_a_warning_that_one_trial_each_avoids(method):
    """They may be labels of single trials, or few successes in many."""
    model, labels = fitted(), (X[:, 0] > 0.0).astype(int)
    with pytest.warns(UserWarning, match=rf"{method} takes .* single trial.*trials=1"):
        found = getattr(model, method)(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = getattr(model, method)(X, labels, trials=1)
        for kind in (bool, float, np.int8):
            ones = getattr(model, method)(X, labels.astype(kind), trials=np.ones(24))
            np.testing.assert_allclose(ones, found, atol=1e-7)
    np.testing.assert_allclose(again, found, atol=1e-7)
    p = model.predict_proba(X)
    expected = {
        "score": (p.argmax(axis=1) == labels).mean(),
        "log_predictive_density": np.log(p[np.arange(24), labels]),
    }[method]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_said_of_labels(method):
    labels = (X[:, 0] > 0.0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for trials in (None, 1, np.ones(24)):
            model = MCMCGaussianProcessClassifier(**SHORT)
            warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
            getattr(model.fit(X, labels, trials=trials), method)(X, labels)


def test_single_trials_have_the_density_of_labels_with_the_probit_link():
    model = fitted(link="probit")
    labels = (X[:, 0] > 0.0).astype(int)
    density = model.log_predictive_density(X, labels, trials=1)
    p = model.predict_proba(X)[np.arange(24), labels]
    np.testing.assert_allclose(density, np.log(p), rtol=1e-12)


def test_what_fit_was_given_is_kept_in_pickles_and_forgotten_by_the_next_fit():
    model = pickle.loads(pickle.dumps(fitted()))
    with pytest.raises(ValueError, match="trials="):
        model.score(X, Y)
    labels = (X[:, 0] > 0.0).astype(int)
    model.fit(X, labels)
    assert model.score(X, Y) < 1.0  # labels that fit has not seen are wrong, as in scikit-learn


def test_cross_validation_without_routing_has_no_scores():
    """Not wrong ones: scikit-learn turns the errors into NaN, and warns."""
    model = MCMCGaussianProcessClassifier(**SHORT)
    with pytest.warns(UserWarning, match=r"set_score_request\(trials=True\)"):
        scores = cross_val_score(model, X, Y, cv=FOLDS, params={"trials": TRIALS})
    assert np.isnan(scores).all()


def by_hand(score):
    """Scores of fits to the sliced rows."""
    found = []
    for train, test in FOLDS.split(X):
        model = MCMCGaussianProcessClassifier(**SHORT)
        found.append(score(model.fit(X[train], Y[train], trials=TRIALS[train]), test))
    return found


def routed(**requests):
    model = MCMCGaussianProcessClassifier(**SHORT).set_fit_request(trials=True)
    return model.set_score_request(**requests) if requests else model


def test_scores_with_routing():
    expected = by_hand(lambda model, test: model.score(X[test], Y[test], trials=TRIALS[test]))
    with sklearn.config_context(enable_metadata_routing=True):
        model = routed(trials=True)
        params = {"trials": TRIALS}
        np.testing.assert_allclose(cross_val_score(model, X, Y, cv=FOLDS, params=params), expected)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(X, Y, trials=TRIALS)
        scaled = StandardScaler().fit_transform(X)
        alone = MCMCGaussianProcessClassifier(**SHORT).fit(scaled, Y, trials=TRIALS)
        score = alone.score(scaled, Y, trials=TRIALS)
        assert pipeline.score(X, Y, trials=TRIALS) == pytest.approx(score)
        search = GridSearchCV(model, {"n_draws": [8]}, cv=FOLDS).fit(X, Y, trials=TRIALS)
        found = [search.cv_results_[f"split{i}_test_score"][0] for i in range(3)]
        np.testing.assert_allclose(found, expected)
        whole = clone(model).fit(X, Y, trials=TRIALS).predict_proba(X)
        np.testing.assert_array_equal(search.predict_proba(X), whole)
        _, _, scores = learning_curve(model, X, Y, cv=FOLDS, train_sizes=[1.0], params=params)
        np.testing.assert_allclose(scores[0], expected)


def log_loss_of_trials(y, probabilities, trials):
    p = probabilities[:, 1] if probabilities.ndim == 2 else probabilities
    return -(y * np.log(p) + (trials - y) * np.log1p(-p)).sum() / trials.sum()


def test_log_loss_by_a_scorer_that_takes_trials():
    def expected(model, test):
        p = model.predict_proba(X[test])
        return -log_loss_of_trials(Y[test], p, TRIALS[test])

    expected = by_hand(expected)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(
            log_loss_of_trials, response_method="predict_proba", greater_is_better=False
        ).set_score_request(trials=True)
        scores = cross_validate(routed(), X, Y, cv=FOLDS, scoring=scorer, params={"trials": TRIALS})
    np.testing.assert_allclose(scores["test_score"], expected)


def test_predictions_by_cross_validation_recode_the_successes():
    """Why the guide says not to: scikit-learn takes them for labels, which it numbers."""
    seen = []

    class Watched(MCMCGaussianProcessClassifier):
        def fit(self, X, y, sample_weight=None, trials=None):
            seen.append(y)
            return super().fit(X, y, sample_weight, trials)

    y, model = 5 * (Y > 3), Watched(**SHORT)
    cross_val_predict(
        model, X, y, cv=FOLDS, method="predict_proba", params={"trials": np.full(24, 9)}
    )
    assert set(np.concatenate(seen)) == {0, 1}


def test_scorers_by_name_and_stratified_folds():
    """Why the guide says not to: they take numbers of successes for labels."""
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"params": {"trials": TRIALS}, "cv": FOLDS}
        accuracy = cross_val_score(routed(), X, Y, scoring="accuracy", **params)
        expected = by_hand(lambda model, test: (model.predict(X[test]) == Y[test]).mean())
        np.testing.assert_array_equal(accuracy, expected)
        assert accuracy.mean() < 0.2
        with pytest.warns(UserWarning, match="different number of classes"):
            loss = cross_val_score(routed(), X, Y, scoring="neg_log_loss", **params)
        assert np.isnan(loss).all()
        each_once = np.arange(24)
        with pytest.raises(ValueError, match="number of members in each class"):
            cross_val_score(routed(), X, each_once, cv=3, params={"trials": np.full(24, 30)})


def test_points_of_a_display_need_shares():
    pytest.importorskip("matplotlib").use("agg")
    with pytest.raises(ValueError, match=r"Leave y out .* numbers of successes"):
        PredictiveDisplay.from_estimator(fitted(), X, Y)


def warnings_of_classes(y, **options):
    """Return the messages of `fit` without trials, but for those about chains."""
    rows = np.linspace(0.0, 1.0, len(y))[:, np.newaxis]
    model = MCMCGaussianProcessClassifier(n_chains=1, n_warmup=1, n_draws=4, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, y, **options)
    others = [w for w in caught if w.category is not sklearn.exceptions.ConvergenceWarning]
    assert all(w.category is UserWarning and w.filename == __file__ for w in others)
    return [str(w.message) for w in others]


MANY = np.arange(30) % 17


@pytest.mark.parametrize("y", [MANY, MANY.tolist(), MANY.astype(float), MANY.astype(np.uint8)])
def test_many_classes_that_may_be_successes_are_warned_of_once(y):
    (message,) = warnings_of_classes(y)
    assert message.startswith("y has 17 different values in 30 rows")
    assert "fit(X, y, trials=...)" in message
    assert warnings_of_classes(y, trials=20) == []


def test_many_classes_that_are_no_successes_are_warned_of_in_other_words():
    (message,) = warnings_of_classes(MANY - 5)
    assert "trials" not in message
    assert "MCMCGaussianProcessRegressor" in message
    (message,) = warnings_of_classes(MANY.astype(str))
    assert message.endswith("class of its own: check that y are labels.")


@pytest.mark.parametrize("y", [np.arange(30) % 15, np.arange(20), np.arange(21) % 10, MANY % 2])
def test_classes_that_repeat_are_not_warned_of(y):
    assert warnings_of_classes(y) == []
