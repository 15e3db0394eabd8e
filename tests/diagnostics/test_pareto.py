"""Pareto-smoothed importance sampling: against distributions that are known, and ArviZ."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from skgpmcmc.diagnostics._pareto import (
    fit_generalized_pareto,
    largest_good_shape,
    smoothed_log_weights,
)


@pytest.mark.parametrize("shape", [-0.3, 0.2, 0.7, 1.2])
def test_shape_of_a_generalized_pareto_distribution(shape):
    """The estimator's standard error is about (1 + k) / sqrt(n) (Zhang and Stephens 2009)."""
    n, scale = 4000, 2.5
    draws = np.sort(stats.genpareto(shape, scale=scale).rvs(n, random_state=1))
    found, found_scale = fit_generalized_pareto(draws)
    error = max(1.0 + shape, 0.5) / math.sqrt(n)
    assert abs(found - shape) < 4.0 * error + 10.0 * abs(0.5 - shape) / n
    assert abs(found_scale - scale) < 6.0 * scale * error


def test_smoothed_weights_keep_their_order_and_the_body():
    log_weights = np.random.default_rng(2).standard_t(3, (500, 2))
    smoothed, shape = smoothed_log_weights(log_weights)
    np.testing.assert_allclose(np.exp(smoothed).sum(axis=0), 1.0, rtol=1e-12)
    assert np.isfinite(shape).all()
    for row in range(2):
        order = np.argsort(log_weights[:, row])
        assert (np.diff(smoothed[order, row]) >= -1e-12).all()
        body = order[:399]
        shift = smoothed[body, row] - log_weights[body, row]
        np.testing.assert_allclose(shift, shift[0], rtol=0, atol=1e-12)
        assert np.abs(smoothed[order[-20:], row] - log_weights[order[-20:], row] - shift[0]).max()


def test_the_mean_of_weights_of_known_mean():
    """Weights u^-k have the shape k and the mean 1 / (1 - k)."""
    k, n_draws, n_rows = 0.4, 4000, 300
    log_weights = -k * np.log(np.random.default_rng(3).random((n_draws, n_rows)))
    smoothed, shape = smoothed_log_weights(log_weights.copy())
    # What was subtracted to normalise is the logarithm of the sum, and the body keeps it.
    lowest = log_weights.argmin(axis=0), np.arange(n_rows)
    means = np.exp(log_weights[lowest] - smoothed[lowest]) / n_draws
    error = means.std() / math.sqrt(n_rows)
    assert abs(means.mean() - 1.0 / (1.0 - k)) < 4.0 * error
    assert abs(shape.mean() - k) < 0.05


def test_few_draws_are_not_smoothed():
    log_weights = np.random.default_rng(4).standard_normal((20, 3))
    smoothed, shape = smoothed_log_weights(log_weights)
    assert np.isposinf(shape).all()
    difference = smoothed - log_weights
    np.testing.assert_allclose(difference, difference[:1].repeat(20, axis=0), rtol=0, atol=1e-12)


def test_equal_weights():
    smoothed, shape = smoothed_log_weights(np.full((100, 1), -3.0))
    np.testing.assert_allclose(smoothed, -math.log(100.0), rtol=1e-12)
    assert np.isposinf(shape).all()


def test_draws_that_depend_on_each_other_have_a_longer_tail():
    log_weights = np.random.default_rng(5).standard_normal((2000, 1))
    changed = [
        (smoothed_log_weights(log_weights, share)[0] - log_weights).round(9) for share in (1.0, 0.2)
    ]
    n_smoothed = [2000 - np.unique(each, return_counts=True)[1].max() for each in changed]
    # The largest one may stay as it is.
    assert n_smoothed[0] in (134, 135)
    assert n_smoothed[1] in (299, 300)


@pytest.mark.parametrize("relative_ess", [1.0, 0.3])
def test_agrees_with_arviz(relative_ess):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
    if not hasattr(arviz, "psislw"):
        pytest.skip("ArviZ 1.0 has it as an accessor of xarray")
    rng = np.random.default_rng(6)
    for log_weights in (rng.standard_t(2, (1000, 5)), 3.0 * rng.standard_exponential((90, 4))):
        expected, shape = arviz.psislw(log_weights.T.copy(), relative_ess)
        found, found_shape = smoothed_log_weights(log_weights, relative_ess)
        np.testing.assert_allclose(found, expected.T, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found_shape, shape, rtol=1e-10)


def test_good_shapes():
    assert largest_good_shape(10**6) == 0.7
    assert largest_good_shape(100) == pytest.approx(0.5)
    assert largest_good_shape(1) == 0.0
