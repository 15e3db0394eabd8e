"""Means of the logistic function over normal latent values: the fast sums and their slow twin."""

import numpy as np
import pytest
from rounding import FEW_OPERATIONS
from scipy.special import expit

from skgpmcmc.likelihoods.predictive import _logistic_normal
from skgpmcmc.likelihoods.predictive._logistic_normal import (
    MIXTURE_VARIANCES,
    MIXTURE_WEIGHTS,
    logistic_normal_mean,
    mixture_mean,
)

MEANS = np.r_[0.0, np.geomspace(1e-6, 1e3, 400)]
# Around every scale at which the rule changes, and beyond.
ENDS = np.array([steps.largest_scale for steps in _logistic_normal._STEPS])
SCALES = np.r_[0.0, 1e-8, 0.1, 0.999 * ENDS, ENDS, 1.001 * ENDS, np.geomspace(5.0, 1e6, 12)]


def slow(mean, variance):
    mean, variance = np.broadcast_arrays(mean, variance)
    return mixture_mean(mean.ravel(), variance.ravel(), MIXTURE_VARIANCES, MIXTURE_WEIGHTS).reshape(
        mean.shape
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_fast_sums_equal_the_mixture(sign):
    mean, variance = sign * MEANS, SCALES[:, np.newaxis] ** 2
    found, expected = logistic_normal_mean(mean, variance), slow(mean, variance)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1.2e-13)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 4.0])
def test_small_probabilities_are_relatively_accurate(scale):
    """sigma(f) is exp(f) there, up to a factor 1 + exp(f)."""
    mean = -np.linspace(scale**2 + 36.0, 600.0, 50)
    # exp(f) is largest `scale` standard deviations above the mean: the last step must be beyond.
    allowed = 1e-9 if scale < 2.0 else 1e-3
    expected = np.exp(mean + 0.5 * scale**2)
    np.testing.assert_allclose(logistic_normal_mean(mean, scale**2), expected, rtol=allowed)
    np.testing.assert_allclose(logistic_normal_mean(mean, 0.0), expit(mean), rtol=FEW_OPERATIONS)


def test_values_do_not_depend_on_their_neighbours(monkeypatch):
    rng = np.random.default_rng(0)
    mean, variance = 3.0 * rng.standard_normal(500), rng.chisquare(2.0, 500) ** 2
    expected = logistic_normal_mean(mean, variance)
    monkeypatch.setattr(_logistic_normal, "_BLOCK", 7)
    found = logistic_normal_mean(mean[::-1], variance[::-1])[::-1]
    np.testing.assert_allclose(found, expected, rtol=FEW_OPERATIONS)


def test_shapes_are_broadcast():
    assert logistic_normal_mean(0.5, 2.0).shape == ()
    assert logistic_normal_mean(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4)
    assert logistic_normal_mean(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
    np.testing.assert_array_equal(logistic_normal_mean([-np.inf, np.inf], 1.0), [0.0, 1.0])
