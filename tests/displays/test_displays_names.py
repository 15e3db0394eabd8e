"""Columns have names, and displays keep to them: the same order as in fit, and as they are."""

import itertools
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from fits import quiet
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    displays,
)
from skgpmcmc.displays import (
    HyperparameterDisplay,
    IntensityDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    TraceDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

#: tests/displays/test_displays.py draws each kind of picture by default.
pytestmark = pytest.mark.second_stage

SETTINGS = {"n_chains": 2, "n_warmup": 5, "n_draws": 12, "random_state": 0}
CELLS = np.array(list(itertools.product(np.arange(4.0), np.arange(3.0))))
T = CELLS[:, :1] + np.arange(12)[:, None]
COUNTS = np.arange(12) % 4
N = 20
X = np.column_stack([np.linspace(0.0, 5.0, N), np.cos(np.arange(N)) + 1.0])
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
IN_ANOTHER_ORDER = "must be in the same order"


def frames():
    """Return what makes a frame of numbers and names, of each library that is there."""
    yield lambda numbers, columns: pd.DataFrame(numbers, columns=columns)
    try:
        import polars as pl
    except ImportError:
        return
    yield lambda numbers, columns: pl.DataFrame(numbers, schema=columns)


FRAMES = pytest.mark.parametrize("frame", list(frames()))


@pytest.fixture(scope="module")
def on_map():
    frame = pd.DataFrame(CELLS, columns=["u", "v"])
    return quiet(MCMCCoxProcessRegressor(**SETTINGS), frame, COUNTS)


@pytest.fixture(scope="module")
def on_line():
    return quiet(MCMCCoxProcessRegressor(**SETTINGS), pd.DataFrame(T, columns=["t"]), COUNTS)


@pytest.fixture(scope="module")
def regressor():
    return quiet(MCMCGaussianProcessRegressor(**SETTINGS), pd.DataFrame(X, columns=["a", "b"]), Y)


@pytest.fixture(scope="module")
def piped():
    model = make_pipeline(StandardScaler(), MCMCGaussianProcessRegressor(**SETTINGS))
    return quiet(model, pd.DataFrame(X, columns=["a", "b"]), Y)


@pytest.fixture(scope="module")
def piped_in_frames():
    model = make_pipeline(StandardScaler(), MCMCGaussianProcessRegressor(**SETTINGS))
    return quiet(model.set_output(transform="pandas"), pd.DataFrame(X, columns=["a", "b"]), Y)


# The names that fit has seen


@FRAMES
def test_maps_and_curves_of_other_columns_are_refused(on_map, on_line, frame):
    with pytest.raises(ValueError, match=IN_ANOTHER_ORDER):
        IntensityDisplay.from_estimator(on_map, frame(CELLS, ["v", "u"]))
    with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
        IntensityDisplay.from_estimator(on_line, frame(CELLS[:, 1:], ["other"]))
    assert plt.get_fignums() == []


@FRAMES
@pytest.mark.parametrize("name", ["regressor", "piped"])
def test_swapped_columns_have_no_curve_and_no_relevance(request, frame, name):
    model = request.getfixturevalue(name)
    swapped = frame(X[:, ::-1], ["b", "a"])
    for display in (PredictiveDisplay, RelevanceDisplay):
        with pytest.raises(ValueError, match=IN_ANOTHER_ORDER):
            display.from_estimator(model, swapped)
    assert plt.get_fignums() == []


@FRAMES
@pytest.mark.parametrize("name", ["regressor", "piped"])
def test_frames_of_the_right_columns_are_drawn_without_a_warning(request, on_map, frame, name):
    model = request.getfixturevalue(name)
    named = frame(X, ["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = PredictiveDisplay.from_estimator(model, named, feature="b", grid_resolution=3)
        relevance = RelevanceDisplay.from_estimator(model, named)
        cells = frame(CELLS, ["u", "v"])
        rate = IntensityDisplay.from_estimator(on_map, cells, events=cells)
    new = pd.DataFrame({"a": np.median(X[:, 0]), "b": curve.x})
    assert np.allclose(curve.mean[0], model.predict(new))
    assert curve.xlabel.startswith("b\n")
    assert relevance.feature_names[0].endswith("a")
    assert np.array_equal(rate.events, CELLS)


@FRAMES
@pytest.mark.parametrize("name", ["regressor", "piped", "piped_in_frames", "on_line"])
@pytest.mark.parametrize("display", displays.__all__)
def test_no_display_of_a_frame_warns(request, frame, name, display):
    model = request.getfixturevalue(name)
    if display == "IntensityDisplay" and name != "on_line":
        pytest.skip("rates are of counts")
    rows = frame(T, ["t"]) if name == "on_line" else frame(X, ["a", "b"])
    arguments = [] if display in ("HyperparameterDisplay", "TraceDisplay") else [rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(displays, display).from_estimator(model, *arguments)
    plt.close("all")


def test_steps_that_choose_columns_by_name_may_have_them_in_any_order():
    scaled = ColumnTransformer([("scale", StandardScaler(), ["b", "a"])])
    model = make_pipeline(scaled, MCMCGaussianProcessRegressor(**SETTINGS))
    quiet(model, pd.DataFrame(X, columns=["a", "b"]), Y)
    named = pd.DataFrame(X, columns=["a", "b"])
    curves = [
        PredictiveDisplay.from_estimator(model, named[order], feature="a").mean
        for order in (["a", "b"], ["b", "a"])
    ]
    assert np.allclose(*curves)


# Events


@FRAMES
def test_events_of_columns_in_another_order_are_refused(on_map, frame):
    events = frame(CELLS[:3, ::-1], ["v", "u"])
    with pytest.raises(ValueError, match=f"^events: (.|\n)*{IN_ANOTHER_ORDER}"):
        IntensityDisplay.from_estimator(on_map, events=events)
    named = pd.DataFrame(CELLS, columns=["u", "v"])
    with pytest.raises(ValueError, match=r"events must have the columns of X.*\['u', 'v'\]"):
        IntensityDisplay.from_estimator(on_map, named, events=events)


def test_named_events_of_a_model_without_names_are_warned_of():
    model = quiet(MCMCCoxProcessRegressor(**SETTINGS), CELLS, COUNTS)
    events = pd.DataFrame(CELLS[:3], columns=["u", "v"])
    with pytest.warns(UserWarning, match="^events has feature names, but MCMCCox") as caught:
        IntensityDisplay.from_estimator(model, events=events)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IntensityDisplay.from_estimator(model, events=CELLS[:3])


# Names as they are


ODD = ["$a^$", "$x_1$", "price in $", r"a\$b", "_x{"]


def texts(display):
    """Return all texts of a picture as they are drawn."""
    figure = display.figure_
    figure.draw_without_rendering()
    found = []
    for text in figure.findobj(matplotlib.text.Text):
        shown, is_mathematics = text._preprocess_math(text.get_text())
        if not (is_mathematics and re.match(r"\$([2-9]\\cdot)?10\^", shown)):  # a tick
            assert not is_mathematics, shown
            found.append(shown)
    return "\n".join(found)


@pytest.mark.second_stage
def test_dollars_are_dollars():
    named = pd.DataFrame(
        np.column_stack([X, X + np.sin(3.0 * X), X[:, 0] ** 2 + np.cos(X[:, 1])]), columns=ODD
    )
    labels = np.array(["$50^$", "_none", "$x_2$"])[np.arange(N) % 3]
    quick = {**SETTINGS, "n_draws": 4}
    regressor = quiet(MCMCGaussianProcessRegressor(**quick), named, Y)
    classifier = quiet(MCMCGaussianProcessClassifier(**quick), named, labels)
    for name in ODD:
        display = PredictiveDisplay.from_estimator(regressor, named, feature=name)
        assert f"{name}\n(the other" in texts(display)
    for model in (regressor, classifier):
        of_model = labels if model is classifier else ()
        shown = texts(TraceDisplay.from_estimator(model, max_quantities=30))
        assert all(f"[{name}]" in shown for name in ODD)
        assert all(f"{label}: " in shown for label in of_model)
        shown = texts(RelevanceDisplay.from_estimator(model))
        assert all(name in shown for name in [*ODD, *of_model])
        for kind in ("marginals", "pairs"):
            display = HyperparameterDisplay.from_estimator(model, kind=kind, max_quantities=6)
            assert f"[{ODD[0]}]" in texts(display).replace("\n", "")
    shown = texts(PredictiveDisplay.from_estimator(classifier, named, labels))
    assert all(label in shown for label in labels)
    shown = texts(PredictiveDisplay.from_estimator(classifier, named, target="$50^$"))
    assert "probability of class $50^$" in shown


@pytest.mark.parametrize("model_of", ["on_map", "on_line"])
def test_dollars_of_axes_are_dollars(request, model_of):
    names = ODD[: 2 if model_of == "on_map" else 1]
    model = request.getfixturevalue(model_of)
    shown = texts(IntensityDisplay.from_estimator(model, feature_names=names))
    assert all(name in shown for name in names)


def test_units_may_be_mathematics(on_line):
    display = IntensityDisplay.from_estimator(on_line, unit="trees per km$^2$")
    assert display.axes_[0].yaxis.label._preprocess_math(display.axes_[0].get_ylabel())[1]


# Names that occur twice


def test_a_name_of_two_columns_is_ambiguous():
    model = quiet(MCMCGaussianProcessRegressor(**SETTINGS), X, Y)
    with pytest.raises(ValueError, match=r"feature .*columns 0, 1 all have the name 'a'.*number"):
        PredictiveDisplay.from_estimator(model, X, feature="a", feature_names=["a", "a"])
    with pytest.raises(ValueError, match=r"held .*columns 0, 1 all have the name 'a'.*number"):
        PredictiveDisplay.from_estimator(model, X, held={"a": 1}, feature_names=["a", "a"])
    display = PredictiveDisplay.from_estimator(model, X, feature=1, feature_names=["a", "a"])
    assert display.x[-1] == X[:, 1].max()


def test_of_many_columns_a_few_are_named():
    wide = np.random.default_rng(0).standard_normal((8, 200))
    model = quiet(MCMCGaussianProcessRegressor(**{**SETTINGS, "n_draws": 4}), wide, Y[:8])
    with pytest.raises(ValueError, match=r"'x0', 'x1'.* and 192 more.*; got 'q'") as caught:
        PredictiveDisplay.from_estimator(model, wide, feature="q")
    assert len(str(caught.value)) < 300
