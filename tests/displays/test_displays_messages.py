"""What displays refuse, in words that name the parameter, what came, and what to do."""

import datetime

import numpy as np
import pandas as pd
import pytest
from fits import quiet
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.displays import (
    HyperparameterDisplay,
    IntensityDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    TraceDisplay,
)
from skgpmcmc.point_patterns import bin_events

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

SETTINGS = {"n_chains": 2, "n_warmup": 5, "n_draws": 12, "random_state": 0}
N = 18
X = np.column_stack([np.linspace(0.0, 5.0, N), np.cos(np.arange(N)) + 1.0])
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
LABELS = np.array(["low", "high"])[(Y > 0.3).astype(int)]
LINE = np.arange(float(N))[:, None]
CELLS = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij"), -1).reshape(-1, 2)
COUNTS = np.arange(20) % 4
DAYS = np.datetime64("2020-01-01") + np.arange(0, 40, 2)


@pytest.fixture(scope="module")
def models():
    return {
        "regressor": quiet(MCMCGaussianProcessRegressor(**SETTINGS), X, Y),
        "classifier": quiet(MCMCGaussianProcessClassifier(**SETTINGS), X, LABELS),
        "counts": quiet(MCMCCoxProcessRegressor(**SETTINGS), X, COUNTS[:N]),
        "line": quiet(MCMCCoxProcessRegressor(**SETTINGS), LINE, COUNTS[:N]),
        "map": quiet(MCMCCoxProcessRegressor(**SETTINGS), CELLS, COUNTS),
    }


# Targets


@pytest.mark.parametrize(
    ("name", "y"), [("regressor", Y), ("classifier", LABELS), ("counts", COUNTS[:N])]
)
def test_one_column_of_targets_is_as_good_as_a_vector(models, name, y):
    flat = PredictiveDisplay.from_estimator(models[name], X, y).y_observed
    assert flat.shape == (1, N)
    for column in (y[:, None], pd.DataFrame({"y": y}), pd.Series(y)):
        display = PredictiveDisplay.from_estimator(models[name], X, column)
        assert np.array_equal(display.y_observed, flat)
        assert len(display.points_) == 1
    with pytest.raises(ValueError, match=r"^y (.*1d array.*shape|must).*\(18, 2\)"):
        PredictiveDisplay.from_estimator(models[name], X, np.column_stack([y, y]))


# Nothing to see


@pytest.mark.parametrize("rows", [X[:1], np.column_stack([np.full(N, 3.0), X[:, 1]])])
@pytest.mark.parametrize("before", [[], [StandardScaler()]])
def test_one_value_makes_no_curve(rows, before):
    model = make_pipeline(*before, MCMCGaussianProcessRegressor(**SETTINGS))
    quiet(model, X, Y)
    value = f"{rows[0, 0]:g}"
    with pytest.raises(ValueError, match=f"feature 'x0' has one value, {value}, in X"):
        PredictiveDisplay.from_estimator(model if before else model[-1], rows, y=Y[: len(rows)])


def test_a_column_without_values_makes_no_curve(models):
    rows = X.copy()
    rows[:, 0] = np.nan
    with pytest.raises(ValueError, match="feature 'x0' has no value in X"):
        PredictiveDisplay.from_estimator(models["regressor"], rows)


def test_one_row_has_no_spread_and_no_curve_of_the_rate(models):
    with pytest.raises(ValueError, match=r"X must have a column that varies.*1 row"):
        RelevanceDisplay.from_estimator(models["regressor"], X[:1])
    with pytest.raises(ValueError, match=r"X must have two values or more.*got 3"):
        IntensityDisplay.from_estimator(models["line"], [[3.0], [3.0]])
    alone = quiet(MCMCCoxProcessRegressor(**SETTINGS), np.full((4, 1), 3.0), COUNTS[:4])
    with pytest.raises(ValueError, match=r"X must have two values or more.*got 3"):
        IntensityDisplay.from_estimator(alone)


def test_a_curve_has_two_points_or_more(models):
    with pytest.raises(ValueError, match=r"grid_resolution must be .* at least 2; got 1"):
        PredictiveDisplay.from_estimator(models["regressor"], X, grid_resolution=1)


# Models

DISPLAYS = [
    TraceDisplay,
    HyperparameterDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    IntensityDisplay,
]


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_class_is_told_from_its_instances(display):
    options = {"X": X} if display is PredictiveDisplay else {}
    words = r"got the class MCMCCoxProcessRegressor\. .*MCMCCoxProcessRegressor\(\.\.\.\)\.fit\("
    with pytest.raises(TypeError, match=words) as caught:
        display.from_estimator(MCMCCoxProcessRegressor, **options)
    assert "best_estimator_" not in str(caught.value)
    with pytest.raises(TypeError, match="got NoneType") as caught:
        display.from_estimator(None, **options)
    assert "best_estimator_" not in str(caught.value)
    search = GridSearchCV(MCMCCoxProcessRegressor(), {"n_draws": [4]})
    with pytest.raises(TypeError, match=r"got GridSearchCV.*pass `best_estimator_`"):
        display.from_estimator(search, **options)


class OfWords(RBF):
    """Of the lengths of words."""

    requires_vector_input = False

    def __call__(self, X, Y=None, eval_gradient=False):
        X, Y = (None if a is None else np.array([[float(len(w))] for w in a]) for a in (X, Y))
        return super().__call__(X, Y, eval_gradient)


def test_objects_have_no_columns_whose_relevance_could_be_drawn():
    words = ["a", "ab", "abc", "abcd", "abcde", "abcdef"]
    model = quiet(MCMCGaussianProcessRegressor(OfWords(), **SETTINGS), words, Y[:6])
    with pytest.raises(ValueError, match=r"inputs with columns; the kernel .* takes objects"):
        RelevanceDisplay.from_estimator(model)


# Axes


@pytest.mark.parametrize("shape", ["array", "list", "square"])
def test_an_array_of_one_axes_is_that_axes(models, shape):
    squeezed = plt.subplots(squeeze=False)[1]
    ax = {"array": squeezed[0], "list": [squeezed[0, 0]], "square": squeezed}[shape]
    display = PredictiveDisplay.from_estimator(models["regressor"], X, ax=ax)
    assert display.ax_ is squeezed[0, 0]
    other = plt.subplots(squeeze=False)[1]
    trace = TraceDisplay.from_estimator(models["line"], ax=other)
    assert trace.figure_ is other[0, 0].figure


def test_of_several_axes_one_must_be_chosen(models):
    axes = plt.subplots(2, 2)[1]
    with pytest.raises(
        ValueError, match=r"ax must be a matplotlib Axes.*of 4\. .*such as ax\[0, 0\]"
    ):
        PredictiveDisplay.from_estimator(models["regressor"], X, ax=axes)


# Parameters


@pytest.mark.parametrize(
    ("display", "name", "options", "words"),
    [
        (TraceDisplay, "line", {"quantities": []}, r"quantities must name one or more.*got \[\]"),
        (HyperparameterDisplay, "line", {"quantities": ()}, r"quantities must name.*got \(\)"),
        (TraceDisplay, "line", {"quantities": 3}, "quantities must be a name, or a list.*got 3"),
        (TraceDisplay, "line", {"feature_names": 3}, "feature_names must be a list of 1.*got 3"),
        (PredictiveDisplay, "regressor", {"feature_names": 3}, "feature_names must be.*got 3"),
        (RelevanceDisplay, "regressor", {"feature_names": 3}, "feature_names must be.*got 3"),
        (IntensityDisplay, "map", {"feature_names": 3}, "feature_names must be.*got 3"),
        (PredictiveDisplay, "regressor", {"held": {1: "x"}}, "held must have a number for 'x1'"),
        (
            PredictiveDisplay,
            "regressor",
            {"held": {"q": 1}},
            "held has the key 'q', which is neither",
        ),
        (PredictiveDisplay, "regressor", {"held": {7: 1}}, "held has the key 7, which is neither"),
        (PredictiveDisplay, "regressor", {"feature": "q"}, "feature .*'x0', 'x1'.*got 'q'"),
        (PredictiveDisplay, "regressor", {"y": LABELS}, "y must be real numbers"),
        (PredictiveDisplay, "counts", {"y": LABELS}, "y must be real numbers"),
        (
            PredictiveDisplay,
            "regressor",
            {"confidence_levels": "wide"},
            r"confidence_levels must be .*such as \(0.5, 0.9\); got 'wide'",
        ),
        (RelevanceDisplay, "regressor", {"confidence_levels": None}, "levels must.*got None"),
        (IntensityDisplay, "line", {"confidence_levels": [0.5, 1.0]}, "levels must.*, 1.0"),
        (IntensityDisplay, "line", {"confidence_levels": "0.5"}, "levels must.*got '0.5'"),
        (IntensityDisplay, "line", {"confidence_levels": True}, "levels must.*got True"),
        (IntensityDisplay, "line", {"confidence_levels": [[0.5]]}, "levels must.*got "),
        (PredictiveDisplay, "regressor", {"confidence_levels": 90}, "For 90 % pass 0.9"),
        (IntensityDisplay, "line", {"events": "abc"}, "events must hold numbers"),
        (IntensityDisplay, "line", {"events": [1.0, None]}, "events must be finite; row 1"),
        (IntensityDisplay, "map", {"events": [[1.0, np.inf]]}, "events must be finite; row 0"),
        (IntensityDisplay, "map", {"events": [1.0, 2.0]}, r"events must have shape \(n_rows, 2\)"),
        (IntensityDisplay, "line", {"convert": "d"}, "convert must be a function.*got 'd'"),
        (IntensityDisplay, "map", {"convert": "d"}, "convert must be a function.*got 'd'"),
        (
            IntensityDisplay,
            "line",
            {"convert": lambda x: x[:3]},
            r"convert must return a value for each.*\(300,\).*\(3,\)",
        ),
        (IntensityDisplay, "line", {"convert": lambda x: 1.0}, "convert must return a value"),
        (IntensityDisplay, "line", {"threshold": np.inf}, "threshold must be a positive rate"),
        (IntensityDisplay, "map", {"X": CELLS[:1]}, "X must have two columns that vary.*one row"),
        (IntensityDisplay, "map", {"X": CELLS[:4]}, "column 0 is 0 in all 4 rows.*EventGrid"),
        (HyperparameterDisplay, "line", {"kind": np.array([1, 2])}, "kind must be one of.*array"),
        (HyperparameterDisplay, "line", {"kind": ["pairs"]}, "kind must be one of"),
    ],
)
def test_the_parameter_is_named(models, display, name, options, words):
    if display is PredictiveDisplay:
        options = {"X": X, **options}
    with pytest.raises(ValueError, match=words):
        display.from_estimator(models[name], **options)
    assert plt.get_fignums() == []


# Dates


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS[:, None],
        pd.to_datetime(DAYS),
        pd.Series(DAYS).dt.tz_localize("UTC"),
        pd.DataFrame({"day": DAYS}),
        [datetime.date(2020, 1, 3)],
        [np.datetime64("2020-01-03"), np.datetime64("2020-01-04")],
        DAYS - DAYS[0],
    ],
)
def test_dates_are_no_numbers(models, dates):
    cells = bin_events(DAYS, bins=8)
    dated = quiet(MCMCCoxProcessRegressor(**SETTINGS), cells.X, cells.y, exposure=cells.exposure)
    words = r"events must be in the units of X.*EventGrid.to_inputs\(events\)"
    for options in ({}, {"convert": cells.to_dates}):
        with pytest.raises(ValueError, match=words):
            IntensityDisplay.from_estimator(dated, events=dates, **options)


def test_a_column_of_dates_beside_numbers_is_no_number(models):
    events = pd.DataFrame({"day": DAYS, "km": np.arange(20.0)})
    with pytest.raises(ValueError, match="events must be in the units of X"):
        IntensityDisplay.from_estimator(models["map"], events=events)


@pytest.mark.parametrize("display", [IntensityDisplay, PredictiveDisplay])
def test_inputs_that_are_dates_are_refused(models, display):
    with pytest.raises(TypeError, match="X must hold numbers"):
        display.from_estimator(models["line"], DAYS[:, None])


def error_of(function, *args, **options):
    """Return what a call raises: its type, and its words."""
    try:
        function(*args, **options)
    except Exception as error:
        return type(error), str(error)
    return None


def with_entry(values, entry, dtype):
    series = pd.Series(values).astype(dtype)
    series.iloc[2] = entry
    return series


HOLES = [
    (np.nan, float),
    (np.nan, object),
    (pd.NA, object),
    (None, object),
    (pd.NA, "Float64"),
    (pd.NaT, object),
    (datetime.date(2020, 1, 1), object),
    (pd.Timestamp("2020-01-01"), object),
    (pd.Timedelta("1D"), object),
]


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("entry", "dtype"), HOLES)
@pytest.mark.parametrize("name", ["regressor", "classifier", "counts"])
@pytest.mark.parametrize("as_array", [False, True])
def test_inputs_without_numbers_have_the_error_of_predict(models, name, entry, dtype, as_array):
    frame = pd.DataFrame({"a": with_entry(X[:, 0], entry, dtype), "b": X[:, 1]})
    rows = frame.to_numpy() if as_array else frame
    expected = error_of(models[name].predict, rows)
    assert expected is not None
    for feature in (0, 1):
        found = error_of(PredictiveDisplay.from_estimator, models[name], rows, feature=feature)
        assert found == expected
    assert error_of(RelevanceDisplay.from_estimator, models[name], rows) == expected
    if name == "counts":
        assert error_of(IntensityDisplay.from_estimator, models[name], rows) == expected
    assert plt.get_fignums() == []


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("entry", "dtype"), HOLES)
@pytest.mark.parametrize("name", ["regressor", "classifier", "counts"])
def test_targets_that_are_missing_have_an_error_as_in_fit(models, name, entry, dtype):
    values = {"regressor": Y, "classifier": LABELS, "counts": COUNTS[:N]}[name]
    if name == "classifier" and dtype is not object:
        return
    y = with_entry(values, entry, dtype)
    kind, words = error_of(quiet, models[name].__class__(**SETTINGS), X, y)
    for given in (y, y.to_numpy(), y.tolist()):
        result = error_of(PredictiveDisplay.from_estimator, models[name], X, given)
        if name != "classifier" and is_numbers_with_gaps(given):
            assert result is None
            plt.close("all")
        else:
            assert result[0] is kind
            assert "y must " in result[1]
    if dtype is object and name != "classifier":
        assert error_of(PredictiveDisplay.from_estimator, models[name], X, y)[1] == words
    assert plt.get_fignums() == []


def is_numbers_with_gaps(y):
    """Whether a row without data is NaN, or missing among numbers of pandas' own types."""
    return np.asarray(y).dtype.kind == "f" or getattr(y, "dtype", None) == "Float64"


@pytest.mark.parametrize(("entry", "dtype"), [*HOLES[:2], HOLES[3], HOLES[4]])
def test_missing_inputs_are_left_to_a_pipeline_that_fills_them_in(entry, dtype):
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer

    frame = pd.DataFrame({"a": with_entry(X[:, 0], entry, dtype), "b": X[:, 1]})
    as_floats = FunctionTransformer(lambda rows: rows.astype(float))
    steps = [as_floats, SimpleImputer(missing_values=np.nan)]
    model = quiet(make_pipeline(*steps, MCMCGaussianProcessRegressor(**SETTINGS)), frame, Y)
    for feature in ("a", "b"):
        display = PredictiveDisplay.from_estimator(model, frame, Y, feature=feature)
        assert np.isfinite(display.mean).all()
    lacking = make_pipeline(StandardScaler(), MCMCGaussianProcessRegressor(**SETTINGS))
    quiet(lacking, X, Y)
    rows = frame.astype(float).to_numpy()
    expected = error_of(lacking.predict, rows)
    assert error_of(PredictiveDisplay.from_estimator, lacking, rows, Y) == expected


def test_a_map_without_events_is_drawn(models):
    display = IntensityDisplay.from_estimator(models["map"], events=np.empty((0, 2)))
    assert len(display.points_[0].get_xdata()) == 0
    display = IntensityDisplay.from_estimator(models["line"], events=[])
    assert len(display.points_[0].get_xdata()) == 0
