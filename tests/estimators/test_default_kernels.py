"""The kernels that estimators take where none is given."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHORT = {"n_chains": 1, "n_warmup": 4, "n_draws": 4, "min_ess": None, "random_state": 0}
SCATTERED = np.random.default_rng(0).normal(size=(20, 2))
MAP = np.stack(np.meshgrid(np.arange(15.0), np.arange(15.0)), axis=-1).reshape(-1, 2)


def correlation(estimator, X, **options):
    """Return the part of the fitted kernel that has length scales."""
    y = np.arange(len(X)) % 2
    kernel = estimator(**SHORT, **options).fit(X, y).kernel_
    product = kernel.k1 if estimator is MCMCGaussianProcessRegressor else kernel
    return product.k2


@pytest.mark.parametrize("estimator", [MCMCGaussianProcessRegressor, MCMCCoxProcessRegressor])
@pytest.mark.parametrize("n_inducing", ["auto", None, 20])
def test_numbers_and_scattered_counts_may_be_rough(estimator, n_inducing):
    found = correlation(estimator, SCATTERED, n_inducing=n_inducing)
    assert type(found) is Matern
    assert found.nu == 2.5
    assert found.length_scale.shape == (2,)


@pytest.mark.filterwarnings("ignore:.*too few for these data")
@pytest.mark.parametrize("estimator", [MCMCGaussianProcessRegressor, MCMCCoxProcessRegressor])
@pytest.mark.parametrize("n_inducing", [8, SCATTERED[:8]], ids=["number", "points"])
def test_inducing_points_are_for_smooth_functions(estimator, n_inducing):
    assert type(correlation(estimator, SCATTERED, n_inducing=n_inducing)) is RBF


def test_maps_have_a_product_of_their_axes():
    assert type(correlation(MCMCCoxProcessRegressor, MAP)) is RBF


def test_classes_are_smooth():
    assert type(correlation(MCMCGaussianProcessClassifier, SCATTERED)) is RBF
