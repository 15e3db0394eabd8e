"""Maps of rates: which cells are drawn, on which axes, and what is left out."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from rotation import in_turn
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.displays import IntensityDisplay
from skgpmcmc.point_patterns import bin_events

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.dates as mdates  # noqa: E402

#: tests/displays/test_displays.py draws each kind of picture by default.
pytestmark = pytest.mark.second_stage

SETTINGS = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "random_state": 0}
SHAPE = (8, 6)
PLACES = np.random.default_rng(0).uniform(size=(60, 2))
DAY = np.datetime64("2023-03-01")


def is_land(points):
    """All but a lake, which covers cells of SHAPE or none of them."""
    x, y = points.T
    return ~((x > 0.5) & (x < 0.75) & (y > 1.0 / 3.0) & (y < 2.0 / 3.0))


def fitted(cells, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MCMCCoxProcessRegressor(**{**SETTINGS, **options})
        return model.fit(cells.X, cells.y, exposure=cells.exposure)


def with_lake(shape=SHAPE):
    return bin_events(PLACES, bins=shape, window=(0, 1), observed=is_land, outside="drop")


def dated(**options):
    """Return 60 days by 12 km, in cells."""
    rng = np.random.default_rng(1)
    days = DAY + (rng.uniform(size=40) * 60 * 24).astype("timedelta64[h]")
    frame = pd.DataFrame({"day": days, "km": rng.uniform(0.0, 12.0, 40)})
    window = ((str(DAY), str(DAY + 60)), (0.0, 12.0))
    return bin_events(frame, bins=(6, 4), window=window, **options)


@pytest.fixture(scope="module")
def lake():
    cells = with_lake()
    return cells, fitted(cells)


@pytest.fixture(scope="module")
def days():
    cells = dated()
    return cells, fitted(cells)


def drawn_cells(display):
    """Return what both maps show, columns of X along the axes, masked where nothing is drawn."""
    return [mesh.get_array().T for mesh in display.meshes_]


def all_centres(cells):
    return list(itertools.product(*(0.5 * (e[1:] + e[:-1]) for e in cells.edges)))


# Cells that were not observed


# The dense engine, and the one for grids, whose latents are at all points.
@pytest.mark.parametrize("representation", ["post-ep", "joint-post"])
def test_cells_that_nobody_observed_are_hatched(representation):
    cells = with_lake()
    model = fitted(cells, representation=representation)
    display = IntensityDisplay.from_estimator(model)
    assert (~cells.is_observed).sum() == 4
    rates, probabilities = drawn_cells(display)
    for values in (rates, probabilities):
        assert np.array_equal(np.ma.getmaskarray(values), ~cells.is_observed)
    assert np.allclose(rates.compressed(), model.predict(cells.X))
    assert display.threshold == pytest.approx(model.predict(cells.X).mean())
    for panel in display.axes_:
        assert panel.patch.get_hatch()
        assert "hatched" in panel.get_xlabel()


def test_rows_that_are_passed_are_drawn_and_the_rest_left_out(lake):
    cells, model = lake
    default, display = (IntensityDisplay.from_estimator(model, X) for X in (None, cells.X[::-1]))
    for one, other in zip(drawn_cells(default), drawn_cells(display), strict=True):
        assert np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
        assert np.allclose(one.compressed(), other.compressed())
    assert display.threshold == pytest.approx(default.threshold)


def test_predictions_where_nobody_looked_are_drawn_if_asked_for(lake):
    cells, model = lake
    display = IntensityDisplay.from_estimator(model, all_centres(cells))
    rates = drawn_cells(display)[0]
    assert not np.ma.getmaskarray(rates).any()
    assert np.allclose(rates.ravel(), model.predict(all_centres(cells)))
    assert not display.axes_[0].patch.get_hatch()
    assert "hatched" not in display.axes_[0].get_xlabel()
    # What is average is still said by the cells that were observed.
    assert display.threshold == pytest.approx(model.predict(cells.X).mean())


def test_the_threshold_of_other_cells_is_their_mean(lake):
    _, model = lake
    X = list(itertools.product([0.1, 0.2, 0.3], [0.1, 0.2]))
    display = IntensityDisplay.from_estimator(model, X)
    assert display.threshold == pytest.approx(model.predict(X).mean())


def test_observed_cells_are_found_behind_a_pipeline(lake):
    cells, _ = lake
    model = make_pipeline(StandardScaler(), MCMCCoxProcessRegressor(**SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(cells.X, cells.y, mcmccoxprocessregressor__exposure=cells.exposure)
    display = IntensityDisplay.from_estimator(model, all_centres(cells))
    assert display.threshold == pytest.approx(model.predict(cells.X).mean())


def test_rows_of_weight_zero_were_not_observed():
    X = np.array(list(itertools.product(range(5), range(4))), dtype=float)
    weight = np.ones(len(X))
    weight[7] = 0.0
    model = MCMCCoxProcessRegressor(**SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, np.arange(20) % 3, sample_weight=weight)
    mask = np.ma.getmaskarray(drawn_cells(IntensityDisplay.from_estimator(model))[0])
    assert np.flatnonzero(mask).tolist() == [7]


def test_a_gap_through_the_whole_map_is_no_wide_cell():
    observed = np.ones(SHAPE, dtype=bool)
    observed[4:6] = False
    cells = bin_events(PLACES, SHAPE, window=(0, 1), observed=observed, outside="drop")
    display = IntensityDisplay.from_estimator(fitted(cells))
    assert np.array_equal(~np.ma.getmaskarray(drawn_cells(display)[0]), observed)
    assert np.allclose(display.meshes_[0].get_coordinates()[0, :, 0], cells.edges[0])


def test_cells_that_double_in_size_have_no_gaps():
    doubling = np.array([0.0, 1.0, 3.0, 7.0, 15.0]) / 15.0
    cells = bin_events(PLACES, [doubling, doubling], outside="drop")
    with pytest.warns(UserWarning, match="of several sizes"):
        display = IntensityDisplay.from_estimator(fitted(cells))
    assert drawn_cells(display)[0].shape == (4, 4)
    assert not np.ma.getmaskarray(drawn_cells(display)[0]).any()


@pytest.mark.parametrize("kernel", [None, ConstantKernel() * RBF([0.5, 0.5])])
def test_whole_cells_are_drawn_whatever_the_sampler_did(kernel):
    observed = np.ones((10, 10), dtype=bool)
    observed[[0, 3, 4, 9], [0, 3, 3, 5]] = False
    cells = bin_events(PLACES, 10, window=(0, 1), observed=observed, outside="drop")
    for representation in ("post-ep", "joint-post"):
        model = fitted(cells, kernel=kernel, representation=representation)
        display = IntensityDisplay.from_estimator(model, events=cells.events)
        corners = display.meshes_[0].get_coordinates()[[0, -1], [0, -1]]
        assert np.allclose(corners, [[0.0, 0.0], [1.0, 1.0]])
        assert drawn_cells(display)[0].shape == (10, 10)


def test_a_map_without_cells_reaches_all_events():
    X = np.random.default_rng(0).uniform(size=(12, 2))
    model = MCMCCoxProcessRegressor(**SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, np.arange(12) % 3)
    display = IntensityDisplay.from_estimator(model, events=[[-0.5, 0.5], [0.5, 1.5]])
    corners = display.meshes_[0].get_coordinates()[[0, -1], [0, -1]]
    assert np.allclose(corners, [[-0.5, X[:, 1].min()], [X[:, 0].max(), 1.5]])


def test_rows_that_are_hardly_a_raster_are_refused(lake):
    with pytest.raises(
        ValueError, match=r"X must contain the centres of at least 20 % of the cells"
    ):
        IntensityDisplay.from_estimator(lake[1], PLACES)
    # The display itself, with what its caller computed.
    with pytest.raises(ValueError, match="X must contain the centres of at least 20 %"):
        IntensityDisplay(PLACES, np.ones(60), exceedance=np.ones(60), threshold=1.0).plot()


@pytest.mark.parametrize("column", [0, 1])
def test_a_strip_of_cells_is_no_map(column):
    bins = [6, 6]
    bins[column] = 1
    cells = bin_events(PLACES, bins=bins, window=(0, 1))
    with pytest.raises(ValueError, match=f"two columns that vary.*column {column} is 0.5"):
        IntensityDisplay.from_estimator(fitted(cells))


def test_named_columns_keep_their_names(lake):
    cells, _ = lake
    frame = pd.DataFrame(cells.X, columns=["east", "north"])
    named = ColumnTransformer([("scale", StandardScaler(), ["east", "north"])])
    models = [
        MCMCCoxProcessRegressor(**SETTINGS),
        make_pipeline(named, MCMCCoxProcessRegressor(**SETTINGS)),
    ]
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(frame, cells.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        displays = [IntensityDisplay.from_estimator(model, frame) for model in models]
        displays.append(IntensityDisplay.from_estimator(models[0]))
    for display, model in zip(displays, [*models, models[0]], strict=True):
        assert np.allclose(drawn_cells(display)[0].compressed(), model.predict(frame))
        assert display.axes_[0].get_xlabel().startswith("east\n")
        assert display.axes_[0].get_ylabel() == "north"


# Axes


def square(spans, origin=(0.0, 0.0)):
    """Return a display of 4 x 4 cells that takes no model."""
    centres = [o + (np.arange(4) + 0.5) * s / 4.0 for s, o in zip(spans, origin, strict=True)]
    X = np.array(list(itertools.product(*centres)))
    rate = np.linspace(0.5, 2.0, 16)
    options = {"threshold": 1.0, "unit": "nests per square kilometre and year"}
    return IntensityDisplay(X, rate, exceedance=rate / 3.0, **options)


@pytest.mark.parametrize(
    ("spans", "aspect"),
    [
        ((1.0, 1.0), 1.0),
        ((2.5, 1.0), 1.0),
        ((1.0, 2.5), 1.0),
        ((60.0, 12.0), "auto"),
        ((12.0, 60.0), "auto"),
        ((30.0, 0.4), "auto"),
    ],
)
def test_units_are_equally_long_only_where_the_extents_are_comparable(spans, aspect):
    assert [ax.get_aspect() for ax in square(spans).plot().axes_] == [aspect, aspect]


ORIGINS = [(0.0, 0.0), (652_000.0, 4_651_000.0)]
SPANS = [(1.0, 1.0), (2.9, 1.0), (1.0, 2.9), (60.0, 12.0), (12.0, 60.0), (30.0, 0.4)]


@pytest.mark.parametrize(
    ("spans", "origin"), in_turn(itertools.product(SPANS, ORIGINS), 2, SPANS, ORIGINS)
)
def test_panels_are_large_and_all_labels_in_the_picture(spans, origin):
    display = square(np.multiply(spans, 1000.0), origin).plot()
    figure = display.figure_
    figure.canvas.draw()
    page = figure.bbox
    for ax, bar in zip(display.axes_, display.colorbars_, strict=True):
        inches = ax.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        assert min(inches.width, inches.height) > 1.5
        texts = [ax.title, ax.xaxis.label, ax.yaxis.label, bar.ax.yaxis.label]
        for box in [text.get_window_extent() for text in texts]:
            assert page.x0 + 2 <= box.x0
            assert box.x1 <= page.x1 - 2
            assert page.y0 + 2 <= box.y0
            assert box.y1 <= page.y1 - 2
        ticks = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(ticks))
    first, second = (ax.get_tightbbox() for ax in display.axes_)
    assert first.x1 <= second.x0


def test_projected_metres_are_written_out():
    display = square((3000.0, 2000.0), origin=(652_000.0, 4_651_000.0)).plot()
    display.figure_.canvas.draw()
    for ax in display.axes_:
        assert ax.yaxis.get_offset_text().get_text() == ""
        assert "4651500" in [label.get_text() for label in ax.get_yticklabels()]


# Dates


def test_the_axis_of_dates_has_dates(days):
    cells, model = days
    display = IntensityDisplay.from_estimator(model, events=cells.events, convert=cells.to_dates)
    ends = mdates.date2num([DAY, DAY + 60])
    for ax, points in zip(display.axes_, display.points_, strict=True):
        assert np.allclose(ax.get_xlim(), ends)
        assert np.allclose(ax.get_ylim(), [0.0, 12.0])
        assert ax.get_aspect() == "auto"
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("date", "x1")
        assert np.allclose(
            mdates.date2num(points.get_xdata(orig=True)), mdates.date2num(DAY) + cells.events[:, 0]
        )
        assert np.array_equal(points.get_ydata(), cells.events[:, 1])
    display.figure_.canvas.draw()
    for ax in display.axes_:
        labels = [label for label in ax.get_xticklabels() if label.get_text()]
        assert "Mar" in "".join(label.get_text() for label in labels)
        boxes = [label.get_window_extent() for label in labels]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))


def test_the_second_axis_may_be_the_one_of_dates(days):
    cells, model = days
    X = cells.X[:, ::-1]
    display = IntensityDisplay(
        X,
        model.predict(cells.X),
        exceedance=np.ones(len(X)),
        threshold=1.0,
        feature_names=["km", "day of 2023"],
    )
    display.plot(convert=lambda rows: cells.to_dates(rows[:, 1]))
    assert np.allclose(display.axes_[0].get_ylim(), mdates.date2num([DAY, DAY + 60]))
    assert display.axes_[0].get_ylabel() == "day of 2023"


@pytest.mark.parametrize(
    ("convert", "words"),
    [
        (lambda rows: DAY + rows.astype("timedelta64[D]"), r"convert must return .* \(7, 2\)"),
        (lambda rows: rows.sum(axis=1), "convert must change with one column.*both"),
        (lambda rows: np.zeros(len(rows)), "convert must change with one column.*neither"),
    ],
)
def test_what_does_not_convert_one_axis_is_refused(days, convert, words):
    with pytest.raises(ValueError, match=words):
        IntensityDisplay.from_estimator(days[1], convert=convert)


def test_dates_of_events_that_had_none_are_refused(lake):
    cells, model = lake
    with pytest.raises(ValueError, match="to_dates needs events that were dates"):
        IntensityDisplay.from_estimator(model, convert=cells.to_dates)


def test_a_curve_over_dates_says_so():
    dates = DAY + np.arange(0, 60, 3)
    cells = bin_events(dates, bins=10, window=(DAY, DAY + 60))
    model = fitted(cells)
    labels = [
        IntensityDisplay.from_estimator(model, **options).axes_[0].get_xlabel()
        for options in (
            {"convert": cells.to_dates},
            {"convert": lambda t: cells.to_dates(t).astype(object)},
            {"convert": cells.to_dates, "feature_names": ["day"]},
            {"convert": lambda t: 2.0 * t},
            {},
        )
    ]
    assert labels == ["date", "date", "day", "x0", "x0"]
