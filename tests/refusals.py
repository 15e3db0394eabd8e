"""What the tests of refused parameters and refused data share."""

import numpy as np
import pytest

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4, "random_state": 0}
X = np.array([[0.0, 1.0], [1.5, 0.3], [2.0, 2.0], [3.1, 0.7], [4.0, 1.9], [5.2, 0.1]])
TARGETS = {
    MCMCGaussianProcessClassifier: np.array([0, 1, 0, 1, 1, 0]),
    MCMCGaussianProcessRegressor: np.array([0.1, 0.5, 0.2, 0.9, 1.0, 0.3]),
    MCMCCoxProcessRegressor: np.array([0, 3, 1, 2, 5, 0]),
}
ESTIMATORS = list(TARGETS)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)


def check_message(action, words):
    """Run something that must be refused, by a message with the given words."""
    with pytest.raises((ValueError, TypeError)) as error:
        action()
    missing = [word for word in words if word not in str(error.value)]
    assert not missing, f"{missing} not in: {error.value}"
