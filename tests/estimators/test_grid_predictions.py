"""Predictions from draws on a grid equal those with dense matrices."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc._covariance import DenseStructure, GridStructure
from skgpmcmc._grid import Grid
from skgpmcmc._prediction import _grid
from skgpmcmc._prediction._dense import PosteriorDraws, sample_latent
from skgpmcmc._prediction._grid import GridPosteriorDraws
from skgpmcmc.core import LatentGaussianModel, SamplerSettings, predict_latent, run_chains
from skgpmcmc.likelihoods import Poisson

JITTER = 1e-6
N_DRAWS = 4


def _draws(shape):
    """Return the same draws of f on a grid for both algebras, and the grid."""
    rng = np.random.default_rng(1)
    grid = Grid(tuple(np.sort(3.0 * rng.random(length)) for length in shape))
    kernel = ConstantKernel(1.3) * RBF(np.full(len(shape), 0.7))
    points = grid.points()
    theta = kernel.theta + 0.3 * rng.normal(size=(N_DRAWS, kernel.n_dims))
    mean = rng.normal(size=N_DRAWS)
    latent = np.empty((N_DRAWS, grid.n))
    for d in range(N_DRAWS):
        covariance = kernel.clone_with_theta(theta[d])(points)
        covariance[np.diag_indices(grid.n)] *= 1.0 + JITTER
        latent[d] = mean[d] + np.linalg.cholesky(covariance) @ rng.normal(size=grid.n)
    dense = PosteriorDraws(kernel, points, theta, mean, latent, JITTER)
    return dense, GridPosteriorDraws(kernel, grid, theta, mean, latent, JITTER), grid


@pytest.fixture(scope="module", params=[(6, 5), (4, 3, 5), (1, 7, 4), (2, 3, 2, 2)], ids=str)
def draws(request):
    return _draws(request.param)


def _rows(grid):
    """Return new rows of every kind."""
    rng = np.random.default_rng(2)
    n_columns = len(grid.axes)
    finer = Grid(tuple(np.linspace(-0.5, 3.5, 3 + d) for d in range(n_columns)))
    return {
        "the grid": grid.points(),
        "some of it": rng.permutation(grid.points())[:7],
        "one point": grid.points()[:1],
        "scattered": 4.0 * rng.random((30, n_columns)),
        "another grid": finer.points(),
        "mixed": np.concatenate([grid.points()[::2], 4.0 * rng.random((3, n_columns))]),
        "far away": np.full((2, n_columns), 1e3),
    }


KINDS = ["the grid", "some of it", "one point", "scattered", "another grid", "mixed", "far away"]


def _moments(draws, X):
    pieces = [(mean, variance) for _, mean, variance in draws.chunks(X)]
    return [np.concatenate(parts, axis=1) for parts in zip(*pieces, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_moments_equal_the_dense_ones(draws, kind):
    dense, on_grid, grid = draws
    X = _rows(grid)[kind]
    for own, other in zip(_moments(on_grid, X), _moments(dense, X), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_joint_moments_equal_the_dense_ones(draws, kind):
    dense, on_grid, grid = draws
    X = _rows(grid)[kind]
    for own, other in zip(on_grid.joint(X, 2), dense.joint(X, 2), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["the grid", "scattered", "mixed"])
def test_chunks_do_not_matter(draws, kind, monkeypatch):
    _, on_grid, grid = draws
    X = _rows(grid)[kind]
    whole, joint = _moments(on_grid, X), on_grid.joint(X, 1)
    monkeypatch.setattr(_grid, "CHUNK_BYTES", 8 * 60)
    assert len(list(on_grid.chunks(X))) > 1
    for own, other in zip(_moments(on_grid, X), whole, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)
    for own, other in zip(on_grid.joint(X, 1), joint, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


def test_both_ways_to_multiply_agree(draws):
    grid = draws[-1]
    for X in _rows(grid).values():
        rows = _grid._Rows.of(X)
        rng = np.random.default_rng(3)
        values = rng.normal(size=grid.shape)
        factors = [
            rng.normal(size=(n, len(axis))) for n, axis in zip(grid.shape, rows.axes, strict=True)
        ]
        by_row, by_grid = (rows.multiply(values, factors, way) for way in (False, True))
        np.testing.assert_allclose(by_row, by_grid, rtol=1e-10, atol=1e-10)


def test_at_the_points_the_draws_come_back():
    _, on_grid, grid = _draws((6, 5))
    mean, variance = _moments(on_grid, grid.points())
    latent = on_grid._values
    assert np.abs(mean - latent).max() < 1e-2  # the jitter's standard deviation is 1e-3
    assert variance.max() < 2e-6 * 1.3 * 3.0
    rng = np.random.RandomState(0)
    chosen, (sampled,) = sample_latent([on_grid], grid.points()[::-1], 5, rng, None)
    np.testing.assert_array_equal(sampled, latent[chosen].T[::-1])


def test_samples_elsewhere_have_the_joint_moments():
    _, on_grid, grid = _draws((6, 5))
    X = _rows(grid)["mixed"][-5:]
    n = 20_000
    known, sampled = np.split(on_grid.sample(X, 0, n, np.random.RandomState(0)), [2])
    expected = on_grid._values[0][grid.locate(X[:2])]
    np.testing.assert_array_equal(known, np.tile(expected, (n, 1)).T)
    mean, covariance = on_grid.joint(X[2:], 0)
    error = np.sqrt(np.diag(covariance) / n)
    assert (np.abs(sampled.mean(axis=1) - mean) < 5.0 * error + 1e-6).all()
    spread = np.sqrt(np.diag(covariance))
    scale = np.outer(spread, spread)
    assert (np.abs(np.cov(sampled) - covariance) < 5.0 * scale * np.sqrt(2.0 / n) + 1e-6).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_prediction_of_a_fitted_grid():
    rng = np.random.default_rng(5)
    grid = Grid((np.linspace(0.0, 1.0, 15), np.linspace(0.0, 1.0, 15)))
    X = grid.points()
    y = rng.poisson(np.exp(1.0 + np.sin(5.0 * X[:, 0])))
    model = MCMCCoxProcessRegressor(n_chains=2, n_warmup=30, n_draws=30, random_state=0)
    model.fit(X[5:], y[5:])
    assert len(model.X_train_) == 225
    draws = model.trace_.latent.reshape(-1, 225)
    new = np.concatenate([X[::20], rng.random((4, 2))])
    n_known = len(X[::20])
    np.testing.assert_allclose(
        model.predict(new)[:n_known], np.exp(draws).mean(axis=0)[::20], rtol=1e-3
    )
    low, high = model.predict_interval(new, 0.8).T
    assert (low < high).all()
    np.testing.assert_allclose(model.predict_exceedance(new, low), 0.9, rtol=1e-6)
    mean, covariance = model.predict_latent(new, return_cov=True)
    mean_again, std = model.predict_latent(new, return_std=True)
    np.testing.assert_allclose(mean, mean_again, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), std, atol=1e-6)
    assert model.sample_y(X, 3, random_state=0).shape == (225, 3)
    assert model.sample_y(new, 3, random_state=0).shape == (len(new), 3)
    assert (model.predict_quantiles(new, [0.1, 0.9])[:, 0] <= 20.0).all()
    assert np.isfinite(model.log_predictive_density(X, y)).all()
    assert model.score(X, y) > 0.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_the_grid_need_no_covariance():
    grid = Grid((np.linspace(0.0, 1.0, 40), np.linspace(0.0, 1.0, 40)))
    X = grid.points()
    model = MCMCCoxProcessRegressor(n_chains=1, n_warmup=0, n_draws=4, memory_limit=0.2)
    model.fit(X, np.arange(1600) % 3)
    mixed = np.concatenate([X, [[0.5001, 0.5002]]])
    tracemalloc.start()
    drawn = model.sample_y(mixed, 2, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert drawn.shape == (1601, 2)
    assert peak < 8 * 1600**2 / 4  # a quarter of one dense matrix
    with pytest.raises(ValueError, match="the joint covariance of 1601 rows"):
        model.set_params(memory_limit=0.1).sample_y(mixed + 1e-3, 2)


def test_core_predicts_by_the_structure_of_the_model():
    """A dense twin of the model has the same posterior, and predictions by other algebra."""
    grid = Grid((np.linspace(0.0, 1.0, 4), np.linspace(0.0, 2.0, 5)))
    kernel = ConstantKernel(1.0, (0.1, 10.0)) * RBF([1.0, 1.0], (0.3, 3.0))
    likelihood = Poisson(np.arange(20) % 4)
    model = LatentGaussianModel(kernel, grid.points(), likelihood, structure=GridStructure(grid))
    settings = SamplerSettings("prior-white", n_warmup=5, n_draws=10)
    trace = run_chains(model, settings, n_chains=1, random_state=0)
    new = np.random.default_rng(0).random((6, 2))
    twin = model.with_structure(DenseStructure())
    own, dense = predict_latent(model, trace, new), predict_latent(twin, trace, new)
    np.testing.assert_allclose(own[0], dense[0], atol=1e-4)
    np.testing.assert_allclose(own[1], dense[1], atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("representation", ["prior-white", "post-ep"])
def test_states_of_version_0_1_0_are_read(representation):
    """They have a grid, or None, in place of the structure."""
    X = Grid((np.arange(4.0), np.arange(5.0))).points()
    options = {"n_chains": 1, "n_warmup": 5, "n_draws": 5, "random_state": 0}
    model = MCMCCoxProcessRegressor(representation=representation, **options)
    model.fit(X, np.arange(20) % 3)
    old = model.__getstate__()
    structure = old.pop("_structure")
    assert (structure["skgpmcmc"] == "GridStructure") == (representation == "prior-white")
    old["_grid"] = structure["fields"].get("grid")
    again = MCMCCoxProcessRegressor()
    again.__setstate__(old)
    np.testing.assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))
    assert not hasattr(again, "_grid")
    assert again.__getstate__().keys() == model.__getstate__().keys()
