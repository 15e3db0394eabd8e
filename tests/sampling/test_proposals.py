"""A proposal of the caller's: checked at the start, and seen where it never works."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import make_model
from refusals import SHORT, TARGETS, X, check_message
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import Gaussian
from skgpmcmc.updates import RandomWalk, metropolis_step

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Walk:
    """A proposal that counts its calls, and may return something else from one of them on."""

    def __init__(self, first_fault=np.inf, fault=None):
        self.n_calls = 0
        self.first_fault, self.fault = first_fault, fault

    def __call__(self, theta, rng):
        self.n_calls += 1
        if self.n_calls > self.first_fault:
            return self.fault(theta)
        return theta + 0.1 * rng.standard_normal(theta.shape), 0.0


def fit(proposal, estimator=MCMCCoxProcessRegressor, **options):
    options = {**SHORT, "hyperparameter_update": proposal, **options}
    return estimator(**options).fit(X, TARGETS[estimator])


def run(proposal, **options):
    settings = SamplerSettings("prior-white", proposal=proposal, n_warmup=3, n_draws=6)
    model = make_model(Gaussian(np.array([0.5, -0.2, 1.0, 0.3]), noise_variance=0.3))
    return run_chains(model, settings, **{"n_chains": 1, "random_state": 0, **options})


#: What is wrong, and the words that the message must hold.
FAULTS = {
    "too few arguments": (lambda theta: (theta, 0.0), ["(theta, rng)", "(theta)"]),
    "too many": (lambda theta, rng, scale: (theta, 0.0), ["(theta, rng)", "(theta, rng, scale)"]),
    "no pair": (lambda theta, rng: theta, ["a pair", "array"]),
    "nothing": (lambda theta, rng: None, ["a pair", "None"]),
    "scalar": (lambda theta, rng: (0.5, 0.0), ["shape (4,)", "shape ()"]),
    "another length": (lambda theta, rng: (theta[:2], 0.0), ["shape (4,)", "shape (2,)"]),
    "text": (lambda theta, rng: (list("abcd"), 0.0), ["a pair", "'a'"]),
    "complex": (lambda theta, rng: (theta + 1j, 0.0), ["a pair"]),
    "no number": (lambda theta, rng: (theta, None), ["a pair", "None"]),
    "ratios": (lambda theta, rng: (theta, np.zeros(3)), ["a pair"]),
    "NaN": (lambda theta, rng: (np.nan * theta, 0.0), ["NaN", "nan"]),
    "NaN ratio": (lambda theta, rng: (theta, np.nan), ["NaN", "nan"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_unusable_proposals_are_refused_at_the_start(fault):
    proposal, words = FAULTS[fault]
    check_message(lambda: fit(proposal), ["hyperparameter_update", *words])


class Opaque(Walk):
    """A callable whose signature cannot be read, like many that are written in C."""

    __signature__ = "unknown"


def test_signature_that_cannot_be_read_is_not_checked():
    assert run(Opaque()).moved.max() > 0.0


def test_error_inside_a_proposal_is_its_own():
    def broken(theta, rng):
        return theta, 1.0 + "a"

    with pytest.raises(TypeError, match="unsupported operand"):
        fit(broken)


def test_a_proposal_is_tried_once_for_each_chain_and_without_a_draw_of_its_generator():
    walk = Walk()
    tried = run(walk, n_chains=2)
    assert walk.n_calls == 2 * (1 + 3 + 6)
    again = run(RandomWalk(0.1), n_chains=2)
    np.testing.assert_array_equal(tried.theta, again.theta)


def test_impossible_way_back_is_no_fault():
    trace = run(lambda theta, rng: (theta + 0.1, -np.inf))
    assert trace.moved.max() == 0.0
    assert trace.sampling[0].n_failures == 0


@pytest.mark.parametrize(
    "fault", [lambda theta: (np.nan * theta, 0.0), lambda theta: (theta, np.nan)]
)
def test_proposals_that_are_no_numbers_are_counted(fault):
    walk = Walk(1 + 3 + 2, fault)  # the trial, the warm-up and two draws
    trace = run(walk)
    assert trace.sampling[0].n_failures == 4
    assert trace.sampling[0].n_covariances == 2
    np.testing.assert_array_equal(trace.theta[0, 2:], np.tile(trace.theta[0, 1], (4, 1)))
    assert np.isfinite(trace.theta).all()


def test_nan_is_rejected_without_an_evaluation():
    def refuse(theta):
        raise AssertionError

    for returned in ((np.array([0.0, np.nan]), 0.0), (np.zeros(2), np.nan)):
        result = metropolis_step(
            refuse, np.ones(2), 0.0, lambda v, r, x=returned: x, np.random.default_rng(0)
        )
        assert not result.moved
        assert result.n_evaluations == 0
        np.testing.assert_array_equal(result.value, np.ones(2))


def test_chains_without_an_accepted_proposal_are_named():
    walk = Walk(1, lambda theta: (np.nan * theta, 0.0))
    message = (
        r"No proposal of the hyperparameters was accepted in 1 of 1 chains; 4 of their proposals "
        r"were NaN, or gave a covariance that is not positive definite"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        fit(walk, MCMCGaussianProcessRegressor)


def test_chains_that_move_are_not_named():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(RandomWalk(0.01), n_draws=20)
    assert not any("No proposal" in str(w.message) for w in caught)
