"""Predictive mixtures against closed forms, dense quadrature and definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rotation import one_in
from rounding import ELEMENTWISE, EPS, FEW_OPERATIONS
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import (
    betaln,
    expit,
    gammaln,
    log_expit,
    logsumexp,
    ndtr,
    ndtri,
    pdtr,
    roots_legendre,
    stdtr,
)

from skgpmcmc.likelihoods.predictive._lattice_sums import BROAD_VARIANCE
from skgpmcmc.likelihoods.predictive._logistic import (
    binomial_log_pmf,
    negative_binomial_log_pmf,
)
from skgpmcmc.likelihoods.predictive._mixtures import (
    log_mean_exp,
    normal_exceedance,
    normal_log_density,
    normal_nodes,
    normal_quantiles,
    softmax_probabilities,
    total_moments,
)
from skgpmcmc.likelihoods.predictive._poisson import poisson_log_pmf, poisson_quantiles
from skgpmcmc.likelihoods.predictive._student_t import (
    student_t_exceedance,
    student_t_log_density,
    student_t_quantiles,
)

QUANTILES = [1e-9, 0.01, 0.05, 0.5, 0.7, 0.95, 0.999]


def draws(n_draws, n_rows, seed=0):
    """Means and variances of very different scales."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3, size=(1, n_rows))
    mean = rng.normal(size=(1, n_rows)) + scale * rng.normal(size=(n_draws, n_rows))
    return mean, scale**2 * rng.gamma(1.0, size=(n_draws, n_rows))


def one(value):
    return np.full((1, 1), float(value))


def log_integral(log_integrand, centres, scales):
    """Gauss-Legendre on panels that double in width away from every centre."""
    steps = 2.0 ** np.arange(-3, 40)
    edges = [c + s * np.r_[-steps, 0.0, steps] for c, s in zip(centres, scales, strict=True)]
    edges = np.unique(np.concatenate(edges))
    node, weight = np.polynomial.legendre.leggauss(40)
    half = 0.5 * np.diff(edges)[:, np.newaxis]
    x = edges[:-1, np.newaxis] + half * (1.0 + node)
    return logsumexp(log_integrand(x), b=half * weight)


# Moments, means of exponentials, normal densities


def test_total_moments_example():
    mean, variance = total_moments(np.array([[0.0], [2.0]]), np.array([[1.0], [0.25]]))
    assert mean[0] == 1.0
    assert variance[0] == 1.625


def test_total_moments_do_not_cancel_and_do_not_overflow():
    mean = np.array([[1e8, 1e150, 0.0], [1e8 + 2.0, -1e150, 0.0]])
    variance = np.array([[0.0, 1e300, 1e-300], [0.0, 1e300, 3e-300]])
    mean, variance = total_moments(mean, variance)
    np.testing.assert_array_equal(mean, [1e8 + 1.0, 0.0, 0.0])
    np.testing.assert_allclose(variance, [1.0, 2e300, 2e-300], rtol=FEW_OPERATIONS)


def test_log_mean_exp():
    values = np.array([[-1e5, -np.inf, 0.0, np.inf], [-1e5 + np.log(3.0), -np.inf, -np.inf, 800.0]])
    expected = [-1e5 + np.log(2.0), -np.inf, -np.log(2.0), np.inf]
    np.testing.assert_allclose(log_mean_exp(values), expected, rtol=FEW_OPERATIONS)


def test_normal_log_density():
    mean, variance = draws(5, 30)
    y = np.linspace(-3.0, 3.0, 30)
    expected = stats.norm.logpdf(y, mean, np.sqrt(variance))
    density = normal_log_density(y, mean, variance)
    np.testing.assert_allclose(density, expected, rtol=ELEMENTWISE, atol=ELEMENTWISE)


def test_normal_log_density_at_extreme_scales():
    mean = np.array([[1.0, 1.0, 1e150, 1e150]])
    variance = np.array([[0.0, 0.0, 1e-300, 1e300]])
    value = normal_log_density(np.array([1.0, 2.0, -1e150, -1e150]), mean, variance)
    np.testing.assert_array_equal(value[0, :3], [np.inf, -np.inf, -np.inf])
    assert value[0, 3] == pytest.approx(-2.0 - 150 * np.log(10.0) - 0.5 * np.log(2 * np.pi))


# Normal quantiles


def test_quantiles_of_one_normal():
    mean, variance = draws(1, 50)
    expected = mean[0, :, np.newaxis] + np.sqrt(variance)[0, :, np.newaxis] * ndtri(QUANTILES)
    error = normal_quantiles(mean, variance, QUANTILES) - expected
    assert np.all(np.abs(error) <= 1e-10 * np.sqrt(variance)[0, :, np.newaxis])


def test_normal_quantiles_invert_the_distribution_function():
    mean, variance = draws(40, 50)
    x = normal_quantiles(mean, variance, QUANTILES)
    score = (x - mean[:, :, np.newaxis]) / np.sqrt(variance)[:, :, np.newaxis]
    lower, upper = ndtr(score).mean(axis=0), ndtr(-score).mean(axis=0)
    q = np.array(QUANTILES)
    error = np.where(q <= 0.5, lower - q, upper - (1.0 - q)) / np.minimum(q, 1.0 - q)
    assert np.abs(error).max() < 1e-8


@pytest.mark.parametrize("power", [-400, 400])
def test_normal_quantiles_scale_exactly(power):
    mean, variance = draws(10, 20)
    unit = 2.0**power
    scaled = normal_quantiles(unit * mean, unit * unit * variance, QUANTILES)
    expected = unit * normal_quantiles(mean, variance, QUANTILES)
    scale = unit * np.sqrt(variance.min(axis=0))[:, np.newaxis]
    assert np.all(np.abs(scaled - expected) <= 2e-10 * scale)


def test_normal_quantiles_with_components_of_all_scales():
    # Half of the mass is at zero, seen from the other half.
    variance = np.array([[1e-300, 1e300], [1e300, 1.0]])
    x = normal_quantiles(np.zeros((2, 2)), variance, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(x[0], 1e150 * ndtri([0.2, 0.5, 0.8]), atol=1e-140, rtol=1e-9)
    np.testing.assert_allclose(x[1], x[0], atol=10.0, rtol=1e-9)
    # A quantile inside the narrow half is found to its own scale.
    inside = normal_quantiles(np.zeros((2, 1)), variance[:, :1], [0.3])
    np.testing.assert_allclose(inside, 1e-150 * ndtri(0.1), rtol=1e-9)


def test_quantiles_of_atoms_are_order_statistics():
    atoms = np.random.default_rng(3).permutation(np.arange(1.0, 11.0))
    q = np.arange(1, 10) / 10.0
    mean = np.stack([atoms, 1e150 * atoms, -1e-150 * atoms], axis=1)
    x = normal_quantiles(mean, np.zeros_like(mean), q)
    np.testing.assert_array_equal(x[0], np.arange(1.0, 10.0))
    np.testing.assert_array_equal(x[1], 1e150 * np.arange(1.0, 10.0))
    np.testing.assert_array_equal(x[2], -1e-150 * np.arange(10.0, 1.0, -1.0))
    just_above = normal_quantiles(mean[:, :1], np.zeros((10, 1)), q + 1e-12)
    np.testing.assert_array_equal(just_above[0], np.arange(2.0, 11.0))


def test_quantiles_with_an_atom_among_normals():
    mean, variance = np.array([[0.0], [0.5], [0.0]]), np.array([[1.0], [0.0], [1.0]])
    # The atom covers the probabilities from 2/3 ndtr(1/2) = 0.461 to 0.794.
    x = normal_quantiles(mean, variance, [0.4, 0.47, 0.6, 0.79, 0.9])[0]
    np.testing.assert_array_equal(x[1:4], 0.5)
    assert x[0] == pytest.approx(ndtri(0.6), abs=1e-9)
    assert x[4] == pytest.approx(ndtri(0.85), abs=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda q: normal_quantiles(*draws(7, 9), q),
        lambda q: student_t_quantiles(*draws(7, 9), np.ones(7), np.full(7, 3.0), q),
        lambda q: poisson_quantiles(*(0.1 * x for x in draws(7, 4)), np.ones(4), q),
    ],
    ids=["normal", "student_t", "poisson"],
)
def test_quantiles_are_monotone_and_keep_the_order_asked_for(function):
    q = np.r_[np.linspace(0.0, 1.0, 21), 0.5 + 1e-15 * np.arange(1, 6)]
    order = np.random.default_rng(1).permutation(q.size)
    x = function(q)
    np.testing.assert_array_equal(function(q[order]), x[:, order])
    assert np.all(x[:, np.argsort(q)[1:]] >= x[:, np.argsort(q)[:-1]])
    assert np.all(x[:, 20] == np.inf)
    assert np.all(x[:, 0] <= 0.0)


# Student-t noise


def student_t_upper_tail(x, variance, nu):
    """P(f + t > x) by adaptive quadrature over f."""
    if variance == 0.0:
        return stats.t.sf(x, nu)
    scale = np.sqrt(variance)
    jump = x / scale
    points = sorted({p for p in (jump + np.r_[-30, -3, 0, 3, 30] / scale) if abs(p) < 9.0})
    integral = quad(
        lambda z: math.exp(-0.5 * z * z) * stdtr(nu, scale * z - x),
        -9.0,
        9.0,
        points=points,
        epsabs=1e-11,
        epsrel=1e-10,
        limit=400,
    )[0]
    return integral / math.sqrt(2.0 * math.pi)


@pytest.mark.parametrize("nu", [1.0, 2.5, 10.0, 100.0])
@pytest.mark.parametrize("variance", [0.0, 1e-3, 1.0, 1e3])
def test_student_t_quantiles_against_quad(nu, variance):
    q = [0.5, 0.8, 0.99, 0.9999]
    x = student_t_quantiles(one(0.0), one(variance), np.ones(1), np.array([nu]), q)[0]
    tails = [student_t_upper_tail(value, variance, nu) for value in x]
    np.testing.assert_allclose(tails, 1.0 - np.array(q), rtol=1e-6)
    mirrored = student_t_quantiles(one(0.0), one(variance), np.ones(1), np.array([nu]), [0.01])
    assert mirrored[0, 0] == pytest.approx(-x[2], rel=1e-6)


def test_student_t_quantiles_of_a_mixture():
    mean, variance = np.array([[0.0], [3.0]]), np.zeros((2, 1))
    scale2, nu = np.array([0.25, 4.0]), np.array([1.0, 5.0])
    x = student_t_quantiles(mean, variance, scale2, nu, [0.1, 0.5, 0.975])[0]
    probability = 0.5 * stats.t.cdf(x / 0.5, 1.0) + 0.5 * stats.t.cdf((x - 3.0) / 2.0, 5.0)
    np.testing.assert_allclose(probability, [0.1, 0.5, 0.975], rtol=0.0, atol=1e-7)


def test_student_t_quantiles_tend_to_the_normal():
    mean, variance = draws(5, 10)
    x = student_t_quantiles(mean, variance, np.full(5, 0.5), np.full(5, 1e9), [0.025, 0.6])
    expected = normal_quantiles(mean, variance + 0.5, [0.025, 0.6])
    scale = np.sqrt(variance + 0.5).max(axis=0)[:, np.newaxis]
    assert np.all(np.abs(x - expected) < 1e-6 * scale)


def test_student_t_quantiles_at_extreme_scales():
    mean, variance = np.array([[1e150, 0.0, 0.0]]), np.array([[1e-300, 1e300, 0.0]])
    x = student_t_quantiles(mean, variance, np.array([1e-300]), np.ones(1), [0.25, 0.75])
    assert np.all(x[0] == 1e150)
    np.testing.assert_allclose(x[1], 1e150 * ndtri([0.25, 0.75]), rtol=1e-6)
    np.testing.assert_allclose(x[2], [-1e-150, 1e-150], rtol=1e-5)


@pytest.mark.parametrize("nu", [0.1, 1.0, 2.5, 10.0, 100.0, 1e6])
def test_student_t_exceedance_without_variance(nu):
    x = np.array([-1e3, -3.0, 0.0, 0.1, 5.0, 30.0, 1e5])
    zero = np.zeros((1, x.size))
    above = student_t_exceedance(2.0 * x + 1.0, zero + 1.0, zero, np.array([4.0]), np.array([nu]))
    np.testing.assert_allclose(above, stats.t.sf(x, nu), rtol=2e-6, atol=1e-18)


@pytest.mark.parametrize("nu", [1.0, 4.0, 30.0])
@pytest.mark.parametrize("variance", [1e-3, 1.0, 1e3])
def test_student_t_exceedance_against_quad(nu, variance):
    for x in (-2.0, 0.0, 0.7, 20.0):
        above = student_t_exceedance(
            np.array([x]), one(0.0), one(variance), np.ones(1), np.array([nu])
        )
        assert above[0] == pytest.approx(student_t_upper_tail(x, variance, nu), rel=2e-6)


@pytest.mark.parametrize("nu", [0.1, 1.0, 50.0])
def test_student_t_exceedance_at_extreme_scales(nu):
    mean, variance = np.array([[1e300, 0.0, 0.0, -1e308]]), np.array([[1e-300, 1e300, 0.0, 1.0]])
    parts = mean, variance, np.array([1e-300]), np.array([nu])
    for x, expected in ((np.inf, 0.0), (-np.inf, 1.0)):
        np.testing.assert_array_equal(student_t_exceedance(np.full(4, x), *parts), expected)
    above = student_t_exceedance(np.array([1e299, 1e150, 0.0, 1e308]), *parts)
    expected = [1.0, ndtr(-1.0), 0.5, 0.0]
    np.testing.assert_allclose(above, expected, rtol=1e-6 if nu > 0.5 else 1e-2, atol=1e-9)


def test_normal_exceedance_of_atoms_is_of_larger_ones():
    atoms = np.array([[1.0], [2.0], [2.0], [3.0]])
    for x, expected in ((0.0, 1.0), (1.0, 0.75), (2.0, 0.25), (2.5, 0.25), (3.0, 0.0)):
        assert normal_exceedance(np.array([x]), atoms, np.zeros((4, 1)))[0] == expected


def test_normal_exceedance_is_accurate_in_the_tail():
    mean, variance = draws(6, 40)
    x = np.linspace(-8.0, 30.0, 40) * np.sqrt(variance.max(axis=0)) + mean.max(axis=0)
    expected = stats.norm.sf(x, mean, np.sqrt(variance)).mean(axis=0)
    np.testing.assert_allclose(normal_exceedance(x, mean, variance), expected, rtol=1e-10)
    assert expected.min() < 1e-150


@pytest.mark.parametrize("nu", [1.0, 1.7, 4.0, 30.0, 1000.0])
def test_student_t_log_density_against_quadrature(nu):
    for ratio in [0.0, 1e-12, 1e-4, 0.1, 1.0, 30.0, 1e4, 1e12]:
        distance = np.array([0.0, 0.3, 2.0, 6.0, 12.0, 40.0, 1e3]) * np.sqrt(max(1.0, ratio))
        shape = (1, distance.size)
        value = student_t_log_density(
            distance, np.zeros(shape), np.full(shape, ratio), np.ones(1), np.array([nu])
        )[0]
        if ratio == 0.0:
            expected = stats.t.logpdf(distance, nu)
        else:
            scale = np.sqrt(ratio)
            expected = [
                log_integral(
                    lambda f, y=y, scale=scale: (
                        stats.norm.logpdf(f, scale=scale) + stats.t.logpdf(y - f, nu)
                    ),
                    [0.0, y],
                    [min(scale, 1.0), min(scale, 1.0)],
                )
                for y in distance
            ]
        np.testing.assert_allclose(value, expected, rtol=0.0, atol=1e-7)


def test_student_t_log_density_is_a_density():
    y = np.linspace(-4e3, 4e3, 400001)
    shape = (1, y.size)
    value = student_t_log_density(
        y, np.full(shape, 0.3), np.full(shape, 0.5), np.array([0.2]), np.array([3.0])
    )
    # The tails beyond hold 2 * 0.37 * (sqrt(0.2) / 4e3)^3 * 3 < 1e-11.
    assert np.exp(value).sum() * (y[1] - y[0]) == pytest.approx(1.0, abs=1e-8)


def test_student_t_log_density_at_extreme_scales():
    y = np.array([1e150, 1e150, 0.0, 1e-150])
    mean = np.array([[-1e150, 1e150, 0.0, 0.0]])
    variance = np.array([[1e-300, 1e300, 0.0, 1e-300]])
    value = student_t_log_density(y, mean, variance, np.array([1e-300]), np.array([3.0]))[0]
    log_unit = 150.0 * np.log(10.0)
    # Far out the density is Gamma(2) / Gamma(3/2) 3^(3/2) / sqrt(pi) / |t|^4.
    far = np.log(2.0 / np.pi * 3.0**1.5) - 4.0 * (np.log(2.0) + 2.0 * log_unit)
    unit = student_t_log_density(np.ones(1), one(0.0), one(1.0), np.ones(1), np.array([3.0]))[0, 0]
    assert value[0] == pytest.approx(far + log_unit, rel=1e-11)
    assert value[1] == pytest.approx(stats.norm.logpdf(0.0) - log_unit, rel=1e-11)
    assert value[2] == pytest.approx(stats.t.logpdf(0.0, 3.0) + log_unit, rel=1e-11)
    assert value[3] == pytest.approx(unit + log_unit, rel=1e-11)


# Counts


def test_poisson_log_pmf_without_variance():
    y, rate = np.array([0.0, 1, 7, 1e6, 1e6, 3]), np.array([1e-12, 3.0, 7.1, 1e6, 1.1e6, 1e-8])
    value = poisson_log_pmf(y, np.log(rate / 2.0)[np.newaxis], np.zeros((1, 6)), np.full(6, 2.0))
    np.testing.assert_allclose(value[0], stats.poisson.logpmf(y, rate), rtol=ELEMENTWISE, atol=1e-8)


def log_poisson_integral(count, mean, scale):
    """Log of E[Poisson(count; exp(mean + scale z))] by dense quadrature around the mode."""

    def log_integrand(z):
        log_rate = mean + scale * z
        rate = np.exp(np.minimum(log_rate, 700.0))
        return count * log_rate - rate - gammaln(count + 1.0) + stats.norm.logpdf(z)

    def slope(z):
        return scale * (count - np.exp(min(mean + scale * z, 700.0))) - z

    # The log integrand is concave: its slope decreases, and vanishes between these.
    mode = brentq(slope, -1.0 - scale * np.exp(mean), 1.0 + scale * count, xtol=1e-13)
    return log_integral(log_integrand, [mode], [1.0 / np.sqrt(1.0 + scale**2 * count)])


@pytest.mark.parametrize("variance", [1e-8, 1e-2, 0.3, 1.0, 5.0, 25.0])
def test_poisson_log_pmf_against_quadrature(variance):
    y = np.array([0.0, 1.0, 4.0, 60.0, 1e4, 1e6])
    shape = (1, y.size)
    for mean in [-30.0, -3.0, 0.0, 1.0, 4.0, 10.0]:
        log_rate = np.full(shape, mean - np.log(2.0))
        value = poisson_log_pmf(y, log_rate, np.full(shape, variance), np.full(y.size, 2.0))[0]
        expected = [log_poisson_integral(count, mean, np.sqrt(variance)) for count in y]
        # The reference itself rounds at the size of its terms.
        rounding = 1e-15 * (gammaln(y + 1.0) + np.abs(value))
        assert np.all(np.abs(value - expected) < 1e-8 + rounding)


def test_poisson_log_pmf_sums_to_one():
    y = np.arange(5000.0)
    shape = (2, y.size)
    mean, variance = np.full(shape, 0.5), np.full(shape, 0.25)
    variance[1] = 2.0
    total = np.exp(poisson_log_pmf(y, mean, variance, np.ones(y.size))).sum(axis=1)
    # log(5000) is 5.7 standard deviations above the mean for the larger variance.
    np.testing.assert_allclose(total, 1.0, rtol=0.0, atol=2e-8)


def test_poisson_log_pmf_at_extreme_values():
    mean = np.array([[1e150, -1e150, 0.0, 0.0, -1e150, 1e150]])
    variance = np.array([[1.0, 1.0, 1e300, 1e-300, 0.0, 0.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0, 2.0, 3.0])
    value = poisson_log_pmf(y, mean, variance, np.ones(6))[0]
    assert value[1] == pytest.approx(-1e150)
    # Either the rate is zero or infinite, with a probability of one half each.
    assert value[2] == pytest.approx(np.log(0.5), abs=5e-3)
    assert value[3] == pytest.approx(-1.0)
    assert value[4] == pytest.approx(-2e150)
    assert np.all(value[[0, 5]] < -1e290)


PANELS, (NODES, WEIGHTS) = 4000, roots_legendre(10)


def log_mean_of(log_value, mean, variance):
    """Return log E[exp(log_value(f))] of a normal f, by Gauss-Legendre panels in logarithms.

    The log integrand is concave: what counts is beside the largest value on any grid.
    """
    scale = np.sqrt(variance)

    def log_integrand(f):
        with np.errstate(over="ignore"):
            return log_value(f) + stats.norm.logpdf(f, mean, scale)

    low, high = mean - 40.0 * scale, mean + 40.0 * scale
    for _ in range(2):  # the second time more closely
        f = np.linspace(low, high, 40_001)
        value = log_integrand(f)
        counts = np.flatnonzero(value >= value.max() - 40.0)
        assert 0 < counts[0] <= counts[-1] < len(f) - 1  # the mode is within
        low, high = f[counts[0] - 1], f[counts[-1] + 1]
    assert counts[0] < counts[-1]
    edges = np.linspace(low, high, PANELS + 1)
    half = 0.5 * (edges[1] - edges[0])
    at = edges[:-1, np.newaxis] + half * (1.0 + NODES)
    return logsumexp(log_integrand(at) + np.log(half * WEIGHTS))


def log_negative_binomial(y, dispersion):
    shape = 1.0 / dispersion
    constant = gammaln(y + shape) - gammaln(shape) - gammaln(y + 1.0)
    return lambda f: (
        constant + y * log_expit(f - np.log(shape)) + shape * log_expit(np.log(shape) - f)
    )


BROAD = list(
    itertools.product(
        (1e2, 1e3, 1.01e3, 1e4, 1e5, 1e6), (-700.0, -200.0, -3.0, 0.0, 4.0, 200.0), (1.0, 1e3)
    )
)


@pytest.mark.parametrize(
    ("variance", "mean", "exposure"),
    # Each variance, mean and exposure is in one of five that are tested by default.
    [pytest.param(*c, marks=pytest.mark.slow if i % 5 else []) for i, c in enumerate(BROAD)],
)
@pytest.mark.second_stage
def test_counts_under_broad_rates_against_quadrature(variance, mean, exposure):
    mean *= np.sqrt(variance) / 1e3  # fewer deviations than the quadrature reaches
    moments, inside = (np.array([[mean]]), np.array([[variance]])), mean + np.log(exposure)
    for y in (0.0, 1.0, 3.0, 60.0):
        given = np.array([y]), *moments, np.array([exposure])
        expected = log_mean_of(lambda f, y=y: y * f - np.exp(f) - gammaln(y + 1), inside, variance)
        assert_allclose(poisson_log_pmf(*given)[0, 0], expected, rtol=1e-9, atol=1e-7)
        for dispersion in (0.01, 1.0, 10.0):
            found = negative_binomial_log_pmf(*given, np.array([dispersion]))[0, 0]
            expected = log_mean_of(log_negative_binomial(y, dispersion), inside, variance)
            assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("variance", [1e2, 1e4, 1e6])
def test_successes_under_broad_logits_against_quadrature(variance):
    for mean in (-0.5 * np.sqrt(variance), 0.0, 3.0):
        moments = np.array([[mean]]), np.array([[variance]])
        for y, trials in ((0.0, 1.0), (0.0, 40.0), (3.0, 3.0), (1.0, 5.0), (39.0, 40.0)):
            constant = -np.log(trials + 1.0) - betaln(trials - y + 1.0, y + 1.0)
            expected = log_mean_of(
                lambda f, y=y, n=trials, c=constant: c + y * log_expit(f) + (n - y) * log_expit(-f),
                mean,
                variance,
            )
            found = binomial_log_pmf(np.array([y]), np.array([trials]), *moments)[0, 0]
            assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("variance", one_in(2, [0.0, 1.0, 1e3, 1e6, 1e9, 1e12]))
def test_log_probabilities_of_counts_are_never_nan(variance):
    means = np.array([[-1e9, -1e6, -1e4, -750.0, -700.0, 0.0, 700.0, 1e4, 1e6]])
    one = np.ones(means.shape[1])
    for y in (0.0, 1.0, 1e3, 9e15):
        given = y * one, means, np.full_like(means, variance), one
        found = [poisson_log_pmf(*given)]
        for dispersion in (1e-15, 1e-3, 1.0, 30.0, 1e3):
            found.append(negative_binomial_log_pmf(*given, np.array([dispersion])))
        for values in found:
            assert not np.isnan(values).any()
            assert (values <= 1e-9 * (1.0 + y)).all()


def test_quadrature_without_broad_rates_agrees_with_that_of_broad_ones():
    """On both sides of the variance from which on no events are summed differently."""
    means = np.linspace(-200.0, 200.0, 41)[np.newaxis]
    none, one = np.zeros(41), np.ones(41)
    below, above = (np.full_like(means, BROAD_VARIANCE * x) for x in (1.0, 1.0 + 1e-12))
    for function, more in (
        (poisson_log_pmf, ()),
        (negative_binomial_log_pmf, (np.array([0.2]),)),
    ):
        values = [function(none, means, v, one, *more) for v in (below, above)]
        assert_allclose(*values, rtol=1e-8, atol=1e-8)  # the accuracy of either


def test_poisson_quantiles_without_variance():
    rate = np.r_[10.0 ** np.arange(-12, 7), 0.5, 2.3, 7.7, 999.5, 1001.2]
    q = np.array([1e-6, 0.05, 0.3, 0.5, 0.9, 0.99])
    k = poisson_quantiles(np.log(rate)[np.newaxis], np.zeros((1, rate.size)), np.ones_like(rate), q)
    mean = np.exp(np.log(rate))[:, np.newaxis]
    assert np.all(pdtr(k, mean) >= q * (1.0 - 1e-9))
    assert np.all(np.where(k > 0.0, pdtr(np.maximum(k - 1.0, 0.0), mean), 0.0) < q * (1.0 + 1e-9))


def test_poisson_quantiles_of_huge_rates():
    q = np.array([0.001, 0.3, 0.5, 0.99])
    z = ndtri(q)
    for rate in [1e9, 1e12]:
        k = poisson_quantiles(one(0.0), one(0.0), np.array([rate]), q)[0]
        np.testing.assert_array_equal(k, np.rint(k))
        # Cornish-Fisher; the next term is below 1e-4. Rounding log(rate) moves 1e12 by 0.01.
        assert np.all(np.abs(k - (rate + z * np.sqrt(rate) + (z**2 - 1.0) / 6.0)) < 1.5)
        k = poisson_quantiles(one(0.0), one(1.0), np.array([rate]), q)[0]
        np.testing.assert_allclose(k, rate * np.exp(z), rtol=5e-6)


@pytest.mark.parametrize("variance", [1e-6, 1e-2, 0.1, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("exposure", [1e-3, 1.0, 10.0, 300.0])
def test_poisson_quantiles_against_sums_of_probabilities(exposure, variance):
    q = np.array([0.02, 0.1, 0.5, 0.8, 0.9])
    mean = np.array([[0.0], [0.6]])
    variance = np.array([[variance], [0.5 * variance]])
    k = poisson_quantiles(mean, variance, np.array([exposure]), q)[0]
    counts = np.arange(k.max() + 1.0)
    shape = (2, counts.size)
    log_pmf = poisson_log_pmf(
        counts,
        np.broadcast_to(mean, shape),
        np.broadcast_to(variance, shape),
        np.full(counts.size, exposure),
    )
    cumulated = np.cumsum(np.exp(log_mean_exp(log_pmf)))
    which = k.astype(int)
    assert np.all(cumulated[which] >= q - 1e-6)
    assert np.all(cumulated[which] - np.exp(log_mean_exp(log_pmf))[which] < q + 1e-6)


def test_poisson_quantiles_at_extreme_values():
    mean = np.array([[-1e150, 0.0, 1e150, 0.0]])
    variance = np.array([[1.0, 1e300, 0.0, 25.0]])
    k = poisson_quantiles(mean, variance, np.array([1.0, 1.0, 1.0, 1e-12]), [0.0, 0.1, 0.9, 1.0])
    np.testing.assert_array_equal(k[:, 0], 0.0)
    np.testing.assert_array_equal(k[:, 3], np.inf)
    np.testing.assert_array_equal(k[[0, 1, 3], 1], 0.0)
    np.testing.assert_array_equal(k[:2, 2], [0.0, np.inf])
    assert np.all(k[2, 1:3] > 1e290)


# Softmax


def softmax_problems(n_classes):
    """Means and variances, (n_classes, n_problems), variances up to 9."""
    rng = np.random.default_rng(n_classes)
    mean = rng.normal(scale=2.0, size=(n_classes, 20))
    variance = rng.uniform(0.0, 9.0, size=(n_classes, 20))
    mean[:, 0], variance[:, 0] = 0.0, 9.0
    mean[:, 1], variance[:, 1] = np.arange(n_classes), np.linspace(9.0, 0.0, n_classes)
    return mean, variance


def exact_softmax(mean, variance):
    """Integral over the level that the largest of f plus Gumbel noise exceeds."""
    level = np.linspace(-45.0, 60.0, 2101)
    node, weight = np.polynomial.hermite_e.hermegauss(180)
    weight /= weight.sum()
    hazard = np.exp(mean[:, np.newaxis, np.newaxis] - level[:, np.newaxis])
    hazard = hazard * np.exp(np.sqrt(variance)[:, np.newaxis, np.newaxis] * node)
    below = np.exp(-hazard) @ weight
    density = (hazard * np.exp(-hazard)) @ weight
    others = [np.prod(np.delete(below, c, axis=0), axis=0) for c in range(len(mean))]
    return (density * others).sum(axis=1) * (level[1] - level[0])


def blocks_average(mean, variance, n_nodes):
    n_classes = len(mean)
    blocks = [normal_nodes(n_nodes, n_classes, block) for block in range(200)]
    return np.mean([softmax_probabilities(mean, variance, nodes) for nodes in blocks], axis=0)


def test_the_softmax_reference_against_the_binary_logit_integral():
    mean, variance = softmax_problems(2)
    z = np.linspace(-9.0, 9.0, 3601)
    for m, v in zip(mean.T, variance.T, strict=True):
        integrand = expit(m[0] - m[1] + np.sqrt(v.sum()) * z) * stats.norm.pdf(z)
        expected = integrand.sum() * (z[1] - z[0])
        assert exact_softmax(m, v)[0] == pytest.approx(expected, abs=1e-10)


BLOCK_ERRORS = [(3, 3e-4), (2, 1e-4), (5, 5e-4), (4, 4e-4)]


@pytest.mark.parametrize(("n_classes", "tolerance"), one_in(2, BLOCK_ERRORS))
@pytest.mark.second_stage
def test_softmax_error_of_200_blocks(n_classes, tolerance):
    mean, variance = softmax_problems(n_classes)
    expected = np.array([exact_softmax(m, v) for m, v in zip(mean.T, variance.T, strict=True)])
    np.testing.assert_allclose(expected.sum(axis=1), 1.0, rtol=1e-10)
    error = blocks_average(mean, variance, 32) - expected
    assert np.abs(error).max() < tolerance
    assert np.abs(blocks_average(mean, variance, 256) - expected).max() < 1e-4


def test_softmax_rows_sum_to_one():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(6, 500)) * 5.0, rng.gamma(1.0, size=(6, 500))
    p = softmax_probabilities(mean, variance, normal_nodes(32, 6, 3))
    assert p.shape == (500, 6)
    # Six terms are summed, divided by their sum and summed again: 5 + 1 + 5 roundings of EPS / 2.
    assert np.abs(p.sum(axis=1) - 1.0).max() <= 6.0 * EPS


def test_softmax_without_variance_and_at_extreme_scales():
    nodes = normal_nodes(32, 3, 0)
    logits = np.array([0.0, 1.0, 3.0])
    p = softmax_probabilities(logits[:, np.newaxis], np.zeros((3, 1)), nodes)
    expected = np.exp(logits) / np.exp(logits).sum()
    # The mean over 32 equal terms.
    np.testing.assert_allclose(p[0], expected, rtol=FEW_OPERATIONS + 32 * EPS)
    mean = np.array([[1e150, 0.0], [-1e150, 0.0], [0.0, 0.0]])
    p = softmax_probabilities(mean, np.array([[1.0, 1e300]] * 3), nodes)
    np.testing.assert_array_equal(p[0], [1.0, 0.0, 0.0])
    assert p[1].sum() == pytest.approx(1.0)


def test_normal_nodes_are_blocks_of_one_sequence():
    whole = normal_nodes(256, 4, 1)
    parts = [normal_nodes(32, 4, block) for block in range(8, 16)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert np.isfinite(normal_nodes(2**14, 3, 0)).all()
    assert len(np.unique(normal_nodes(2**14, 1, 0))) == 2**14


# Rows


def row_functions():
    n_draws, n_rows = 9, 300
    mean, variance = draws(n_draws, n_rows)
    variance[:, ::7] = 0.0
    variance[0, 3] = 0.0
    log_rate, log_variance = 0.02 * mean, 1e-4 * variance
    y = np.linspace(-5.0, 50.0, n_rows)
    counts = np.floor(np.abs(y))
    exposure = np.linspace(0.1, 200.0, n_rows)
    scale2, nu = np.linspace(0.1, 2.0, n_draws), np.linspace(1.0, 30.0, n_draws)
    q, nodes = [0.05, 0.5, 0.95], normal_nodes(32, n_draws, 5)
    return {
        "moments": lambda r: np.stack(total_moments(mean[:, r], variance[:, r]), axis=1),
        "log_mean_exp": lambda r: log_mean_exp(mean[:, r]),
        "normal_density": lambda r: normal_log_density(y[r], mean[:, r], variance[:, r]).T,
        "normal": lambda r: normal_quantiles(mean[:, r], variance[:, r], q),
        "student_t": lambda r: student_t_quantiles(mean[:, r], variance[:, r], scale2, nu, q),
        "normal_above": lambda r: normal_exceedance(y[r], mean[:, r], variance[:, r]),
        "student_t_above": lambda r: student_t_exceedance(
            y[r], mean[:, r], variance[:, r], scale2, nu
        ),
        "student_t_density": lambda r: (
            student_t_log_density(y[r], mean[:, r], variance[:, r], scale2, nu).T
        ),
        "poisson_pmf": lambda r: (
            poisson_log_pmf(counts[r], log_rate[:, r], log_variance[:, r], exposure[r]).T
        ),
        "poisson": lambda r: poisson_quantiles(log_rate[:, r], log_variance[:, r], exposure[r], q),
        "softmax": lambda r: softmax_probabilities(mean[:, r], variance[:, r], nodes),
    }


@pytest.mark.parametrize("name", list(row_functions()))
def test_a_row_does_not_depend_on_the_others(name):
    function = row_functions()[name]
    everything = function(np.arange(300))
    # Exponentials and logarithms of long vectors may differ from those of short ones by an ulp.
    # Quantiles are searched for until a bracket is 1e-10 of the smallest standard deviation wide.
    atol = np.full_like(everything, ELEMENTWISE)
    if name in ("normal", "student_t"):
        atol += 1e-10 * np.sqrt(draws(9, 300)[1].max(axis=0) + 2.0)[:, np.newaxis]

    def check(rows):
        found, expected = function(rows), everything[rows]
        # numpy's isclose takes an array of tolerances beside infinite values from 2.0 on.
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(found[~finite], expected[~finite])
        found, expected, allowed = found[finite], expected[finite], atol[rows][finite]
        assert (np.abs(found - expected) <= allowed + ELEMENTWISE * np.abs(expected)).all()

    check(np.random.default_rng(2).permutation(300))
    for row in [0, 3, 7, 150, 299]:
        check(np.array([row]))
