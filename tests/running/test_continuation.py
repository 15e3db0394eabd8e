"""Chains that are continued give the draws of one long run, bit for bit."""

import numpy as np
import pytest
from continued_chains import assert_same, check, softmax_models
from problems import LIKELIHOODS, make_model
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, RationalQuadratic, WhiteKernel

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains, run_groups
from skgpmcmc._running._one_chain import SNAPSHOT_INTERVAL
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import BernoulliLogit
from skgpmcmc.updates import RandomWalk

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
KERNELS = {
    "ard": ConstantKernel(1.0, (0.1, 10.0)) * RBF([1.0, 1.0, 1.0], (0.1, 10.0)),
    "sum": ConstantKernel(1.0, (0.1, 10.0)) * RBF(1.0, (0.1, 10.0)) + WhiteKernel(0.1, (0.01, 1.0)),
    "generic": RationalQuadratic(1.0, 1.0, (0.1, 10.0), (0.1, 10.0)),
}


def test_chains_continue_with_the_intervals_that_fits_have():
    model = LatentGaussianModel(KERNELS["ard"], X, BernoulliLogit(Y))
    check(model, (30, 75, 160, 210), SNAPSHOT_INTERVAL, SNAPSHOT_INTERVAL)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("thin", [1, 3])
def test_continued_chains_are_the_same(name, thin):
    check(LatentGaussianModel(KERNELS[name], X, BernoulliLogit(Y)), thin=thin)


@pytest.mark.parametrize(
    "representation", ["fixed", "prior-white", "post-taylor", "surr-taylor", 1.0]
)
@pytest.mark.parametrize("collapse", [True, False])
def test_every_representation_continues(representation, collapse):
    model = make_model(LIKELIHOODS["poisson"].make(), collapse_mean=collapse)
    check(model, representation=representation)


@pytest.mark.parametrize("options", [{"representation": "marginal"}, {"proposal": RandomWalk(0.3)}])
def test_exact_latents_and_proposals_continue(options):
    check(make_model(LIKELIHOODS["gaussian-noise"].make()), **options)


def test_approximate_warm_up_does_not_touch_the_draws_kept():
    model = make_model(LIKELIHOODS["logit"].make())
    check(model, n_approximate=5)


@pytest.mark.parametrize("representation", ["surr-site", "fixed"])
@pytest.mark.parametrize("name", KERNELS)
def test_rescaling_continues(name, representation):
    model = LatentGaussianModel(KERNELS[name], X, BernoulliLogit(Y))
    check(model, representation=representation, n_latent_updates=12, whitened_updates=True)


def test_covariance_that_cannot_be_built_afresh_leaves_the_chain_as_it_was(monkeypatch):
    model = LatentGaussianModel(KERNELS["ard"], X, BernoulliLogit(Y))
    settings = SamplerSettings(n_warmup=20, n_draws=70)
    whole = run_chains(model, settings, n_chains=1, random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr("skgpmcmc._covariance._base.Covariance.rebuild", lambda self, current: None)
        undisturbed = run_chains(model, settings, n_chains=1, random_state=0)
    assert undisturbed.snapshots == [None]
    # The same numbers to rounding, as long as the chains have not diverged.
    np.testing.assert_allclose(undisturbed.theta[0, :20], whole.theta[0, :20], rtol=1e-6)
    # A matrix is overwritten only by a rebuild that succeeds.
    chain = Chain.start(model, settings, np.random.default_rng(0))
    chain.iterate()
    K = chain.state.factor.colour_columns(np.asfortranarray(np.eye(len(X))))
    U = np.tril(chain.state.pseudo.lower).copy()
    assert chain.workspace.covariance.rebuild(chain.state.factor) is not None
    assert chain.representation._factory.build(
        chain.state.factor, chain.state.sites.precision, chain.state.pseudo
    )
    np.testing.assert_array_equal(
        chain.state.factor.colour_columns(np.asfortranarray(np.eye(len(X)))), K
    )
    np.testing.assert_array_equal(np.tril(chain.state.pseudo.lower), U)


def test_coupled_chains_continue():
    groups = [softmax_models()]

    def run(n, previous=None):
        settings = SamplerSettings(n_warmup=20, n_draws=n)
        return run_groups(groups, settings, n_chains=2, random_state=0, previous=previous)

    continued = run(90, run(60))[0]
    for one, other in zip(run(90)[0], continued, strict=True):
        assert_same(one, other)


def test_rounding_errors_of_the_past_would_show(monkeypatch):
    model = LatentGaussianModel(KERNELS["ard"], X, BernoulliLogit(Y))
    # Many points to go on from within a round: where a round begins all is built afresh.
    intervals = {"snapshots": 5, "rounds": 50}
    n_draws = range(12, 60, 5)
    check(model, n_draws, **intervals)
    monkeypatch.setattr("skgpmcmc._covariance.StationaryCovariance.forget", lambda self: None)
    with pytest.raises(AssertionError, match="not equal"):
        check(model, n_draws, **intervals)
