"""Curves along one column of a frame whose other columns are of any kind; counts with exposure."""

import numpy as np
import pandas as pd
import pytest
from fits import quiet
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor
from skgpmcmc.displays import PredictiveDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

#: tests/displays/test_displays.py draws each kind of picture by default.
pytestmark = pytest.mark.second_stage

SETTINGS = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "random_state": 0}
N = 25
NUMBER = np.arange(N)
PLOTS = pd.DataFrame(
    {
        "soil": np.array(["peat", "clay", "peat", "sand", "peat"])[NUMBER % 5],
        "rain": np.linspace(400.0, 900.0, N),
        "trees": NUMBER % 4,
        "grazed": NUMBER % 3 > 0,
        "slope": pd.Categorical(np.array(["flat", "steep"])[NUMBER % 3 // 2]),
        "code": np.array(["07", "12"])[(NUMBER % 4 > 0).astype(int)],
    }
)
YIELD = np.sin(PLOTS["rain"] / 80.0) + (PLOTS["soil"] == "peat")


def columns(*steps):
    kinds = ["object", "string", "category", "bool"]
    return make_pipeline(
        *steps,
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), make_column_selector(dtype_include=kinds)),
            (StandardScaler(), make_column_selector(dtype_include=["int64", "float64"])),
        ),
        MCMCGaussianProcessRegressor(**SETTINGS),
    )


@pytest.fixture(scope="module")
def pipeline():
    return quiet(columns(), PLOTS, YIELD)


def held_row(**changes):
    """Return medians, or most frequent values."""
    row = {
        "soil": "peat",
        "rain": 650.0,
        "trees": 1.0,
        "grazed": True,
        "slope": "flat",
        "code": "12",
    }
    frame = pd.DataFrame([{**row, **changes}] * 5)
    return frame.astype({"slope": PLOTS["slope"].dtype, "soil": PLOTS["soil"].dtype})


@pytest.mark.parametrize(
    ("held", "changes"),
    [
        ("median", {}),
        ("mean", {"trees": PLOTS["trees"].mean()}),
        ({"soil": "clay", "trees": 3}, {"soil": "clay", "trees": 3.0}),
        ({0: "sand", "slope": "steep", "grazed": False}, None),
    ],
)
def test_columns_of_any_kind_are_held(pipeline, held, changes):
    if changes is None:
        changes = {"soil": "sand", "slope": "steep", "grazed": False}
    display = PredictiveDisplay.from_estimator(
        pipeline, PLOTS, YIELD, feature="rain", held=held, grid_resolution=5
    )
    new = held_row(**changes)
    new["rain"] = np.linspace(400.0, 900.0, 5)
    assert np.allclose(display.mean[0], pipeline.predict(new))
    assert np.array_equal(display.points_[0].get_xdata(), PLOTS["rain"])
    label = display.ax_.get_xlabel()
    assert "most frequent" in label if isinstance(held, str) else "as given" in label


def test_the_kinds_of_columns_are_kept():
    seen = []

    def look(X):
        seen.append(X)
        return X

    model = quiet(columns(FunctionTransformer(look)), PLOTS, YIELD)
    PredictiveDisplay.from_estimator(model, PLOTS, feature="trees", grid_resolution=5)
    drawn = seen[-1]
    assert list(drawn.columns) == list(PLOTS.columns)
    for name in PLOTS.columns.drop("trees"):
        assert drawn[name].dtype == PLOTS[name].dtype
    assert drawn["trees"].tolist() == np.linspace(0.0, 3.0, 5).tolist()


def test_a_transformed_frame_is_drawn_as_numbers(pipeline):
    inner = pipeline[:-1]
    names = list(inner.get_feature_names_out())
    rain = next(name for name in names if name.endswith("rain"))
    display = PredictiveDisplay.from_estimator(
        pipeline[-1], inner.transform(PLOTS), YIELD, feature=rain, feature_names=names
    )
    assert display.ax_.get_xlabel().startswith(rain)


@pytest.mark.parametrize("kind", [MCMCGaussianProcessRegressor, MCMCCoxProcessRegressor])
@pytest.mark.parametrize("of", [np.asarray, list, pd.Series])
def test_rows_without_data_have_no_point(kind, of):
    times = np.arange(40.0)[:, None]
    y = np.where(times[:, 0] < N, np.arange(40.0) % 4, np.nan)
    y[3] = np.nan
    model = quiet(kind(**SETTINGS), times[4:N], y[4:N])
    display = PredictiveDisplay.from_estimator(model, times, of(y), grid_resolution=9)
    assert display.x[-1] == 39.0
    (points,) = display.points_
    assert np.array_equal(points.get_xdata(), np.delete(np.arange(float(N)), 3))
    assert np.array_equal(points.get_ydata(), y[~np.isnan(y)])
    plt.close("all")
    y[7] = np.inf
    with pytest.raises(ValueError, match="row 7 holds inf"):  # gaps do not shift the numbers
        PredictiveDisplay.from_estimator(model, times, y)


def test_missing_values_are_left_to_the_pipeline():
    X = PLOTS[["rain", "trees"]].astype(float)
    X.loc[[0, 3], "trees"] = np.nan
    X.loc[5, "rain"] = np.nan
    model = quiet(
        make_pipeline(SimpleImputer(), MCMCGaussianProcessRegressor(**SETTINGS)), X, YIELD
    )
    for feature in X.columns:
        display = PredictiveDisplay.from_estimator(model, X, feature=feature)
        assert display.x[0] == X[feature].min()
        assert np.isfinite(display.mean).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feature": "soil"}, r"feature must be a column of numbers; got 'soil'.*'peat'"),
        ({"feature": 4}, "feature must be a column of numbers; got 'slope'"),
        ({"held": {"soil": "chalk"}}, r"held must have a value of 'soil'.*'clay'.*'chalk'"),
        ({"held": {"trees": "many"}}, "held must have a number for 'trees'; got 'many'"),
    ],
)
def test_wrong_columns_and_values_are_refused(pipeline, options, words):
    with pytest.raises(ValueError, match=words):
        PredictiveDisplay.from_estimator(pipeline, PLOTS, **{"feature": "rain", **options})


def test_a_column_of_booleans_may_vary():
    X = PLOTS[["rain", "grazed"]]
    model = quiet(
        make_pipeline(StandardScaler(), MCMCGaussianProcessRegressor(**SETTINGS)), X, YIELD
    )
    display = PredictiveDisplay.from_estimator(model, X, feature="grazed", grid_resolution=3)
    new = pd.DataFrame({"rain": 650.0, "grazed": [0.0, 0.5, 1.0]})
    assert np.allclose(display.mean[0], model.predict(new))


def test_text_in_arrays_is_refused_with_what_to_do(pipeline):
    with pytest.raises(ValueError, match=r"X must hold numbers.*pandas DataFrame"):
        PredictiveDisplay.from_estimator(pipeline, PLOTS.to_numpy(), feature=1)


# Exposure

LINE = np.arange(12.0)[:, None]
COUNTS = np.arange(12) % 4 * 10


@pytest.mark.parametrize("exposure", [20.0, np.linspace(10.0, 30.0, 12)])
def test_counts_need_the_exposure_if_the_fit_had_one(exposure):
    model = quiet(MCMCCoxProcessRegressor(**SETTINGS), LINE, COUNTS, exposure=exposure)
    with pytest.raises(ValueError, match=r"exposure must be given.*Pass exposure=.*leave y out"):
        PredictiveDisplay.from_estimator(model, LINE, COUNTS)
    assert plt.get_fignums() == []
    for given in (exposure, 1.0):
        display = PredictiveDisplay.from_estimator(model, LINE, COUNTS, exposure=given)
        assert np.allclose(display.points_[0].get_ydata(), COUNTS / given)
    assert PredictiveDisplay.from_estimator(model, LINE).points_ == []


def test_counts_without_exposure_are_drawn_as_they_are():
    model = quiet(MCMCCoxProcessRegressor(**SETTINGS), LINE, COUNTS)
    display = PredictiveDisplay.from_estimator(model, LINE, COUNTS)
    assert np.array_equal(display.points_[0].get_ydata(), COUNTS)
