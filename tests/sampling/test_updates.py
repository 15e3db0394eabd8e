"""Updates: invariance, what they report, and that their loops end."""

import math

import numpy as np
import pytest
from one_step import (
    ALPHA,
    HOLE,
    N_DRAWS,
    TARGETS,
    DriftingWalk,
    invariance_p_value,
    metropolis_update,
    slice_update,
    symmetry_p_value,
)
from problems import LIKELIHOODS, make_model
from rounding import FEW_OPERATIONS
from scipy import stats
from scipy.special import ndtr

from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.updates import (
    RandomWalk,
    WidthAdapter,
    elliptical_slice_step,
    metropolis_step,
    slice_step,
)


@pytest.mark.parametrize("max_steps_out", [0, 1, 3, 10])
@pytest.mark.parametrize("width", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", TARGETS)
def test_slice_step_leaves_target_invariant(name, width, max_steps_out):
    assert invariance_p_value(slice_update(width, max_steps_out), TARGETS[name]) > ALPHA


@pytest.mark.parametrize(
    "proposal", [RandomWalk(0.01), RandomWalk(1.0), RandomWalk(100.0), DriftingWalk()]
)
@pytest.mark.parametrize("name", TARGETS)
def test_metropolis_step_leaves_target_invariant(name, proposal):
    assert invariance_p_value(metropolis_update(proposal), TARGETS[name]) > ALPHA


@pytest.mark.parametrize("update", [slice_update(2.0), metropolis_update(RandomWalk(1.0))])
def test_nan_is_never_entered(update):
    target, rng = TARGETS["nan-hole"], np.random.default_rng(1)
    for x in target.draw(rng, 2000).tolist():
        assert not HOLE[0] <= update(target, x, rng) <= HOLE[1]


class Recorder:
    """A function that remembers where it was evaluated."""

    def __init__(self, function):
        self.function = function
        self.points = []

    def __call__(self, point):
        self.points.append(point)
        return self.function(point)


@pytest.mark.parametrize("max_steps_out", [0, 3])
@pytest.mark.parametrize("width", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", TARGETS)
def test_slice_result_says_what_happened(name, width, max_steps_out):
    target, rng = TARGETS[name], np.random.default_rng(2)
    for x in target.draw(rng, 50).tolist():
        density = Recorder(target.log_density)
        result = slice_step(
            density,
            x,
            target.log_density(x),
            width,
            rng,
            lower=target.lower,
            upper=target.upper,
            max_steps_out=max_steps_out,
        )
        assert result.moved
        assert result.n_evaluations == len(density.points)
        assert result.value == density.points[-1] != x
        assert result.log_density == target.log_density(result.value)


def test_metropolis_result_says_what_happened():
    rng = np.random.default_rng(3)
    value = np.array([0.3, -0.2])
    results = []
    for _ in range(200):
        density = Recorder(lambda x: -0.5 * float(x @ x))
        result = metropolis_step(density, value, density.function(value), RandomWalk(2.0), rng)
        assert result.n_evaluations == len(density.points) == 1
        assert result.value is (density.points[0] if result.moved else value)
        assert result.log_density == density.function(result.value)
        results.append(result.moved)
    assert {True, False} == set(results)


@pytest.mark.parametrize("nothing", [math.nan, -math.inf])
@pytest.mark.parametrize(("options", "most"), [({}, 100), ({"max_shrinks": 7}, 7)])
def test_slice_step_gives_up_where_nothing_is_above_the_level(nothing, options, most):
    density = Recorder(lambda x: nothing)
    result = slice_step(density, 0.4, 1.5, 2.0, np.random.default_rng(4), **options)
    assert result == (0.4, 1.5, most, False)
    assert len(density.points) == most


def test_slice_bracket_shrinks_to_the_current_point():
    density = Recorder(lambda x: math.nan)
    slice_step(density, 0.4, 1.5, 2.0, np.random.default_rng(5))
    distances = np.abs(np.array(density.points) - 0.4)
    assert distances[-1] < 1e-6
    below = [x for x in density.points if x < 0.4]
    above = [x for x in density.points if x > 0.4]
    assert below == sorted(below)
    assert above == sorted(above, reverse=True)


def test_slice_step_gives_up_after_stepping_out_too():
    density = Recorder(lambda x: math.nan)
    result = slice_step(density, 0.4, 1.5, 2.0, np.random.default_rng(6), max_steps_out=8)
    assert (result.value, result.log_density, result.moved) == (0.4, 1.5, False)
    assert 101 <= result.n_evaluations == len(density.points) <= 102


@pytest.mark.parametrize("level", [math.nan, math.inf])
def test_slice_step_ends_where_the_current_density_is_not_finite(level):
    result = slice_step(lambda x: -x * x, 0.4, level, 2.0, np.random.default_rng(7))
    assert not result.moved
    assert result.value == 0.4


@pytest.mark.parametrize("max_steps_out", [1, 3, 10])
def test_steps_out_use_their_budget_and_no_more(max_steps_out):
    rng = np.random.default_rng(8)
    values = []
    for _ in range(2000):
        result = slice_step(lambda x: 0.0, 5.0, 0.0, 0.5, rng, max_steps_out=max_steps_out)
        assert result.n_evaluations == max_steps_out + 1
        values.append(result.value)
    # The bracket lies uniformly at random around 5, and the proposal uniformly in it.
    width = 0.5 * (max_steps_out + 1)
    assert stats.kstest(values, stats.triang(0.5, 5.0 - width, 2.0 * width).cdf).pvalue > ALPHA


def test_steps_out_end_at_the_support():
    rng = np.random.default_rng(9)
    for _ in range(100):
        density = Recorder(lambda x: 0.0)
        slice_step(density, 0.5, 0.0, 0.1, rng, lower=0.0, upper=1.0, max_steps_out=1000)
        assert len(density.points) <= 11
        assert all(0.0 <= x <= 1.0 for x in density.points)


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (np.zeros(2), "array"),
        (None, "None"),
        ((np.zeros(1), 0.0), r"shape \(1,\)"),
        ((0.0, 0.0), r"shape \(\)"),
        ((np.zeros(2), "0,5"), "0,5"),
    ],
)
def test_malformed_proposal_says_what_to_return(returned, got):
    with pytest.raises(ValueError, match=r"^proposal .* must return a pair.*" + got):
        metropolis_step(lambda x: 0.0, np.zeros(2), 0.0, lambda x, rng: returned, None)


def test_proposal_may_edit_what_it_gets():
    def edit(value, rng):
        value += 1.0
        return value, 0.0

    start = np.zeros(2)
    result = metropolis_step(lambda x: float(x.sum()), start, 0.0, edit, np.random.default_rng(0))
    assert result.moved
    np.testing.assert_array_equal(start, 0.0)
    np.testing.assert_array_equal(result.value, 1.0)


def test_metropolis_step_uses_the_proposal_ratio():
    rng = np.random.default_rng(10)

    def n_accepted(log_ratio, proposed=0.0):
        steps = (
            metropolis_step(
                lambda x: proposed, np.zeros(1), 0.0, lambda v, r: (v + 1.0, log_ratio), rng
            )
            for _ in range(4000)
        )
        return sum(step.moved for step in steps)

    # A symmetric proposal of equal density, and one made up for by its ratio.
    assert n_accepted(0.0) == 4000
    assert n_accepted(2.0, proposed=-2.0) == 4000
    assert stats.binomtest(n_accepted(math.log(0.3)), 4000, 0.3).pvalue > ALPHA
    assert n_accepted(math.nan) == n_accepted(0.0, proposed=math.nan) == 0


# Two latent variables with a Gaussian prior; the posterior has two curved modes, and a hole.

PRIOR_FACTOR = np.array([[1.0, 0.0], [0.5, 0.8]])


def _curved_log_likelihood(f):
    first, second = f[..., 0], f[..., 1]
    value = -0.5 * ((first * second - 1.0) / 0.3) ** 2 - np.log1p(np.exp(-2.0 * first))
    return np.where((first > 0.9) & (first < 1.2), math.nan, value)


def _draw_curved(rng, n):
    draws = rng.standard_normal((60 * n, 2)) @ PRIOR_FACTOR.T
    # The likelihood is at most 1; a comparison with NaN is False.
    return draws[np.log(rng.random(len(draws))) < _curved_log_likelihood(draws)][:n]


def test_elliptical_slice_step_leaves_posterior_invariant():
    rng = np.random.default_rng(11)
    before, fresh = _draw_curved(rng, N_DRAWS), _draw_curved(rng, N_DRAWS)
    assert len(before) == len(fresh) == N_DRAWS
    after = np.empty_like(before)
    for i, f in enumerate(before):
        auxiliary = PRIOR_FACTOR @ rng.standard_normal(2)
        level = float(_curved_log_likelihood(f))
        after[i] = elliptical_slice_step(_curved_log_likelihood, f, level, auxiliary, rng).deviation
    assert not np.isnan(_curved_log_likelihood(after)).any()
    p_values = []
    for statistic in (
        lambda f: f[:, 0],
        lambda f: f[:, 1],
        lambda f: f.sum(axis=1),
        _curved_log_likelihood,
    ):
        old, new = statistic(before), statistic(after)
        p_values.append(stats.ks_2samp(new, statistic(fresh), method="asymp").pvalue)
        p_values.append(symmetry_p_value(new - old))
    assert len(p_values) * min(p_values) > ALPHA


def test_elliptical_result_says_what_happened():
    rng = np.random.default_rng(12)
    n_shrunk = 0
    for f in _draw_curved(rng, 100):
        auxiliary = PRIOR_FACTOR @ rng.standard_normal(2)
        inputs = f.copy(), auxiliary.copy()
        likelihood = Recorder(_curved_log_likelihood)
        result = elliptical_slice_step(likelihood, f, float(likelihood.function(f)), auxiliary, rng)
        assert result.moved
        assert result.n_evaluations == len(likelihood.points)
        n_shrunk += result.n_evaluations > 1
        np.testing.assert_array_equal(result.deviation, likelihood.points[-1])
        assert result.log_likelihood == _curved_log_likelihood(result.deviation)
        turned = f * result.cosine + auxiliary * result.sine
        np.testing.assert_array_equal(result.deviation, turned)
        assert result.cosine**2 + result.sine**2 == pytest.approx(1.0, abs=FEW_OPERATIONS)
        np.testing.assert_array_equal((f, auxiliary), inputs)
    assert n_shrunk > 10


@pytest.mark.parametrize("nothing", [math.nan, -math.inf])
@pytest.mark.parametrize(("options", "most"), [({}, 100), ({"max_shrinks": 7}, 7)])
def test_elliptical_slice_step_gives_up_where_nothing_is_above_the_level(nothing, options, most):
    rng = np.random.default_rng(13)
    f, auxiliary = np.array([0.5, -1.0]), np.array([2.0, 0.3])
    likelihood = Recorder(lambda x: nothing)
    result = elliptical_slice_step(likelihood, f, 1.5, auxiliary, rng, **options)
    np.testing.assert_array_equal(result.deviation, [0.5, -1.0])
    assert result[1:] == (1.5, 1.0, 0.0, most, False)
    assert len(likelihood.points) == most
    if most == 100:  # the ellipse has shrunk to the current point
        np.testing.assert_allclose(likelihood.points[-1], f, atol=1e-6)


# Widths of brackets.


def _sweep(adapter, value, rng):
    width = float(adapter.widths[0])
    return slice_step(lambda x: -0.5 * x * x, value, -0.5 * value**2, width, rng).value


@pytest.mark.parametrize("start", [0.1, 1.0, 100.0])
def test_width_adapts_to_a_normal_target(start):
    # Seven standard deviations; the last window's mean move has a relative error of 6 %.
    rng = np.random.default_rng(14)
    adapter, value = WidthAdapter([start]), 0.0
    for _ in range(700):
        new = _sweep(adapter, value, rng)
        adapter.record(np.array([new - value]))
        value = new
    assert 4.5 < adapter.widths[0] < 10.5


def test_width_follows_the_moves_of_each_window():
    adapter = WidthAdapter([1.0, 1.0])
    for _ in range(9):
        adapter.record(np.array([3.0, -0.5]))
    np.testing.assert_array_equal(adapter.widths, [1.0, 1.0])
    adapter.record(np.array([3.0, -0.5]))
    np.testing.assert_allclose(adapter.widths, [24.0, 4.0])
    # The next window is twice as long, and the first is forgotten.
    for _ in range(19):
        adapter.record(np.array([-0.25, 6.0]))
    np.testing.assert_allclose(adapter.widths, [24.0, 4.0])
    adapter.record(np.array([-0.25, 6.0]))
    np.testing.assert_allclose(adapter.widths, [2.0, 48.0])


def test_width_does_not_collapse_while_the_chain_stands_still():
    adapter = WidthAdapter([5.0])
    for _ in range(10 + 20 + 40):
        adapter.record(np.zeros(1))
    assert adapter.widths[0] == pytest.approx(0.05)
    for _ in range(80):
        adapter.record(np.array([1.0]))
    assert adapter.widths[0] == pytest.approx(8.0)


def test_widths_are_frozen_after_warm_up():
    model = make_model(LIKELIHOODS["logit"].make())
    chain = Chain.start(model, SamplerSettings("prior-white"), np.random.default_rng(15))
    initial = chain.widths.widths.copy()
    for _ in range(30):
        chain.iterate(adapt=True)
    adapted = chain.widths.widths.copy()
    assert (adapted != initial).all()
    for _ in range(100):
        chain.iterate()
    np.testing.assert_array_equal(chain.widths.widths, adapted)


def test_initial_widths_are_not_modified():
    initial = np.array([2.0])
    adapter = WidthAdapter(initial)
    for _ in range(10):
        adapter.record(np.array([1.0]))
    assert initial[0] == 2.0


# The random walk.


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, [1.0, 0.0], [0.5, math.nan]])
def test_random_walk_refuses_scale(scale):
    with pytest.raises(ValueError, match="scale must be positive and finite; got"):
        RandomWalk(scale)


def test_random_walk_repr():
    assert repr(RandomWalk(0.25)) == "RandomWalk(0.25)"
    assert repr(RandomWalk([0.25, 2.0])) == "RandomWalk([0.25, 2.0])"


@pytest.mark.parametrize("scale", [0.25, [0.25, 4.0]])
def test_random_walk_proposes_normal_moves(scale):
    rng, walk, value = np.random.default_rng(16), RandomWalk(scale), np.array([3.0, -2.0])
    proposals = [walk(value, rng) for _ in range(2000)]
    assert all(log_ratio == 0.0 for _, log_ratio in proposals)
    moves = (np.array([proposed for proposed, _ in proposals]) - value) / np.asarray(scale)
    for column in moves.T:
        assert stats.kstest(column, ndtr).pvalue > ALPHA
    np.testing.assert_array_equal(value, [3.0, -2.0])
