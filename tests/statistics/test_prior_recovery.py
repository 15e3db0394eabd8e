"""Without data the hyperparameters follow their priors."""

from __future__ import annotations

import numpy as np
import pytest
from rotation import one_in
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.diagnostics import ess_bulk
from skgpmcmc.likelihoods import Likelihood, Sites
from skgpmcmc.updates import RandomWalk

ALPHA = 1e-6  # false-alarm rate of one test of one hyperparameter
X = np.array([[0.0, 0.3], [0.7, 0.1]])

#: One frozen distribution for each element of theta, in its order.
DISTRIBUTIONS = [
    stats.lognorm(s=0.8, scale=1.5),
    stats.loguniform(0.1, 5.0),
    stats.gamma(3.0, scale=0.5),
    stats.halfnorm(scale=0.7),
    stats.norm(1.0, 2.0),
    stats.invgamma(3.0, scale=2.0),
    stats.uniform(0.2, 1.8),
]
N_KERNEL = 4  # the mean offset and the likelihood's parameters have no bounds
PRIORS = {
    "k1__k1__constant_value": DISTRIBUTIONS[0],
    "k1__k2__length_scale": DISTRIBUTIONS[1:3],
    "k2__noise_level": DISTRIBUTIONS[3],
    "mean": DISTRIBUTIONS[4],
    "shape": DISTRIBUTIONS[5],
    "rate": DISTRIBUTIONS[6],
}


class NoData(Likelihood):
    """A constant likelihood with two parameters of its own."""

    parameters = ("shape", "rate")

    def pointwise(self, latent, params=()):
        return np.zeros(np.shape(latent))

    def fit_sites(self, prior_mean, prior_variance, params=()):
        # What the default finds by quadrature in milliseconds.
        return Sites(np.zeros(self.n_latent), np.zeros(self.n_latent))


def make_model(bounds=(1e-5, 1e5)):
    kernel = ConstantKernel(1.0, bounds) * RBF([1.0, 1.0], bounds) + WhiteKernel(1.0, bounds)
    return LatentGaussianModel(kernel, X, NoData([0.0, 0.0]), priors=PRIORS, mean="constant")


def long_chain(model, representation):
    """Return draws of one chain on the natural scale, thinned until nearly independent."""
    settings = SamplerSettings(
        representation,
        n_warmup=50,
        n_draws=400,
        thin=10,
        n_latent_updates=1,
        width=10.0,
        adapt_widths=False,
    )
    trace = run_chains(model, settings, n_chains=1, random_state=0)
    for column in trace.theta[0].T:
        assert ess_bulk(column) > 0.8 * column.size
    return trace.layout.natural(trace.theta[0])


def short_chains(model, representation, **options):
    """Return the ends of independent chains, each from a draw of the prior."""
    settings = SamplerSettings(representation, n_latent_updates=1, **options)
    rng, workspace = np.random.default_rng(0), model.workspace()
    ends = []
    for _ in range(400):
        chain = Chain(workspace, settings, rng, workspace.initial_state(rng))
        chain.iterate()
        chain.iterate()
        ends.append(chain.state.theta)
    return model.layout.natural(np.array(ends))


def assert_follow_priors(values, bounds=(0.0, np.inf)):
    """Test independent draws, shape (n, n_parameters), against their distributions."""
    for i, (column, prior) in enumerate(zip(values.T, DISTRIBUTIONS, strict=True)):
        low, high = prior.cdf(bounds) if i < N_KERNEL else (0.0, 1.0)
        probability = (prior.cdf(column) - low) / (high - low)
        assert probability.min() >= 0.0, i
        assert probability.max() <= 1.0, i
        assert stats.kstest(probability, "uniform").pvalue > ALPHA, i


@pytest.mark.parametrize("bounds", [(1e-5, 1e5), (0.4, 1.7)], ids=["", "cut"])
@pytest.mark.second_stage
def test_long_chain_follows_priors(bounds):
    assert_follow_priors(long_chain(make_model(bounds), "prior-white"), bounds)


SHORT_CHAINS = [
    ("fixed", {}),
    ("fixed", {"proposal": RandomWalk(0.5)}),
    ("surr-site", {}),
    (1.0, {"condition_each_scalar": False}),
    (1.0, {"width": 0.8, "max_steps_out": 3}),
]


# These hold f, or surrogate data drawn with a noise that depends on theta: theta moves
# little in each iteration.
@pytest.mark.parametrize(
    ("representation", "options"),
    one_in(2, SHORT_CHAINS),
    ids=["fixed", "fixed-metropolis", "surr-site", "1.0-sweep", "1.0-stepping-out"],
)
def test_short_chains_follow_priors(representation, options):
    assert_follow_priors(short_chains(make_model(), representation, **options))


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (2.0, 30.0), (-1.0, 0.01)])
def test_default_sites_of_a_constant_likelihood_are_flat(mean, variance):
    sites = Likelihood.fit_sites(NoData([0.0, 0.0]), mean, variance, (1.0, 1.0))
    np.testing.assert_allclose(sites.precision * variance, 0.0, atol=1e-10)
    np.testing.assert_allclose(sites.shift * np.sqrt(variance), 0.0, atol=1e-9)
