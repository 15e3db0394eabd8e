"""The mean offset that was integrated out, drawn given f."""

import numpy as np
from problems import LIKELIHOODS, X_SMALL, make_model
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel


def test_it_is_drawn_from_its_conditional():
    """Normal, of precision 1 / tau^2 + 1' K^-1 1: as wide as that, too."""
    prior, kernel = stats.norm(0.3, 0.7), ConstantKernel(1.0) * RBF(1.0)
    priors = {
        "k1__constant_value": stats.lognorm(s=0.5),
        "k2__length_scale": stats.lognorm(s=0.5),
        "mean": prior,
    }
    model = make_model(LIKELIHOODS["poisson"].make(), kernel, priors, collapse_mean=True)
    workspace, rng = model.workspace(), np.random.default_rng(0)
    theta = np.log([1.5, 0.8])
    state = workspace.state_at(theta, rng.standard_normal(len(X_SMALL)))
    covariance = kernel.clone_with_theta(theta)(X_SMALL) + 1e-8 * np.eye(len(X_SMALL))
    weights = np.linalg.solve(covariance, np.ones(len(X_SMALL)))
    precision = 1.0 / prior.var() + weights.sum()
    centre = (prior.mean() / prior.var() + weights @ state.latent) / precision
    draws = np.array([workspace.draw_collapsed_mean(state, rng) for _ in range(4000)])
    standard = (draws[:, 0] - centre) * np.sqrt(precision)
    assert stats.kstest(standard, "norm").pvalue > 1e-6
    normal = stats.multivariate_normal(np.zeros(len(X_SMALL)), covariance)
    expected = [normal.logpdf(state.latent - mean) for mean in draws[:5, 0]]
    np.testing.assert_allclose(draws[:5, 1], expected, rtol=1e-5)
