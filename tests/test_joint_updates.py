"""Trajectories of the hyperparameters and the whitened latent variables on grids."""

import math

import numpy as np
import pytest
from joint_distribution import is_invariant
from problems import LIKELIHOODS, PRIORS, make_model
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from test_continuation import check

from skgpmcmc import _trajectories
from skgpmcmc._chain import Chain
from skgpmcmc._coordinates import NormalCoordinates
from skgpmcmc._covariance import GridCovariance
from skgpmcmc._grid import Grid
from skgpmcmc._model import LatentGaussianModel
from skgpmcmc._sampler import run_chains
from skgpmcmc._settings import SamplerSettings
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import Poisson
from skgpmcmc.representations import check_representation, make_representation, make_workspace
from skgpmcmc.representations._joint import _JointConditional
from skgpmcmc.updates import HamiltonianResult

GRID = Grid((np.array([0.0, 1.0]), np.array([0.0, 0.7])))
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
#: Priors whose density in the coordinates of the trajectories is not normal.
BOUNDED = {
    "k1__constant_value": stats.loguniform(0.3, 3.0),
    "k2__length_scale": stats.uniform(0.3, 3.0),
    "mean": stats.uniform(-1.0, 2.0),
}


def model_on_grid(name="poisson", kernel=ARD, priors=MORE_PRIORS, **options):
    likelihood = LIKELIHOODS[name].make()
    return make_model(likelihood, kernel, priors, GRID.points(), grid=GRID, **options)


def transition(representation, step_size=0.4, n_iterations=1, **options):
    """Iterations with steps so long that trajectories are rejected now and then."""
    options = {"n_latent_updates": 1, "path_length": 4.0 * step_size, **options}
    settings = SamplerSettings(representation, **options)

    def step(model, workspace, state, rng):
        assert isinstance(workspace.covariance, GridCovariance)
        chain = Chain(workspace, settings, rng, state)
        chain.trajectories.tuner._set_step(step_size)
        for _ in range(n_iterations):
            chain.iterate()
        return chain

    step.make_workspace = lambda model: make_workspace(model, representation)
    return step


# ---------------------------------------------------------------- gradients


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["poisson", "negative-binomial", "student-t"])
def test_gradient_by_differences(name, kernel):
    model = model_on_grid(name, KERNELS[kernel])
    workspace, rng = make_workspace(model, "joint-white"), np.random.default_rng(0)
    state = workspace.initial_state(rng)
    held = make_representation("joint-white", workspace)
    conditional = held.condition(state, rng)
    n_theta, n_free, step = len(state.theta), len(held.free), 1e-5

    def density(position):
        return conditional.evaluate_with(position[:n_theta], position[n_theta:])

    start = np.concatenate([state.theta, conditional.carried])
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


def test_density_is_that_of_theta_and_whitened_variables():
    model = model_on_grid()
    workspace, rng = make_workspace(model, "joint-white"), np.random.default_rng(1)
    state = workspace.initial_state(rng)
    conditional = make_representation("joint-white", workspace).condition(state, rng)
    assert conditional.log_density == pytest.approx(
        state.log_likelihood - 0.5 * float(state.whitened @ state.whitened), rel=1e-12
    )
    theta, z = state.theta + 0.3, rng.standard_normal(4)
    K = model.kernel.clone_with_theta(theta[:3])(GRID.points()) + 0.0
    K[np.diag_indices(4)] *= 1.0 + model.jitter
    values, vectors = np.linalg.eigh(K)
    latent = theta[3] + vectors @ (np.sqrt(values) * (vectors.T @ z))
    expected = model.likelihood.log_likelihood(latent) - 0.5 * float(z @ z)
    assert conditional.evaluate_with(theta, z) == pytest.approx(expected, rel=1e-9)
    conditional.accept()
    np.testing.assert_allclose(conditional.state.latent, latent, rtol=1e-9)
    np.testing.assert_array_equal(conditional.state.whitened, z)


# ---------------------------------------------------------------- invariance

INVARIANT = [
    *(("joint-white", "poisson", kernel, {}) for kernel in KERNELS),
    ("joint-white", "poisson", "ard", {"n_latent_updates": 0}),
    ("joint-white", "poisson", "ard", {"n_latent_updates": 6, "whitened_updates": True}),
    ("joint-white", "negative-binomial", "ard", {}),
    *((r, "poisson", "ard", {}) for r in ("prior-white", "fixed", 0.5)),
    *((r, "poisson", "white noise", {"whitened_updates": True}) for r in ("prior-white", 0.5)),
]


@pytest.mark.parametrize(("representation", "name", "kernel", "options"), INVARIANT)
def test_iteration_leaves_joint_distribution_invariant(representation, name, kernel, options):
    model = model_on_grid(name, KERNELS[kernel])
    assert is_invariant(model, transition(representation, **options), seed=0)


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_other_priors(mean):
    model = model_on_grid(priors=BOUNDED, mean=mean)
    assert is_invariant(model, transition("joint-white"), seed=1)


def test_a_wrong_gradient_costs_acceptance_only(monkeypatch):
    monkeypatch.setattr(GridCovariance, "colour_gradient", lambda self, factor, z, g: np.zeros(3))
    assert is_invariant(model_on_grid(), transition("joint-white", 0.2), seed=2)


def _without_prior_of_whitened(log_likelihood, whitened):
    return log_likelihood


def _likelihood_of_the_old_root(conditional, candidate):
    factor, candidate.factor = candidate.factor, conditional.state.factor
    log_density = _COMPLETE(conditional, candidate)
    candidate.factor = factor
    conditional._set_latent(candidate, candidate.whitened)
    return log_density


def _without_jacobian(coordinates, u, theta, slope):
    value, gradient = _LOG_PRIOR(coordinates, u, theta, slope)
    return value - float(np.log(np.abs(slope)).sum()), gradient


def _always_accepts(evaluate, point, step_sizes, n_steps, rng):
    momentum = rng.standard_normal(point.value.shape) + 0.5 * step_sizes * point.gradient
    end = evaluate(point.value + 3.0 * step_sizes * momentum)
    return HamiltonianResult(end or point, 1.0, end is not None)


_COMPLETE, _LOG_PRIOR = _JointConditional._complete, NormalCoordinates.log_prior
FAULTS = {
    "prior of z dropped": (_JointConditional, "_joint", staticmethod(_without_prior_of_whitened)),
    "jacobian dropped": (NormalCoordinates, "log_prior", _without_jacobian),
    "all accepted": (_trajectories, "hamiltonian_step", _always_accepts),
}


@pytest.mark.parametrize("fault", ["none", *FAULTS])
def test_broken_trajectories_are_rejected(fault, monkeypatch):
    if fault != "none":
        monkeypatch.setattr(*FAULTS[fault])
    steps = transition("joint-white", n_iterations=4, n_latent_updates=0)
    model = model_on_grid(priors=BOUNDED)
    assert is_invariant(model, steps, seed=1) == (fault == "none")


@pytest.mark.parametrize("fault", [False, True])
def test_likelihood_of_the_old_root_is_rejected(fault, monkeypatch):
    if fault:
        monkeypatch.setattr(_JointConditional, "_complete", _likelihood_of_the_old_root)
    # Latent values whose size the data know, and variances that differ much.
    priors = {**MORE_PRIORS, "k1__constant_value": stats.lognorm(s=1.5, scale=4.0)}
    steps = transition("joint-white", 0.2, n_iterations=4, n_latent_updates=0)
    assert is_invariant(model_on_grid(priors=priors), steps, seed=1) == (not fault)


# ---------------------------------------------------------------- chains


@pytest.mark.parametrize(
    "options",
    [{"representation": r} for r in ("joint-white", "prior-white", "fixed", 1.0)]
    + [{"representation": "joint-white", "n_latent_updates": 12, "whitened_updates": True}],
)
def test_chains_continue_bit_for_bit(options):
    check(model_on_grid("negative-binomial"), **options)


def small_problem(grid):
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
        priors={"mean": stats.norm(1.0, 1.0)},
        grid=points if grid else None,
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


@pytest.mark.parametrize("representation", ["joint-white", 1.0])
def test_posterior_agrees_with_the_dense_one(representation, dense_summary):
    summary = summary_of(True, representation)
    for name, row in dense_summary.items():
        other = summary[name]
        error = math.hypot(row["mcse"], other["mcse"])
        assert abs(row["mean"] - other["mean"]) < 4.5 * error, name
        assert other["rhat"] < 1.1


def test_held_parameters_move_too():
    settings = SamplerSettings("joint-white", n_warmup=20, n_draws=50, n_latent_updates=1)
    trace = run_chains(model_on_grid("negative-binomial"), settings, n_chains=1, random_state=5)
    assert (np.diff(trace.theta[0], axis=0) != 0.0).mean(axis=0).min() > 0.3


def test_latents_alone():
    kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
    model = model_on_grid(kernel=kernel, mean="zero")
    assert is_invariant(model, transition("joint-white", n_latent_updates=3), seed=3)


# ---------------------------------------------------------------- what cannot be combined


def test_dense_covariances_are_refused_before_sampling():
    model = make_model(LIKELIHOODS["poisson"].make())
    for attempt in (
        lambda: run_chains(model, SamplerSettings("joint-white")),
        lambda: check_representation("joint-white", model.likelihood),
        lambda: make_representation("joint-white", model.workspace()),
    ):
        with pytest.raises(MissingCapabilityError, match=r"'joint-white' cannot.*Cartesian grid"):
            attempt()
    assert check_representation("joint-white", model.likelihood, on_grid=True) is None


@pytest.mark.parametrize("on_grid", [False, True])
def test_names_in_messages_are_those_that_can_be_used(on_grid):
    with pytest.raises(ValueError, match="must be one of") as error:
        check_representation("joint", LIKELIHOODS["poisson"].make(), on_grid)
    assert ("'joint-white'" in str(error.value)) == on_grid
