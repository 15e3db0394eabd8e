"""Data that are not there: masked values, missing ones of pandas, rows without a label."""

import numpy as np
import pytest
from foreign import (
    DAYS,
    TIMES,
    Nearness,
    Variable,
    fitted,
    frame,
    masked,
    na,
    refuses_inputs,
    series,
)
from numpy.testing import assert_allclose, assert_array_equal
from refusals import ESTIMATORS, SHORT, TARGETS, X, check_message, each_estimator
from scipy import stats
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._checks import is_masked

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

Classifier, Regressor, Cox = ESTIMATORS


# Masks


def test_masked_records():
    records = np.ma.zeros(6, dtype=[("a", float), ("b", float)])
    assert not is_masked(records)
    records.mask["b"][3] = True
    assert is_masked(records)


MASKS = {
    "array": masked,
    "list of rows": lambda values: list(masked(values)),
    "tuple": lambda values: tuple(masked(values)),
    "variable": lambda values: Variable(masked(values)),
    "objects": lambda values: masked(np.asarray(values).astype(object)),
    "list of masked": lambda values: [*np.asarray(values).tolist()[:5], np.ma.masked],
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.filterwarnings("error")
@each_estimator
def test_masked_inputs(estimator, kind):
    inputs = MASKS[kind](X)
    if kind == "list of masked":
        inputs = [*X.tolist()[:5], [1.0, np.ma.masked]]
    words = ["X must not be masked", "Leave", "numpy.ma.getmaskarray"]
    with np.errstate(all="ignore"):
        refuses_inputs(estimator, inputs, words)


@pytest.mark.parametrize("kind", MASKS)
@each_estimator
def test_masked_targets_and_numbers_for_each_row(estimator, kind):
    y, mask, model = TARGETS[estimator], MASKS[kind], fitted(estimator)
    words = ["y must not be masked"]
    check_message(lambda: estimator(**SHORT).fit(X, mask(y)), words)
    check_message(lambda: model.log_predictive_density(X, mask(y)), words)
    check_message(lambda: model.score(X, mask(y)), words)
    weights, words = mask(np.ones(6)), ["sample_weight must not be masked"]
    check_message(lambda: estimator(**SHORT).fit(X, y, sample_weight=weights), words)
    check_message(lambda: model.score(X, y, sample_weight=weights), words)
    words = ["quantiles must not be masked"]
    levels = mask(np.linspace(0.1, 0.6, 6))
    check_message(lambda: model.predict_quantiles(X, levels), words)
    check_message(lambda: model.summary(levels), words)


@pytest.mark.parametrize("kind", MASKS)
def test_masked_exposures_trials_and_variances(kind):
    ones, y, model = MASKS[kind](np.ones(6)), TARGETS[Cox], fitted(Cox)
    words = ["exposure must not be masked"]
    check_message(lambda: Cox(**SHORT).fit(X, y, exposure=ones), words)
    check_message(lambda: model.predict(X, ones), words)
    check_message(lambda: model.predict_quantiles(X, 0.5, ones), words)
    check_message(lambda: model.log_predictive_density(X, y, ones), words)
    check_message(lambda: model.sample_y(X, exposure=ones), words)
    check_message(lambda: model.score(X, y, exposure=ones), words)
    words, y = ["trials must not be masked"], TARGETS[Classifier]
    check_message(lambda: Classifier(**SHORT).fit(X, y, trials=ones), words)
    check_message(lambda: fitted(Classifier).score(X, y, trials=ones), words)
    check_message(lambda: fitted(Classifier).log_predictive_density(X, y, ones), words)
    words = ["y must not be masked"]
    check_message(lambda: Classifier(**SHORT).fit(X, MASKS[kind](y), trials=1), words)
    check_message(lambda: fitted(Classifier).score(X, MASKS[kind](y), trials=1), words)
    if kind != "variable":  # for scikit-learn's check of parameters no array
        regressor = Regressor(alpha=ones, **SHORT)
        check_message(lambda: regressor.fit(X, TARGETS[Regressor]), ["alpha must not be masked"])


@each_estimator
def test_masks_that_are_nowhere_set_are_taken(estimator):
    """As `bin_events` does."""
    y = TARGETS[estimator]
    for mask in (False, np.zeros(6, dtype=bool)):
        column = np.reshape(mask, (-1, 1)) | np.zeros((6, 2), dtype=bool)
        inputs, targets = np.ma.array(X, mask=column), np.ma.array(y, mask=mask)
        weights = np.ma.array(np.ones(6), mask=mask)
        model = estimator(**SHORT).fit(inputs, targets, sample_weight=weights)
        assert_array_equal(model.trace_.theta, fitted(estimator).trace_.theta)
        assert_array_equal(model.predict(inputs), fitted(estimator).predict(X))
        assert model.score(inputs, targets, sample_weight=weights) == model.score(X, y)


class Likeness(Nearness):
    """A kernel on arrays of any length: of their means."""

    def __call__(self, X, Y=None, eval_gradient=False):
        each = X, X if Y is None else Y
        first, second = (np.array([float(x.mean()) for x in objects]) for objects in each)
        matrix = np.exp(-np.abs(first[:, None] - second))
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix


def test_masked_objects_of_kernels_on_objects():
    y = TARGETS[Regressor]
    model = Regressor(ConstantKernel() * Likeness(), **SHORT)
    arrays = [np.arange(3.0 + n) for n in range(6)]  # of which numpy makes no array
    assert_allclose(model.fit(arrays, y).predict(arrays), y, atol=1e-3)
    for inputs in (list(map(masked, arrays)), [masked(np.arange(3.0))] * 6):
        check_message(lambda i=inputs: model.fit(i, y), ["X must not be masked"])
        check_message(lambda i=inputs: fitted(Regressor).predict(i), ["X must not be masked"])
    model.set_params(kernel=ConstantKernel() * Nearness())
    check_message(lambda: model.fit(np.ma.array(DAYS, mask=[1] + [0] * 5), y), ["not be masked"])


# Missing values of pandas


def with_missing(dtype):
    pandas = pytest.importorskip("pandas")
    return pandas.Series([1, 0, pandas.NA, 0, 1, 1], dtype=dtype)


def pandas_keeps_na(values):
    return np.asarray(values).dtype == object


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "object"])
@each_estimator
def test_missing_values_of_pandas(estimator, dtype):
    values, y = with_missing(dtype), TARGETS[estimator]
    inputs = frame(values, dtype=dtype)
    words = ["X contains NaN"]  # as which numpy gets some of them
    if pandas_keeps_na(values):
        words = ["X must not have missing values; column 't' holds <NA> in row 2", "fill"]
    refuses_inputs(estimator, inputs, words)
    check_message(lambda: estimator(**SHORT).fit(X, values), ["y"])
    check_message(lambda: estimator(**SHORT).fit(X, values), ["Leave out the rows without"])
    check_message(lambda: fitted(estimator).log_predictive_density(X, values), ["y "])
    check_message(lambda: fitted(estimator).score(X, values), ["y "])
    words = ["sample_weight must", "row 2"]
    check_message(lambda: estimator(**SHORT).fit(X, y, sample_weight=values), words)
    check_message(lambda: fitted(estimator).score(X, y, sample_weight=values), words)


@pytest.mark.parametrize("estimator", [Regressor, Cox])
def test_missing_values_among_objects(estimator):
    for missing in (np.nan, na()):
        y = np.array([0, missing, 1, 0, 1, 1], object)
        words = ["y must be a number; row 1 holds "]
        check_message(lambda v=y: estimator(**SHORT).fit(X, v), words)
        check_message(lambda v=y: fitted(estimator).score(X, v), words)
        y = series(labels_without(missing), dtype="category")
        check_message(lambda v=y: estimator(**SHORT).fit(X, v), ["y must be a number; row 1 "])


def test_missing_exposures_of_pandas():
    for dtype in ("Int64", "Float64", "boolean", "object"):
        values, words = with_missing(dtype), ["exposure must", "row 2"]
        check_message(lambda v=values: Cox(**SHORT).fit(X, TARGETS[Cox], exposure=v + 1), words)
        check_message(lambda v=values: fitted(Cox).predict(X, v + 1), words)


@each_estimator
def test_objects_that_are_no_numbers_for_each_row(estimator):
    y = TARGETS[estimator]
    for values in (TIMES, np.array(list(TIMES), object), DAYS, TIMES.tolist()):
        words = ["sample_weight must be real numbers; got ["]
        check_message(lambda v=values: estimator(**SHORT).fit(X, y, sample_weight=v), words)
        check_message(lambda v=values: fitted(estimator).score(X, y, sample_weight=v), words)


# Labels

LABEL = "y must be a class label; row 1 holds "


def labels_without(missing):
    return ["a", missing, "b", "a", "b", "b"]


LABELS = {
    "NA in a list": (lambda: labels_without(na()), [LABEL + "<NA>"]),
    "NaN in a list": (lambda: labels_without(np.nan), [LABEL + "nan"]),
    "NaN in a tuple": (lambda: tuple(labels_without(float("nan"))), [LABEL + "nan"]),
    "None in a list": (lambda: labels_without(None), [LABEL + "None"]),
    "NA in objects": (lambda: np.array(labels_without(na()), object), [LABEL + "<NA>"]),
    "NA among numbers": (lambda: series([0, na(), 1, 0, 1, 1], dtype=object), [LABEL + "<NA>"]),
    "NaN in objects": (lambda: np.array(labels_without(np.nan), object), [LABEL + "nan"]),
    "string": (lambda: series(labels_without(None), dtype="string"), [LABEL + "<NA>"]),
    "Series": (lambda: series(labels_without(None)), [LABEL]),
    "Categorical": (lambda: series(labels_without(None), dtype="category"), [LABEL + "nan"]),
    "two missing": (lambda: series(["a", na(), na(), "a", "b", "b"]), [LABEL, "2 rows are"]),
    "NaT": (lambda: np.array(["2020", "NaT", "2021", "2020", "2021", "2021"], "M8[Y]"), [LABEL]),
    "NaT in a Series": (lambda: series([DAYS[0], None, *DAYS[2:4], *DAYS[2:4]]), [LABEL + "NaT"]),
    "mixed list": (
        lambda: [0, "a", 1, "b", 0, 1],
        ["labels of one type", "int and str", "numpy.asarray(y, dtype=str)"],
    ),
    "mixed objects": (
        lambda: np.array([0, "a", 1] * 2, object),
        ["labels of one type", "numpy.asarray(y, dtype=str)"],
    ),
    "numbers as objects": (
        lambda: np.array([np.int64(0), 1, 1, 0, 1, 1], object),
        ["y must be class labels of one type", "numpy.asarray(y, dtype=int)"],
    ),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_are_none(kind):
    make, words = LABELS[kind]
    check_message(lambda: Classifier(**SHORT).fit(X, make()), words)
    check_message(lambda: fitted(Classifier).score(X, make()), words)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ["a", "c", "b", "a", "b", "b"],
        lambda: np.array(["a", "c", "b", "a", "b", "b"], object),
        lambda: series(["a", "c", "b", "a", "b", "b"], dtype="string"),
        lambda: series(["a", "c", "b", "a", "b", "b"], dtype="category"),
        lambda: ["nan", "None", "nan", "None", "<NA>", "nan"],
        lambda: [True, 0, 1, True, 0, 0],
        lambda: series([True, False] * 3, dtype="boolean"),
    ],
)
def test_labels_that_are_some(make):
    model = Classifier(**SHORT).fit(X, make())
    assert set(model.classes_.tolist()) == set(make())
    assert 0.0 <= model.score(X, make()) <= 1.0


def unmasked(values):
    """Return a masked array none of whose values is masked, with a mask as long as it is."""
    return np.ma.MaskedArray(values, np.zeros(np.shape(values), bool))


NOTHING_MASKED = {
    "n_inducing": unmasked(X[:4]),
    "alpha": unmasked(np.full(len(X), 0.1)),
    "kernel": ConstantKernel() * RBF(unmasked(np.ones(X.shape[1]))),
    "priors": {"k2__length_scale": stats.lognorm(unmasked(1.0))},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NOTHING_MASKED)
def test_parameters_where_nothing_is_masked(name, tmp_path):
    """They are the same as plain arrays, for warm starts and checkpoints too."""
    value = NOTHING_MASKED[name]
    plain = {
        "kernel": clone(ConstantKernel() * RBF(np.ones(X.shape[1]))),
        "priors": {"k2__length_scale": stats.lognorm(np.array(1.0))},
    }.get(name, np.asarray(value))
    options = SHORT | {"random_state": 0, "warm_start": True, "min_ess": None}
    kernel = {"kernel": ConstantKernel() * RBF()} if name == "priors" else {}
    model = Regressor(**options | kernel | {name: plain}, checkpoint=tmp_path)
    model.fit(X, TARGETS[Regressor])
    draws = model.trace_.theta
    n_draws = model.n_draws + 4
    model.set_params(**{name: value}, n_draws=n_draws).fit(X, TARGETS[Regressor])
    assert_array_equal(model.trace_.theta[:, : draws.shape[1]], draws)
    again = Regressor(**options | kernel | {name: value, "n_draws": n_draws}, checkpoint=tmp_path)
    again.fit(X, TARGETS[Regressor])
    assert_array_equal(again.trace_.theta, model.trace_.theta)


def test_masked_kernels():
    kernel = ConstantKernel() * RBF(np.ma.masked_array(np.ones(2), [False, True]))
    check_message(
        lambda: Regressor(kernel, **SHORT).fit(X, TARGETS[Regressor]),
        ["k2__length_scale of the kernel must not be masked"],
    )
