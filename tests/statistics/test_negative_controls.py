"""Deliberately broken transitions that the joint-distribution tests must reject.

Each breaks one thing that is easy to get wrong. A control that passed would mean
that the tests of invariance cannot see the fault.
"""

import numpy as np
import pytest
from joint_distribution import is_invariant, iterations
from problems import LIKELIHOODS, PRIORS, make_model
from scipy import stats

from skgpmcmc._model._state import LatentState
from skgpmcmc._sampling import _hyperparameter_moves
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    NegativeBinomial,
    Poisson,
    Sites,
    StudentT,
    _augmentation,
    _negative_binomial,
)
from skgpmcmc.priors._normal_coordinates import NormalCoordinates
from skgpmcmc.representations import _collapsed, _direct, _pseudo_posterior, _site_rules
from skgpmcmc.updates import HamiltonianResult, StepResult

_SURROGATE_LOG_RATIO = _pseudo_posterior._SurrogateConditional._log_ratio


def _without_jacobian(conditional, state, projection):
    return -0.5 * float(state.whitened @ state.whitened)


def _half_log_determinant(conditional, state, projection):
    right = _SURROGATE_LOG_RATIO(conditional, state, projection)
    return right + 0.5 * state.pseudo.half_log_det


def _without_log_noise(conditional, state, projection):
    """The weight of log |S| in the routine that circulates for this method is wrong too."""
    right = _SURROGATE_LOG_RATIO(conditional, state, projection)
    return right - 0.5 * float(np.log(state.sites.precision).sum())


def _steep_sites(noise, state: LatentState):
    """Surrogate noise that changes by many orders of magnitude around length scale 1.

    It pins the latent variables on one side and hardly binds them on the other: noise
    that is evaluated at the wrong theta lets the chain leave one side too easily.
    """
    steep = 1e4 ** np.tanh(3.0 * state.theta[1])
    return Sites(np.full(state.latent.shape, steep), np.zeros_like(state.latent))


def _sites_of_the_current_state(noise, candidate: LatentState, current: LatentState):
    return current.sites


def _fresh_sites(noise, candidate: LatentState, current: LatentState):
    return noise.fit(candidate)


def _clipped_from_the_clipped_end(log_density, value, current, width, rng, **support):
    """Slice sampling whose right end is placed from the left end after it was clipped."""
    level = current - rng.standard_exponential()
    left = max(value - width * rng.random(), support["lower"])
    right = min(left + width, support["upper"])
    while True:
        proposal = left + (right - left) * rng.random()
        if log_density(proposal) > level:
            return StepResult(proposal, 0.0, 1, True)
        left, right = (proposal, right) if proposal < value else (left, proposal)


def _forgets_to_whiten_again(conditional, candidate):
    """`fixed` with z of the old theta: wrong log N(f; m, K)."""
    return candidate.factor.log_normal(candidate.whitened)


def _rescales_at_no_price(conditional, candidate):
    """f is multiplied by a number, whatever the data say to it."""
    conditional._set_latent(candidate, candidate.whitened)
    return conditional.log_density


def _without_density_of_the_mixture(given, latent, params=()):
    """The auxiliary variables' own density depends on the degrees of freedom."""
    precision, shift = given.gaussian_sites(params)
    scale2, _ = given._scale_and_shape(params)
    return float(latent @ (shift - 0.5 * precision * latent)) - 0.5 * float(np.log(scale2).sum())


def _without_noise(data, given, params):
    _PSEUDODATA(data, given, params)
    data.log_constant -= 0.5 * float(np.log(data.noise).sum())


_PSEUDODATA = _collapsed._Pseudodata.__init__


class ForgottenRatio:
    """An asymmetric proposal that claims to be symmetric."""

    def __call__(self, value, rng):
        return value + 0.3 + 0.5 * rng.standard_normal(value.shape), 0.0


#: Name -> likelihood, representation, settings, and what to replace by what.
CONTROLS = {
    "jacobian-dropped": (
        "poisson",
        "post-site",
        {},
        (_pseudo_posterior.PosteriorConditional, "_log_ratio", _without_jacobian),
    ),
    "log-noise-dropped": (
        "gaussian-noise",
        "surr-site",
        {},
        (_pseudo_posterior._SurrogateConditional, "_log_ratio", _without_log_noise),
    ),
    "stale-whitened-variables": (
        "logit",
        "fixed",
        {},
        (_direct._FixedConditional, "_complete", _forgets_to_whiten_again),
    ),
    "clipped-from-the-clipped-end": (
        "logit",
        "prior-white",
        {"width": 2.0},
        (_hyperparameter_moves, "slice_step", _clipped_from_the_clipped_end),
    ),
    "rescaled-without-likelihood": (
        "poisson",
        "post-site",
        {"whitened_updates": True},
        (_direct._PriorWhiteConditional, "_complete", _rescales_at_no_price),
    ),
    "density-of-the-mixture-dropped": (
        "student-t-noise",
        "collapsed",
        {},
        (_augmentation.StudentTGivenPrecisions, "log_likelihood", _without_density_of_the_mixture),
    ),
    "log-noise-dropped-collapsed": (
        "gaussian-noise",
        "marginal",
        {},
        (_collapsed._Pseudodata, "__init__", _without_noise),
    ),
    "proposal-ratio-forgotten": ("poisson", "surr-site", {"proposal": ForgottenRatio()}, None),
}

#: Bounded priors, so that clipping happens.
BOUNDED = {
    "k1__constant_value": stats.loguniform(0.3, 3.0),
    "k2__length_scale": stats.loguniform(0.3, 3.0),
    "mean": stats.uniform(-1.0, 2.0),
    "noise_level": stats.loguniform(0.1, 1.0),
}


#: These faults move the distribution little in two iterations, the default.
N_ITERATIONS = {"clipped-from-the-clipped-end": 6, "proposal-ratio-forgotten": 6}


@pytest.mark.parametrize("control", CONTROLS)
def test_broken_transition_is_rejected(control, monkeypatch):
    name, representation, options, replacement = CONTROLS[control]
    if replacement is not None:
        monkeypatch.setattr(*replacement)
    priors = BOUNDED if "clipped" in control else None
    model = make_model(LIKELIHOODS[name].make(), priors=priors)
    settings = SamplerSettings(representation, n_latent_updates=1, **options)
    transition = iterations(settings, n=N_ITERATIONS.get(control, 2))
    assert not is_invariant(model, transition, seed=0)


@pytest.mark.parametrize("fault", [None, _half_log_determinant])
def test_half_a_log_determinant_is_rejected(fault, monkeypatch):
    if fault is not None:
        monkeypatch.setattr(_pseudo_posterior._SurrogateConditional, "_log_ratio", fault)
    # Many latent variables and strong data, for a determinant that theta changes much.
    likelihood = Poisson(np.ones(12), exposure=np.full(12, 5.0))
    model = make_model(likelihood, X=np.linspace(0.0, 3.0, 12)[:, np.newaxis])
    settings = SamplerSettings("surr-site", n_latent_updates=1)
    assert is_invariant(model, iterations(settings, n=4), seed=0) == (fault is None)


AUGMENTED = {
    "logit": BernoulliLogit,
    "probit": BernoulliProbit,
    "binomial": Binomial,
    "negative-binomial": NegativeBinomial,
    "student-t-noise": StudentT,
}


@pytest.mark.parametrize("name", AUGMENTED)
def test_auxiliaries_of_other_latents_are_rejected(name, monkeypatch):
    family = AUGMENTED[name]
    augment = family.augment

    def of_half_the_latents(likelihood, latent, params, rng):
        return augment(likelihood, 0.5 * latent, params, rng)

    monkeypatch.setattr(family, "augment", of_half_the_latents)
    # Far from zero, where the auxiliary variables depend on f.
    priors = {**PRIORS, "k1__constant_value": stats.lognorm(s=0.3, scale=40.0)}
    model = make_model(LIKELIHOODS[name].make(), priors=priors)
    settings = SamplerSettings("collapsed", n_latent_updates=1)
    assert not is_invariant(model, iterations(settings), seed=0)


def test_auxiliaries_of_another_shape_are_rejected(monkeypatch):
    draw = _negative_binomial.polya_gamma
    monkeypatch.setattr(
        _negative_binomial, "polya_gamma", lambda shape, tilt, rng: draw(0.1 * shape, tilt, rng)
    )
    model = make_model(LIKELIHOODS["negative-binomial"].make())
    settings = SamplerSettings("collapsed", n_latent_updates=1, whitened_updates=True)
    assert not is_invariant(model, iterations(settings), seed=0)


@pytest.mark.parametrize("sites", [_sites_of_the_current_state, _fresh_sites])
def test_noise_at_the_old_theta_is_rejected(sites, monkeypatch):
    monkeypatch.setattr(_site_rules.PosteriorSiteRule, "_fit", _steep_sites)
    monkeypatch.setattr(_site_rules.SiteRule, "sites", sites)
    # Dense inputs and weak data: f holds theta fast where it is pinned, and nowhere else.
    likelihood = Poisson(np.ones(16), exposure=np.full(16, 0.02))
    model = make_model(likelihood, X=np.linspace(0.0, 3.0, 16)[:, np.newaxis])
    settings = SamplerSettings("surr-site", n_latent_updates=1)
    assert is_invariant(model, iterations(settings), seed=0) == (sites is _fresh_sites)


def test_the_intact_transition_with_bounded_priors_is_accepted():
    model = make_model(LIKELIHOODS["logit"].make(), priors=BOUNDED)
    settings = SamplerSettings("prior-white", n_latent_updates=1, width=2.0)
    assert is_invariant(model, iterations(settings), seed=0)


def _accepts_every_trajectory(evaluate, point, step_sizes, n_steps, rng, angle):
    momentum = rng.standard_normal(point.value.shape) + 0.5 * step_sizes * point.gradient
    end = evaluate(point.value + 8.0 * step_sizes * momentum)
    return HamiltonianResult(end or point, 1.0, end is not None)


def _forgets_the_slope(coordinates, u, theta, slope):
    """The Jacobian of the coordinates is missing: wrong for priors of their own density."""
    value, gradient = _LOG_PRIOR(coordinates, u, theta, slope)
    return value - float(np.log(np.abs(slope)).sum()), gradient


_LOG_PRIOR = NormalCoordinates.log_prior


#: Between bounds, where the coordinates bend, and not flat in them: a density of their own.
BENT = {
    "k1__constant_value": stats.uniform(0.5, 1.0),
    "k2__length_scale": stats.uniform(0.5, 1.0),
    "mean": stats.uniform(-0.5, 1.0),
}


@pytest.mark.parametrize("fault", ["none", "acceptance", "jacobian"])
def test_hamiltonian_trajectories(fault, monkeypatch):
    if fault == "acceptance":
        monkeypatch.setattr(_hyperparameter_moves, "hamiltonian_step", _accepts_every_trajectory)
    if fault == "jacobian":
        monkeypatch.setattr(NormalCoordinates, "log_prior", _forgets_the_slope)
    model = make_model(LIKELIHOODS["logit"].make(), priors=BENT)
    settings = SamplerSettings("collapsed", n_latent_updates=1, hamiltonian=True)
    # Steps of four times the size that chains begin with, and a quarter of their number.
    transition = iterations(settings, n=8, step_size=0.4)
    assert is_invariant(model, transition, seed=0) == (fault == "none")
