"""One-dimensional Gaussian fits against quadrature and on likelihoods made to break them."""

import itertools
import warnings

import numpy as np
import pytest
from rounding import ELEMENTWISE
from scipy import integrate, stats
from scipy.special import expit, gammaln, log_expit

from skgpmcmc.likelihoods import _site_moments, _sites

MEANS = np.array([-1000.0, -30.0, -3.0, 0.0, 0.4, 5.0, 40.0, 1000.0])
VARIANCES = np.array([1e-8, 1e-4, 1e-2, 1.0, 30.0, 1e4, 1e6, 1e8])
GRID_MEAN, GRID_VARIANCE = (a.ravel() for a in np.meshgrid(MEANS, VARIANCES))


def student_t(y=0.0, scale=1.0):
    return lambda f: stats.t.logpdf(f, 4, loc=y, scale=scale)


def poisson(y):
    return lambda f: y * f - np.exp(f) - gammaln(y + 1)


def two_labels(f):
    return log_expit(f) + log_expit(-f)


def numerical(log_site):
    return lambda f: _site_moments.numerical_derivatives(log_site, f)


def fit_laplace(log_site, mean, variance):
    return _sites.laplace_sites(log_site, numerical(log_site), mean, variance)


def fit_taylor(log_site, mean, variance):
    return _sites.taylor_sites(log_site, numerical(log_site), mean.size)


FITS = pytest.mark.parametrize("fit", [_sites.moment_sites, fit_laplace], ids=["moment", "laplace"])


def vector(*values):
    return np.array(values, dtype=float)


def quad_moments(log_site, mean, variance):
    """Log normaliser, and mean and variance of z, by adaptive quadrature around the peak."""
    scale = np.sqrt(variance)

    def log_density(z):
        return log_site(mean + scale * z) - 0.5 * z**2

    grid = np.linspace(-30, 30, 60001)
    values = log_density(grid)
    peak, centre = values.max(), grid[np.argmax(values)]
    inside = grid[values > peak - 45]
    edges = sorted({inside[0] - 0.01, *np.quantile(inside, [0.2, 0.5, 0.8]), centre, inside[-1]})

    def moment(power, origin=0.0):
        def integrand(z):
            return (z - origin) ** power * np.exp(log_density(z) - peak)

        pieces = itertools.pairwise(edges)
        options = {"epsabs": 0, "epsrel": 1e-12, "limit": 500}
        return sum(integrate.quad(integrand, a, b, **options)[0] for a, b in pieces)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        total = moment(0)
        z_mean = moment(1) / total
        z_variance = moment(2, z_mean) / total
    return peak + np.log(total) - 0.5 * np.log(2 * np.pi), z_mean, z_variance


@pytest.mark.parametrize(
    ("log_site", "mean", "variance"),
    [
        (log_expit, 0.0, 1.0),
        (log_expit, -8.0, 4.0),
        (log_expit, 30.0, 400.0),  # the label cuts the prior off far from the mode
        (two_labels, 2.0, 9.0),
        (poisson(3), 0.0, 1.0),
        (poisson(0), 2.0, 25.0),
        (poisson(1000), -2.0, 4.0),
        (student_t(), 0.0, 1.0),
        (student_t(), 3.0, 1.0),
        (student_t(2.0, 0.05), 0.0, 1.0),
        (student_t(0.0, 30.0), 5.0, 1.0),
        (student_t(4.0, 0.1), 0.0, 1.0),  # two modes, four prior standard deviations apart
    ],
)
def test_moments_equal_adaptive_quadrature(log_site, mean, variance):
    expected = quad_moments(log_site, mean, variance)
    moments = _site_moments.site_moments(log_site, vector(mean), vector(variance))
    assert moments.log_normaliser[0] == pytest.approx(expected[0], abs=1e-7)
    assert moments.mean[0] == pytest.approx(expected[1], rel=1e-7, abs=1e-9)
    assert moments.variance[0] == pytest.approx(expected[2], rel=1e-6)


def test_moment_sites_reproduce_the_moments():
    log_site = poisson(2)
    _, z_mean, z_variance = quad_moments(log_site, 0.5, 2.0)
    mean, variance = 0.5 + np.sqrt(2.0) * z_mean, 2.0 * z_variance
    precision, shift = _sites.moment_sites(log_site, vector(0.5), vector(2.0))
    assert precision[0] == pytest.approx(1 / variance - 1 / 2.0, rel=1e-8)
    assert shift[0] == pytest.approx(mean / variance - 0.5 / 2.0, rel=1e-8)


def test_log_normaliser_of_a_gaussian_site():
    def log_site(f):
        return stats.norm.logpdf(f, 1.5, 0.3)

    moments = _site_moments.site_moments(log_site, vector(-1.0), vector(4.0))
    expected = stats.norm.logpdf(1.5, -1.0, np.sqrt(4.0 + 0.09))
    assert moments.log_normaliser[0] == pytest.approx(expected, abs=ELEMENTWISE)


@FITS
@pytest.mark.parametrize(("centre", "sd"), [(1.5, 0.3), (-200.0, 10.0), (0.01, 1e-3)])
def test_a_gaussian_site_is_recovered(fit, centre, sd):
    def log_site(f):
        return -0.5 * ((f - centre) / sd) ** 2

    mean, variance = centre + sd * vector(-3, 0, 2), (3 * sd) ** 2 * vector(1, 0.1, 4)
    precision, shift = fit(log_site, mean, variance)
    np.testing.assert_allclose(precision * sd**2, 1.0, rtol=1e-7)
    np.testing.assert_allclose(shift * sd**2, centre, rtol=1e-7, atol=1e-7 * sd)


@pytest.mark.parametrize(
    ("log_site", "derivatives", "scale"),
    [
        (np.sin, (np.cos, lambda f: -np.sin(f)), 1.0),
        (log_expit, (lambda f: expit(-f), lambda f: -expit(f) * expit(-f)), 1.0),
        (poisson(4), (lambda f: 4 - np.exp(f), lambda f: -np.exp(f)), 1.0),
        (poisson(1e6), (lambda f: 1e6 - np.exp(f), lambda f: -np.exp(f)), 1e6),
        # A likelihood on the scale 1e-3: the step must shrink.
        (
            lambda f: np.sin(1e3 * f),
            (lambda f: 1e3 * np.cos(1e3 * f), lambda f: -1e6 * np.sin(1e3 * f)),
            1e6,
        ),
    ],
)
def test_numerical_derivatives(log_site, derivatives, scale):
    latent = np.linspace(-3, 3, 31)
    first, second = _site_moments.numerical_derivatives(log_site, latent)
    np.testing.assert_allclose(first, derivatives[0](latent), rtol=1e-8, atol=1e-9 * scale)
    np.testing.assert_allclose(second, derivatives[1](latent), rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_numerical_derivatives_keep_the_shape(shape):
    first, second = _site_moments.numerical_derivatives(np.sin, np.full(shape, 0.3))
    np.testing.assert_allclose(first, np.full(shape, np.cos(0.3)), rtol=1e-8)
    np.testing.assert_allclose(second, np.full(shape, -np.sin(0.3)), rtol=1e-6)


@pytest.mark.parametrize(
    ("log_site", "gradient"),
    [
        (log_expit, lambda f: expit(-f)),
        (two_labels, lambda f: expit(-f) - expit(f)),
        (student_t(), lambda f: -5 * f / (4 + f**2)),
    ],
)
def test_mode_is_stationary_everywhere_on_the_grid(log_site, gradient):
    with np.errstate(all="ignore"):
        z = _site_moments.find_mode(log_site, numerical(log_site), GRID_MEAN, GRID_VARIANCE)
    scale = np.sqrt(GRID_VARIANCE)
    # The slope changes sign within a small part of the posterior's width, at most sqrt(K).
    step = 1e-5 * np.minimum(1.0, 1.0 / scale) + 1e-14 * np.abs(z)

    def slope(z):
        return scale * gradient(GRID_MEAN + scale * z) - z

    assert (slope(z - step) > 0).all()
    assert (slope(z + step) < 0).all()


HARD = {
    "label": log_expit,
    "contradicting labels": two_labels,
    "fifty contradicting labels": lambda f: 30 * log_expit(f) + 20 * log_expit(-f),
    "no events": poisson(0),
    "a million events": poisson(1e6),
    "Student t": student_t(3.0),
    "narrow Student t": student_t(3.0, 1e-4),
    "wide Student t": student_t(3.0, 1e4),
    "contradicting Student t": lambda f: student_t(-5.0, 0.1)(f) + student_t(5.0, 0.1)(f),
    "flat": np.zeros_like,
    "kink": lambda f: -np.abs(f - 1.0),
    "bounded support": lambda f: np.where(np.abs(f) < 1.0, 0.0, -np.inf),
    "impossible": lambda f: np.full_like(f, -np.inf),
    "NaN": lambda f: np.full_like(f, np.nan),
    "NaN on one side": np.log,
    "unbounded": lambda f: f**2,
    "overflowing": lambda f: -np.exp(np.exp(f)),
}


@pytest.mark.parametrize("log_site", HARD.values(), ids=HARD.keys())
@FITS
def test_fits_stay_finite_and_proper(fit, log_site):
    n_calls = 0

    def counted(f):
        nonlocal n_calls
        n_calls += 1
        with np.errstate(all="ignore"):
            return log_site(f)

    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        precision, shift = fit(counted, GRID_MEAN, GRID_VARIANCE)
    assert np.isfinite(precision).all()
    assert np.isfinite(shift).all()
    assert (1 / GRID_VARIANCE + precision > 0).all()
    assert n_calls < 2000


@pytest.mark.parametrize("name", ["impossible", "NaN"])
@FITS
def test_failed_fits_return_the_prior(fit, name):
    precision, shift = fit(HARD[name], GRID_MEAN, GRID_VARIANCE)
    assert not precision.any()
    assert not shift.any()


@pytest.mark.parametrize("variance", [0.01, 1.0, 25.0])
@pytest.mark.parametrize("mean", [-0.9, 0.0, 0.3, 0.7])
def test_moments_of_a_truncated_normal(mean, variance):
    # The quadrature must find where the density ends.
    edges = (np.array([-1.0, 1.0]) - mean) / np.sqrt(variance)
    moments = _site_moments.site_moments(HARD["bounded support"], vector(mean), vector(variance))
    expected_mean, expected_variance = stats.truncnorm.stats(*edges)
    assert moments.variance[0] == pytest.approx(expected_variance, rel=1e-3)
    assert moments.mean[0] == pytest.approx(expected_mean, abs=1e-3 * np.sqrt(expected_variance))


def test_bounded_support_is_matched():
    # Uniform on (-1, 1) under a wide prior: variance 1/3.
    log_site = HARD["bounded support"]
    precision, shift = _sites.moment_sites(log_site, vector(0.0), vector(1e4))
    assert precision[0] == pytest.approx(3.0, rel=0.02)
    assert shift[0] == pytest.approx(0.0, abs=0.02)


def test_precision_is_negative_where_the_likelihood_is_not_log_concave():
    log_site = student_t(0.0)
    for fit in (_sites.moment_sites, fit_laplace):
        assert fit(log_site, vector(6.0), vector(0.1)).precision[0] < 0


@pytest.mark.parametrize(
    ("centre", "sd"), [(0, 1), (1000, 1), (3, 1e-2), (-50, 1e3), (-7e5, 30), (2e-3, 1e-3)]
)
def test_taylor_finds_the_maximum_of_a_heavy_tailed_likelihood(centre, sd):
    log_site = student_t(centre, sd)
    precision, shift = _sites.taylor_sites(log_site, numerical(log_site), 2)
    np.testing.assert_allclose(precision * sd**2, 1.25, rtol=1e-5)  # (4 + 1) / 4
    np.testing.assert_allclose(shift / precision, centre, rtol=1e-7, atol=1e-5 * sd)


@pytest.mark.parametrize("name", ["label", "no events", "flat", "impossible", "NaN", "unbounded"])
def test_taylor_is_empty_without_a_finite_maximum(name):
    with np.errstate(all="ignore"):
        precision, shift = _sites.taylor_sites(HARD[name], numerical(HARD[name]), 3)
    np.testing.assert_array_equal(precision, np.zeros(3))
    np.testing.assert_array_equal(shift, np.zeros(3))


@pytest.mark.parametrize(
    ("fit", "most"), [(_sites.moment_sites, 8), (fit_laplace, 18), (fit_taylor, 12)]
)
def test_fits_take_few_calls(fit, most):
    # A user's likelihood may cost a hundred microseconds a call, whatever the number of sites.
    centre = np.linspace(-6.0, 6.0, 50)
    n_calls = 0

    def counted(f):
        nonlocal n_calls
        n_calls += 1
        return student_t(centre)(f)

    fit(counted, np.full(50, 0.3), np.full(50, 2.0))
    assert 0 < n_calls <= most
