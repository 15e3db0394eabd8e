"""Trajectories of the hyperparameters and the whitened latent variables on grids.

Chains find sites in their warm-up; what is tested here at once has sites that are set.
"""

import math

import numpy as np
import pytest
from continued_chains import check
from joint_distribution import is_invariant, iterations
from problems import (
    GRID,
    LIKELIHOODS,
    PRIORS,
    check_representation,
    make_model,
    make_representation,
)
from problems import SITES_ON_GRID as SITES
from rotation import one_in
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpmcmc._covariance import (
    DenseStructure,
    GridCovariance,
    GridFactor,
    GridPseudoPosterior,
    GridStructure,
)
from skgpmcmc._covariance._base import PseudoPosteriorGradient
from skgpmcmc._grid import Grid
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling import _hyperparameter_moves
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._latent_moves import update_latents
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import Poisson
from skgpmcmc.priors._normal_coordinates import NormalCoordinates
from skgpmcmc.representations._joint import _JointConditional
from skgpmcmc.updates import HamiltonianResult

ARD = ConstantKernel(1.0) * RBF([1.0, 1.0])
KERNELS = {
    "isotropic": ConstantKernel(1.0) * RBF(1.0),
    "ard": ARD,
    "white noise": ARD + WhiteKernel(0.3),
}
MORE_PRIORS = {
    **PRIORS,
    "k1__k1__constant_value": PRIORS["k1__constant_value"],
    "k1__k2__length_scale": PRIORS["k2__length_scale"],
    "k2__noise_level": stats.lognorm(s=0.7, scale=0.3),
}
#: Between bounds, where the coordinates of the trajectories bend.
BOUNDED = {
    "k1__constant_value": stats.loguniform(0.3, 3.0),
    "k2__length_scale": stats.loguniform(0.3, 3.0),
    "mean": stats.uniform(-1.0, 2.0),
}


def model_on_grid(name="poisson", kernel=ARD, priors=MORE_PRIORS, **options):
    likelihood = LIKELIHOODS[name].make()
    model = make_model(
        likelihood, kernel, priors, GRID.points(), structure=GridStructure(GRID), **options
    )
    assert isinstance(model.workspace().covariance, GridCovariance)
    return model


def transition(representation, step_size=0.4, n_iterations=2, **options):
    """Iterations with steps so long that trajectories are rejected now and then."""
    options = {"n_latent_updates": 1, "path_length": 4.0 * step_size, **options}
    frozen = SITES if representation == "joint-post" else None
    return iterations(SamplerSettings(representation, **options), frozen, n_iterations, step_size)


def conditional_of(model, sites, seed):
    """The representation with these sites, its conditional at a draw from the prior, and rng."""
    workspace, rng = model.workspace(), np.random.default_rng(seed)
    state = workspace.initial_state(rng)
    held = make_representation("joint-post", workspace)
    if sites is not None:
        held.adaptation.frozen = sites
    assert held.prepare(state)
    return held, held.condition(state, rng), rng


# ---------------------------------------------------------------- gradients


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["poisson", "negative-binomial", "student-t"])
def test_gradient_by_differences(name, kernel):
    model = model_on_grid(name, KERNELS[kernel])
    held, conditional, rng = conditional_of(model, SITES, seed=0)
    state = conditional.state
    n_theta, n_free, step = len(state.theta), len(held.free), 1e-5

    def density(position):
        return conditional.evaluate_joint(position[:n_theta], position[n_theta:])

    start = np.concatenate([state.theta, conditional.joint_position])
    for position in (start, start + 0.1 * rng.standard_normal(len(start))):
        density(position)
        gradient = conditional.gradient()
        expected = [
            (density(position + step * e) - density(position - step * e)) / (2.0 * step)
            for e in np.eye(len(start))
        ]
        moving = np.r_[0:n_free, n_theta : len(start)]
        np.testing.assert_allclose(gradient[moving], np.array(expected)[moving], 1e-5, 1e-6)
        assert not gradient[n_free:n_theta].any()


@pytest.mark.parametrize("sites", [SITES, None])
def test_density_by_dense_algebra(sites):
    model = model_on_grid()
    _, conditional, rng = conditional_of(model, sites, seed=1)
    state = conditional.state
    theta, eta = state.theta + 0.3, rng.standard_normal(4)
    densities, latents = [], []
    for at, white in ((state.theta, conditional.joint_position), (theta, eta)):
        K = model.kernel.clone_with_theta(at[:3])(GRID.points())
        K[np.diag_indices(4)] *= 1.0 + model.jitter
        precision, shift = sites or (np.zeros(4), np.zeros(4))
        R = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
        values, vectors = np.linalg.eigh(R)
        latent = at[3] + R @ (shift - precision * at[3])
        latent = latent + vectors @ (np.sqrt(values) * (vectors.T @ white))
        log_prior = stats.multivariate_normal(np.full(4, at[3]), K).logpdf(latent)
        log_jacobian = 0.5 * np.log(values).sum()
        densities.append(model.likelihood.log_likelihood(latent) + log_prior + log_jacobian)
        latents.append(latent)
    np.testing.assert_allclose(state.latent, latents[0], rtol=1e-8)
    difference = conditional.evaluate_joint(theta, eta) - conditional.log_density
    assert difference == pytest.approx(densities[1] - densities[0], rel=1e-8)
    conditional.accept()
    np.testing.assert_allclose(conditional.state.latent, latents[1], rtol=1e-8)


def test_sites_make_the_mean_that_of_the_pseudo_posterior():
    """At one theta, h = g + w f with the posterior's means of the score g and of f."""
    model = small_problem(True)
    workspace, rng = model.workspace(), np.random.default_rng(2)
    state = workspace.initial_state(rng, np.array([0.0, -1.0, -1.0, 1.0]))
    held = make_representation("joint-post", workspace)
    assert held.prepare(state)
    latents = []
    for _ in range(4000):
        update_latents(workspace, state, 1, rng)
        held.adaptation.observe(state)
        latents.append(state.latent)
    assert held.adaptation.adapt(state, state.theta, held.prepare)
    pseudo = state.pseudo
    z = pseudo.colour(np.zeros(20), pseudo.project(state.sites.shift, state.mean))
    centre = state.mean + state.factor.colour(z)
    error = [mcse_mean(np.array(latents)[np.newaxis, :, i]) for i in range(20)]
    assert (np.abs(centre - np.mean(latents, axis=0)) < 6.0 * np.array(error)).all()
    assert state.sites.precision[0] == pytest.approx(np.exp(latents).mean(), rel=1e-9)


# ---------------------------------------------------------------- invariance

INVARIANT = [
    ("joint-post", "poisson", "ard", {}),
    ("joint-post", "poisson", "isotropic", {}),
    ("joint-post", "poisson", "ard", {"n_latent_updates": 0}),
    ("joint-post", "negative-binomial", "ard", {}),
    ("joint-post", "poisson", "white noise", {}),
    ("prior-white", "poisson", "ard", {}),
    ("joint-post", "poisson", "ard", {"n_latent_updates": 6, "whitened_updates": True}),
    ("prior-white", "poisson", "white noise", {"whitened_updates": True}),
    ("fixed", "poisson", "ard", {}),
    (0.5, "poisson", "ard", {}),
    (0.5, "poisson", "white noise", {"whitened_updates": True}),
]


# tests/statistics/test_invariance.py has every likelihood with `joint-post`, and
# tests/covariance/test_structures.py the other representations on grids.
@pytest.mark.parametrize(("representation", "name", "kernel", "options"), one_in(4, INVARIANT))
def test_iteration_leaves_joint_distribution_invariant(representation, name, kernel, options):
    model = model_on_grid(name, KERNELS[kernel])
    assert is_invariant(model, transition(representation, **options), seed=0)


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_other_priors(mean):
    model = model_on_grid(priors=BOUNDED, mean=mean)
    assert is_invariant(model, transition("joint-post"), seed=1)


def test_a_wrong_gradient_costs_acceptance_only(monkeypatch):
    def wrong(self, pseudo, eta, residual, score):
        return PseudoPosteriorGradient(np.zeros(3), 0.3 * eta, residual)

    monkeypatch.setattr(GridCovariance, "pseudo_posterior_gradient", wrong)
    assert is_invariant(model_on_grid(), transition("joint-post", 0.2), seed=2)


def _without_prior_of_whitened(conditional, state, projection):
    return -state.pseudo.half_log_det


def _without_log_root(conditional, state, projection):
    return -0.5 * float(state.whitened @ state.whitened)


def _without_jacobian(coordinates, u, theta, slope):
    value, gradient = _LOG_PRIOR(coordinates, u, theta, slope)
    return value - float(np.log(np.abs(slope)).sum()), gradient


def _always_accepts(evaluate, point, step_sizes, n_steps, rng, angle):
    steps = np.concatenate([step_sizes, np.full(len(point.value) - len(step_sizes), angle)])
    momentum = rng.standard_normal(point.value.shape) + 0.5 * steps * point.gradient
    end = evaluate(point.value + 3.0 * steps * momentum)
    return HamiltonianResult(end or point, 1.0, end is not None)


_LOG_PRIOR = NormalCoordinates.log_prior
FAULTS = {
    "prior of z dropped": (_JointConditional, "_log_ratio", _without_prior_of_whitened),
    "log |U| dropped": (_JointConditional, "_log_ratio", _without_log_root),
    "jacobian dropped": (NormalCoordinates, "log_prior", _without_jacobian),
    "all accepted": (_hyperparameter_moves, "hamiltonian_step", _always_accepts),
}


#: Of all faults it takes longest to show; tests/statistics/test_negative_controls.py has it too.
SUBTLE = pytest.param("jacobian dropped", marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "fault", ["none", "prior of z dropped", "log |U| dropped", "all accepted", SUBTLE]
)
def test_broken_trajectories_are_rejected(fault, monkeypatch):
    if fault != "none":
        monkeypatch.setattr(*FAULTS[fault])
    steps = transition("joint-post", n_iterations=4, n_latent_updates=0)
    model = model_on_grid(priors=BOUNDED)
    assert is_invariant(model, steps, seed=1) == (fault == "none")


def _without_log_determinant(factor, whitened):
    return -0.5 * float(whitened @ whitened)


def _flat_pseudo_posterior(pseudo, factor, precision):
    _PSEUDO(pseudo, factor, precision)
    pseudo.half_log_det = 0.0


_PSEUDO = GridPseudoPosterior.__init__


@pytest.mark.parametrize(
    ("representation", "fault"),
    [
        ("fixed", (GridFactor, "log_normal", _without_log_determinant)),
        pytest.param(
            0.5,
            (GridPseudoPosterior, "__init__", _flat_pseudo_posterior),
            marks=pytest.mark.slow,  # among the faults above it shows by default
        ),
    ],
)
def test_forgotten_determinants_are_rejected(representation, fault, monkeypatch):
    monkeypatch.setattr(*fault)
    steps = transition(representation)
    assert not is_invariant(model_on_grid(), steps, seed=1)


# ---------------------------------------------------------------- chains


@pytest.mark.parametrize(
    "options",
    [{"representation": r} for r in ("joint-post", "prior-white", "fixed", 1.0)]
    + [{"representation": "joint-post", "n_latent_updates": 12, "whitened_updates": True}],
)
def test_chains_continue_bit_for_bit(options):
    check(model_on_grid("negative-binomial"), **options)


def small_problem(grid, offset_scale=1.0):
    """A Cox process on 5 x 4 cells, with or without the knowledge that they are a grid."""
    points = Grid((np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 4)))
    rate = 4.0 * np.exp(np.sin(3.0 * points.points()[:, 0]) - points.points()[:, 1])
    counts = np.random.default_rng(3).poisson(rate)
    kernel = ConstantKernel(1.0, (0.1, 10.0)) * RBF([0.5, 0.5], (0.1, 3.0))
    return LatentGaussianModel(
        kernel,
        points.points(),
        Poisson(counts),
        mean="constant",
        priors={"mean": stats.norm(1.0, offset_scale)},
        structure=GridStructure(points) if grid else DenseStructure(),
    )


def summary_of(grid, representation):
    settings = SamplerSettings(
        representation, n_warmup=100, n_draws=500, n_latent_updates=5, whitened_updates=True
    )
    trace = run_chains(small_problem(grid), settings, n_chains=2, random_state=4)
    assert (trace.moved > 0.3).all()
    return trace.summary()


@pytest.fixture(scope="module")
def dense_summary():
    return summary_of(False, "post-site")


# tests/covariance/test_grids.py and tests/statistics/test_exact_posteriors.py show it by default.
@pytest.mark.slow
@pytest.mark.parametrize("representation", ["joint-post", 1.0])
def test_posterior_agrees_with_the_dense_one(representation, dense_summary):
    summary = summary_of(True, representation)
    # Which row of the latent function mixes worst differs between the fits: no mean to compare.
    for name in dense_summary.keys() - {"latent[worst]"}:
        row, other = dense_summary[name], summary[name]
        error = math.hypot(row["mcse"], other["mcse"])
        assert abs(row["mean"] - other["mean"]) < 4.5 * error, name
        assert other["rhat"] < 1.1


def test_held_parameters_move_too():
    settings = SamplerSettings("joint-post", n_warmup=20, n_draws=50, n_latent_updates=1)
    trace = run_chains(model_on_grid("negative-binomial"), settings, n_chains=1, random_state=5)
    assert (np.diff(trace.theta[0], axis=0) != 0.0).mean(axis=0).min() > 0.3


def test_chains_begin_near_the_data(monkeypatch):
    """Whatever the prior says of the offset: there gradients would fling trajectories away."""
    settings, model = SamplerSettings("joint-post"), small_problem(True, offset_scale=8.0)

    def worst_start():
        generators = [np.random.default_rng(seed) for seed in range(20)]
        states = [Chain.start(model, settings, rng).state for rng in generators]
        return min(state.log_likelihood for state in states)

    assert worst_start() > -80.0
    monkeypatch.setattr(Chain, "_approach", lambda chain, n_other_starts: None)
    assert worst_start() < -1000.0


def test_no_approximation_of_the_marginal_posterior_on_grids():
    """It has sites of its own precisions: the warm-up does without."""
    settings = SamplerSettings("prior-white", n_warmup=20, n_draws=20, n_approximate=10)
    trace = run_chains(model_on_grid(), settings, n_chains=1, random_state=7)
    assert (trace.moved > 0.5).all()


def test_no_start_on_a_large_grid_is_reported_without_its_matrix():
    class Impossible(Poisson):
        def log_likelihood(self, latent, params=()):
            return -math.inf

    grid = Grid((np.arange(250.0), np.arange(200.0)))  # 20 GB
    model = make_model(
        Impossible(np.ones(grid.n)), ARD, PRIORS, grid.points(), structure=GridStructure(grid)
    )
    workspace = model.workspace()
    with pytest.raises(ValueError, match=r"no starting point.*log likelihood was not finite"):
        workspace.initial_state(np.random.default_rng(8), np.zeros(4))


def test_latents_alone():
    kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
    model = model_on_grid(kernel=kernel, mean="zero")
    assert is_invariant(model, transition("joint-post", n_latent_updates=3), seed=3)


# ---------------------------------------------------------------- what cannot be combined


def test_dense_covariances_are_refused_before_sampling():
    model = make_model(LIKELIHOODS["poisson"].make())
    for attempt in (
        lambda: run_chains(model, SamplerSettings("joint-post")),
        lambda: check_representation("joint-post", model.likelihood),
        lambda: make_representation("joint-post", model.workspace()),
    ):
        with pytest.raises(MissingCapabilityError, match=r"'joint-post' cannot.*Cartesian grid"):
            attempt()
    assert check_representation("joint-post", model.likelihood, GridStructure(GRID)) is None


@pytest.mark.parametrize("structure", [DenseStructure(), GridStructure(GRID)])
def test_names_in_messages_are_those_that_can_be_used(structure):
    with pytest.raises(ValueError, match="must be one of") as error:
        check_representation("joint", LIKELIHOODS["poisson"].make(), structure)
    assert ("'joint-post'" in str(error.value)) == (type(structure) is GridStructure)
