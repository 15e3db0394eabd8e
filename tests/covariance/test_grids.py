"""Cartesian grids: finding them, and Cox processes that are sampled on them."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pandas as pd
import pytest
from refusals import check_message
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc._grid import Grid, find_grid
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.estimators._auto import pays

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
GRID = Grid((np.arange(5) * 0.1, np.array([-1.0, 0.0, 7.0]), np.array([3.0, 3.5])))


# --- Finding them -----------------------------------------------------------------------------


def test_points_are_sorted_as_distinct_rows_are():
    points = GRID.points()
    assert (GRID.shape, GRID.n) == ((5, 3, 2), 30)
    np.testing.assert_array_equal(points, np.unique(RNG.permutation(points), axis=0))


@pytest.mark.parametrize("n_rows", [15, 16, 30])
def test_rows_in_any_order_with_points_left_out(n_rows):
    order = RNG.permutation(30)[:n_rows]
    grid, index = find_grid(GRID.points()[order])
    np.testing.assert_array_equal(index, order)
    for found, axis in zip(grid.axes, GRID.axes, strict=True):
        np.testing.assert_array_equal(found, axis)


def test_fewer_than_half_of_the_points_are_no_grid():
    points = GRID.points()
    spread = np.arange(30) % 2 == 0
    for axis in (0, 1):  # all coordinates of the two long axes occur
        assert set(points[spread][:, axis]) == set(GRID.axes[axis])
    rows = np.append(np.flatnonzero(spread)[:13], 29)
    assert find_grid(points[rows]) is None
    assert find_grid(points[rows], 14 / 30) is not None
    assert find_grid(points[:29], 1.0) is None
    assert find_grid(points, 1.0) is not None


def test_coordinates_that_differ_by_rounding_are_the_same():
    X = np.array([[0.3, 0.0], [0.1 * 3, 1.0], [0.0, 0.0], [0.0, 1.0]])
    assert X[0, 0] != X[1, 0]
    grid, index = find_grid(X)
    assert grid.shape == (2, 2)
    np.testing.assert_array_equal(index, [2, 3, 0, 1])
    np.testing.assert_array_equal(grid.locate(X), index)
    far = 1e6 + np.arange(4.0)
    centres = np.stack(np.meshgrid(far, far / 3.0), axis=-1).reshape(-1, 2)
    assert find_grid(centres * (1.0 + 1e-16 * RNG.normal(size=(16, 2))))[0].shape == (4, 4)


def test_rows_that_rounding_alone_tells_apart_are_one_point():
    X = np.array([[0.3, 1.0], [0.1 * 3, 1.0], [0.0, 0.0], [0.0, 1.0], [0.3, 0.0]])
    np.testing.assert_array_equal(find_grid(X)[1], [3, 3, 0, 1, 2])


def test_coordinates_that_differ_by_more_are_not():
    nearby = np.array([0.0, 1e-7, 1.0])
    grid, _ = find_grid(np.stack(np.meshgrid(nearby, nearby), axis=-1).reshape(-1, 2))
    assert grid.shape == (3, 3)
    # Each within rounding of the next, but not all of one another.
    creeping = np.append(np.arange(10) * 8e-10, 1.0)
    assert find_grid(np.stack(np.meshgrid(creeping, [0.0, 1.0]), -1).reshape(-1, 2)) is None


def test_what_is_no_grid():
    assert find_grid(np.arange(50.0)[:, None]) is None
    assert find_grid(np.column_stack([np.arange(50.0), np.ones(50)])) is None
    assert find_grid(np.ones((3, 2))) is None
    with_constant = np.column_stack([GRID.points(), np.ones(30)])
    assert find_grid(with_constant)[0].shape == (5, 3, 2, 1)


def test_scattered_rows_are_rejected_at_once():
    X = RNG.random((2000, 60))
    start = time.process_time()
    assert find_grid(X[:, :5]) is None
    assert find_grid(X) is None  # 2000^60 points
    assert time.process_time() - start < 0.1


def test_locating_rows():
    points = GRID.points()
    np.testing.assert_array_equal(GRID.locate(points[::-1]), np.arange(30)[::-1])
    assert (GRID.locate(points + np.array([0.0, 1e-6, 0.0])) == -1).all()
    assert (GRID.locate(points + np.array([0.0, 9.0, 0.0])) == -1).all()


# --- Cox processes on them ----------------------------------------------------------------------

SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "random_state": 0}
SIDE = Grid((np.linspace(0.0, 1.0, 14), np.linspace(0.0, 3.0, 15)))  # 210 points
MASKED = RNG.random(SIDE.n) < 0.2
CELLS = SIDE.points()[~MASKED]
EXPOSURE = RNG.uniform(0.5, 2.0, len(CELLS))
COUNTS = RNG.poisson(EXPOSURE * np.exp(np.sin(4.0 * CELLS[:, 0]) + 0.5 * CELLS[:, 1]))


def fit(X=CELLS, y=COUNTS, exposure=EXPOSURE, kernel=None, **options):
    model = MCMCCoxProcessRegressor(kernel, **{**SHORT, **options})
    return model.fit(X, y, exposure=exposure)


@pytest.fixture(scope="module")
def fitted():
    return fit()


def test_auto_takes_the_grid_with_the_points_that_have_no_data(fitted):
    np.testing.assert_array_equal(fitted.X_train_, SIDE.points())
    assert fitted.trace_.latent.shape == (2, 12, SIDE.n)
    assert fitted.trace_.moved.min() > 0.0


def test_the_order_of_the_rows_does_not_matter(fitted):
    order = RNG.permutation(len(CELLS))
    other = fit(CELLS[order], COUNTS[order], EXPOSURE[order])
    # But for the rounding of sums over rows, which trajectories magnify.
    np.testing.assert_allclose(other.trace_.theta, fitted.trace_.theta, rtol=1e-6, atol=1e-6)


def test_repeated_rows_share_a_point():
    """Half of each cell's exposure and all of its counts, and the other half without any."""
    X, y = np.repeat(CELLS, 2, axis=0), np.column_stack([COUNTS, 0 * COUNTS]).ravel()
    options = {"representation": "prior-white", "n_warmup": 2, "n_draws": 4}
    halves, whole = fit(X, y, np.repeat(0.5 * EXPOSURE, 2), **options), fit(**options)
    np.testing.assert_allclose(halves.trace_.theta, whole.trace_.theta, rtol=1e-6, atol=1e-6)


def test_coordinates_computed_in_two_ways():
    X = CELLS.copy()
    X[::3, 0] = X[::3, 0] * 3.0 / 3.0 + 1e-16 * RNG.normal(size=len(X[::3]))
    assert len(fit(X, n_warmup=0, n_draws=4).X_train_) == SIDE.n


def test_data_frames_copies_and_pickles(fitted):
    names = ["east", "north"]
    model = fit(pd.DataFrame(CELLS, columns=names), pd.Series(COUNTS))
    np.testing.assert_array_equal(model.trace_.theta, fitted.trace_.theta)
    assert list(model.feature_names_in_) == names
    again = pickle.loads(pickle.dumps(fitted))
    new = RNG.random((5, 2))
    np.testing.assert_array_equal(again.predict(new), fitted.predict(new))
    twin = clone(fitted).fit(CELLS, COUNTS, exposure=EXPOSURE)
    np.testing.assert_array_equal(twin.trace_.theta, fitted.trace_.theta)


def test_more_draws_and_more_jobs(fitted):
    model = MCMCCoxProcessRegressor(**{**SHORT, "n_draws": 7}, warm_start=True)
    model.fit(CELLS, COUNTS, exposure=EXPOSURE)
    model.set_params(n_draws=12, n_jobs=2).fit(CELLS, COUNTS, exposure=EXPOSURE)
    np.testing.assert_array_equal(model.trace_.theta, fitted.trace_.theta)
    np.testing.assert_array_equal(model.trace_.latent, fitted.trace_.latent)


def test_weights_of_zero_leave_points_without_data(fitted):
    weights = np.ones(SIDE.n)
    weights[MASKED] = 0.0
    y, exposure = np.full(SIDE.n, 9.0), np.full(SIDE.n, 9.0)
    y[~MASKED], exposure[~MASKED] = COUNTS, EXPOSURE
    model = MCMCCoxProcessRegressor(**SHORT)
    model.fit(SIDE.points(), y, sample_weight=weights, exposure=exposure)
    np.testing.assert_allclose(model.trace_.theta, fitted.trace_.theta, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"representation": "post-site"},
        {"kernel": ConstantKernel(1.0) * Matern([0.3, 0.3])},
        {"kernel": ConstantKernel(1.0) * RBF([0.3, 0.3]) + ConstantKernel(1.0)},
        {"kernel": ConstantKernel(1.0) * RBF([0.3, 0.3]) + WhiteKernel(0.1)},
        {"X": CELLS + 1e-3 * RNG.normal(size=CELLS.shape)},
        {"X": CELLS[:100], "y": COUNTS[:100], "exposure": EXPOSURE[:100]},  # 8 x 15 points
    ],
    ids=["representation", "Matern", "constant", "white noise", "scattered", "small"],
)
def test_everything_else_has_the_rows_with_data(options):
    model = fit(**options, n_warmup=0, n_draws=4, n_chains=1)
    assert len(model.X_train_) == len(options.get("X", CELLS))


@pytest.mark.parametrize("representation", ["joint-post", "prior-white", "fixed", 2.0])
def test_representations_that_take_a_grid_of_any_size(representation):
    X, y = np.delete(GRID.points(), [3, 8], axis=0), RNG.poisson(2.0, 28)
    options = {"representation": representation, "n_warmup": 5, "n_draws": 4}
    model = fit(X, y, None, **options)
    assert len(model.X_train_) == 30
    overdispersed = fit(X, y, None, likelihood="negative-binomial", **options)
    assert overdispersed.trace_.latent.shape[-1] == 30


@pytest.mark.parametrize("update", ["slice", lambda theta, rng: (theta + rng.normal(), 0.0)])
def test_other_updates_than_trajectories(update):
    options = {"hyperparameter_update": update, "n_draws": 4}
    on_grid = fit(representation="prior-white", **options)
    assert on_grid.trace_.latent.shape[-1] == SIDE.n
    assert fit(**options).trace_.latent.shape[-1] == len(CELLS)
    check_message(
        lambda: fit(hyperparameter_update=update, representation="joint-post"),
        ["joint-post", "hyperparameter_update", "trajectories", "prior-white"],
    )


def test_joint_white_without_a_grid():
    check_message(
        lambda: fit(CELLS + 1e-3 * RNG.normal(size=CELLS.shape), representation="joint-post"),
        ["joint-post", "Cartesian grid"],
    )


def test_memory_of_draws_and_of_chains():
    check_message(
        lambda: fit(n_draws=10**7),
        ["210 distinct rows", "draws of the latent variables", "n_draws", "memory_limit"],
    )
    check_message(
        lambda: fit(representation="post-site", n_draws=10**7), ["draws of the latent variables"]
    )
    side = np.arange(250.0)  # 62,500 points: as dense matrices 170 gigabytes
    X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    dense = {"representation": "post-site", "n_draws": 4, "n_inducing": None}
    check_message(lambda: fit(X, 0 * X[:, 0], None, **dense), ["for the chains that run"])
    check_message(
        lambda: fit(X, 0 * X[:, 0], None, memory_limit=0.02), ["62500 distinct rows need about"]
    )


def test_the_grid_and_dense_matrices_have_the_same_posterior():
    rng = np.random.default_rng(3)
    X = Grid((np.linspace(0.0, 1.0, 6), np.linspace(0.0, 1.0, 5))).points()
    X = np.delete(X, [0, 7, 8, 21], axis=0)
    y = rng.poisson(np.exp(1.0 + np.sin(5.0 * X[:, 0])))
    kernel = ConstantKernel(1.0, (0.05, 20.0)) * RBF([0.5, 0.5], (0.1, 3.0))
    options = {
        "kernel": kernel,
        "random_state": 1,
        "n_draws": 300,
        "n_warmup": 100,
        "min_ess": None,
    }
    grid = fit(X, y, None, representation="joint-post", **options)
    dense = fit(X, y, None, representation="surr-site", hyperparameter_update="slice", **options)
    assert (len(grid.X_train_), len(dense.X_train_)) == (30, 26)
    places = Grid(tuple(np.unique(X[:, d]) for d in (0, 1))).locate(dense.X_train_)

    def quantities(model, which):
        values = [*np.moveaxis(model.trace_.theta, -1, 0), model.trace_.log_likelihood]
        return [*values, *np.moveaxis(model.trace_.latent[..., which], -1, 0)[::5]]

    for own, other in zip(quantities(grid, places), quantities(dense, np.arange(26)), strict=True):
        error = np.hypot(mcse_mean(own), mcse_mean(other))
        assert abs(own.mean() - other.mean()) < 4.5 * error


# --- Rounding of coordinates with an offset, and grids that are not worth it --------------------

SQUARE = Grid((np.arange(15.0), np.arange(15.0))).points()


@pytest.mark.parametrize(
    "coordinates",
    [
        5e6 + 0.03 * SQUARE,
        SQUARE - 1e8,
        2000.0 + 1e-5 * SQUARE,
        1.7e9 + 1e-3 * SQUARE,
        SQUARE,
    ],
    ids=["projected", "negative", "years", "unix times", "no offset"],
)
def test_coordinates_that_differ_in_their_last_place(coordinates):
    towards = np.where(RNG.random(coordinates.shape) < 0.5, -np.inf, np.inf)
    for centres in (coordinates, coordinates + 0.1 - 0.1, coordinates / 3.0 * 3.0):
        X = np.nextafter(centres, towards)  # from 1e-13 to 1e-7
        grid, index = find_grid(X)
        assert grid.shape == (15, 15)
        np.testing.assert_array_equal(index, np.arange(225))
        np.testing.assert_array_equal(grid.locate(coordinates), index)


def test_a_constant_column_up_to_rounding_is_no_axis():
    constant = np.where(RNG.random(225) < 0.5, 0.1 + 0.2, 0.3)
    grid, index = find_grid(np.column_stack([SQUARE, constant]))
    assert grid.shape == (15, 15, 1)
    for value in (0.1 + 0.2, 0.3):
        rows = np.column_stack([SQUARE, np.full(225, value)])
        np.testing.assert_array_equal(grid.locate(rows), index)
    assert (grid.locate(np.column_stack([SQUARE, np.full(225, 0.3 + 1e-12)])) == -1).all()


def test_seconds_and_metres_are_no_rounding():
    X = Grid((1.7e9 + 1e-3 * np.arange(4), 4e6 + 1e-3 * np.arange(5))).points()
    assert find_grid(X)[0].shape == (4, 5)


@pytest.mark.parametrize(
    ("shape", "n_rows", "update", "expected"),
    [
        ((20, 20), 400, "auto", True),
        ((15, 15), 117, "auto", True),
        ((6, 6, 6), 216, "auto", True),
        ((4, 50), 200, "auto", True),
        ((3, 200), 600, "auto", True),
        ((13, 15), 195, "auto", False),
        ((2, 400), 800, "auto", False),
        ((2, 5000), 10_000, "auto", False),
        ((4, 100), 250, "auto", False),  # so many points are without data
        ((20, 20), 400, "slice", False),
        ((50, 50), 2500, "slice", True),
        ((2, 1500), 3000, "slice", False),
        ((20, 20), 400, lambda theta, rng: (theta, 0.0), False),
        ((2, 400), 800, "hmc", True),
        ((3, 3), 9, "hmc", True),
    ],
)
def test_where_a_grid_is_worth_it(shape, n_rows, update, expected):
    grid = Grid(tuple(np.arange(float(length)) for length in shape))
    assert pays(grid, n_rows, update) is expected


def test_auto_leaves_an_elongated_grid():
    X = np.delete(Grid((np.arange(2.0), np.arange(110.0))).points(), 7, axis=0)
    options = {"n_warmup": 0, "n_draws": 4, "n_chains": 1}
    for representation, n_latent in {"auto": 219, "joint-post": 220}.items():
        model = fit(X, np.ones(219), None, representation=representation, **options)
        assert len(model.X_train_) == n_latent


def test_hmc_takes_a_grid_of_any_size():
    points = GRID.points()
    model = fit(points[1:], np.ones(29), None, hyperparameter_update="hmc", n_draws=4)
    assert len(model.X_train_) == 30
