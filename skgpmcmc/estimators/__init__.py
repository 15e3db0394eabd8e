"""Estimators with scikit-learn's interface."""

from ._classification import MCMCGaussianProcessClassifier

__all__ = ["MCMCGaussianProcessClassifier"]
