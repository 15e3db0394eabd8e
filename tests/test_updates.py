"""Updates against exact distributions, and the faults that these tests would show.

Every invariance test starts from independent exact draws of the target and applies one
step to each. The results are again independent draws of it, so that p-values are exact.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from problems import LIKELIHOODS, make_model
from scipy import stats
from scipy.special import ndtr

from skgpmcmc._sampler import Chain, SamplerSettings
from skgpmcmc.updates import (
    RandomWalk,
    WidthAdapter,
    elliptical_slice_step,
    metropolis_step,
    slice_step,
)

#: False-alarm rate of one test: about 2e-4 for all of this file.
ALPHA = 1e-6
N_DRAWS = 4000
N_DRAWS_OF_CONTROLS = 12_000
HOLE = (-0.3, 0.5)


class Target(NamedTuple):
    """A distribution on the line, known exactly."""

    log_density: Callable
    draw: Callable
    cdf: Callable
    lower: float = -math.inf
    upper: float = math.inf


def _beta_log_density(x):
    if not 0.0 < x < 1.0:
        return -math.inf
    return -0.3 * math.log(x) - 0.2 * math.log1p(-x)


def _log_gamma_log_density(x):
    return 0.5 * x - math.exp(x) if x < 700.0 else -math.inf


def _bimodal_log_density(x):
    a = math.log(0.3 / 0.3) - 0.5 * ((x + 2.0) / 0.3) ** 2
    b = math.log(0.7 / 1.0) - 0.5 * (x - 2.0) ** 2
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def _draw_bimodal(rng, n):
    first = rng.random(n) < 0.3
    return np.where(first, -2.0, 2.0) + np.where(first, 0.3, 1.0) * rng.standard_normal(n)


def _draw_holed(rng, n):
    draws = rng.standard_normal(4 * n)
    return draws[(draws < HOLE[0]) | (draws > HOLE[1])][:n]


def _holed_cdf(x):
    below, above = ndtr(HOLE)
    return (ndtr(np.minimum(x, HOLE[0])) + np.maximum(ndtr(x) - above, 0.0)) / (1 - above + below)


def _rising_log_density(x):
    return x if -1.0 < x < 1.0 else -math.inf


_LOW, _HIGH = math.exp(-1.0), math.exp(1.0)

TARGETS = {
    "normal": Target(lambda x: -0.5 * x * x, lambda rng, n: rng.standard_normal(n), ndtr),
    "exponential": Target(
        lambda x: -x if x >= 0.0 else -math.inf,
        lambda rng, n: rng.standard_exponential(n),
        stats.expon.cdf,
        lower=0.0,
    ),
    "beta": Target(
        _beta_log_density,
        lambda rng, n: rng.beta(0.7, 0.8, n),
        stats.beta(0.7, 0.8).cdf,
        lower=0.0,
        upper=1.0,
    ),
    "log-gamma": Target(
        _log_gamma_log_density,
        lambda rng, n: np.log(rng.standard_gamma(0.5, n)),
        lambda x: stats.gamma.cdf(np.exp(x), 0.5),
    ),
    "bimodal": Target(
        _bimodal_log_density,
        _draw_bimodal,
        lambda x: 0.3 * ndtr((x + 2.0) / 0.3) + 0.7 * ndtr(x - 2.0),
    ),
    "nan-hole": Target(
        lambda x: math.nan if HOLE[0] <= x <= HOLE[1] else -0.5 * x * x,
        _draw_holed,
        _holed_cdf,
    ),
    # The density jumps to 0 at both ends, and the update is not told where.
    "infinite-outside": Target(
        _rising_log_density,
        lambda rng, n: np.log(rng.uniform(_LOW, _HIGH, n)),
        lambda x: (np.exp(np.clip(x, -1.0, 1.0)) - _LOW) / (_HIGH - _LOW),
    ),
}


def _two_p_values(before, after, cdf):
    """Return p-values of: the target has not changed; moves up are as likely as down.

    The second holds because each update here is reversible, and is sensitive to
    brackets that are narrow.
    """
    n_up, n_down = int((after > before).sum()), int((after < before).sum())
    sign_test = stats.binomtest(n_up, n_up + n_down).pvalue if n_up + n_down else 1.0
    return stats.kstest(after, cdf).pvalue, sign_test


def invariance_p_value(update, target, n_draws=N_DRAWS, seed=0):
    """Apply one update to each of many exact draws; Bonferroni over two tests."""
    rng = np.random.default_rng(seed)
    before = target.draw(rng, n_draws)
    after = np.array([update(target, x, rng) for x in before.tolist()])
    return min(1.0, 2.0 * min(_two_p_values(before, after, target.cdf)))


def slice_update(width, max_steps_out=0):
    """Return the package's update; it must not leave the support it is told."""

    def update(target, x, rng):
        def log_density(value):
            assert target.lower <= value <= target.upper
            return target.log_density(value)

        return slice_step(
            log_density,
            x,
            target.log_density(x),
            width,
            rng,
            lower=target.lower,
            upper=target.upper,
            max_steps_out=max_steps_out,
        ).value

    return update


def metropolis_update(proposal):
    def update(target, x, rng):
        value = np.array([x])
        step = metropolis_step(
            lambda v: target.log_density(float(v[0])), value, target.log_density(x), proposal, rng
        )
        return float(step.value[0])

    return update


# Slice sampling with one part replaced by a faulty one.


def unit_bracket(target, level, x, width, rng):
    left = x - width * rng.random()
    return max(left, target.lower), min(left + width, target.upper)


def bracket_from_clipped_end(target, level, x, width, rng):
    left = max(x - width * rng.random(), target.lower)
    return left, min(left + width, target.upper)


def stepped_out(split, n_steps=4):
    """Return a bracket whose steps to the left and right `split` decides."""

    def bracket(target, level, x, width, rng):
        left = x - width * rng.random()
        right = left + width
        n_left, n_right = split(target, left, width, n_steps, rng)
        while n_left and target.log_density(left) > level:
            left, n_left = left - width, n_left - 1
        n_right = n_steps if n_right is None else n_right
        while n_right and target.log_density(right) > level:
            right, n_right = right + width, n_right - 1
        return max(left, target.lower), min(right, target.upper)

    return bracket


def split_at_half(target, left, width, n_steps, rng):
    return n_steps // 2, n_steps - n_steps // 2


def split_by_support(target, left, width, n_steps, rng):
    useful = max(0, math.ceil((left - target.lower) / width))
    n_left = min(int(rng.integers(0, n_steps + 1)), useful)
    return n_left, n_steps - n_left


def all_above(proposed, level):
    return proposed > level


def not_below(proposed, level):
    return not proposed < level


def towards_value(left, right, x, y):
    return (y, right) if y < x else (left, y)


def away_from_value(left, right, x, y):
    return (left, y) if y < x else (y, right)


def towards_middle(left, right, x, y):
    return (y, right) if y < 0.5 * (left + right) else (left, y)


def variant(width, bracket=unit_bracket, accepts=all_above, shrink=towards_value):
    def update(target, x, rng):
        level = target.log_density(x) - rng.standard_exponential()
        left, right = bracket(target, level, x, width, rng)
        for _ in range(100):
            y = left + (right - left) * rng.random()
            if accepts(target.log_density(y), level):
                return y
            left, right = shrink(left, right, x, y)
        return x

    return update
