"""Pictures can be read: nothing is cut off or lies on something else, and colours differ."""

import itertools

import numpy as np
import pandas as pd
import pytest
from fits import quiet

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor
from skgpmcmc.displays import (
    HyperparameterDisplay,
    IntensityDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    TraceDisplay,
)
from skgpmcmc.displays._style import label_log_axis
from skgpmcmc.displays._text import in_lines

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex, to_rgb  # noqa: E402

pytestmark = pytest.mark.second_stage

SETTINGS = {"n_chains": 2, "n_warmup": 5, "n_draws": 12, "random_state": 0}
N = 18
X = np.column_stack([np.linspace(0.0, 5.0, N), np.cos(np.arange(N)) + 1.0])
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
RNG = np.random.default_rng(0)


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


# Ticks


def shown_ticks(axis):
    """Return labels of the ticks that are in the picture, and their boxes."""
    axis.figure.canvas.draw()
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    labels = [
        label
        for at, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        if low - slack <= at <= high + slack and label.get_text()
    ]
    return [label.get_text() for label in labels], [label.get_window_extent() for label in labels]


@pytest.mark.parametrize("low", [2.3e-6, 4.1e-4, 0.05, 1.7, 330.0, 8.2e4, 1.3e6])
@pytest.mark.parametrize(
    "ratio", [1.01, 1.2, 2.0, 4.9, 5.1, 10.0, 29.0, 31.0, 299.0, 301.0, 3e3, 1e5, 1e12]
)
def test_a_logarithmic_axis_has_a_few_ticks_that_differ(low, ratio):
    ax = plt.subplots(figsize=(3.0, 2.2))[1]
    ax.set_xscale("log")
    label_log_axis(ax.xaxis, low, low * ratio)
    ax.set_xlim(low, low * ratio)
    labels, boxes = shown_ticks(ax.xaxis)
    assert 2 <= len(set(labels)) == len(labels) <= 6
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    assert not any("e" in label for label in labels)


@pytest.mark.parametrize("n_draws", [4, 7, 20, 51, 1000])
@pytest.mark.parametrize("n_chains", [1, 4])
def test_draws_are_numbered_by_whole_numbers(n_chains, n_draws):
    draws = RNG.lognormal(size=(2, n_chains, n_draws))
    display = TraceDisplay(draws, names=["a", "b"], log_scale=[True, False]).plot()
    for left, right in display.axes_:
        for axis in (left.xaxis, right.xaxis, right.yaxis):
            labels, _ = shown_ticks(axis)
            assert len(labels) >= 2
            assert all(float(label) == int(float(label)) for label in labels)
    markers = {line.get_marker() for line in display.lines_[0]}
    assert markers == ({"o"} if n_draws <= 50 else {"None"})


# Thresholds


def of_map(**options):
    cells = np.array(list(itertools.product(np.arange(4.0), np.arange(3.0))))
    options = {"unit": "nests per square kilometre", **options}
    return IntensityDisplay(cells, np.ones(12), exceedance=np.ones(12) / 2, **options).plot()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 4.59437, "threshold_is_mean": True}, "its mean, about 4.59 nests"),
        ({"threshold": 12345.6, "threshold_is_mean": True}, "its mean, about 12346 nests"),
        ({"threshold": 4.59437}, "rate > 4.59437 nests"),
        ({"threshold": 12345.6}, "rate > 12345.6 nests"),
    ],
)
def test_a_threshold_is_what_it_is_and_only_a_mean_is_rounded(options, words):
    display = of_map(**options)
    label = display.colorbars_[1].ax.get_ylabel().replace("\n", " ")
    assert words in label
    assert label.endswith("per square kilometre)")
    assert_readable(display.figure_)


def test_the_mean_is_said_to_be_the_threshold():
    cells = np.array(list(itertools.product(np.arange(4.0), np.arange(3.0))))
    model = quiet(MCMCCoxProcessRegressor(**SETTINGS), cells, np.arange(12) % 4)
    labels = [
        IntensityDisplay.from_estimator(model, **options).colorbars_[1].ax.get_ylabel()
        for options in ({}, {"threshold": 1.5})
    ]
    assert ["its mean, about" in label for label in labels] == [True, False]


# Legends


def test_a_legend_lies_on_no_curve_and_in_no_way_of_other_axes():
    model = quiet(MCMCGaussianProcessRegressor(**SETTINGS), X, Y)
    display = PredictiveDisplay.from_estimator(model, X, Y)
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert box.x0 > display.ax_.get_window_extent().x1
    assert_readable(display.figure_)
    for layout in (None, "constrained"):
        _, axes = plt.subplots(1, 3, layout=layout)
        display = PredictiveDisplay.from_estimator(model, X, Y, ax=axes[1])
        display.figure_.canvas.draw()
        box = display.ax_.get_legend().get_window_extent()
        assert box.x0 > axes[0].get_window_extent().x1
        assert box.x1 < axes[2].get_window_extent().x0


@pytest.mark.parametrize("n", [2, 12, 30, 45])
def test_legends_of_many_classes_are_in_the_picture(n):
    x = np.linspace(0.0, 1.0, 5)
    labels = [f"class number {i} of many" for i in range(n)]
    display = PredictiveDisplay(
        x, np.tile(x, (n, 1)), np.zeros((n, 1, 5, 2)), confidence_levels=[0.9], labels=labels
    ).plot()
    assert_readable(display.figure_)
    assert display.ax_.get_window_extent().width > 0.3 * display.figure_.bbox.width


# Names of quantities


@pytest.mark.parametrize(
    ("name", "width", "lines"),
    [
        ("k1__constant_value", 30, ["k1__constant_value"]),
        ("virginica: k1__constant_value", 20, ["virginica:", "k1__constant_value"]),
        ("a: k2__length_scale[petal]", 20, ["a: k2__length_scale", "[petal]"]),
        ("k1__k1__k2__length_scale[0]", 20, ["k1__k1__k2__", "length_scale[0]"]),
        ("k2__length_scale[a: b__c [d]]", 20, ["k2__length_scale", "[a: b__c [d]]"]),
        ("x" * 50, 11, ["xxxxx…xxxxx"]),
    ],
)
def test_names_are_broken_between_their_parts(name, width, lines):
    assert in_lines(name, width).split("\n") == lines
