"""Weights, exposures, counts and numbers of trials that differ by many powers of ten."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from problems import PRIORS, check_representation, make_representation
from rotation import in_turn
from rounding import ELEMENTWISE, FEW_OPERATIONS
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
)

from skgpmcmc import MCMCGaussianProcessRegressor
from skgpmcmc._covariance import covariances, make_covariance
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    NegativeBinomial,
    Poisson,
    Sites,
    StudentT,
)
from skgpmcmc.representations._site_rules import (
    MAX_NOISE,
    MAX_RELATIVE_PRECISION,
    clip_precision,
    floor_precision,
)

pytestmark = pytest.mark.second_stage

BOUNDED = ["surr-site", "surr-taylor", "post-site", "post-taylor", "surr-ep", "post-ep"]

N = 8
X = np.random.default_rng(0).standard_normal((N, 2))
KERNEL = ConstantKernel(1.0) * RBF([1.0, 1.0])
Y = np.array([0.3, -1.2, 0.1, 2.0, -0.4, 0.8, -2.5, 0.6])
SIGNS = np.where(Y > 0.0, 1.0, -1.0)
SPREAD = 10.0 ** np.array([-12.0, 12.0, -7.0, 3.0, 9.0, -3.0, 0.0, 6.0])
MIXED = np.array([0.0, 1e9, 0.0, 2.0, 1e9, 0.0, 9e15, 1.0])
TRIALS = np.array([1.0, 1e6, 1.0, 9e15, 1e6, 1.0, 2.0, 1.0])
REPEATED = np.repeat(np.arange(N), 2)
#: The same squares of standard errors and weights.
WIDE = {"sample_weight": SPREAD}

LIKELIHOODS = {
    "gaussian": lambda: Gaussian(Y, **WIDE),
    "gaussian, known": lambda: Gaussian(Y, known_variance=SPREAD),
    "student-t": lambda: StudentT(Y, **WIDE),
    "student-t, nu": lambda: StudentT(Y, degrees_of_freedom=None, **WIDE),
    "student-t, known": lambda: StudentT(Y, scale2=1e-20, known_variance=SPREAD),
    "student-t, outlier": lambda: StudentT(np.where(Y == 2.0, 1e90, Y)),
    "logit": lambda: BernoulliLogit(SIGNS, **WIDE),
    "probit": lambda: BernoulliProbit(SIGNS, **WIDE),
    "poisson": lambda: Poisson(np.abs(np.rint(Y)), **WIDE),
    "poisson, exposures": lambda: Poisson(MIXED, exposure=SPREAD),
    "poisson, counts": lambda: Poisson(MIXED),
    "negative binomial": lambda: NegativeBinomial(np.abs(np.rint(Y)), **WIDE),
    "negative binomial, exposures": lambda: NegativeBinomial(MIXED, exposure=SPREAD),
    "negative binomial, repeated": lambda: NegativeBinomial(
        np.tile(MIXED, 2), exposure=np.repeat(SPREAD, 2), latent_index=REPEATED
    ),
    "negative binomial, poisson": lambda: NegativeBinomial(MIXED, dispersion=1e-15),
    "negative binomial, dispersed": lambda: NegativeBinomial(MIXED, dispersion=1e12),
    "binomial": lambda: Binomial(np.floor(0.3 * TRIALS), TRIALS),
    "binomial, all": lambda: Binomial(TRIALS, TRIALS, **WIDE),
    "binomial, none": lambda: Binomial(0.0 * TRIALS, TRIALS),
}


def hostile_model(likelihood, **priors):
    chosen = {
        "k1__constant_value": stats.lognorm(s=2.0),
        "k2__length_scale": stats.lognorm(s=1.0),
        **{name: PRIORS[name] for name in likelihood.parameters},
    }
    return LatentGaussianModel(KERNEL, X, likelihood, priors={**chosen, **priors})


def combinations():
    for name, representation in itertools.product(LIKELIHOODS, [*BOUNDED, "collapsed"]):
        try:
            check_representation(representation, LIKELIHOODS[name]())
        except MissingCapabilityError:
            continue
        yield name, representation


@pytest.mark.parametrize(
    ("name", "representation"),
    in_turn(combinations(), 2, list(LIKELIHOODS), [*BOUNDED, "collapsed"]),
)
def test_hostile_data_are_sampled(name, representation):
    model = hostile_model(LIKELIHOODS[name]())
    settings = SamplerSettings(representation, n_warmup=4, n_draws=4, n_approximate=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = run_chains(model, settings, n_chains=1, random_state=0)
    assert np.isfinite(trace.theta).all()
    assert np.isfinite(trace.latent).all()
    assert np.isfinite(trace.log_likelihood).all()
    # A failed factorisation is a rejected proposal; many of them are a fault.
    for warmup, sampling in zip(trace.warmup, trace.sampling, strict=True):
        costs = warmup + sampling
        assert costs.n_failures <= 0.2 * costs.n_covariances


# ---------------------------------------------------------------- bounds of precisions


@pytest.mark.parametrize("variance", [4.0, np.array([1.0, 1e-30, 1e4, 1.0, 1.0])])
@pytest.mark.parametrize("bound", [floor_precision, clip_precision])
def test_bounds_keep_the_pseudo_observations(bound, variance):
    precision = np.array([1e300, 1.0, 1e14, -2.0, 0.0])
    bounded = bound(Sites(precision, 3.0 * precision), variance)
    largest = MAX_RELATIVE_PRECISION / np.broadcast_to(variance, 5)
    np.testing.assert_allclose(bounded.precision[:3], np.minimum(precision, largest)[:3])
    np.testing.assert_allclose(bounded.shift[:3], 3.0 * bounded.precision[:3])
    lowest = 1.0 / MAX_NOISE if bound is floor_precision else 0.0
    assert (bounded.precision[3:] == lowest).all()


@pytest.mark.parametrize("representation", BOUNDED)
def test_bounded_sites_are_a_function_of_theta(representation):
    """They must not depend on where a proposal came from."""
    model = hostile_model(Poisson(np.full(N, 1e13)))
    workspace = model.workspace()
    chain = make_representation(representation, workspace)
    current = workspace.state_at(np.array([1.0, 0.0, 0.0]), np.zeros(N))
    assert chain.prepare(current)
    for theta, is_bounded_otherwise in (([3.0, 0.0, 0.0], True), ([1.0, 0.5, 0.0], False)):
        candidate = workspace.state_at(np.array(theta), np.zeros(N))
        candidate.factor = workspace.covariance.factor(np.array(theta), current.factor)
        assert chain.complete(candidate, current)
        expected = chain._rule.fit(candidate)
        np.testing.assert_array_equal(candidate.sites.precision, expected.precision)
        np.testing.assert_array_equal(candidate.sites.shift, expected.shift)
        differs = candidate.sites.precision != current.sites.precision
        assert (differs == is_bounded_otherwise).all()


@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.parametrize("length_scale", [0.3, 3.0])
def test_largest_precisions_leave_determinants_exact(n, length_scale):
    """Against I + W^1/2 K W^1/2, which has the same determinant whatever the scales are."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((n, 2))
    covariance = make_covariance(RBF(length_scale), points, 1e-6, 0.0, False)
    factor = covariance.factor(np.log([length_scale]))
    for share in (0.1, 0.5, 1.0):
        precision = np.where(rng.random(n) < share, 1e300, rng.choice([0.0, 1e-6, 1.0, 1e3], n))
        precision = clip_precision(Sites(precision, 0.0 * precision), factor.variance).precision
        pseudo = covariance.pseudo_posterior_factory().build(factor, precision)
        root = np.sqrt(precision)
        scaled = RBF(length_scale)(points) + 1e-6 * np.eye(n)
        scaled *= root * root[:, np.newaxis]
        exact = np.linalg.slogdet(np.eye(n) + scaled)[1] / 2.0
        assert pseudo.half_log_det == pytest.approx(exact, abs=1e-3)


# ---------------------------------------------------------------- covariances that overflow

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "random_state": 0}
ORIGIN = np.zeros((1, 1))


def silently(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The chains have not converged")
        return call()


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.2, 2.5, 3.7, 30.1, np.inf])
def test_correlations_have_their_limits(nu):
    near, far = [1e-300, 1e-155, 1e-20, 1e-9], [1e4, 1e20, 1e149, 1e200, 1e307]
    distances = np.array([*near, *far])[:, np.newaxis]
    kernel = Matern(nu=nu)
    for values in (
        silently(lambda: covariances(kernel, ORIGIN, distances))[0],
        silently(lambda: covariances(kernel, np.vstack([ORIGIN, distances])))[0, 1:],
    ):
        np.testing.assert_allclose(values[: len(near)], 1.0, atol=1e-8)
        np.testing.assert_allclose(values[len(near) :], 0.0, atol=1e-300)


def test_limits_inside_of_other_kernels():
    kernel = 2.0 * Matern(nu=2.2) ** 3 + RBF() * Matern(nu=1.5)
    values = silently(lambda: covariances(kernel, ORIGIN, np.array([[1e-200], [1.0], [1e200]])))
    np.testing.assert_allclose(values[0, [0, 2]], [3.0, 0.0], rtol=ELEMENTWISE)
    assert values[0, 1] == pytest.approx(kernel(ORIGIN, [[1.0]])[0, 0], rel=ELEMENTWISE)


def test_columns_whose_numbers_overflow_and_whose_differences_do_not():
    rows = np.random.default_rng(0).standard_normal((4, 1))
    beside_large = np.hstack([np.full((4, 1), 1e300), rows])
    values = silently(lambda: covariances(RBF([1e-10, 2.0]), beside_large, beside_large))
    np.testing.assert_allclose(values, RBF(2.0)(rows), rtol=ELEMENTWISE)


@pytest.mark.parametrize(
    ("kernel", "at"),
    [
        (DotProduct() ** 2, 1e200),
        (Matern(nu=2.2) * DotProduct() ** 2, 1e200),  # zero times infinity
        (Matern(nu=100.0), 1e-3),  # too large for its formula at distances where it is not 1
        (ExpSineSquared(), 1e308),
        (RBF(0.0, "fixed"), 1.0),
    ],
)
def test_what_is_not_known_stays_unknown(kernel, at):
    assert not np.isfinite(
        silently(lambda: covariances(kernel, np.array([[at], [3.0 * at]]))[0, 1])
    )


def test_covariance_of_a_chain_where_the_kernel_overflows():
    rows = np.array([[0.0], [1e99], [2e99]])
    covariance = make_covariance(Matern(nu=2.2), rows, 1e-6, 0.0, False)
    with np.errstate(all="raise"):
        factor = covariance.factor(np.log([1e-50]))
    np.testing.assert_allclose(factor.lower, np.sqrt(1.0 + 1e-6) * np.eye(3), atol=FEW_OPERATIONS)
    assert covariance.n_failures == 0


@pytest.mark.parametrize("nu", [1.5, 2.2])
def test_training_rows_far_from_all_others(nu):
    """Found by `test_fuzzing`."""
    far = 1.3e149 if nu == 2.2 else 1.3e160
    model = MCMCGaussianProcessRegressor(Matern(nu=nu), **SHORT)
    silently(lambda: model.fit([[far]], [1.5]))
    mean, std = silently(lambda: model.predict([[0.0], [far]], return_std=True))
    np.testing.assert_allclose(mean, [0.0, 1.5], rtol=1e-6)
    np.testing.assert_allclose(std, [1.0, 0.0], atol=1e-4)
    _, covariance = silently(lambda: model.predict([[0.0], [far]], return_cov=True))
    np.testing.assert_allclose(covariance, np.diag([1.0, 0.0]), atol=1e-8)


def test_rows_that_are_too_far_apart_to_be_fitted_to():
    model = MCMCGaussianProcessRegressor(Matern(nu=2.2), **SHORT)
    with pytest.raises(ValueError, match="standard deviations between"):
        silently(lambda: model.fit([[0.0], [1.3e149]], [1.0, 2.0]))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kernel", [DotProduct(), ExpSineSquared()])
def test_predictions_that_are_not_known_are_refused(kernel, n_jobs):
    model = MCMCGaussianProcessRegressor(kernel, n_jobs=n_jobs, **SHORT)
    silently(lambda: model.fit([[0.0], [1.0]], [0.0, 1.0]))
    new = [[0.0], [1.0], [1e308], [2.0]]
    for predict in (
        lambda: model.predict(new),
        lambda: model.predict(new, return_cov=True),
        lambda: model.predict_interval(new),
        lambda: model.predict_exceedance(new, 0.5),
        lambda: model.sample_y(new),
        lambda: model.log_predictive_density(new, np.zeros(4)),
    ):
        with pytest.raises(
            ValueError, match=f"in row 2 the covariances .* {type(kernel).__name__}"
        ):
            silently(predict)
