"""Default priors."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.priors._data_scaled import FEATURE_FACTOR, ard_scale


@pytest.mark.parametrize("n_columns", [1, 2, 4, 10, 34, 100])
def test_typical_points_are_as_far_apart_in_any_number_of_dimensions(n_columns):
    rng = np.random.default_rng(0)
    scales = ard_scale(n_columns) * np.exp(rng.standard_normal((40_000, n_columns)))
    # The median has a Monte Carlo error below 1 %, Blom's approximation one of up to 8 %.
    assert np.median((2.0 / scales**2).sum(axis=1)) == pytest.approx(2.0, rel=0.12)


@pytest.mark.parametrize(
    ("estimator", "factor"),
    [
        (MCMCGaussianProcessClassifier, FEATURE_FACTOR),
        (MCMCGaussianProcessRegressor, FEATURE_FACTOR),
        (MCMCCoxProcessRegressor, 1.0),
    ],
)
@pytest.mark.parametrize("n_columns", [1, 3])
def test_only_features_of_which_some_may_say_nothing_have_longer_scales(
    estimator, factor, n_columns
):
    X = np.random.default_rng(0).standard_normal((20, n_columns))
    y = np.arange(20) % 2
    model = estimator(n_chains=1, n_warmup=1, n_draws=4, random_state=0)
    with pytest.warns(ConvergenceWarning):
        priors = model.fit(X, y).priors_
    (name,) = (n for n in priors if n.endswith("length_scale"))
    medians = [prior.median() for prior in priors[name]]
    factor = factor if n_columns > 1 else 1.0
    np.testing.assert_allclose(medians, factor * ard_scale(n_columns) * X.std(axis=0))


@pytest.mark.parametrize(
    "estimator",
    [MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor, MCMCCoxProcessRegressor],
)
@pytest.mark.parametrize("length_scale", [1.0, [1.0, 1.0]], ids=["one", "each column"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_column_that_is_constant_up_to_rounding_has_no_scale(estimator, length_scale):
    varying = 1e-3 * np.random.default_rng(0).standard_normal((20, 1))
    y = np.arange(20) % 2
    medians = []
    for constant in (np.full(20, 0.3), np.where(y, 0.3, 0.1 + 0.2), np.full(20, 7e5 / 3.0)):
        kernel = ConstantKernel(1.0) * RBF(length_scale)
        model = estimator(kernel, n_chains=1, n_warmup=1, n_draws=4, random_state=0)
        model.fit(np.column_stack([varying, constant]), y)
        medians.append([prior.median() for prior in model.priors_["k2__length_scale"]])
    for other in medians[1:]:
        np.testing.assert_allclose(other, medians[0], rtol=1e-6)
    if len(medians[0]) == 1:  # the constant column does not count
        np.testing.assert_allclose(medians[0], varying.std(), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_length_scales_of_periodic_kernels_have_no_unit(factor):
    X = factor * np.linspace(0.0, 1.0, 20)[:, np.newaxis]
    kernel = ConstantKernel() * ExpSineSquared(0.7, factor, periodicity_bounds="fixed") * RBF()
    model = MCMCGaussianProcessRegressor(kernel, n_chains=1, n_warmup=1, n_draws=4, random_state=0)
    priors = model.fit(X, np.sin(np.arange(20.0))).priors_
    assert priors["k1__k2__length_scale"][0].median() == pytest.approx(0.7)
    assert priors["k2__length_scale"][0].median() == pytest.approx(X.std())
