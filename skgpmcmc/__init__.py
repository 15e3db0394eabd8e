"""Gaussian processes whose covariance hyperparameters are integrated out, not optimised."""

from .estimators import MCMCGaussianProcessClassifier
from .exceptions import MissingCapabilityError

__version__ = "0.1.0"

__all__ = ["MCMCGaussianProcessClassifier", "MissingCapabilityError", "__version__"]
