"""Dates of events as inputs: units, origins, time zones, and back."""

import datetime
import zoneinfo

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
    cells = bin_events(times, bins=["2020-07-01T00Z", "2020-07-03T00Z"], unit="h")
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
    cells = bin_events(dates, bins=2, window=(start, "2020-07-03T00:00Z"))
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


# Time zones

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
# Half past midnight in Berlin: the day before in UTC.
LATE = [datetime.datetime(2020, 1, day, 0, 30, tzinfo=BERLIN) for day in (2, 3)]
EARLY = [date.replace(tzinfo=None) for date in LATE]
EDGES = np.arange("2020-01-01", "2020-01-05", dtype="datetime64[D]")
AWARE_EDGES = [datetime.datetime(2020, 1, day, tzinfo=BERLIN) for day in (1, 2, 3, 4)]


def aware(kind):
    """Return events with a time zone, of some type."""
    if kind in ("Series", "DatetimeIndex", "frame", "objects"):
        pd = pytest.importorskip("pandas")
        index = pd.DatetimeIndex(LATE)
        series = pd.Series(index)
        frame = pd.DataFrame({"when": index})
        objects = series.astype(object)
        return {"Series": series, "DatetimeIndex": index, "frame": frame, "objects": objects}[kind]
    if kind.startswith("polars"):
        pl = pytest.importorskip("polars")
        series = pl.Series("when", LATE, dtype=pl.Datetime("us", "Europe/Berlin"))
        return series if kind == "polars" else pl.DataFrame([series])
    return LATE


AWARE = ["datetime", "Series", "DatetimeIndex", "frame", "objects", "polars"]
each_kind = pytest.mark.parametrize("kind", [*AWARE, "polars frame"])
COMPARED = "cannot be compared with .*: the dates of .* have a time zone, those of .* have none"


@each_kind
def test_events_with_a_time_zone_keep_their_day(kind):
    cells = bin_events(aware(kind), bins=[AWARE_EDGES])
    assert_array_equal(cells.y, [0, 1, 1])
    assert_allclose(cells.events[:, 0], [1.0 + 1 / 48, 2.0 + 1 / 48], rtol=1e-15)
    assert_array_equal(cells.to_inputs(aware(kind)), cells.events)


@each_kind
@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("bins of column", {"bins": EDGES}),
        ("bins of column", {"bins": EDGES.astype(str)}),
        ("bins of column", {"bins": EDGES.tolist()}),
        ("window of column", {"bins": 3, "window": (EDGES[0], EDGES[-1])}),
        ("window of column", {"bins": 3, "window": ("2020-01-01", "2020-01-05 00:00")}),
        ("origin", {"bins": 3, "origin": "2020-01-01"}),
        ("origin", {"bins": [AWARE_EDGES], "origin": datetime.date(2020, 1, 1)}),
    ],
    ids=["numpy", "strings", "days", "window", "window of strings", "origin", "origin of a day"],
)
def test_events_with_a_time_zone_and_all_else_without(kind, name, spec):
    with pytest.raises(ValueError, match=COMPARED) as error:
        bin_events(aware(kind), **spec)
    assert name in str(error.value)
    assert "tz=" in str(error.value)
    assert "tz_localize(None)" in str(error.value)


@each_kind
def test_events_without_a_time_zone_and_others_with(kind):
    with pytest.raises(ValueError, match=COMPARED):
        bin_events(EARLY, bins=[AWARE_EDGES])
    with pytest.raises(ValueError, match=COMPARED):
        bin_events(EARLY, bins=2, window=(AWARE_EDGES[0], "2020-01-05T00:00Z"))
    with pytest.raises(ValueError, match=COMPARED):
        bin_events(EARLY, bins=2, origin="2020-01-01T00:00+0100")
    cells = bin_events(EARLY, bins=EDGES)
    assert_array_equal(cells.y, [0, 1, 1])
    with pytest.raises(ValueError, match=COMPARED):
        cells.to_inputs(aware(kind))


@pytest.mark.parametrize("bins", [2, [AWARE_EDGES]])
def test_inputs_need_the_time_zone_that_events_had(bins):
    cells = bin_events(LATE, bins=bins)
    for naive in (EARLY, EDGES, "2020-01-02", EARLY[0], cells.to_dates(cells.X)):
        with pytest.raises(ValueError, match=COMPARED):
            cells.to_inputs(naive)
    in_utc = [date.item().replace(tzinfo=datetime.UTC) for date in cells.to_dates(cells.X)]
    assert_array_equal(cells.to_inputs(in_utc), cells.X)
    with pytest.raises(ValueError, match=r"row 1, at \(2020-01-02T23:30:00.000000 UTC\)"):
        bin_events(LATE, bins=[AWARE_EDGES[:3]])


@pytest.mark.parametrize(
    "both",
    [
        [LATE[0], EARLY[1]],
        [EARLY[0], LATE[1]],
        [str(LATE[0]), EARLY[1]],
        [str(LATE[0]), LATE[1], "2020-01-03"],
        [LATE[0], EDGES[2]],
        [LATE[0], datetime.date(2020, 1, 3)],
        ["2020-01-02T00:30Z", "2020-01-03T00:30"],
    ],
)
def test_one_list_of_dates_with_a_time_zone_and_without(both):
    words = "must hold dates with a time zone, or dates without, not both: entry"
    edges = [AWARE_EDGES]
    with pytest.raises(ValueError, match=f"^bins of column 0 {words}|cannot be compared"):
        bin_events(LATE, bins=[[*both, "2020-02-01T00:00Z"]])
    with pytest.raises(ValueError, match=f"^window of column 0 {words}|cannot be compared"):
        bin_events(LATE, bins=2, window=both[-2:])
    with pytest.raises(ValueError, match=f"^events of column 0 in to_inputs {words}"):
        bin_events(LATE, bins=edges).to_inputs(both)
    if not all(isinstance(date, str) for date in both):
        with pytest.raises(ValueError, match=f"^events of column 0 {words}"):
            bin_events(both, bins=edges)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    [
        "2020-01-01T12:00Z",
        "2020-01-01T12:00:00z",
        "2020-01-01 12:00Z",
        "2020-01-01 12:00 Z",
        "2020-01-01 12:00 UTC",
        "2020-01-01T14:00+02:00",
        "2020-01-01T14:00+0200",
        "2020-01-01 14:00+02",
        "2020-01-01 14:00 +02:00",
        "2020-01-01 14:00:00.000000 +0200",
        "2020-01-01T06:30:00-05:30",
        "2020-01-01T07-05",
        "20200101T120000Z",
    ],
)
def test_strings_with_an_offset(text):
    cells = bin_events(LATE, bins=1, window=(text, "2020-01-05T12:00Z"))
    assert_array_equal(cells.edges[0], [0.0, 4.0])
    assert cells.to_dates(0.0) == np.datetime64("2020-01-01T12:00")
    assert cells.to_inputs(text) == 0.0
    with pytest.raises(ValueError, match=COMPARED):
        bin_events(EARLY, bins=1, window=(text, "2020-01-05T12:00Z"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    ["2020-01-01 12:00 CET", "2020-01-01 12:00 Europe/Berlin", "2020-01-01T12:00+99:00", "+02:00"],
)
def test_strings_with_an_offset_that_nobody_knows(text):
    for window in ((text, "2020-01-05T12:00Z"), ("2020-01-01", text)):
        with pytest.raises(ValueError, match="must hold dates; got"):
            bin_events(EARLY, bins=1, window=window)


def test_hours_of_a_day_when_clocks_are_put_back():
    midnights = [datetime.datetime(2020, 10, day, tzinfo=BERLIN) for day in (24, 25, 26)]
    twice = [datetime.datetime(2020, 10, 25, 2, 30, fold=fold, tzinfo=BERLIN) for fold in (0, 1)]
    cells = bin_events(twice, bins=[midnights], unit="h")
    assert_array_equal(cells.exposure, [24.0, 25.0])
    assert_array_equal(cells.events[:, 0], [24 + 2.5, 24 + 3.5])
    pd = pytest.importorskip("pandas")
    index = pd.DatetimeIndex(["2020-10-25T02:30"] * 2).tz_localize(BERLIN, ambiguous=[True, False])
    again = bin_events(pd.Series(index), bins=[midnights], unit="h")
    assert_array_equal(again.events, cells.events)


def test_no_events_have_no_time_zone():
    none = np.empty(0, dtype="datetime64[s]")
    assert_array_equal(bin_events(none, bins=[AWARE_EDGES]).y, [0, 0, 0])
    assert_array_equal(bin_events(none, bins=EDGES).y, [0, 0, 0])


def test_missing_dates_have_no_time_zone():
    for missing in (None, np.datetime64("NaT"), float("nan")):
        with pytest.raises(ValueError, match=r"\(NaT\), but holds 1 of 3, the first as entry 2"):
            bin_events([*LATE, missing], bins=[AWARE_EDGES])


@pytest.mark.parametrize(
    ("source", "spec"),
    [
        ("events of column 0", {"bins": 2}),
        ("bins of column 0", {"bins": [AWARE_EDGES]}),
        ("window of column 0", {"bins": 3, "window": (AWARE_EDGES[0], AWARE_EDGES[-1])}),
        ("origin", {"bins": 2, "origin": AWARE_EDGES[0]}),
    ],
)
def test_other_events_are_told_from_those_of_the_grid(source, spec):
    zoned = bin_events(LATE, **spec)
    words = f"^events of column 0 in to_inputs cannot be compared with {source} in bin_events: "
    words += f"the dates of {source} in bin_events have a time zone, those of events of column 0 "
    with pytest.raises(ValueError, match=words + "in to_inputs have none"):
        zoned.to_inputs(EARLY)


@pytest.mark.parametrize("bad", [[0.5], ["soon"], 3, [None, EARLY[0]], ["0001-01-01", "300000"]])
def test_what_is_no_date_is_told_from_the_events_of_the_grid(bad):
    with pytest.raises(ValueError, match=r"^events of column 0 in to_inputs must "):
        bin_events(EARLY, bins=2).to_inputs(bad)


def test_dates_for_a_grid_of_numbers_name_both_functions():
    cells = bin_events([0.0, 1.0], bins=2)
    words = "^events of column 0 in to_inputs holds dates, but the events in bin_events are numbers"
    for dates in (EARLY, EARLY[0], EDGES):
        with pytest.raises(ValueError, match=words):
            cells.to_inputs(dates)
    with pytest.raises(ValueError, match=r"^events of column 0 in to_inputs must be finite"):
        cells.to_inputs([np.nan])
