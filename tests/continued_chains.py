"""Chains that are continued must be those that never stopped."""

from unittest.mock import patch

import numpy as np
from problems import PRIORS, X_SMALL, make_model

from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import SoftmaxClass


def assert_same(one, other):
    for name in ("theta", "latent", "log_likelihood", "complete_data_log_likelihood", "moved"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.mean_offset(), other.mean_offset())


# The rounds of one run end after 10, 20, 40 and 42 iterations. The third has a point to go on
# from in its middle: there the last run begins.
def check(model, n_draws=(6, 15, 32, 42), snapshots=10, rounds=10, **options):
    """Compare chains continued several times with one run; snapshots and rounds are short."""

    def run(n, previous=None):
        settings = SamplerSettings(n_warmup=10, n_draws=n, **options)
        return run_chains(model, settings, n_chains=2, random_state=0, previous=previous)

    trace = None
    with (
        patch("skgpmcmc._running._one_chain.SNAPSHOT_INTERVAL", snapshots),
        patch("skgpmcmc._running._rounds.SNAPSHOT_INTERVAL", rounds),
    ):
        for n in n_draws:
            trace = run(n, trace)
        whole = run(n_draws[-1])
    assert_same(whole, trace)
    assert whole.theta[0, -1].tolist() != whole.theta[1, -1].tolist()


def softmax_models(n_classes=3):
    labels = np.arange(len(X_SMALL)) % n_classes
    priors = {name: PRIORS[name] for name in ("k1__constant_value", "k2__length_scale")}
    return [
        make_model(
            SoftmaxClass(np.where(labels == c, 1.0, -1.0), n_classes), priors=priors, mean="zero"
        )
        for c in range(n_classes)
    ]
