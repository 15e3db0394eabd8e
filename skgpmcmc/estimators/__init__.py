"""Estimators with scikit-learn's interface."""

from ._classification import MCMCGaussianProcessClassifier
from ._cox import MCMCCoxProcessRegressor
from ._regression import MCMCGaussianProcessRegressor

__all__ = [
    "MCMCCoxProcessRegressor",
    "MCMCGaussianProcessClassifier",
    "MCMCGaussianProcessRegressor",
]
