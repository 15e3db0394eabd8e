"""What scikit-learn offers beside: the hyperparameters that maximise the evidence."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from .exchange import Problem

LIKELIHOODS = ("logit", "gaussian")


def fit_seconds(problem: Problem) -> float:
    """Return the CPU seconds of a fit with scikit-learn's default settings, one thread."""
    kernel = ConstantKernel(1.0, problem.variance) * RBF(
        np.ones(problem.X.shape[1]), problem.length_scale
    )
    if problem.likelihood == "logit":
        model = GaussianProcessClassifier(kernel)
    else:
        model = GaussianProcessRegressor(kernel, alpha=problem.noise_variance)
    with threadpool_limits(1), warnings.catch_warnings():
        # Some length scales end at a bound.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        model.fit(problem.X, problem.y)
        return time.process_time() - start
