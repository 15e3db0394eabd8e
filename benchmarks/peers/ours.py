"""The public estimators as a user gets them: kernel and priors are the problem's, no more."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import skgpmcmc
from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

from .exchange import Lengths, Problem, Run, serve


def make_estimator(problem: Problem, **options: Any) -> Any:
    """Return the estimator whose posterior is the problem's.

    Bounds that a kernel sets make the priors log-uniform on them.
    """
    kernel = ConstantKernel(1.0, problem.variance) * RBF(
        np.ones(problem.X.shape[1]), problem.length_scale
    )
    if problem.likelihood == "logit":
        return MCMCGaussianProcessClassifier(kernel, **options)
    if problem.likelihood == "gaussian":
        return MCMCGaussianProcessRegressor(kernel, alpha=problem.noise_variance, **options)
    return MCMCCoxProcessRegressor(kernel, priors={"mean": stats.norm(*problem.mean)}, **options)


def sample(problem: Problem, lengths: Lengths, seed: int) -> Run:
    """Fit the estimator, and read what it cost from its trace."""
    fixed = {"min_ess": None, "n_inducing": None, "random_state": seed}
    estimator = make_estimator(problem, **fixed, **lengths.given())
    with warnings.catch_warnings():
        # The table has R-hat.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(problem.X, problem.y)
    trace = estimator.trace_
    theta = trace.theta[..., : trace.layout.n_kernel]
    if problem.mean is not None:
        theta = np.concatenate([theta, trace.mean_offset()[..., np.newaxis]], axis=-1)
    return Run(
        theta=theta,
        complete_data_log_likelihood=trace.complete_data_log_likelihood,
        warmup_seconds=np.array([cost.seconds for cost in trace.warmup]),
        seconds=np.array([cost.seconds for cost in trace.sampling]),
        evaluations=sum(cost.n_covariances for cost in trace.sampling),
        n_warmup=estimator.n_warmup,
        versions={
            "skgpmcmc": skgpmcmc.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    )


if __name__ == "__main__":
    serve(sample)
