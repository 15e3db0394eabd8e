"""Default priors."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.estimators._defaults import FEATURE_FACTOR, ard_scale


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
