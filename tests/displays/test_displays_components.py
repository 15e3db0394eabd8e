"""The parts of a latent function along a column, a panel for each."""

import numpy as np
import pytest
from fits import quiet
from sklearn.gaussian_process.kernels import RBF, DotProduct, ExpSineSquared, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.displays import ComponentsDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

pytestmark = pytest.mark.second_stage

SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 10, "random_state": 0}
T = np.arange(24.0)[:, None] / 4.0
AHEAD = np.linspace(0.0, 8.0, 9)[:, None]
TREND, SEASON = 1.0 * RBF(3.0), 0.5 * ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
SIGNAL = 0.4 * T[:, 0] + np.sin(2.0 * np.pi * T[:, 0])
COUNTS = np.random.default_rng(0).poisson(np.exp(1.0 + 0.5 * SIGNAL))


@pytest.fixture(scope="module")
def counts():
    return quiet(MCMCCoxProcessRegressor(TREND + SEASON, **SHORT), T, COUNTS)


@pytest.fixture(scope="module")
def drawn(counts):
    labels = ["trend", "season"]
    return ComponentsDisplay.from_estimator(counts, AHEAD, labels=labels, grid_resolution=65)


def test_numbers_are_the_predictions(counts):
    labels, levels = ["trend", "season"], [0.53, 0.87]
    display = ComponentsDisplay.from_estimator(
        counts, AHEAD, labels=labels, confidence_levels=levels, grid_resolution=9
    )
    ends = [0.065, 0.935, 0.235, 0.765]
    parts = counts.predict_components(AHEAD, ends, labels, centre_on=T)
    assert list(display.mean) == [*labels, "mean"]
    for name, part in parts.items():
        np.testing.assert_allclose(display.mean[name], part.mean, atol=1e-8)
        wide, narrow = display.intervals[name]
        np.testing.assert_allclose(wide, part.quantiles[:, :2], atol=1e-8)
        np.testing.assert_allclose(narrow, part.quantiles[:, 2:], atol=1e-8)
    shares = counts.component_shares(T, labels=labels, random_state=0)
    assert display.shares["trend"][0] == shares["trend"]["share"]


def test_a_panel_for_each_part_and_a_note_on_the_mean(drawn):
    display = drawn.plot()
    assert len(display.axes_) == len(display.lines_) == len(display.bands_) == 2
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles[0].startswith("trend: ")
    assert "% of the variance (90 % interval: " in titles[1]
    label = display.axes_[-1].get_xlabel()
    assert "mean everywhere: " in label
    assert "90 % interval" in label
    assert [ax.get_ylabel() for ax in display.axes_] == ["log rate", "log rate"]
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), display.mean["season"])
    legend = display.axes_[0].get_legend()
    assert len(legend.get_texts()) == 4


def test_the_edge_of_the_data_is_marked(drawn):
    assert len(drawn.edge_lines_) == 2
    for line in drawn.edge_lines_:
        assert abs(line.get_xdata()[0] - T[-1, 0]) < 1e-9


def test_dates(drawn):
    start = np.datetime64("2020-01-01")

    def convert(t):
        return start + (t * 365.2425).astype("timedelta64[D]")

    display = drawn.plot(convert=convert)
    assert display.lines_[0].get_xdata(orig=True)[0] == start
    display.figure_.canvas.draw()
    labels = [text.get_text() for text in display.axes_[-1].get_xticklabels()]
    assert "2022" in labels or "2024" in labels


def test_a_single_axes_makes_room_for_all_panels(drawn):
    _, ax = plt.subplots()
    display = drawn.plot(ax)
    assert display.figure_ is ax.figure
    assert len(display.axes_) == 2
    _, axes = plt.subplots(2, 1)
    assert drawn.plot(axes).axes_[1] is axes[1]
    with pytest.raises(ValueError, match="array of 2 of them"):
        drawn.plot(plt.subplots(3, 1)[1])


def test_several_columns_classes_and_pipelines():
    X = np.column_stack([T[:, 0], np.cos(np.arange(24.0))])
    kernel = 1.0 * RBF([1.0, 1.0]) + DotProduct(1.0)
    classes = MCMCGaussianProcessClassifier(kernel, multi_class="softmax", **SHORT)
    classes = quiet(classes, X, np.array(["a", "b", "c"])[np.arange(24) // 8])
    display = ComponentsDisplay.from_estimator(classes, X, feature=1, target="b")
    assert list(display.mean) == ["k1", "k2", "mean"]
    assert display.axes_[0].get_ylabel() == "latent function"
    assert "the other columns" in display.axes_[-1].get_xlabel()
    for target in (None, "d"):
        with pytest.raises(ValueError, match=r"target must be one of the classes, \['a', 'b', 'c'"):
            ComponentsDisplay.from_estimator(classes, X, target=target)
    regressor = MCMCGaussianProcessRegressor(kernel + WhiteKernel(0.1), **SHORT)
    model = quiet(make_pipeline(StandardScaler(), regressor), X, SIGNAL)
    display = ComponentsDisplay.from_estimator(model, X, ylabel="degrees")
    assert list(display.mean) == ["k1__k1", "k1__k2", "mean"]
    assert display.axes_[0].get_ylabel() == "degrees"
    assert display.x[0] == X[0, 0]


def test_a_kernel_that_is_no_sum_has_one_panel_without_a_share():
    model = quiet(MCMCCoxProcessRegressor(TREND, **SHORT), T, COUNTS)
    display = ComponentsDisplay.from_estimator(model, T)
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["latent"]


def test_on_a_grid():
    cells = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij"), -1)
    cells = cells.reshape(-1, 2)
    model = quiet(MCMCCoxProcessRegressor(**SHORT), cells, np.arange(20) % 4)
    display = ComponentsDisplay.from_estimator(model, cells, feature=1)
    assert len(display.axes_) == 1


def test_refusals(counts):
    with pytest.raises(ValueError, match="target is for estimators with a latent function"):
        ComponentsDisplay.from_estimator(counts, AHEAD, target=1)
    with pytest.raises(ValueError, match="labels must be a list"):
        ComponentsDisplay.from_estimator(counts, AHEAD, labels=["trend"], grid_resolution=9)
    with pytest.raises(ValueError, match="grid_resolution must be"):
        ComponentsDisplay.from_estimator(counts, AHEAD, grid_resolution=1)
    with pytest.raises(ValueError, match="feature must be"):
        ComponentsDisplay.from_estimator(counts, AHEAD, feature="x")
    with pytest.raises(ValueError, match="confidence_levels must be"):
        ComponentsDisplay.from_estimator(counts, AHEAD, confidence_levels=[95])
    with pytest.raises(TypeError, match=r"ComponentsDisplay.from_estimator takes an estimator"):
        ComponentsDisplay.from_estimator(StandardScaler().fit(T), AHEAD)
