"""The representations agree on posteriors given counts (slow; `-m slow -s` prints)."""

import numpy as np
import pytest
import test_agreement
from scipy import stats
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from test_agreement import Problem, by_sites, integrated

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc.likelihoods import Binomial, NegativeBinomial

N_ROWS = 60


def inputs(rng):
    X = rng.uniform(-3.0, 3.0, (N_ROWS, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]


def binomial():
    rng = np.random.default_rng(11)
    X, latent = inputs(rng)
    trials = rng.integers(1, 9, N_ROWS)
    likelihood = Binomial(rng.binomial(trials, expit(2.0 * latent)), trials)
    kernel = ConstantKernel(1.0, (0.1, 100.0)) * RBF(np.ones(2), (0.3, 10.0))
    priors = {"mean": stats.norm(0.0, 2.0)}
    return [LatentGaussianModel(kernel, X, likelihood, priors=priors, mean="constant")]


def negative_binomial():
    rng = np.random.default_rng(12)
    X, latent = inputs(rng)
    exposure = rng.uniform(0.5, 4.0, N_ROWS)
    rate = exposure * np.exp(1.0 + latent) * rng.gamma(2.0, 0.5, N_ROWS)
    likelihood = NegativeBinomial(rng.poisson(rate), exposure)
    kernel = ConstantKernel(1.0, (0.1, 10.0)) * RBF(np.ones(2), (0.3, 10.0))
    priors = {"mean": stats.norm(1.0, 2.0), "dispersion": stats.gamma(0.5, scale=2.0)}
    return [LatentGaussianModel(kernel, X, likelihood, priors=priors, mean="constant")]


PROBLEMS = {
    "binomial": Problem(binomial, integrated("collapsed", 2000, 1500) + by_sites(1500, 10)),
    "negative binomial": Problem(
        negative_binomial, integrated("collapsed", 2000, 1500) + by_sites(1500, 10)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_representations_agree(name, monkeypatch):
    monkeypatch.setitem(test_agreement.PROBLEMS, name, PROBLEMS[name])
    test_agreement.test_representations_agree(name)
