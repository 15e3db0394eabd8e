"""Dates of events as inputs: units, origins, time zones, and back."""

import datetime

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rounding import FEW_OPERATIONS

from skgpmcmc.datasets import load_coal_mining
from skgpmcmc.point_patterns import bin_events


def test_mining_from_dates_to_the_counts_of_the_data_set():
    data = load_coal_mining()
    cells = bin_events(data.dates, bins=112, window=("1851-03-15", "1963-02-16"), unit="365D")
    assert_array_equal(cells.X, data.data)
    assert_array_equal(cells.y, data.target)
    assert_array_equal(cells.exposure, np.ones(112))
    assert_array_equal(cells.events[:, 0], data.events / 365)
    same = bin_events(data.events / 365, bins=112, window=(0, 112))
    assert_array_equal(same.y, cells.y)


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
    assert_allclose(cells.exposure, expected, rtol=FEW_OPERATIONS)
    assert_allclose(cells.events[:, 0], [0.0, expected], rtol=FEW_OPERATIONS)


def test_the_origin_is_the_start_of_the_window_unless_given():
    spec = {"bins": 1, "window": ("2019-12-31", "2020-01-04")}
    assert_array_equal(bin_events(PYTHON_DATES, **spec).events[:, 0], [1.0, 3.0])
    cells = bin_events(PYTHON_DATES, **spec, origin="2020-01-02")
    assert_array_equal(cells.events[:, 0], [-1.0, 1.0])
    assert_array_equal(cells.X, [[0.0]])
    assert bin_events(PYTHON_DATES, bins=1).events[0, 0] == 0.0


def test_time_zones_become_utc():
    zones = [datetime.timezone(datetime.timedelta(hours=hours)) for hours in (2, 1)]
    times = [datetime.datetime(2020, 7, day, 12, tzinfo=zones[day - 1]) for day in (1, 2)]
    cells = bin_events(times, bins=["2020-07-01T00", "2020-07-03T00"], unit="h")
    assert_array_equal(cells.events[:, 0], [10.0, 24 + 11.0])
    assert cells.to_dates(cells.events)[1] == np.datetime64("2020-07-02T11:00")
    assert cells.to_inputs("2020-07-01T12:00+02:00")[0, 0] == 10.0
    assert cells.to_inputs("2020-07-01T10:00Z")[0, 0] == 10.0


@pytest.mark.parametrize("kind", ["Series", "DatetimeIndex"])
def test_time_zones_of_pandas_become_utc(kind):
    pd = pytest.importorskip("pandas")
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    index = pd.DatetimeIndex(["2020-07-01T20", "2020-07-02T08"]).tz_localize(zone)
    dates = pd.Series(index) if kind == "Series" else index
    start = pd.Timestamp("2020-07-01", tz="UTC")
    cells = bin_events(dates, bins=2, window=(start, "2020-07-03"))
    assert_array_equal(cells.events[:, 0] * 24, [25.0, 37.0])
    assert_array_equal(cells.y, [0, 2])


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
