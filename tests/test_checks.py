"""scikit-learn's own checks, on short chains."""

import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 1, "n_warmup": 10, "n_draws": 20}


@parametrize_with_checks(
    [
        MCMCGaussianProcessRegressor(**SHORT),
        MCMCGaussianProcessRegressor(
            RBF() + WhiteKernel(),
            likelihood="student-t",
            mean="constant",
            normalize_y=True,
            **SHORT,
        ),
        MCMCCoxProcessRegressor(**SHORT),
        MCMCCoxProcessRegressor(mean="zero", representation="surr-site", **SHORT),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
