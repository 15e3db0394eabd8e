"""Hostile input of every kind ends in a documented error, or in predictions inside their range.

`SKGPMCMC_FUZZ_EXAMPLES=5000 python -m pytest tests/inputs/test_fuzzing.py` runs more examples than
the default.
"""

from __future__ import annotations

import os
import re
import warnings

import numpy as np
import pytest
from rounding import ELEMENTWISE
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

pytestmark = pytest.mark.second_stage

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

N_EXAMPLES = int(os.environ.get("SKGPMCMC_FUZZ_EXAMPLES", "70"))
FUZZED = hypothesis.settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    print_blob=True,
)
NEW_ROWS = 3

exponents = st.sampled_from([0] * 6 + [-150, -20, -3, 3, 20, 150])
seeds = st.integers(0, 2**31 - 1)


@st.composite
def inputs(draw):
    """Rows of 1 to 30, columns of any scale, some constant, some twice; and some new rows."""
    n, n_columns = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(seeds))
    X = rng.standard_normal((n + NEW_ROWS, n_columns))
    for column in range(n_columns):
        kind = draw(st.sampled_from(["plain"] * 3 + ["constant", "whole", "offset", "copy"]))
        if kind == "constant":
            X[:, column] = 1.0
        elif kind == "whole":
            X[:, column] = rng.integers(0, 3, n + NEW_ROWS)
        elif kind == "offset":
            X[:, column] += 1e9
        elif kind == "copy":
            X[:, column] = X[:, 0]
    X = X * 10.0 ** draw(exponents)
    if draw(st.booleans()):
        X[: n // 2] = X[0]
    return X[:n], X[n:], rng


leaves = st.sampled_from(
    [
        kernels.RBF(),
        kernels.RBF(1e-3, "fixed"),
        kernels.Matern(nu=0.5),
        kernels.Matern(nu=1.5),
        kernels.Matern(nu=2.2),
        kernels.RationalQuadratic(),
        kernels.DotProduct(),
        kernels.ConstantKernel(),
        kernels.ConstantKernel(1.0, (0.1, 10.0)),
        kernels.WhiteKernel(),
        kernels.ExpSineSquared(),
    ]
)
trees = st.recursive(
    leaves,
    lambda below: st.one_of(
        st.tuples(below, below).map(lambda pair: pair[0] + pair[1]),
        st.tuples(below, below).map(lambda pair: pair[0] * pair[1]),
        below.map(lambda kernel: kernel**2),
    ),
    max_leaves=4,
)
kernel_or_none = st.one_of(st.none(), trees)
lengths = st.fixed_dictionaries(
    {
        "n_chains": st.integers(1, 2),
        "n_warmup": st.integers(0, 3),
        "n_draws": st.integers(4, 5),
        "thin": st.integers(1, 2),
        "random_state": seeds,
        "mean": st.sampled_from(["zero", "constant"]),
    }
)


def fit(estimator, X, y, **arguments):
    """Fit; None where the input is refused with a message that says what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            return estimator.fit(X, y, **arguments)
    except ValueError as error:  # MissingCapabilityError and InvalidParameterError are some
        if len(str(error)) < 20:
            raise
        return None


def check_nested(inner, outer):
    """Intervals are ordered, and of a higher level wider, but for rounding."""
    slack = 1e-9 * (1.0 + np.abs(outer[np.isfinite(outer)]).max(initial=0.0))
    assert (inner[..., 0] <= inner[..., 1] + slack).all()
    assert (outer[..., 0] <= inner[..., 0] + slack).all()
    assert (inner[..., 1] <= outer[..., 1] + slack).all()


def check_above(model, X, thresholds):
    """Above rising thresholds, from none on to one that nothing is above, is less and less."""
    above = [predictions(lambda c=c: model.predict_exceedance(X, c)) for c in thresholds]
    assert (above[0] == 1.0).all()
    assert (above[-1] == 0.0).all()
    assert (np.diff(above, axis=0) <= 1e-12).all()


def predictions(call):
    """Call with all warnings as errors; give up where a covariance that grows overflows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return call()
        except ValueError as error:
            if not re.search("X cannot be predicted at.* DotProduct", str(error)):
                raise
            hypothesis.reject()


@FUZZED
@hypothesis.given(
    inputs(),
    kernel_or_none,
    lengths,
    st.sampled_from(["logit", "probit"]),
    st.integers(2, 3),
    st.sampled_from(["one_vs_rest", "softmax"]),
)
def test_classifier(data, kernel, length, link, n_classes, multi_class):
    X, new, rng = data
    y = rng.integers(0, n_classes, len(X))
    options = {"link": link, "multi_class": multi_class} if n_classes > 2 else {"link": link}
    model = fit(MCMCGaussianProcessClassifier(kernel, **options, **length), X, y)
    if model is None:
        return
    probability = predictions(lambda: model.predict_proba(new))
    assert ((probability >= 0.0) & (probability <= 1.0)).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=ELEMENTWISE)
    inner, outer = (predictions(lambda v=v: model.predict_interval(new, v)) for v in (0.5, 0.9))
    assert ((outer >= 0.0) & (outer <= 1.0)).all()
    check_nested(inner, outer)
    check_above(model, new, [0.0, 0.2, 0.7, 1.0])
    assert set(model.predict(new)) <= set(model.classes_)
    mean, std = predictions(lambda: model.predict_latent(new, return_std=True))
    assert np.isfinite(mean).all()
    assert (std >= 0.0).all()


@FUZZED
@hypothesis.given(
    inputs(), kernel_or_none, lengths, exponents, st.booleans(),
    st.sampled_from(["gaussian", "student-t"]),
)  # fmt: skip
def test_regressor(data, kernel, length, exponent, normalize_y, likelihood):
    X, new, rng = data
    y = rng.standard_normal(len(X)) * 10.0**exponent
    options = {"normalize_y": normalize_y, "likelihood": likelihood}
    if likelihood == "student-t" and kernel is not None:
        kernel = kernel + kernels.WhiteKernel()  # whose noise it makes heavy-tailed
    model = fit(MCMCGaussianProcessRegressor(kernel, **options, **length), X, y)
    if model is None:
        return
    mean, std = predictions(lambda: model.predict(new, return_std=True))
    assert np.isfinite(mean).all()
    assert (std >= 0.0).all()
    _, covariance = predictions(lambda: model.predict(new, return_cov=True))
    assert covariance.shape == (len(new), len(new))
    inner, outer = (predictions(lambda v=v: model.predict_interval(new, v)) for v in (0.5, 0.9))
    check_nested(inner, outer)
    check_above(model, new, [-np.inf, *np.sort(outer[0]), 1e300, np.inf])
    assert not np.isnan(model.log_predictive_density(new, np.zeros(len(new)))).any()


@FUZZED
@hypothesis.given(
    inputs(), kernel_or_none, lengths, st.integers(0, 10), st.booleans(),
    st.sampled_from(["poisson", "negative-binomial"]),
)  # fmt: skip
def test_cox(data, kernel, length, decades, is_large, likelihood):
    X, new, rng = data
    exposure = 10.0 ** rng.uniform(-decades / 2, decades / 2, len(X))
    y = rng.poisson(1e9 if is_large else exposure.clip(max=1e9), len(X))
    model = MCMCCoxProcessRegressor(kernel, likelihood=likelihood, **length)
    model = fit(model, X, y, exposure=exposure)
    if model is None:
        return
    rate = predictions(lambda: model.predict(new))
    assert (rate >= 0.0).all()
    assert not np.isnan(rate).any()
    inner, outer = (predictions(lambda v=v: model.predict_interval(new, v)) for v in (0.5, 0.9))
    assert (outer >= 0.0).all()
    check_nested(inner, outer)  # also where they end at infinity
    check_above(model, new, [0.0, 1e-5, 1.0, 1e5, 1e300, np.inf])
    counts = predictions(lambda: model.sample_y(new, 2, random_state=0))
    assert (counts >= 0).all()


def test_the_checks_can_fail():
    with pytest.raises(AssertionError):
        check_nested(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0]]))
    assert fit(MCMCGaussianProcessRegressor(n_draws=4), np.array([[np.nan]]), [1.0]) is None
    with pytest.raises(RuntimeWarning):
        predictions(lambda: np.float64(1e308) * 10.0)
