"""Pictures can be read: nothing is cut off or lies on something else, and colours differ."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor
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
from matplotlib.colors import to_hex, to_rgb  # noqa: E402

SETTINGS = {"n_chains": 2, "n_warmup": 5, "n_draws": 12, "random_state": 0}
N = 18
X = np.column_stack([np.linspace(0.0, 5.0, N), np.cos(np.arange(N)) + 1.0])
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
RNG = np.random.default_rng(0)


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def labels_of(figure):
    """Return the boxes of all titles and labels of axes, and of the legends."""
    figure.canvas.draw()
    boxes = []
    for ax in figure.axes:
        if ax.axison:
            texts = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]
            boxes += [text.get_window_extent() for text in texts if text.get_text()]
            if ax.get_legend() is not None:
                boxes.append(ax.get_legend().get_window_extent())
    return boxes


def assert_readable(figure):
    boxes = labels_of(figure)
    page = figure.bbox
    for box in boxes:
        assert box.x0 >= page.x0 - 1
        assert box.x1 <= page.x1 + 1
        assert box.y0 >= page.y0 - 1
        assert box.y1 <= page.y1 + 1
    for a, b in itertools.combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(width, height) < 2.0


@pytest.mark.parametrize("n", [1, 5, 12])
def test_the_note_below_the_last_panel_is_in_the_picture(n):
    note = "1988 of 2000 left out; choose by quantities=."
    names = [f"k{i}__length_scale" for i in range(n)]
    display = HyperparameterDisplay(RNG.lognormal(size=(n, 50)), names=names, note=note).plot()
    shown = " ".join(ax.get_xlabel() for ax in display.axes_.flat if ax is not None)
    assert note in shown.replace("\n", " ")
    assert_readable(display.figure_)


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("kind", ["trace", "marginals", "pairs"])
def test_a_plain_axes_has_room_for_all_panels(kind, n):
    names = [f"k1__k2__length_scale[{i}]" for i in range(n)]
    _, ax = plt.subplots()
    if kind == "trace":
        diagnosis = {"rhat": 1.0, "ess_bulk": 123.0, "ess_tail": 88.0}
        draws = RNG.lognormal(size=(n, 4, 50))
        drawn = TraceDisplay(draws, names=names, diagnostics=[diagnosis] * n)
    elif kind == "pairs" and n == 1:
        return
    else:
        drawn = HyperparameterDisplay(RNG.lognormal(size=(n, 50)), names=names, kind=kind)
    display = drawn.plot(ax)
    assert display.figure_ is ax.figure
    assert_readable(display.figure_)
    panels = [panel for panel in display.axes_.flat if panel is not None]
    assert min(panel.get_window_extent().height for panel in panels) > 40.0


def test_maps_in_a_plain_axes_do_not_lie_on_each_other():
    cells = np.array(list(itertools.product(np.arange(4.0), np.arange(3.0))))
    display = IntensityDisplay(cells, np.ones(12), exceedance=np.ones(12) / 2, threshold=1.0)
    display.plot(plt.subplots()[1])
    assert_readable(display.figure_)


def test_a_figure_that_has_more_than_one_axes_keeps_its_size():
    figure, axes = plt.subplots(1, 2, figsize=(6.0, 4.0))
    TraceDisplay(RNG.lognormal(size=(3, 2, 50)), names=list("abc")).plot(axes[0])
    assert figure.get_size_inches().tolist() == [6.0, 4.0]


def distance(one, other):
    return np.abs(np.subtract(to_rgb(one), to_rgb(other))).max()


@pytest.mark.parametrize("n", [2, 7, 8, 12, 20])
def test_chains_and_classes_have_colours_of_their_own(n):
    trace = TraceDisplay(RNG.lognormal(size=(1, n, 50)), names=["a"]).plot()
    x = np.linspace(0.0, 1.0, 5)
    curves = PredictiveDisplay(
        x,
        np.tile(x, (n, 1)),
        np.zeros((n, 1, 5, 2)),
        confidence_levels=[0.9],
        labels=[f"class {i}" for i in range(n)],
        is_probability=True,
    ).plot()
    classes = RelevanceDisplay(
        RNG.lognormal(size=(n, 50, 2)),
        feature_names=["a", "b"],
        labels=[f"class {i}" for i in range(n)],
    ).plot()
    for lines in (trace.lines_[0], curves.lines_, classes.points_):
        colours = [to_hex(line.get_color()) for line in lines]
        assert min(distance(*pair) for pair in itertools.combinations(colours, 2)) > 0.04
    for figure in (trace.figure_, curves.figure_, classes.figure_):
        assert_readable(figure)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 9])
def test_each_interval_is_darker_than_the_wider_ones(n):
    x = np.linspace(0.0, 1.0, 5)
    width = np.linspace(2.0, 0.2, n)[:, None]
    intervals = np.stack([x - width, x + width], axis=-1)
    levels = np.linspace(0.9, 0.1, n)
    display = PredictiveDisplay(
        x, x[None], intervals[None], confidence_levels=levels, labels=["mean"]
    ).plot()
    shades = [sum(to_rgb(band.get_facecolor()[0])) for band in display.bands_]
    assert np.all(np.diff(shades) < -0.05)
    assert sum(to_rgb(display.lines_[0].get_color())) < shades[-1] - 0.05


def test_labels_that_begin_with_an_underscore_are_in_the_legend():
    x = np.linspace(0.0, 1.0, 5)
    labels = ["_hidden", "shown"]
    curves = PredictiveDisplay(
        x, np.tile(x, (2, 1)), np.zeros((2, 1, 5, 2)), confidence_levels=[0.9], labels=labels
    ).plot()
    draws = RNG.lognormal(size=(2, 50, 2))
    relevance = RelevanceDisplay(draws, feature_names=["a", "b"], labels=labels).plot()
    for ax in (curves.ax_, relevance.ax_):
        shown = [text.get_text().strip() for text in ax.get_legend().get_texts()]
        assert set(labels) <= set(shown)


LONG = ["a very long name of a column " * 5, "the same start of a name " * 4 + "and an end"]


def test_long_names_are_shortened_and_keep_their_ends():
    frame = pd.DataFrame(X, columns=LONG)
    model = quiet(MCMCGaussianProcessRegressor(**SETTINGS), frame, Y)
    assert model.feature_names_in_.tolist() == LONG
    options = {"quantities": ["k1__k1__constant_value", "k1__k2__length_scale"]}
    displays = [
        TraceDisplay.from_estimator(model, **options),
        HyperparameterDisplay.from_estimator(model, **options),
        HyperparameterDisplay.from_estimator(model, kind="pairs", **options),
        RelevanceDisplay.from_estimator(model),
        PredictiveDisplay.from_estimator(model, frame, feature=1),
    ]
    for display in displays:
        assert_readable(display.figure_)
        shown = " ".join(t.get_text() for t in display.figure_.findobj(matplotlib.text.Text))
        assert "…" in shown
        assert "an end" in shown
    for ax in displays[3].ax_, displays[4].ax_:
        assert ax.get_window_extent().width > 0.5 * ax.figure.bbox.width
    assert displays[0].names[1] == f"k1__k2__length_scale[{LONG[0]}]"


def test_long_names_of_axes_and_classes_are_shortened():
    model = quiet(MCMCCoxProcessRegressor(**SETTINGS), X[:, :1], np.arange(N) % 3)
    display = IntensityDisplay.from_estimator(model, feature_names=LONG[1:])
    assert_readable(display.figure_)
    assert display.axes_[0].get_xlabel().endswith("an end")
    x = np.linspace(0.0, 1.0, 5)
    curves = PredictiveDisplay(
        x, np.tile(x, (2, 1)), np.zeros((2, 1, 5, 2)), confidence_levels=[0.9], labels=LONG
    ).plot()
    assert_readable(curves.figure_)
    draws = RNG.lognormal(size=(2, 50, 2))
    relevance = RelevanceDisplay(draws, feature_names=LONG, labels=LONG).plot()
    assert_readable(relevance.figure_)
