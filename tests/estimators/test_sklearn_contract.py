"""scikit-learn's own checks, on short chains."""

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 1, "n_warmup": 2, "n_draws": 4}


def as_counts(y):
    """Return numbers that are not whole as counts, and all else as it is."""
    try:
        numbers = np.asarray(y)
        if np.iscomplexobj(numbers):
            return y
        numbers = numbers.astype(float)
    except (TypeError, ValueError):
        return y
    rounded = np.rint(numbers)
    return y if not np.isfinite(numbers).all() or (rounded == numbers).all() else rounded


class OfRoundedTargets(MCMCCoxProcessRegressor):
    """The checks' targets are real numbers; positive ones, as the tags ask for."""

    def fit(self, X, y, sample_weight=None, exposure=None):
        return super().fit(X, as_counts(y), sample_weight, exposure)

    def score(self, X, y, sample_weight=None, exposure=None):
        return super().score(X, as_counts(y), sample_weight, exposure)


def with_variants_later(decorator):
    """Leave checks of counts, in single precision and on memory maps to the second stage."""
    names, cases = decorator.args
    cases = [case if hasattr(case, "values") else pytest.param(*case) for case in cases]
    marked = [
        pytest.param(*case.values, marks=[*case.marks, pytest.mark.second_stage])
        if isinstance(case.values[0], OfRoundedTargets)
        or getattr(case.values[1], "keywords", {}).keys() & {"readonly_memmap", "X_dtype"}
        else case
        for case in cases
    ]
    return pytest.mark.parametrize(names, marked, **decorator.kwargs)


@with_variants_later(
    parametrize_with_checks(
        [
            MCMCGaussianProcessClassifier(**SHORT),
            MCMCGaussianProcessRegressor(**SHORT),
            OfRoundedTargets(**SHORT),
        ]
    )
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.second_stage
@parametrize_with_checks(
    [
        MCMCGaussianProcessClassifier(
            link="probit", mean="constant", representation="post-site", **SHORT
        ),
        MCMCGaussianProcessRegressor(
            RBF() + WhiteKernel(),
            likelihood="student-t",
            mean="constant",
            normalize_y=True,
            **SHORT,
        ),
        OfRoundedTargets(mean="zero", representation="surr-site", **SHORT),
    ]
)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


def test_the_estimator_of_counts_is_a_regressor_of_positive_targets():
    for estimator in (MCMCCoxProcessRegressor(), OfRoundedTargets()):
        assert is_regressor(estimator)
        tags = get_tags(estimator)
        assert tags.estimator_type == "regressor"
        assert tags.regressor_tags is not None
        assert tags.target_tags.positive_only
        assert tags.target_tags.required
