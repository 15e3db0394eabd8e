"""Displays draw what the estimators say, where they are told to, and refuse the rest."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.calibration import CalibrationDisplay
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.displays import (
    HyperparameterDisplay,
    IntensityDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    TraceDisplay,
)
from skgpmcmc.estimators._reports import element_names, quantity_names

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

SETTINGS = {
    "n_chains": 2,
    "n_warmup": 10,
    "n_draws": 24,
    "random_state": 0,
    "max_prediction_draws": 12,
}
NAMES = ["age", "petal width"]
N = 24
FRAME = pd.DataFrame({"age": np.linspace(20.0, 60.0, N), "petal width": np.cos(np.arange(N)) + 1.0})
TARGET = np.sin(FRAME["age"] / 8.0) + 0.1 * np.cos(7.0 * np.arange(N))
BINARY = np.where(FRAME["age"] > 38.0, "old", "young")
THREE = np.array(["high", "low", "middle"])[np.digitize(FRAME["age"], [33.0, 47.0])]
LINE = np.arange(N, dtype=float)[:, None]
COUNTS = np.arange(N) % 3 + (np.arange(N) < 10) * 2
CELLS = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij"), -1).reshape(-1, 2)
DISPLAYS = [
    TraceDisplay,
    HyperparameterDisplay,
    PredictiveDisplay,
    RelevanceDisplay,
    IntensityDisplay,
]


def fitted(estimator, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y, **options)


def classifier(**options):
    return MCMCGaussianProcessClassifier(**SETTINGS, **options)


RECIPES = {
    "regressor": lambda: fitted(MCMCGaussianProcessRegressor(**SETTINGS), FRAME, TARGET),
    "pipeline": lambda: fitted(
        make_pipeline(StandardScaler(), MCMCGaussianProcessRegressor(**SETTINGS)), FRAME, TARGET
    ),
    "binary": lambda: fitted(classifier(), FRAME, BINARY),
    "one_vs_rest": lambda: fitted(classifier(), FRAME, THREE),
    "softmax": lambda: fitted(classifier(multi_class="softmax"), FRAME, THREE),
    "line": lambda: fitted(MCMCCoxProcessRegressor(**SETTINGS), LINE, COUNTS, exposure=2.0),
    "map": lambda: fitted(MCMCCoxProcessRegressor(**SETTINGS), CELLS, COUNTS[: len(CELLS)]),
}


class Models(dict):
    """Fitted when they are first asked for."""

    def __missing__(self, name):
        self[name] = RECIPES[name]()
        return self[name]


@pytest.fixture(scope="module")
def models():
    return Models()


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    """Close what a test has drawn; pyplot must hold one figure for each display at most."""
    assert plt.get_fignums() == []
    yield
    plt.close("all")


def draw(display, model, **options):
    """Draw any display of any model, small."""
    if display in (TraceDisplay, HyperparameterDisplay):
        options["max_quantities"] = 2
    if display is PredictiveDisplay:
        options["grid_resolution"] = 5
        n_features = getattr(model, "n_features_in_", 2)
        options["X"] = {1: LINE, 2: FRAME if hasattr(model, "feature_names_in_") else CELLS}[
            n_features
        ]
    return display.from_estimator(model, **options)


def possible(model):
    """Return the displays that fit a model."""
    has_vector = model != "line"
    return [
        TraceDisplay,
        HyperparameterDisplay,
        PredictiveDisplay,
        *([RelevanceDisplay] if has_vector else []),
        *([IntensityDisplay] if model in ("line", "map") else []),
    ]


@pytest.mark.parametrize("name", ["pipeline", "binary", "softmax", "line", "map"])
def test_each_display_makes_one_figure_and_none_where_it_has_axes(models, name):
    for display in possible(name):
        drawn = draw(display, models[name])
        assert plt.get_fignums() == [drawn.figure_.number]
        axes = drawn.axes_ if hasattr(drawn, "axes_") else drawn.ax_
        is_array = isinstance(axes, np.ndarray)
        again = drawn.plot(axes[axes != None] if is_array else axes)  # noqa: E711
        assert again is drawn
        figure, ax = plt.subplots(1, 2)
        other = draw(display, models[name], ax=ax[1])
        assert other.figure_ is figure
        assert len(plt.get_fignums()) == 2
        plt.close("all")


def overlap(first, second):
    """Return the area that two boxes share, in square pixels."""
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(width, 0.0) * max(height, 0.0)


@pytest.mark.parametrize(
    ("display", "name", "options"),
    [
        (TraceDisplay, "softmax", {"max_quantities": 2}),
        (HyperparameterDisplay, "softmax", {"max_quantities": 5}),
        (HyperparameterDisplay, "regressor", {"kind": "pairs", "max_quantities": 3}),
        (IntensityDisplay, "map", {}),
    ],
)
def test_panels_with_their_labels_do_not_overlap(models, display, name, options):
    drawn = display.from_estimator(models[name], **options)
    drawn.figure_.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in drawn.axes_.flat if ax is not None]
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert max(overlap(a, b) for a, b in pairs) < 1.0
    page = drawn.figure_.bbox
    assert all(box.x0 >= 0 and box.x1 <= page.x1 for box in boxes)
    assert all(box.y0 >= 0 and box.y1 <= page.y1 for box in boxes)


@pytest.mark.parametrize("name", RECIPES)
def test_names_are_in_the_order_of_the_diagnostics(models, name):
    model = models[name][-1] if name == "pipeline" else models[name]
    names = quantity_names(model)
    assert len(names) == len(set(names)) == len(model.diagnostics_)
    for key, readable in zip(model.diagnostics_, names, strict=True):
        expected = key
        if hasattr(model, "feature_names_in_"):
            for number, feature in enumerate(NAMES):
                expected = expected.replace(f"[{number}]", f"[{feature}]")
        assert readable == expected


def test_elements_are_numbered_where_they_are_not_columns():
    posterior = {"a": np.ones((2, 5)), "b": np.ones((2, 5, 3)), "c": np.ones((2, 5, 2))}
    expected = ["a", "b[0]", "b[1]", "b[2]", "c[age]", "c[petal width]"]
    assert element_names(posterior, NAMES) == expected
    assert element_names(posterior)[-1] == "c[1]"


# Traces


@pytest.mark.parametrize("name", ["regressor", "pipeline", "one_vs_rest", "softmax", "line"])
def test_traces_are_those_of_the_posterior(models, name):
    model = models[name]
    display = TraceDisplay.from_estimator(model, max_quantities=99)
    estimator = model[-1] if name == "pipeline" else model
    assert len(display.names) == len(estimator.diagnostics_)
    several = isinstance(estimator.trace_, list)
    for number, trace in enumerate(estimator.trace_ if several else [estimator.trace_]):
        label = f"{estimator.classes_[number]}: " if several else ""
        where = display.names.index(f"{label}complete_data_log_likelihood")
        for c, line in enumerate(display.lines_[where]):
            assert np.array_equal(line.get_ydata(), trace.complete_data_log_likelihood[c])
    means = [row["mean"] for row in estimator.diagnostics_.values()]
    assert np.allclose(display.draws.mean(axis=(1, 2)), means)


def test_titles_have_the_diagnostics_of_their_quantity(models):
    display = TraceDisplay.from_estimator(models["regressor"], quantities="k1__k2__length_scale")
    assert list(display.names) == ["k1__k2__length_scale[age]", "k1__k2__length_scale[petal width]"]
    for i, (left, right) in enumerate(display.axes_):
        row = models["regressor"].diagnostics_[f"k1__k2__length_scale[{i}]"]
        assert left.get_title(loc="left") == display.names[i]
        assert f"R-hat {row['rhat']:.3f}, ESS {row['ess_bulk']:.0f}" in right.get_title(loc="left")
        assert left.get_yscale() == "log"


def test_the_worst_quantities_are_drawn_and_the_others_summed_up(models):
    model = models["regressor"]
    display = TraceDisplay.from_estimator(model, max_quantities=2)
    rows = list(model.diagnostics_.values())
    drawn = [quantity_names(model).index(name) for name in display.names]
    others = [row for i, row in enumerate(rows) if i not in drawn]
    badness = [max((r["rhat"] - 1.0) / 0.05, 100.0 / r["ess_bulk"]) for r in rows]
    assert min(badness[i] for i in drawn) >= sorted(badness)[-2]
    assert f"at most {max(r['rhat'] for r in others):.3f}" in display.note
    assert f"at least {min(r['ess_bulk'] for r in others):.0f}" in display.note
    assert "2 of 6 quantities" in display.axes_[-1, 0].get_xlabel().replace("\n", " ")


def test_rank_histograms_tell_chains_apart():
    draws = np.random.default_rng(0).standard_normal((1, 2, 200))
    even = TraceDisplay(draws, names=["even"]).plot()
    apart = TraceDisplay(draws + np.array([[0.0], [9.0]]), names=["apart"]).plot()
    counts = [np.array([h.get_data().values for h in d.ranks_[0]]) for d in (even, apart)]
    for each in counts:
        assert each.sum(axis=1).tolist() == [200, 200]
    assert counts[0].min() > 0
    assert counts[1][0][-1] == 0
    assert counts[1][1][0] == 0


@pytest.mark.parametrize("n_chains", [1, 3])
def test_chains_that_do_not_move_are_drawn(n_chains):
    draws = np.full((2, n_chains, 8), 3.0)
    names, log_scale = ["a", "b"], [True, False]
    drawn = TraceDisplay(draws, names=names, log_scale=log_scale).plot()
    drawn.figure_.canvas.draw()
    assert len(drawn.lines_[1]) == n_chains
    drawn = HyperparameterDisplay(draws.reshape(2, -1), names=names, log_scale=log_scale).plot()
    drawn.figure_.canvas.draw()
    low, high = drawn.axes_[0, 0].get_xlim()
    assert low < 3.0 < high


# Hyperparameters


def test_densities_integrate_to_one_and_priors_are_per_unit_of_the_logarithm(models):
    model = models["line"]
    display = HyperparameterDisplay.from_estimator(model)
    assert list(display.names) == ["k1__constant_value", "k2__length_scale", "mean"]
    for histogram, is_log in zip(display.histograms_, display.log_scale, strict=True):
        edges = np.log(histogram.get_data().edges) if is_log else histogram.get_data().edges
        assert np.sum(histogram.get_data().values * np.diff(edges)) == pytest.approx(1.0)
    assert display.log_scale == [True, True, False]
    for name, line, is_log in zip(
        display.names, display.prior_lines_, display.log_scale, strict=True
    ):
        x, density = line.get_data()
        jacobian = x if is_log else 1.0
        assert np.allclose(density, model.priors_[name][0].pdf(x) * jacobian, rtol=1e-6)
    assert "ln(value)" in display.axes_[0, 0].get_ylabel()
    assert display.axes_[0, 0].get_xscale() == "log"
    assert display.axes_[0, 2].get_xscale() == "linear"


def test_priors_are_cut_to_bounds():
    kernel = ConstantKernel(1.0, (0.5, 2.0)) * RBF(1.0, "fixed")
    priors = {"k1__constant_value": stats.lognorm(s=2.0)}
    model = fitted(MCMCGaussianProcessClassifier(kernel, priors=priors, **SETTINGS), LINE, BINARY)
    display = HyperparameterDisplay.from_estimator(model)
    x, density = display.prior_lines_[0].get_data()
    inside = (x >= 0.5) & (x <= 2.0)
    log_x = np.log(x)
    prior = stats.norm(scale=2.0)
    mass = prior.cdf(np.log(2.0)) - prior.cdf(np.log(0.5))
    assert np.allclose(density[inside], prior.pdf(log_x[inside]) / mass)
    assert not density[~inside].any()


def test_pairs_are_draws_of_both(models):
    model = models["line"]
    display = HyperparameterDisplay.from_estimator(model, kind="pairs")
    assert display.axes_.shape == (3, 3)
    assert [a is None for a in display.axes_.flat].count(True) == 3
    x, y = display.points_[1].get_data()  # row 2, column 0
    assert np.array_equal(x, model.posterior_["k1__constant_value"].ravel())
    assert np.array_equal(y, model.posterior_["mean"].ravel())


def test_what_is_left_out_is_said(models):
    display = HyperparameterDisplay.from_estimator(models["softmax"], max_quantities=2)
    assert len(display.names) == 2
    assert "7 of 9 left out" in display.axes_[0, -1].get_xlabel()


# Predictions


@pytest.mark.parametrize("name", ["regressor", "pipeline", "binary", "softmax", "one_vs_rest"])
@pytest.mark.parametrize("feature", ["petal width", 1, -1])
def test_curves_are_predictions_with_the_others_at_their_medians(models, name, feature):
    model = models[name]
    display = PredictiveDisplay.from_estimator(model, FRAME, feature=feature, grid_resolution=7)
    x = np.linspace(FRAME["petal width"].min(), FRAME["petal width"].max(), 7)
    new = pd.DataFrame({"age": np.full(7, FRAME["age"].median()), "petal width": x})
    estimator = model[-1] if name == "pipeline" else model
    inner = model[:-1].transform(new) if name == "pipeline" else new
    if name in ("regressor", "pipeline"):
        expected, ends = model.predict(new)[None], estimator.predict_interval(inner, 0.9)
    else:
        expected = model.predict_proba(new).T
        level = 0.9 if name == "binary" else 0.5
        ends = model.predict_interval(new, level)
        ends = ends if name == "binary" else ends[:, 0]
        expected = expected[1:] if name == "binary" else expected
    assert len(display.lines_) == len(expected)
    for line, mean in zip(display.lines_, expected, strict=True):
        assert np.array_equal(line.get_xdata(), x)
        assert np.allclose(line.get_ydata(), mean, rtol=1e-10)
    band = display.bands_[0].get_paths()[0].vertices[:, 1]  # of several curves the narrowest
    assert band.min() == pytest.approx(ends[:, 0].min())
    assert band.max() == pytest.approx(ends[:, 1].max())
    assert display.ax_.get_xlabel().startswith("petal width\n(the other columns: at their medians")


def test_intervals_of_a_class_are_those_of_the_other_one_reversed(models):
    first, second = (
        PredictiveDisplay.from_estimator(models["binary"], FRAME, target=target)
        for target in ("old", "young")
    )
    assert np.allclose(first.mean, 1.0 - second.mean)
    assert np.allclose(first.intervals, 1.0 - second.intervals[..., ::-1])
    assert (first.intervals[..., 0] <= first.intervals[..., 1]).all()
    assert first.ax_.get_ylabel() == "probability of class old"


def test_other_columns_are_held_where_told(models):
    values = {"mean": FRAME["age"].mean(), "given": 30.0, "median": FRAME["age"].median()}
    for held, value in values.items():
        option = {"age": 30.0} if held == "given" else held
        options = {"feature": "petal width", "held": option, "grid_resolution": 3}
        display = PredictiveDisplay.from_estimator(models["regressor"], FRAME, **options)
        new = pd.DataFrame({"age": np.full(3, value), "petal width": display.x})
        assert np.allclose(display.lines_[0].get_ydata(), models["regressor"].predict(new))


def test_data_are_where_they_were_observed(models):
    display = PredictiveDisplay.from_estimator(models["regressor"], FRAME, TARGET)
    x, y = display.points_[0].get_data()
    assert np.array_equal(x, FRAME["age"])
    assert np.array_equal(y, TARGET)
    display = PredictiveDisplay.from_estimator(models["line"], LINE, COUNTS, exposure=2.0)
    assert np.array_equal(display.points_[0].get_ydata(), COUNTS / 2.0)
    display = PredictiveDisplay.from_estimator(models["binary"], FRAME, BINARY)
    y = display.points_[0].get_ydata()
    assert (y[BINARY == "young"] > 1.0).all()
    assert (y[BINARY == "old"] < 0.0).all()
    display = PredictiveDisplay.from_estimator(models["softmax"], FRAME, THREE)
    for label, points in zip(["high", "low", "middle"], display.points_, strict=True):
        assert np.array_equal(points.get_xdata(), FRAME["age"][label == THREE])


def test_the_rate_is_per_unit_of_exposure(models):
    display = PredictiveDisplay.from_estimator(models["line"], LINE, grid_resolution=N)
    assert np.array_equal(display.lines_[0].get_ydata(), models["line"].predict(LINE))
    assert np.array_equal(display.intervals[0, 1], models["line"].predict_interval(LINE, 0.5))


# Relevance


@pytest.mark.parametrize("name", ["regressor", "one_vs_rest", "map"])
def test_relevance_is_the_spread_over_the_length_scale(models, name):
    model = models[name]
    X = CELLS if name == "map" else FRAME.to_numpy()
    display = RelevanceDisplay.from_estimator(model, X)
    key = "k1__k2__length_scale" if name == "regressor" else "k2__length_scale"
    scales = model.posterior_[key].reshape(SETTINGS["n_chains"] * SETTINGS["n_draws"], -1, 2)
    expected = X.std(axis=0) / np.median(scales, axis=0)
    for k, points in enumerate(display.points_):
        # The median of an even number of reciprocals is not quite that of the numbers.
        assert np.allclose(points.get_xdata(), expected[k][display.order_], rtol=0.05)
    order = np.argsort(-np.log(expected).mean(axis=0))
    assert np.array_equal(display.order_, order)
    names = ["0", "1"] if name == "map" else NAMES
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [names[i] for i in order]


def test_the_unit_of_a_column_does_not_change_its_relevance(models):
    other = fitted(MCMCGaussianProcessRegressor(**SETTINGS), FRAME * [0.5, 3.0], TARGET)
    displays = [RelevanceDisplay.from_estimator(m) for m in (models["regressor"], other)]
    assert np.allclose(displays[0].prior, displays[1].prior)
    # The first draw: rounding errors of the units grow along the chains.
    assert np.allclose(displays[0].relevance[:, 0], displays[1].relevance[:, 0], rtol=1e-4)


def test_prior_bars_are_prior_intervals(models):
    model = models["regressor"]
    display = RelevanceDisplay.from_estimator(model, FRAME)
    prior = model.priors_["k1__k2__length_scale"][0]
    expected = FRAME["age"].std(ddof=0) / prior.ppf([0.95, 0.05])
    assert np.allclose(display.prior[0], expected)


def test_constant_columns_come_last_and_the_rest_is_cut():
    draws = np.random.default_rng(0).lognormal(np.arange(4.0), 0.1, size=(1, 50, 4))
    draws[..., 3] = np.nan
    display = RelevanceDisplay(draws, feature_names=list("abcd")).plot()
    assert display.order_.tolist() == [2, 1, 0, 3]
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == ["c", "b", "a", "d (constant)"]
    display.figure_.canvas.draw()
    display.plot(display.ax_, max_features=2)
    assert display.order_.tolist() == [2, 1]
    assert "2 most relevant of 4 columns" in display.ax_.get_xlabel()


# Intensity


def test_a_curve_is_the_rate_with_its_intervals(models):
    model = models["line"]
    display = IntensityDisplay.from_estimator(
        model, LINE[::-1], events=[1.5, 2.5], unit="storms a year", confidence_levels=0.8
    )
    assert np.array_equal(display.line_.get_data(), [LINE[:, 0], model.predict(LINE)])
    assert np.array_equal(display.intervals[0], model.predict_interval(LINE, 0.8))
    assert display.points_[0].get_xdata().tolist() == [1.5, 2.5]
    assert display.axes_[0].get_ylabel() == "rate (storms a year)"
    assert display.meshes_ == []


def test_a_curve_goes_all_over_the_training_inputs_on_any_axis(models):
    day = np.datetime64("1851-03-15")
    display = IntensityDisplay.from_estimator(
        models["line"], convert=lambda t: day + t.astype("timedelta64[D]"), threshold=0.7
    )
    assert display.X.min() == 0.0
    assert display.X.max() == N - 1.0
    assert display.line_.get_xdata(orig=True)[0] == day
    assert display.threshold == 0.7


def test_maps_are_the_mean_and_the_probability_of_their_cells(models):
    model = models["map"]
    shuffled = CELLS[np.random.default_rng(0).permutation(len(CELLS))]
    display = IntensityDisplay.from_estimator(model, shuffled, events=CELLS[:3], unit="trees")
    rate = model.predict(CELLS)
    mean, probability = (np.asarray(mesh.get_array()) for mesh in display.meshes_)
    assert np.allclose(mean, rate.reshape(5, 4).T)
    assert display.threshold == pytest.approx(rate.mean())
    expected = model.predict_exceedance(CELLS, rate.mean())
    assert np.allclose(probability, expected.reshape(5, 4).T)
    corners = display.meshes_[0].get_coordinates()[[0, -1], [0, -1]]
    assert corners.tolist() == [[-0.5, -0.5], [4.5, 3.5]]
    assert all(ax.get_aspect() == 1.0 for ax in display.axes_)
    assert display.colorbars_[0].ax.get_ylabel() == "rate (trees)"
    assert np.array_equal(np.transpose(display.points_[0].get_data()), CELLS[:3])


def test_a_map_without_a_grid_is_made_of_cells_between_the_ends():
    X = np.random.default_rng(0).uniform(size=(12, 2)) * [1.0, 10.0]
    model = fitted(MCMCCoxProcessRegressor(**SETTINGS), X, COUNTS[:12])
    display = IntensityDisplay.from_estimator(model)
    assert display.X.shape == (1600, 2)
    corners = display.meshes_[0].get_coordinates()[[0, -1], [0, -1]]
    assert np.allclose(corners, [X.min(axis=0), X.max(axis=0)])


@pytest.mark.parametrize("name", ["line", "map"])
def test_exceedance_is_the_share_of_draws_above(models, name):
    model, X = models[name], LINE[:6] if name == "line" else CELLS[:6]
    threshold = float(np.median(model.predict(X)))
    probability = model.predict_exceedance(X, threshold)
    assert probability.max() > probability.min()
    rng = np.random.default_rng(0)
    ((_, mean, variance),) = model._posterior_draws()[0].chunks(X)
    latent = mean + np.sqrt(variance) * rng.standard_normal((2000, *mean.shape))
    shares = (latent > np.log(threshold)).mean(axis=(0, 1))
    # Of a share of so many draws, whatever it is.
    error = 0.5 / np.sqrt(2000 * len(mean))
    assert np.abs(probability - shares).max() < 4.0 * error


def test_exceedance_of_draws_without_doubt_is_zero_or_one(monkeypatch, models):
    class Certain:
        def chunks(self, X):
            yield slice(0, 2), np.log([[1.0, 3.0], [3.0, 3.0]]), np.zeros((2, 2))

    monkeypatch.setattr(models["line"], "_posterior_draws", lambda: [Certain()], raising=True)
    assert models["line"].predict_exceedance(LINE[:2], 2.0).tolist() == [0.5, 1.0]


def test_exceedance_at_the_median_is_one_half(models):
    for row in LINE[[0, 7]]:
        middle = models["line"].predict_interval(row[None], 1e-12)[0, 0]
        probability = models["line"].predict_exceedance(row[None], middle)
        assert probability == pytest.approx(0.5, abs=1e-6)


# Calibration


def test_calibration_display_of_sklearn_takes_our_classifier(models):
    display = CalibrationDisplay.from_estimator(models["binary"], FRAME, BINARY, n_bins=3)
    assert np.array_equal(display.y_prob, models["binary"].predict_proba(FRAME)[:, 1])
    assert display.estimator_name == "MCMCGaussianProcessClassifier"


# Refusals


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_is_no_fitted_estimator_of_ours_is_refused(display):
    options = {"X": FRAME} if display is PredictiveDisplay else {}
    unfitted = MCMCCoxProcessRegressor()
    with pytest.raises(NotFittedError, match="MCMCCoxProcessRegressor"):
        display.from_estimator(unfitted, **options)
    with pytest.raises(NotFittedError):
        display.from_estimator(make_pipeline(StandardScaler(), unfitted), **options)
    for other in (LogisticRegression(), None, MCMCCoxProcessRegressor):
        with pytest.raises(TypeError, match=f"{display.__name__}.from_estimator takes"):
            display.from_estimator(other, **options)


def test_intensity_names_the_display_that_fits(models):
    with pytest.raises(TypeError, match="got MCMCGaussianProcessClassifier"):
        IntensityDisplay.from_estimator(models["binary"])


@pytest.mark.parametrize(
    ("display", "name", "options", "words"),
    [
        (TraceDisplay, "regressor", {"quantities": ["nothing"]}, "'nothing', which is none of"),
        (TraceDisplay, "regressor", {"max_quantities": 0}, "max_quantities must be"),
        (TraceDisplay, "regressor", {"feature_names": ["a"]}, "list of 2 names"),
        (TraceDisplay, "regressor", {"ax": [1, 2]}, "array of 12 of them"),
        (HyperparameterDisplay, "line", {"kind": "pairs", "max_quantities": 1}, "two hyper"),
        (HyperparameterDisplay, "regressor", {"kind": "pair"}, "'marginals', 'pairs'; got 'pair'"),
        (
            HyperparameterDisplay,
            "regressor",
            {"quantities": "complete_data_log_likelihood"},
            "none of",
        ),
        (
            PredictiveDisplay,
            "regressor",
            {"feature": "height"},
            "feature must be the name of a column",
        ),
        (PredictiveDisplay, "regressor", {"feature": 2}, "from 0 to 1; got 2"),
        (PredictiveDisplay, "regressor", {"feature": 0.5}, "from 0 to 1; got 0.5"),
        (PredictiveDisplay, "regressor", {"grid_resolution": 0}, "grid_resolution must be"),
        (PredictiveDisplay, "regressor", {"X": [["a", "b"]] * 3}, "X must hold numbers"),
        (PredictiveDisplay, "regressor", {"held": "mode"}, "held must be"),
        (
            PredictiveDisplay,
            "regressor",
            {"held": {"height": 1.0}},
            "held has the key 'height', which is neither",
        ),
        (PredictiveDisplay, "regressor", {"target": 1}, "for classifiers only"),
        (PredictiveDisplay, "regressor", {"y": TARGET, "exposure": 2.0}, "exposure is for"),
        (PredictiveDisplay, "regressor", {"y": TARGET[:3]}, "inconsistent numbers of samples"),
        (PredictiveDisplay, "regressor", {"confidence_levels": [90]}, "between 0 and 1.*got .90"),
        (PredictiveDisplay, "regressor", {"confidence_levels": []}, "a list of one or more"),
        (PredictiveDisplay, "regressor", {"ax": "here"}, "ax must be a matplotlib Axes"),
        (PredictiveDisplay, "binary", {"target": "ancient"}, "a class out of"),
        (PredictiveDisplay, "binary", {"y": np.full(N, "new")}, "y must hold labels"),
        (RelevanceDisplay, "line", {"hyperparameter": "nothing"}, "hyperparameter must name"),
        (RelevanceDisplay, "regressor", {"X": LINE}, "1 features, but .* expecting 2"),
        (IntensityDisplay, "map", {"threshold": -1.0}, "positive rate"),
        (IntensityDisplay, "map", {"X": CELLS**1.5 + CELLS[:, ::-1]}, "centres of at least 20 %"),
        (IntensityDisplay, "map", {"events": LINE}, r"events must have shape \(n_rows, 2\)"),
    ],
)
def test_wrong_parameters_are_refused(models, display, name, options, words):
    if display is PredictiveDisplay:
        options = {"X": FRAME, **options}
    with pytest.raises(ValueError, match=words):
        display.from_estimator(models[name], **options)
    assert plt.get_fignums() == []


def test_kernels_without_a_length_scale_for_each_column_have_no_relevance():
    for kernel, words in [
        (ConstantKernel() * RBF(1.0), "needs a kernel with a sampled length scale for each"),
        (RBF([1.0, 1.0]) + RBF([1.0, 1.0]), "choose one by hyperparameter="),
    ]:
        model = fitted(MCMCGaussianProcessClassifier(kernel, **SETTINGS), FRAME, BINARY)
        with pytest.raises(ValueError, match=words):
            RelevanceDisplay.from_estimator(model)
    display = RelevanceDisplay.from_estimator(model, hyperparameter="k2__length_scale")
    assert display.relevance.shape == (1, 48, 2)


def test_a_rate_over_three_columns_is_refused():
    X = np.random.default_rng(0).uniform(size=(10, 3))
    model = fitted(MCMCCoxProcessRegressor(**SETTINGS), X, COUNTS[:10])
    with pytest.raises(ValueError, match="one or two columns; got 3"):
        IntensityDisplay.from_estimator(model)


def test_axes_that_are_taken_or_no_part_of_a_grid_are_refused(models):
    figure, ax = plt.subplots()
    TraceDisplay.from_estimator(models["line"], ax=ax)
    for taken in (ax, figure.add_axes((0.0, 0.0, 1.0, 1.0))):
        with pytest.raises(ValueError, match="Axes of a grid"):
            TraceDisplay.from_estimator(models["line"], ax=taken)


def test_import_needs_no_matplotlib_and_drawing_says_how_to_get_it():
    code = """
import sys
import numpy as np
import skgpmcmc
from skgpmcmc.displays import IntensityDisplay, TraceDisplay
print("matplotlib" in sys.modules)
sys.modules["matplotlib"] = None  # as if it were not installed
for draw in (
    lambda: TraceDisplay(np.ones((1, 2, 9)), names=["a"]).plot(),
    lambda: TraceDisplay.from_estimator(None),
    lambda: IntensityDisplay.from_estimator(None),
):
    try:
        draw()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported, *errors = run.stdout.splitlines()
    assert imported == "False"
    assert len(errors) == 3
    for error in errors:
        assert 'pip install "skgpmcmc[plot]"' in error


def test_the_default_curve_reaches_all_events(models):
    display = IntensityDisplay.from_estimator(models["line"], events=[-0.5, LINE[-1, 0] + 0.25])
    assert display.X[0, 0] == -0.5
    assert display.X[-1, 0] == LINE[-1, 0] + 0.25
