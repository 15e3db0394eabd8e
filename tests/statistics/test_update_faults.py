"""Faulty updates, which the invariance test must find: without them it proves little."""

import math

import numpy as np
import pytest
from one_step import (
    ALPHA,
    TARGETS,
    DriftingWalk,
    Target,
    elliptical_update,
    invariance_p_value,
    metropolis_update,
    slice_update,
)
from scipy.special import ndtr

N_DRAWS = 12_000


def unit_bracket(target, level, x, width, rng):
    left = x - width * rng.random()
    return max(left, target.lower), min(left + width, target.upper)


def bracket_from_clipped_end(target, level, x, width, rng):
    left = max(x - width * rng.random(), target.lower)
    return left, min(left + width, target.upper)


def stepped_out(split):
    """Return a bracket with four steps out, of which `split` gives the left end its share.

    It also says how many the right end gets, given how many the left has used.
    """

    def bracket(target, level, x, width, rng):
        left = x - width * rng.random()
        right = left + width
        share, rest = split(target, left, width, rng)
        used = 0
        while used < share and target.log_density(left) > level:
            left, used = left - width, used + 1
        for _ in range(rest(used)):
            if not target.log_density(right) > level:
                break
            right += width
        return max(left, target.lower), min(right, target.upper)

    return bracket


def split_at_random(target, left, width, rng):
    share = int(rng.integers(0, 5))
    return share, lambda used: 4 - share


def split_at_half(target, left, width, rng):
    return 2, lambda used: 2


def split_left_first(target, left, width, rng):
    return 4, lambda used: 4 - used


def split_by_support(target, left, width, rng):
    useful = max(0, math.ceil((left - target.lower) / width))
    share = min(int(rng.integers(0, 5)), useful)
    return share, lambda used: 4 - share


def is_above(proposed, level):
    return proposed > level


def is_not_below(proposed, level):
    return not proposed < level


def towards_value(left, right, x, y):
    return (y, right) if y < x else (left, y)


def away_from_value(left, right, x, y):
    return (left, y) if y < x else (y, right)


def towards_middle(left, right, x, y):
    return (y, right) if y < 0.5 * (left + right) else (left, y)


def variant(width, bracket=unit_bracket, accepts=is_above, shrink=towards_value):
    def update(target, x, rng):
        level = target.log_density(x) - rng.standard_exponential()
        left, right = bracket(target, level, x, width, rng)
        for _ in range(30):
            y = left + (right - left) * rng.random()
            if accepts(target.log_density(y), level):
                return y
            left, right = shrink(left, right, x, y)
        return x

    return update


def without_ratio(value, rng):
    return DriftingWalk()(value, rng)[0], 0.0


def with_inverse_ratio(value, rng):
    proposed, log_ratio = DriftingWalk()(value, rng)
    return proposed, -log_ratio


def elliptical_variant(first_angle, middle):
    """Elliptical slice sampling whose bracket starts anywhere and shrinks to `middle`."""

    def update(target, x, rng):
        level = target.log_density(x) - rng.standard_exponential()
        auxiliary = rng.standard_normal()
        left = first_angle(rng)
        right = left + 2.0 * math.pi
        for _ in range(30):
            angle = left + (right - left) * rng.random()
            y = x * math.cos(angle) + auxiliary * math.sin(angle)
            if target.log_density(y) > level:
                return y
            left, right = (angle, right) if angle < middle else (left, angle)
        return x

    return update


def bracket_anywhere(rng):
    return 2.0 * math.pi * rng.random()


def bracket_from_zero(rng):
    return 0.0


ISLANDS_ON_NORMAL = ((-1.3, -1.2), (-0.9, -0.8), (0.5, math.inf))


def _draw_normal_islands(rng, n):
    draws = rng.standard_normal(5 * n)
    inside = [(low < draws) & (draws < high) for low, high in ISLANDS_ON_NORMAL]
    return draws[np.logical_or.reduce(inside)][:n]


def _normal_islands_cdf(x):
    masses = [ndtr(np.clip(x, a, b)) - ndtr(a) for a, b in ISLANDS_ON_NORMAL]
    return sum(masses) / sum(ndtr(b) - ndtr(a) for a, b in ISLANDS_ON_NORMAL)


NORMAL_ISLANDS = Target(
    lambda x: 0.0 if any(a < x < b for a, b in ISLANDS_ON_NORMAL) else math.nan,
    _draw_normal_islands,
    _normal_islands_cdf,
)

#: Fault -> target, the right update, the faulty one.
FAULTS = {
    "clipped-first": (
        TARGETS["exponential"],
        slice_update(1.0),
        variant(1.0, bracket_from_clipped_end),
    ),
    "nan-accepted": (
        TARGETS["nan-hole"],
        slice_update(1.0),
        variant(1.0, accepts=is_not_below),
    ),
    "steps-split-at-half": (
        TARGETS["infinite-outside"],
        slice_update(0.2, 4),
        variant(0.2, stepped_out(split_at_half)),
    ),
    "steps-left-first": (
        TARGETS["normal"],
        slice_update(0.5, 4),
        variant(0.5, stepped_out(split_left_first)),
    ),
    "steps-split-by-support": (
        TARGETS["exponential"],
        slice_update(0.3, 4),
        variant(0.3, stepped_out(split_by_support)),
    ),
    "shrinks-away": (
        TARGETS["islands"],
        slice_update(1.0),
        variant(1.0, shrink=away_from_value),
    ),
    "shrinks-to-middle": (
        TARGETS["islands"],
        slice_update(100.0),
        variant(100.0, shrink=towards_middle),
    ),
    "ratio-forgotten": (
        TARGETS["normal"],
        metropolis_update(DriftingWalk()),
        metropolis_update(without_ratio),
    ),
    "ratio-inverted": (
        TARGETS["normal"],
        metropolis_update(DriftingWalk()),
        metropolis_update(with_inverse_ratio),
    ),
    "angles-without-zero": (
        NORMAL_ISLANDS,
        elliptical_update,
        elliptical_variant(bracket_anywhere, 0.0),
    ),
    "angles-shrink-to-middle": (
        NORMAL_ISLANDS,
        elliptical_update,
        elliptical_variant(bracket_from_zero, math.pi),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_detected_and_its_cure_is_not(fault):
    target, right, faulty = FAULTS[fault]
    assert invariance_p_value(faulty, target, N_DRAWS) < ALPHA
    assert invariance_p_value(right, target, N_DRAWS) > ALPHA


@pytest.mark.parametrize("bracket", [unit_bracket, stepped_out(split_at_random)])
@pytest.mark.parametrize("name", ["normal", "exponential", "islands", "nan-hole"])
def test_variant_without_a_fault_passes(name, bracket):
    assert invariance_p_value(variant(0.5, bracket), TARGETS[name], N_DRAWS) > ALPHA
