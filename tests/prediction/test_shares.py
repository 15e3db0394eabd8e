"""Shares of the latent function's variance: of its parts, and of columns."""

import numpy as np
import pytest
from fits import quiet
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.estimators import _shares

T = np.arange(32.0)[:, None] / 4.0
SEASON = 0.5 * ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
KERNEL = 1.0 * RBF(3.0) + SEASON + WhiteKernel(0.01)
SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "random_state": 0}
TREND_TRUE, SEASON_TRUE = 0.4 * T[:, 0], np.sin(2.0 * np.pi * T[:, 0])


@pytest.fixture(scope="module")
def series():
    return quiet(MCMCGaussianProcessRegressor(KERNEL, **SHORT), T, TREND_TRUE + SEASON_TRUE)


def test_shares_of_parts_are_those_of_the_truth(series):
    table = series.component_shares(T, labels=["trend", "season"], random_state=0)
    whole = TREND_TRUE + SEASON_TRUE
    for name, truth in (("trend", TREND_TRUE), ("season", SEASON_TRUE)):
        share = np.cov(truth, whole, ddof=0)[0, 1] / whole.var()
        assert abs(table[name]["share"] - share) < 0.05
        assert abs(table[name]["alone"] - truth.var() / whole.var()) < 0.1
        assert table[name]["5%"] <= table[name]["share"] <= table[name]["95%"]
    assert abs(table["trend"]["share"] + table["season"]["share"] - 1.0) < 1e-10
    assert "Covariances between parts" in repr(table)
    assert table.to_frame().shape == (2, 4)


def test_shares_are_those_of_the_samples(series):
    """By plain formulas, of the same draws."""
    samples = series.sample_components(T, 200, random_state=3)
    samples = {name: part for name, part in samples.items() if name != "mean"}
    whole = sum(samples.values())
    table = series.component_shares(T, quantiles=[0.2], random_state=3)
    for name, part in samples.items():
        shares = [
            np.cov(a, b)[0, 1] / np.var(b, ddof=1) for a, b in zip(part.T, whole.T, strict=True)
        ]
        assert abs(table[name]["share"] - np.mean(shares)) < 1e-9
        assert abs(table[name]["20%"] - np.quantile(shares, 0.2)) < 1e-9


def test_the_mean_has_no_share():
    y = np.random.default_rng(0).poisson(np.exp(1.0 + SEASON_TRUE))
    model = quiet(MCMCCoxProcessRegressor(1.0 * RBF(3.0) + SEASON, **SHORT), T, y)
    assert list(model.component_shares(T)) == ["k1", "k2"]
    merged = model.component_shares(T, labels=["mean", "season"], random_state=0)
    np.testing.assert_allclose(
        merged["season"]["share"], model.component_shares(T, random_state=0)["k2"]["share"]
    )


def test_of_many_rows_some_are_taken_of_all_seasons(series):
    many = np.repeat(T, 50, axis=0)
    few = series.component_shares(many, random_state=0)
    assert abs(few["k1__k1"]["share"] - series.component_shares(T)["k1__k1"]["share"]) < 0.15


# Columns ------------------------------------------------------------------------------------------


def test_shares_of_a_table():
    """Effects that are exactly additive, and a product without any effect alone."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 30))
    first, total = _shares._two_way_shares((2.0 * a[:, None] + b)[None])
    expected = 4.0 * np.var(a) / (4.0 * np.var(a) + np.var(b))
    np.testing.assert_allclose([first[0], total[0]], expected, rtol=1e-10)
    a, b = a - a.mean(), b - b.mean()
    first, total = _shares._two_way_shares((a[:, None] * b)[None])
    assert abs(first[0]) < 0.1
    assert abs(total[0] - 1.0) < 0.1


def test_what_varies_with_nothing_has_no_first_order_share():
    """Means of 20 numbers vary, too: by 1/20 of the variance, which is taken off."""
    tables = np.random.default_rng(1).standard_normal((4000, 20, 20))
    first, total = _shares._two_way_shares(tables)
    error = first.std() / np.sqrt(len(first))
    assert abs(first.mean()) < 4.0 * error + 1e-3
    assert abs(total.mean() - 1.0) < 4.0 * error + 1e-3


def test_shares_of_columns_are_sobol_indices():
    """f = x0 + 3 x1 x2 on independent columns, whose indices are known."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (60, 4))
    y = X[:, 0] + 3.0 * X[:, 1] * X[:, 2]
    kernel = 1.0 * RBF([1.0] * 4)
    model = quiet(MCMCGaussianProcessRegressor(kernel, alpha=1e-4, **SHORT), X, y)
    found = [model.column_shares(X, random_state=seed) for seed in range(4)]
    # Variances: 1/3 of x0, and 9/9 of the product.
    expected = {"x0": (0.25, 0.25), "x1": (0.0, 0.75), "x2": (0.0, 0.75), "x3": (0.0, 0.0)}
    for name, shares in expected.items():
        for kind, share in zip(("first_order", "total"), shares, strict=True):
            values = np.array([table[name][kind] for table in found])
            # 32 of 60 random values: variances differ from the population's by some 15 %.
            assert abs(values.mean() - share) < 0.15
    assert list(found[0]["x0"])[:3] == ["first_order", "first_order 5%", "first_order 95%"]


def test_names_of_columns_and_classes():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.standard_normal((12, 2)), columns=["age", "bmi"])
    y = np.arange(12) % 3
    short = {**SHORT, "n_warmup": 5, "n_draws": 5}
    model = quiet(MCMCGaussianProcessClassifier(1.0 * RBF([1.0, 1.0]), **short), X, y)
    assert list(model.column_shares(X))[:3] == ["0: age", "0: bmi", "1: age"]
    assert list(model.component_shares(X)) == ["0: latent", "1: latent", "2: latent"]
    assert all(row["share"] == pytest.approx(1.0) for row in model.component_shares(X).values())


def test_one_column_explains_everything(series):
    table = series.column_shares(T)
    assert list(table) == ["x0"]
    assert table["x0"]["first_order"] == pytest.approx(1.0)
    assert table["x0"]["total"] == pytest.approx(1.0)


def test_refusals(series):
    with pytest.raises(ValueError, match="quantiles must be"):
        series.column_shares(T, quantiles=2.0)
    with pytest.raises(ValueError, match="quantiles must be"):
        series.component_shares(T, quantiles=-1.0)
    for shares in (series.component_shares, series.column_shares):
        with pytest.raises(ValueError, match="X must have two rows or more"):
            shares(T[:1])
    with pytest.raises(ValueError, match="labels must be"):
        series.component_shares(T, labels=["one"])
