"""Scores of counts against sums by hand: the constant rate, few events, single rows, weights."""

import pickle

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score

from skgpmcmc import MCMCCoxProcessRegressor

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "random_state": 0}
X = np.arange(4.0)[:, None]
Y, EXPOSURE = np.array([0, 0, 1, 3]), np.array([1.0, 1.0, 2.0, 4.0])
# Half an event per unit: 0.5, 0.5, 1 and 2 are expected, with the deviances 1, 1, 0 and this.
LAST = 2.0 * (3.0 * np.log(1.5) - 1.0)
MEAN_DEVIANCE = (2.0 + LAST) / 4.0


class Share(MCMCCoxProcessRegressor):
    """Predicts `share` times the constant rate of the data that it was fitted to."""

    def __init__(self, share=1.0, n_chains=1, n_warmup=0, n_draws=4, random_state=0):
        super().__init__(
            n_chains=n_chains, n_warmup=n_warmup, n_draws=n_draws, random_state=random_state
        )
        self.share = share

    def fit(self, X, y, sample_weight=None, exposure=None):
        super().fit(X, y, sample_weight, exposure)
        units = np.ones(len(y)) if exposure is None else np.asarray(exposure, dtype=float)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.rate_ = (weights * y).sum() / (weights * units).sum()
        return self

    def predict(self, X, exposure=None):
        units = np.ones(len(X)) * (1.0 if exposure is None else exposure)
        return self.share * self.rate_ * units


@pytest.mark.parametrize(
    ("y", "exposure", "expected"),
    [
        ([2], [3.0], 2.0 * (2.0 * np.log(2.0) - 1.5)),  # 3 expected, by the constant rate 1.5
        ([0], [3.0], -3.0),
        ([1], [2.0], 2.0 * (np.log(2.0) - 1.0)),  # the constant rate has no deviance at all
        ([0, 0], [1.0, 1.0], -1.0),  # no events
        ([2, 0], [3.0, 3.0], (2.0 * (2.0 * np.log(2.0) - 1.5) - 3.0) / 2.0),
    ],
)
def test_score_by_hand(y, exposure, expected):
    """Of a model that predicts twice the constant rate."""
    model = Share(2.0).fit(X, Y, exposure=EXPOSURE)
    score = model.score(X[: len(y)], y, exposure=exposure)
    assert score == pytest.approx(expected / MEAN_DEVIANCE, rel=1e-12)


def test_on_the_rows_of_fit_it_is_the_share_of_the_deviance():
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, Y, exposure=EXPOSURE)
    predicted = model.predict(X, EXPOSURE)
    share = 1.0 - mean_poisson_deviance(Y, predicted) / mean_poisson_deviance(Y, 0.5 * EXPOSURE)
    assert model.score(X, Y, exposure=EXPOSURE) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("rows", [[0], [3], [0, 1], [0, 1, 2, 3], [2, 2, 2]])
@pytest.mark.parametrize("weights", [None, [2.0, 1.0, 3.0, 0.5]])
def test_the_constant_rate_scores_zero_on_any_rows(rows, weights):
    model = Share().fit(X, Y, sample_weight=weights, exposure=EXPOSURE)
    zero = pytest.approx(0.0, abs=1e-13)  # rounding of the rate
    assert model.score(X[rows], Y[rows], exposure=EXPOSURE[rows]) == zero
    assert model.score(X[rows], Y[rows] + 7, exposure=5.0 * EXPOSURE[rows]) == zero


def test_scores_of_parts_add_up_to_that_of_the_whole():
    rng = np.random.default_rng(0)
    inputs, exposure = rng.uniform(0.0, 5.0, (30, 1)), rng.uniform(0.1, 4.0, 30)
    y, weights = rng.poisson(0.4 * exposure), rng.integers(1, 4, 30).astype(float)
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, Y, exposure=EXPOSURE)
    for given in (None, weights):
        for parts in (np.split(np.arange(30), [7, 19]), np.arange(30)[:, None]):
            sums = [
                (1.0 if given is None else given[rows].mean())
                * len(rows)
                * model.score(
                    inputs[rows],
                    y[rows],
                    sample_weight=None if given is None else given[rows],
                    exposure=exposure[rows],
                )
                for rows in parts
            ]
            total = 30.0 if given is None else given.sum()
            whole = model.score(inputs, y, sample_weight=given, exposure=exposure)
            assert sum(sums) / total == pytest.approx(whole, rel=1e-10)


def few_events(n=60):
    y = np.zeros(n, dtype=int)
    y[[7, 30, 44]] = 1
    return np.arange(float(n))[:, None], y


def test_leave_one_out_of_few_events_does_not_prefer_the_smallest_prediction():
    inputs, y = np.arange(20.0)[:, None], np.zeros(20, dtype=int)
    y[[7, 14]] = 1
    search = GridSearchCV(Share(), {"share": [1e-5, 0.1, 1.0]}, cv=LeaveOneOut(), refit=False)
    scores = search.fit(inputs, y).cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_params_ == {"share": 1.0}
    assert scores[2] == pytest.approx(0.0, abs=1e-13)
    assert scores[0] < scores[1] < 0.0


def test_constant_rate_over_rows_without_events():
    """The first rows have none: 0.85 was the score of the constant rate."""
    inputs, y = few_events()
    folds = [(np.delete(np.arange(60), i), [i]) for i in range(7)]
    scores = cross_val_score(Share(), inputs, y, cv=folds)
    np.testing.assert_allclose(scores, 0.0, atol=1e-13)
    model = MCMCCoxProcessRegressor(**{**SHORT, "n_warmup": 20, "n_draws": 50}).fit(inputs, y)
    assert abs(model.score(inputs[:20], y[:20])) < 0.5


def test_no_event_at_all_counts_as_half_of_one():
    """The rate is then 0.5 / 8, and all rows together have the deviance 1."""
    model = Share().fit(X, 0 * Y, exposure=EXPOSURE)
    gain = 2.0 * 0.5 * EXPOSURE / 8.0  # of predicting no events where there are none
    assert model.score(X[:1], [0], exposure=EXPOSURE[:1]) == pytest.approx(gain[0] / 0.25)
    assert model.score(X, 0 * Y, exposure=EXPOSURE) == pytest.approx(1.0)
    # An event where none was expected: infinite deviance but for the smallest rate.
    assert -1e5 < model.score(X[:1], [1], exposure=EXPOSURE[:1]) < -100.0


@pytest.mark.parametrize("counts", [[5], [5, 5, 5, 5]])
def test_training_counts_that_all_are_as_expected(counts):
    """Then all rows together are taken to have the deviance 1."""
    model = Share(2.0).fit(X[: len(counts)], counts)
    gain = 2.0 * (5.0 * np.log(2.0) - 5.0)
    assert model.score(X[:1], [5]) == pytest.approx(gain * len(counts), rel=1e-12)


@pytest.mark.parametrize("count", [0, 4])
def test_weights_are_copies_where_the_rate_or_the_deviance_would_be_zero(count):
    counts, weights = np.full(4, count), np.full(4, 3)
    weighted = MCMCCoxProcessRegressor(**SHORT).fit(X, counts, sample_weight=weights)
    repeated = MCMCCoxProcessRegressor(**SHORT).fit(np.repeat(X, 3, axis=0), np.repeat(counts, 3))
    centres = [model.priors_["mean"][0].mean() for model in (weighted, repeated)]
    assert centres[0] == pytest.approx(centres[1], rel=1e-12)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert weighted.score(X, counts) == pytest.approx(repeated.score(X, counts), rel=1e-6)


def test_weights_of_fit_are_those_of_the_rate_and_of_the_deviance():
    weights = np.array([1, 2, 0, 3])
    rows = np.repeat(np.arange(4), weights)
    weighted = Share(2.0).fit(X, Y, sample_weight=weights, exposure=EXPOSURE)
    repeated = Share(2.0).fit(X[rows], Y[rows], exposure=EXPOSURE[rows])
    score = repeated.score(X, Y, exposure=EXPOSURE)
    assert weighted.score(X, Y, exposure=EXPOSURE) == pytest.approx(score, rel=1e-12)
    assert weighted.score(X, Y, sample_weight=weights, exposure=EXPOSURE) == pytest.approx(
        repeated.score(X[rows], Y[rows], exposure=EXPOSURE[rows]), rel=1e-12
    )
    # By hand: 9 events in 1 + 2 + 12 units, a rate of 0.6.
    expected = 2.0 * (3.0 * np.log(2.0) - 2.4)
    null = (2.0 * 0.6 * 3.0 + 3.0 * 2.0 * (3.0 * np.log(3.0 / 2.4) - 0.6)) / 6.0
    score = weighted.score(X[3:], Y[3:], exposure=EXPOSURE[3:])
    assert score == pytest.approx(expected / null, rel=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("predicted", [0.0, 5e-324, 1e308, np.inf])
def test_scores_of_extreme_predictions_are_finite(predicted, monkeypatch):
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, Y, exposure=EXPOSURE)
    monkeypatch.setattr(model, "predict", lambda X, exposure: np.full(len(X), predicted))
    for y in ([0, 1], [9e15, 0]):
        assert np.isfinite(model.score(X[:2], y, exposure=1.0))
        assert np.isfinite(model.score(X[:2], y, sample_weight=[1e12, 1.0], exposure=1e308))


def test_large_counts_keep_their_digits():
    """Close to the expectation mu the deviance is (y - mu)^2 / mu."""
    model = Share(1.0 + 1e-8).fit(X, [10**15, 10**15 + 10**8, 10**15, 10**15 - 10**8])
    null = 2.0 * 1e8**2 / 1e15 / 4.0
    assert model.score(X[:1], [10**15]) == pytest.approx(-(1e7**2) / 1e15 / null, rel=1e-5)


def test_the_rate_is_kept_in_pickles_and_by_warm_starts():
    model = Share(2.0).fit(X, Y, exposure=EXPOSURE)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.score(X, Y, exposure=EXPOSURE) == model.score(X, Y, exposure=EXPOSURE)
    warm = MCMCCoxProcessRegressor(warm_start=True, **SHORT).fit(X, Y, exposure=EXPOSURE)
    warm.set_params(n_draws=8).fit(X, Y, exposure=EXPOSURE)
    at_once = MCMCCoxProcessRegressor(**{**SHORT, "n_draws": 8}).fit(X, Y, exposure=EXPOSURE)
    assert warm.score(X, Y, exposure=2.0) == at_once.score(X, Y, exposure=2.0)


# ---------------------------------------------------------------- no exposure


LIKELIHOODS = ["poisson", "negative-binomial"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_without_exposure_there_are_no_events(likelihood):
    model = MCMCCoxProcessRegressor(likelihood=likelihood, **SHORT).fit(X, Y, exposure=EXPOSURE)
    some = np.array([0.0, 1.0, 0.0, 30.0])
    for exposure in (some, some.tolist(), some.astype(object), 0, 0.0, np.zeros(4)):
        units = np.broadcast_to(exposure, 4).astype(float)
        empty = units == 0.0
        np.testing.assert_array_equal(model.predict(X, exposure), units * model.predict(X))
        quantiles = model.predict_quantiles(X, [0.0, 0.5, 0.999, 1.0], exposure)
        assert (quantiles[empty] == 0.0).all()
        assert (quantiles[~empty, 3] == np.inf).all()
        drawn = model.sample_y(X, 50, random_state=0, exposure=exposure)
        assert (drawn[empty] == 0).all()
        assert (drawn[~empty] > 0).any(axis=1).all()
        log_p = model.log_predictive_density(X, np.zeros(4), exposure)
        assert (log_p[empty] == 0.0).all()
        assert (log_p[~empty] < 0.0).all()
        assert (model.log_predictive_density(X, np.ones(4), exposure)[empty] == -np.inf).all()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_rows_without_exposure_leave_the_others_as_they_are(likelihood):
    model = MCMCCoxProcessRegressor(likelihood=likelihood, **SHORT).fit(X, Y, exposure=EXPOSURE)
    exposure, rows = np.array([2.0, 0.0, 0.5, 0.0]), [0, 2]
    for predict in (
        lambda rows: model.predict(X[rows], exposure[rows]),
        lambda rows: model.predict_quantiles(X[rows], [0.1, 0.99], exposure[rows]),
        lambda rows: model.log_predictive_density(X[rows], 0 * Y[rows] + 3, exposure[rows]),
    ):
        np.testing.assert_allclose(predict(np.arange(4))[rows], predict(rows), rtol=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_exposure_times_an_infinite_rate(monkeypatch):
    """Its logarithm is normal with the variance 4000, far from the data."""
    kernel = ConstantKernel(4000.0, "fixed") * RBF(1.0, "fixed")
    model = MCMCCoxProcessRegressor(kernel, **SHORT).fit(X, Y)
    far = np.full((2, 1), 1e6)
    assert (model.predict(far) == np.inf).all()
    np.testing.assert_array_equal(model.predict(far, [0.0, 1.0]), [0.0, np.inf])
    np.testing.assert_array_equal(model.predict_quantiles(far, [0.5], 0.0), 0.0)
    np.testing.assert_array_equal(model.sample_y(far, 3, 0, exposure=0.0), 0)
    np.testing.assert_array_equal(model.log_predictive_density(far, [0, 0], 0.0), 0.0)


def test_score_of_rows_without_exposure():
    """They say nothing, for or against."""
    model = Share(2.0).fit(X, Y, exposure=EXPOSURE)
    assert model.score(X[:2], [0, 0], exposure=0.0) == 0.0
    both = model.score(X[:2], [0, 2], exposure=[0.0, 3.0])
    assert both == pytest.approx(0.5 * model.score(X[1:2], [2], exposure=[3.0]))
    with pytest.raises(
        ValueError, match=r"y must be 0 where exposure is 0; row 1 holds 1\.0.*log_predictive"
    ):
        model.score(X[:3], [0, 1, 2], exposure=[0.0, 0.0, 1.0])
