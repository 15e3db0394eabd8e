"""Every likelihood against definitions, generic defaults and quadrature."""

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from rounding import ELEMENTWISE, FEW_OPERATIONS, TENS_OF_OPERATIONS
from scipy import integrate, stats
from scipy.special import expit

from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import (
    LIKELIHOODS,
    Bernoulli,
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
    Sites,
)
from skgpmcmc.likelihoods import StudentT as StudentTNoise

# Six observations of four latent values, in no order.
INDEX = np.array([2, 0, 1, 0, 3, 0])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.0])
LATENT = np.array([0.3, -1.2, 2.0, -0.1])


class StudentT(Likelihood):
    """A user's likelihood: only pointwise."""

    def pointwise(self, latent, params=()):
        return stats.t.logpdf(self.y - latent, 4)


class NoisyStudentT(Likelihood):
    """A user's likelihood with a hyperparameter and a setting per observation."""

    parameters = ("scale",)
    per_observation = ("width",)

    def __init__(self, y, width, **kwargs):
        self.width = np.asarray(width, dtype=float)
        super().__init__(y, **kwargs)

    def pointwise(self, latent, params=()):
        return stats.t.logpdf(self.y, 4, loc=latent, scale=self.width * params[0])


SIGNS = [1, -1, 1, 1, -1, -1]
EXPOSURE = [0.5, 1.0, 2.0, 1.5, 0.1, 3.0]
NUMBERS = [0.3, -1.0, 2.0, 0.4, 1.1, -0.6]


def logit(**kw):
    return BernoulliLogit(SIGNS, **kw)


def probit(**kw):
    return BernoulliProbit(SIGNS, **kw)


def poisson(**kw):
    return Poisson([3, 0, 1, 12, 0, 2], **kw)


def poisson_exposed(**kw):
    return Poisson([3, 0, 1, 12, 0, 2], EXPOSURE, **kw)


def binomial(**kw):
    return Binomial([3, 0, 1, 4, 0, 2], [5, 4, 4, 6, 4, 4], **kw)


def negative_binomial(**kw):
    return NegativeBinomial([3, 0, 1, 12, 0, 2], **kw)


def negative_binomial_exposed(**kw):
    return NegativeBinomial([3, 0, 1, 12, 0, 2], EXPOSURE, **kw)


def gaussian(**kw):
    return Gaussian(NUMBERS, 0.3, **kw)


def gaussian_varied(**kw):
    return Gaussian(NUMBERS, EXPOSURE, **kw)


def gaussian_unknown(**kw):
    return Gaussian(NUMBERS, **kw)


def student(**kw):
    return StudentT(NUMBERS, **kw)


def noisy_student(**kw):
    return NoisyStudentT(NUMBERS, EXPOSURE, **kw)


BUILT_IN = [
    logit,
    probit,
    binomial,
    poisson,
    poisson_exposed,
    negative_binomial,
    negative_binomial_exposed,
    gaussian,
    gaussian_varied,
    gaussian_unknown,
]
ALL = [*BUILT_IN, student, noisy_student]
EXACTLY_GAUSSIAN = [gaussian, gaussian_varied, gaussian_unknown]
STRUCTURES = [{}, {"latent_index": INDEX}, {"latent_index": INDEX, "sample_weight": WEIGHT}]


def params_of(likelihood):
    return (0.7,) * len(likelihood.parameters)


def settings_of(likelihood):
    """The keyword arguments that make the same likelihood of other observations."""
    return {name: getattr(likelihood, name) for name in likelihood.per_observation}


def latent_of(likelihood, seed=0):
    return np.random.default_rng(seed).normal(scale=2.0, size=likelihood.n_latent)


def build(make, structure):
    likelihood = make(**structure)
    return likelihood, params_of(likelihood)


def nbinom(mean, dispersion):
    """The negative binomial distribution with variance mean + dispersion mean^2."""
    return stats.nbinom(1.0 / dispersion, 1.0 / (1.0 + dispersion * mean))


def expected_log_probability(make, likelihood, latent):
    """The log probability of each observation, from scipy.stats."""
    y = likelihood.y
    if make is logit:
        return np.log(np.where(y > 0, expit(latent), expit(-latent)))
    if make is probit:
        return stats.norm.logcdf(y * latent)
    if make in (poisson, poisson_exposed):
        exposure = 1.0 if make is poisson else np.array(EXPOSURE)
        return stats.poisson.logpmf(y, exposure * np.exp(latent))
    if make is binomial:
        return stats.binom.logpmf(y, likelihood.trials, expit(latent))
    if make in (negative_binomial, negative_binomial_exposed):
        exposure = 1.0 if make is negative_binomial else np.array(EXPOSURE)
        return nbinom(exposure * np.exp(latent), 0.7).logpmf(y)
    if make in (gaussian, gaussian_varied, gaussian_unknown):
        variance = {gaussian: 0.3, gaussian_unknown: 0.7}.get(make, np.array(EXPOSURE))
        return stats.norm.logpdf(y, latent, np.sqrt(variance))
    return stats.t.logpdf(y, 4, latent, 1.0 if make is student else 0.7 * np.array(EXPOSURE))


every_likelihood = pytest.mark.parametrize("make", ALL)
every_built_in = pytest.mark.parametrize("make", BUILT_IN)
every_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=["plain", "index", "weight"])


# Values ---------------------------------------------------------------------------------------


@every_likelihood
def test_pointwise_is_the_log_probability(make):
    likelihood, params = build(make, {})
    latent = latent_of(likelihood)
    expected = expected_log_probability(make, likelihood, latent)
    np.testing.assert_allclose(likelihood.pointwise(latent, params), expected, rtol=1e-10)
    stacked = likelihood.pointwise(np.stack([latent, latent]), params)
    np.testing.assert_allclose(stacked, [expected, expected], rtol=1e-10)


@every_likelihood
@every_structure
def test_log_likelihood_is_the_weighted_sum(make, structure):
    likelihood, params = build(make, structure)
    latent = latent_of(likelihood)
    index = structure.get("latent_index", np.arange(6))
    terms = structure.get("sample_weight", np.ones(6)) * expected_log_probability(
        make, likelihood, latent[index]
    )
    per_latent = np.bincount(index, weights=terms)
    np.testing.assert_allclose(likelihood.per_latent(latent, params), per_latent, rtol=1e-10)
    value = likelihood.log_likelihood(latent, params)
    assert type(value) is float
    assert value == pytest.approx(terms.sum(), rel=1e-10)
    assert value == pytest.approx(
        Likelihood.log_likelihood(likelihood, latent, params), rel=ELEMENTWISE
    )


@every_likelihood
def test_per_latent_accepts_stacked_latents(make):
    likelihood, params = build(make, {"latent_index": INDEX, "sample_weight": WEIGHT})
    latent = np.random.default_rng(1).normal(size=(3, 2, 4))
    stacked = likelihood.per_latent(latent, params)
    assert stacked.shape == (3, 2, 4)
    np.testing.assert_allclose(stacked[2, 1], likelihood.per_latent(latent[2, 1], params))


def test_extreme_log_probabilities():
    label = BernoulliLogit([1, 1, -1]).pointwise(np.array([-800.0, 800.0, 800.0]))
    np.testing.assert_allclose(label, [-800.0, 0.0, -800.0])
    label = BernoulliProbit([1, 1, -1]).pointwise(np.array([-10.0, -40.0, 10.0]))
    np.testing.assert_allclose(label, [-53.231285, -804.608442, -53.231285], rtol=1e-8)
    assert BernoulliLogit([1, -1]).log_likelihood(np.array([-800.0, 900.0])) == -1700.0
    probit_sum = BernoulliProbit([1, -1]).log_likelihood(np.array([-10.0, 40.0]))
    assert probit_sum == pytest.approx(-53.231285 - 804.608442, rel=1e-8)


@pytest.mark.parametrize("count", [0, 3])
def test_poisson_far_latents_do_not_warn(count):
    likelihood = Poisson([count, count])
    with np.errstate(all="raise", under="ignore"):
        assert likelihood.log_likelihood(np.array([800.0, 0.0])) < -1e300
        assert likelihood.pointwise(np.array([800.0, 0.0]))[0] < -1e300
        assert likelihood.log_likelihood(np.array([np.inf, 0.0])) < -1e300
        expected = -1e6 * count + 2 * stats.poisson.logpmf(count, 1.0) + 1.0
        assert likelihood.log_likelihood(np.array([-1e6, 0.0])) == pytest.approx(expected)


def test_poisson_large_counts():
    likelihood = Poisson([1e6, 1e8], [2.0, 1.0])
    latent = np.log([1e6 / 2, 1e8]) + 1e-4
    expected = stats.poisson.logpmf([1e6, 1e8], [2.0, 1.0] * np.exp(latent))
    np.testing.assert_allclose(likelihood.pointwise(latent), expected, atol=1e-6)


# The NaN rule ---------------------------------------------------------------------------------


@every_likelihood
@every_structure
@pytest.mark.parametrize("place", range(4))
def test_a_nan_latent_never_gives_a_finite_number(make, structure, place):
    likelihood, params = build(make, structure)
    latent = latent_of(likelihood)
    latent[place] = np.nan
    value = likelihood.log_likelihood(latent, params)
    assert np.isnan(value) or value == -np.inf


def test_a_nan_latent_whose_observations_all_weigh_nothing():
    for make in BUILT_IN:
        likelihood, params = build(make, {"sample_weight": [1, 1, 0, 1, 1, 1]})
        latent = np.zeros(6)
        assert np.isfinite(likelihood.log_likelihood(latent, params))
        latent[2] = np.nan
        assert np.isnan(likelihood.log_likelihood(latent, params))


@pytest.mark.parametrize("make", [gaussian_unknown, negative_binomial, noisy_student])
def test_a_nan_parameter_never_gives_a_finite_number(make):
    assert np.isnan(make().log_likelihood(np.zeros(6), (np.nan,)))


@pytest.mark.parametrize("make", [gaussian_unknown, negative_binomial])
@pytest.mark.parametrize("level", [0.0, -1.0])
def test_an_impossible_parameter_gives_nan(make, level):
    assert np.isnan(make().log_likelihood(np.zeros(6), (level,)))


def test_user_pointwise_that_hides_nan_is_guarded():
    class Careless(StudentT):
        def pointwise(self, latent, params=()):
            return np.nan_to_num(super().pointwise(latent))

    assert np.isnan(Careless([0.0, 1.0]).log_likelihood(np.array([0.0, np.nan])))


# Repeats and weights --------------------------------------------------------------------------


@every_likelihood
def test_whole_weights_equal_copies(make):
    weight = np.array([1, 2, 0, 3, 1, 2])
    weighted, params = build(make, {"sample_weight": weight})
    latent = latent_of(weighted)
    kept = np.flatnonzero(weight)
    rows = np.repeat(kept, weight[kept])
    copies = make()
    other = settings_of(copies)
    other = {n: (v[rows] if np.ndim(v) else v) for n, v in other.items()}
    index = np.repeat(np.arange(kept.size), weight[kept])
    copied = type(copies)(copies.y[rows], **other, latent_index=index)
    np.testing.assert_allclose(
        copied.per_latent(latent[kept], params), weighted.per_latent(latent, params)[kept]
    )
    assert copied.log_likelihood(latent[kept], params) == pytest.approx(
        weighted.log_likelihood(latent, params), rel=1e-11
    )
    for site, expected in zip(
        copied.fit_sites(0.3, 2.0, params), weighted.fit_sites(0.3, 2.0, params), strict=True
    ):
        np.testing.assert_allclose(site, expected[kept], rtol=1e-8)


@every_likelihood
def test_unobserved_latents_have_empty_sites(make):
    likelihood, params = build(make, {"sample_weight": [1, 1, 0, 1, 1, 1]})
    for precision, shift in (
        likelihood.fit_sites(0.3, 2.0, params),
        likelihood.moment_sites(0.3, 2.0, params),
        likelihood.laplace_sites(0.3, 2.0, params),
    ):
        assert precision[2] == pytest.approx(0.0, abs=TENS_OF_OPERATIONS)
        assert shift[2] == pytest.approx(0.0, abs=TENS_OF_OPERATIONS)
    assert likelihood.log_likelihood(np.zeros(6), params) == pytest.approx(
        np.delete(likelihood.pointwise(np.zeros(6), params), 2).sum()
    )


def test_zero_weight_hides_an_impossible_observation():
    class Bounded(Likelihood):
        def pointwise(self, latent, params=()):
            return np.where(np.abs(self.y - latent) < 1, 0.0, -np.inf)

    assert Bounded([0.0, 9.0], sample_weight=[1, 0]).log_likelihood(np.zeros(2)) == 0.0


# Derivatives ----------------------------------------------------------------------------------


@every_likelihood
@every_structure
def test_derivatives_equal_finite_differences(make, structure):
    likelihood, params = build(make, structure)
    latent = np.linspace(-3, 3, 5)[:, np.newaxis] + latent_of(likelihood)
    gradient, second = likelihood.derivatives(latent, params)
    step = 1e-5

    def central(function):
        return (function(latent + step) - function(latent - step)) / (2 * step)

    slope = central(lambda f: likelihood.per_latent(f, params))
    bend = central(lambda f: likelihood.derivatives(f, params)[0])
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(second, bend, rtol=1e-5, atol=1e-6)
    assert second.shape == latent.shape


@every_built_in
@every_structure
def test_derivatives_equal_the_generic_default(make, structure):
    likelihood, params = build(make, structure)
    latent = np.linspace(-3, 3, 5)[:, np.newaxis] + latent_of(likelihood)
    own = likelihood.derivatives(latent, params)
    generic = Likelihood.derivatives(likelihood, latent, params)
    np.testing.assert_allclose(own[0], generic[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(own[1], generic[1], rtol=1e-6, atol=1e-7)


# Sites ----------------------------------------------------------------------------------------

PRIOR_MEAN, PRIOR_VARIANCE = (
    grid.ravel()
    for grid in np.meshgrid([-30.0, -8.0, -1.0, 0.0, 0.5, 4.0, 20.0], [0.01, 0.3, 1.0, 20.0, 400.0])
)


def assert_same_fit(sites, expected, mean, variance, rtol):
    """Compare site precisions on the scale of the posterior they make, and posterior means."""
    total, expected_total = 1 / variance + sites[0], 1 / variance + expected[0]
    np.testing.assert_allclose(total, expected_total, rtol=rtol)
    centre = (mean / variance + sites[1]) / total
    expected_centre = (mean / variance + expected[1]) / expected_total
    error = np.abs(centre - expected_centre) * np.sqrt(expected_total)
    assert error.max() < rtol


@pytest.mark.parametrize("make", [BernoulliLogit, BernoulliProbit])
@pytest.mark.parametrize("label", [-1, 1])
def test_single_label_moment_sites_equal_the_generic_quadrature(make, label):
    likelihood = make(np.full(PRIOR_MEAN.size, label))
    sites = likelihood.moment_sites(PRIOR_MEAN, PRIOR_VARIANCE)
    generic = Likelihood.moment_sites(likelihood, PRIOR_MEAN, PRIOR_VARIANCE)
    assert_same_fit(sites, generic, PRIOR_MEAN, PRIOR_VARIANCE, rtol=1e-7)
    np.testing.assert_allclose(sites.precision, generic.precision, rtol=1e-6, atol=1e-11)
    np.testing.assert_allclose(sites.shift, generic.shift, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("make", [BernoulliLogit, BernoulliProbit])
@pytest.mark.parametrize("label", [-1, 1])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (-2.0, 0.1), (3.0, 25.0), (-6.0, 9.0)])
def test_single_label_moment_sites_equal_adaptive_quadrature(make, label, mean, variance):
    likelihood = make([label])

    def moment(power):
        def integrand(f):
            site = np.exp(likelihood.pointwise(np.array([f]))[0])
            return f**power * site * stats.norm.pdf(f, mean, np.sqrt(variance))

        reach = 12 * np.sqrt(variance)
        return integrate.quad(
            integrand, mean - reach, mean + reach, points=[mean], epsabs=0, epsrel=1e-11, limit=300
        )[0]

    centre = moment(1) / moment(0)
    spread = moment(2) / moment(0) - centre**2
    precision, shift = likelihood.fit_sites(mean, variance)
    assert precision[0] == pytest.approx(1 / spread - 1 / variance, rel=1e-7)
    assert shift[0] == pytest.approx(centre / spread - mean / variance, rel=1e-7)


@pytest.mark.parametrize("make", [BernoulliLogit, BernoulliProbit])
def test_label_sites_are_antisymmetric(make):
    up = make(np.ones(PRIOR_MEAN.size)).fit_sites(PRIOR_MEAN, PRIOR_VARIANCE)
    down = make(-np.ones(PRIOR_MEAN.size)).fit_sites(-PRIOR_MEAN, PRIOR_VARIANCE)
    np.testing.assert_allclose(up.precision, down.precision, rtol=1e-9, atol=TENS_OF_OPERATIONS)
    np.testing.assert_allclose(up.shift, -down.shift, rtol=1e-9, atol=TENS_OF_OPERATIONS)


def test_probit_sites_keep_their_digits_for_extreme_priors():
    # At f = -t, far out, log Phi has slope t + 1/t and second derivative -(1 - 1/t^2); a prior
    # much narrower than t sees only these: W = 1 - 1/t^2, h = W f + slope = 2/t.
    precision, shift = BernoulliProbit([1]).moment_sites(-1e5, 1e-8)
    assert precision[0] == pytest.approx(1.0, rel=1e-7)
    assert shift[0] == pytest.approx(2e-5, rel=1e-3)
    # With z = m / sqrt(1 + K) far out the variance is K (1 / (1 + K) + 1 / z^2), here 1 + 1.
    precision, _ = BernoulliProbit([1]).moment_sites(-1e6, 1e6)
    assert 1 / (precision[0] + 1e-6) == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("count", [0, 1, 40, 10**6, 10**8])
def test_poisson_sites_equal_the_generic_laplace(count):
    likelihood = Poisson(np.full(PRIOR_MEAN.size, count), np.full(PRIOR_MEAN.size, 0.7))
    sites = likelihood.fit_sites(PRIOR_MEAN, PRIOR_VARIANCE)
    generic = Likelihood.laplace_sites(likelihood, PRIOR_MEAN, PRIOR_VARIANCE)
    assert_same_fit(sites, generic, PRIOR_MEAN, PRIOR_VARIANCE, rtol=1e-7)
    np.testing.assert_allclose(sites.precision, generic.precision, rtol=1e-7, atol=FEW_OPERATIONS)


@pytest.mark.parametrize("count", [0.0, 3.0, 1e8])
@pytest.mark.parametrize("variance", [1e-10, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("mean", [-20.0, 0.0, 15.0])
def test_poisson_mode_is_stationary(count, variance, mean):
    likelihood = Poisson([count], [0.4])
    with np.errstate(all="raise", under="ignore"):
        precision, shift = (float(s[0]) for s in likelihood.laplace_sites(mean, variance))
    mode = (mean / variance + shift) / (1 / variance + precision)
    assert precision == pytest.approx(0.4 * np.exp(mode), rel=1e-9)
    pull = (mode - mean) / variance
    noise = 1e-12 * (1 + abs(mean)) / variance
    assert count - 0.4 * np.exp(mode) == pytest.approx(pull, rel=1e-8, abs=1e-8 * count + noise)


@pytest.mark.parametrize("make", [poisson, poisson_exposed])
@every_structure
def test_poisson_sites_of_repeated_counts(make, structure):
    likelihood, _ = build(make, structure)
    sites = likelihood.fit_sites(0.2, 1.5)
    generic = Likelihood.laplace_sites(likelihood, 0.2, 1.5)
    np.testing.assert_allclose(sites, generic, rtol=1e-7, atol=ELEMENTWISE)


@pytest.mark.parametrize("make", [poisson, poisson_exposed])
@every_structure
def test_poisson_taylor_sites_equal_the_generic_default(make, structure):
    likelihood, _ = build(make, structure)
    sites = likelihood.taylor_sites()
    generic = Likelihood.taylor_sites(likelihood)
    np.testing.assert_allclose(sites, generic, rtol=1e-7, atol=ELEMENTWISE)


def test_poisson_taylor_sites():
    precision, shift = Poisson([0, 5, 2], [1.0, 2.0, 2.0]).taylor_sites()
    np.testing.assert_allclose(precision, [0, 5, 2])
    np.testing.assert_allclose(shift, [0, 5 * np.log(2.5), 0], atol=FEW_OPERATIONS)


@pytest.mark.parametrize("make", EXACTLY_GAUSSIAN)
@every_structure
def test_gaussian_sites_are_the_likelihood(make, structure):
    likelihood, params = build(make, structure)
    sites = likelihood.gaussian_sites(params)
    latent = np.random.default_rng(3).normal(size=(2, likelihood.n_latent))
    quadratic = -0.5 * sites.precision * latent**2 + sites.shift * latent
    exact = likelihood.per_latent(latent, params)
    np.testing.assert_allclose(quadratic[0] - quadratic[1], exact[0] - exact[1], rtol=1e-9)
    mean, variance = np.linspace(-3, 3, likelihood.n_latent), 2.0
    for other in (
        likelihood.fit_sites(mean, variance, params),
        likelihood.moment_sites(mean, variance, params),
        likelihood.laplace_sites(mean, variance, params),
        likelihood.taylor_sites(params),
    ):
        np.testing.assert_array_equal(other, sites)
    for generic in (
        Likelihood.moment_sites(likelihood, mean, variance, params),
        Likelihood.laplace_sites(likelihood, mean, variance, params),
        Likelihood.taylor_sites(likelihood, params),
    ):
        np.testing.assert_allclose(generic, sites, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [BernoulliLogit, BernoulliProbit])
@pytest.mark.parametrize(
    "weight", [(2, 1), (1, 0), (0.3, 0.1), (7, 0), (20, 30), (0, 400)], ids=str
)
def test_repeated_labels_use_the_joint_likelihood(make, weight):
    # Both labels of one latent value, fitted by brute force on a fine grid.
    mean, variance = np.array([0.5, -6.0, 4.0, 0.0]), np.array([2.0, 1.0, 25.0, 0.01])
    labels, index = np.tile([1.0, -1.0], 4), np.repeat(np.arange(4), 2)
    likelihood = make(labels, latent_index=index, sample_weight=np.tile(weight, 4))
    grid = mean + np.sqrt(variance) * np.linspace(-30, 30, 60001)[:, np.newaxis]
    log_density = likelihood.per_latent(grid) - 0.5 * (grid - mean) ** 2 / variance
    density = np.exp(log_density - log_density.max(axis=0))
    density /= density.sum(axis=0)
    centre = (density * grid).sum(axis=0)
    spread = (density * (grid - centre) ** 2).sum(axis=0)
    expected = Sites(1 / spread - 1 / variance, centre / spread - mean / variance)
    assert_same_fit(likelihood.fit_sites(mean, variance), expected, mean, variance, rtol=1e-9)


def test_the_one_label_that_the_prior_rules_out_is_fitted_in_its_place():
    likelihood = BernoulliLogit([1, -1, 1, -1], latent_index=[2, 3, 1, 0])
    mean = np.array([1.0, -40.0, 0.3, 25.0])
    sites = likelihood.moment_sites(mean, 0.5)
    generic = Likelihood.moment_sites(likelihood, mean, 0.5)
    assert_same_fit(sites, generic, mean, 0.5, rtol=1e-10)


@pytest.mark.parametrize("make", [BernoulliLogit, BernoulliProbit])
def test_extreme_log_probabilities_of_repeated_labels(make):
    likelihood = make([1, 1, -1, -1], latent_index=[0, 0, 1, 0])
    latent = np.array([[-700.0, 30.0], [700.0, -30.0], [1e-9, 700.0]])
    single = make([1, -1]).pointwise(np.stack([latent[:, 0], latent[:, 0]], axis=-1))
    np.testing.assert_allclose(
        likelihood.per_latent(latent),
        np.stack([2 * single[:, 0] + single[:, 1], make([-1]).pointwise(latent[:, 1])], axis=-1),
        rtol=TENS_OF_OPERATIONS,
    )


@every_likelihood
@every_structure
def test_scalar_and_vector_priors_agree(make, structure):
    likelihood, params = build(make, structure)
    vector = likelihood.fit_sites(
        np.full(likelihood.n_latent, 0.2), np.full(likelihood.n_latent, 1.5), params
    )
    assert isinstance(vector, Sites)
    assert vector.precision.shape == vector.shift.shape == (likelihood.n_latent,)
    np.testing.assert_array_equal(likelihood.fit_sites(0.2, 1.5, params), vector)


@pytest.mark.parametrize("make", [logit, probit])
def test_labels_have_no_taylor_sites(make):
    with pytest.raises(MissingCapabilityError, match=r"Bernoulli.*infinity"):
        make().taylor_sites()


@pytest.mark.parametrize("make", [logit, probit, binomial, poisson, negative_binomial, student])
def test_only_gaussian_likelihoods_have_gaussian_sites(make):
    likelihood = make()
    with pytest.raises(MissingCapabilityError, match="is not a Gaussian likelihood"):
        likelihood.gaussian_sites()


# A user's likelihood --------------------------------------------------------------------------


def test_student_t_taylor_sites():
    precision, shift = student().taylor_sites()
    np.testing.assert_allclose(precision, 1.25, rtol=1e-6)
    np.testing.assert_allclose(shift, 1.25 * np.array(NUMBERS), rtol=1e-6)


def test_student_t_laplace_sites():
    likelihood = student()
    precision, shift = likelihood.laplace_sites(0.5, 2.0)
    mode = (0.5 / 2 + shift) / (0.5 + precision)
    residual = likelihood.y - mode
    np.testing.assert_allclose(5 * residual / (4 + residual**2), (mode - 0.5) / 2, atol=1e-7)
    bend = 5 * (4 - residual**2) / (4 + residual**2) ** 2
    np.testing.assert_allclose(precision, bend, rtol=1e-6)


def test_student_t_parameters_and_settings_reach_the_sites():
    likelihood = noisy_student()
    precision, _ = likelihood.taylor_sites((0.7,))
    np.testing.assert_allclose(precision, 1.25 / (0.7 * np.array(EXPOSURE)) ** 2, rtol=1e-5)


def test_default_sample_is_reported_missing():
    with pytest.raises(MissingCapabilityError, match=r"StudentT.*sample"):
        student().sample(np.zeros(6), (), np.random.default_rng(0))


# Distinct latents -----------------------------------------------------------------------------


def repeated(make, structure_seed):
    """A likelihood over 30 latent values with many equal ones."""
    rng = np.random.default_rng(structure_seed)
    small = make()
    rows = rng.integers(0, 6, size=60)
    index = np.arange(60) if structure_seed == 0 else np.r_[rng.permutation(30), np.arange(30)]
    kwargs = {"latent_index": index}
    if structure_seed == 2:
        kwargs["sample_weight"] = rng.integers(0, 3, size=60)
    other = {n: (v[rows] if np.ndim(v) else v) for n, v in settings_of(small).items()}
    return type(small)(small.y[rows], **other, **kwargs)


@every_likelihood
@pytest.mark.parametrize("structure_seed", [0, 1, 2])
def test_distinct_latents_expand_to_the_direct_fit(make, structure_seed):
    likelihood = repeated(make, structure_seed)
    params = params_of(likelihood)
    small, inverse = likelihood.distinct()
    assert type(small) is type(likelihood)
    assert small.n_latent <= likelihood.n_latent
    assert inverse.shape == (likelihood.n_latent,)
    np.testing.assert_array_equal(np.unique(inverse), np.arange(small.n_latent))
    fitted, direct = small.fit_sites(0.3, 2.0, params), likelihood.fit_sites(0.3, 2.0, params)
    np.testing.assert_allclose(np.array(fitted)[:, inverse], direct, rtol=1e-9, atol=ELEMENTWISE)
    latent = np.random.default_rng(5).normal(size=small.n_latent)
    np.testing.assert_allclose(
        small.per_latent(latent, params)[inverse],
        likelihood.per_latent(latent[inverse], params),
        rtol=ELEMENTWISE,
    )


def test_distinct_finds_the_smallest_set():
    small, inverse = BernoulliLogit([1, -1, 1, 1, -1]).distinct()
    assert small.n_latent == 2
    assert small.latent_index is None
    np.testing.assert_array_equal(small.y[inverse], [1, -1, 1, 1, -1])
    assert Poisson([1, 2, 1, 1], [1.0, 1.0, 1.0, 2.0]).distinct()[0].n_latent == 3
    assert Poisson([1, 2, 1, 1], sample_weight=[1, 1, 1, 2]).distinct()[0].n_latent == 3
    assert Gaussian([1.0, 1.0, 1.0], [1.0, 1.0, 3.0]).distinct()[0].n_latent == 2


def test_distinct_ignores_the_order_of_repeated_observations():
    likelihood = Poisson([3, 0, 0, 3, 3, 3], [1, 2, 2, 1, 1, 1], latent_index=[0, 0, 1, 1, 2, 2])
    small, inverse = likelihood.distinct()
    assert small.n_latent == 2
    np.testing.assert_array_equal(inverse, [0, 0, 1])


# Other targets, draws, pickles ----------------------------------------------------------------


@every_likelihood
@every_structure
def test_with_targets_equals_a_new_likelihood(make, structure):
    likelihood, params = build(make, structure)
    latent = latent_of(likelihood)
    before = likelihood.log_likelihood(latent, params)
    targets = likelihood.y[::-1].copy()
    changed = likelihood.with_targets(targets)
    new = type(likelihood)(targets, **settings_of(likelihood), **structure)
    assert changed.log_likelihood(latent, params) == new.log_likelihood(latent, params)
    np.testing.assert_array_equal(
        changed.fit_sites(0.0, 1.0, params), new.fit_sites(0.0, 1.0, params)
    )
    assert likelihood.log_likelihood(latent, params) == before


@every_likelihood
def test_targets_are_copied(make):
    y = np.array(make().y)
    likelihood = type(make())(y, **settings_of(make()))
    y[:] = 7.0
    np.testing.assert_array_equal(likelihood.y, make().y)


@every_built_in
def test_sample_has_the_right_mean_and_variance(make):
    likelihood, params = build(make, {"latent_index": INDEX})
    rng = np.random.default_rng(11)
    draws = np.array([likelihood.sample(LATENT, params, rng) for _ in range(4000)])
    f = LATENT[INDEX]
    if isinstance(likelihood, Bernoulli):
        probability = np.exp(likelihood.with_targets(np.ones(6)).pointwise(f))
        mean, variance = 2 * probability - 1, 4 * probability * (1 - probability)
        assert set(np.unique(draws)) == {-1.0, 1.0}
        fourth = variance * (4 - 3 * variance)
    elif isinstance(likelihood, Poisson):
        mean = np.exp(f) * (1.0 if likelihood.exposure is None else likelihood.exposure)
        variance, fourth = mean, mean + 3 * mean**2
    elif isinstance(likelihood, Binomial):
        n, p = likelihood.trials, expit(f)
        mean, variance = n * p, n * p * (1 - p)
        fourth = variance * (1 + 3 * (n - 2) * p * (1 - p))
    elif isinstance(likelihood, NegativeBinomial):
        mean = np.exp(f) * (1.0 if likelihood.exposure is None else likelihood.exposure)
        variance, kurtosis = nbinom(mean, 0.7).stats("vk")
        fourth = (kurtosis + 3) * variance**2
    else:
        mean = f
        variance = 0.7 if likelihood.noise_variance is None else likelihood.noise_variance
        variance = np.broadcast_to(variance, 6)
        fourth = 3 * variance**2
    error = (draws.mean(axis=0) - mean) / np.sqrt(variance / 4000)
    assert np.abs(error).max() < 4.5
    error = ((draws - mean) ** 2).mean(axis=0) - variance
    assert (np.abs(error) <= 4.5 * np.sqrt((fourth - variance**2) / 4000) + 1e-12).all()


@every_built_in
def test_sample_is_reproducible_and_valid(make):
    likelihood, params = build(make, {"latent_index": INDEX})
    first = likelihood.sample(LATENT, params, np.random.default_rng(2))
    np.testing.assert_array_equal(first, likelihood.sample(LATENT, params, rng=2))
    assert first.shape == (6,)
    type(likelihood)(first, **settings_of(likelihood), latent_index=INDEX)  # validates


@pytest.mark.parametrize("make", [Poisson, partial(NegativeBinomial, dispersion=1e-3)])
def test_sample_ends_at_the_largest_rate_that_numpy_draws(make):
    draws = make([0.0]).sample(np.array([60.0]), rng=0)
    assert draws == pytest.approx(9e18, rel=1e-8)


@every_likelihood
@every_structure
def test_pickle(make, structure):
    likelihood, params = build(make, structure)
    copy = pickle.loads(pickle.dumps(likelihood))
    latent = latent_of(likelihood)
    assert copy.log_likelihood(latent, params) == likelihood.log_likelihood(latent, params)
    np.testing.assert_array_equal(copy.fit_sites(0, 1, params), likelihood.fit_sites(0, 1, params))


# Success probability --------------------------------------------------------------------------


def quad_success(link, mean, variance):
    if variance == 0:
        return link(mean)
    scale = np.sqrt(variance)
    edges = np.unique(
        np.clip(np.r_[-12, (np.array([-40, -8, 0, 8, 40]) - mean) / scale, 12], -12, 12)
    )
    return sum(
        integrate.quad(
            lambda z: link(mean + scale * z) * stats.norm.pdf(z), a, b, epsabs=1e-13, limit=200
        )[0]
        for a, b in itertools.pairwise(edges)
    )


@pytest.mark.parametrize(
    ("make", "link"), [(BernoulliLogit, expit), (BernoulliProbit, stats.norm.cdf)]
)
@pytest.mark.parametrize("variance", [0.0, 1e-4, 0.5, 4.0, 100.0, 1e4, 1e6])
def test_success_probability_equals_quadrature(make, link, variance):
    mean = np.array([-500.0, -20.0, -3.0, -0.1, 0.0, 1.0, 7.0, 100.0])
    expected = [quad_success(link, m, variance) for m in mean]
    np.testing.assert_allclose(make([1]).success_probability(mean, variance), expected, atol=1e-10)


@pytest.mark.parametrize("make", [BernoulliLogit, BernoulliProbit])
def test_success_probability_is_a_symmetric_probability(make):
    mean = np.r_[0.0, np.geomspace(1e-8, 1e8, 60), np.inf]
    variance = np.r_[0.0, np.geomspace(1e-8, 1e8, 20)][:, np.newaxis]
    up = make([1]).success_probability(mean, variance)
    down = make([1]).success_probability(-mean, variance)
    assert up.shape == (21, 62)
    assert (up >= 0.5 - FEW_OPERATIONS).all()
    assert (up <= 1).all()
    assert (down >= 0).all()
    np.testing.assert_allclose(up + down, 1.0, rtol=FEW_OPERATIONS)
    np.testing.assert_allclose(up[:, 0], 0.5, rtol=FEW_OPERATIONS)


def test_unlikely_successes_are_relatively_accurate():
    mean = np.array([-25.0, -15.0, -5.0])
    np.testing.assert_allclose(
        BernoulliLogit([1]).success_probability(mean, 0.0), expit(mean), rtol=1e-8
    )


# Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BernoulliLogit([1, 0]), r"y must be -1 or \+1.*row 1 holds 0\.0.*Encode"),
        (lambda: BernoulliProbit([2, 1]), r"y must be -1 or \+1.*row 0 holds 2\.0"),
        (lambda: BernoulliLogit(["a", "b"]), "y must be real numbers; got .'a', 'b'."),
        (lambda: BernoulliLogit([]), r"y must be one-dimensional.*shape \(0,\)"),
        (lambda: Gaussian([[1.0]]), r"y must be one-dimensional.*shape \(1, 1\)"),
        (lambda: Gaussian([0.0, np.nan]), "y must be finite; row 1 holds nan"),
        (lambda: Gaussian([0.0, np.inf]), "y must be finite; row 1 holds inf"),
        (lambda: Gaussian([0.0], 0.0), "noise_variance must be positive and finite; got 0.0"),
        (lambda: Gaussian([0.0], np.nan), "noise_variance must be positive and finite; got nan"),
        (lambda: Gaussian([0.0, 1.0], [1.0, -1.0]), "noise_variance must be positive; row 1"),
        (lambda: Gaussian([0.0, 1.0], [1.0]), "noise_variance has 1 elements but y has 2"),
        (lambda: Poisson([1, -2]), r"y must be a whole number.*row 1 holds -2\.0"),
        (lambda: Poisson([1, 2.5]), r"y must be a whole number.*row 1 holds 2\.5.*exposure"),
        (lambda: Poisson([1, 2], [1, 0]), r"exposure must be positive; row 1 holds 0\.0"),
        (lambda: Poisson([1, 2], [1, np.inf]), "exposure must be finite; row 1 holds inf"),
        (lambda: Poisson([1, 2], [1]), "exposure has 1 elements but y has 2"),
        (
            lambda: Binomial([1, 2], [2, 1]),
            "y must be at most the number.*row 1 holds 2.0.*1 trials",
        ),
        (lambda: Binomial([1, 2], [2, 0]), "trials must be a whole number from 1.*row 1 holds 0.0"),
        (lambda: Binomial([1, 2], [2.5, 2]), "trials must be a whole number.*row 0 holds 2.5"),
        (lambda: Binomial([1, 2], [2]), "trials has 1 elements but y has 2"),
        (lambda: Binomial([1, -2], [2, 2]), r"y must be a whole number.*row 1 holds -2\.0\.$"),
        (
            lambda: NegativeBinomial([1, 2.5]),
            r"y must be a whole number.*row 1 holds 2\.5.*exposure",
        ),
        (lambda: NegativeBinomial([1, 2], [1, 0]), r"exposure must be positive; row 1 holds 0\.0"),
        (
            lambda: NegativeBinomial([1], dispersion=0.0),
            "dispersion must be positive.*got 0.0.*Poisson",
        ),
        (lambda: NegativeBinomial([1], dispersion="a"), "dispersion must be positive.*got 'a'"),
        (lambda: negative_binomial().log_likelihood(np.zeros(6)), r"params=\(dispersion\), got 0"),
        (lambda: student(sample_weight=[1] * 5), "sample_weight has 5 elements but y has 6"),
        (lambda: student(sample_weight=[1, -1, 1, 1, 1, 1]), "sample_weight must be >= 0; row 1"),
        (lambda: student(sample_weight=[np.nan] * 6), "sample_weight must be finite; row 0"),
        (lambda: student(latent_index=[0.0] * 6), "latent_index must be a vector of 6 whole"),
        (lambda: student(latent_index=[0, 1]), r"latent_index must be.*shape \(2,\)"),
        (lambda: student(latent_index=[-1, 0, 0, 0, 0, 0]), "latent_index must be >= 0; row 0"),
        (
            lambda: student(latent_index=[0, 2, 0, 2, 0, 2]),
            "latent_index must contain.*1 is missing",
        ),
        (lambda: gaussian_unknown().log_likelihood(np.zeros(6)), r"params=\(noise_level,\).*got 0"),
    ],
)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_registry():
    names = {"bernoulli-logit", "bernoulli-probit", "binomial", "gaussian"}
    names |= {"negative-binomial", "poisson", "student-t"}
    assert set(LIKELIHOODS) == names
    assert all(issubclass(cls, Likelihood) for cls in LIKELIHOODS.values())
    assert Gaussian([1.0]).parameters == ("noise_level",)
    assert Gaussian([1.0], 0.1).parameters == ()
    with pytest.raises(TypeError, match="abstract"):
        Likelihood([1.0])


@pytest.mark.parametrize("family", [BernoulliLogit, BernoulliProbit, StudentTNoise])
def test_auxiliary_draws_do_not_depend_on_the_order_or_on_how_copies_are_given(family):
    y, index = np.array([1.0, -1.0, 1.0, 1.0, -1.0]), np.array([0, 0, 1, 2, 2])
    latent, weight = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    rows = np.repeat(np.arange(5), weight.astype(int))[::-1]
    params = (0.5,) if family is StudentTNoise else ()
    weighted = family(y, latent_index=index, sample_weight=weight)
    copied = family(y[rows], latent_index=index[rows])
    one, other = (
        likelihood.augment(latent, params, np.random.default_rng(0)).gaussian_sites(params)
        for likelihood in (weighted, copied)
    )
    np.testing.assert_allclose(one.precision, other.precision, rtol=ELEMENTWISE)
    np.testing.assert_allclose(one.shift, other.shift, rtol=ELEMENTWISE)


def test_a_part_of_a_copy_has_no_auxiliary_variable():
    likelihood = BernoulliProbit([1.0, -1.0], sample_weight=[1.0, 0.5])
    with pytest.raises(MissingCapabilityError, match="whole numbers"):
        likelihood.augment(np.zeros(2), (), np.random.default_rng(0))
