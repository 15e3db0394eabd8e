"""Wrong data and arguments: the error names the argument, what came and what is allowed.

Each row of a table: what is passed, and the words that the message must hold.
"""

import functools
import math

import numpy as np
import pytest
from refusals import ESTIMATORS, SHORT, TARGETS, X, check_message, each_estimator
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skgpmcmc.likelihoods import Poisson

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

Classifier, Regressor, Cox = ESTIMATORS


@functools.cache
def fitted(estimator):
    return estimator(**SHORT).fit(X, TARGETS[estimator])


def with_value(value, row=2):
    changed = X.copy()
    changed[row, 1] = value
    return changed


INPUTS = [
    (None, ["X must hold numbers", "(n_samples, n_features)", "None"]),
    (3.0, ["2D array", "scalar", "3.0"]),
    (X[:, 0], ["2D array", "1D array", "reshape(-1, 1)"]),
    (X[None], ["dim 3"]),
    (with_value(np.nan), ["Input X contains NaN"]),
    (with_value(np.inf), ["Input X contains infinity"]),
    (np.empty((0, 2)), ["0 sample(s)", "(0, 2)", "minimum of 1"]),
    (np.empty((6, 0)), ["0 feature(s)", "(6, 0)", "minimum of 1"]),
    ([["red", 1.0]] * 6, ["X must hold numbers", "'red'", "kernel that takes objects"]),
    ([[1.0, "v"]] * 6, ["column 1: ", "'v'", "OneHotEncoder(sparse_output=False)"]),
    (["a"] * 6, ["X must hold numbers", "'a'", "Encode categories as numbers"]),
    ([[1.0], [1.0, 2.0]], ["X must hold numbers", "(n_samples, n_features)", "inhomogeneous"]),
    ([[1.0, {}]] * 6, ["X must hold numbers", "'dict'"]),
    (1j * X, ["Complex data not supported"]),
    (sparse.csr_matrix(X), ["Sparse data", "X", "OneHotEncoder(sparse_output=False)"]),
]


@pytest.mark.parametrize(("inputs", "words"), INPUTS)
@each_estimator
def test_inputs(estimator, inputs, words):
    y = TARGETS[estimator]
    check_message(lambda: estimator(**SHORT).fit(inputs, y), words)
    model = fitted(estimator)
    for predict in (model.predict, model.predict_latent, model.predict_interval, model.sample_y):
        check_message(lambda p=predict: p(inputs), words)
    check_message(lambda: model.predict_exceedance(inputs, 0.5), words)


@each_estimator
def test_wrong_columns(estimator):
    pandas = pytest.importorskip("pandas")
    model = fitted(estimator)
    check_message(lambda: model.predict(X[:, :1]), ["X has 1 features", "expecting 2 features"])
    frame = pandas.DataFrame(X, columns=["a", "b"])
    named = estimator(**SHORT).fit(frame, TARGETS[estimator])
    check_message(lambda: named.predict(frame.rename(columns={"b": "c"})), ["feature names", "- c"])
    words = ["X must hold numbers", "column 'b': ", "'red'", "OneHotEncoder(sparse_output=False)"]
    check_message(lambda: named.fit(frame.assign(b="red"), TARGETS[estimator]), words)
    check_message(lambda: named.fit(frame["a"], TARGETS[estimator]), ["Series", "DataFrame"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: None, ["y"]),
        (lambda y: 3, ["y should be a 1d array", "shape ()"]),
        (lambda y: y[:3], ["inconsistent numbers of samples: [6, 3]"]),
        (lambda y: np.column_stack([y, y]), ["y should be a 1d array", "(6, 2)"]),
        (lambda y: 1j * y, ["Complex data not supported"]),
        (lambda y: sparse.csr_matrix(y), ["y", "dense data is required"]),
    ],
)
@each_estimator
def test_targets_of_any_kind(estimator, change, words):
    y = change(TARGETS[estimator])
    check_message(lambda: estimator(**SHORT).fit(X, y), words)
    check_message(lambda: fitted(estimator).log_predictive_density(X, y), words)


COUNT = "y must be a whole number from 0 to 9e15; "
TARGET_VALUES = [
    (Classifier, [1] * 6, ["two classes", "1 class", "Check y"]),
    (Classifier, np.arange(6) + 0.5, ["Unknown label type: continuous"]),
    (Classifier, [0, None, 1, 0, 1, 1], ["y must be a class label; row 1 holds None"]),
    (Classifier, [0.0, math.nan, 1.0, 0.0, 1.0, 1.0], ["Input y contains NaN"]),
    (Regressor, [0.0, math.nan, 1.0, 0.0, 1.0, 1.0], ["Input y contains NaN"]),
    (Regressor, [0.0, math.inf, 1.0, 0.0, 1.0, 1.0], ["Input y contains infinity"]),
    (Regressor, [0.0, None, 1.0, 0.0, 1.0, 1.0], ["y must be finite; row 1 holds nan"]),
    (Regressor, ["a", "b"] * 3, ["y must be real numbers; got ['a', 'b'"]),
    (Regressor, np.array(["a", 1] * 3, dtype=object), ["y must be real numbers; got ['a', 1"]),
    (Regressor, TARGETS[Regressor] * 1e200, ["y must be zero", "got 1e+200", "Change its unit"]),
    (Cox, [0, 3, 1, -2, 5, 0], [COUNT + "row 3 holds -2.0"]),
    (Cox, [0, 3, 1.5, 2, 2.5, 0], [COUNT + "row 2 holds 1.5 (2 rows are wrong)", "exposure"]),
    (Cox, [0, 3, 1e20, 2, 5, 0], [COUNT + "row 2 holds 1e+20"]),
    (Cox, [0, 3, None, 2, 5, 0], [COUNT + "row 2 holds nan"]),
    (Cox, [0, 3, math.nan, 2, 5, 0], ["Input y contains NaN"]),
    (Cox, ["a", "b"] * 3, ["y must be real numbers; got ['a', 'b'"]),
]


@pytest.mark.parametrize(("estimator", "y", "words"), TARGET_VALUES)
def test_values_of_targets(estimator, y, words):
    check_message(lambda: estimator(**SHORT).fit(X, y), words)


@pytest.mark.parametrize(
    ("estimator", "y", "words"),
    [
        (Classifier, [0, 1, 2, 3, 0, 1], ["fit has not seen: [2, 3]", "classes are [0, 1]"]),
        (Classifier, [0, None, 1, 0, 1, 1], ["fit has not seen: [None]", "classes are [0, 1]"]),
        (Classifier, [None] * 6, ["fit has not seen: [None]", "classes are [0, 1]"]),
        (Classifier, ["0"] * 6, ["fit has not seen: ['0']", "classes are [0, 1]"]),
        (Classifier, [0.5, 1.0, 0.0, 1.0, 1.0, 0.0], ["fit has not seen: [0.5]"]),
        (Classifier, [0, "a", None, 1.5, 0, 0], ["fit has not seen: ['a', None, 1.5]"]),
        (Regressor, [0.0, math.nan, 1.0, 0.0, 1.0, 1.0], ["y must be finite; row 1 holds nan"]),
        (Regressor, ["a", "b"] * 3, ["y must be real numbers; got ['a', 'b'"]),
        (Cox, [0, 3, 1.5, 2, 5, 0], [COUNT + "row 2 holds 1.5"]),
        (Cox, [0, 3, math.nan, 2, 5, 0], [COUNT + "row 2 holds nan"]),
    ],
)
def test_values_whose_density_is_asked_for(estimator, y, words):
    y = np.array(y, dtype=object) if None in y else y
    check_message(lambda: fitted(estimator).log_predictive_density(X, y), words)


WEIGHTS = [
    ([1.0, 1.0], ["must be a number, or have shape (6,)", "got shape (2,)"]),
    (np.ones((6, 1)), ["must be a number, or have shape (6,)", "got shape (6, 1)"]),
    ([1, 1, -1, 1, -2, 1], ["must be finite and >= 0; row 2 holds -1.0 (2 rows are wrong)"]),
    ([1, 1, 1, math.nan, 1, 1], ["must be finite and >= 0; row 3 holds nan"]),
    ([1, 1, 1, math.inf, 1, 1], ["must be finite and >= 0; row 3 holds inf"]),
    (-2.0, ["must be finite and >= 0; got -2.0"]),
    (np.zeros(6), ["is zero in every row", "nothing to fit"]),
    ([1, 1, 1, 1, 1, 1e18], ["must be at most 1e+12; row 5 holds 1e+18", "divide all of them"]),
    (["a"] * 6, ["must be real numbers; got ['a', 'a'"]),
    (1j * np.ones(6), ["must be real numbers; got [1j"]),
]


@pytest.mark.parametrize(("weights", "words"), WEIGHTS)
@each_estimator
def test_sample_weights(estimator, weights, words):
    words = ["sample_weight", *words]
    y = TARGETS[estimator]
    check_message(lambda: estimator(**SHORT).fit(X, y, sample_weight=weights), words)


def test_largest_weight_can_be_fitted():
    for estimator, y in TARGETS.items():
        model = estimator(**SHORT).fit(X, y, sample_weight=[1, 1, 1, 1, 1, 1e12])
        assert np.isfinite(model.predict(X)).all()


def test_weights_of_series_are_shown_without_the_series():
    pandas = pytest.importorskip("pandas")
    weights = pandas.Series(["a"] * 400, index=range(7, 407))
    rows = np.arange(400.0)[:, None]
    words = ["sample_weight must be real numbers; got ['a', 'a', 'a', 'a', 'a', 'a', ...]."]
    check_message(lambda: Regressor(**SHORT).fit(rows, rows[:, 0], sample_weight=weights), words)


def test_one_class_of_positive_weight():
    words = ["two classes", "got 1 class, 0", "positive sample_weight"]
    weights = 1 - TARGETS[Classifier]
    check_message(lambda: Classifier(**SHORT).fit(X, TARGETS[Classifier], weights), words)


def each_use_of_exposures(exposure):
    """Return `fit`, and all methods that take new exposures, ready to be called."""
    y, model = TARGETS[Cox], fitted(Cox)
    return (
        lambda: Cox(**SHORT).fit(X, y, exposure=exposure),
        lambda: model.predict(X, exposure),
        lambda: model.predict_quantiles(X, 0.5, exposure),
        lambda: model.log_predictive_density(X, y, exposure),
        lambda: model.sample_y(X, exposure=exposure),
        lambda: model.score(X, y, exposure=exposure),
    )


@pytest.mark.parametrize(
    ("exposure", "words"),
    [
        ([1.0, 1.0], ["must be a number, or have shape (6,)", "got shape (2,)"]),
        (np.ones((6, 1)), ["must be a number, or have shape (6,)", "got shape (6, 1)"]),
        ("a", ["must be real numbers; got 'a'"]),
        (np.ones(6, dtype="m8[s]"), ["must be real numbers"]),
    ],
)
def test_exposures(exposure, words):
    for use in each_use_of_exposures(exposure):
        check_message(use, ["exposure", *words])


@pytest.mark.parametrize(
    ("exposure", "what"),
    [
        ([1, 1, -1, 1, -2, 1], "row 2 holds -1.0 (2 rows are wrong)"),
        ([1, 1, math.nan, 1, 1, 1], "row 2 holds nan"),
        (math.inf, "got inf"),
        (-0.5, "got -0.5"),
    ],
)
def test_values_of_exposures(exposure, what):
    fit, *predict = each_use_of_exposures(exposure)
    check_message(fit, [f"exposure must be positive and finite; {what}"])
    for use in predict:
        check_message(use, [f"exposure must be finite and >= 0; {what}"])


@pytest.mark.parametrize(
    ("exposure", "what"), [([1, 0, 1, 1, 1, 1], "row 1 holds 0.0"), (0.0, "got 0.0")]
)
def test_rows_without_exposure_cannot_be_fitted(exposure, what):
    words = [f"exposure must be positive and finite; {what}"]
    check_message(lambda: Cox(**SHORT).fit(X, TARGETS[Cox], exposure=exposure), words)


@pytest.mark.parametrize("exposure", [1e-300, 1e300])
def test_exposures_whose_rate_overflows(exposure):
    words = ["exposure", "overall rate", "between 1e-100 and 1e+100", "Change the unit"]
    check_message(lambda: Cox(**SHORT).fit(X, TARGETS[Cox], exposure=exposure), words)


def test_weighted_counts_that_overflow():
    words = ["sample_weight times y must be at most 1e16; row 1 holds 9e+18", "Divide all weights"]
    y, weights = np.array([0, 9e15, 1, 2, 5, 0]), np.full(6, 1000.0)
    check_message(lambda: Cox(**SHORT).fit(X, y, sample_weight=weights), words)


def test_estimator_and_likelihood_check_counts_in_the_same_words():
    for bad in ([0, 1.5], [-1, 1], [0, 1e17]):
        with pytest.raises(ValueError, match="y must be a whole number") as of_likelihood:
            Poisson(bad)
        with pytest.raises(ValueError, match="y must be a whole number") as of_estimator:
            Cox(**SHORT).fit(X[:2], bad)
        assert str(of_likelihood.value) == str(of_estimator.value)


LEVEL = "confidence_level must be a number between 0 and 1"
QUANTILES = "quantiles must be one number, or a list of numbers, between 0 and 1"
WHOLE = "n_samples must be a whole number, at least 1"
STATE = "random_state must be None, a whole number from 0 to 2**32 - 1, or a numpy"
ARGUMENTS = [
    *(("predict_interval", v, [LEVEL, f"got {v!r}", "pass 0.9"]) for v in (0, 1, -0.1, 90, "0.9")),
    *(("predict_interval", v, [LEVEL, f"got {v!r}"]) for v in (None, math.nan, True, [0.9])),
    *(("predict_quantiles", v, [QUANTILES, f"got {v!r}"]) for v in (-0.1, 1.5, [0.5, 2], [[0.1]])),
    *(("predict_quantiles", v, [QUANTILES, f"got {v!r}"]) for v in (None, math.nan)),
    ("predict_quantiles", "median", ["quantiles must be real numbers; got 'median'"]),
    *(("sample_y", v, [WHOLE, f"got {v!r}"]) for v in (0, -1, 1.0, True, None, "3", math.nan)),
]


@pytest.mark.parametrize(("method", "value", "words"), ARGUMENTS)
@each_estimator
def test_arguments_of_predictions(estimator, method, value, words):
    check_message(lambda: getattr(fitted(estimator), method)(X, value), words)


@pytest.mark.parametrize("value", ["a", -1, 1.5, 2**40, np.random.default_rng(0)])
@each_estimator
def test_random_states(estimator, value):
    words = [STATE, f"got {value!r}"]
    check_message(lambda: fitted(estimator).sample_y(X, 1, value), words)


@each_estimator
def test_numpy_integers_are_numbers_of_samples(estimator):
    assert fitted(estimator).sample_y(X, np.int64(2), np.int32(0)).shape == (6, 2)


@each_estimator
def test_both_spreads(estimator):
    with pytest.raises(RuntimeError, match="At most one of return_std or return_cov"):
        fitted(estimator).predict_latent(X, return_std=True, return_cov=True)


@each_estimator
def test_methods_before_fit(estimator):
    model, y = estimator(), TARGETS[estimator]
    arguments = {
        "predict": (),
        "predict_latent": (),
        "predict_interval": (),
        "predict_quantiles": (0.5,),
        "predict_exceedance": (0.5,),
        "log_predictive_density": (y,),
        "sample_y": (),
        "score": (y,),
        "predict_proba": (),
        "predict_log_proba": (),
    }
    for method in filter(lambda name: hasattr(model, name), arguments):
        with pytest.raises(NotFittedError, match=f"{estimator.__name__} .* not fitted yet"):
            getattr(model, method)(X, *arguments[method])


@pytest.mark.parametrize(
    ("inputs", "change", "words"),
    [
        (X + 1.0, lambda y: y, ["differ from it: X. "]),
        (
            X,
            lambda y: y[::-1],
            ["differ from it: y, sample_weight, trials, exposure or noise_variance. "],
        ),
    ],
)
@each_estimator
def test_warm_start_with_other_data(estimator, inputs, change, words):
    y = TARGETS[estimator]
    model = estimator(warm_start=True, **SHORT).fit(X, y).set_params(n_draws=6)
    words = ["warm_start=True", *words, "set warm_start=False to start afresh"]
    check_message(lambda: model.fit(inputs, change(y)), words)
    words[1] = "y, sample_weight, trials, exposure or noise_variance"
    check_message(lambda: model.fit(X, y, sample_weight=np.arange(1, 7)), words)


@each_estimator
def test_kernel_of_other_columns_at_fit(estimator):
    words = ["RBF(length_scale=[1, 1, 1])", "first rows of X, of shape (2, 2)", "(3!=2)"]
    check_message(lambda: estimator(RBF([1.0] * 3), **SHORT).fit(X, TARGETS[estimator]), words)


EMPTY = "Leave out the rows without observations: a weight of 0 does not help."
WITHOUT = [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("estimator", "y", "options", "words"),
    [
        (Cox, TARGETS[Cox], {"exposure": WITHOUT}, ["exposure must be positive", "row 0 holds 0"]),
        (Cox, [math.nan, 1, 2, 3, 4, 5], {}, ["Input y contains NaN."]),
        (Regressor, [math.inf, 1, 2, 3, 4, 5], {}, ["Input y contains infinity"]),
        (Classifier, [None, 0, 1, 0, 1, 1], {}, ["y must be a class label; row 0"]),
        (Classifier, WITHOUT, {"trials": WITHOUT}, ["trials must be positive", "row 0 holds 0"]),
    ],
)
def test_rows_of_weight_zero_are_checked(estimator, y, options, words):
    options = {"sample_weight": WITHOUT, **options}
    check_message(lambda: estimator(**SHORT).fit(X, y, **options), [*words, EMPTY])


def test_columns_of_numbers_for_each_row():
    column, words = np.ones((6, 1)), ["(6,)", "got shape (6, 1)", "numpy.ravel"]
    check_message(lambda: Cox(**SHORT).fit(X, TARGETS[Cox], exposure=column), ["exposure", *words])
    check_message(lambda: Classifier(**SHORT).fit(X, WITHOUT, trials=column), ["trials", *words])
    regressor = Regressor(alpha=column, **SHORT)
    check_message(lambda: regressor.fit(X, TARGETS[Regressor]), ["alpha", *words])


def test_trials_and_alpha_of_every_kind():
    pandas = pytest.importorskip("pandas")
    numbers = np.arange(1, 7)
    series = pandas.Series(numbers, index=np.arange(6)[::-1])
    fits = {
        "trials": lambda value: Classifier(**SHORT).fit(X, WITHOUT, trials=value),
        "alpha": lambda value: Regressor(alpha=value, **SHORT).fit(X, TARGETS[Regressor]),
    }
    for fit in fits.values():
        for given, others in ((numbers, [series, numbers.tolist()]), (2, [np.array(2), 2.0])):
            theta = fit(given).trace_.theta
            for other in others:
                np.testing.assert_array_equal(fit(other).trace_.theta, theta)


@each_estimator
def test_predictions_that_need_too_much_memory(estimator):
    model, many = fitted(estimator), np.zeros((100_000, 2)) + np.arange(100_000)[:, None]
    limit = ["more than memory_limit=8 gigabytes", "raise memory_limit (None: no limit)"]
    words = ["100000 rows", "fewer n_samples", *limit]
    check_message(lambda: model.sample_y(many), words)
    check_message(
        lambda: model.sample_y(X, 10**9), ["n_samples=1000000000 draws at 6 rows", *limit]
    )
    words = ["covariance of 100000 rows", "return_std", *limit]
    check_message(lambda: model.predict_latent(many, return_cov=True), words)
    if estimator is Regressor:
        check_message(lambda: model.predict(many, return_cov=True), words)
    small = estimator(**SHORT, memory_limit=0.001).fit(X, TARGETS[estimator])
    check_message(lambda: small.sample_y(many[:500]), ["memory_limit=0.001"])
    assert small.set_params(memory_limit=None).sample_y(many[:500]).shape == (500, 1)


@each_estimator
def test_joint_trajectories_are_for_counts_on_grids_alone(estimator):
    words = [
        "'joint-post' cannot be used here",
        "MCMCCoxProcessRegressor is the only estimator",
        "Cartesian grid",
    ]
    words += ["half", "without white noise", "representation='auto'"]
    model = estimator(representation="joint-post", **SHORT)
    check_message(lambda: model.fit(X, TARGETS[estimator]), words)
    side = np.repeat(np.arange(3.0), 2)
    cells = np.column_stack([side, np.tile([0.0, 1.0], 3)])
    model.set_params(kernel=RBF() + WhiteKernel() if estimator is Cox else None)
    check_message(lambda: model.fit(cells, TARGETS[estimator]), words)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Cox(), ["'post-ep' has none", "No representation of these data has", "'joint-post'"]),
        (Cox(), ["with inducing points", "'joint-ep'", "n_inducing"]),
        (
            Cox(likelihood="negative-binomial", representation="post-ep"),
            ["'post-ep' has none", "='collapsed'."],
        ),
        (Classifier(representation="surr-site"), ["'surr-site' has none", "='collapsed'."]),
        (
            Regressor(representation="prior-white", kernel=RBF() + WhiteKernel()),
            ["'prior-white' has none", "='marginal'."],
        ),
    ],
    ids=["counts", "counts, points", "overdispersed", "classes", "reals"],
)
def test_trajectories_without_a_gradient(model, words):
    model.set_params(hyperparameter_update="hmc", **SHORT)
    words = ["hyperparameter_update='hmc' needs a representation with a gradient", *words]
    check_message(lambda: model.fit(X, TARGETS[type(model)]), words)


def test_whole_numbers_beyond_the_floats_are_no_real_numbers():
    with pytest.raises(ValueError, match="y must be real numbers; got"):
        Poisson([1, 10**400])
