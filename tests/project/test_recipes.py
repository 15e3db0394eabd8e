"""The recipes of CONTRIBUTING.md, followed to the letter in a few lines each."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from joint_distribution import is_invariant, iterations
from problems import LIKELIHOODS, make_model
from scipy import stats
from scipy.special import expit, log_expit
from sklearn.base import RegressorMixin
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.estimators._base import keeps_fitted
from skgpmcmc.estimators._inputs import share_latents
from skgpmcmc.estimators._latent_predictions import LatentPredictions
from skgpmcmc.estimators._training_rows import Observed
from skgpmcmc.likelihoods import Gaussian, Likelihood, NegativeBinomial
from skgpmcmc.priors._data_scaled import DataScaledPriors
from skgpmcmc.representations import REPRESENTATIONS, Representation
from skgpmcmc.representations._base import FactorConditional
from skgpmcmc.updates import RandomWalk

sys.path.insert(0, str(Path(__file__).parents[1] / "likelihoods"))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X = np.linspace(-2.0, 2.0, 14)[:, np.newaxis]
PARAMETERS = {
    "mean": "zero",
    "representation": "prior-white",
    "hyperparameter_update": "slice",
    "n_latent_updates": 2,
    "priors": None,
    "n_chains": 2,
    "n_warmup": 5,
    "n_draws": 6,
    "thin": 1,
    "max_prediction_draws": 20,
    "memory_limit": 1.0,
    "copy_X_train": True,
    "warm_start": False,
    "checkpoint": None,
    "n_jobs": None,
    "random_state": 0,
    "verbose": 0,
}


# ------------------------------------------------------------------ a likelihood


class Geometric(Likelihood):
    """Failures before a success, of mean exp(f)."""

    support = "counts"

    def pointwise(self, latent, params=()):
        return self.y * log_expit(latent) + log_expit(-latent)

    def sample(self, latent, params=(), rng=None):
        return np.random.default_rng(rng).geometric(expit(-latent)) - 1.0


@pytest.mark.parametrize("representation", ["prior-white", "post-site"])
def test_the_likelihood_in_the_joint_distribution_test(representation):
    model = make_model(Geometric([0.0, 3.0, 1.0, 0.0]))
    settings = SamplerSettings(representation, n_latent_updates=1)
    assert is_invariant(model, iterations(settings), seed=0)


def test_the_likelihood_in_the_tests_of_predictions(monkeypatch):
    import test_predictive

    case = Geometric([1, 2]), (), {}, [0, 2, 5, 11]
    monkeypatch.setitem(test_predictive.CASES, "geometric", case)
    for test in (
        test_predictive.test_log_densities_are_those_by_quadrature,
        test_predictive.test_quantiles_have_their_probability,
        test_predictive.test_exceedances_are_the_general_ones,
    ):
        test("geometric")
    test_predictive.test_draws_are_of_the_predictive_distribution("geometric", "formula")


# ------------------------------------------------------------------ a representation


class CentredConditional(FactorConditional):
    def __init__(self, workspace, state):
        super().__init__(workspace, state)
        self.held = state.latent - state.mean
        self.log_density = state.complete_data_log_likelihood()

    def _complete(self, candidate):
        candidate.latent = candidate.mean + self.held
        candidate.whitened = candidate.factor.whiten(self.held)
        candidate.log_likelihood = self.workspace.log_likelihood(candidate.latent, candidate.params)
        return candidate.complete_data_log_likelihood()


class CentredRepresentation(Representation):
    """Hold f - m: the mean offset shifts the latent function as a whole."""

    def condition(self, state, rng):
        return CentredConditional(self.workspace, state)


@pytest.mark.parametrize("update", ["slice", "metropolis"])
def test_the_representation_in_the_joint_distribution_test(update, monkeypatch):
    monkeypatch.setitem(REPRESENTATIONS, "centred", CentredRepresentation)
    model = make_model(LIKELIHOODS["poisson"].make())
    proposal = RandomWalk(0.5) if update == "metropolis" else None
    settings = SamplerSettings("centred", proposal, n_latent_updates=1)
    assert is_invariant(model, iterations(settings), seed=0)


def test_the_representation_has_the_density_of_its_definition(monkeypatch):
    monkeypatch.setitem(REPRESENTATIONS, "centred", CentredRepresentation)
    model = make_model(LIKELIHOODS["poisson"].make())
    chain = Chain.start(model, SamplerSettings("centred"), np.random.default_rng(0))
    conditional = chain.representation.condition(chain.state, np.random.default_rng(1))
    held = chain.state.latent - chain.state.mean

    def definition(theta):
        K = model.kernel.clone_with_theta(theta[:2])(model.X)
        K[np.diag_indices_from(K)] *= 1.0 + model.jitter
        log_prior = stats.multivariate_normal(np.zeros(len(K)), K).logpdf(held)
        return log_prior + model.likelihood.log_likelihood(theta[2] + held)

    theta = chain.state.theta + np.array([0.3, -0.4, 0.5])
    difference = conditional.evaluate(theta) - conditional.log_density
    assert difference == pytest.approx(definition(theta) - definition(chain.state.theta), rel=1e-8)


# ------------------------------------------------------------------ an estimator


class OfOneLikelihood(RegressorMixin, LatentPredictions):
    """Any likelihood of one latent function behind the interface of scikit-learn."""

    def __init__(self, likelihood, kernel=None):
        self.likelihood, self.kernel = likelihood, kernel
        vars(self).update(PARAMETERS)

    @keeps_fitted
    def fit(self, X, y):
        X, y = self._validate_training(X, y)
        self.X_train_, index = share_latents(X, self.kernel)
        likelihood = self.likelihood(y, latent_index=index)
        self._observed = Observed([[likelihood]], np.arange(len(y)), y)
        defaults = DataScaledPriors(
            self.kernel, self.X_train_, 1.0, bounds_are_set=False, likelihood=likelihood
        )
        self._sample(self.kernel, [[likelihood]], defaults=defaults)
        return self

    def predict(self, X):
        X, params = self._validate_new(X), self._params()
        chunks = self._posterior_draws()[0].chunks(X)
        return np.concatenate(
            [self._likelihood.predictive_mean(*moments, params) for _, *moments in chunks]
        )


def test_the_estimator_with_the_likelihood():
    """What is written with `pointwise` alone predicts what a formula does."""
    y = np.random.default_rng(0).poisson(3.0, len(X))
    kernel = ConstantKernel() * RBF()
    model = OfOneLikelihood(Geometric, kernel).fit(X, y)
    ((_, mean, variance),) = model._posterior_draws()[0].chunks(X[:2])
    known = NegativeBinomial(y, dispersion=1.0).predictive_mean(mean, variance)
    np.testing.assert_allclose(model.predict(X[:2]), known, rtol=1e-5)
    assert list(model.summary())[:2] == ["k1__constant_value", "k2__length_scale"]
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(X[:2]), model.predict(X[:2])
    )


def test_the_estimator_asks_the_likelihood_for_priors():
    y = np.random.default_rng(0).poisson(3.0, len(X))
    model = OfOneLikelihood(NegativeBinomial, ConstantKernel() * RBF()).fit(X, y)
    assert model.priors_["dispersion"][0].mean() == 1.0
    assert np.isfinite(model.predict(X[:2])).all()


# ------------------------------------------------------------------ several latent functions


class Centre(Likelihood):
    """Normal observations of mean f, given the logarithm of their variance."""

    log_variance = 0.0

    def condition_on(self, others):
        (self.log_variance,) = others

    def pointwise(self, latent, params=()):
        return stats.norm.logpdf(self.y, latent, np.exp(0.5 * np.asarray(self.log_variance)))


class LogVariance(Likelihood):
    """The same observations as a function of the logarithm of their variance."""

    centre = 0.0

    def condition_on(self, others):
        (self.centre,) = others

    def pointwise(self, latent, params=()):
        return stats.norm.logpdf(self.y, self.centre, np.exp(0.5 * latent))


class Heteroscedastic(OfOneLikelihood):
    """Two latent functions, neither of which is a class."""

    @keeps_fitted
    def fit(self, X, y):
        X, y = self._validate_training(X, y)
        self.X_train_ = X
        group = [Centre(y), LogVariance(y)]
        self._observed = Observed([group], np.arange(len(y)), y)
        defaults = DataScaledPriors(self.kernel, X, 1.0, bounds_are_set=False)
        self._sample(self.kernel, [group], defaults=defaults)
        return self

    def _function_labels(self):
        return ["centre", "log variance"]


def test_latent_functions_that_are_no_classes():
    y = np.random.default_rng(0).normal(size=len(X))
    model = Heteroscedastic(Gaussian, ConstantKernel() * RBF()).fit(X, y)
    names = list(model.summary())
    assert names[0] == "centre: k1__constant_value"
    assert names[-1] == "log variance: complete_data_log_likelihood"
    (rows,) = model._observed.log_likelihoods(model._traces)
    centre, log_variance = (trace.latent for trace in model.trace_)
    expected = stats.norm.logpdf(y, centre, np.exp(0.5 * log_variance))
    np.testing.assert_allclose(rows, expected, rtol=1e-10)
    np.testing.assert_allclose(rows.sum(axis=2), model.trace_[1].log_likelihood, rtol=1e-8)
    assert model.predict_latent(X[:3]).shape == (3, 2)
    data = model.to_arviz()
    assert data["posterior"]["latent"].dims == ("chain", "draw", "function", "point")
    assert data["posterior"]["function"].values.tolist() == ["centre", "log variance"]
