"""Maps whose cells are of several sizes: where their edges are, and what is average."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.displays import IntensityDisplay
from skgpmcmc.point_patterns import bin_events

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.dates as mdates  # noqa: E402

SETTINGS = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "random_state": 0}
PLACES = np.random.default_rng(0).uniform(size=(60, 2)) ** [2.0, 1.0]
EDGES = [[0.0, 0.05, 0.1, 0.5, 1.0], [0.0, 0.3, 0.9, 1.0]]
WORDS = "cells of the map are of several sizes.*Pass the EventGrid"


def fitted(cells, X=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MCMCCoxProcessRegressor(**SETTINGS)
        return model.fit(cells.X if X is None else X, cells.y, exposure=cells.exposure)


def edges_of(display):
    corners = display.meshes_[0].get_coordinates()
    return corners[0, :, 0], corners[:, 0, 1]


@pytest.fixture(scope="module")
def irregular():
    cells = bin_events(PLACES, EDGES)
    return cells, fitted(cells)


@pytest.mark.filterwarnings("error")
def test_the_edges_are_those_of_the_grid(irregular):
    cells, model = irregular
    display = IntensityDisplay.from_estimator(model, cells, events=cells.events)
    for drawn, own in zip(edges_of(display), EDGES, strict=True):
        assert np.allclose(drawn, own)
    rate = model.predict(cells.X)
    assert np.allclose(display.meshes_[0].get_array().T, cells.to_grid(rate))
    again = display.plot()
    assert np.allclose(edges_of(again)[0], EDGES[0])


def test_what_is_average_counts_large_cells_for_more(irregular):
    cells, model = irregular
    rate, area = model.predict(cells.X), cells.exposure
    expected = np.average(rate, weights=area)
    assert abs(expected - rate.mean()) > 0.05 * rate.mean()  # or the test could not fail
    display = IntensityDisplay.from_estimator(model, cells)
    assert display.threshold == pytest.approx(expected)
    probability = model.predict_exceedance(cells.X, expected)
    assert np.allclose(display.exceedance, probability)


def test_centres_do_not_tell_the_edges(irregular):
    cells, model = irregular
    for X in (None, cells.X, cells.X[::-1]):
        with pytest.warns(UserWarning, match=WORDS) as caught:
            display = IntensityDisplay.from_estimator(model, X)
        assert [warning.filename for warning in caught] == [__file__]
        assert np.allclose(edges_of(display)[0], [0.0, 0.05, 0.1875, 0.525, 0.975])
        assert display.X.shape == cells.X.shape


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bins", [(12, 7), (3, 2)])
def test_cells_of_one_size_need_no_edges(bins):
    cells = bin_events(PLACES, bins, window=((0.0, 1.0), (0.1, 0.97)), outside="drop")
    model = fitted(cells)
    plain, with_edges = (IntensityDisplay.from_estimator(model, X) for X in (None, cells))
    assert np.allclose(np.concatenate(edges_of(plain)), np.concatenate(edges_of(with_edges)))
    assert plain.threshold == pytest.approx(with_edges.threshold)


def test_unobserved_cells_keep_their_size():
    observed = np.ones((4, 3), dtype=bool)
    observed[2] = False
    cells = bin_events(PLACES, EDGES, observed=observed, outside="drop")
    display = IntensityDisplay.from_estimator(fitted(cells), cells)
    assert np.allclose(edges_of(display)[0], EDGES[0])
    assert np.array_equal(~np.ma.getmaskarray(display.meshes_[0].get_array()).T, observed)
    assert "hatched" in display.axes_[0].get_xlabel()


@pytest.mark.parametrize("bins", [(6, 1), (1, 6), (1, 1)])
def test_a_strip_of_cells_that_have_edges_is_a_map(bins):
    cells = bin_events(PLACES, bins, window=(0.0, 1.0))
    display = IntensityDisplay.from_estimator(fitted(cells), cells)
    assert display.meshes_[0].get_array().T.shape == bins


@pytest.mark.filterwarnings("error")
def test_dates_and_irregular_cells_go_together():
    day = np.datetime64("2023-03-01")
    frame = pd.DataFrame({"day": day + np.arange(40), "km": np.arange(40.0) % 7})
    bins = [np.array([0, 10, 15, 60]) + day, [0.0, 2.0, 7.0]]
    cells = bin_events(frame, bins)
    options = {"events": cells.events, "convert": cells.to_dates}
    display = IntensityDisplay.from_estimator(fitted(cells), cells, **options)
    assert np.allclose(edges_of(display)[0], mdates.date2num(bins[0]))


@pytest.mark.filterwarnings("error")
def test_named_columns_and_pipelines_take_grids(irregular):
    cells, _ = irregular
    named = fitted(cells, pd.DataFrame(cells.X, columns=["east", "north"]))
    display = IntensityDisplay.from_estimator(named, cells)
    assert display.axes_[0].get_xlabel() == "east"
    model = make_pipeline(StandardScaler(), MCMCCoxProcessRegressor(**SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(cells.X, cells.y, mcmccoxprocessregressor__exposure=cells.exposure)
    display = IntensityDisplay.from_estimator(model, cells)
    assert np.allclose(display.mean, model.predict(cells.X))


def test_a_curve_goes_over_the_whole_window():
    cells = bin_events(PLACES[:, 0], [[0.0, 0.1, 0.4, 1.0]])
    display = IntensityDisplay.from_estimator(fitted(cells), cells, events=cells.events)
    assert (display.X[0, 0], display.X[-1, 0]) == (0.0, 1.0)
    assert len(display.X) == 300


def test_grids_of_other_columns_are_refused(irregular):
    _, model = irregular
    with pytest.raises(ValueError, match="1 features, but MCMCCoxProcessRegressor is expecting 2"):
        IntensityDisplay.from_estimator(model, bin_events(PLACES[:, 0], 4))
    cube = bin_events(np.random.default_rng(0).uniform(size=(9, 3)), 2)
    with pytest.raises(ValueError, match="one or two columns; got 3"):
        IntensityDisplay.from_estimator(model, cube)


def test_rows_outside_of_the_edges_are_refused(irregular):
    cells, _ = irregular
    n = len(cells.X)
    options = {"exceedance": np.ones(n), "threshold": 1.0, "edges": cells.edges}
    with pytest.raises(ValueError, match=r"edges must be .*row 0, \(0.025, 5.15\), is no centre"):
        IntensityDisplay(cells.X + np.array([0.0, 5.0]), np.ones(n), **options).plot()
