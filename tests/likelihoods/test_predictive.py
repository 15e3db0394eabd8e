"""Predictive distributions: formulas against the general methods, these against simulation."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import LIKELIHOODS
from scipy import special, stats

from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
    SoftmaxClass,
    StudentT,
)
from skgpmcmc.likelihoods._new_observations import NewObservations

# Means and variances of f, a column for each row; the rows of the arrays are draws.
MEAN = np.array([[-2.0, 0.0, 0.5, 1.5], [-1.0, 0.3, 0.5, 1.0], [-2.5, -0.4, 0.7, 2.0]])
VARIANCE = np.array([[0.0, 1e-4, 0.5, 4.0], [0.2, 0.01, 0.0, 1.0], [2.0, 0.3, 1.0, 0.1]])
QUANTILES = [0.02, 0.3, 0.5, 0.77, 0.99]
PER_ROW = np.array([0.5, 1.0, 3.0, 0.2])
LEVELS, DEGREES, DISPERSIONS = [0.3, 1.0, 0.05], [0.8, 3.0, 40.0], [0.1, 1.5, 4.0]

#: Name -> likelihood, parameters of each draw, values of new rows, y of new rows.
CASES = {
    "poisson": (Poisson([1, 2]), (), {}, [0, 2, 5, 11]),
    "poisson-exposure": (Poisson([1, 2], [2.0, 9.0]), (), {"exposure": PER_ROW}, [0, 2, 5, 11]),
    "negative-binomial": (
        NegativeBinomial([1, 2], [1.0, 2.0]),
        np.array([DISPERSIONS]).T,
        {"exposure": PER_ROW},
        [0, 2, 5, 11],
    ),
    "negative-binomial-fixed": (NegativeBinomial([1, 2], None, 0.4), (), {}, [0, 2, 5, 11]),
    "logit": (BernoulliLogit([1, -1]), (), {}, [1, -1, 1, -1]),
    "probit": (BernoulliProbit([1, -1]), (), {}, [1, -1, 1, -1]),
    "binomial": (Binomial([1, 2], [3, 4]), (), {"trials": [1, 7, 12, 3]}, [1, 0, 9, 2]),
    "gaussian": (Gaussian([0.3, 2.0]), np.array([LEVELS]).T, {}, [-2.0, 0.1, 3.0, 1.0]),
    "gaussian-fixed": (Gaussian([0.3, 2.0], 0.3), (), {}, [-2.0, 0.1, 3.0, 1.0]),
    "gaussian-rows": (
        Gaussian([0.3, 2.0], [0.3, 0.4]),
        (),
        {"known_variance": PER_ROW},
        [-2.0, 0.1, 3.0, 1.0],
    ),
    "student-t": (
        StudentT([0.3, 2.0], degrees_of_freedom=None),
        np.array([LEVELS, DEGREES]).T,
        {},
        [-2.0, 0.1, 3.0, 1.0],
    ),
    "student-t-rows": (
        StudentT([0.3, 2.0], known_variance=[0.1, 0.2]),
        np.array([LEVELS]).T,
        {"known_variance": PER_ROW},
        [-2.0, 0.1, 3.0, 1.0],
    ),
    "student-t-fixed": (StudentT([0.3, 2.0], 0.5, 2.5), (), {}, [-2.0, 0.1, 3.0, 1.0]),
}
WITH_QUANTILES = [name for name in CASES if CASES[name][0].support != "labels"]
#: What the formulas promise, and what quadrature adds (`predictive._distributions`).
TOLERANCE = 2e-6


class Plain(Likelihood):
    """Another likelihood's `pointwise` and `sample`, and nothing else."""

    def __init__(self, other):
        self.__dict__.update(other.__dict__)
        self.other, self.support = other, other.support
        self.per_observation, self.parameters = other.per_observation, other.parameters

    def _refresh(self):
        pass

    def at_new_rows(self, n_rows, y=None, **per_row):
        return Plain(self.other.at_new_rows(n_rows, y, **per_row))

    def of_latents(self, latents):
        return Plain(self.other.of_latents(latents))

    def pointwise(self, latent, params=()):
        return self.other.pointwise(latent, params)

    def sample(self, latent, params=(), rng=None):
        return self.other.sample(latent, params, rng)


def parts(name):
    """Likelihood, its plain twin, moments and parameters, values of new rows, and y."""
    likelihood, params, per_row, y = CASES[name]
    return likelihood, Plain(likelihood), (MEAN, VARIANCE, params), per_row, y


@pytest.mark.parametrize("name", CASES)
def test_log_densities_are_those_by_quadrature(name):
    formula, plain, arguments, per_row, y = parts(name)
    found = formula.log_density_given_draws(y, *arguments, **per_row)
    assert_allclose(found, plain.log_density_given_draws(y, *arguments, **per_row), atol=1e-7)
    averaged = formula.predictive_log_density(y, *arguments, **per_row)
    assert_allclose(averaged, special.logsumexp(found, axis=0) - math.log(3), rtol=1e-12)


@pytest.mark.parametrize("name", WITH_QUANTILES)
def test_quantiles_have_their_probability(name):
    """Of real y on both sides the general one, of counts just up to them and not below."""
    formula, plain, arguments, per_row, _ = parts(name)
    found = formula.predictive_quantiles(QUANTILES, *arguments, **per_row)
    assert found.shape == (4, len(QUANTILES))
    for column, q in zip(found.T, QUANTILES, strict=True):
        above = plain.predictive_exceedance(column, *arguments, **per_row)
        if formula.support == "real":
            assert_allclose(above, 1.0 - q, atol=TOLERANCE)
        else:
            below = plain.predictive_exceedance(column - 1.0, *arguments, **per_row)
            assert (above <= 1.0 - q + TOLERANCE).all()
            assert (below >= 1.0 - q - TOLERANCE).all()


@pytest.mark.parametrize("name", CASES)
def test_exceedances_are_the_general_ones(name):
    formula, plain, arguments, per_row, y = parts(name)
    for threshold in (y, 1.0, -np.inf, np.inf, -1.0):
        found = formula.predictive_exceedance(threshold, *arguments, **per_row)
        expected = plain.predictive_exceedance(threshold, *arguments, **per_row)
        assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize("name", CASES)
def test_means_are_the_general_ones(name):
    formula, plain, arguments, per_row, _ = parts(name)
    if name == "student-t":  # in the first draw there is none: the formula is the centre's
        pytest.skip("no expectation")
    if formula.support == "counts":  # far tails of skewed rates would be summed one by one
        arguments = (0.5 * MEAN, 0.1 * VARIANCE, arguments[2])
    found = formula.predictive_mean(*arguments, **per_row)
    # Student-t noise of few degrees of freedom has wide tails, which cells cut off.
    tolerance = 1e-4 if name.startswith("student-t") else 1e-6
    assert_allclose(found, plain.predictive_mean(*arguments, **per_row), rtol=1e-6, atol=tolerance)


@pytest.mark.parametrize("kind", ["formula", "general"])
@pytest.mark.parametrize("name", CASES)
def test_draws_are_of_the_predictive_distribution(name, kind):
    """Simulated: f given each draw, and y given f; thresholds are a few of the quantiles."""
    formula, plain, arguments, per_row, y = parts(name)
    likelihood = formula if kind == "formula" else plain
    rng, n = np.random.default_rng(0), 4000 if kind == "formula" else 500
    draws = np.repeat(np.arange(3), n)
    latent = MEAN[draws].T + np.sqrt(VARIANCE[draws]).T * rng.standard_normal((4, 3 * n))
    params = likelihood._params_of_draws(arguments[2], 3)[draws]
    sample = likelihood.predictive_sample(latent, params, rng, **per_row)
    assert sample.shape == latent.shape
    expected = formula.predictive_exceedance(y, *arguments, **per_row)
    share = (sample > np.array(y)[:, np.newaxis]).mean(axis=1)
    # Strata of equal size have no more variance than this.
    error = np.sqrt(expected * (1.0 - expected) / (3 * n))
    assert (np.abs(share - expected) <= 4.5 * error + 1e-12).all()
    if formula.support != "real":
        same = (sample == np.array(y)[:, np.newaxis]).mean(axis=1)
        probability = np.exp(formula.predictive_log_density(y, *arguments, **per_row))
        error = np.sqrt(probability * (1.0 - probability) / (3 * n))
        assert (np.abs(same - probability) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_every_likelihood_draws_what_it_predicts(name):
    """Also those that define `pointwise` and `sample` alone."""
    likelihood, rng, n = LIKELIHOODS[name].make(), np.random.default_rng(0), 600
    vectors = {key: getattr(likelihood, key) for key in likelihood.per_observation}
    per_row = {key: value[:4] for key, value in vectors.items() if np.ndim(value)}
    params = np.full((3, len(likelihood.parameters)), 0.7)
    draws = np.repeat(np.arange(3), n)
    latent = MEAN[draws].T + np.sqrt(VARIANCE[draws]).T * rng.standard_normal((4, 3 * n))
    sample = likelihood.predictive_sample(latent, params[draws], rng, **per_row)
    expected = likelihood.predictive_exceedance(likelihood.y[:4], MEAN, VARIANCE, params, **per_row)
    share = (sample > likelihood.y[:4, np.newaxis]).mean(axis=1)
    error = np.sqrt(expected * (1.0 - expected) / (3 * n))
    assert (np.abs(share - expected) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("name", ["gaussian", "gaussian-rows", "student-t-fixed", "student-t"])
def test_variance_of_the_noise(name):
    formula, _, arguments, per_row, _ = parts(name)
    params = formula._params_of_draws(arguments[2], 3)
    found = formula.noise_variance_of_draws(4, params, **per_row)
    scale2 = {"gaussian": np.array([LEVELS]).T, "gaussian-rows": PER_ROW, "student-t-fixed": 0.5}
    expected = scale2.get(name, 0.0) * np.ones((3, 4))
    if name == "student-t-fixed":
        expected = 0.5 * stats.t(2.5).var() * np.ones((3, 4))
    if name == "student-t":
        with np.errstate(all="ignore"):
            expected = np.outer(LEVELS * stats.t(DEGREES).var(), np.ones(4))
        expected[0] = np.inf
    assert_allclose(found, expected, rtol=1e-12)


def test_noise_that_is_none_leaves_the_latent_function():
    for likelihood in (Gaussian([0.3, 2.0], [0.3, 0.4]), StudentT([0.3, 2.0], [0.3, 0.4])):
        found = likelihood.predictive_quantiles([0.5, 0.9], MEAN, VARIANCE, known_variance=0.0)
        noise = Gaussian([0.3, 2.0], 1e-12)
        assert_allclose(found, noise.predictive_quantiles([0.5, 0.9], MEAN, VARIANCE), atol=1e-4)


@pytest.mark.parametrize(
    "likelihood", [Poisson([1, 2], [1.0, 3.0]), NegativeBinomial([1, 2], [1.0, 3.0], 0.5)]
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_without_exposure_there_are_no_events(likelihood):
    arguments, rows = (MEAN, VARIANCE), {"exposure": [0.0, 0.0, 1.0, 0.0]}
    log_p = likelihood.predictive_log_density([0, 1, 1, 0], *arguments, **rows)
    assert_array_equal(log_p[[0, 1, 3]], [0.0, -np.inf, 0.0])
    assert np.isfinite(log_p[2])
    assert_array_equal(likelihood.predictive_mean(*arguments, **rows)[[0, 1, 3]], 0.0)
    quantiles = likelihood.predictive_quantiles([0.0, 0.9, 1.0], *arguments, **rows)
    assert_array_equal(quantiles[[0, 1, 3]], 0.0)
    rng = np.random.default_rng(0)
    sample = likelihood.predictive_sample(MEAN.T, np.empty((3, 0)), rng, **rows)
    assert_array_equal(sample[[0, 1, 3]], 0.0)


def test_labels_have_quantiles():
    values = BernoulliLogit([1.0]).predictive_quantiles(
        [0.0, 0.3, 1.0], MEAN[:, :2], VARIANCE[:, :2]
    )
    assert_array_equal(values, [[-1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])


class Waiting(Likelihood):
    """Exponential waiting times of mean exp(f), whose density jumps at zero."""

    def pointwise(self, latent, params=()):
        return np.where(self.y < 0.0, -np.inf, -latent - self.y * np.exp(-latent))


def test_densities_on_one_side_only():
    mean, variance = np.array([[1.0], [0.0]]), np.zeros((2, 1))
    found = Waiting([1.0, 2.0]).predictive_quantiles([0.1, 0.5, 0.9], mean, variance)[0]
    up_to = 1.0 - 0.5 * (np.exp(-found / math.e) + np.exp(-found))
    assert_allclose(up_to, [0.1, 0.5, 0.9], atol=1e-7)
    assert_allclose(
        Waiting([1.0, 2.0]).predictive_mean(mean, variance), 0.5 * (math.e + 1.0), rtol=1e-6
    )


class Counted(Likelihood):
    """Poisson counts, whose author forgot to say that they are counts."""

    def pointwise(self, latent, params=()):
        y = np.where((self.y >= 0.0) & (self.y == np.floor(self.y)), self.y, np.nan)
        value = y * latent - np.exp(latent) - special.gammaln(y + 1.0)
        return np.where(np.isnan(y), -np.inf, value)


def test_what_is_no_density_is_refused():
    with pytest.raises(ValueError, match="integrates to"):
        Counted([1.0, 2.0]).predictive_quantiles([0.5], MEAN, VARIANCE)


class Waited(Likelihood):
    """Exponential waiting times, whose author forgot that none is negative."""

    is_careful = False

    def pointwise(self, latent, params=()):
        value = -latent - np.abs(self.y) * np.exp(-latent)
        return np.where(self.y < 0.0, -np.inf, value) if self.is_careful else value


def test_the_advice_for_positive_y_helps():
    likelihood = Waited([1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"to 2\. If y is only positive, return -inf where self\.y < 0"
    ):
        likelihood.predictive_quantiles([0.5], MEAN, VARIANCE)
    likelihood.is_careful = True
    assert likelihood.predictive_quantiles([0.5], MEAN, VARIANCE).min() > 0.0


def test_very_large_counts_are_refused_by_the_general_method():
    plain = Plain(Poisson([1, 2]))
    with pytest.raises(ValueError, match="beyond 16384: too far for the general method"):
        plain.predictive_quantiles([0.5], np.full((1, 1), 15.0), np.ones((1, 1)))


@pytest.mark.parametrize(
    ("likelihood", "method", "per_row", "error", "words"),
    [
        (Poisson([1, 2], [1.0, 2.0]), "predictive_mean", {}, ValueError, "pass exposure="),
        (Poisson([1, 2]), "predictive_mean", {"trials": 3}, TypeError, "it takes: exposure"),
        (Gaussian([1, 2], 1.0), "predictive_mean", {"trials": 3}, TypeError, "takes no 'trials'"),
        (Gaussian([1, 2]), "log_density_given_draws", {}, ValueError, "shape .3, 1.*noise_level"),
        (Gaussian([1, 2], [1, 2]), "predictive_mean", {}, ValueError, "pass known_variance="),
        (SoftmaxClass([1, -1], 3), "predictive_mean", {}, MissingCapabilityError, "all classes"),
        (
            SoftmaxClass([1, -1], 3),
            "log_density_given_draws",
            {},
            MissingCapabilityError,
            "all classes",
        ),
    ],
)
def test_refusals(likelihood, method, per_row, error, words):
    y = [[1.0] * 4] if method == "log_density_given_draws" else []
    with pytest.raises(error, match=words):
        getattr(likelihood, method)(*y, MEAN, VARIANCE, **per_row)


def test_default_priors():
    assert NegativeBinomial([1, 2]).default_prior("dispersion").mean() == 1.0
    assert StudentT([1, 2], None, None).default_prior("degrees_of_freedom").support()[0] == 2.0
    assert StudentT([1, 2], None, None).default_prior("noise_level") is None
    assert Poisson([1, 2]).default_prior("anything") is None


def test_every_method_has_an_override_or_is_general():
    """A method that is added to the contract is added to the tests of this file."""
    methods = {name for name in vars(NewObservations) if name.startswith("predictive_")}
    assert methods == {
        "predictive_exceedance",
        "predictive_log_density",
        "predictive_mean",
        "predictive_quantiles",
        "predictive_sample",
    }
