"""Data that numpy makes wrong numbers of without a word: dates, masks, missing and large values.

Each row of a table: what makes the data, and the words that the message must hold.
"""

import datetime
import decimal
import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import ESTIMATORS, SHORT, TARGETS, X, check_message, each_estimator
from scipy import sparse
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    GenericKernelMixin,
    Kernel,
    StationaryKernelMixin,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc._checks import is_masked, refuse_inexact
from skgpmcmc.core import LatentGaussianModel, SamplerSettings, predict_latent, run_chains
from skgpmcmc.likelihoods import BernoulliLogit, Binomial, Gaussian, NegativeBinomial, Poisson

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

Classifier, Regressor, Cox = ESTIMATORS
DAYS = np.datetime64("2020-01-01") + np.arange(6)
TIMES = DAYS - DAYS[0]
NUMBERS = np.arange(6.0)


@functools.cache
def fitted(estimator):
    return estimator(**SHORT).fit(X, TARGETS[estimator])


def refuses_inputs(estimator, inputs, words):
    """All that takes X says the same."""
    y, model = TARGETS[estimator], fitted(estimator)
    check_message(lambda: estimator(**SHORT).fit(inputs, y), words)
    methods = {
        "predict": (),
        "predict_latent": (),
        "predict_interval": (),
        "predict_quantiles": (0.5,),
        "predict_proba": (),
        "predict_log_proba": (),
        "log_predictive_density": (y,),
        "score": (y,),
        "sample_y": (),
    }
    for name in filter(lambda name: hasattr(model, name), methods):
        check_message(lambda n=name: getattr(model, n)(inputs, *methods[n]), words)


def frame(values, **dtype):
    """Return a data frame of pandas: a column of such values, and one of numbers."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"t": pandas.Series(values, **dtype), "x": NUMBERS})


def dates_of_pandas(**zone):
    return pytest.importorskip("pandas").Series(DAYS).dt.tz_localize(**zone)


def polars_frame(**columns):
    return pytest.importorskip("polars").DataFrame(columns)


# Dates

NAMED, FIRST = "X must hold numbers; column 't' holds ", "X must hold numbers; column 0 holds "
WAY = ["(t - t[0]) / numpy.timedelta64(1, 'D')", "same t[0]", "point_patterns", "to_inputs"]
DURATION = ["t / numpy.timedelta64(1, 'D')"]
PYTHON = [day.item() for day in DAYS]
DATES = {
    "datetime64 column": (lambda: DAYS[:, None], [FIRST + "dates, such as 2020-01-01", *WAY]),
    "datetime64[s]": (lambda: DAYS.astype("M8[s]")[:, None], [FIRST + "dates", *WAY]),
    "NaT": (lambda: np.full((6, 1), np.datetime64("NaT")), [FIRST + "dates, such as NaT", *WAY]),
    "vector": (lambda: DAYS, ["X must hold numbers; it holds dates", *WAY]),
    "timedelta64": (lambda: TIMES[:, None], [FIRST + "durations, such as 0 days", *DURATION]),
    "rows of both": (
        lambda: [[n, day] for n, day in zip(NUMBERS, DAYS, strict=True)],
        ["X must hold numbers; column 1 holds dates", *WAY],
    ),
    "rows of durations": (lambda: [[1, time] for time in TIMES], ["column 1 holds durations"]),
    "objects": (lambda: np.array([[day, 1.0] for day in PYTHON], object), [FIRST + "dates", *WAY]),
    "objects of numpy": (
        lambda: np.array([[1.0, time] for time in TIMES], object),
        ["column 1 holds durations", *DURATION],
    ),
    "one date": (lambda: [[1.0], [2.0], [PYTHON[2]], [4.0], [5.0], [6.0]], [FIRST, "2020-01-03"]),
    "Series": (lambda: dates_of_pandas(tz=None), ["X must hold numbers; it holds dates", *WAY]),
    "frame": (lambda: frame(DAYS)[["t"]], [NAMED + "dates, such as 2020-01-01", *WAY]),
    "frame of both": (lambda: frame(DAYS), [NAMED + "dates", *WAY]),
    "frame with NaT": (lambda: frame([None] * 6, dtype="M8[ns]"), [NAMED + "dates, such as NaT"]),
    "time zone": (lambda: frame(dates_of_pandas(tz="Europe/Berlin")), [NAMED + "dates", *WAY]),
    "durations": (lambda: frame(TIMES), [NAMED + "durations", *DURATION]),
    "objects in a frame": (lambda: frame(PYTHON, dtype=object), [NAMED + "dates", *WAY]),
    "Timestamps": (lambda: frame(list(dates_of_pandas(tz=None)), dtype=object), [NAMED, *WAY]),
    "timedelta objects": (lambda: frame(TIMES.tolist(), dtype=object), [NAMED + "durations"]),
    "times of day": (
        lambda: frame([datetime.time(hour) for hour in range(6)], dtype=object),
        [NAMED + "times of day, such as 00:00:00", "t.hour + t.minute / 60"],
    ),
    "periods": (
        lambda: frame(pytest.importorskip("pandas").period_range("2020", periods=6, freq="M")),
        [NAMED + "dates, such as 2020-01", *WAY],
    ),
    "polars": (lambda: polars_frame(t=DAYS), [NAMED + "dates, such as 2020-01-01", *WAY]),
    "polars of both": (lambda: polars_frame(x=NUMBERS, t=DAYS), [NAMED + "dates", *WAY]),
    "polars datetimes": (lambda: polars_frame(t=DAYS.astype("M8[ms]")), [NAMED + "dates", *WAY]),
    "polars durations": (lambda: polars_frame(t=TIMES.astype("m8[us]")), [NAMED + "durations"]),
    "polars times of day": (
        lambda: polars_frame(t=[datetime.time(hour) for hour in range(6)]),
        [NAMED + "times of day"],
    ),
    "columns of one name": (
        lambda: frame(DAYS).set_axis(["t", "t"], axis=1),
        [NAMED + "dates", *WAY],
    ),
}


@pytest.mark.parametrize("kind", DATES)
@each_estimator
def test_dates_are_no_inputs(estimator, kind):
    make, words = DATES[kind]
    refuses_inputs(estimator, make(), words)


@each_estimator
def test_dates_as_strings(estimator):
    words = ["X must hold numbers", "'2020-01-01'", "pandas.to_datetime", "days since"]
    refuses_inputs(estimator, DAYS.astype(str)[:, None], words)
    refuses_inputs(estimator, frame(DAYS.astype(str)), words)


def test_dates_as_the_message_says_have_the_right_predictions():
    pandas = pytest.importorskip("pandas")
    dates = pandas.Series(pandas.date_range("2020-01-01", periods=24))
    y = np.arange(10.0, 34.0)
    model = Regressor(normalize_y=True, **{**SHORT, "n_warmup": 50, "n_draws": 50})
    for unit in ("s", "ns"):
        new = dates.astype(f"M8[{unit}]")
        with pytest.raises(TypeError, match="'t' holds dates"):
            model.fit(pandas.DataFrame({"t": dates}), y)
        t = dates
        model.fit(pandas.DataFrame({"t": (t - t[0]) / np.timedelta64(1, "D")}), y)
        days = (new - t[0]) / np.timedelta64(1, "D")
        assert_allclose(model.predict(pandas.DataFrame({"t": days})), y, atol=0.5)


class Nearness(StationaryKernelMixin, GenericKernelMixin, Kernel):
    """A kernel on dates of any type."""

    def __init__(self):
        """Have no parameters, as scikit-learn wants it said."""

    def __call__(self, X, Y=None, eval_gradient=False):
        first, second = (
            np.asarray(each, "M8[h]").astype(float) for each in (X, X if Y is None else Y)
        )
        matrix = np.exp(-np.abs(first[:, None] - second) / 24.0)
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize("kind", ["list", "array", "Series", "hours"])
@each_estimator
def test_kernels_on_dates_take_dates(estimator, kind):
    kernel = ConstantKernel() * Nearness()
    dates = {
        "list": lambda: PYTHON,
        "array": lambda: DAYS,
        "Series": lambda: dates_of_pandas(tz=None),
        "hours": lambda: DAYS.astype("M8[h]"),
    }[kind]()
    model = estimator(kernel, **SHORT).fit(dates, TARGETS[estimator])
    expected = estimator(kernel, **SHORT).fit(PYTHON, TARGETS[estimator])
    assert_array_equal(model.trace_.theta, expected.trace_.theta)
    assert_array_equal(model.predict_latent(dates), expected.predict_latent(PYTHON))


# Whole numbers that no float64 equals

BIG = 2**53 + 1


def rows_of(first, dtype=None):
    """Return two columns, all of the first one larger than the doubles can tell apart."""
    return np.array([[first + 2 * i, i] for i in range(6)], dtype=dtype)


WHOLE = ["X must hold numbers that float64 can hold; column 0 holds ", "Subtract"]
LARGE = {
    "int64": (lambda: rows_of(BIG), [*WHOLE, f"{BIG} in row 0"]),
    "negative": (lambda: -rows_of(BIG), [*WHOLE, f"{-BIG} in row 0"]),
    "uint64": (lambda: rows_of(2**63 + 1, np.uint64), [*WHOLE, f"{2**63 + 1} in row 0"]),
    "objects": (lambda: rows_of(2**70 + 1, object), [*WHOLE, f"{2**70 + 1} in row 0"]),
    "list": (lambda: rows_of(BIG).tolist(), [*WHOLE, f"{BIG} in row 0"]),
    "with floats": (lambda: [[BIG + 2 * i, 0.5 * i] for i in range(6)], [*WHOLE, f"{BIG} in"]),
    "mixed signs": (lambda: [[2**63 + 1], [-1], [2], [3], [4], [5]], [*WHOLE, f"{2**63 + 1} in"]),
    "beyond all": (lambda: [[10**400]] * 6, [*WHOLE, "a number of 1329 bits in row 0"]),
    "later row": (lambda: [[0], [1], [2], [BIG], [4], [5]], [*WHOLE, f"{BIG} in row 3"]),
    "longdouble": (
        lambda: np.full((6, 1), np.longdouble(2) ** 60 + 1),
        WHOLE if np.finfo(np.longdouble).nmant > 60 else [],
    ),
    "Decimal": (lambda: [[decimal.Decimal(BIG)]] * 6, [*WHOLE, f"{BIG} in row 0"]),
    "frame": (lambda: frame(rows_of(BIG)[:, 0]), ["column 't' holds ", f"{BIG} in row 0"]),
    "Int64": (lambda: frame(rows_of(BIG)[:, 0], dtype="Int64"), ["'t' holds ", f"{BIG} in row 0"]),
    "polars": (lambda: polars_frame(t=rows_of(BIG)[:, 0], x=NUMBERS), ["'t' holds ", f"{BIG} in"]),
}


@pytest.mark.parametrize("kind", LARGE)
@each_estimator
def test_large_whole_numbers_that_would_collapse(estimator, kind):
    make, words = LARGE[kind]
    if not words:
        pytest.skip("a long double is a double here")
    refuses_inputs(estimator, make(), words)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object, float])
@each_estimator
def test_large_whole_numbers_that_float64_holds(estimator, dtype):
    inputs = np.array([[2**53 + 2048 * i, i] for i in range(6)], dtype=dtype)
    model = estimator(**SHORT).fit(inputs, TARGETS[estimator])
    assert len(model.X_train_) == 6
    assert np.isfinite(model.predict(inputs)).all()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_which_whole_numbers_are_doubles(dtype):
    """As Python's own whole numbers tell, at the ends of the type too."""
    ends = np.iinfo(dtype)
    around = [2**power + step for power in (53, 54, 62, 63) for step in (-1024, -512, -1, 0, 1, 2)]
    random = np.random.default_rng(0).integers(ends.min, ends.max, 100, dtype=dtype).tolist()
    numbers = [*around, *random, ends.min, ends.min + 1, ends.max - 1, ends.max, -(2**53) - 1]
    for number in filter(lambda n: ends.min <= n <= ends.max, numbers):
        for array in (np.array([0, number], dtype), np.array([0, number], object)):
            if int(float(number)) == number:
                refuse_inexact("X", "it", array)
            else:
                with pytest.raises(ValueError, match=f"it holds {number} in row 1"):
                    refuse_inexact("X", "it", array)


def test_large_targets_that_would_collapse():
    words = ["y must hold numbers that float64 can hold; it holds 9007199254740993 in row 0"]
    y = BIG + 2 * np.arange(6)
    check_message(lambda: Regressor(**SHORT).fit(X, y), words)
    check_message(lambda: fitted(Regressor).log_predictive_density(X, y.tolist()), words)
    check_message(lambda: fitted(Regressor).score(X, y), words)


def test_large_labels_stay_as_they_are():
    pandas = pytest.importorskip("pandas")
    labels = 2**60 + np.array([1, 2, 1, 2, 2, 1])
    assert_array_equal(Classifier(**SHORT).fit(X, labels).classes_, [2**60 + 1, 2**60 + 2])
    words = ["y must hold numbers that float64 can hold; it holds 1152921504606846977 in row 0"]
    series = pandas.Series(labels, dtype="Int64")  # of which scikit-learn makes floats
    check_message(lambda: Classifier(**SHORT).fit(X, series), words)


# Masks


class Variable:
    """Hands over a masked array, as variables of NetCDF files do."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


def masked(values, row=2):
    """Return a masked array in which the first entry of a row is masked."""
    mask = np.zeros(np.shape(values), dtype=bool)
    mask[(row, 0) if mask.ndim == 2 else row] = True
    return np.ma.array(values, mask=mask)


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
    check_message(lambda: estimator(**SHORT).fit(X, values), ["Drop the rows without"])
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


def na():
    return pytest.importorskip("pandas").NA


def series(values, **dtype):
    return pytest.importorskip("pandas").Series(values, **dtype)


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


# Containers without values in memory, or without an order


def lazy():
    return pytest.importorskip("polars").LazyFrame({"a": NUMBERS, "b": NUMBERS})


def dask_array(values):
    return pytest.importorskip("dask.array").from_array(np.asarray(values))


class Future:
    """As those of `concurrent.futures` and Dask."""

    def result(self):
        """Wait."""

    def done(self):
        """Whether there is anything to wait for."""


CONTAINERS = {
    "LazyFrame": (lazy, "LazyFrame", "{}.collect()"),
    "dask": (lambda: dask_array(X), "Array", "{}.compute()"),
    "dask masked": (
        lambda: pytest.importorskip("dask.array").ma.masked_equal(dask_array(X), 0.3),
        "Array",
        "{}.compute()",
    ),
    "future": (Future, "Future", "{}.result()"),
    "generator": (lambda: (row for row in X), "generator", "list({})"),
    "map": (lambda: map(list, X), "map", "list({})"),
    "iterator": (lambda: iter(X.tolist()), "list_iterator", "list({})"),
    "set": (lambda: {1.0, 2.0}, "set", "in the order of the rows"),
    "keys": (lambda: {1.0: 2.0}.keys(), "dict_keys", "in the order of the rows"),
    "dict": (lambda: {"a": NUMBERS, "b": NUMBERS}, "dict", "pandas.DataFrame({})"),
    "sparse": (lambda: sparse.csr_matrix(X), "Sparse", "{}.toarray()"),
    "sparse array": (lambda: sparse.coo_array(X), "Sparse", "{}.toarray()"),
    "groups": (lambda: frame(NUMBERS).groupby("t"), "DataFrameGroupBy", "that was grouped"),
    "windows": (lambda: frame(NUMBERS).rolling(2), "Rolling", "mean()"),
    "groups of polars": (
        lambda: polars_frame(a=NUMBERS).group_by("a"),
        "GroupBy",
        "that was grouped",
    ),
    "expression": (lambda: pytest.importorskip("polars").col("a"), "Expr", "array"),
    "string": (lambda: "data.csv", "'data.csv'", "Read"),
    "function": (lambda: len, "builtin_function_or_method", "array"),
}


@pytest.mark.filterwarnings("error:Determining the column names")
@pytest.mark.parametrize("kind", CONTAINERS)
@each_estimator
def test_containers(estimator, kind):
    make, what, way = CONTAINERS[kind]
    y, model = TARGETS[estimator], fitted(estimator)
    words = ["X", what, way.format("X")]
    for method in ("predict", "predict_latent", "sample_y", "predict_interval"):
        check_message(lambda m=method: getattr(model, m)(make()), words)
    check_message(lambda: estimator(**SHORT).fit(make(), y), words)
    on_objects = estimator(ConstantKernel() * Nearness(), **SHORT)
    check_message(lambda: on_objects.fit(make(), y), words)
    words = ["y", what, way.format("y")] if kind != "dict" else ["y", "dict", "list(y.values())"]
    check_message(lambda: estimator(**SHORT).fit(X, make()), words)
    check_message(lambda: model.log_predictive_density(X, make()), words)
    check_message(lambda: model.score(X, make()), words)
    if kind != "string":
        words = ["sample_weight", what]
        check_message(lambda: estimator(**SHORT).fit(X, y, sample_weight=make()), words)
        check_message(lambda: model.score(X, y, sample_weight=make()), words)


@each_estimator
def test_no_targets(estimator):
    for use in (fitted(estimator).log_predictive_density, fitted(estimator).score):
        check_message(lambda u=use: u(X, None), ["y must", "got None"])


@each_estimator
def test_containers_with_values_and_an_order_are_taken(estimator):
    y = TARGETS[estimator]
    expected = fitted(estimator).trace_.theta
    containers = [
        (tuple(map(tuple, X)), tuple(y)),
        (memoryview(X), memoryview(np.asarray(y))),
        (Variable(X), Variable(y)),
        (np.asfortranarray(X), y.astype(object) if estimator is Regressor else y),
        (polars_frame(a=X[:, 0], b=X[:, 1]), pytest.importorskip("polars").Series(y)),
    ]
    for inputs, targets in containers:
        model = estimator(**SHORT).fit(inputs, targets)
        assert_array_equal(model.trace_.theta, expected)


# The core


def core_model(inputs=X, likelihood=None):
    return LatentGaussianModel(RBF(1.0, (0.1, 10.0)), inputs, likelihood or Poisson([1] * 6))


CORE = {
    "dates": (lambda: frame(DAYS), ["column 't' holds dates", *WAY]),
    "list of dates": (lambda: [[day] for day in PYTHON], ["column 0 holds dates", *WAY]),
    "masked": (lambda: masked(X), ["X must not be masked"]),
    "large": (lambda: rows_of(BIG), ["column 0 holds 9007199254740993"]),
    "lazy": (lazy, ["LazyFrame", "X.collect()"]),
    "dict": (lambda: {"a": NUMBERS}, ["dict", "pandas.DataFrame(X)"]),
    "ragged": (lambda: [[1.0], [1.0, 2.0]] * 3, ["X must be rows of finite numbers"]),
    "none": (lambda: None, ["X must be rows of finite numbers", "None"]),
}


@pytest.mark.parametrize("kind", CORE)
def test_inputs_of_the_core(kind):
    make, words = CORE[kind]
    check_message(lambda: core_model(make()), words)
    model = core_model()
    trace = run_chains(model, SamplerSettings(n_warmup=1, n_draws=4), n_chains=1, random_state=0)
    check_message(lambda: predict_latent(model, trace, make()), words)


def test_masked_starting_points():
    start = np.ma.array([[0.0]], mask=[[True]])
    words = ["theta must not be masked"]
    settings = SamplerSettings(n_warmup=1, n_draws=4)
    check_message(lambda: run_chains(core_model(), settings, n_chains=1, theta=start), words)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("y", Poisson),
        ("y", Gaussian),
        ("y", NegativeBinomial),
        ("y", lambda values: Binomial(values, np.ones(6))),
        ("y", BernoulliLogit),
        ("trials", lambda values: Binomial(np.ones(6), values)),
        ("exposure", lambda values: Poisson([1] * 6, values)),
        ("noise_variance", lambda values: Gaussian(NUMBERS, values)),
        ("known_variance", lambda values: Gaussian(NUMBERS, known_variance=values)),
        ("sample_weight", lambda values: Poisson([1] * 6, sample_weight=values)),
        ("latent_index", lambda values: Poisson([1] * 6, latent_index=values)),
    ],
)
def test_numbers_of_likelihoods(name, use):
    ones = np.ones(6, dtype=int)
    check_message(lambda: use(masked(ones)), [f"{name} must not be masked"])
    check_message(lambda: use(list(masked(ones))), [f"{name} must not be masked"])
    check_message(lambda: use(set(ones.tolist())), [name, "set"])
    check_message(lambda: use(np.array(list(TIMES), object)), [name])
    use(np.ma.array(ones * np.arange(6) if name == "latent_index" else ones, mask=False))


# Diagnostics and displays


def test_draws_that_are_masked_or_no_numbers():
    diagnostics = pytest.importorskip("skgpmcmc.diagnostics")
    draws = np.random.default_rng(0).standard_normal((4, 50))
    functions = {
        "draws": [
            getattr(diagnostics, name)
            for name in ("rhat", "ess_bulk", "ess_tail", "ess_mean", "mcse_mean")
        ],
        "draws_by_name['a']": [lambda values: diagnostics.summarize({"a": values})],
    }
    for name, uses in functions.items():
        for use in uses:
            check_message(lambda u=use: u(masked(draws)), [f"{name} must not be masked"])
            times = draws.astype("m8[s]")
            check_message(lambda u=use, t=times: u(t), [f"{name} must be real numbers"])
            use(np.ma.array(draws))


def test_what_displays_take():
    pytest.importorskip("matplotlib").use("Agg")
    displays = pytest.importorskip("skgpmcmc.displays")
    model = fitted(Cox)
    draw = displays.PredictiveDisplay.from_estimator
    y = TARGETS[Cox]
    check_message(lambda: draw(model, masked(X), feature=0), ["X must not be masked"])
    check_message(lambda: draw(model, X, masked(y), feature=0), ["y must not be masked"])
    check_message(lambda: draw(model, frame(DAYS), feature="x"), ["column 't' holds dates"])
    check_message(lambda: draw(model, lazy(), feature=0), ["X", "LazyFrame", "X.collect()"])
    levels = np.ma.array([0.5, 0.9], mask=[0, 1])
    words = ["confidence_levels must not be masked"]
    check_message(lambda: draw(model, X, feature=0, confidence_levels=levels), words)
    labels = masked(TARGETS[Classifier])
    check_message(lambda: draw(fitted(Classifier), X, labels, feature=0), ["y must not be masked"])
    show = displays.IntensityDisplay.from_estimator
    check_message(lambda: show(model, frame(DAYS)), ["column 't' holds dates"])
    check_message(lambda: show(model, X, events=masked(X)), ["events must not be masked"])
    relevance = displays.RelevanceDisplay.from_estimator
    check_message(lambda: relevance(fitted(Regressor), frame(DAYS)), ["column 't' holds dates"])
    check_message(lambda: relevance(fitted(Regressor), masked(X)), ["X must not be masked"])
    pipeline = make_pipeline(StandardScaler(), Regressor(**SHORT)).fit(X, TARGETS[Regressor])
    words = ["column 0 holds dates", "A Pipeline may take a pandas DataFrame"]
    check_message(lambda: draw(pipeline, DAYS[:, None], feature=0), words)
