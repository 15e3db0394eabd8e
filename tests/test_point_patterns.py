"""Events counted in cells: counts, exposures, dates, masks, and intensities that come of them."""

import datetime
import warnings
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc._grid import find_grid
from skgpmcmc.datasets import load_coal_mining, load_redwoods
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
        assert_allclose(edge, theirs, rtol=0, atol=1e-15)
    assert_allclose(cells.exposure, 1.0 * (2.5 / 3) * 0.75, rtol=1e-14)


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
    assert_allclose(half.exposure, 0.25, rtol=1e-14)


def test_a_function_is_asked_about_each_event_too():
    with pytest.raises(ValueError, match="1 of 2 events lie where nothing was observed"):
        bin_events([0.2, 0.8], bins=1, window=(0, 1), observed=lambda x: x[:, 0] > 0.5)


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
    assert_allclose(whole.exposure, whole.X.mean(axis=1) / whole.is_observed.size, rtol=1e-12)
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


# Dates


def test_mining_from_dates_to_the_counts_of_the_data_set():
    data = load_coal_mining()
    cells = bin_events(data.dates, bins=112, window=("1851-03-15", "1963-02-16"), unit="365D")
    assert_array_equal(cells.X, data.data)
    assert_array_equal(cells.y, data.target)
    assert_array_equal(cells.exposure, np.ones(112))
    assert_array_equal(cells.events[:, 0], data.events / 365)
    same = bin_events(data.events / 365, bins=112, window=(0, 112))
    assert_array_equal(same.y, cells.y)


def test_redwoods_from_points_to_the_counts_of_the_data_set():
    data = load_redwoods()
    cells = bin_events(data.points, bins=25, window=(0, 1))
    assert_allclose(cells.X, data.data, rtol=1e-14)
    assert_array_equal(cells.y, data.target)
    assert_allclose(cells.exposure, 1 / 625, rtol=1e-12)
    assert_array_equal(cells.events, data.points)


def test_calendar_years_are_of_different_lengths():
    years = np.arange("1851", "1964", dtype="datetime64[Y]")
    cells = bin_events(load_coal_mining().dates, bins=years)
    expected = np.bincount(load_coal_mining().dates.astype("datetime64[Y]").astype(int) + 119)
    assert_array_equal(cells.y, expected)
    assert_array_equal(np.unique(cells.exposure), [365.0, 366.0])
    assert cells.exposure.sum() == (np.datetime64("1963-01-01") - years[0]).astype(int)


PYTHON_DATES = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)]


@pytest.mark.parametrize("kind", ["numpy", "date", "datetime", "Series", "DatetimeIndex", "frame"])
def test_dates_of_all_kinds(kind):
    as_numpy = np.array(PYTHON_DATES, dtype="datetime64[D]")
    if kind in ("Series", "DatetimeIndex", "frame"):
        pd = pytest.importorskip("pandas")
        index = pd.DatetimeIndex(as_numpy)
        dates = {
            "Series": pd.Series(index, index=[5, 6]),
            "DatetimeIndex": index,
            "frame": pd.DataFrame({"when": index}),
        }[kind]
    else:
        dates = {
            "numpy": as_numpy,
            "date": PYTHON_DATES,
            "datetime": [datetime.datetime(2020, 1, day) for day in (1, 3)],
        }[kind]
    cells = bin_events(dates, bins=2, window=("2020-01-01", "2020-01-05"))
    assert_array_equal(cells.events[:, 0], [0.0, 2.0])
    assert_array_equal(cells.y, [1, 1])
    assert_array_equal(cells.exposure, [2.0, 2.0])


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (None, 2.0),
        ("D", 2.0),
        ("h", 48.0),
        ("0.5D", 4.0),
        ("W", 2 / 7),
        (np.timedelta64(12, "h"), 4.0),
        (datetime.timedelta(days=2), 1.0),
    ],
)
def test_units_of_time(unit, expected):
    cells = bin_events(PYTHON_DATES, bins=1, unit=unit)
    assert_allclose(cells.exposure, expected, rtol=1e-15)
    assert_allclose(cells.events[:, 0], [0.0, expected], rtol=1e-15)


def test_the_origin_is_the_start_of_the_window_unless_given():
    spec = {"bins": 1, "window": ("2019-12-31", "2020-01-04")}
    assert_array_equal(bin_events(PYTHON_DATES, **spec).events[:, 0], [1.0, 3.0])
    cells = bin_events(PYTHON_DATES, **spec, origin="2020-01-02")
    assert_array_equal(cells.events[:, 0], [-1.0, 1.0])
    assert_array_equal(cells.X, [[0.0]])
    assert bin_events(PYTHON_DATES, bins=1).events[0, 0] == 0.0


@pytest.mark.parametrize("pandas_too", [False, True])
def test_time_zones_become_utc(pandas_too):
    rome = ZoneInfo("Europe/Rome")
    # Two hours ahead of UTC in summer, and one in winter.
    times = [datetime.datetime(2020, month, 1, 12, tzinfo=rome) for month in (7, 12)]
    if pandas_too:
        times = pytest.importorskip("pandas").Series(times)
    cells = bin_events(times, bins=["2020-07-01T00", "2020-12-02T00"], unit="h")
    assert_array_equal(cells.events[:, 0], [10.0, 153 * 24 + 11.0])
    assert cells.to_dates(cells.events)[1] == np.datetime64("2020-12-01T11:00")
    assert cells.to_inputs("2020-07-01T12:00+02:00")[0, 0] == 10.0
    assert cells.to_inputs("2020-07-01T10:00Z")[0, 0] == 10.0


def test_dates_and_inputs_both_ways():
    dates = load_coal_mining().dates
    cells = bin_events(dates, bins=10, unit="365.2425D")
    assert_array_equal(cells.to_inputs(dates), cells.events)
    assert_array_equal(cells.to_dates(cells.events), dates)
    assert_array_equal(cells.to_dates(cells.events[:, 0]), dates)
    assert cells.to_dates(0.0) == dates[0]
    assert cells.to_inputs(datetime.date(1851, 3, 15)) == 0.0
    edges = cells.to_dates(cells.edges[0])
    assert (edges[0], edges[-1]) == (dates[0], dates[-1])


def test_a_column_of_dates_beside_places():
    pd = pytest.importorskip("pandas")
    days = pd.to_datetime(["2020-01-02", "2020-01-09"])
    frame = pd.DataFrame({"x": [0.25, 0.75], "when": days})
    bounds = [(0, 1), ("2020-01-01", "2020-01-11")]
    cells = bin_events(frame, bins=2, window=bounds)
    assert_array_equal(cells.to_grid(cells.y), np.eye(2))
    assert_array_equal(cells.exposure, np.full(4, 2.5))
    assert_array_equal(cells.to_dates(cells.events), days.to_numpy())
    assert_array_equal(cells.to_inputs(frame), [[0.25, 1.0], [0.75, 8.0]])
    with pytest.raises(ValueError, match=r"row 1, at \(0\.75, 2020-01-09T00:00:00"):
        bin_events(frame, bins=2, window=[(0, 1), ("2020-01-01", "2020-01-05")])


# Bad input

POINTS = [[0.5, 0.5], [0.2, 0.7]]
DATES = np.array(PYTHON_DATES, dtype="datetime64[D]")
FINE = {"bins": 2, "window": (0, 1)}
DAYS = {"bins": 2, "window": ("2020-01-01", "2020-01-05")}


@pytest.mark.parametrize(
    ("events", "spec", "message"),
    [
        ([0.5, np.nan], FINE, "events of column 0 must be finite; entry 1 is nan"),
        ([0.5, np.inf, np.nan], FINE, "entry 1 is inf, one of 2"),
        ([0.5, None], FINE, "events of column 0 must be finite"),
        ([[0.5, np.nan]], FINE, "events of column 1 must be finite"),
        (["0.5"], FINE, "events of column 0 must be real numbers or dates; got"),
        (["2020-01-01"], DAYS, "become dates by pandas.to_datetime"),
        ([True, False], FINE, "must be real numbers or dates"),
        ([0.5 + 1j], FINE, "must be real numbers or dates"),
        (0.5, FINE, r"events must be times or dates of shape \(n_events,\)"),
        (np.zeros((2, 2, 2)), FINE, "events must be times or dates"),
        ([[1.0, 2.0], [3.0]], FINE, "events must be times or dates"),
        (np.empty((0, 0)), FINE, "one or more columns"),
        (np.ma.masked_equal([0.1, 0.2], 0.2), FINE, "events must not be masked"),
        ([2**53 + 2, 2**60], {"bins": 2}, r"within 2\*\*53.*got 1\.1529"),
        ([10**400], FINE, "must be real numbers or dates"),
        (POINTS, {"bins": 0, "window": (0, 1)}, "bins of column 0 .*at least 1.*got 0"),
        (POINTS, {"bins": -3, "window": (0, 1)}, "got -3"),
        (POINTS, {"bins": True, "window": (0, 1)}, "bins must be a whole number"),
        (POINTS, {"bins": 2.5, "window": (0, 1)}, "bins must be a whole number"),
        (POINTS, {"bins": [2, 2.5], "window": (0, 1)}, "bins of column 1 .*got 2.5"),
        (POINTS, {"bins": [2, 3, 4], "window": (0, 1)}, "each column, of which there are 2"),
        (POINTS, {"bins": "25", "window": (0, 1)}, "bins must be a whole number"),
        (POINTS, {"bins": 10**5, "window": (0, 1)}, "at most 10000000 cells; got 10000000000"),
        ([0.5], {"bins": 10**9, "window": (0, 1)}, "at most 10000000 cells"),
        ([0.5], {"bins": [0, 2, 1]}, "bins of column 0 must be two edges or more"),
        ([0.5], {"bins": [0, 1, 1]}, "each larger than the one before"),
        ([0.5], {"bins": [[0.0]]}, "two edges or more"),
        ([0.5], {"bins": [0, np.nan, 1]}, "bins of column 0 must be finite"),
        ([0.5], {"bins": [0, 1], "window": (0, 1)}, "must be None where bins are edges"),
        ([0.5], {"bins": 10, "window": (1, 1)}, "lower < upper; got"),
        ([0.5], {"bins": 10, "window": (1, 0)}, "lower < upper; got"),
        ([0.5], {"bins": 10, "window": (0, np.inf)}, "window of column 0 must be finite"),
        ([0.5], {"bins": 10, "window": 1}, r"window must be \(lower, upper\)"),
        (POINTS, {"bins": 10, "window": [(0, 1)]}, "each, of which there are 2"),
        (POINTS, {"bins": 10, "window": [(0, 1), (0, 1, 2)]}, "of which there are 2"),
        (POINTS, {"bins": 10, "window": [(0, 1), (2, 1)]}, "window of column 1 .*lower < upper"),
        ([0.5, 0.5], {"bins": 10}, "window of column 0 is needed.* there are 2, at 1 places"),
        ([1.0], {"bins": 10, "window": (1, 1 + 1e-15)}, "doubles can tell the edges apart"),
        ([1.0], {"bins": 2, "window": (-1.7e308, 1.7e308)}, "doubles can tell the edges apart"),
        (POINTS, {"bins": 1, "window": (-1e200, 1e200)}, "positive and finite double"),
        (POINTS, {"bins": 2, "window": (0, 1), "outside": "ignore"}, "outside must be 'raise'"),
        (POINTS, {**FINE, "observed": [1, 1]}, r"the shape \(2, 2\); got the shape \(2,\)"),
        (POINTS, {**FINE, "observed": np.full((2, 2), 1.5)}, "observed fraction, from 0 to 1"),
        (POINTS, {**FINE, "observed": np.full((2, 2), np.nan)}, "observed fraction, from 0 to 1"),
        (POINTS, {**FINE, "observed": np.zeros((2, 2))}, "larger than 0 in one cell or more"),
        (POINTS, {**FINE, "observed": lambda x: x}, r"observed\(points\) must be one number"),
        (POINTS, {**FINE, "observed": lambda x: None}, r"observed\(points\) must be True or"),
        (POINTS, {**FINE, "unit": "D"}, "unit is for dates, but the events are numbers"),
        (POINTS, {**FINE, "origin": 0}, "origin is for dates, but the events are numbers"),
        ([0.5], DAYS, "window of column 0 must be real numbers or dates"),
        ([0.5], {"bins": 2, "window": tuple(DATES)}, "holds dates, but the events are numbers"),
        (DATES, FINE, "window of column 0 must hold dates; got"),
        (DATES, {"bins": [0, 1, 2]}, "bins of column 0 must hold dates; got 0"),
        (DATES, {**DAYS, "unit": "Y"}, "Months and years have no fixed length"),
        (DATES, {**DAYS, "unit": np.timedelta64(1, "M")}, "Months and years have no fixed"),
        (DATES, {**DAYS, "unit": "0D"}, "from 1 microsecond"),
        (DATES, {**DAYS, "unit": 365}, "unit must be a number and one of W, D"),
        (DATES, {**DAYS, "origin": DATES}, "origin must be one date"),
        (DATES, {**DAYS, "origin": "soon"}, "origin must hold dates"),
        (DATES, {**DAYS, "window": ("2020-01-01", "soon")}, "window of column 0 must hold dates"),
        (np.append(DATES, np.datetime64("NaT")), DAYS, r"\(NaT\), but holds 1 of 3.*entry 2"),
        (np.append(DATES, np.datetime64("NaT")), {"bins": 2}, r"\(NaT\), but holds 1 of 3"),
        ([*PYTHON_DATES, None], DAYS, r"must not hold missing dates \(NaT\)"),
        ([*PYTHON_DATES, 3.0], DAYS, "events of column 0 must hold dates"),
        (np.array(["300000-01-01"], "datetime64[D]"), DAYS, "within 140,000 years of 1970"),
        (np.stack([DATES, DATES], axis=1), DAYS, "one column of dates at most"),
    ],
)
def test_bad_input_is_named(events, spec, message):
    with pytest.raises(ValueError, match=message):
        bin_events(events, **spec)


def test_missing_dates_of_pandas():
    pd = pytest.importorskip("pandas")
    for zone in (None, "Europe/Rome"):
        dates = pd.Series(pd.to_datetime(["2020-01-02", None])).dt.tz_localize(zone)
        with pytest.raises(ValueError, match=r"\(NaT\), but holds 1 of 2, the first as entry 1"):
            bin_events(dates, **DAYS)
    with pytest.raises(ValueError, match="events of column 'x' must be finite"):
        bin_events(pd.DataFrame({"x": [0.5, np.nan], "y": [0.5, 0.5]}), **FINE)


def test_conversions_name_bad_input():
    cells = bin_events(POINTS, **FINE)
    with pytest.raises(ValueError, match="to_dates needs events that were dates"):
        cells.to_dates(cells.X)
    with pytest.raises(ValueError, match=r"events must have 2 columns.*got 1"):
        cells.to_inputs([0.5])
    with pytest.raises(ValueError, match=r"each of the 4 observed cells.*got the shape"):
        cells.to_grid(np.zeros(3))
    days = bin_events(DATES, **DAYS)
    with pytest.raises(ValueError, match="events of column 0 must hold dates"):
        days.to_inputs([0.5])
    with pytest.raises(ValueError, match="X must have 1 columns; got 2"):
        days.to_dates(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X must be finite"):
        days.to_dates([0.0, np.nan])


# Intensities


def fit(cells, **parameters):
    parameters = {"n_chains": 2, "n_warmup": 60, "n_draws": 200, **parameters}
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
