"""Fits of all three estimators, whose draws go to standard output; run by `test_environments`.

python tests/project/environment_fit.py [N_JOBS [BACKEND [MISSING_MODULE ...]]]
"""

import sys
import warnings


def main(n_jobs="1", backend="loky", *missing):
    """Fit without some modules, and print sums of the draws to the last digit."""
    for name in missing:
        sys.modules[name] = None

    import joblib
    import numpy as np

    from skgpmcmc import (
        MCMCCoxProcessRegressor,
        MCMCGaussianProcessClassifier,
        MCMCGaussianProcessRegressor,
    )

    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "The chains have not converged|.*pkg_resources")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    X = np.random.default_rng(0).standard_normal((20, 2))
    signal = X[:, 0] + np.sin(X[:, 1])
    length = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "random_state": 0}
    for estimator, y in (
        (MCMCGaussianProcessClassifier, signal > 0.0),
        (MCMCGaussianProcessRegressor, signal),
        (MCMCCoxProcessRegressor, np.round(np.exp(signal))),
    ):
        with joblib.parallel_config(backend=backend):
            model = estimator(n_jobs=int(n_jobs), **length).fit(X, y)
        print(repr(float(model.trace_.theta.sum())), repr(float(model.predict(X).sum())))
        repr(model.summary())


if __name__ == "__main__":
    main(*sys.argv[1:])
