"""Every likelihood x representation x update leaves the joint distribution invariant.

By default each likelihood is tested with every fourth representation, and each representation with
every fourth likelihood, one update of each combination; ``pytest -m slow`` tests the rest.
"""

from itertools import product

import pytest
from joint_distribution import is_invariant, iterations
from problems import (
    COMBINATIONS,
    JOINT,
    LIKELIHOODS,
    REPRESENTATIONS,
    frozen_for,
    make_model,
    make_model_for,
)
from rotation import in_turn, one_in
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpmcmc._sampling._settings import SamplerSettings


class DriftingWalk:
    """An asymmetric proposal, so that a forgotten proposal ratio shows."""

    def __call__(self, value, rng):
        shift = 0.3 + 0.5 * rng.standard_normal(value.shape)
        backward = -0.5 * ((-shift - 0.3) / 0.5) ** 2
        forward = -0.5 * ((shift - 0.3) / 0.5) ** 2
        return value + shift, float((backward - forward).sum())


UPDATES = {
    "slice": {},
    "slice-sweep-rescaling": {"condition_each_scalar": False, "whitened_updates": True},
    "slice-stepping-out": {"max_steps_out": 3, "width": 0.5},
    "metropolis": {"proposal": DriftingWalk()},
}


#: What has no such update: a proposal moves all hyperparameters, of which auxiliary variables hold
#: the dispersion and trajectories of latent variables the likelihood's own.
IMPOSSIBLE = {("negative-binomial", "collapsed", "metropolis")} | {
    (name, joint, "metropolis") for name in LIKELIHOODS for joint in JOINT
}


def rotating(combinations, options, n):
    """Return all cases; all but one option of every n-th combination are slow.

    Of the likelihoods that have a representation every n-th is taken, others for the next one; and
    the options take turns.
    """
    cases = []
    for name, representation in combinations:
        having = [other for other, r in combinations if r == representation]
        possible = [o for o in options if (name, representation, o) not in IMPOSSIBLE]
        turn, left_out = divmod(having.index(name) + REPRESENTATIONS.index(representation), n)
        chosen = None if left_out else possible[turn % len(possible)]
        cases += [
            pytest.param(name, representation, o, marks=[] if o == chosen else pytest.mark.slow)
            for o in possible
        ]
    return cases


CASES = rotating(COMBINATIONS, UPDATES, 4)


def test_everything_is_run_by_default_with_something():
    by_default = [case.values for case in CASES if not case.marks]
    names, representations, updates = map(list, zip(*by_default, strict=True))
    assert set(names) == set(LIKELIHOODS)
    assert set(representations) == set(REPRESENTATIONS)
    assert min(updates.count(update) for update in UPDATES) >= 5


#: Of trajectories: so long that some of them are rejected, and few make a long way.
STEP_SIZE = {"joint-post": 0.4, "joint-ep": 0.9}


def transition_for(representation, model, **options):
    """Return iterations of a chain, after a warm-up where the representation needs one."""
    settings = SamplerSettings(representation, n_latent_updates=1, **options)
    frozen, step_size = frozen_for(representation, model), STEP_SIZE.get(representation)
    return iterations(settings, frozen, step_size=step_size)


@pytest.mark.parametrize(("name", "representation", "update"), CASES)
def test_iteration_leaves_joint_distribution_invariant(name, representation, update):
    model = make_model_for(representation, LIKELIHOODS[name].make())
    transition = transition_for(representation, model, **UPDATES[update])
    assert is_invariant(model, transition, seed=0)


#: Long steps, so that many proposals are rejected.
HAMILTONIAN = {"hamiltonian": True, "path_length": 0.6}


HAVE_GRADIENT = [c for c in COMBINATIONS if c[1] in ("marginal", "collapsed")]


@pytest.mark.parametrize(("name", "representation"), one_in(2, HAVE_GRADIENT))
def test_hamiltonian_trajectories(name, representation):
    model = make_model(LIKELIHOODS[name].make())
    settings = SamplerSettings(
        representation, n_latent_updates=1, whitened_updates=True, **HAMILTONIAN
    )
    assert is_invariant(model, iterations(settings), seed=4)


KERNELS = {
    "generic-path": ConstantKernel(1.0) * RationalQuadratic(length_scale=1.0, alpha=1.0),
    "varying-diagonal": ConstantKernel(1.0) * RBF(1.0) + DotProduct(sigma_0=0.5),
    "matern-ard-white": ConstantKernel(1.0) * Matern([1.0, 2.0], nu=1.5) + WhiteKernel(0.3),
}
KERNEL_PRIORS = {
    "k1__constant_value": stats.lognorm(s=0.7, scale=1.0),
    "k2__length_scale": stats.lognorm(s=0.8, scale=1.0),
    "k2__alpha": stats.gamma(2.0),
    "k1__k1__constant_value": stats.lognorm(s=0.7, scale=1.0),
    "k1__k2__length_scale": stats.lognorm(s=0.8, scale=1.0),
    "k2__sigma_0": stats.halfnorm(scale=0.5),
    "k2__noise_level": stats.invgamma(3.0),
    "mean": stats.norm(0.3, 0.7),
}


WITH_KERNELS = ["prior-white", "surr-site", "post-site"]


@pytest.mark.parametrize(
    ("kernel", "representation"),
    in_turn(product(KERNELS, WITH_KERNELS), 3, KERNELS, WITH_KERNELS),
)
def test_kernels(kernel, representation):
    model = make_model(LIKELIHOODS["logit"].make(), KERNELS[kernel], KERNEL_PRIORS)
    settings = SamplerSettings(representation, n_latent_updates=1, whitened_updates=True)
    assert is_invariant(model, iterations(settings), seed=1)


@pytest.mark.parametrize("kernel", one_in(3, KERNELS))
def test_hamiltonian_trajectories_with_kernels(kernel):
    model = make_model(LIKELIHOODS["logit"].make(), KERNELS[kernel], KERNEL_PRIORS)
    settings = SamplerSettings("collapsed", n_latent_updates=1, **HAMILTONIAN)
    assert is_invariant(model, iterations(settings), seed=5)


MEANS = {"zero-mean": {"mean": "zero"}, "collapsed-mean": {"collapse_mean": True}}


@pytest.mark.parametrize(
    ("name", "representation", "options"),
    rotating(
        [c for c in COMBINATIONS if c[0] in ("poisson", "gaussian-noise") and c[1] not in JOINT],
        MEANS,
        2,
    ),
)
def test_mean_offset(name, representation, options):
    model = make_model_for(representation, LIKELIHOODS[name].make(), **MEANS[options])
    assert is_invariant(model, transition_for(representation, model), seed=2)


def test_latent_updates_alone():
    kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
    model = make_model(LIKELIHOODS["poisson"].make(), kernel, mean="zero")
    settings = SamplerSettings("prior-white", n_latent_updates=3)
    assert is_invariant(model, iterations(settings), seed=3)
