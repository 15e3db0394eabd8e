"""Gaussian processes whose covariance hyperparameters are integrated out, not optimised."""

from .estimators import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from .exceptions import MissingCapabilityError

__version__ = "0.1.0"

__all__ = [
    "MCMCCoxProcessRegressor",
    "MCMCGaussianProcessClassifier",
    "MCMCGaussianProcessRegressor",
    "MissingCapabilityError",
    "__version__",
]
