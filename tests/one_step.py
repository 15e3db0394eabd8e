"""One step from exact draws: the distributions, and the test of invariance.

Independent exact draws of a target are each updated once. If the update leaves the
target invariant, the results are again independent draws of it, so that p-values
are exact.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import ndtr

from skgpmcmc.updates import elliptical_slice_step, metropolis_step, slice_step

#: False-alarm rate of one test; fewer than 200 use it.
ALPHA = 1e-6
N_DRAWS = 4000
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


def _islands_log_density(x):
    return 0.0 if 0.0 <= x <= 0.05 or 0.45 <= x <= 0.6 else math.nan


def _draw_islands(rng, n):
    draws = rng.uniform(0.0, 0.2, n)
    return np.where(draws < 0.05, draws, draws + 0.4)


def _islands_cdf(x):
    return (np.clip(x, 0.0, 0.05) + np.clip(x, 0.45, 0.6) - 0.45) / 0.2


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
    # Two intervals; which one is reached first depends on how the bracket shrinks.
    "islands": Target(_islands_log_density, _draw_islands, _islands_cdf, lower=0.0, upper=1.0),
    # The density jumps to 0 at both ends, and the update is not told where.
    "infinite-outside": Target(
        lambda x: 0.0 if 0.0 < x < 1.0 else -math.inf,
        lambda rng, n: rng.random(n),
        lambda x: np.clip(x, 0.0, 1.0),
    ),
}


def symmetry_p_value(differences):
    """Test whether moves are symmetric about 0, as those of a reversible update are.

    It is sensitive to brackets too narrow to change the distribution much in one step.
    """
    moved = differences[differences != 0.0]
    return stats.wilcoxon(moved).pvalue if moved.size else 1.0


def invariance_p_value(update, target, n_draws=N_DRAWS):
    """Apply one update to each of many exact draws; Bonferroni over two tests."""
    rng = np.random.default_rng(0)
    before = target.draw(rng, n_draws)
    after = np.array([update(target, x, rng) for x in before.tolist()])
    p_values = stats.kstest(after, target.cdf).pvalue, symmetry_p_value(after - before)
    return min(1.0, 2.0 * min(p_values))


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


def elliptical_update(target, x, rng):
    """Update a scalar whose prior is standard normal; the log density is the likelihood's."""
    result = elliptical_slice_step(
        lambda deviation: target.log_density(float(deviation[0])),
        np.array([x]),
        target.log_density(x),
        rng.standard_normal(1),
        rng,
    )
    return float(result.deviation[0])


class DriftingWalk:
    """A proposal that prefers one direction, so that its ratio matters."""

    def __call__(self, value, rng):
        shift = 0.5 + rng.standard_normal(value.shape)
        backward, forward = -0.5 * (shift + 0.5) ** 2, -0.5 * (shift - 0.5) ** 2
        return value + shift, float((backward - forward).sum())
