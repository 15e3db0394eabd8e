"""Estimators with scikit-learn's interface."""

from ._classification import MCMCGaussianProcessClassifier
from ._regression import MCMCGaussianProcessRegressor

__all__ = ["MCMCGaussianProcessClassifier", "MCMCGaussianProcessRegressor"]
