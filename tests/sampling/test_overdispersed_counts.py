"""Predictive probabilities and quantiles of overdispersed counts, and the Cox regressor's."""

import numpy as np
import pytest
from rotation import one_in
from rounding import ELEMENTWISE
from scipy import stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.likelihoods.predictive._logistic import (
    _beta_tail,
    _tail,
    log_logistic_mean,
    negative_binomial_log_pmf,
    negative_binomial_quantiles,
)
from skgpmcmc.likelihoods.predictive._poisson import poisson_log_pmf, poisson_quantiles

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 0}
QUANTILES = [0.01, 0.05, 0.3, 0.5, 0.9, 0.999]


def nbinom(mean, dispersion):
    return stats.nbinom(1.0 / dispersion, 1.0 / (1.0 + dispersion * mean))


def one(value):
    return np.full((1, 1), float(value))


def log_average(log_values, mean, scale, n_nodes=60_001):
    """Log of E exp(log_values(t)), t ~ N(mean, scale^2), on a grid of 60 deviations."""
    z = np.linspace(-60.0, 60.0, n_nodes)
    terms = log_values(mean + scale * z) + stats.norm.logpdf(z)
    peak = terms.max()
    return peak + np.log(np.exp(terms - peak).sum() * (z[1] - z[0]))


@pytest.mark.parametrize("dispersion", [1e-3, 0.3, 4.0])
@pytest.mark.parametrize("variance", [0.0, 1e-3, 0.5, 20.0])
def test_log_pmf_against_sums_over_f(dispersion, variance):
    for y in (0.0, 3.0, 500.0):
        for mean in (-4.0, 1.0, 6.0):
            parts = np.array([y]), one(mean), one(variance), np.array([2.0])
            value = negative_binomial_log_pmf(*parts, np.array([dispersion]))[0, 0]

            def log_pmf(f, y=y):
                return nbinom(2.0 * np.exp(f), dispersion).logpmf(y)

            spread = np.sqrt(variance)
            expected = log_average(log_pmf, mean, spread) if variance else log_pmf(mean)
            assert value == pytest.approx(expected, abs=1e-7, rel=1e-8)


def test_every_draw_has_its_own_dispersion():
    dispersion = np.array([0.1, 1.0, 5.0])
    parts = np.array([2.0, 0.0]), np.zeros((3, 2)), np.full((3, 2), 0.4), np.ones(2)
    together = negative_binomial_log_pmf(*parts, dispersion)
    for d in range(3):
        alone = negative_binomial_log_pmf(
            parts[0], parts[1][d : d + 1], parts[2][d : d + 1], parts[3], dispersion[d : d + 1]
        )
        np.testing.assert_allclose(together[d : d + 1], alone, rtol=ELEMENTWISE)


@pytest.mark.parametrize("dispersion", [1e-9, 1e-12])
def test_without_dispersion_it_is_poisson(dispersion):
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(1.0, 2.0, (3, 8)), rng.gamma(1.0, 0.5, (3, 8))
    y, exposure = rng.poisson(3.0, 8), rng.uniform(0.5, 2.0, 8)
    values = negative_binomial_log_pmf(y, mean, variance, exposure, np.full(3, dispersion))
    np.testing.assert_allclose(values, poisson_log_pmf(y, mean, variance, exposure), atol=1e-6)
    quantiles = negative_binomial_quantiles(
        mean, variance, exposure, np.full(3, dispersion), QUANTILES
    )
    expected = poisson_quantiles(mean, variance, exposure, QUANTILES)
    np.testing.assert_array_equal(quantiles, expected)


@pytest.mark.parametrize("a", [0.0, 1.0, 30.0, 1e4, 1e8])
@pytest.mark.parametrize("b", [0.05, 3.0, 1e3, 1e9])
def test_logistic_means_swap_and_do_not_exceed_the_maximum(a, b):
    mean, variance = np.array([[-40.0, -3.0, 0.0, 5.0, 40.0]]), np.full((1, 5), 25.0)
    value = log_logistic_mean(a, b, mean, variance)
    np.testing.assert_allclose(
        value, log_logistic_mean(b, a, -mean, variance), rtol=1e-9, atol=1e-8
    )
    share = a / (a + b)
    top = (a * np.log(share) if a else 0.0) + b * np.log1p(-share)
    assert (value <= top + 1e-6).all()


@pytest.mark.parametrize("b", [0.05, 0.5, 3.0, 100.0, 2e3])
@pytest.mark.parametrize("a", [1.0, 4.0, 300.0, 5e3])
def test_tails_against_sums_of_beta_functions(a, b):
    z = np.linspace(-7.0, 7.0, 4001)
    weights = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    width = 1 / a + 1 / b
    for scale in (0.0, 1e-3, 0.05, 0.3, 1.0, 3.0):
        # No finer than the 4001 points resolve.
        if scale * 14 / 4001 > 0.5 / np.hypot(np.sqrt(1 / width), 2.0):
            continue
        for deviations in (-2.0, 0.3, 2.5):
            mean = np.log(a / b) + deviations * np.sqrt(min(width, 9.0) + scale**2)
            for upper, sign in ((True, 1.0), (False, -1.0)):
                cdf = stats.beta.sf if upper else stats.beta.cdf
                expected = weights @ cdf(expit(mean + scale * z), a, b)
                parts = (np.array([v]) for v in (a, b, mean, scale))
                assert _tail(*parts, sign)[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("a", "b"), [(1e3, 1e3), (2e3, 1e5), (1e6, 1e3), (1e5, 1e5)])
def test_saddle_point_tails_are_accurate_where_they_begin(a, b):
    t = np.log(a / b) + np.array([-3.0, -1e-3, 0.0, 1e-2, 1.0, 4.0]) * np.sqrt(1 / a + 1 / b)
    arrays = np.full(6, a), np.full(6, b), t
    np.testing.assert_allclose(_beta_tail(*arrays, 1.0), stats.beta.sf(expit(t), a, b), atol=2e-7)
    np.testing.assert_allclose(_beta_tail(*arrays, -1.0), stats.beta.cdf(expit(t), a, b), atol=2e-7)


def test_quantiles_without_variance():
    rate, dispersion = np.array([0.01, 0.5, 3.0, 40.0, 5e3]), 0.7
    zero = np.zeros((1, rate.size))
    quantiles = negative_binomial_quantiles(
        np.log(rate)[np.newaxis], zero, np.ones(rate.size), np.array([dispersion]), QUANTILES
    )
    expected = nbinom(rate[:, np.newaxis], dispersion).ppf(QUANTILES)
    np.testing.assert_array_equal(quantiles, expected)


@pytest.mark.parametrize("scale", [1e-3, 0.4, 2.0])
def test_quantiles_against_sums_of_probabilities(scale):
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(1.0, 1.0, (7, 1)), scale**2 * rng.gamma(1.0, size=(7, 1))
    dispersion, exposure = np.geomspace(1e-3, 3.0, 7), np.array([2.0])
    quantiles = negative_binomial_quantiles(mean, variance, exposure, dispersion, QUANTILES)[0]
    k = np.arange(quantiles[-1] + 1.0)
    log_pmf = negative_binomial_log_pmf(
        k, *(np.repeat(v, k.size, axis=1) for v in (mean, variance)), exposure, dispersion
    )
    cdf = np.exp(log_pmf).mean(axis=0).cumsum()
    for quantile, value in zip(QUANTILES, quantiles.astype(int), strict=True):
        assert cdf[value] > quantile - 2e-6
        assert value == 0 or cdf[value - 1] < quantile + 2e-6


# The regressor


def counts(n=30, seed=0, dispersion=0.5):
    rng = np.random.default_rng(seed)
    X, exposure = rng.uniform(0.0, 6.0, (n, 1)), rng.uniform(0.5, 20.0, n)
    rate = exposure * np.exp(np.sin(X[:, 0])) * rng.gamma(1 / dispersion, dispersion, n)
    return X, rng.poisson(rate), exposure


def regressor(**options):
    return MCMCCoxProcessRegressor(**{"likelihood": "negative-binomial", **SHORT, **options})


@pytest.mark.parametrize("representation", one_in(2, ["collapsed", "post-site"]))
def test_dispersion_alone(representation):
    """Without a latent function: the posterior of the dispersion on a grid."""
    kernel = ConstantKernel(1e-10, "fixed") * RBF(1.0, "fixed")
    rng = np.random.default_rng(3)
    y = rng.poisson(5.0 * rng.gamma(2.0, 0.5, 40))
    model = regressor(
        kernel=kernel, mean="zero", representation=representation, n_draws=1500, n_warmup=100
    )
    draws = np.log(model.fit(np.arange(40.0)[:, None], y, exposure=5.0).posterior_["dispersion"])
    grid = np.linspace(-6.0, 4.0, 4001)
    dispersion = np.exp(grid)
    log_p = nbinom(5.0, dispersion[:, np.newaxis]).logpmf(y).sum(axis=1)
    log_p += 0.5 * grid - 0.5 * dispersion  # the square of a half-normal variable, on a log scale
    weights = np.exp(log_p - log_p.max())
    weights /= weights.sum()
    mean = weights @ grid
    sd = np.sqrt(weights @ (grid - mean) ** 2)
    assert abs(draws.mean() - mean) < 4 * mcse_mean(draws)
    assert abs(draws.std() - sd) < 4 * mcse_mean((draws - mean) ** 2) / (2 * sd)


def test_predictions_are_consistent():
    X, y, exposure = counts()
    model = regressor().fit(X, y, exposure=exposure)
    assert model.posterior_["dispersion"].shape == (2, 40)
    assert "dispersion" in model.diagnostics_
    grid = np.tile(X[:1], (4000, 1))
    log_p = model.log_predictive_density(grid, np.arange(4000), exposure=5.0)
    p = np.exp(log_p)
    assert p.sum() == pytest.approx(1.0, abs=1e-4)
    cdf = p.cumsum()
    values = model.predict_quantiles(X[:1], [0.1, 0.5, 0.9], exposure=5.0)[0].astype(int)
    for quantile, value in zip([0.1, 0.5, 0.9], values, strict=True):
        assert cdf[value] > quantile - 2e-6
        assert value == 0 or cdf[value - 1] < quantile + 2e-6
    draws = model.sample_y(X[:1], 4000, random_state=0, exposure=5.0)
    assert np.issubdtype(draws.dtype, np.integer)
    for k in values:
        error = np.sqrt(cdf[k] * (1 - cdf[k]) / 4000)
        assert abs((draws <= k).mean() - cdf[k]) < 5 * error
    ends = model.predict_interval(X)
    assert (ends[:, 0] < model.predict(X)).all()
    assert np.isfinite(model.score(X, y, exposure=exposure))


def test_a_tiny_fixed_dispersion_is_poisson():
    X, y, exposure = counts()
    options = {"representation": "post-site"}
    poisson = MCMCCoxProcessRegressor(**SHORT, **options).fit(X, y, exposure=exposure)
    model = regressor(dispersion=1e-12, **options).fit(X, y, exposure=exposure)
    assert "dispersion" not in model.posterior_
    np.testing.assert_allclose(model.predict(X), poisson.predict(X), rtol=1e-3)
    quantiles = [0.1, 0.5, 0.9]
    np.testing.assert_allclose(
        model.predict_quantiles(X, quantiles), poisson.predict_quantiles(X, quantiles), atol=1
    )


def test_predictions_are_of_what_was_fitted():
    X, y, exposure = counts()
    model = regressor(dispersion=2.0).fit(X, y, exposure=exposure)
    before = model.predict_quantiles(X, [0.9])
    model.set_params(likelihood="poisson", dispersion=None)
    np.testing.assert_array_equal(model.predict_quantiles(X, [0.9]), before)


def test_repeated_rows_and_weights_are_the_same():
    X, y, exposure = counts(10)
    weights = np.array([1, 2, 3, 1, 0, 2, 1, 1, 4, 1])
    rows = np.repeat(np.arange(10), weights)
    model = regressor(representation="collapsed")
    weighted = model.fit(X, y, sample_weight=weights, exposure=exposure).predict(X)
    repeated = model.fit(X[rows], y[rows], exposure=exposure[rows]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    fractional = 0.3 * np.maximum(weights, 1)
    assert np.isfinite(model.fit(X, y, fractional, exposure=exposure).predict(X)).all()


def test_extremes():
    X = np.arange(6.0)[:, None]
    none = regressor().fit(X, np.zeros(6), exposure=10.0)
    assert none.predict(X).max() < 0.2
    huge = regressor().fit(X, [0, 10**9, 3, 10**4, 10, 0])
    assert np.isfinite(huge.predict(X)).all()
    assert (huge.sample_y(X, 3, exposure=1e300) >= 0).all()
    assert (huge.predict_quantiles(X, [0.5]) >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dispersion": 0.0}, "'dispersion' parameter"),
        ({"dispersion": -1.0}, "'dispersion' parameter"),
        ({"dispersion": np.inf}, "dispersion"),
        ({"dispersion": True}, "dispersion must be a number, not a bool"),
        ({"likelihood": "negative"}, "'likelihood' parameter"),
        (
            {"dispersion": 0.5, "priors": {"dispersion": stats.gamma(1.0)}},
            r"'dispersion', which is not sampled: likelihood='negative-binomial', dispersion=0\.5",
        ),
        (
            {"likelihood": "poisson", "priors": {"dispersion": stats.gamma(1.0)}},
            r"'dispersion', which is not sampled: likelihood='poisson'.*negative-binomial",
        ),
        ({"likelihood": "poisson", "representation": "collapsed"}, "collapsed.*Poisson"),
    ],
)
def test_bad_parameters(options, message):
    X, y, _ = counts()
    model = clone(regressor(**options))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
