"""Every likelihood x representation x update leaves the joint distribution invariant."""

import pytest
from joint_distribution import is_invariant, one_iteration
from problems import COMBINATIONS, LIKELIHOODS, make_model

from skgpmcmc._sampler import SamplerSettings
from skgpmcmc.updates import RandomWalk


class LogScaleWalk:
    """An asymmetric proposal, so that a forgotten proposal ratio shows."""

    def __call__(self, value, rng):
        shift = 0.3 + 0.5 * rng.standard_normal(value.shape)
        backward = -0.5 * ((-shift - 0.3) / 0.5) ** 2
        forward = -0.5 * ((shift - 0.3) / 0.5) ** 2
        return value + shift, float((backward - forward).sum())


UPDATES = {
    "slice": {},
    "slice-sweep": {"condition_each_scalar": False},
    "slice-stepping-out": {"max_steps_out": 3, "width": 0.5},
    "metropolis": {"proposal": RandomWalk(0.6)},
    "metropolis-asymmetric": {"proposal": LogScaleWalk()},
}


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize(("name", "representation"), COMBINATIONS)
def test_iteration_leaves_joint_distribution_invariant(name, representation, update):
    model = make_model(LIKELIHOODS[name].make())
    settings = SamplerSettings(representation, n_latent_updates=1, **UPDATES[update])
    assert is_invariant(model, one_iteration(settings), seed=0)
