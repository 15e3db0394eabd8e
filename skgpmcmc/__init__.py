"""Gaussian processes whose covariance hyperparameters are integrated out, not optimised."""

from ._version import __version__
from .comparison import compare_models
from .estimators import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from .exceptions import ChainDiedError, MissingCapabilityError

__all__ = [
    "ChainDiedError",
    "MCMCCoxProcessRegressor",
    "MCMCGaussianProcessClassifier",
    "MCMCGaussianProcessRegressor",
    "MissingCapabilityError",
    "__version__",
    "compare_models",
]
