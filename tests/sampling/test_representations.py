"""Every representation against dense normal densities, written from the definitions.

The references use no factor, site or whitened variable of the package: K comes from
scikit-learn, densities from scipy.stats, everything else from dense inverses. Only
likelihoods and their one-dimensional site fits are taken as given.
"""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from problems import (
    COMBINATIONS,
    JOINT,
    LIKELIHOODS,
    REPEATED,
    REPRESENTATIONS_OF_DENSE,
    Case,
    StudentT,
    check_representation,
    frozen_for,
    make_model,
    make_representation,
)
from rounding import ELEMENTWISE
from scipy import stats
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from skgpmcmc._covariance import PseudoPosteriorFactory
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import BernoulliLogit, BernoulliProbit, Gaussian, Poisson, Sites
from skgpmcmc.representations import REPRESENTATIONS

# ---------------------------------------------------------------- problems

Y_REPEATED = np.array([0.5, -0.4, -0.2, 1.0, 0.3])
CASES = {
    **LIKELIHOODS,
    # Not log-concave: some of its sites have a negative precision.
    "student-t-outliers": Case(lambda: StudentT(np.array([0.5, -7.0, 1.0, 9.0]))),
    "gaussian-repeated": Case(lambda: Gaussian(Y_REPEATED, latent_index=REPEATED), gaussian=True),
    "gaussian-repeated-fixed": Case(
        lambda: Gaussian(
            Y_REPEATED, np.array([0.3, 0.7, 0.2, 0.5, 1.1]), latent_index=REPEATED[::-1]
        ),
        gaussian=True,
    ),
}
#: What needs a grid has a dense reference of its own, in test_joint_updates.py.
DENSE_COMBINATIONS = [c for c in COMBINATIONS if c[1] in REPRESENTATIONS_OF_DENSE]
ALL_COMBINATIONS = DENSE_COMBINATIONS + [
    (name, representation)
    for name in CASES
    if name not in LIKELIHOODS
    for representation in REPRESENTATIONS_OF_DENSE
    if CASES[name].supports(representation)
]

MODELS = {
    "constant-mean": {},
    "zero-mean": {"mean": "zero"},
    "collapsed-mean": {"collapse_mean": True},
    "varying-diagonal": {"kernel": ConstantKernel(0.8) * RBF(1.0) + DotProduct(0.5)},
    "ard-and-noise": {
        "kernel": ConstantKernel(1.2) * Matern([0.9, 1.4], nu=2.5) + WhiteKernel(0.2),
        "mean": "zero",
    },
}


class Normals:
    """A generator whose normal draws are given."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)

    def standard_normal(self, size):
        assert np.shape(self.values) == (size if isinstance(size, tuple) else (size,))
        return self.values


@functools.cache
def model_of(name, options="constant-mean"):
    """Return the model of a case; models are shared and never changed."""
    return make_model(CASES[name].make(), **MODELS[options])


def start(model, representation):
    """Return workspace, prepared representation, state and a generator."""
    workspace = model.workspace()
    rng = np.random.default_rng(0)
    theta = np.linspace(-0.3, 0.4, len(model.layout))
    state = workspace.state_at(theta, rng.standard_normal(model.n_latent))
    chosen = make_representation(representation, workspace)
    if chosen.adaptation is not None:
        chosen.adaptation.frozen = frozen_of(model, representation)
    assert chosen.prepare(state)
    assert chosen.begin(state, rng)
    return workspace, chosen, state, rng


@functools.lru_cache(maxsize=64)
def frozen_of(model, representation):
    """Return what a representation has adapted at another state, if it adapts anything."""
    return frozen_for(representation, model)


def moves(theta, rng):
    """Move every element alone, and all of them at once."""
    for index in range(theta.size):
        moved = theta.copy()
        moved[index] += -0.7 if index % 2 else 0.5
        yield moved
    for _ in range(2):
        yield theta + 0.5 * rng.standard_normal(theta.size)


# ---------------------------------------------------------------- dense references


@functools.lru_cache(maxsize=64)
def _prior(model, theta):
    n_kernel = model.layout.n_kernel
    K = model.kernel.clone_with_theta(theta[:n_kernel])(model.X)
    K[np.diag_indices_from(K)] *= 1.0 + model.jitter
    rest, mean = list(theta[n_kernel:]), 0.0
    if model.mean_prior is not None:
        mean = model.mean_prior[0]
        K = K + model.mean_prior[1] ** 2
    elif "mean" in model.layout.names:
        mean = rest.pop(0)
    return K, mean, tuple(np.exp(rest))


def prior_at(model, theta):
    """Return K, m and the likelihood's parameters at theta."""
    return _prior(model, tuple(theta))


@functools.lru_cache(maxsize=64)
def _sites(model, representation, theta):
    K, mean, params = prior_at(model, theta)
    variance = np.diag(K)
    kind, _, source = str(representation).partition("-")
    if source == "site":
        sites = model.likelihood.fit_sites(np.full(len(K), mean), variance, params)
    elif source == "taylor":
        sites = model.likelihood.taylor_sites(params)
    elif source == "ep":
        sites = _scaled(model, frozen_of(model, representation), params)
    elif kind == "marginal":
        sites = model.likelihood.gaussian_sites(params)
    else:
        return np.full(len(K), 1.0 / representation), np.zeros(len(K))
    floor = 1e-6 if kind == "surr" else 0.0
    return np.maximum(sites.precision, floor), sites.shift


def _scaled(model, frozen, params):
    """Return frozen sites, scaled by what the parameters make of one-dimensional posteriors."""
    prior = np.full(model.n_latent, frozen.mean), np.broadcast_to(frozen.variance, model.n_latent)
    precisions = [model.likelihood.fit_sites(*prior, p).precision for p in (params, frozen.params)]
    ratio = precisions[0] / precisions[1]
    return Sites(frozen.sites.precision * ratio, frozen.sites.shift * ratio)


def sites_at(model, representation, theta):
    """Return W and h: fitted without shortcuts, then made admissible."""
    return _sites(model, representation, tuple(theta))


def log_normal(x, mean, covariance):
    return float(multivariate_normal.logpdf(x, np.full(len(x), mean), covariance))


def pseudo_posterior(K, mean, W, h):
    """Return mean, square root L U^-T and covariance of N(m, K) times the sites."""
    precision = np.linalg.inv(K) + np.diag(W)
    R = np.linalg.inv(precision)
    L = np.linalg.cholesky(K)
    root = L @ np.linalg.inv(np.linalg.cholesky(np.eye(len(K)) + L.T @ np.diag(W) @ L)).T
    np.testing.assert_allclose(root @ root.T, R, rtol=1e-6, atol=1e-8)
    return R @ (h + np.linalg.solve(K, np.full(len(K), mean))), root, R


class FixedReference:
    """log L(f) + log N(f; m, K)."""

    def __init__(self, model, representation, conditional):
        self.model, self.representation = model, representation
        self.latent = conditional.state.latent.copy()
        self.set_held(conditional)

    def set_held(self, conditional):
        """Compute what is held fixed, from the latent variables at the start."""

    def __call__(self, theta):
        K, mean, params = prior_at(self.model, theta)
        return self.log_likelihood(self.latent, params) + log_normal(self.latent, mean, K)

    def log_likelihood(self, latent, params):
        return float(self.model.likelihood.per_latent(latent, params).sum())


class PriorWhiteReference(FixedReference):
    """log L(f), with f = m + chol(K) nu."""

    def set_held(self, conditional):
        K, mean, _ = prior_at(self.model, conditional.state.theta)
        self.nu = np.linalg.solve(np.linalg.cholesky(K), self.latent - mean)

    def __call__(self, theta):
        K, mean, params = prior_at(self.model, theta)
        return self.log_likelihood(mean + np.linalg.cholesky(K) @ self.nu, params)


class SurrogateReference(FixedReference):
    """log L(f) + log N(g; m, K + S), with f = m_R + L_R eta."""

    def set_held(self, conditional):
        self.surrogate = conditional._surrogate.copy()
        centre, root, _ = self.approximation(conditional.state.theta)
        self.eta = np.linalg.solve(root, self.latent - centre)

    def approximation(self, theta):
        K, mean, _ = prior_at(self.model, theta)
        W, _ = sites_at(self.model, self.representation, theta)
        return pseudo_posterior(K, mean, W, W * self.surrogate)

    def __call__(self, theta):
        K, mean, params = prior_at(self.model, theta)
        W, _ = sites_at(self.model, self.representation, theta)
        centre, root, _ = self.approximation(theta)
        log_surrogate = log_normal(self.surrogate, mean, K + np.diag(1.0 / W))
        return self.log_likelihood(centre + root @ self.eta, params) + log_surrogate


class PosteriorReference(SurrogateReference):
    """log L(f) + log N(f; m, K) + log |L_R|, with f = m_R + L_R eta."""

    def set_held(self, conditional):
        centre, root, _ = self.approximation(conditional.state.theta)
        self.eta = np.linalg.solve(root, self.latent - centre)

    def approximation(self, theta):
        K, mean, _ = prior_at(self.model, theta)
        return pseudo_posterior(K, mean, *sites_at(self.model, self.representation, theta))

    def __call__(self, theta):
        K, mean, params = prior_at(self.model, theta)
        centre, root, R = self.approximation(theta)
        latent = centre + root @ self.eta
        log_root = 0.5 * np.linalg.slogdet(R)[1]
        return self.log_likelihood(latent, params) + log_normal(latent, mean, K) + log_root


class CollapsedReference(FixedReference):
    """The integral over f of what the likelihood is, given the auxiliary variables."""

    def set_held(self, conditional):
        self.given = conditional._given

    def __call__(self, theta):
        K, mean, params = prior_at(self.model, theta)
        W, h = self.given.gaussian_sites(params)
        log_given = self.given.log_likelihood(h / W, params) - log_normal(
            h - h, 0.0, np.diag(1 / W)
        )
        return log_given + log_normal(h / W, mean, K + np.diag(1.0 / W))


class MarginalReference(FixedReference):
    """The density of the observations, with f integrated out."""

    def __call__(self, theta):
        K, mean, params = prior_at(self.model, theta)
        likelihood = self.model.likelihood
        index = np.arange(len(K)) if likelihood.latent_index is None else likelihood.latent_index
        incidence = np.eye(len(K))[index]
        fixed = likelihood.noise_variance
        noise = likelihood.known_variance + (params[0] if fixed is None else fixed)
        noise = np.broadcast_to(noise, likelihood.y.shape)
        return log_normal(likelihood.y, mean, incidence @ K @ incidence.T + np.diag(noise))


REFERENCES = {
    "fixed": FixedReference,
    "prior-white": PriorWhiteReference,
    "surr-site": SurrogateReference,
    "surr-taylor": SurrogateReference,
    "post-site": PosteriorReference,
    "post-taylor": PosteriorReference,
    "marginal": MarginalReference,
    "collapsed": CollapsedReference,
    "surr-ep": SurrogateReference,
    "post-ep": PosteriorReference,
    0.5: SurrogateReference,
}


def test_every_representation_has_a_reference():
    assert {*REPRESENTATIONS, 0.5} - {*JOINT} == set(REFERENCES) == set(REPRESENTATIONS_OF_DENSE)


# ---------------------------------------------------------------- densities


@pytest.mark.parametrize(
    ("name", "representation", "options"),
    [
        (*combination, options)
        for combination in ALL_COMBINATIONS
        for options in MODELS
        # Generic site fits are slow; the model matters to them through K_ii and m alone.
        if "student" not in combination[0] or options in ("constant-mean", "varying-diagonal")
    ],
)
def test_differences_equal_dense_densities(name, representation, options):
    model = model_of(name, options)
    _, chosen, state, rng = start(model, representation)
    conditional = chosen.condition(state, rng)
    reference = REFERENCES[representation](model, representation, conditional)
    at_start = reference(state.theta)
    for theta in moves(state.theta, rng):
        difference = conditional.evaluate(theta) - conditional.log_density
        assert difference == pytest.approx(reference(theta) - at_start, rel=1e-7, abs=1e-7)


INTEGRATES = ("marginal", "collapsed")
HOLDS_ETA = [c for c in ALL_COMBINATIONS if c[1] not in ("fixed", "prior-white", *INTEGRATES)]


def _latent_at(conditional, theta, eta):
    """Return f(theta, eta) through the package's own map."""
    held, conditional._eta = conditional._eta, eta
    conditional.evaluate(theta.copy())
    conditional._eta = held
    return conditional._candidate.latent.copy()


def _log_jacobian(conditional, theta):
    """Return log |det df/deta| by central differences."""
    step, eta = 1e-3, conditional._eta
    columns = [
        (_latent_at(conditional, theta, eta + d) - _latent_at(conditional, theta, eta - d))
        / (2.0 * step)
        for d in step * np.eye(eta.size)
    ]
    return np.linalg.slogdet(np.column_stack(columns))[1]


@pytest.mark.parametrize(("name", "representation"), HOLDS_ETA)
def test_target_is_the_joint_density_under_a_change_of_variables(name, representation):
    # p(theta, eta | y, g) ~ p(y | f) N(f; m, K) N(g; f, S) |df/deta|: nothing here knows of R.
    model = model_of(name)
    _, chosen, state, rng = start(model, representation)
    conditional = chosen.condition(state, rng)

    def joint(theta):
        K, mean, params = prior_at(model, theta)
        latent = _latent_at(conditional, theta, conditional._eta)
        total = float(model.likelihood.per_latent(latent, params).sum())
        total += log_normal(latent, mean, K) + _log_jacobian(conditional, theta)
        if not str(representation).startswith("post"):
            W, _ = sites_at(model, representation, theta)
            total += log_normal(conditional._surrogate - latent, 0.0, np.diag(1.0 / W))
        return total

    np.testing.assert_allclose(
        _latent_at(conditional, state.theta, conditional._eta), state.latent, rtol=1e-9, atol=1e-9
    )
    at_start = joint(state.theta)
    for theta in list(moves(state.theta, rng))[:-1]:
        expected = joint(theta) - at_start
        difference = conditional.evaluate(theta) - conditional.log_density
        assert difference == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(("name", "representation"), ALL_COMBINATIONS)
def test_log_density_is_what_evaluate_returns(name, representation):
    workspace, chosen, state, rng = start(model_of(name), representation)
    conditional = chosen.condition(state, rng)
    first, theta = conditional.log_density, state.theta
    assert conditional.evaluate(theta.copy()) == pytest.approx(first, rel=1e-10, abs=1e-10)
    n_constructions = workspace.covariance.n_constructions
    for moved in moves(theta, rng):
        value = conditional.evaluate(moved)
        conditional.accept()
        assert conditional.log_density == value
        assert conditional.evaluate(moved.copy()) == pytest.approx(value, rel=1e-10, abs=1e-10)
        # And the way back, everything computed anew.
        assert conditional.evaluate(theta.copy()) == pytest.approx(first, rel=1e-8, abs=1e-8)
        conditional.accept()
    assert workspace.covariance.n_constructions > n_constructions


# ---------------------------------------------------------------- the state carried along


def assert_consistent(model, representation, state):
    """Check a state against what its theta and its latent variables determine."""
    K, mean, params = prior_at(model, state.theta)
    assert (state.mean, state.params) == (pytest.approx(mean), pytest.approx(params))
    root = state.factor.scale * np.tril(state.factor.lower)
    np.testing.assert_allclose(root @ root.T, K, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(state.factor.variance, np.diag(K), rtol=ELEMENTWISE)
    np.testing.assert_allclose(state.latent, mean + root @ state.whitened, rtol=1e-8, atol=1e-8)
    log_likelihood = float(model.likelihood.per_latent(state.latent, params).sum())
    assert state.log_likelihood == pytest.approx(log_likelihood, rel=1e-10, abs=1e-10)
    complete = log_likelihood + log_normal(state.latent, mean, K)
    assert state.complete_data_log_likelihood() == pytest.approx(complete, rel=1e-8, abs=1e-8)
    if representation in ("fixed", "prior-white", *INTEGRATES):
        return
    W, h = sites_at(model, representation, state.theta)
    np.testing.assert_allclose(state.sites.precision, W, rtol=1e-8, atol=1e-10)
    if str(representation).startswith("post"):
        np.testing.assert_allclose(state.sites.shift, h, rtol=1e-8, atol=1e-9)
    fresh = PseudoPosteriorFactory(len(K)).build(state.factor, W)
    np.testing.assert_allclose(
        np.tril(state.pseudo.lower), np.tril(fresh.lower), rtol=1e-8, atol=1e-9
    )
    assert state.pseudo.half_log_det == pytest.approx(fresh.half_log_det, abs=1e-9)
    np.testing.assert_array_equal(state.pseudo.precision, state.sites.precision)
    same_root = state.pseudo.factor.scale * np.tril(state.pseudo.factor.lower)
    np.testing.assert_array_equal(same_root, root)


def _update_latents(workspace, state, rng):
    """Move f a little, as an update of the latent variables does between sweeps."""
    state.whitened = 0.8 * state.whitened + 0.6 * rng.standard_normal(state.whitened.size)
    state.latent = state.mean + state.factor.colour(state.whitened)
    state.log_likelihood = workspace.log_likelihood(state.latent, state.params)


@pytest.mark.parametrize("options", ["constant-mean", "varying-diagonal"])
@pytest.mark.parametrize(("name", "representation"), DENSE_COMBINATIONS)
def test_chain_of_moves_keeps_the_state_consistent(name, representation, options):
    model = model_of(name, options)
    workspace, chosen, state, rng = start(model, representation)
    for _ in range(6):
        assert chosen.begin(state, rng)
        conditional = chosen.condition(state, rng)
        for _ in range(3):
            theta = conditional.state.theta.copy()
            changed = rng.integers(theta.size + 1)  # one element, or the whole vector
            theta[changed if changed < theta.size else slice(None)] += 0.4 * rng.standard_normal()
            assert math.isfinite(conditional.evaluate(theta))
            if rng.random() < 0.6:
                conditional.accept()
                np.testing.assert_array_equal(conditional.state.theta, theta)
        state = chosen.refresh(conditional.state, rng)
        assert_consistent(model, representation, state)
        if not chosen.draws_latents_exactly:
            _update_latents(workspace, state, rng)


@pytest.mark.parametrize(("name", "representation"), ALL_COMBINATIONS)
def test_rejected_candidates_leave_the_state_alone(name, representation):
    model = model_of(name)
    _, chosen, state, rng = start(model, representation)
    state = chosen.refresh(state, rng)
    assert chosen.begin(state, rng)
    latent, whitened = state.latent.copy(), state.whitened.copy()
    conditional = chosen.condition(state, rng)
    for theta in moves(state.theta, rng):
        conditional.evaluate(theta)
    assert conditional.state is state
    np.testing.assert_array_equal(state.latent, latent)
    np.testing.assert_array_equal(state.whitened, whitened)
    assert_consistent(model, representation, chosen.refresh(state, rng))


# ---------------------------------------------------------------- auxiliary draws


@pytest.mark.parametrize("options", ["constant-mean", "varying-diagonal"])
@pytest.mark.parametrize(
    ("name", "representation"),
    [c for c in ALL_COMBINATIONS if str(c[1]).startswith("surr") or c[1] == 0.5],
)
def test_surrogate_data_are_drawn_with_variance_S(name, representation, options):
    model = model_of(name, options)
    _, chosen, state, _ = start(model, representation)
    normals = np.array([0.3, -1.2, 2.0, -0.1])
    conditional = chosen.condition(state, Normals(normals))
    W, _ = sites_at(model, representation, state.theta)
    np.testing.assert_allclose(
        conditional._surrogate, state.latent + normals / np.sqrt(W), rtol=1e-9
    )


@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.gaussian])
def test_marginal_draws_latents_from_their_exact_conditional(name, options):
    model = model_of(name, options)
    _, chosen, state, rng = start(model, "marginal")
    conditional = chosen.condition(state, rng)
    conditional.evaluate(state.theta + 0.3)
    conditional.accept()
    K, mean, params = prior_at(model, state.theta + 0.3)
    sites = model.likelihood.gaussian_sites(params)
    centre, _, R = pseudo_posterior(K, mean, sites.precision, sites.shift)

    def latent(normals):
        return chosen.refresh(conditional.state, Normals(normals)).latent.copy()

    at_zero = latent(np.zeros((2, 4)))
    np.testing.assert_allclose(at_zero, centre, rtol=1e-8, atol=1e-9)
    units = np.eye(8).reshape(8, 2, 4)
    root = np.column_stack([latent(e) - at_zero for e in units])
    np.testing.assert_allclose(root @ root.T, R, rtol=1e-8, atol=1e-9)


# ---------------------------------------------------------------- limits


def _pair(model, first, second):
    """Return conditionals of two representations at the same state."""
    pair = []
    for representation in (first, second):
        _, chosen, state, rng = start(model, representation)
        pair.append(chosen.condition(state, rng))
    np.testing.assert_array_equal(pair[0].state.latent, pair[1].state.latent)
    return pair


WITHOUT_PARAMETERS = ["logit", "logit-repeated", "probit", "gaussian-fixed", "poisson", "student-t"]


@pytest.mark.parametrize("name", WITHOUT_PARAMETERS)
def test_no_surrogate_noise_is_fixed(name):
    # f moves by sqrt(alpha), and log N(f; m, K) by that times a gradient of order 10.
    small, fixed = _pair(model_of(name), 1e-9, "fixed")
    for theta in moves(fixed.state.theta, np.random.default_rng(1)):
        expected = fixed.evaluate(theta) - fixed.log_density
        assert small.evaluate(theta) - small.log_density == pytest.approx(expected, abs=1e-2)
        np.testing.assert_allclose(small._candidate.latent, fixed.state.latent, atol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_infinite_surrogate_noise_is_prior_white(name):
    # K / sqrt(alpha) is what remains of the surrogate data in f.
    large, white = _pair(model_of(name), 1e10, "prior-white")
    for theta in moves(white.state.theta, np.random.default_rng(1)):
        expected = white.evaluate(theta) - white.log_density
        difference = large.evaluate(theta) - large.log_density
        assert difference == pytest.approx(expected, rel=1e-3, abs=1e-3)
        np.testing.assert_allclose(
            large._candidate.latent, white._candidate.latent, rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("options", MODELS)
def test_posterior_without_sites_is_prior_white(options):
    # Without events the Taylor expansion of a Poisson likelihood is empty.
    likelihood = Poisson(np.zeros(4), exposure=np.array([1.0, 2.0, 0.5, 1.0]))
    model = make_model(likelihood, **MODELS[options])
    empty, white = _pair(model, "post-taylor", "prior-white")
    for theta in moves(white.state.theta, np.random.default_rng(1)):
        expected = white.evaluate(theta) - white.log_density
        assert empty.evaluate(theta) - empty.log_density == pytest.approx(expected, abs=1e-10)
        # The matrix that is factored is the identity, exactly: the same product of four terms.
        latent = white._candidate.latent
        np.testing.assert_allclose(empty._candidate.latent, latent, rtol=ELEMENTWISE)


@pytest.mark.parametrize("representation", ["post-site", "post-taylor"])
@pytest.mark.parametrize("name", ["gaussian-fixed", "gaussian-noise", "gaussian-repeated-fixed"])
def test_posterior_of_a_gaussian_likelihood_is_marginal(name, representation):
    # The approximate posterior is the posterior: theta does not depend on omega.
    post, marginal = _pair(model_of(name), representation, "marginal")
    for theta in moves(post.state.theta, np.random.default_rng(1)):
        expected = marginal.evaluate(theta) - marginal.log_density
        assert post.evaluate(theta) - post.log_density == pytest.approx(expected, abs=1e-8)


# ---------------------------------------------------------------- sites follow theta


@pytest.mark.parametrize(
    ("name", "representation"), [c for c in HOLDS_ETA if c[1] != 0.5 and "student" not in c[0]]
)
@pytest.mark.parametrize("options", ["collapsed-mean", "ard-and-noise"])
def test_sites_of_a_candidate_are_those_at_its_theta(name, representation, options):
    model = model_of(name, options)
    _, chosen, state, rng = start(model, representation)
    conditional = chosen.condition(state, rng)
    for theta in moves(state.theta, rng):
        conditional.evaluate(theta)
        W, h = sites_at(model, representation, theta)
        candidate = conditional._candidate
        np.testing.assert_allclose(candidate.sites.precision, W, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(candidate.pseudo.precision, W, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(candidate.sites.shift, h, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("options", ["constant-mean", "varying-diagonal"])
def test_floor_of_empty_taylor_sites_is_constant(options):
    model = model_of("poisson", options)
    _, chosen, state, rng = start(model, "surr-taylor")
    empty = model.likelihood.y == 0.0
    conditional = chosen.condition(state, rng)
    theta = state.theta.copy()
    theta[0] += 1.3
    conditional.evaluate(theta)
    for point in (state, conditional._candidate):
        expected = np.where(empty, 1e-6, model.likelihood.y)
        np.testing.assert_allclose(point.sites.precision, expected, rtol=1e-10)


def test_negative_site_precisions_are_floored_or_clipped():
    model = model_of("student-t-outliers")
    theta = np.linspace(-0.3, 0.4, len(model.layout))
    K, mean, _ = prior_at(model, theta)
    fitted = model.likelihood.fit_sites(mean, np.diag(K)).precision
    negative = fitted < 0.0
    assert 0 < negative.sum() < 4
    for representation, floor in (("surr-site", np.full(4, 1e-6)), ("post-site", np.zeros(4))):
        _, _, state, _ = start(model, representation)
        np.testing.assert_allclose(state.sites.precision[negative], floor[negative], rtol=1e-10)
        np.testing.assert_allclose(state.sites.precision[~negative], fitted[~negative], rtol=1e-8)


# ---------------------------------------------------------------- work that is not done


def test_move_of_the_mean_costs_no_covariance():
    for representation in ("fixed", "prior-white", "surr-taylor", "post-taylor", 0.5):
        model = model_of("poisson")
        workspace, chosen, state, rng = start(model, representation)
        conditional = chosen.condition(state, rng)
        theta = state.theta.copy()
        theta[model.layout.names.index("mean")] += 0.5
        before = workspace.covariance.n_constructions
        conditional.evaluate(theta)
        assert workspace.covariance.n_constructions == before
        assert conditional._candidate.factor is state.factor
        # Constant noise does not depend on the mean either.
        assert representation != 0.5 or conditional._candidate.pseudo is state.pseudo


@pytest.mark.parametrize(
    ("name", "representation", "expected"),
    [
        ("poisson", "fixed", 0),
        ("gaussian-noise", "fixed", 1),
        ("poisson", "prior-white", 1),
        ("poisson", "surr-site", 1),
        ("poisson", "post-taylor", 1),
    ],
)
def test_evaluations_of_the_likelihood(name, representation, expected):
    workspace, chosen, state, rng = start(model_of(name), representation)
    conditional = chosen.condition(state, rng)
    before = workspace.n_likelihoods
    conditional.evaluate(state.theta + 0.1)
    assert workspace.n_likelihoods - before == expected


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(("name", "representation"), DENSE_COMBINATIONS)
def test_theta_without_a_covariance_has_no_density(name, representation):
    model = model_of(name)
    workspace, chosen, state, rng = start(model, representation)
    conditional = chosen.condition(state, rng)
    conditional.evaluate(state.theta + 0.1)
    for bad in (math.nan, 800.0, -800.0):
        theta = state.theta.copy()
        theta[0] = bad
        before = workspace.covariance.n_failures
        with np.errstate(all="ignore"):
            assert conditional.evaluate(theta) == -math.inf
        assert workspace.covariance.n_failures == before + 1
        with pytest.raises(RuntimeError, match="no candidate"):
            conditional.accept()
    assert conditional.state is state
    assert math.isfinite(conditional.evaluate(state.theta + 0.1))
    conditional.accept()
    assert_consistent(model, representation, chosen.refresh(conditional.state, rng))


@pytest.mark.parametrize("bad", [math.nan, 800.0, -800.0])
@pytest.mark.parametrize("representation", REPRESENTATIONS_OF_DENSE)
def test_likelihood_parameter_out_of_range_is_not_accepted(representation, bad):
    name = "student-t-noise" if representation == "collapsed" else "gaussian-noise"
    _, chosen, state, rng = start(model_of(name), representation)
    conditional = chosen.condition(state, rng)
    theta = state.theta.copy()
    theta[-1] = bad
    with np.errstate(all="ignore"):
        # NaN compares as False, as in the updates.
        assert not conditional.evaluate(theta) > conditional.log_density


def test_marginal_density_at_small_noise_levels():
    model = model_of("gaussian-noise")
    _, chosen, state, rng = start(model, "marginal")
    conditional = chosen.condition(state, rng)
    reference = MarginalReference(model, "marginal", conditional)
    # Densities are relative to the beginning of the iteration.
    shift = reference(state.theta) - conditional.log_density
    for log_noise in (-8.0, -24.0, -36.0, -60.0, -100.0, -700.0):
        theta = state.theta.copy()
        theta[-1] = log_noise
        value, expected = conditional.evaluate(theta) + shift, reference(theta)
        # Where digits are lost, no mode may appear that is not there.
        assert value <= expected + 1e-6
        if log_noise >= -36.0:
            assert value == pytest.approx(expected, abs=1e-6)


def test_accept_needs_a_candidate_each_time():
    _, chosen, state, rng = start(model_of("poisson"), "surr-site")
    conditional = chosen.condition(state, rng)
    with pytest.raises(RuntimeError, match="no candidate"):
        conditional.accept()
    conditional.evaluate(state.theta + 0.1)
    conditional.accept()
    with pytest.raises(RuntimeError, match="no candidate"):
        conditional.accept()


@pytest.mark.parametrize(
    ("name", "representation"), [c for c in DENSE_COMBINATIONS if c[1] in INTEGRATES]
)
def test_noisy_covariance_without_a_factor_has_no_density(name, representation, monkeypatch):
    model = model_of(name)
    workspace, chosen, state, rng = start(model, representation)
    conditional = chosen.condition(state, rng)
    with monkeypatch.context() as patch:
        patch.setattr(workspace.covariance, "_write", lambda *args: None)
        assert conditional.evaluate(state.theta + 0.1) == -math.inf
        assert not chosen.begin(state, rng)
    assert workspace.covariance.n_failures == 2
    assert conditional.state is state
    assert math.isfinite(conditional.evaluate(state.theta + 0.1))


@pytest.mark.parametrize(
    ("name", "representation"), [c for c in DENSE_COMBINATIONS if c[1] in INTEGRATES]
)
def test_covariance_that_only_noise_makes_positive_is_left_again(name, representation, monkeypatch):
    model = model_of(name)
    workspace, chosen, state, rng = start(model, representation)
    theta, latent = state.theta.copy(), state.latent.copy()
    conditional = chosen.condition(state, rng)
    conditional.evaluate(theta + 0.3)
    conditional.accept()
    covariance = workspace.covariance
    results = [None, covariance.factor_beside]

    def first_without(theta, current):
        result = results.pop(0)
        return result and result(theta, current)

    monkeypatch.setattr(covariance, "factor_beside", first_without)
    state = chosen.refresh(conditional.state, rng)
    assert covariance.n_failures == 1
    np.testing.assert_array_equal(state.theta, theta)
    np.testing.assert_array_equal(state.latent, latent)
    assert_consistent(model, representation, state)


@pytest.mark.parametrize("representation", ["surr-site", "post-taylor"])
def test_pseudo_posterior_without_a_factor_has_no_density(representation, monkeypatch):
    workspace, chosen, state, rng = start(model_of("gaussian-noise"), representation)
    conditional = chosen.condition(state, rng)
    with monkeypatch.context() as patch:
        patch.setattr(chosen, "_factory", SimpleNamespace(build=lambda *args: None))
        assert conditional.evaluate(state.theta + 0.1) == -math.inf
        assert not chosen.prepare(state)
    assert workspace.covariance.n_failures == 1
    assert conditional.state is state
    assert math.isfinite(conditional.evaluate(state.theta + 0.1))


# ---------------------------------------------------------------- what cannot be combined


@pytest.mark.parametrize("representation", ["surr-taylor", "post-taylor"])
@pytest.mark.parametrize("family", [BernoulliLogit, BernoulliProbit])
def test_taylor_of_binary_labels(representation, family):
    likelihood = family(np.array([1.0, -1.0]))
    message = f"{family.__name__} has no Taylor sites.*surr-site"
    with pytest.raises(MissingCapabilityError, match=message):
        check_representation(representation, likelihood)
    workspace = make_model(family(np.array([1.0, -1.0, 1.0, 1.0]))).workspace()
    with pytest.raises(MissingCapabilityError, match=message):
        make_representation(representation, workspace)


@pytest.mark.parametrize("name", ["logit", "probit", "poisson", "student-t"])
def test_marginal_of_other_likelihoods(name):
    likelihood = CASES[name].make()
    message = f"{type(likelihood).__name__} is not a Gaussian likelihood.*auto"
    with pytest.raises(MissingCapabilityError, match=message):
        check_representation("marginal", likelihood)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("representation", REPRESENTATIONS_OF_DENSE)
def test_check_accepts_what_can_be_combined(name, representation):
    case = CASES[name]
    if case.supports(representation):
        assert check_representation(representation, case.make()) is None
    else:
        with pytest.raises(MissingCapabilityError):
            check_representation(representation, case.make())


@pytest.mark.parametrize("unknown", ["surr", "Fixed", "", None, True])
def test_unknown_name_lists_the_valid_ones(unknown):
    with pytest.raises(ValueError, match="representation must be one of") as error:
        check_representation(unknown, CASES["poisson"].make())
    assert repr(unknown) in str(error.value)
    usable = set(REPRESENTATIONS) - {"marginal", "collapsed", *JOINT}
    assert all(repr(name) in str(error.value) for name in usable)
    assert "marginal" not in str(error.value)
    assert "positive number" in str(error.value)


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, math.inf, -math.inf, 0])
def test_variance_of_surrogate_noise_must_be_positive(alpha):
    workspace = model_of("poisson").workspace()
    with pytest.raises(ValueError, match="must be positive and finite"):
        make_representation(alpha, workspace)


@pytest.mark.parametrize("alpha", [2, 0.5, np.float64(0.5), np.float32(0.5), np.int64(3)])
def test_numbers_of_other_types_are_variances(alpha):
    _, _, state, _ = start(model_of("poisson"), alpha)
    np.testing.assert_allclose(state.sites.precision, np.full(4, 1.0 / float(alpha)))


@pytest.mark.parametrize("representation", [0.0, -1.0, np.nan, np.inf, True, [], "surr"])
def test_bad_representations_are_refused_before_sampling(representation):
    with pytest.raises(ValueError, match="representation"):
        check_representation(representation, model_of("poisson").likelihood)


# ---------------------------------------------------------------- rescaling


@pytest.mark.parametrize("name", ["poisson", "logit"])
@pytest.mark.parametrize(
    "representation", ["fixed", "prior-white", "surr-site", "post-site", "surr-taylor", 0.5]
)
def test_rescaled_latents_leave_everything_at_the_new_scale(name, representation):
    if not CASES[name].supports(representation):
        pytest.skip("no expansion of these labels")
    settings = SamplerSettings(representation, n_latent_updates=1, whitened_updates=True)
    chain = Chain.start(model_of(name), settings, np.random.default_rng(0))
    scales = set()
    for _ in range(5):
        chain.iterate()
        scales.add(chain.state.factor.scale)
        state = chain.workspace.state_at(chain.state.theta, chain.state.whitened)
        chain.representation.prepare(state, chain.state)
        np.testing.assert_allclose(chain.state.latent, state.latent, rtol=1e-9)
        assert chain.state.log_likelihood == pytest.approx(state.log_likelihood, rel=1e-9)
        if state.sites is not None:
            np.testing.assert_allclose(chain.state.sites.precision, state.sites.precision)
            np.testing.assert_allclose(chain.state.sites.shift, state.sites.shift)
            np.testing.assert_allclose(
                np.tril(chain.state.pseudo.lower), np.tril(state.pseudo.lower), rtol=1e-9
            )
    assert len(scales) > 1


def test_large_latent_values_do_not_drown_the_density_of_theta():
    X = np.linspace(-1.0, 1.0, 12)[:, np.newaxis]
    labels = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    priors = {"sigma_0": stats.lognorm(s=0.5)}
    for family, unit in ((BernoulliProbit, 1e9), (BernoulliLogit, 1e18)):
        model = make_model(family(labels), DotProduct(1.0), priors, X=unit * X, mean="zero")
        settings = SamplerSettings("collapsed", n_latent_updates=1)
        chain = Chain.start(model, settings, np.random.default_rng(0), np.zeros(1))
        thetas = set()
        for _ in range(20):
            chain.iterate()
            thetas.add(float(chain.state.theta[0]))
        assert len(thetas) == 20
