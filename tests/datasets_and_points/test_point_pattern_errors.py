"""Bad events, and parameters that do not fit them: errors say what came and what is allowed."""

import datetime

import numpy as np
import pytest

from skgpmcmc.point_patterns import bin_events

PYTHON_DATES = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)]
POINTS = [[0.5, 0.5], [0.2, 0.7]]
DATES = np.array(PYTHON_DATES, dtype="datetime64[D]")
FINE = {"bins": 2, "window": (0, 1)}
MASKED = np.ma.array([[1, 1], [1, 1]], mask=[[0, 0], [0, 1]])
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
        ([0.1, np.ma.masked], FINE, "events must not be masked"),
        (list(np.ma.masked_equal([[0.1, 0.2]], 0.2)), FINE, "events must not be masked"),
        (np.ma.array(DATES, mask=[0, 1]), DAYS, "events must not be masked"),
        ([0.1], {"bins": np.ma.masked_equal([0, 1, 2], 1)}, "bins of column 0 must not be masked"),
        ([0.1], {"bins": 2, "window": np.ma.array([0, 1], mask=[0, 1])}, "window of column 0 must"),
        (DATES, {"bins": 2, "window": np.ma.array(DATES, mask=[0, 1])}, "window of column 0 must"),
        (DATES, {"bins": 2, "origin": np.ma.array(DATES, mask=[0, 1])[1]}, "origin must not be ma"),
        ([2**53 + 2, 2**60], {"bins": 2}, r"between -2\*\*53 and 2\*\*53, .*got 1\.1529"),
        (
            [2**53 + 1, 0],
            {"bins": 2},
            r"events of column 0 must hold numbers that float64 can hold",
        ),
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
        (POINTS, {"bins": 1, "window": (-1e200, 1e200)}, "volume of a cell is from .* to 1.8e308"),
        (POINTS, {**FINE, "outside": "ignore"}, "outside must be 'raise' or 'drop'; got 'ignore'"),
        (POINTS, {**FINE, "outside": np.array([1, 2])}, "outside must be .*; got array"),
        (POINTS, {**FINE, "outside": np.array(["drop", "raise"])}, "outside must be .*; got array"),
        (POINTS, {"bins": {0: 2, 1: 3}, "window": (0, 1)}, "bins must be a whole number"),
        (POINTS, {"bins": 2, "window": {0: (0, 1), 1: (0, 1)}}, r"window must be \(lower, upper\)"),
        (POINTS, {"bins": 2, "window": [{0, 1}, (0, 1)]}, r"window must be \(lower, upper\)"),
        ([1.0], {"bins": [-1.7e308, 1.7e308]}, "volume of a cell is from 2.3e-308"),
        ([1e-310], {"bins": 2, "window": (0, 2e-310)}, "volume of a cell is from 2.3e-308"),
        (POINTS, {**FINE, "observed": [1, 1]}, r"the shape \(2, 2\); got the shape \(2,\)"),
        (POINTS, {**FINE, "observed": np.full((2, 2), 1.5)}, "observed fraction, from 0 to 1"),
        (POINTS, {**FINE, "observed": np.full((2, 2), np.nan)}, "observed fraction, from 0 to 1"),
        (POINTS, {**FINE, "observed": np.zeros((2, 2))}, "larger than 0 in one cell or more"),
        (
            POINTS,
            {**FINE, "observed": [[1], [1, 1]]},
            r"observed must be True or False.*\[\[1\], \[",
        ),
        (POINTS, {**FINE, "observed": np.full((2, 2), None)}, "observed must be True or False"),
        (POINTS, {**FINE, "observed": np.full((2, 2), "1", object)}, "observed must be True or"),
        (
            POINTS,
            {**FINE, "observed": np.full((2, 2), 2, object)},
            "observed fraction, from 0 to 1",
        ),
        (POINTS, {**FINE, "observed": np.full((2, 2), 10**400)}, "observed fraction, from 0 to 1"),
        (POINTS, {**FINE, "observed": list(MASKED)}, "observed must not be masked"),
        (POINTS, {**FINE, "observed": MASKED}, "observed must not be masked; pass observed.filled"),
        (
            POINTS,
            {**FINE, "observed": [[1, 1e-320], [0, 1]]},
            "at least 2.3e-308; got a fraction of 1e-320",
        ),
        (
            POINTS,
            {**FINE, "observed": lambda x: 1e-320 + 0 * x[:, 0]},
            "got a fraction of 1e-320 of a cell of",
        ),
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
        (DATES, {**DAYS, "unit": "9" * 400 + "D"}, "from 1 microsecond to 140,000 years"),
        (DATES, {**DAYS, "unit": np.timedelta64(2**60 + 1, "D")}, "from 1 microsecond to 140,000"),
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


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((x for x in [0.1]), r"generator. Pass list\(events\)"),
        ({0.1, 0.2}, "set. Pass a list, in the order of the rows"),
        (iter([0.1]), r"list_iterator. Pass list\(events\)"),
    ],
)
def test_events_without_an_order(events, words):
    cells = bin_events([0.1], **FINE)
    for use in (lambda: bin_events(events, **FINE), lambda: cells.to_inputs(events)):
        with pytest.raises(TypeError, match=f"^events must be an array, a list .*{words}"):
            use()


def test_masks_that_are_nowhere_set_are_taken():
    events = np.ma.array([0.1, 0.2], mask=False)
    cells = bin_events(events, bins=np.ma.array([0.0, 0.15, 1.0], mask=False))
    np.testing.assert_array_equal(cells.y, [1, 1])
    np.testing.assert_array_equal(cells.to_inputs(events), cells.events)
    words = "must not be masked"
    masked = np.ma.array(events, mask=[0, 1])
    for use in (cells.to_inputs, cells.to_grid, bin_events(DATES, **DAYS).to_dates):
        with pytest.raises(ValueError, match=words):
            use(masked)


def test_missing_dates_of_pandas():
    pd = pytest.importorskip("pandas")
    for zone in (None, datetime.timezone(datetime.timedelta(hours=2))):
        dates = pd.Series(pd.to_datetime(["2020-01-02", None])).dt.tz_localize(zone)
        with pytest.raises(ValueError, match=r"\(NaT\), but holds 1 of 2, the first as entry 1"):
            bin_events(dates, **DAYS)
    with pytest.raises(ValueError, match="events of column 'x' must be finite"):
        bin_events(pd.DataFrame({"x": [0.5, np.nan], "y": [0.5, 0.5]}), **FINE)


def test_conversions_name_bad_input():
    cells = bin_events(POINTS, **FINE)
    with pytest.raises(ValueError, match="to_dates needs events that were dates"):
        cells.to_dates(cells.X)
    with pytest.raises(ValueError, match=r"events in to_inputs must have 2 columns.*got 1"):
        cells.to_inputs([0.5])
    with pytest.raises(ValueError, match=r"each of the 4 observed cells.*got the shape"):
        cells.to_grid(np.zeros(3))
    days = bin_events(DATES, **DAYS)
    with pytest.raises(ValueError, match="events of column 0 in to_inputs must hold dates"):
        days.to_inputs([0.5])
    with pytest.raises(ValueError, match="X must have 1 columns; got 2"):
        days.to_dates(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X must be finite"):
        days.to_dates([0.0, np.nan])
    with pytest.raises(ValueError, match=r"X must be finite, and dates within.*got 1e\+300"):
        days.to_dates([0.0, 1e300])


class Lazy:
    """Has columns, but no values of them, as polars' LazyFrame."""

    columns = ("x", "y")

    def __getitem__(self, name):
        raise TypeError("'LazyFrame' object is not subscriptable (aside from slicing)")

    def collect(self):
        """Is what to call."""


def lazy_frames():
    yield Lazy()
    try:
        import polars as pl
    except ImportError:
        return
    yield pl.LazyFrame({"x": [0.5, 0.2], "y": [0.5, 0.7]})


@pytest.mark.filterwarnings("ignore:Determining the column names")
@pytest.mark.parametrize("frame", list(lazy_frames()), ids=lambda frame: type(frame).__module__)
def test_frames_without_values_are_named(frame):
    name = type(frame).__name__
    words = f"events must be an array or a data frame whose columns can be read; got a {name}"
    cells = bin_events(POINTS, **FINE)
    for use in (lambda: bin_events(frame, **FINE), lambda: cells.to_inputs(frame)):
        with pytest.raises(ValueError, match=words + r".*such as events.collect\(\)"):
            use()
    with pytest.raises(ValueError, match="bins must be a whole number"):
        bin_events(POINTS, frame)
    with pytest.raises(ValueError, match="window must be"):
        bin_events(POINTS, bins=2, window=frame)


class TestColumnsOfOtherNames:
    def frames(self, columns=("lon", "lat")):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(POINTS, columns=list(columns))
        return frame, bin_events(frame, **FINE)

    def test_other_order(self):
        frame, cells = self.frames()
        words = "column names of events should match those of the events that were counted.\n"
        words += "Column names must be in the same order as they were there.\n"
        with pytest.raises(ValueError, match=f"^The {words}$"):
            cells.to_inputs(frame[["lat", "lon"]])

    def test_other_names(self):
        frame, cells = self.frames()
        with pytest.raises(
            ValueError, match=r"were counted\.\nColumn names unseen there:"
        ) as error:
            cells.to_inputs(frame.rename(columns={"lat": "z"}))
        assert str(error.value).splitlines()[1:] == [
            "Column names unseen there:",
            "- z",
            "Column names that are now missing:",
            "- lat",
        ]

    def test_more_columns(self):
        frame, cells = self.frames()
        with pytest.raises(ValueError, match=r"Column names unseen there:\n- weight\n$"):
            cells.to_inputs(frame.assign(weight=1.0))

    def test_numbers_as_names(self):
        frame, cells = self.frames((3, 4))
        np.testing.assert_array_equal(cells.to_inputs(frame), POINTS)
        with pytest.raises(ValueError, match="must be in the same order"):
            cells.to_inputs(frame[[4, 3]])
        # Other numbers are places, not names.
        np.testing.assert_array_equal(cells.to_inputs(frame.set_axis([0, 1], axis=1)), POINTS)

    def test_arrays_are_taken_as_they_are(self):
        frame, cells = self.frames()
        np.testing.assert_array_equal(cells.to_inputs(frame.to_numpy()), POINTS)
        np.testing.assert_array_equal(bin_events(POINTS, **FINE).to_inputs(frame), POINTS)

    def test_dates_of_inputs(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"x": [0.0, 3.0], "when": DATES})
        cells = bin_events(frame, bins=2)
        inputs = pd.DataFrame(cells.X, columns=["x", "when"])
        assert (cells.to_dates(inputs) == cells.to_dates(cells.X)).all()
        for columns in (["when", "x"], ["x", "then"]):
            with pytest.raises(ValueError, match=r"^The column names of X should match"):
                cells.to_dates(inputs.set_axis(columns, axis=1))
