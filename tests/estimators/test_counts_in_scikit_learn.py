"""The estimator of counts in scikit-learn's tools for regressors: values against fits by hand."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.metrics import (
    PredictionErrorDisplay,
)
from sklearn.model_selection import (
    KFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.multioutput import MultiOutputRegressor

from skgpmcmc import MCMCCoxProcessRegressor

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 8, "n_draws": 8, "random_state": 0}
MODEL = MCMCCoxProcessRegressor(**SHORT)
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (40, 2))
EXPOSURE = RNG.uniform(0.5, 4.0, 40)
Y = RNG.poisson(5.0 * np.exp(0.8 * X[:, 0]))
FOLDS = KFold(3)


def fitted(rows=slice(None), columns=slice(None)):
    return clone(MODEL).fit(X[rows][:, columns], Y[rows])


def held_out(predict):
    """What is predicted of each row from those of the other folds."""
    return np.concatenate([predict(fitted(train), test) for train, test in FOLDS.split(X)])


@pytest.mark.parametrize("kind", ["average", "individual"])
def test_partial_dependence(kind):
    model = fitted()
    found = partial_dependence(model, X, [0], grid_resolution=4, kind=kind)
    at = found["grid_values"][0]
    assert len(at) == 4
    each = np.array([model.predict(np.column_stack([np.full(40, v), X[:, 1]])) for v in at])
    expected = each.mean(axis=1) if kind == "average" else each.T
    np.testing.assert_allclose(found[kind][0], expected, rtol=1e-12)
    assert (np.diff(found["average"][0] if kind == "average" else expected.mean(axis=0)) > 0).all()


def test_predictions_and_scores_by_cross_validation():
    expected = held_out(lambda model, rows: model.predict(X[rows]))
    np.testing.assert_array_equal(cross_val_predict(MODEL, X, Y, cv=FOLDS), expected)
    scores = [fitted(train).score(X[test], Y[test]) for train, test in FOLDS.split(X)]
    np.testing.assert_array_equal(cross_val_score(MODEL, X, Y, cv=FOLDS), scores)
    sizes, _, curve = learning_curve(MODEL, X, Y, cv=FOLDS, train_sizes=[15, 26])
    assert sizes.tolist() == [15, 26]
    for column, size in enumerate(sizes):
        scores = [fitted(train[:size]).score(X[test], Y[test]) for train, test in FOLDS.split(X)]
        np.testing.assert_array_equal(curve[column], scores)
    _, curve = validation_curve(
        MODEL, X, Y, param_name="n_draws", param_range=[8], cv=FOLDS, scoring="r2"
    )
    assert curve.shape == (1, 3)


def test_member_of_a_stack():
    members = [("gp", MODEL), ("poisson", PoissonRegressor())]
    stack = StackingRegressor(members, LinearRegression(), cv=FOLDS).fit(X, Y)
    columns = [cross_val_predict(member, X, Y, cv=FOLDS) for _, member in members]
    final = LinearRegression().fit(np.column_stack(columns), Y)
    np.testing.assert_allclose(stack.final_estimator_.coef_, final.coef_, rtol=1e-9)
    together = np.column_stack([clone(member).fit(X, Y).predict(X) for _, member in members])
    np.testing.assert_allclose(stack.predict(X), final.predict(together), rtol=1e-9)


def test_final_estimator_of_a_stack():
    """On top of others' predictions, with what they leave of the columns."""
    members = [("linear", LinearRegression()), ("poisson", PoissonRegressor())]
    stack = StackingRegressor(members, clone(MODEL), cv=FOLDS, passthrough=True).fit(X, Y)
    columns = [cross_val_predict(member, X, Y, cv=FOLDS) for _, member in members]
    final = clone(MODEL).fit(np.column_stack([*columns, X]), Y)
    together = [clone(member).fit(X, Y).predict(X) for _, member in members]
    expected = final.predict(np.column_stack([*together, X]))
    np.testing.assert_allclose(stack.predict(X), expected, rtol=1e-6)


def test_vote():
    members = [("gp", MODEL), ("poisson", PoissonRegressor())]
    vote = VotingRegressor(members, weights=[3.0, 1.0]).fit(X, Y)
    expected = 0.75 * fitted().predict(X) + 0.25 * PoissonRegressor().fit(X, Y).predict(X)
    np.testing.assert_allclose(vote.predict(X), expected, rtol=1e-12)


def test_exposure_reaches_members_by_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(exposure=True)
        vote = VotingRegressor([("gp", model), ("mean", DummyRegressor())])
        vote.fit(X, Y, exposure=EXPOSURE)
        by_hand = clone(MODEL).fit(X, Y, exposure=EXPOSURE).predict(X)
    np.testing.assert_allclose(vote.predict(X), 0.5 * (by_hand + Y.mean()), rtol=1e-12)


def test_targets_that_are_transformed():
    """The regressor must get counts: a transformation may pick them, but not make others."""
    pairs = np.column_stack([Y, EXPOSURE])
    thousands = TransformedTargetRegressor(
        clone(MODEL), func=lambda y: np.rint(y * 1000.0), inverse_func=lambda y: y / 1000.0
    )
    thousands.fit(X, Y / 1000.0)
    np.testing.assert_allclose(thousands.predict(X), fitted().predict(X) / 1000.0, rtol=1e-12)
    roots = TransformedTargetRegressor(clone(MODEL), func=np.sqrt, inverse_func=np.square)
    with pytest.raises(ValueError, match="y must be a whole number"):
        roots.fit(X, Y)
    with pytest.raises(ValueError, match="1d array"):
        TransformedTargetRegressor(clone(MODEL)).fit(X, pairs)


# Not named anywhere: bags, several targets, selection of columns, pictures of errors.


def test_bag():
    bag = BaggingRegressor(clone(MODEL), n_estimators=2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(
        bag.predict(X), np.mean([each.predict(X) for each in bag.estimators_], axis=0)
    )
    assert bag.score(X, Y) > 0.3


def test_several_targets():
    other = Y[::-1].copy()
    both = MultiOutputRegressor(clone(MODEL)).fit(X, np.column_stack([Y, other]))
    expected = [fitted().predict(X), clone(MODEL).fit(X, other).predict(X)]
    np.testing.assert_array_equal(both.predict(X).T, expected)


def test_columns_selected_by_scores():
    chosen = SequentialFeatureSelector(clone(MODEL), n_features_to_select=1, cv=2).fit(X, Y)
    assert chosen.get_support().tolist() == [True, False]


def test_picture_of_errors():
    pytest.importorskip("matplotlib").use("agg")
    display = PredictionErrorDisplay.from_estimator(fitted(), X, Y)
    np.testing.assert_array_equal(display.y_pred, fitted().predict(X))
