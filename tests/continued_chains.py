"""Chains that are continued must be those that never stopped."""

import numpy as np
from problems import PRIORS, X_SMALL, make_model

from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import SoftmaxClass


def assert_same(one, other):
    for name in ("theta", "latent", "log_likelihood", "complete_data_log_likelihood", "moved"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.mean_offset(), other.mean_offset())


# The rounds of one run end after 50, 100, 200 and 210 iterations. The third has a point to go on
# from in its middle: there the last run begins.
def check(model, n_draws=(30, 75, 160, 210), **options):
    def run(n, previous=None):
        settings = SamplerSettings(n_warmup=20, n_draws=n, **options)
        return run_chains(model, settings, n_chains=2, random_state=0, previous=previous)

    trace = None
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
