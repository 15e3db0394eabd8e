"""Chains on a covariance through inducing points: what is tested of dense ones, in part.

By default every second representation is tested with one likelihood, another one for the next;
``pytest -m ""`` tests all combinations.
"""

import numpy as np
import pytest
from joint_distribution import is_invariant, iterations
from problems import COMBINATIONS, JOINT, LIKELIHOODS, POINTS, frozen_for, make_model
from rotation import one_in
from test_exact_posteriors import DEFAULTS, PROBLEMS, X, assert_agree, exact_for, sample
from test_invariance import HAMILTONIAN, KERNEL_PRIORS, KERNELS, MEANS, STEP_SIZE

from skgpmcmc._covariance import LowRankFactor, LowRankStructure
from skgpmcmc._covariance._low_rank_factor import LowRankPseudoPosteriorFactory
from skgpmcmc.core import SamplerSettings
from skgpmcmc.likelihoods import Poisson

LOW_RANK = {"structure": LowRankStructure(POINTS)}
USED = [c for c in COMBINATIONS if c[1] != "joint-post"]
HAVE_GRADIENT = [c for c in COMBINATIONS if c[1] in ("marginal", "collapsed")]


def one_of_each(combinations, n=1):
    """Mark all but one combination of every n-th representation as slow, with other likelihoods."""
    cases, names = [], list(LIKELIHOODS)
    representations = list(dict.fromkeys(representation for _, representation in combinations))
    for i, representation in enumerate(representations):
        having = [name for name in names if (name, representation) in combinations]
        chosen = None if i % n else having[i % len(having)]
        cases += [
            pytest.param(name, representation, marks=[] if name == chosen else pytest.mark.slow)
            for name in having
        ]
    return cases


@pytest.mark.parametrize(("name", "representation"), one_of_each(USED, 2))
def test_iteration_leaves_joint_distribution_invariant(name, representation):
    model = make_model(LIKELIHOODS[name].make(), **LOW_RANK)
    settings = SamplerSettings(representation, n_latent_updates=1, whitened_updates=True)
    frozen, step_size = frozen_for(representation, model), STEP_SIZE.get(representation)
    assert is_invariant(model, iterations(settings, frozen, step_size=step_size), seed=10)


@pytest.mark.parametrize(("name", "representation"), one_of_each(HAVE_GRADIENT))
def test_hamiltonian_trajectories(name, representation):
    model = make_model(LIKELIHOODS[name].make(), **LOW_RANK)
    settings = SamplerSettings(representation, n_latent_updates=1, **HAMILTONIAN)
    assert is_invariant(model, iterations(settings), seed=11)


@pytest.mark.parametrize(
    ("kernel", "representation"),
    [
        *one_in(2, zip(KERNELS, ["collapsed", "post-site", "surr-site"], strict=True)),
        *one_in(2, [(kernel, "joint-ep") for kernel in KERNELS]),
    ],
)
def test_kernels(kernel, representation):
    model = make_model(LIKELIHOODS["logit"].make(), KERNELS[kernel], KERNEL_PRIORS, **LOW_RANK)
    settings = SamplerSettings(representation, n_latent_updates=1, whitened_updates=True)
    frozen, step_size = frozen_for(representation, model), STEP_SIZE.get(representation)
    assert is_invariant(model, iterations(settings, frozen, step_size=step_size), seed=12)


@pytest.mark.parametrize(
    ("representation", "mean"),
    [
        *one_in(
            2,
            [
                ("marginal", "collapsed-mean"),
                ("post-ep", "collapsed-mean"),
                ("surr-site", "zero-mean"),
            ],
        ),
        ("joint-ep", "collapsed-mean"),
        ("joint-ep", "zero-mean"),
    ],
)
def test_mean_offset(representation, mean):
    model = make_model(LIKELIHOODS["gaussian-noise"].make(), **MEANS[mean], **LOW_RANK)
    settings = SamplerSettings(representation, n_latent_updates=1)
    frozen, step_size = frozen_for(representation, model), STEP_SIZE.get(representation)
    assert is_invariant(model, iterations(settings, frozen, step_size=step_size), seed=13)


def _half_of_the_determinant(factor, whitened):
    return -0.5 * float(whitened @ whitened) - 0.5 * factor.half_log_det


def _half_of_the_other_determinant(factory, *given):
    pseudo = _BUILD(factory, *given)
    if pseudo is not None:
        pseudo.half_log_det *= 0.5
    return pseudo


_BUILD = LowRankPseudoPosteriorFactory.build

#: Name -> representation, and what is replaced.
CONTROLS = {
    "half-of-the-determinant": ("fixed", (LowRankFactor, "log_normal", _half_of_the_determinant)),
    "half-of-the-other-determinant": (
        "surr-site",
        (LowRankPseudoPosteriorFactory, "build", _half_of_the_other_determinant),
    ),
}


#: It takes long to show; tests/statistics/test_negative_controls.py has it for dense covariances.
SUBTLE = "half-of-the-other-determinant"


@pytest.mark.parametrize(
    "control",
    [
        pytest.param(control, marks=pytest.mark.slow if control == SUBTLE else [])
        for control in (None, *CONTROLS)
    ],
)
def test_broken_transitions_are_rejected(control, monkeypatch):
    representation, replacement = CONTROLS.get(control, ("surr-site", None))
    if replacement is not None:
        monkeypatch.setattr(*replacement)
    # Many latent variables and strong data, for a determinant that theta changes much.
    rows = np.linspace(0.0, 3.0, 12)[:, np.newaxis]
    likelihood = Poisson(np.ones(12), exposure=np.full(12, 5.0))
    model = make_model(likelihood, X=rows, structure=LowRankStructure(rows[1::3]))
    settings = SamplerSettings(representation, n_latent_updates=1)
    assert is_invariant(model, iterations(settings, n=4), seed=14) == (control is None)


@pytest.mark.parametrize(
    ("name", "representation"),
    [
        pytest.param(*c, marks=[] if c[0] in ("poisson", "gaussian-noise") else pytest.mark.slow)
        for c in sorted(DEFAULTS)
        if c[1] not in JOINT  # test_exact_posteriors.py has `joint-ep` with these points
    ],
)
def test_points_that_are_the_rows_agree_with_quadrature(name, representation):
    model = PROBLEMS[name].model(structure=LowRankStructure(X))
    assert_agree(sample(model, representation), exact_for(name))
