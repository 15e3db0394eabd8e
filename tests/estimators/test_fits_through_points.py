"""Estimators whose latent functions are sampled through inducing points: what works as before."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.core import LowRankStructure
from skgpmcmc.estimators._reports import _functions_at_points

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
N, M = 25, 6
X = RNG.uniform(-2.0, 2.0, (N, 2))
F = np.sin(2.0 * X[:, 0])
COUNTS = RNG.poisson(np.exp(F))


class ThroughPoints:
    """The first distinct rows are the points."""

    def _sample(self, kernel, groups, structure=None, **options):
        super()._sample(kernel, groups, LowRankStructure(self.X_train_[:M]), **options)


class Regressor(ThroughPoints, MCMCGaussianProcessRegressor):
    pass


class Classifier(ThroughPoints, MCMCGaussianProcessClassifier):
    pass


class Cox(ThroughPoints, MCMCCoxProcessRegressor):
    pass


SHORT = {"n_chains": 2, "n_warmup": 6, "n_draws": 5, "random_state": 0}
FITS = {
    "numbers": (Regressor(normalize_y=True, **SHORT), F + 0.1 * RNG.standard_normal(N)),
    "labels": (Classifier(**SHORT), np.where(F > 0.0, "up", "down")),
    "one-vs-rest": (Classifier(**SHORT), np.digitize(F, [-0.5, 0.5])),
    "softmax": (Classifier(multi_class="softmax", **SHORT), np.digitize(F, [-0.5, 0.5])),
    "counts": (Cox(**SHORT), COUNTS),
}


@pytest.fixture(params=FITS, scope="module")
def fitted(request):
    estimator, y = FITS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y), y


def test_predictions(fitted):
    model, y = fitted
    assert np.isfinite(model.score(X, y))
    mean, covariance = model.predict_latent(X, return_cov=True)
    assert mean.shape[0] == N
    std = model.predict_latent(X, return_std=True)[1]
    diagonal = np.einsum("ii...->i...", covariance)
    np.testing.assert_allclose(std**2, diagonal, rtol=1e-8)
    assert model.sample_y(X, 3, random_state=0).shape == (N, 3)
    assert "latent[worst]" in str(model.summary())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_latent(X), model.predict_latent(X))
    np.testing.assert_array_equal(again._structure.points, model._structure.points)


def test_arviz(fitted):
    pytest.importorskip("arviz")
    model, _ = fitted
    data = model.to_arviz()
    values = data["log_likelihood"]["y"].values
    assert values.shape[:2] == (2, 5)
    assert values.shape[-1] == N
    assert np.isfinite(values).all()
    assert data["posterior"]["latent"].sizes["point"] == M
    np.testing.assert_array_equal(data["constant_data"]["X_train"], model._structure.points)
    functions = _functions_at_points(model)
    for number, draws in enumerate(functions):
        prior = np.zeros(10)
        for one in draws:
            for d in range(10):
                kernel = model._latent_kernel.clone_with_theta(one.theta[d, : one._kernel.n_dims])
                K = kernel(one._structure.points)
                K[np.diag_indices(M)] *= 1.0 + 1e-8
                normal = stats.multivariate_normal(np.full(M, one._mean[d]), K, allow_singular=True)
                prior[d] += normal.logpdf(one._values[d])
        several = len(functions) > 1
        lp, rows = data["sample_stats"]["lp"].values, values
        lp, rows = (lp[..., number], rows[..., number, :]) if several else (lp, rows)
        np.testing.assert_allclose(lp.reshape(-1), rows.sum(axis=-1).reshape(-1) + prior, rtol=1e-5)


def test_rows_of_numbers():
    estimator, y = FITS["numbers"]
    model = estimator.fit(X, y)
    (found,) = model._observed.log_densities(model._traces, _functions_at_points(model))
    ((draws,),) = _functions_at_points(model)
    scaled = (y - model._y_mean) / model._y_scale
    for d in range(10):
        mean, variance = (part[model._observed.places()] for part in draws.at_rows(d))
        noise = np.exp(draws.theta[d, -1])
        expected = stats.norm.logpdf(scaled, mean, np.sqrt(variance + noise + model.alpha))
        np.testing.assert_allclose(
            found.reshape(10, N)[d], expected - np.log(model._y_scale), rtol=1e-6
        )


def test_rows_of_classes_that_share_a_likelihood():
    estimator, y = FITS["softmax"]
    model = estimator.fit(X, y)
    (found,) = model._observed.log_densities(model._traces, _functions_at_points(model))
    (functions,) = _functions_at_points(model)
    normal = np.random.default_rng(1).standard_normal((20000, 3, 1))
    moments = np.array([one.at_rows(3) for one in functions])
    mean, variance = np.moveaxis(moments[..., model._observed.places()], 1, 0)
    f = np.exp(mean + np.sqrt(variance) * normal)
    each = f[:, y, np.arange(N)] / f.sum(axis=1)
    error = each.std(axis=0) / np.sqrt(len(each))
    probability = np.exp(found.reshape(10, N)[3])
    assert (np.abs(probability - each.mean(axis=0)) < 5.0 * error + 2e-3).all()
