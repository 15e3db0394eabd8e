"""Curves: counts and their rate, dates, how many points, where the data end, what is held."""

import ast
import itertools
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fits import quiet
from rotation import one_in
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import skgpmcmc
from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.displays import IntensityDisplay, PredictiveDisplay
from skgpmcmc.displays._resolution import shortest_scales
from skgpmcmc.displays._text import short_number
from skgpmcmc.point_patterns import bin_events

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.dates as mdates  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402

#: tests/displays/test_displays.py draws each kind of picture by default.
pytestmark = pytest.mark.second_stage

SETTINGS = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "random_state": 0}
N = 30
LINE = np.linspace(0.0, 6.0, N)[:, None]
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(3.0 * np.exp(np.sin(LINE[:, 0])))
PAIR = np.column_stack([LINE[:, 0], np.cos(np.arange(N)) + 1.0])
Y = np.sin(PAIR[:, 0]) + 0.3 * PAIR[:, 1]


def cox(X, y, **options):
    return quiet(MCMCCoxProcessRegressor(**SETTINGS), X, y, **options)


def regressor(X, y, kernel=None):
    return quiet(MCMCGaussianProcessRegressor(kernel, **SETTINGS), X, y)


@pytest.fixture(scope="module")
def of_pair():
    return regressor(PAIR, Y)


def legend_of(display):
    ax = display.ax_ if hasattr(display, "ax_") else display.axes_[0]
    return [text.get_text() for text in ax.get_legend().get_texts()]


# Counts and their rate


def test_the_interval_of_new_counts_stands_behind_that_of_the_rate():
    model = cox(LINE, COUNTS)
    display = PredictiveDisplay.from_estimator(model, LINE, COUNTS, grid_resolution=N)
    low, high = model.predict_quantiles(LINE, [0.05, 0.95]).T
    assert np.array_equal(display.new_interval, np.column_stack([low, high]))
    inside = ((low <= COUNTS) & (high >= COUNTS)).mean()
    rate = display.intervals[0, 0]
    assert inside > 0.8 > ((rate[:, 0] <= COUNTS) & (rate[:, 1] >= COUNTS)).mean()
    drawn = display.new_band_.get_paths()[0].vertices[:, 1]
    assert (drawn.min(), drawn.max()) == (low.min(), high.max())
    assert display.new_band_.get_zorder() < display.bands_[0].get_zorder()
    assert legend_of(display) == [
        "90 % of new counts",
        "90 % interval of the rate",
        "50 % interval of the rate",
        "mean rate",
        "counts",
    ]
    assert display.ax_.get_ylabel() == "count"
    assert display.ax_.get_title(loc="left") == ""


@pytest.mark.parametrize("likelihood", ["poisson", "negative-binomial"])
@pytest.mark.parametrize("given", [None, 4.0, np.full(N, 4.0)])
def test_counts_in_one_exposure_are_divided_by_it(likelihood, given):
    model = MCMCCoxProcessRegressor(likelihood=likelihood, **SETTINGS)
    quiet(model, LINE, COUNTS, exposure=4.0)
    display = PredictiveDisplay.from_estimator(model, LINE, exposure=given, grid_resolution=N)
    expected = model.predict_quantiles(LINE, [0.05, 0.95], exposure=4.0) / 4.0
    assert np.array_equal(display.new_interval, expected)
    assert legend_of(display)[0] == "90 % of new counts in exposure\n4, divided by it"
    assert display.ax_.get_ylabel() == "events per unit of exposure"


def test_exposures_that_differ_by_rounding_are_one():
    exposure = np.diff(np.linspace(0.0, 0.3, N + 1)) * 100.0  # edges of equal cells
    assert 0.0 < np.ptp(exposure) < 1e-12
    model = cox(LINE, COUNTS, exposure=exposure)
    display = PredictiveDisplay.from_estimator(model, LINE)
    assert legend_of(display)[0] == "90 % of new counts"
    assert display.ax_.get_title(loc="left") == ""


def test_exposures_that_differ_have_rates_only_and_the_picture_says_so():
    exposure = np.linspace(0.5, 20.0, N)
    model = cox(LINE, COUNTS, exposure=exposure)
    for options in ({}, {"y": COUNTS, "exposure": exposure}):
        display = PredictiveDisplay.from_estimator(model, LINE, **options)
        assert display.new_interval is None
        assert display.new_band_ is None
        assert display.ax_.get_ylabel() == "events per unit of exposure"
        title = display.ax_.get_title(loc="left")
        assert title == "Rates per unit of exposure; exposures differ, from 0.5 to 20"
        assert not any("new counts" in label for label in legend_of(display))
    assert "counts / exposure" in legend_of(display)
    # For one exposure, which the user says, there is one.
    display = PredictiveDisplay.from_estimator(model, LINE, exposure=10, grid_resolution=N)
    expected = model.predict_quantiles(LINE, [0.05, 0.95], exposure=10.0) / 10.0
    assert np.array_equal(display.new_interval, expected)
    with pytest.raises(ValueError, match="exposure must be positive"):
        PredictiveDisplay.from_estimator(model, LINE, exposure=0.0)
    # One number is the exposure of every row of y too.
    display = PredictiveDisplay.from_estimator(model, LINE, COUNTS, exposure=10)
    assert np.allclose(display.points_[0].get_ydata(), COUNTS / 10.0)


def test_intervals_are_named(of_pair):
    labels = np.where(Y > 0.3, "yes", "no")
    classifier = quiet(MCMCGaussianProcessClassifier(**SETTINGS), PAIR, labels)
    for model, y, words in [
        (of_pair, Y, "90 % of new observations"),
        (classifier, labels, "90 % interval of the probability"),
    ]:
        display = PredictiveDisplay.from_estimator(model, PAIR, y, confidence_levels=0.9)
        assert legend_of(display)[0] == words
        assert display.new_band_ is None
    display = IntensityDisplay.from_estimator(cox(LINE, COUNTS), threshold=1.25)
    assert legend_of(display)[:2] == ["90 % interval of the rate", "50 % interval of the rate"]
    assert "threshold, 1.25" in legend_of(display)


@pytest.mark.parametrize(
    ("kernel", "likelihood"),
    one_in(
        2,
        [(None, "gaussian"), (None, "student-t"), (RBF(1.0), "student-t"), (RBF(1.0), "gaussian")],
    ),
)
def test_noise_that_was_given_is_said_to_be_left_out(kernel, likelihood):
    rows, per_row = PAIR[:, :1], np.linspace(0.1, 0.5, len(Y))
    options = {"likelihood": likelihood, **SETTINGS}
    given, plain = "90 % of y without the noise given to fit", "90 % of new observations"
    cases = [
        ({"alpha": 0.3}, {}, given),
        ({"alpha": per_row}, {}, given),
        ({}, {"noise_variance": 0.3}, given),
        ({}, {"noise_variance": per_row}, given),
        ({}, {"noise_variance": np.where(np.arange(len(Y)) == 3, 0.5, 1e-3)}, given),
    ]
    if kernel is None:
        cases += [({}, {}, plain), ({"alpha": 0.0}, {}, plain), ({}, {"noise_variance": 0}, plain)]
    for parameters, data, words in cases:
        model = MCMCGaussianProcessRegressor(kernel, **parameters, **options)
        quiet(model, rows, Y, **data)
        assert model.has_known_noise_ == (words == given)
        model.set_params(alpha=1e-10)  # what was fitted counts
        display = PredictiveDisplay.from_estimator(model, rows, Y, confidence_levels=0.9)
        assert legend_of(display)[0] == words


def test_data_beside_other_columns_are_said_to_be(of_pair):
    display = PredictiveDisplay.from_estimator(of_pair, PAIR, Y)
    assert "data\n(other columns as observed)" in legend_of(display)
    alone = regressor(LINE, Y)
    assert "data" in legend_of(PredictiveDisplay.from_estimator(alone, LINE, Y))


# Dates

DAY = np.datetime64("2023-03-01")


@pytest.fixture(scope="module")
def dated():
    hours = (RNG.beta(2.0, 3.0, 120) * 24 * 200).astype("timedelta64[h]")
    cells = bin_events(DAY + hours, bins=25, window=(DAY, DAY + 200))
    return cells, cox(cells.X, cells.y, exposure=cells.exposure)


def test_the_axis_of_a_curve_has_dates(dated):
    cells, model = dated
    options = {"exposure": cells.exposure, "convert": cells.to_dates}
    display = PredictiveDisplay.from_estimator(model, cells.X, cells.y, **options)
    assert display.ax_.get_xlabel() == "date"
    assert display.x[0] == cells.X[0, 0]  # numbers; the axis has the dates
    for artist, numbers in ((display.lines_[0], display.x), (display.points_[0], cells.X[:, 0])):
        shown = mdates.date2num(artist.get_xdata(orig=True))
        assert np.allclose(shown, mdates.date2num(DAY) + numbers)
    band = display.new_band_.get_paths()[0].vertices[:, 0]
    assert band.max() == pytest.approx(mdates.date2num(DAY) + cells.X[-1, 0])
    display.figure_.canvas.draw()
    labels = [label for label in display.ax_.get_xticklabels() if label.get_text()]
    assert {"May", "Jul"} <= {label.get_text() for label in labels}
    boxes = [label.get_window_extent() for label in labels]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    again = display.plot()
    assert again.ax_.get_xlim()[1] < 1000.0
    again = display.plot(convert=cells.to_dates)
    assert again.ax_.get_xlim()[0] > 1000.0


def test_dates_may_be_one_of_several_columns(dated):
    cells, _ = dated
    X = np.column_stack([cells.X, np.arange(25) % 3])
    model = cox(X, cells.y)
    display = PredictiveDisplay.from_estimator(
        model, X + np.array([100.0, 0.0]), convert=cells.to_dates, feature_names=["day", "km"]
    )
    assert display.ax_.get_xlabel().startswith("day\n")
    (edge,) = display.edge_lines_
    assert mdates.date2num(edge.get_xdata()[0]) == pytest.approx(mdates.date2num(DAY) + X[-1, 0])
    several = quiet(MCMCGaussianProcessClassifier(**SETTINGS), X, np.arange(25) // 9)
    display = PredictiveDisplay.from_estimator(
        several, X, np.arange(25) // 9, convert=cells.to_dates
    )
    assert display.ax_.get_xlabel().startswith("date\n")
    shown = mdates.date2num(display.points_[0].get_xdata(orig=True))
    assert np.allclose(shown, mdates.date2num(DAY) + X[:9, 0])


def test_inputs_that_are_missing_have_no_date(dated):
    from sklearn.impute import SimpleImputer

    cells, _ = dated
    X = cells.X.copy()
    X[3] = np.nan
    model = make_pipeline(SimpleImputer(), MCMCGaussianProcessRegressor(**SETTINGS))
    quiet(model, X, cells.y)
    display = PredictiveDisplay.from_estimator(model, X, cells.y, convert=cells.to_dates)
    assert len(display.points_[0].get_xdata()) == 24


@pytest.mark.parametrize(
    ("convert", "words"),
    [
        ("d", "convert must be a function.*got 'd'"),
        (lambda x: x[:3], r"convert must return a value for each.*\(100,\).*\(3,\)"),
        (lambda x: 1.0, "convert must return a value"),
    ],
)
def test_what_convert_cannot_mean_is_refused(of_pair, convert, words):
    with pytest.raises(ValueError, match=words):
        PredictiveDisplay.from_estimator(of_pair, PAIR, convert=convert)
    assert plt.get_fignums() == []


# How many points

SHORT_SCALE = ConstantKernel(1.0, "fixed") * RBF(0.1, "fixed")


@pytest.mark.parametrize(
    ("kernel", "n_points"),
    [
        (ConstantKernel(1.0, "fixed") * RBF(3.0, "fixed"), 100),
        (SHORT_SCALE, 6 / 0.1 * 8 + 1),
        (SHORT_SCALE + RBF(5.0, "fixed"), 6 / 0.1 * 8 + 1),
        (ExpSineSquared(2.0, 0.5, "fixed", "fixed"), np.ceil(6 / 0.5 * 2 * np.pi * 8) + 1),
        (ExpSineSquared(0.5, 1.0, "fixed", "fixed"), np.ceil(6 / 0.5 * 2 * np.pi * 8) + 1),
    ],
)
def test_a_curve_has_points_for_the_shortest_length_scale_or_period(kernel, n_points):
    model = regressor(LINE, np.sin(LINE[:, 0]), kernel)
    assert len(PredictiveDisplay.from_estimator(model, LINE).x) == pytest.approx(n_points, abs=1.1)
    scaled = make_pipeline(MinMaxScaler(), MCMCGaussianProcessRegressor(kernel, **SETTINGS))
    quiet(scaled, 100.0 * LINE, np.sin(LINE[:, 0]))
    display = PredictiveDisplay.from_estimator(scaled, 100.0 * LINE)
    assert len(display.x) == pytest.approx(max(100, (n_points - 1) / 6 + 1), abs=1.1)
    assert len(PredictiveDisplay.from_estimator(model, LINE, grid_resolution=7).x) == 7


def test_the_shortest_is_that_of_the_posterior_in_each_column(of_pair):
    draws = of_pair.posterior_["k1__k2__length_scale"].reshape(-1, 2)
    expected = np.quantile(draws, 0.05, axis=0)
    assert np.allclose(shortest_scales(of_pair, 2), expected)
    labels = np.array(["a", "b", "c"])[np.arange(N) // 10]
    for options in ({}, {"multi_class": "softmax"}):
        model = quiet(MCMCGaussianProcessClassifier(**SETTINGS, **options), PAIR, labels)
        draws = model.posterior_["k2__length_scale"].reshape(-1, 2)
        assert np.allclose(shortest_scales(model, 2), np.quantile(draws, 0.05, axis=0))
    # No length scale, or none of the columns': nothing is known.
    from sklearn.gaussian_process.kernels import DotProduct

    assert np.isinf(shortest_scales(regressor(PAIR, Y, DotProduct()), 2)).all()


def test_too_many_points_are_warned_of():
    kernel = ConstantKernel(1.0, "fixed") * RBF(1e-3, "fixed")
    model = regressor(LINE, np.sin(LINE[:, 0]), kernel)
    with pytest.warns(UserWarning, match="The curve has 1000 points; .* about 4.8e.04") as caught:
        display = PredictiveDisplay.from_estimator(model, LINE)
    assert [warning.filename for warning in caught] == [__file__]
    assert len(display.x) == 1000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PredictiveDisplay.from_estimator(model, LINE, grid_resolution=50)


def test_a_rate_has_as_many_points_as_it_needs():
    model = quiet(MCMCCoxProcessRegressor(SHORT_SCALE, **SETTINGS), LINE, COUNTS)
    display = IntensityDisplay.from_estimator(model)
    assert len(display.X) == 6 / 0.1 * 8 + 1
    assert np.array_equal(display.mean, model.predict(display.X))
    assert len(IntensityDisplay.from_estimator(model, LINE).X) == N


# Where the training data end


@pytest.mark.parametrize("before", [[], [StandardScaler()], [MinMaxScaler(), PCA(2)]])
def test_the_ends_of_the_training_data_are_marked(before):
    model = make_pipeline(*before, MCMCGaussianProcessRegressor(**SETTINGS))
    quiet(model, PAIR, Y)
    model = model if before else model[-1]
    wide = np.column_stack([np.linspace(-2.0, 9.0, N), PAIR[:, 1]])
    display = PredictiveDisplay.from_estimator(model, wide, feature=0)
    if len(before) < 2:  # components are mixtures of the columns
        assert np.allclose(display.training_edges, [0.0, 6.0], atol=1e-9)
    assert [line.get_xdata()[0] for line in display.edge_lines_] == display.training_edges
    assert legend_of(display).count("end of the training data") == 1
    one_side = PredictiveDisplay.from_estimator(model, wide[15:], feature=0)
    assert len(one_side.training_edges) == 1
    inside = PredictiveDisplay.from_estimator(model, PAIR, Y)
    assert inside.training_edges == []
    assert "end of the training data" not in legend_of(inside)


def test_a_line_outside_of_the_training_data_is_said_to_be(of_pair):
    far = PAIR + np.array([10.0, 0.0])
    display = PredictiveDisplay.from_estimator(of_pair, far, feature_names=["age", "height"])
    assert display.ax_.get_xlabel().endswith("(outside of the training data all along: age)")
    assert display.edge_lines_ == []
    held = PredictiveDisplay.from_estimator(of_pair, PAIR, feature=0, held={1: 5.0})
    assert held.ax_.get_xlabel().endswith("(outside of the training data all along: x1)")
    inside = PredictiveDisplay.from_estimator(of_pair, PAIR, feature=0, held={1: PAIR[:, 1].max()})
    assert "outside" not in inside.ax_.get_xlabel()


def test_the_ends_of_counted_cells_are_their_edges():
    cells = bin_events(RNG.uniform(size=60), [[0.0, 0.1, 0.4, 1.0]])
    model = cox(cells.X, cells.y, exposure=cells.exposure)
    assert IntensityDisplay.from_estimator(model, cells).training_edges == []
    part = bin_events(
        RNG.uniform(0.1, 0.4, size=60),
        [[0.0, 0.1, 0.2, 0.4, 1.0]],
        observed=np.array([False, True, True, False]),
    )
    model = cox(part.X, part.y, exposure=part.exposure)
    assert IntensityDisplay.from_estimator(model, part).training_edges == [0.1, 0.4]
    even = bin_events(RNG.uniform(size=60), 10, window=(0.0, 1.0))
    model = cox(even.X, even.y, exposure=even.exposure)
    wide = np.linspace(-0.5, 1.5, 41)[:, None]
    display = IntensityDisplay.from_estimator(model, wide)
    assert np.allclose(display.training_edges, [0.0, 1.0])
    assert [line.get_xdata()[0] for line in display.edge_lines_] == display.training_edges
    assert IntensityDisplay.from_estimator(model).training_edges == []


def test_rows_without_data_are_no_training_data():
    X = np.array(list(itertools.product(np.arange(6.0), np.arange(5.0))))
    model = MCMCCoxProcessRegressor(representation="joint-post", **SETTINGS)
    quiet(model, X[:-1], np.arange(29) % 3)
    assert len(model.X_train_) == 30
    assert model.is_observed_.tolist() == [True] * 29 + [False]
    dense = cox(X, np.arange(30) % 3, exposure=np.arange(1.0, 31.0))
    assert dense.is_observed_.all()
    assert dense.exposure_range_ == (1.0, 30.0)
    assert model.exposure_range_ == (1.0, 1.0)


# What is held


def test_the_values_that_are_held_are_in_the_picture(of_pair):
    names = ["age", "petal width"]
    label = PredictiveDisplay.from_estimator(of_pair, PAIR, feature_names=names).ax_.get_xlabel()
    middle = f"{np.median(PAIR[:, 1]):.4g}"
    assert label == f"age\n(the other columns: at their medians: petal width = {middle})"
    options = {"feature": 1, "held": "mean"}
    label = PredictiveDisplay.from_estimator(of_pair, PAIR, **options).ax_.get_xlabel()
    assert label == "x1\n(the other columns: at their means: x0 = 3)"
    options = {"feature": 1, "held": {0: 1851.0625}}
    label = PredictiveDisplay.from_estimator(of_pair, PAIR, **options).ax_.get_xlabel()
    assert "x0 = 1851)" in label


def spread_out(n_columns):
    """Return columns that all go from -2 to 2, so that what is held lies within the data."""
    return np.column_stack([np.roll(np.linspace(-2.0, 2.0, 12), 5 * i) for i in range(n_columns)])


def test_a_note_is_not_broken_within_a_name():
    names = ["petal length (cm)", "sepal length (cm)", "sepal width (cm)", "petal width (cm)"]
    X = spread_out(4)
    model = regressor(X, X[:, 0])
    display = PredictiveDisplay.from_estimator(
        model, X, feature_names=names, held=dict.fromkeys(names[1:], 1.0)
    )
    assert display.ax_.get_xlabel().split("\n") == [
        "petal length (cm)",
        "(the other columns: as given, or at their medians:",
        "sepal length (cm) = 1, sepal width (cm) = 1, petal width (cm) = 1)",
    ]


def test_of_many_columns_those_that_were_given_come_first():
    X = spread_out(40)
    model = regressor(X, X[:, 0])
    options = {"feature": 2, "held": {30: 0.5, "x7": -1.0}}
    label = PredictiveDisplay.from_estimator(model, X, **options).ax_.get_xlabel()
    assert "medians: x7 = -1, x30 = 0.5, x0 = " in label.replace("\n", " ")
    assert label.endswith("and 33 more)")
    assert max(map(len, label.split("\n"))) <= 70


def test_levels_that_are_held_are_named():
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"rain": LINE[:, 0], "soil": np.array(["clay", "peat"])[np.arange(N) % 2]})
    encoded = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["soil"]),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    model = quiet(make_pipeline(encoded, MCMCGaussianProcessRegressor(**SETTINGS)), frame, Y)
    wide = frame.assign(rain=np.linspace(-3.0, 6.0, N))
    display = PredictiveDisplay.from_estimator(model, wide, held={"soil": "peat"})
    assert display.ax_.get_xlabel().replace("\n", " ").endswith("values: soil = peat)")
    assert np.allclose(display.training_edges, [0.0], atol=1e-9)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.123456, "-0.1235"),
        (3.0, "3"),
        (1851.4, "1851"),
        (652_000.4, "652000"),
        (4_651_000.0, "4651000"),
        (9999.96, "1e+04"),
        (1.23456e12, "1.235e+12"),
        (1.5e-7, "1.5e-07"),
        (np.inf, "inf"),
    ],
)
def test_numbers_are_short(value, text):
    assert short_number(value) == text


# Only what is public


def private_attributes(source):
    """Return private attributes that a module looks up on anything but its own object."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name, owner = None, None
        if isinstance(node, ast.Attribute):
            name, owner = node.attr, node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("attr"):
            name, owner = getattr(node.args[1], "value", None), node.args[0]
        is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        if isinstance(name, str) and name.startswith("_") and not name.startswith("__"):
            found += [] if is_own else [name]
    return found


@pytest.mark.parametrize(
    "path", sorted((Path(skgpmcmc.__file__).parent / "displays").glob("*.py")), ids=lambda p: p.name
)
def test_displays_use_what_is_public(path):
    assert private_attributes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "estimator._observed",
        "fitted.estimator._validate_new(X)",
        "getattr(estimator, '_grid', None)",
        "hasattr(self.estimator, '_grid')",
        "model()._traces",
    ],
)
def test_private_attributes_are_found(source):
    assert len(private_attributes(source)) == 1
    assert private_attributes("self._draw(x.mean_, cls._KIND, getattr(x, 'is_observed_'))") == []
