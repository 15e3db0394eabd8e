"""Overdispersed counts: the likelihood, and Polya-Gamma variables of any shape."""

from itertools import product

import numpy as np
import pytest
from polya_gamma_draws import ALARM, moments_test, transform_test
from rotation import in_turn
from rounding import ELEMENTWISE, FEW_OPERATIONS, TENS_OF_OPERATIONS
from scipy import stats
from scipy.special import gammaln, log_expit

from skgpmcmc.likelihoods import Likelihood, NegativeBinomial, Poisson, _polya_gamma
from skgpmcmc.likelihoods._polya_gamma import polya_gamma

COUNTS = np.array([3.0, 0.0, 1.0, 12.0, 0.0, 2.0])
EXPOSURE = np.array([0.5, 1.0, 2.0, 1.5, 0.1, 3.0])
LATENT = np.array([0.3, -1.2, 2.0, -0.1, 0.8, 1.4])


@pytest.mark.parametrize("dispersion", [1e-3, 0.3, 1.0, 50.0])
def test_log_probability(dispersion):
    """scipy's distribution, whose p cancels for a small dispersion: not below 1e-3 to 1e-9."""
    mean = EXPOSURE * np.exp(LATENT)
    expected = stats.nbinom.logpmf(COUNTS, 1 / dispersion, 1 / (1 + dispersion * mean))
    fixed = NegativeBinomial(COUNTS, EXPOSURE, dispersion)
    sampled = NegativeBinomial(COUNTS, EXPOSURE)
    np.testing.assert_allclose(fixed.pointwise(LATENT), expected, rtol=1e-9)
    np.testing.assert_array_equal(sampled.pointwise(LATENT, (dispersion,)), fixed.pointwise(LATENT))
    assert fixed.log_likelihood(LATENT) == pytest.approx(expected.sum(), rel=1e-9)
    assert sampled.log_likelihood(LATENT, (dispersion,)) == fixed.log_likelihood(LATENT)
    assert fixed.parameters == ()
    assert sampled.holds_parameters


@pytest.mark.parametrize("dispersion", [1e-8, 1e-10, 1e-14, 1e-100, 1e-300])
def test_without_dispersion_it_is_poisson(dispersion):
    """The next term is dispersion times ((y - mu)^2 - y) / 2, at most 30 here."""
    latent = np.stack([LATENT, LATENT + 1.0, LATENT - 20.0])
    expected = Poisson(COUNTS, EXPOSURE).pointwise(latent)
    value = NegativeBinomial(COUNTS, EXPOSURE, dispersion).pointwise(latent)
    np.testing.assert_allclose(
        value, expected, rtol=TENS_OF_OPERATIONS, atol=1e3 * dispersion + 1e-11
    )


def test_parameter_values_do_not_stick():
    likelihood = NegativeBinomial(COUNTS)
    first = likelihood.log_likelihood(LATENT, (0.5,))
    assert likelihood.log_likelihood(LATENT, (0.7,)) != first
    assert likelihood.log_likelihood(LATENT, (0.5,)) == first
    other = likelihood.with_targets(COUNTS[::-1])
    expected = NegativeBinomial(COUNTS[::-1]).log_likelihood(LATENT, (0.5,))
    assert other.log_likelihood(LATENT, (0.5,)) == expected


@pytest.mark.parametrize("dispersion", [1e-300, 1e-8, 1.0, 1e8, 1e300])
def test_extremes_are_finite_and_do_not_warn(dispersion):
    likelihood = NegativeBinomial([0.0, 5.0, 9e15], [1e-6, 1.0, 1e6], dispersion)
    with np.errstate(all="raise", under="ignore"):
        for latent in (-700.0, -30.0, 0.0, 30.0, 700.0):
            f = np.full(3, latent)
            assert np.isfinite(likelihood.log_likelihood(f))
            assert np.isfinite(likelihood.pointwise(f)).all()
            assert np.isfinite(likelihood.derivatives(f)).all()
            assert np.isfinite(likelihood.fit_sites(latent, 4.0)).all()
            sites = likelihood.augment(f, (), np.random.default_rng(0)).gaussian_sites()
            assert np.isfinite(sites).all()
            assert (sites.precision >= 0.0).all()


def test_huge_counts():
    """At the mode, by Stirling's formula: the relative error of exp() is 1 / (12 r)."""
    count, dispersion = 1e10, 1e-4
    likelihood = NegativeBinomial([count], dispersion=dispersion)
    expected = -0.5 * np.log(2 * np.pi * (count + dispersion * count**2)) - dispersion / 12
    assert likelihood.log_likelihood(np.log([count])) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("dispersion", [1e-8, 0.05, 2.0])
def test_laplace_sites_equal_the_generic_ones(dispersion):
    grid = np.meshgrid([-30.0, -3.0, 0.4, 5.0, 40.0], [1e-4, 1.0, 30.0, 1e4], [0.0, 1.0, 30.0, 1e4])
    mean, variance, y = (axis.ravel() for axis in grid)
    likelihood = NegativeBinomial(y, dispersion=dispersion)
    precision, shift = likelihood.laplace_sites(mean, variance)
    generic = Likelihood.laplace_sites(likelihood, mean, variance)
    total = 1 / variance + generic.precision
    np.testing.assert_allclose(precision / total, generic.precision / total, atol=1e-6)
    np.testing.assert_allclose((shift - generic.shift) / np.sqrt(total), 0.0, atol=1e-4)


def test_taylor_sites():
    y, exposure, dispersion = np.array([6.0, 0.0, 2.0]), np.array([2.0, 1.0, 4.0]), 0.5
    precision, shift = NegativeBinomial(y, exposure, dispersion).taylor_sites()
    np.testing.assert_allclose(precision, [6 * 2 / 8, 0, 2 * 2 / 4])
    np.testing.assert_allclose(shift, precision * np.log([3.0, 1.0, 0.5]))


def test_auxiliary_variables_make_it_gaussian():
    """exp(k t) E exp(-w t^2 / 2), w ~ PG(y + r, 0), is 2^(y + r) sigma(t)^y sigma(-t)^r."""
    n, y, dispersion, f = 60_000, 2.0, 0.7, 1.1
    t = f + np.log(1.5) - np.log(1 / dispersion)
    likelihood = NegativeBinomial(np.full(n, y), np.full(n, 1.5), dispersion)
    at_zero = np.full(n, f - t)
    sites = likelihood.augment(at_zero, (), np.random.default_rng(0)).gaussian_sites()
    values = np.exp(sites.shift * f - 0.5 * sites.precision * f**2)
    values /= np.exp(sites.shift * (f - t) - 0.5 * sites.precision * (f - t) ** 2)
    r = 1 / dispersion
    expected = np.exp((y + r) * np.log(2) + y * log_expit(t) + r * log_expit(-t))
    assert abs(values.mean() - expected) < 5 * values.std() / np.sqrt(n)


def test_auxiliary_draws_do_not_depend_on_the_order_or_on_how_copies_are_given():
    y, exposure = np.array([3.0, 0.0, 1.0, 1.0]), np.array([1.0, 2.0, 2.0, 1.0])
    index, latent = np.array([0, 0, 1, 1]), np.array([0.3, -0.7])
    weight = np.array([1.0, 2.0, 3.0, 1.0])
    rows = np.repeat(np.arange(4), weight.astype(int))[::-1]
    weighted = NegativeBinomial(y, exposure, latent_index=index, sample_weight=weight)
    copied = NegativeBinomial(y[rows], exposure[rows], latent_index=index[rows])
    one, other = (
        likelihood.augment(latent, (0.5,), np.random.default_rng(0)).gaussian_sites()
        for likelihood in (weighted, copied)
    )
    np.testing.assert_allclose(one.precision, other.precision, rtol=ELEMENTWISE)
    np.testing.assert_allclose(one.shift, other.shift, rtol=ELEMENTWISE)


# Polya-Gamma variables of other shapes

SHAPES = [0.05, 0.3, 0.5, 0.9, 1.4, 3.999, 4.0, 4.001, 7.3, 30.5, 1e3]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tilt", [0.0, 1.0, 6.0, 100.0])
def test_moments_and_transforms(shape, tilt):
    draws = polya_gamma(shape, np.full(60_000, tilt), np.random.default_rng(1))
    assert moments_test(draws, shape, tilt) > ALARM
    # Transforms of a sum of many need arguments of the order of one over the sum.
    if shape < 10:
        assert transform_test(draws, shape, tilt) > ALARM


@pytest.mark.parametrize("shape", [1e5, 1e8, 1e12])
@pytest.mark.parametrize("tilt", [0.0, 2.0, 18.0, 1e4])
def test_huge_shapes_are_normal(shape, tilt):
    draws = polya_gamma(shape, np.full(20_000, tilt), np.random.default_rng(2))
    mean = shape * (0.25 if tilt == 0 else np.tanh(tilt / 2) / (2 * tilt))
    tail = np.exp(-tilt)
    variance = shape / 24
    if tilt:
        # (sinh c - c) / (4 c^3 cosh(c / 2)^2), without overflow.
        variance = shape * (1 - tail**2 - 2 * tilt * tail) / (2 * tilt**3 * (1 + tail) ** 2)
    standardised = (draws - mean) / np.sqrt(variance)
    assert stats.kstest(standardised, "norm").pvalue > ALARM


def inverse_laplace_cdf(x, shape, tilt):
    """P(w <= x) by Euler's algorithm (Abate and Whitt 1995), to about 1e-8."""
    n, extra, a = 60, 12, 20.0

    def transform(s):
        root = np.sqrt(tilt**2 / 4 + s / 2)
        log_cosh = root + np.log1p(np.exp(-2 * root)) - np.log(2)
        start = tilt / 2 + np.log1p(np.exp(-tilt)) - np.log(2)
        return np.exp(shape * (start - log_cosh)) / s

    k = np.arange(n + extra + 1)
    terms = (-1.0) ** k * transform((a + 2j * np.pi * k) / (2 * x)).real
    terms[0] *= 0.5
    sums = np.exp(a / 2) / x * terms.cumsum()
    weights = stats.binom.pmf(np.arange(extra + 1), extra, 0.5)
    return float(weights @ sums[n:])


SHAPES, TILTS = [0.3, 0.8, 2.5, 4.5, 12.0], [0.0, 3.0, 30.0]


@pytest.mark.parametrize(
    ("shape", "tilt"), in_turn(product(SHAPES, TILTS), len(TILTS), SHAPES, TILTS)
)
def test_tails_and_middle_follow_the_distribution_function(shape, tilt):
    n_draws = 200_000
    draws = polya_gamma(shape, np.full(n_draws, tilt), np.random.default_rng(3))
    ends = np.quantile(draws, [1e-3, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99, 0.999])
    cdf = np.array([inverse_laplace_cdf(x, shape, tilt) for x in ends])
    assert (np.diff(cdf) > 0).all()
    # Fresh draws: the ends depend on the first ones.
    fresh = polya_gamma(shape, np.full(n_draws, tilt), np.random.default_rng(4))
    counts = np.bincount(np.searchsorted(ends, fresh), minlength=9)
    expected = n_draws * np.diff(np.r_[0.0, cdf, 1.0])
    assert stats.chisquare(counts, expected).pvalue > ALARM


def test_the_reference_is_right_where_it_is_known():
    # PG(1, 0) is the sum of Exp(1) / (2 pi^2 (k - 1/2)^2): its tail is an alternating series.
    x, k = 0.4, np.arange(40)
    tail = (
        4 / np.pi * ((-1.0) ** k / (2 * k + 1) * np.exp(-2 * (k + 0.5) ** 2 * np.pi**2 * x)).sum()
    )
    assert inverse_laplace_cdf(x, 1.0, 0.0) == pytest.approx(1 - tail, abs=1e-7)


def test_acceptance_of_shapes_below_one():
    """Between its bounds, decreasing, and for a shape of one the other sampler's."""
    level = np.linspace(0.0, 1.0, 41)
    times = np.geomspace(1e-3, 40.0, 2001)
    grid = np.array(
        [_polya_gamma._acceptance_below_one(times, np.full(times.size, b)) for b in level]
    )
    assert grid.max() <= 1.0 + FEW_OPERATIONS
    assert (np.diff(grid, axis=1) < TENS_OF_OPERATIONS).all()
    bound = 1 - (2 + level[:, None]) * np.exp(-2 * (1 + level[:, None]) / times)
    assert (bound <= grid + TENS_OF_OPERATIONS).all()
    np.testing.assert_allclose(grid[-1], _polya_gamma._acceptance(times), atol=TENS_OF_OPERATIONS)
    # The density of 4 PG(1/2, 0) at one, from its series in gamma functions.
    n = np.arange(30)
    coefficient = np.exp(gammaln(n + 0.5) - gammaln(n + 1) - gammaln(0.5)) * (-1.0) ** n
    height = (2 * n + 0.5) / np.sqrt(2 * np.pi) * np.exp(-((2 * n + 0.5) ** 2) / 2)
    first = 0.5 / np.sqrt(2 * np.pi) * np.exp(-0.125)
    value = _polya_gamma._acceptance_below_one(np.ones(1), np.array([0.5]))[0]
    assert value == pytest.approx((coefficient * height).sum() / first, rel=ELEMENTWISE)


@pytest.mark.parametrize(
    "fault",
    [
        lambda x, b: np.ones_like(x),
        lambda x, b: np.maximum(1 - (2 + b) * np.exp(-2 * (1 + b) / x), 0.0),
    ],
)
def test_faults_below_one_are_found(monkeypatch, fault):
    monkeypatch.setattr(_polya_gamma, "_acceptance_below_one", fault)
    draws = polya_gamma(0.8, np.zeros(60_000), np.random.default_rng(1))
    assert min(moments_test(draws, 0.8, 0.0), transform_test(draws, 0.8, 0.0)) < ALARM


def test_a_gamma_variable_without_the_third_cumulant_would_be_found(monkeypatch):
    """The tests see the remainder's shape: a normal one, of the same mean and variance."""
    from skgpmcmc.likelihoods import _polya_gamma as series

    def normal(shape, n_rows, rng):
        return 1 + rng.standard_normal((n_rows, shape.size)) / np.sqrt(shape)

    monkeypatch.setattr(series, "inverse_gaussian", normal)
    draws = polya_gamma(4.5, np.full(200_000, 100.0), np.random.default_rng(3))
    assert transform_test(draws, 4.5, 100.0) < ALARM or third_test(draws, 4.5, 100.0) < ALARM


def third_test(draws, shape, tilt):
    centred = draws - draws.mean()
    skew = (centred**3).mean() / (centred**2).mean() ** 1.5
    # PG(b, c) is inverse Gaussian of mean b / (2 c) and shape b^2 / 4 for a large c.
    expected = 3 * np.sqrt((shape / (2 * tilt)) / (shape**2 / 4))
    blocks = draws.reshape(50, -1)
    blocks = blocks - blocks.mean(axis=1, keepdims=True)
    skews = (blocks**3).mean(axis=1) / (blocks**2).mean(axis=1) ** 1.5
    return 2 * stats.norm.sf(abs(skew - expected) / (skews.std() / np.sqrt(50)))


def test_skewness_of_the_series():
    draws = polya_gamma(4.5, np.full(400_000, 100.0), np.random.default_rng(3))
    assert third_test(draws, 4.5, 100.0) > ALARM


def test_shapes_of_zero_and_nan():
    draws = polya_gamma([0.0, 5.5, 0.5, 3.0], [1.0, np.nan, np.nan, 2.0], np.random.default_rng(0))
    assert draws[0] == 0.0
    np.testing.assert_array_equal(np.isnan(draws), [False, True, True, False])


def test_extreme_tilts_of_large_shapes():
    draws = polya_gamma(50.0, np.array([1e300, 1e150, 1e8]), np.random.default_rng(0))
    np.testing.assert_allclose(draws * np.array([1e300, 1e150, 1e8]), 25.0, rtol=1e-2)


def test_cost_does_not_depend_on_a_large_shape(monkeypatch):
    monkeypatch.setattr(_polya_gamma, "_exit_times", None)
    assert np.isfinite(polya_gamma(1e15, np.zeros(3), np.random.default_rng(0))).all()
