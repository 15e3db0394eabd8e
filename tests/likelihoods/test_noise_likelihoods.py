"""Gaussian noise with known variances, and Student-t noise, against scipy.stats and quadrature."""

import math
import pickle

import numpy as np
import pytest
from rounding import ELEMENTWISE, FEW_OPERATIONS, TENS_OF_OPERATIONS
from scipy import stats

from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import LIKELIHOODS, Gaussian, Likelihood, StudentT

# Six observations of four latent values, in no order.
INDEX = np.array([2, 0, 1, 0, 3, 0])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.0])
Y = np.array([0.3, -1.0, 2.0, 0.4, 1.1, -0.6])
KNOWN = np.array([0.0, 0.4, 0.1, 2.0, 0.7, 0.0])
SCALE2 = np.array([0.5, 1.0, 2.0, 1.5, 0.1, 3.0])
LEVEL, NU = 0.7, 3.5

STRUCTURES = {
    "plain": {},
    "shuffled": {"latent_index": np.array([3, 0, 5, 1, 4, 2])},
    "index": {"latent_index": INDEX},
    "weight": {"latent_index": INDEX, "sample_weight": WEIGHT},
}

#: Name -> (class, settings, squared scales, degrees of freedom); infinite ones: Gaussian.
CASES = {
    "gaussian": (Gaussian, {"known_variance": KNOWN}, LEVEL + KNOWN, np.inf),
    "gaussian-constant": (Gaussian, {"known_variance": 0.2}, LEVEL + 0.2, np.inf),
    "gaussian-fixed": (
        Gaussian,
        {"noise_variance": SCALE2, "known_variance": KNOWN},
        SCALE2 + KNOWN,
        np.inf,
    ),
    "t": (StudentT, {"degrees_of_freedom": None}, LEVEL, NU),
    "t-known": (StudentT, {"degrees_of_freedom": None, "known_variance": KNOWN}, LEVEL + KNOWN, NU),
    "t-level": (StudentT, {"degrees_of_freedom": 1.5}, LEVEL, 1.5),
    "t-tails": (StudentT, {"scale2": SCALE2, "degrees_of_freedom": None}, SCALE2, NU),
    "t-fixed": (StudentT, {"scale2": 0.4, "known_variance": KNOWN}, 0.4 + KNOWN, 4.0),
}
every_case = pytest.mark.parametrize("name", CASES)
every_t = pytest.mark.parametrize("name", [n for n in CASES if n.startswith("t")])
every_gaussian = pytest.mark.parametrize("name", [n for n in CASES if n.startswith("g")])
every_structure = pytest.mark.parametrize("structure", STRUCTURES)


@pytest.fixture(autouse=True)
def no_floating_point_faults():
    with np.errstate(all="raise", under="ignore"):
        yield


def build(name, structure="plain", **more):
    """Return a likelihood and its parameters."""
    cls, settings, _, _ = CASES[name]
    likelihood = cls(Y, **settings, **STRUCTURES[structure], **more)
    return likelihood, params_of(likelihood)


def params_of(likelihood):
    values = {"noise_level": LEVEL, "degrees_of_freedom": NU}
    return tuple(values[parameter] for parameter in likelihood.parameters)


def latent_of(likelihood, *shape):
    return np.random.default_rng(0).normal(scale=2.0, size=(*shape, likelihood.n_latent))


def expected_log_probability(name, latent):
    _, _, scale2, nu = CASES[name]
    if np.isinf(nu):
        return stats.norm.logpdf(Y, latent, np.sqrt(scale2))
    return stats.t.logpdf(Y, nu, latent, np.sqrt(scale2))


# Values ---------------------------------------------------------------------------------------


@every_case
def test_pointwise_is_the_log_probability(name):
    likelihood, params = build(name)
    latent = latent_of(likelihood, 3)
    expected = expected_log_probability(name, latent)
    np.testing.assert_allclose(likelihood.pointwise(latent, params), expected, rtol=ELEMENTWISE)


@every_case
@every_structure
def test_log_likelihood_is_the_weighted_sum(name, structure):
    likelihood, params = build(name, structure)
    latent = latent_of(likelihood)
    index = STRUCTURES[structure].get("latent_index", np.arange(6))
    weight = STRUCTURES[structure].get("sample_weight", np.ones(6))
    terms = weight * expected_log_probability(name, latent[index])
    value = likelihood.log_likelihood(latent, params)
    assert type(value) is float
    assert value == pytest.approx(terms.sum(), rel=ELEMENTWISE)
    per_latent = np.bincount(index, weights=terms)
    np.testing.assert_allclose(likelihood.per_latent(latent, params), per_latent, rtol=ELEMENTWISE)


@every_case
@every_structure
def test_derivatives_equal_finite_differences(name, structure):
    likelihood, params = build(name, structure)
    latent = latent_of(likelihood, 5)
    gradient, second = likelihood.derivatives(latent, params)
    step = 1e-5

    def central(function):
        return (function(latent + step) - function(latent - step)) / (2 * step)

    slope = central(lambda f: likelihood.per_latent(f, params))
    bend = central(lambda f: likelihood.derivatives(f, params)[0])
    np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(second, bend, rtol=1e-7, atol=1e-8)
    assert second.shape == latent.shape


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("noise_level", "degrees_of_freedom")),
        ({"scale2": 0.1}, ("degrees_of_freedom",)),
        ({"degrees_of_freedom": 4}, ("noise_level",)),
        ({"scale2": 0.1, "degrees_of_freedom": 4}, ()),
    ],
)
def test_student_t_parameters(settings, expected):
    assert StudentT(Y, **{"degrees_of_freedom": None, **settings}).parameters == expected


def test_defaults_and_registry():
    assert LIKELIHOODS["student-t"] is StudentT
    assert StudentT(Y).parameters == ("noise_level",)
    assert StudentT(Y).degrees_of_freedom == 4.0
    assert Gaussian(Y, known_variance=KNOWN).parameters == ("noise_level",)
    assert Gaussian(Y, 0.1, known_variance=KNOWN).parameters == ()


# Known variances ------------------------------------------------------------------------------


@every_structure
def test_no_known_variance_equals_noise_of_one_level(structure):
    expected = Gaussian(Y, LEVEL, **STRUCTURES[structure])
    for known in (0.0, np.zeros(6), 0.2, np.full(6, 0.2)):
        likelihood = Gaussian(Y, known_variance=known, **STRUCTURES[structure])
        params = (LEVEL - np.max(known),)
        latent = latent_of(likelihood)
        value = likelihood.log_likelihood(latent, params)
        assert value == pytest.approx(expected.log_likelihood(latent), rel=FEW_OPERATIONS)
        np.testing.assert_allclose(
            likelihood.gaussian_sites(params), expected.gaussian_sites(), rtol=FEW_OPERATIONS
        )


def test_constant_known_variance_sums_over_observations_only_once(monkeypatch):
    constant = [
        Gaussian(Y, known_variance=0.2, latent_index=INDEX),
        Gaussian(Y, known_variance=np.full(6, 0.2), latent_index=INDEX),
        Gaussian(Y, SCALE2, known_variance=KNOWN, latent_index=INDEX),
    ]
    varied = Gaussian(Y, known_variance=KNOWN, latent_index=INDEX)

    def fail(self, values):
        raise AssertionError("sums over observations")

    monkeypatch.setattr(Likelihood, "_sum_per_latent", fail)
    for likelihood in constant:
        likelihood.log_likelihood(np.zeros(4), params_of(likelihood))
        likelihood.gaussian_sites(params_of(likelihood))
    with pytest.raises(AssertionError, match="sums over observations"):
        varied.gaussian_sites((LEVEL,))


@every_gaussian
@every_structure
def test_gaussian_sites_are_the_likelihood(name, structure):
    likelihood, params = build(name, structure)
    index = STRUCTURES[structure].get("latent_index", np.arange(6))
    weight = STRUCTURES[structure].get("sample_weight", np.ones(6))
    precision = np.broadcast_to(weight / CASES[name][2], 6)
    expected = [np.bincount(index, precision), np.bincount(index, precision * Y)]
    for sites in (
        likelihood.gaussian_sites(params),
        likelihood.fit_sites(0.3, 2.0, params),
        likelihood.moment_sites(0.3, 2.0, params),
        likelihood.laplace_sites(0.3, 2.0, params),
        likelihood.taylor_sites(params),
    ):
        np.testing.assert_allclose(sites, expected, rtol=TENS_OF_OPERATIONS)


@pytest.mark.parametrize("level", [1e-8, 1e-3, 1.0, 1e8])
@pytest.mark.parametrize("known", [1e-10, np.array([0.0, 1e-10, 1e-10, 1e-10, 3e-9, 0.5])])
@pytest.mark.parametrize("offset", [0.0, 2.0**20])
def test_tiny_known_variances_and_offsets_keep_their_digits(level, known, offset):
    y = offset + np.round(Y * 2.0**20) / 2.0**20  # exact in binary
    likelihood = Gaussian(y, known_variance=known, latent_index=INDEX)
    latent = offset + np.array([0.25, 1.5, -0.5, 0.125])
    residual = (y - latent[INDEX]).astype(np.longdouble)
    variance = np.longdouble(level) + known
    terms = -0.5 * (residual**2 / variance + np.log(2 * np.longdouble(np.pi) * variance))
    # The mean of a latent value's observations is rounded to eps * offset, the noise's standard
    # deviation is at least 1e-4.
    rounding = 1e-12 + 1e-16 * offset / np.sqrt(level)
    value = likelihood.log_likelihood(latent, (level,))
    assert value == pytest.approx(float(terms.sum()), rel=rounding)
    sites = likelihood.gaussian_sites((level,))
    expected = np.bincount(INDEX, np.broadcast_to(1.0 / (level + known), 6))
    np.testing.assert_allclose(sites.precision, expected, rtol=TENS_OF_OPERATIONS)


def test_squares_do_not_cancel_where_observations_agree():
    # Two observations of one latent value, far from zero: their squares differ in the last digit.
    y = np.array([1e8, 1e8 + 0.5])
    likelihood = Gaussian(y, known_variance=[0.01, 0.03], latent_index=[0, 0])
    expected = stats.norm.logpdf([0.0, 0.5], 0.25, np.sqrt([0.02, 0.04])).sum()
    value = likelihood.log_likelihood(np.array([1e8 + 0.25]), (0.01,))
    assert value == pytest.approx(expected, rel=1e-6)


# The NaN rule ---------------------------------------------------------------------------------


@every_case
@every_structure
@pytest.mark.parametrize("place", range(4))
def test_a_nan_latent_gives_nan(name, structure, place):
    likelihood, params = build(name, structure)
    latent = latent_of(likelihood)
    latent[place] = np.nan
    assert np.isnan(likelihood.log_likelihood(latent, params))


@every_case
def test_a_nan_latent_whose_observations_all_weigh_nothing(name):
    likelihood, params = build(name, sample_weight=[1, 1, 0, 1, 1, 1])
    latent = np.zeros(6)
    assert np.isfinite(likelihood.log_likelihood(latent, params))
    latent[2] = np.nan
    assert np.isnan(likelihood.log_likelihood(latent, params))


@every_case
@pytest.mark.parametrize("wrong", [np.nan, 0.0, -0.1])
def test_an_impossible_parameter_gives_nan(name, wrong):
    likelihood, params = build(name)
    for i in range(len(params)):
        changed = (*params[:i], wrong, *params[i + 1 :])
        assert np.isnan(likelihood.log_likelihood(np.zeros(6), changed))


@every_t
@pytest.mark.parametrize("wrong", [5e-324, np.inf])
def test_student_t_parameters_that_underflow_or_overflow_give_nan(name, wrong):
    likelihood, params = build(name)
    for i in range(len(params)):
        changed = (*params[:i], wrong, *params[i + 1 :])
        assert np.isnan(likelihood.log_likelihood(np.zeros(6), changed))


@every_t
@every_structure
def test_sites_of_impossible_parameters_are_empty(name, structure):
    likelihood, params = build(name, structure)
    if params:
        params = (np.nan,) * len(params)
        sites = likelihood.moment_sites(0.0, 1.0, params)
        np.testing.assert_array_equal(sites, np.zeros((2, likelihood.n_latent)))


# Student-t: extremes --------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.1, 1.0, 4.0, 31.9, 32.0, 32.1, 1e3, 1e6])
def test_values_far_away(nu):
    likelihood = StudentT([1e8, -1e8, 0.0], scale2=[1.0, 1e-8, 1e8], degrees_of_freedom=nu)
    expected = stats.t.logpdf([1e8, -1e8, 0.0], nu, 0.0, [1.0, 1e-4, 1e4])
    np.testing.assert_allclose(likelihood.pointwise(np.zeros(3)), expected, rtol=1e-9)
    value = likelihood.log_likelihood(np.zeros(3))
    assert value == pytest.approx(expected.sum(), rel=1e-9)
    gradient, second = likelihood.derivatives(np.zeros(3))
    np.testing.assert_allclose(gradient[:2], (nu + 1) * np.array([1e-8, -1e-8]), rtol=1e-7)
    np.testing.assert_allclose(second[:2], (nu + 1) * 1e-16, rtol=1e-7)
    assert second[2] == pytest.approx(-(nu + 1) / nu / 1e8, abs=0)


def peak_density(nu):
    """Log density at zero for an even number of degrees of freedom, without gamma functions."""
    # Gamma(x + 1/2) / Gamma(x) is sqrt(pi) / 2 times the product of (i + 1/2) / i for i < x.
    terms = np.log1p(0.5 / np.arange(1, nu // 2))
    return math.fsum(terms) - math.log(2.0) - 0.5 * math.log(nu)


@pytest.mark.parametrize("nu", [2, 4, 30, 32, 34, 100, 1000, 10**6])
def test_normalising_constant(nu):
    value = StudentT([0.0], 1.0, nu).log_likelihood(np.zeros(1))
    assert value == pytest.approx(peak_density(nu), rel=FEW_OPERATIONS, abs=0)


@pytest.mark.parametrize("nu", [1e8, 1e12, 1e200])
@every_structure
def test_many_degrees_of_freedom_approach_the_gaussian(nu, structure):
    options = {"known_variance": KNOWN, **STRUCTURES[structure]}
    likelihood, limit = StudentT(Y, None, nu, **options), Gaussian(Y, **options)
    latent, params = latent_of(limit), (LEVEL,)
    # Log densities differ by (q^2 / 4 - q / 2 - 1 / 4) / nu, q the squared standardised residual.
    rtol = 1e-14 + 100.0 / nu
    value = likelihood.log_likelihood(latent, params)
    assert value == pytest.approx(limit.log_likelihood(latent, params), rel=rtol)
    for ours, expected in (
        (likelihood.derivatives(latent, params), limit.derivatives(latent, params)),
        (likelihood.taylor_sites(params), limit.taylor_sites(params)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=10 * rtol + 1e-9)
    sites, expected = likelihood.fit_sites(0.3, 2.0, params), limit.fit_sites(0.3, 2.0, params)
    np.testing.assert_allclose(sites, expected, rtol=1e-6, atol=1e-9)


def test_the_difference_to_the_gaussian_has_its_first_order():
    nu, latent = 1e6, latent_of(Gaussian(Y))
    q = (Y - latent) ** 2 / LEVEL
    difference = StudentT(Y, LEVEL, nu).pointwise(latent) - Gaussian(Y, LEVEL).pointwise(latent)
    np.testing.assert_allclose(nu * difference, q**2 / 4 - q / 2 - 0.25, rtol=1e-4, atol=1e-6)


# Student-t: sites -----------------------------------------------------------------------------


def posterior_moments(y, scale2, nu, mean, variance):
    """Mean and variance of one site posterior, by Gauss-Legendre rules on many panels."""
    scale, prior_scale = np.sqrt(scale2), np.sqrt(variance)
    steps = np.r_[-np.geomspace(0.1, 1e9, 60), np.linspace(-45.0, 45.0, 181), 0.0]
    edges = [y + scale * steps, y - scale * steps, mean + prior_scale * np.linspace(-45, 45, 181)]
    edges = np.unique(np.concatenate([*edges, np.linspace(min(y, mean), max(y, mean), 200)]))
    low = min(mean - 45 * prior_scale, y - 45 * scale)
    high = max(mean + 45 * prior_scale, y + 45 * scale)
    edges = edges[(edges >= low) & (edges <= high)]
    nodes, weights = np.polynomial.legendre.leggauss(30)
    half = 0.5 * np.diff(edges)[:, np.newaxis]
    f = edges[:-1, np.newaxis] + half * (1.0 + nodes)
    log_density = -0.5 * (nu + 1) * np.log1p((y - f) ** 2 / (nu * scale2))
    log_density -= 0.5 * (f - mean) ** 2 / variance
    mass = half * weights * np.exp(log_density - log_density.max())
    mass /= mass.sum()
    shift = (mass * (f - mean)).sum()
    return mean + shift, (mass * (f - mean - shift) ** 2).sum()


def assert_moments(sites, expected, mean, variance, rtol):
    total = 1.0 / variance + sites.precision
    centre = (mean / variance + sites.shift) / total
    np.testing.assert_allclose(1.0 / total, expected[:, 1], rtol=rtol)
    assert (np.abs(centre - expected[:, 0]) / np.sqrt(expected[:, 1])).max() < rtol


@pytest.mark.parametrize("nu", [0.1, 1.0, 4.0, 30.0, 400.0, 600.0, 1e6])
@pytest.mark.parametrize("scale2", [1e-4, 0.01, 1.0, 100.0])
def test_moment_sites_equal_quadrature(nu, scale2):
    # From flat sites to spikes, and the two modes of a prior and an observation that disagree.
    y = np.array([0.0, 0.5, -2.0, 3.0, 4.0, -5.0, 6.0, 8.0])
    mean, variance = np.full(8, 0.2), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 0.5])
    expected = np.array(
        [posterior_moments(a, scale2, nu, m, v) for a, m, v in zip(y, mean, variance, strict=True)]
    )
    likelihood = StudentT(y, None, nu)
    sites = likelihood.fit_sites(mean, variance, (scale2,))
    assert_moments(sites, expected, mean, variance, rtol=3e-7)


@pytest.mark.parametrize("nu", [0.1, 1.0, 4.0, 100.0])
@pytest.mark.parametrize("variance", [1.0, 1e6, 1e16])
def test_moment_sites_far_away(nu, variance):
    y = np.array([1e8, -1e8, 1e4])
    expected = np.array([posterior_moments(a, 1.0, nu, 0.0, variance) for a in y])
    sites = StudentT(y, 1.0, nu).moment_sites(0.0, variance)
    assert_moments(sites, expected, 0.0, variance, rtol=1e-6)


def test_a_far_observation_says_almost_nothing():
    precision, shift = StudentT([1e8], 1.0, 4.0).moment_sites(0.0, 1.0)
    # Slope and bend of the log density at the prior: 5 / 1e8 and 5 / 1e16.
    assert shift[0] == pytest.approx(5e-8, rel=1e-6, abs=0)
    assert precision[0] == pytest.approx(-5e-16, rel=1e-6, abs=0)


@pytest.mark.parametrize("nu", [0.5, 4.0, 60.0])
def test_moment_sites_equal_the_generic_default(nu):
    likelihood = StudentT(Y, SCALE2, nu, latent_index=STRUCTURES["shuffled"]["latent_index"])
    sites = likelihood.moment_sites(np.linspace(-1, 1, 6), 1.5)
    generic = Likelihood.moment_sites(likelihood, np.linspace(-1, 1, 6), 1.5)
    np.testing.assert_allclose(sites, generic, rtol=1e-6, atol=1e-8)


def test_repeated_observations_use_the_joint_likelihood():
    likelihood = StudentT(
        [1.0, 1.5, -2.0], 0.5, 3.0, latent_index=[0, 0, 0], sample_weight=[1, 2, 1]
    )
    grid = np.linspace(-15, 15, 60001)
    density = np.exp(likelihood.per_latent(grid[:, np.newaxis])[:, 0] - 0.25 * (grid - 0.5) ** 2)
    density /= density.sum()
    centre = density @ grid
    spread = density @ (grid - centre) ** 2
    precision, shift = likelihood.fit_sites(0.5, 2.0)
    assert precision[0] == pytest.approx(1 / spread - 0.5, rel=1e-6)
    assert shift[0] == pytest.approx(centre / spread - 0.25, rel=1e-6)


@pytest.mark.parametrize("structure", ["plain", "shuffled"])
@every_t
def test_taylor_sites_of_single_observations(name, structure):
    likelihood, params = build(name, structure, sample_weight=np.arange(6.0))
    _, _, scale2, nu = CASES[name]
    order = np.argsort(STRUCTURES[structure].get("latent_index", np.arange(6)))
    expected = (np.arange(6.0) * (nu + 1) / (nu * scale2))[order]
    sites = likelihood.taylor_sites(params)
    np.testing.assert_allclose(sites, [expected, expected * Y[order]], rtol=ELEMENTWISE)
    generic = Likelihood.taylor_sites(likelihood, params)
    np.testing.assert_allclose(sites, generic, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("unit", "offset"), [(1e-6, 0.0), (1.0, 0.0), (1e6, 0.0), (1.0, 1e8), (1e6, -1e8)]
)
def test_taylor_sites_of_repeated_observations_in_any_units(unit, offset):
    y = np.array([0.1, 0.5, 0.3, -0.4, -0.8, 7.0])
    index, scale2 = np.array([0, 0, 0, 1, 1, 0]), unit**2 * SCALE2
    likelihood = StudentT(offset + unit * y, scale2, 4.0, latent_index=index)
    precision, shift = likelihood.taylor_sites()
    mode = shift / precision
    gradient, second = likelihood.derivatives(mode)
    np.testing.assert_allclose(precision, -second, rtol=1e-5)
    # Stationary, as far as the spacing of floating-point numbers lets the mode be.
    slack = 1e-7 * np.sqrt(precision) + 8.0 * np.spacing(np.abs(mode)) * precision
    assert (np.abs(gradient) < slack).all()
    assert (np.abs(mode - offset) < unit).all()


@every_t
@every_structure
def test_only_gaussian_likelihoods_have_gaussian_sites(name, structure):
    likelihood, params = build(name, structure)
    with pytest.raises(MissingCapabilityError, match="StudentT is not a Gaussian"):
        likelihood.gaussian_sites(params)


# Weights, distinct latents, other targets, draws ----------------------------------------------


def rows_of(name, rows, **options):
    """Return the same observations, some of them several times."""
    cls, settings, _, _ = CASES[name]
    settings = {n: v[rows] if np.ndim(v) else v for n, v in settings.items()}
    return cls(Y[rows], **settings, **options)


@every_case
def test_whole_weights_equal_copies(name):
    weight = np.array([1, 2, 0, 3, 1, 2])
    weighted, params = build(name, sample_weight=weight)
    kept = np.flatnonzero(weight)
    rows = np.repeat(kept, weight[kept])
    index = np.repeat(np.arange(kept.size), weight[kept])
    copied = rows_of(name, rows, latent_index=index)
    latent = latent_of(weighted)
    value = copied.log_likelihood(latent[kept], params)
    assert value == pytest.approx(weighted.log_likelihood(latent, params), rel=ELEMENTWISE)
    for ours, expected in (
        (copied.derivatives(latent[kept], params), weighted.derivatives(latent, params)),
        (copied.fit_sites(0.3, 2.0, params), weighted.fit_sites(0.3, 2.0, params)),
        (copied.taylor_sites(params), weighted.taylor_sites(params)),
    ):
        np.testing.assert_allclose(ours, np.array(expected)[:, kept], rtol=1e-7, atol=1e-9)


@every_case
def test_unobserved_latents_have_empty_sites(name):
    likelihood, params = build(name, sample_weight=[1, 1, 0, 1, 1, 1])
    for sites in (
        likelihood.moment_sites(0.3, 2.0, params),
        likelihood.laplace_sites(0.3, 2.0, params),
        likelihood.taylor_sites(params),
    ):
        np.testing.assert_allclose(np.array(sites)[:, 2], 0.0, atol=TENS_OF_OPERATIONS)


@every_case
@pytest.mark.parametrize("repeated", [False, True])
def test_distinct_latents_expand_to_the_direct_fit(name, repeated):
    rng = np.random.default_rng(4)
    index = np.r_[rng.permutation(20), np.arange(20)] if repeated else None
    rows = rng.integers(0, 6, size=40)
    likelihood = rows_of(name, rows, latent_index=index)
    params = params_of(likelihood)
    small, inverse = likelihood.distinct()
    assert small.n_latent <= (20 if repeated else 6)
    fitted, direct = small.fit_sites(0.3, 2.0, params), likelihood.fit_sites(0.3, 2.0, params)
    np.testing.assert_allclose(np.array(fitted)[:, inverse], direct, rtol=1e-9, atol=ELEMENTWISE)
    latent = latent_of(small)
    expected = likelihood.per_latent(latent[inverse], params)
    np.testing.assert_allclose(
        small.per_latent(latent, params)[inverse], expected, rtol=ELEMENTWISE
    )
    assert small.log_likelihood(latent, params) == pytest.approx(
        small.per_latent(latent, params).sum(), rel=ELEMENTWISE
    )


def test_known_variances_make_equal_observations_distinct():
    for cls in (Gaussian, StudentT):
        assert cls([1.0, 1.0, 1.0], known_variance=[0.0, 0.0, 1.0]).distinct()[0].n_latent == 2
        assert cls([1.0, 1.0, 1.0], known_variance=0.3).distinct()[0].n_latent == 1
        assert cls([1.0, 1.0, 1.0], [1.0, 2.0, 2.0]).distinct()[0].n_latent == 2


def test_a_selection_with_one_known_variance():
    likelihood = Gaussian(Y, known_variance=[0.3, 0.3, 0.5, 0.3, 0.5, 0.3])
    part = likelihood.of_latents(np.array([0, 1, 3]))
    expected = Gaussian(Y[[0, 1, 3]], known_variance=0.3)
    value = part.log_likelihood(np.zeros(3), (LEVEL,))
    assert value == pytest.approx(
        expected.log_likelihood(np.zeros(3), (LEVEL,)), rel=FEW_OPERATIONS
    )


@every_case
@every_structure
def test_with_targets_equals_a_new_likelihood(name, structure):
    likelihood, params = build(name, structure)
    latent = latent_of(likelihood)
    before = likelihood.log_likelihood(latent, params)
    cls, settings, _, _ = CASES[name]
    new = cls(Y[::-1], **settings, **STRUCTURES[structure])
    changed = pickle.loads(pickle.dumps(likelihood.with_targets(Y[::-1])))
    assert changed.log_likelihood(latent, params) == new.log_likelihood(latent, params)
    np.testing.assert_array_equal(
        changed.fit_sites(0.0, 1.0, params), new.fit_sites(0.0, 1.0, params)
    )
    assert likelihood.log_likelihood(latent, params) == before


@every_case
def test_draws_have_the_right_distribution(name):
    likelihood, params = build(name, "index")
    rng = np.random.default_rng(11)
    latent = np.array([0.3, -1.2, 2.0, -0.1])
    draws = np.array([likelihood.sample(latent, params, rng) for _ in range(2000)])
    assert draws.shape == (2000, 6)
    _, _, scale2, nu = CASES[name]
    standard = (draws - latent[INDEX]) / np.sqrt(scale2)
    cdf = stats.norm.cdf if np.isinf(nu) else stats.t(nu).cdf
    p_values = [stats.kstest(column, cdf).pvalue for column in standard.T]
    assert min(p_values) > 1e-5  # 8 cases of 6 tests: a false alarm in 2,000 seeds
    np.testing.assert_array_equal(
        likelihood.sample(latent, params, 3), likelihood.sample(latent, params, rng=3)
    )


# Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Gaussian(Y, known_variance=-1.0),
            r"known_variance must be non-negative and finite; got -1\.0",
        ),
        (lambda: Gaussian(Y, known_variance=np.nan), "known_variance must be non-neg.*got nan"),
        (lambda: Gaussian(Y, known_variance=np.inf), "known_variance must be non-neg.*got inf"),
        (lambda: Gaussian(Y, known_variance=[0.0] * 5), "known_variance has 5 elements but y has"),
        (
            lambda: StudentT([0.0, 1.0], known_variance=[0.0, -0.1]),
            r"known_variance must be >= 0; row 1 holds -0\.1",
        ),
        (
            lambda: StudentT([0.0, 1.0], known_variance=[np.nan, 0.0]),
            "known_variance must be finite; row 0 holds nan",
        ),
        (lambda: StudentT(Y, 0.0), r"scale2 must be positive and finite; got 0\.0.*None"),
        (lambda: StudentT([0.0, 1.0], [1.0, 0.0]), r"scale2 must be positive; row 1 holds 0\.0"),
        (lambda: StudentT(Y, [1.0]), "scale2 has 1 elements but y has 6"),
        (
            lambda: StudentT(Y, degrees_of_freedom=0.0),
            r"degrees_of_freedom must be a positive and finite number.*got 0\.0",
        ),
        (lambda: StudentT(Y, degrees_of_freedom=np.inf), "got inf.*For Gaussian noise"),
        (lambda: StudentT(Y, degrees_of_freedom="many"), "degrees_of_freedom.*got 'many'"),
        (lambda: StudentT(Y, degrees_of_freedom=[1.0, 2.0]), r"degrees_of_freedom.*got \[1"),
        (lambda: StudentT([0.0, np.nan]), "y must be finite; row 1 holds nan"),
        (
            lambda: StudentT(Y, degrees_of_freedom=None).log_likelihood(np.zeros(6), (0.1,)),
            r"params=\(noise_level, degrees_of_freedom\), got 1 values",
        ),
        (
            lambda: StudentT(Y, 0.1).log_likelihood(np.zeros(6), (0.1,)),
            r"params=\(\), got 1 values",
        ),
        (
            lambda: Gaussian(Y, known_variance=KNOWN).log_likelihood(np.zeros(6)),
            r"params=\(noise_level,\).*got 0",
        ),
    ],
)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("nu", [3.0, 31.9, 32.1, 1e6, 1e12, 1e15, 1e17, 1e30])
def test_density_given_the_precisions_for_any_degrees_of_freedom(nu):
    y, latent = np.array([0.5, -1.0, 2.0]), np.zeros(3)
    likelihood = StudentT(y, degrees_of_freedom=nu)
    given = likelihood.augment(latent, (1.0,), np.random.default_rng(0))
    precision = given.gaussian_sites((1.0,)).precision
    # log N(y; f, s2 / lambda) in s2, whatever the density of lambda.
    difference = given.log_likelihood(latent, (0.5,)) - given.log_likelihood(latent, (1.0,))
    expected = -1.5 * np.log(0.5) - 0.5 * float(precision @ y**2)
    assert difference == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("nu", [1.0, 5.0, 31.9, 32.1, 200.0])
def test_density_of_the_precisions_is_a_gamma_density(nu):
    y, latent = np.array([0.5, -1.0, 2.0]), np.zeros(3)
    likelihood = StudentT(y, 1.0, degrees_of_freedom=None)
    given = likelihood.augment(latent, (4.0,), np.random.default_rng(0))
    precision = given.gaussian_sites((4.0,)).precision

    def log_gamma(nu):
        return stats.gamma.logpdf(precision, 0.5 * nu, scale=2.0 / nu).sum()

    difference = given.log_likelihood(latent, (nu,)) - given.log_likelihood(latent, (4.0,))
    assert difference == pytest.approx(log_gamma(nu) - log_gamma(4.0), rel=1e-9, abs=1e-9)
