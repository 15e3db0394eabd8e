"""The packaged data sets: values, binning and the forms in which they are returned."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rounding import ELEMENTWISE
from sklearn.gaussian_process.kernels import RBF

from skgpmcmc.datasets import (
    load_coal_mining,
    load_ionosphere,
    load_redwoods,
    load_van_drivers,
    make_gp_regression,
)
from skgpmcmc.point_patterns import bin_events

LOADERS = [
    pytest.param(load_ionosphere, "label", id="ionosphere"),
    pytest.param(load_coal_mining, "n_events", id="coal_mining"),
    pytest.param(load_redwoods, "n_trees", id="redwoods"),
    pytest.param(load_van_drivers, "n_killed", id="van_drivers"),
]


def test_ionosphere_features():
    bunch = load_ionosphere()
    assert bunch.data.shape == (351, 34)
    assert bunch.data.dtype == np.float64
    assert bunch.feature_names == [f"x{i:02d}" for i in range(34)]
    assert_array_equal(bunch.data[0, :5], [1.0, 0.0, 0.99539, -0.05889, 0.85243])
    assert_array_equal(bunch.data[-1, -3:], [-0.06678, 0.85764, -0.06151])
    assert not bunch.data[:, 1].any()
    assert_allclose(bunch.data.sum(), 2956.01597, rtol=ELEMENTWISE)


def test_ionosphere_classes():
    bunch = load_ionosphere()
    assert bunch.target_names == ["bad", "good"]
    assert_array_equal(np.bincount(bunch.target), [126, 225])
    assert_array_equal(np.bincount(bunch.target[:200]), [99, 101])
    assert_array_equal(bunch.target[:4], [1, 0, 1, 0])
    assert bunch.target[-1] == 1


def test_coal_mining_events():
    bunch = load_coal_mining()
    assert bunch.events.shape == bunch.dates.shape == (191,)
    assert_array_equal(bunch.events[:3], [0.0, 157.0, 280.0])
    assert bunch.events[-1] == 40548.0
    assert np.all(np.diff(bunch.events) >= 0)
    assert bunch.dates[-1] == np.datetime64("1962-03-21")
    assert_array_equal((bunch.dates - bunch.dates[0]).astype(int), bunch.events)


def test_coal_mining_counts():
    bunch = load_coal_mining()
    assert bunch.data.shape == (112, 1)
    assert bunch.feature_names == ["time"]
    assert_array_equal(bunch.data[[0, 1, -1], 0], [0.5, 1.5, 111.5])
    assert bunch.target.sum() == 191
    assert_array_equal(bunch.target[:8], [4, 6, 4, 0, 0, 5, 4, 2])
    assert_array_equal(bunch.target, np.bincount(bunch.events.astype(int) // 365, minlength=112))


def test_coal_mining_event_on_an_edge_belongs_to_the_right_hand_bin():
    bunch = load_coal_mining()
    on_edge = bunch.events[(bunch.events > 0) & (bunch.events % 365 == 0)]
    assert_array_equal(on_edge, [27 * 365.0])
    in_bin_27 = (bunch.events >= 27 * 365) & (bunch.events < 28 * 365)
    assert bunch.target[27] == in_bin_27.sum() == 7


def test_redwoods_points():
    bunch = load_redwoods()
    assert bunch.points.shape == (195, 2)
    assert_array_equal(bunch.points[0], [0.931481, 0.81768])
    assert_array_equal(bunch.points[-1], [0.190741, 0.066298])
    assert bunch.points.min() > 0
    assert bunch.points.max() < 1


def test_redwoods_counts():
    bunch = load_redwoods()
    assert bunch.data.shape == (625, 2)
    assert bunch.feature_names == ["x", "y"]
    assert_allclose(
        bunch.data[[0, 1, 25, -1]], [[0.02, 0.02], [0.02, 0.06], [0.06, 0.02], [0.98, 0.98]]
    )
    assert bunch.target.sum() == 195
    assert bunch.target.max() == 4
    # Each tree must be counted in the cell whose centre is nearest to it; no tree is
    # equally near to two centres, except the one at x = 0.8, which is on an inner edge.
    inside = bunch.points[bunch.points[:, 0] != 0.8]
    distance = np.abs(inside[:, np.newaxis, :] - bunch.data).max(axis=2)
    expected = np.bincount(distance.argmin(axis=1), minlength=625)
    on_edge = bunch.points[bunch.points[:, 0] == 0.8]
    assert_array_equal(on_edge, [[0.8, 0.930018]])
    expected[20 * 25 + 23] += 1
    assert_array_equal(bunch.target, expected)


def test_van_drivers():
    bunch = load_van_drivers()
    assert bunch.data.shape == (192, 1)
    assert bunch.feature_names == ["time"]
    assert_array_equal(bunch.target[[0, 1, 2, -3, -2, -1]], [12, 6, 12, 7, 4, 7])
    assert bunch.target.sum() == 1739
    assert_array_equal(bunch.target[:12], [12, 6, 12, 8, 10, 13, 11, 6, 10, 16, 13, 14])


def test_van_drivers_have_the_months_of_bin_events():
    bunch = load_van_drivers()
    months = np.arange("1969-01", "1985-02", dtype="datetime64[M]")
    assert_array_equal(bunch.edges, months)
    # Without events, only the calendar.
    cells = bin_events(months[:0], bins=months, unit="365.25D")
    assert_allclose(cells.X, bunch.data, rtol=ELEMENTWISE)
    assert_allclose(cells.exposure, bunch.exposure, rtol=ELEMENTWISE)
    assert_array_equal(cells.y, np.zeros(192))
    # A count is so many events at the beginning of its month.
    cells = bin_events(np.repeat(months[:-1], bunch.target), bins=months, unit="365.25D")
    assert_array_equal(cells.y, bunch.target)


@pytest.mark.parametrize(("loader", "target_column"), LOADERS)
def test_return_X_y_is_data_and_target(loader, target_column):
    bunch = loader()
    X, y = loader(return_X_y=True)
    assert_array_equal(X, bunch.data)
    assert_array_equal(y, bunch.target)
    assert y.dtype == np.int64
    assert bunch.frame is None


@pytest.mark.parametrize(("loader", "target_column"), LOADERS)
def test_as_frame(loader, target_column):
    pd = pytest.importorskip("pandas")
    arrays, frames = loader(), loader(as_frame=True)
    assert isinstance(frames.data, pd.DataFrame)
    assert isinstance(frames.target, pd.Series)
    assert list(frames.data.columns) == arrays.feature_names
    assert frames.target.name == target_column
    assert list(frames.frame.columns) == [*arrays.feature_names, target_column]
    assert_array_equal(frames.data.to_numpy(), arrays.data)
    assert_array_equal(frames.target.to_numpy(), arrays.target)

    X, y = loader(return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, frames.data)
    pd.testing.assert_series_equal(y, frames.target)


@pytest.mark.parametrize(("loader", "target_column"), LOADERS)
def test_as_frame_without_pandas_says_what_to_do(loader, target_column, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=rf"{loader.__name__}\(as_frame=True\) needs pandas"):
        loader(as_frame=True)
    assert loader().data.shape[0] > 0


@pytest.mark.parametrize(("loader", "target_column"), LOADERS)
def test_description_and_file_are_shipped(loader, target_column):
    bunch = loader()
    assert "Reference" in bunch.DESCR or "reference" in bunch.DESCR
    assert Path(bunch.filename).is_file()


def test_every_call_returns_fresh_arrays():
    first = load_coal_mining()
    first.target[:] = 0
    assert load_coal_mining().target.sum() == 191


def test_make_gp_regression_is_the_synthetic_problem():
    rng = np.random.default_rng(2013)
    inputs = rng.random((200, 10))
    length_scales = rng.uniform(0, 10**0.5, 10)
    kernel = RBF(length_scales)(inputs) + 1e-6 * np.eye(200)
    f = np.linalg.cholesky(kernel) @ rng.standard_normal(200)
    noisy = f + 0.3 * rng.standard_normal(200)
    X, y, latent, length_scale = make_gp_regression(return_truth=True)
    assert_array_equal(X, inputs)
    assert_array_equal(length_scale, length_scales)
    # The factor magnifies the rounding errors of the kernel by its condition number, 1e8 at most.
    assert_allclose(latent, f, atol=1e-6)
    assert_allclose(y, noisy, atol=1e-6)
    assert_array_equal(make_gp_regression()[1], y)


def test_make_gp_regression_parameters():
    X, y, latent, length_scale = make_gp_regression(
        400, 2, signal_variance=9.0, length_scale=1e-3, noise=4.0, return_truth=True
    )
    assert X.shape == (400, 2)
    assert_array_equal(length_scale, [1e-3, 1e-3])
    # Length scales far below the distances of the inputs: independent values. A sample variance
    # of n normals has the standard error sqrt(2 / (n - 1)), relative to the variance.
    error = np.sqrt(2 / 399)
    assert_allclose(
        [latent.var(ddof=1) / 9.0, (y - latent).var(ddof=1) / 16.0], 1.0, atol=4 * error
    )
    scales = make_gp_regression(5, 2, length_scale=[0.5, 2.0], return_truth=True)[3]
    assert_array_equal(scales, [0.5, 2.0])


def test_make_gp_regression_random_state():
    first = make_gp_regression(5, 1, random_state=0)[1]
    assert_array_equal(make_gp_regression(5, 1, random_state=0)[1], first)
    generator = np.random.default_rng(0)
    assert_array_equal(make_gp_regression(5, 1, random_state=generator)[1], first)
    assert not np.isin(make_gp_regression(5, 1, random_state=generator)[1], first).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1; got 0"),
        ({"n_features": -1}, "n_features must be at least 1; got -1"),
        ({"signal_variance": 0.0}, "signal_variance must be positive and finite; got 0.0"),
        ({"noise": -0.1}, "noise must be finite and at least 0; got -0.1"),
        (
            {"length_scale": [1.0, 2.0]},
            r"the shape \(n_features,\) = \(10,\); got the shape \(2,\)",
        ),
        ({"length_scale": 0.0}, "length_scale must be positive and finite; got 0.0"),
    ],
)
def test_make_gp_regression_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_gp_regression(**arguments)
