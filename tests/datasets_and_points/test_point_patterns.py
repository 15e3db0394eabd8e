"""Events counted in cells: counts, exposures, masks, and the intensities that come of them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rounding import ELEMENTWISE, FEW_OPERATIONS
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc._grid import find_grid
from skgpmcmc.datasets import load_redwoods
from skgpmcmc.point_patterns import bin_events

SQUARE = (0.0, 3.0)


def test_counts_centres_and_lengths_of_times():
    cells = bin_events([0.0, 0.5, 1.0, 1.9, 4.0], bins=2, window=(0, 4))
    assert_array_equal(cells.X, [[1.0], [3.0]])
    assert_array_equal(cells.y, [4, 1])
    assert_array_equal(cells.exposure, [2.0, 2.0])
    assert_array_equal(cells.edges[0], [0.0, 2.0, 4.0])
    assert cells.y.dtype == np.int64
    assert repr(cells) == "EventGrid(5 events in 2 cells)"


def test_an_inner_edge_belongs_to_the_cell_above_and_the_outer_to_the_last():
    assert_array_equal(bin_events([0.0, 1.0, 2.0], bins=2, window=(0, 2)).y, [1, 2])
    corner = bin_events([[2.0, 2.0], [2.0, 0.0]], bins=2, window=(0, 2))
    assert_array_equal(corner.to_grid(corner.y), [[0, 0], [1, 1]])


def test_cells_of_any_size():
    cells = bin_events([0.5, 2.0, 9.0], bins=[0.0, 1.0, 4.0, 10.0])
    assert_array_equal(cells.y, [1, 1, 1])
    assert_array_equal(cells.X[:, 0], [0.5, 2.5, 7.0])
    assert_array_equal(cells.exposure, [1.0, 3.0, 6.0])


def test_edges_of_one_axis_and_a_number_of_cells_of_the_other():
    points = np.array([[0.5, 0.1], [1.5, 0.9], [1.7, 0.8]])
    cells = bin_events(points, bins=[[0, 1, 4], 2], window=[None, (0, 1)])
    assert cells.shape == (2, 2)
    assert_array_equal(cells.X, [[0.5, 0.25], [0.5, 0.75], [2.5, 0.25], [2.5, 0.75]])
    assert_array_equal(cells.y, [1, 0, 0, 2])
    assert_array_equal(cells.exposure, [0.5, 0.5, 1.5, 1.5])


def test_edges_of_two_axes_may_be_of_different_number():
    cells = bin_events([[0.5, 7.0]], bins=[[0, 1, 2, 3], [5, 8]])
    assert_array_equal(cells.y, [1, 0, 0])
    assert_array_equal(cells.exposure, [3.0, 3.0, 3.0])


def test_three_dimensions_agree_with_numpy():
    points = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    bounds = [(-1, 1), (-1.0, 1.5), (-2, 1)]
    cells = bin_events(points, bins=[2, 3, 4], window=bounds)
    expected, edges = np.histogramdd(points, bins=[2, 3, 4], range=bounds)
    assert_array_equal(cells.to_grid(cells.y), expected)
    for edge, theirs in zip(cells.edges, edges, strict=True):
        assert_allclose(edge, theirs, rtol=0, atol=FEW_OPERATIONS)
    assert_allclose(cells.exposure, 1.0 * (2.5 / 3) * 0.75, rtol=FEW_OPERATIONS)


def test_a_data_frame_is_its_columns():
    pd = pytest.importorskip("pandas")
    points = load_redwoods().points
    frame = pd.DataFrame(points, columns=["x", "y"], index=np.arange(195)[::-1])
    cells, same = (bin_events(events, bins=5, window=(0, 1)) for events in (frame, points))
    assert_array_equal(cells.y, same.y)
    assert_array_equal(cells.to_inputs(frame), points)


def test_the_window_is_the_range_of_the_events_unless_given():
    cells = bin_events([[1.0, 10.0], [3.0, 20.0], [2.0, 30.0]], bins=2)
    assert_array_equal(np.array(cells.edges), [[1, 2, 3], [10, 20, 30]])
    assert_array_equal(cells.y, [1, 0, 0, 2])


def test_no_events_at_all():
    cells = bin_events([], bins=4, window=(0, 2))
    assert_array_equal(cells.y, np.zeros(4))
    assert cells.events.shape == (0, 1)
    assert bin_events(np.empty((0, 2)), bins=2, window=(0, 1)).shape == (2, 2)
    dates = np.array([], dtype="datetime64[D]")
    assert bin_events(dates, bins=2, window=("2020-01-01", "2020-01-05")).exposure.sum() == 4.0
    with pytest.raises(ValueError, match="window of column 0 is needed"):
        bin_events([], bins=4)
    with pytest.raises(ValueError, match="window of column 0 is needed"):
        bin_events(dates, bins=4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, object])
def test_small_integers_do_not_wrap_around(dtype):
    cells = bin_events(np.array([0, 100, 200 if dtype == np.uint8 else 120], dtype=dtype), bins=2)
    assert_array_equal(cells.y, [1, 2])


def test_redwoods_from_points_to_the_counts_of_the_data_set():
    data = load_redwoods()
    cells = bin_events(data.points, bins=25, window=(0, 1))
    assert_allclose(cells.X, data.data, rtol=FEW_OPERATIONS)
    assert_array_equal(cells.y, data.target)
    assert_allclose(cells.exposure, 1 / 625, rtol=ELEMENTWISE)
    assert_array_equal(cells.events, data.points)


# Windows and masks


def test_events_outside_are_refused_or_left_out():
    points = np.array([[0.5, 0.5], [1.5, 0.5], [0.2, -0.1]])
    message = r"2 of 3 events lie outside the window, the first in row 1, at \(1\.5, 0\.5\)\. Widen"
    with pytest.raises(ValueError, match=message):
        bin_events(points, bins=2, window=(0, 1))
    cells = bin_events(points, bins=2, window=(0, 1), outside="drop")
    assert (cells.y.sum(), cells.n_outside, cells.n_unobserved) == (1, 2, 0)
    assert_array_equal(cells.events, [[0.5, 0.5]])
    assert repr(cells) == "EventGrid(1 events in 2 x 2 cells, 2 events outside left out)"


def test_cells_that_were_not_observed_are_no_zeros():
    observed = np.array([[True, True, False], [True, False, True]])
    cells = bin_events(
        [[0.5, 0.5], [1.5, 2.5]], bins=[2, 3], window=[(0, 2), SQUARE], **{"observed": observed}
    )
    assert_array_equal(cells.X, [[0.5, 0.5], [0.5, 1.5], [1.5, 0.5], [1.5, 2.5]])
    assert_array_equal(cells.y, [1, 0, 0, 1])
    assert_array_equal(cells.is_observed, observed)
    assert_array_equal(cells.to_grid(cells.y), [[1, 0, np.nan], [0, np.nan, 1]])
    assert "2 cells not observed" in repr(cells)


def test_an_event_in_a_cell_that_was_not_observed():
    events = {"events": [0.5, 1.5, 2.5], "bins": 3, "window": SQUARE, "observed": [1, 0, 1]}
    with pytest.raises(ValueError, match=r"1 of 3 events lie where nothing was observed.*row 1"):
        bin_events(**events)
    cells = bin_events(**events, outside="drop")
    assert_array_equal(cells.y, [1, 1])
    assert (cells.n_outside, cells.n_unobserved) == (0, 1)


def test_a_fraction_of_a_cell_is_its_share_of_the_exposure():
    cells = bin_events([0.5], bins=3, window=SQUARE, observed=[0.25, 0.0, 1.0])
    assert_array_equal(cells.exposure, [0.25, 1.0])


def test_a_function_says_what_was_observed():
    disc = bin_events(
        np.empty((0, 2)), 10, window=(-1, 1), observed=lambda x: (x**2).sum(axis=1) < 1
    )
    # Of 160 x 160 points, those within a curve of length 2 pi / (1 / 80) can be in doubt.
    assert_allclose(disc.exposure.sum(), np.pi, atol=0.01)
    assert len(disc.y) == 88  # the three cells at each corner lie outside
    half = bin_events([], 2, window=(0, 2), observed=lambda x: 0.5 * (x[:, 0] > 1.5))
    assert_array_equal(half.X, [[1.5]])
    assert_allclose(half.exposure, 0.25, rtol=FEW_OPERATIONS)


def test_a_function_is_asked_about_each_event_too():
    with pytest.raises(ValueError, match="1 of 2 events lie where nothing was observed"):
        bin_events([0.2, 0.8], bins=1, window=(0, 1), observed=lambda x: x[:, 0] > 0.5)


@pytest.mark.parametrize("dtype", [object, bool, float])
def test_masks_of_any_type(dtype):
    spec = {"bins": 4, "window": (0, 4)}
    cells = bin_events([0.5], **spec, observed=np.array([True, 1, False, 0.0], dtype=dtype))
    assert_array_equal(cells.X, [[0.5], [1.5]])
    half = bin_events([0.5], **spec, observed=np.array([np.True_, 0.25, 0, False], dtype=object))
    assert_array_equal(half.exposure, [1.0, 0.25])
    flags = bin_events([0.5], **spec, observed=lambda x: (x[:, 0] < 2).astype(dtype))
    assert_array_equal(flags.X, cells.X)


def test_masks_of_pandas():
    pd = pytest.importorskip("pandas")
    observed = pd.DataFrame([[True, False], [True, True]])
    for dtype in (bool, object, "boolean"):
        cells = bin_events([[0.5, 0.5]], 2, window=(0, 2), observed=observed.astype(dtype))
        assert_array_equal(cells.is_observed, observed)


def test_a_function_that_changes_its_argument_changes_nothing_else():
    def observed(points):
        points *= 0.0
        return points[:, 0] >= 0.0

    events = np.array([[0.5, 0.25], [0.75, 0.5]])
    cells = bin_events(events, bins=3, window=(0, 1), observed=observed)
    assert_array_equal(cells.events, [[0.5, 0.25], [0.75, 0.5]])
    assert_array_equal(events, cells.events)
    assert_array_equal(cells.y, bin_events(events, bins=3, window=(0, 1)).y)


@pytest.mark.parametrize("shape", [(30,), (7, 5), (3, 4, 2)])
def test_a_function_on_a_fine_grid_is_asked_in_parts(monkeypatch, shape):
    from skgpmcmc.point_patterns import _cells

    def slope(points):
        return points.mean(axis=1)

    spec = {"bins": list(shape), "window": (0, 1), "observed": slope}
    empty = np.empty((0, len(shape)))
    whole = bin_events(empty, **spec)
    monkeypatch.setattr(_cells, "_N_POINTS_AT_ONCE", 1)
    parts = bin_events(empty, **spec)
    # The mean of a linear function over a cell is its value at the centre.
    assert_allclose(whole.exposure, whole.X.mean(axis=1) / whole.is_observed.size, rtol=ELEMENTWISE)
    assert_array_equal(parts.exposure, whole.exposure)


def test_polygons_of_matplotlib():
    path = pytest.importorskip("matplotlib.path")
    triangle = path.Path([(0, 0), (1, 0), (0, 1), (0, 0)])
    points = load_redwoods().points
    cells = bin_events(
        points, bins=10, window=(0, 1), observed=triangle.contains_points, outside="drop"
    )
    assert_allclose(cells.exposure.sum(), 0.5, atol=0.01)
    inside = points.sum(axis=1) < 1
    assert len(cells.y) == 55
    assert_array_equal(cells.events, points[inside])
    assert cells.n_unobserved == (~inside).sum()


def test_cells_with_gaps_are_still_a_grid():
    observed = np.random.default_rng(0).random((17, 23)) < 0.8
    cells = bin_events(np.empty((0, 2)), [17, 23], window=[(0.1, 0.7), (-3, 1)], observed=observed)
    found = find_grid(cells.X)
    assert found is not None
    assert found[0].shape == (17, 23)
    assert_array_equal(found[1], np.flatnonzero(observed))
    for axis in range(2):
        assert len(np.unique(cells.X[:, axis])) == (17, 23)[axis]


# Intensities


def fit(cells, **parameters):
    parameters = {"n_chains": 2, "n_warmup": 60, "n_draws": 200, "min_ess": None, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MCMCCoxProcessRegressor(random_state=0, **parameters)
        return model.fit(cells.X, cells.y, exposure=cells.exposure)


@pytest.mark.parametrize("n_per_side", [1, 3, 9])
def test_the_intensity_is_that_of_the_pattern_on_every_grid(n_per_side):
    points = np.random.default_rng(1).uniform(0, 3, (90, 2))
    cells = bin_events(points, bins=n_per_side, window=SQUARE)
    model = fit(cells)
    total = model.predict(cells.X, cells.exposure).sum()
    # New totals are Poisson: their variance is that of the rate's total, plus its mean.
    new = model.sample_y(cells.X, 4000, random_state=0, exposure=cells.exposure).sum(axis=0)
    sd = np.sqrt(max(new.var() - new.mean(), 0.0))
    assert 5.0 < sd < 20.0  # near the square root of 90
    assert abs(total - 90.0) < sd
    assert_allclose(model.predict(cells.X).mean(), 10.0, atol=sd / 9.0)


def test_unobserved_cells_do_not_lower_the_intensity():
    points = np.random.default_rng(2).uniform(0, 3, (900, 2))
    spec = {"bins": 15, "window": SQUARE, "outside": "drop"}
    cells = bin_events(points, **spec, observed=lambda x: x.sum(axis=1) < 3.3)
    area = 9.0 - 2.7**2 / 2
    assert_allclose(cells.exposure.sum(), area, atol=0.02)
    assert len(np.unique(cells.exposure)) > 1
    assert len(cells.y) < 225
    model = fit(cells, representation="joint-post", n_warmup=40, n_draws=60)
    # All points of the grid are latent variables, those without an exposure too.
    assert len(model.X_train_) == 225
    mean = np.average(model.predict(cells.X), weights=cells.exposure)
    # Zeros in the other cells, or whole ones along the line, would be at most 65.
    assert_allclose(mean, 100.0, atol=4.0 * np.sqrt(100.0 / area))
