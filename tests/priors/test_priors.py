"""Hyperpriors against scipy's densities, cdfs and quadrature."""

import math
import pickle
import sys

import numpy as np
import pytest
from rounding import ELEMENTWISE, FEW_OPERATIONS, TENS_OF_OPERATIONS
from scipy import stats
from scipy.integrate import quad

from skgpmcmc.priors import HyperparameterSpec, HyperPrior, log_uniform_default, resolve_priors

# (id, distribution, log_scale, bounds). Shifted supports have ends that binary fractions represent,
# or scipy itself is off by one rounding at its end points.
FAST = [
    ("loguniform", stats.loguniform(0.1, 10.0), True, None),
    ("loguniform-scaled-cut", stats.loguniform(a=0.1, b=10.0, scale=3.0), True, (0.5, 100.0)),
    ("loguniform-shifted", stats.loguniform(0.125, 8.0, loc=0.5), True, None),
    ("loguniform-identity", stats.loguniform(0.1, 10.0), False, (0.2, 5.0)),
    ("uniform", stats.uniform(0.3, 2.0), True, None),
    ("uniform-from-zero-cut", stats.uniform(loc=0.0, scale=2), True, (0.1, 1.0)),
    ("uniform-identity", stats.uniform(-1.0, scale=4.0), False, (-2.0, 2.0)),
    ("lognorm", stats.lognorm(0.7, scale=2.0), True, None),
    ("lognorm-cut", stats.lognorm(s=1.2, loc=0.0, scale=0.5), True, (0.1, 3.0)),
    ("lognorm-shifted", stats.lognorm(0.7, 0.2, 2.0), True, (0.2, 9.0)),
    ("lognorm-identity", stats.lognorm(0.7), False, None),
    ("norm", stats.norm(1.0, 2.0), False, None),
    ("norm-cut", stats.norm(loc=1.0, scale=2.0), False, (-0.5, 6.0)),
    ("norm-half-line", stats.norm(np.float64(1.0), np.float64(2.0)), False, (2.0, np.inf)),
    ("halfnorm", stats.halfnorm(scale=1.5), True, None),
    ("halfnorm-shifted", stats.halfnorm(0.3, 1.5), True, (0.1, 4.0)),
    ("expon", stats.expon(scale=0.4), True, None),
    ("expon-shifted", stats.expon(0.3, 0.4), True, (0.35, 2.0)),
    ("expon-identity", stats.expon(-1.0, 2.0), False, None),
    ("gamma", stats.gamma(2.5, scale=0.5), True, None),
    ("gamma-below-one", stats.gamma(0.6, 0.0, 2.0), True, (0.01, 5.0)),
    ("gamma-one-identity", stats.gamma(1.0), False, None),
    ("gamma-shifted", stats.gamma(a=1.5, loc=0.3), True, None),
    ("invgamma", stats.invgamma(3.0, scale=2.0), True, None),
    ("invgamma-cut", stats.invgamma(a=1.5), True, (0.2, 20.0)),
    ("halfcauchy", stats.halfcauchy(scale=2.0), True, None),
    ("halfcauchy-cut", stats.halfcauchy(), True, (0.1, 50.0)),
    ("cauchy", stats.cauchy(0.5, 0.3), False, (-3.0, 3.0)),
    ("truncnorm", stats.truncnorm(-0.5, 3.0, loc=1.0, scale=2.0), True, None),
    ("truncnorm-identity", stats.truncnorm(a=-1.0, b=2.0, loc=0.5), False, (-0.2, 1.5)),
    ("t", stats.t(4.0, 1.0, 0.5), False, None),
    ("t-cut", stats.t(df=2.5), False, (-1.0, 6.0)),
    ("t-normal-limit", stats.t(df=np.inf), False, None),
]
GENERIC = [
    ("beta", stats.beta(2.0, 3.0), True, None),
    ("weibull-cut", stats.weibull_min(1.5, scale=2.0), True, (0.2, 5.0)),
    ("logistic", stats.logistic(1.0, 0.5), False, (-1.0, np.inf)),
]


class FixedGenerator:
    """Stands in for a generator whose uniform numbers are all the same."""

    def __init__(self, uniform):
        self.uniform = uniform

    def random(self, size=None):
        return self.uniform


def cases(table):
    return pytest.mark.parametrize(
        ("distribution", "log_scale", "bounds"),
        [case[1:] for case in table],
        ids=[case[0] for case in table],
    )


def natural_ends(distribution, bounds):
    lower, upper = distribution.support()
    if bounds is not None:
        lower, upper = max(lower, bounds[0]), min(upper, bounds[1])
    return float(lower), float(upper)


def reference_log_density(distribution, log_scale, bounds, value):
    """Log density of the truncated prior at `value`, straight from the definition."""
    lower, upper = natural_ends(distribution, bounds)
    x = math.exp(value) if log_scale else value
    x = min(max(x, lower), upper)  # exp(log(end)) may be one rounding outside
    jacobian = value if log_scale else 0.0
    mass = distribution.cdf(upper) - distribution.cdf(lower)
    return distribution.logpdf(x) + jacobian - math.log(mass)


def grid(prior):
    """Points over the support: its finite ends, quantiles of the prior, and far tails."""
    inner = prior.sample(np.random.default_rng(0), size=40)
    far = np.array([-30.0, -5.0, 3.0, 6.0])
    ends = np.array(prior.support)
    points = np.concatenate([inner, far, ends[np.isfinite(ends)]])
    return points[(points >= ends[0]) & (points <= ends[1])]


@cases(FAST + GENERIC)
def test_log_density_is_scipys_with_jacobian_and_truncation(distribution, log_scale, bounds):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    for value in grid(prior):
        got = prior.log_density(value)
        expected = reference_log_density(distribution, log_scale, bounds, value)
        assert type(got) is float
        if expected == -math.inf:
            assert got == -math.inf
        else:
            assert got == pytest.approx(expected, rel=ELEMENTWISE, abs=ELEMENTWISE)


@cases(FAST + GENERIC)
def test_support_is_the_intersection_on_the_sampling_scale(distribution, log_scale, bounds):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    lower, upper = natural_ends(distribution, bounds)
    if log_scale:
        lower, upper = math.log(lower) if lower > 0 else -math.inf, math.log(upper)
    assert prior.support == (lower, upper)
    outside = [end + step for end, step in ((lower, -1e-6), (upper, 1e-6)) if math.isfinite(end)]
    for value in [*outside, math.nan, math.inf, -math.inf]:
        assert prior.log_density(value) == -math.inf


@cases(FAST + GENERIC)
def test_integrates_to_one_on_the_sampling_scale(distribution, log_scale, bounds):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    # split at the median: quad on an infinite range may miss a peak far from 0
    lower, upper = prior.support
    pieces = [(lower, prior.median()), (prior.median(), upper)]
    halves = [
        quad(lambda t: math.exp(prior.log_density(t)), *piece, epsabs=1e-10, epsrel=1e-10)[0]
        for piece in pieces
    ]
    assert halves == pytest.approx([0.5, 0.5], abs=1e-7)


@cases(FAST + GENERIC)
def test_samples_follow_the_truncated_cdf(distribution, log_scale, bounds):
    # Seed and size are fixed, so the outcome is reproducible. For a fresh seed each case would
    # fail falsely with probability 1e-6, the whole parametrisation below 1e-4; at n = 5000 the
    # rejection threshold is a cdf distance of about 0.04.
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    lower, upper = natural_ends(distribution, bounds)
    below, mass = distribution.cdf(lower), distribution.cdf(upper) - distribution.cdf(lower)
    draws = prior.sample(np.random.default_rng(20), size=5000)
    assert draws.min() >= prior.support[0]
    assert draws.max() <= prior.support[1]
    result = stats.kstest(
        prior.natural(draws), lambda x: np.clip((distribution.cdf(x) - below) / mass, 0.0, 1.0)
    )
    assert result.pvalue > 1e-6


@cases(FAST + GENERIC)
def test_median_halves_the_truncated_mass(distribution, log_scale, bounds):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    lower, upper = natural_ends(distribution, bounds)
    middle = distribution.cdf(prior.natural(prior.median()))
    expected = 0.5 * (distribution.cdf(lower) + distribution.cdf(upper))
    # older scipy inverts the cdf of Student's t to ten digits only
    assert middle == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.95])
@cases(FAST + GENERIC)
def test_quantile_inverts_the_truncated_cdf(distribution, log_scale, bounds, probability):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    below, not_above = distribution.cdf(natural_ends(distribution, bounds))
    reached = distribution.cdf(prior.natural(prior.quantile(probability)))
    # older scipy inverts the cdf of Student's t to ten digits only
    assert reached == pytest.approx(below + probability * (not_above - below), abs=1e-9)


def test_extreme_quantiles_are_the_ends_of_the_support_if_finite():
    cut = HyperPrior(stats.lognorm(1.0), bounds=(0.5, 4.0))
    ends = (cut.quantile(0), cut.quantile(1.0))
    assert ends == pytest.approx((-math.log(2.0), math.log(4.0)), rel=FEW_OPERATIONS)
    assert type(ends[0]) is float
    for distribution in (stats.lognorm(1.0), stats.halfcauchy()):
        prior = HyperPrior(distribution)
        limits = (math.log(sys.float_info.min), math.log(sys.float_info.max))
        assert (prior.quantile(0.0), prior.quantile(1.0)) == limits


@pytest.mark.parametrize("probability", [-0.1, 1.5, math.nan])
def test_quantile_refuses_what_is_no_probability(probability):
    prior = HyperPrior(stats.lognorm(1.0))
    with pytest.raises(ValueError, match=rf"probability must be .* 0 to 1, got {probability}"):
        prior.quantile(probability)


@cases(FAST)
def test_fast_families_never_call_scipy_after_construction(
    distribution, log_scale, bounds, monkeypatch
):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    value = prior.median()
    expected = prior.log_density(value)

    def refuse(*args, **kwargs):
        raise AssertionError("scipy was called")

    for name in ("logpdf", "pdf", "_logpdf", "_pdf", "cdf", "sf", "support"):
        monkeypatch.setattr(stats.rv_continuous, name, refuse)
        # on the family too, which overrides the private methods
        monkeypatch.setattr(type(distribution.dist), name, refuse)
        monkeypatch.setattr(type(stats.norm), name, refuse)
    assert prior.log_density(value) == expected


def test_the_guard_against_scipy_calls_would_notice_the_generic_path(monkeypatch):
    prior = HyperPrior(stats.beta(2.0, 3.0))

    def refuse(*args, **kwargs):
        raise AssertionError("scipy was called")

    monkeypatch.setattr(stats.rv_continuous, "logpdf", refuse)
    with pytest.raises(AssertionError, match="scipy was called"):
        prior.log_density(-1.0)


@cases(FAST + GENERIC)
def test_pickle_keeps_density_samples_and_support(distribution, log_scale, bounds):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds, name="amplitude")
    copy = pickle.loads(pickle.dumps(prior))
    points = grid(prior)
    assert [copy.log_density(v) for v in points] == [prior.log_density(v) for v in points]
    assert (copy.name, copy.support, copy.log_scale) == ("amplitude", prior.support, log_scale)
    drawn = [p.sample(np.random.default_rng(1), size=5) for p in (prior, copy)]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("sign", [-1.0, 1.0], ids=["lower", "upper"])
def test_far_tail_is_accurate(sign):
    # beyond 8.3 standard deviations 1 - cdf is 0 in double precision, sf is not
    bounds = sorted((sign * 10.0, sign * 12.0))
    prior = HyperPrior(stats.norm(), log_scale=False, bounds=bounds)
    expected = sign * stats.norm.isf(0.5 * (stats.norm.sf(10.0) + stats.norm.sf(12.0)))
    assert prior.median() == pytest.approx(expected, rel=TENS_OF_OPERATIONS)
    mass = quad(lambda t: math.exp(prior.log_density(t)), *bounds, epsabs=1e-12)[0]
    assert mass == pytest.approx(1.0, abs=1e-9)
    draws = prior.sample(np.random.default_rng(3), size=1000)
    assert np.unique(draws).size == 1000
    # the tail beyond 10 is close to exponential: mean excess E[x] - 10, from quadrature
    mean = quad(lambda t: t * math.exp(prior.log_density(t)), *bounds, epsabs=1e-12)[0]
    assert abs(draws.mean() - mean) < 5.0 * draws.std() / math.sqrt(1000)


def test_upper_tail_of_an_untruncated_prior_is_resolved():
    # the exact quantile; ppf(1 - 2**-53) alone already loses digits to rounding
    prior = HyperPrior(stats.lognorm(1.0))
    assert prior.sample(FixedGenerator(1.0 - 2.0**-53)) == pytest.approx(
        stats.norm.isf(2.0**-53), rel=ELEMENTWISE
    )


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2.0**-53])
@cases(FAST + GENERIC)
def test_extreme_uniform_numbers_give_finite_samples(distribution, log_scale, bounds, uniform):
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=bounds)
    value = prior.sample(FixedGenerator(uniform))
    assert abs(value) < 1e6  # not an infinite quantile cut to the largest number
    assert prior.support[0] <= value <= prior.support[1]


def test_quantile_below_zero_by_rounding_gives_no_nan():
    class Inexact(stats.rv_continuous):  # as scipy's truncnorm is in some versions
        def _cdf(self, x):
            return x

        def _ppf(self, q):
            return q - 1e-15

    value = HyperPrior(Inexact(a=0.0, b=1.0)()).sample(FixedGenerator(0.0))
    assert math.isfinite(value)


def test_sample_shapes():
    prior = HyperPrior(stats.lognorm(1.0))
    rng = np.random.default_rng(0)
    assert type(prior.sample(rng)) is float
    assert prior.sample(rng, 3).shape == (3,)
    assert prior.sample(rng, size=(2, 3)).shape == (2, 3)
    one_by_one = np.random.default_rng(7)
    np.testing.assert_array_equal(
        prior.sample(np.random.default_rng(7), 4), [prior.sample(one_by_one) for _ in range(4)]
    )


def test_closed_values():
    flat = HyperPrior(stats.loguniform(0.1, 10.0))
    assert flat.log_density(1.3) == pytest.approx(-math.log(math.log(100.0)), rel=FEW_OPERATIONS)
    bell = HyperPrior(stats.lognorm(0.5, scale=2.0))
    assert bell.median() == pytest.approx(math.log(2.0), rel=FEW_OPERATIONS)
    peak = -math.log(0.5 * math.sqrt(2.0 * math.pi))
    assert bell.log_density(math.log(2.0)) == pytest.approx(peak, rel=FEW_OPERATIONS)


def test_scale_maps():
    positive = HyperPrior(stats.lognorm(1.0), name="amplitude")
    np.testing.assert_allclose(
        positive.natural([0.0, math.log(3.0)]), [1.0, 3.0], rtol=FEW_OPERATIONS
    )
    offset = HyperPrior(stats.norm(), log_scale=False)
    values = np.array([-1.0, 2.0])
    mapped = offset.natural(values)
    np.testing.assert_array_equal(mapped, values)
    assert not np.shares_memory(mapped, values)


def test_values_that_overflow_naturally_have_no_density():
    prior = HyperPrior(stats.halfcauchy())
    assert prior.support == (-math.inf, math.inf)
    assert prior.log_density(-800.0) == -math.inf
    assert prior.log_density(800.0) == -math.inf
    # density of log x for x = e^t is (2 / pi) / (e^t + e^-t)
    for value in (-700.0, 700.0):
        expected = math.log(2.0 / math.pi) - 700.0
        assert prior.log_density(value) == pytest.approx(expected, rel=FEW_OPERATIONS)


@pytest.mark.parametrize("distribution", [stats.gamma(0.5), stats.beta(0.5, 2.0)])
def test_unbounded_density_at_an_end_point_is_minus_infinity(distribution):
    prior = HyperPrior(distribution, log_scale=False)
    assert distribution.logpdf(0.0) == math.inf
    assert prior.log_density(0.0) == -math.inf
    assert math.isfinite(prior.log_density(1e-8))


def test_user_family_that_borrows_a_name_keeps_its_own_density():
    class Triangle(stats.rv_continuous):
        def _pdf(self, x):
            return 2.0 * x

        def _cdf(self, x):
            return x * x

    prior = HyperPrior(Triangle(a=0.0, b=1.0, name="norm")(), log_scale=False)
    assert prior.log_density(0.25) == pytest.approx(math.log(0.5), rel=ELEMENTWISE)


def test_support_that_misses_zero_by_rounding_is_accepted():
    below = [
        (m, s)
        for m in np.arange(1, 50) / 10
        for s in (0.1, 0.3, 0.7)
        if stats.truncnorm(-m / s, np.inf, m, s).support()[0] < 0.0
    ]
    assert below  # otherwise this test would test nothing
    for mean, sd in below:
        distribution = stats.truncnorm(-mean / sd, np.inf, mean, sd)
        prior = HyperPrior(distribution)
        assert prior.support == (-math.inf, math.inf)
        assert math.isfinite(prior.sample(FixedGenerator(0.0)))


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (stats.norm, r"unfrozen family scipy\.stats\.norm: call it with its parameters"),
        (stats.poisson, "is <scipy.stats"),
        (type(stats.norm()), r"\(type\)"),
        (np.array(1.5), r"is array\(1\.5\) \(ndarray\)"),
        (1.5, r"is 1\.5 \(float\)"),
        ("lognorm", r"is 'lognorm' \(str\)"),
        (None, r"is None \(NoneType\)"),
    ],
)
def test_not_a_frozen_continuous_distribution(distribution, message):
    with pytest.raises(TypeError, match=message) as error:
        HyperPrior(distribution, name="noise_level")
    assert "hyperparameter 'noise_level'" in str(error.value)
    assert "frozen continuous distribution" in str(error.value)


@pytest.mark.parametrize(
    ("distribution", "options", "message"),
    [
        (stats.norm(0.0, 1.0), {}, r"norm\(0\.0, 1\.0\), has the support \[-inf, inf\].*lognorm"),
        (stats.t(3), {"bounds": (0.1, 1.0)}, "the hyperparameter is positive"),
        (stats.uniform(-1e-9, 1.0), {}, "the hyperparameter is positive"),
        (stats.poisson(3.0), {}, r"poisson\(3\.0\), is discrete.*frozen continuous"),
        (stats.multivariate_normal, {}, "multivariate_normal_gen, is multivariate"),
        (stats.dirichlet([1.0, 1.0]), {}, "class dirichlet_frozen, is multivariate.*a list"),
        (stats.multivariate_normal(), {}, "multivariate_normal_frozen, is multivariate.*a list"),
        (stats.gamma(-1.0), {}, r"gamma\(-1\.0\), has invalid parameters"),
        (stats.lognorm(1.0, scale=0.0), {}, "has invalid parameters"),
        (stats.norm(math.nan), {"log_scale": False}, "has invalid parameters"),
        (stats.loguniform(0.0, 1.0), {}, "has invalid parameters"),
        (stats.lognorm([1.0, 2.0]), {}, "has array parameters.*one distribution per element"),
        (stats.norm(0.0, math.inf), {"log_scale": False}, "is improper"),
        (stats.expon(scale=math.inf), {}, "is improper|has invalid parameters"),
        (stats.loguniform(1.0, math.inf), {}, "is improper"),
        (
            stats.uniform(1.0, 2.0),
            {"bounds": (4.0, 5.0)},
            r"support \[1\.0, 3\.0\], which does not overlap the bounds \[4\.0, 5\.0\]",
        ),
        (stats.norm(), {"log_scale": False, "bounds": (50.0, 60.0)}, r"no mass.*\[50\.0, 60\.0\]"),
        (stats.lognorm(1.0), {"bounds": (2.0, 1.0)}, r"pair with 0 <= lower < upper, got \(2"),
        (stats.lognorm(1.0), {"bounds": (-1.0, 1.0)}, "pair with 0 <= lower < upper"),
        (stats.norm(), {"log_scale": False, "bounds": (1.0, math.nan)}, "pair with lower < upper"),
        (stats.norm(), {"log_scale": False, "bounds": (1.0,)}, "pair with lower < upper"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scipy's own, on infinite parameters
def test_invalid_priors_name_the_hyperparameter(distribution, options, message):
    with pytest.raises(ValueError, match=message) as error:
        HyperPrior(distribution, name="k2__length_scale[1]", **options)
    assert "hyperparameter 'k2__length_scale[1]'" in str(error.value)


class HalfNormal(stats.rv_continuous):
    """Without a cdf: scipy's quadrature misses the peak in a wide interval."""

    def _pdf(self, x):
        return np.exp(-0.5 * x * x)


def test_no_mass_of_a_density_of_ones_own_has_likely_causes():
    wide = (1e-5, 1e6)
    with pytest.raises(ValueError, match=r"no mass.* does not integrate to 1.*define _cdf"):
        HyperPrior(HalfNormal(a=0.0)(), bounds=wide)
    with pytest.raises(ValueError, match=r"no mass.*move the prior\.$"):
        HyperPrior(stats.lognorm(0.1), bounds=(1e5, 1e6))


@pytest.mark.skipif(not hasattr(stats, "Normal"), reason="scipy before 1.15")
def test_new_kind_of_scipy_distributions():
    message = r"hyperparameter 'alpha' is .*scipy's newer classes.*scipy\.stats\.lognorm"
    for distribution in (stats.Normal(mu=1.0, sigma=0.1), stats.exp(stats.Normal())):
        with pytest.raises(TypeError, match=message):
            HyperPrior(distribution, name="alpha")
    with pytest.raises(TypeError, match=r"hyperparameter 'alpha' is <class .*Normal.*\(.*\)"):
        HyperPrior(stats.Normal, name="alpha")


def test_repr_shows_distribution_and_support():
    prior = HyperPrior(stats.lognorm(0.5, scale=2.0), bounds=(1.0, np.inf), name="amplitude")
    assert repr(prior) == (
        "HyperPrior(lognorm(0.5, scale=2.0), log_scale=True, support=(0.0, inf), name='amplitude')"
    )


AMPLITUDE = HyperparameterSpec("k1__constant_value", 1, True, np.array([[0.1, 10.0]]))
LENGTHS = HyperparameterSpec("k2__length_scale", 2, True, np.array([[0.1, 10.0], [1.0, 100.0]]))
MEAN = HyperparameterSpec("mean", 1, False, None)


def test_defaults_fill_every_element_in_order():
    resolved = resolve_priors([LENGTHS, AMPLITUDE], None, log_uniform_default)
    names = ["k2__length_scale[0]", "k2__length_scale[1]", "k1__constant_value"]
    assert [prior.name for prior in resolved] == names
    supports = np.exp([prior.support for prior in resolved])
    np.testing.assert_allclose(
        supports, [[0.1, 10.0], [1.0, 100.0], [0.1, 10.0]], rtol=FEW_OPERATIONS
    )


def test_given_priors_replace_defaults_and_are_cut_to_the_bounds():
    wide, mean = stats.lognorm(3.0), stats.norm(1.0, 2.0)
    priors = {"mean": mean, "k2__length_scale": wide}
    resolved = resolve_priors([AMPLITUDE, LENGTHS, MEAN], priors, log_uniform_default)
    assert resolved[0].distribution.dist.name in ("loguniform", "reciprocal")
    assert [prior.distribution for prior in resolved[1:]] == [wide, wide, mean]
    assert resolved[2].support == (0.0, math.log(100.0))
    assert [prior.log_scale for prior in resolved] == [True, True, True, False]
    assert resolved[3].support == (-math.inf, math.inf)


@pytest.mark.parametrize("container", [list, tuple, lambda pair: np.array(pair, dtype=object)])
def test_one_distribution_per_element(container):
    pair = [stats.lognorm(1.0), stats.gamma(2.0)]
    resolved = resolve_priors([LENGTHS], {"k2__length_scale": container(pair)}, None)
    assert [prior.distribution for prior in resolved] == pair


def test_defaults_see_the_element_index():
    seen = []

    def default(spec, index):
        seen.append((spec.name, index))
        return stats.lognorm(1.0)

    resolve_priors([LENGTHS, AMPLITUDE], {}, default)
    expected = [("k2__length_scale", 0), ("k2__length_scale", 1), ("k1__constant_value", 0)]
    assert seen == expected


def test_unknown_name_lists_the_valid_ones_and_suggests():
    with pytest.raises(ValueError, match="unknown hyperparameters") as error:
        resolve_priors([AMPLITUDE, LENGTHS], {"k2__lenght_scale": stats.lognorm(1.0)}, None)
    text = str(error.value)
    assert "Did you mean 'k2__length_scale'?" in text
    assert "Valid names are ['k1__constant_value', 'k2__length_scale']" in text
    with pytest.raises(ValueError, match="unknown") as error:
        resolve_priors([MEAN], {"zzz": stats.norm()}, None)
    assert "Did you mean" not in str(error.value)


def test_wrong_number_of_distributions():
    message = r"priors\['k2__length_scale'\] has 3 distributions.*has 2 element"
    with pytest.raises(ValueError, match=message):
        resolve_priors([LENGTHS], {"k2__length_scale": [stats.lognorm(1.0)] * 3}, None)


def test_priors_must_be_a_mapping():
    with pytest.raises(TypeError, match=r"None or a mapping.*got list"):
        resolve_priors([MEAN], [stats.norm()], None)


def test_a_bad_element_is_named():
    with pytest.raises(TypeError, match=r"'k2__length_scale\[1\]' is 2\.0"):
        resolve_priors([LENGTHS], {"k2__length_scale": [stats.lognorm(1.0), 2.0]}, None)


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ([[0.1, 1.0], [1.0, np.inf]], r"\[1\.0, inf\]"),
        ([[0.1, 1.0], [0.0, 1.0]], r"\[0\.0, 1\.0\]"),
    ],
)
def test_log_uniform_default_needs_finite_positive_bounds(bounds, shown):
    spec = HyperparameterSpec("k2__length_scale", 2, True, np.array(bounds))
    with pytest.raises(ValueError, match=rf"'k2__length_scale\[1\]' has the bounds {shown}"):
        log_uniform_default(spec, 1)
