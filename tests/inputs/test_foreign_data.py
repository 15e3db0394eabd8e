"""Data that numpy makes wrong numbers of, or none: dates, large whole numbers, lazy frames.

Each row of a table: what makes the data, and the words that the message must hold.
"""

import datetime
import decimal

import numpy as np
import pytest
from foreign import (
    BIG,
    DAYS,
    NUMBERS,
    PYTHON,
    TIMES,
    WAY,
    Nearness,
    Variable,
    dates_of_pandas,
    fitted,
    frame,
    lazy,
    polars_frame,
    refuses_inputs,
    rows_of,
)
from numpy.testing import assert_allclose, assert_array_equal
from refusals import ESTIMATORS, SHORT, TARGETS, X, check_message, each_estimator
from scipy import sparse
from sklearn.gaussian_process.kernels import ConstantKernel

from skgpmcmc._checks import refuse_inexact

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

Classifier, Regressor, Cox = ESTIMATORS


# Dates

NAMED, FIRST = "X must hold numbers; column 't' holds ", "X must hold numbers; column 0 holds "
DURATION = ["t / numpy.timedelta64(1, 'D')"]
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


ONE = np.r_[1, 1, BIG, 1, 1, 1]
INEXACT = {
    "int64": lambda: ONE,
    "uint64": lambda: np.where(ONE == BIG, np.uint64(2**63 + 1), np.uint64(1)),
    "objects": lambda: np.where(ONE == BIG, 2**70 + 1, ONE.astype(object)),
    "list": ONE.tolist,
    "with floats": lambda: [1.5, *ONE.tolist()[1:]],
    "Int64": lambda: pytest.importorskip("pandas").Series(ONE, dtype="Int64"),
    "polars": lambda: pytest.importorskip("polars").Series(ONE.tolist()),
    "longdouble": lambda: ONE.astype(np.longdouble),
    "one number": lambda: BIG,
    "one number of numpy": lambda: np.int64(BIG),
}


def uses_of_numbers(values):
    """Yield a name and a use of numbers that are no columns of X."""
    counts, numbers = fitted(Cox), fitted(Regressor)
    successes = Classifier(**SHORT).fit(X, np.arange(6) % 3, trials=3)
    y = TARGETS[Cox]
    yield "exposure", lambda: Cox(**SHORT).fit(X, y, exposure=values)
    for method in ("predict", "sample_y"):
        yield "exposure", lambda m=method: getattr(counts, m)(X, exposure=values)
    yield "exposure", lambda: counts.predict_quantiles(X, [0.5], exposure=values)
    yield "exposure", lambda: counts.score(X, y, exposure=values)
    yield "exposure", lambda: counts.log_predictive_density(X, y, exposure=values)
    for model in (counts, numbers):
        yield "threshold", lambda m=model: m.predict_exceedance(X, values)
    for estimator in ESTIMATORS:
        data = X, TARGETS[estimator]
        yield "sample_weight", lambda e=estimator, d=data: e(**SHORT).fit(*d, sample_weight=values)
        yield "sample_weight", lambda e=estimator, d=data: fitted(e).score(*d, sample_weight=values)
    yield "trials", lambda: Classifier(**SHORT).fit(X, y, trials=values)
    yield "trials", lambda: successes.log_predictive_density(X, y, trials=values)
    yield "trials", lambda: successes.score(X, y, trials=values)
    yield "noise_variance", lambda: Regressor(**SHORT).fit(X, y, noise_variance=values)
    yield "alpha", lambda: Regressor(alpha=values, **SHORT).fit(X, y)
    if np.ndim(values):
        most = 2**53
        yield "y", lambda: Cox(**SHORT).fit(X, values)
        yield "y", lambda: Regressor(**SHORT).fit(X, values)
        yield "y", lambda: Classifier(**SHORT).fit(X, values, trials=most)
        yield "y", lambda: successes.log_predictive_density(X, values, trials=most)
        yield "y", lambda: successes.score(X, values, trials=most)
        for model in (counts, numbers):
            yield "y", lambda m=model: m.score(X, values)
            yield "y", lambda m=model: m.log_predictive_density(X, values)


@pytest.mark.parametrize("kind", list(INEXACT))
def test_whole_numbers_beyond_floats_are_refused_everywhere(kind):
    values = INEXACT[kind]()
    if kind == "longdouble" and np.finfo(np.longdouble).nmant <= np.finfo(float).nmant:
        pytest.skip("longdouble is double here")
    for name, use in uses_of_numbers(values):
        words = [f"{name} must hold numbers that float64 can hold; it holds ", "ound "]
        if np.ndim(values):
            words.append("in row 2")
        check_message(use, words)


@pytest.mark.parametrize("values", [2**53, 2**60, np.full(6, 2**60), [2**60, 2**61, 1, 2, 3, 4]])
def test_large_whole_numbers_that_floats_are_equal_to_are_taken(values):
    counts = fitted(Cox)
    floats = np.asarray(values, dtype=float)
    assert_array_equal(counts.predict(X, exposure=values), counts.predict(X, exposure=floats))
    for model in (counts, fitted(Regressor)):
        expected = model.predict_exceedance(X, floats)
        assert_array_equal(model.predict_exceedance(X, values), expected)


# Containers without values in memory, or without an order


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
