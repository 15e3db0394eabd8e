"""The benchmark of forecasts: what is known at an origin, coverage, and the simple methods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from benchmarks._forecast_methods import (
    Forecast,
    Task,
    all_years,
    fourier_means,
    fourier_negative_binomial,
    fourier_poisson,
    last_year,
    most_likely_dispersion,
    negative_binomial,
    state_space,
)
from benchmarks._forecast_series import MADE, N_CHOOSE, SERIES
from benchmarks.bench_forecasts import coverage, make_task, read_rows, run_missing, tasks
from benchmarks.tables.sources import MissingSourceError

SIMPLE = [last_year, all_years, fourier_poisson, fourier_negative_binomial]


@pytest.fixture
def task():
    return make_task(MADE, MADE.origins[0], {})


def test_a_task_knows_only_rows_before_those_it_forecasts():
    for series in (MADE, SERIES["van drivers"]):
        t, _, y, _ = series.rows
        for origin in series.origins:
            task = make_task(series, origin, {})
            assert task.t.max() < task.new_t.min()
            assert len(task.new_y) == series.horizon
            assert np.array_equal(
                np.concatenate([task.y, task.new_y]), y[: origin + series.horizon]
            )
        assert origin + series.horizon == len(y)
        assert len(t) == len(y)
        assert series.origins[0] >= 1.5 * series.period


def test_the_kernel_is_chosen_at_the_first_origins():
    chosen, reported = (
        {origin for _, origin, _, _, _ in tasks([MADE], choose_only)}
        for choose_only in (True, False)
    )
    assert sorted(chosen) + sorted(reported) == MADE.origins
    assert len(chosen) == N_CHOOSE


@pytest.mark.parametrize("rate", [0.3, 7.0, 2000.0])
def test_coverage_is_exact_for_the_right_distribution(rate):
    """Over draws from the forecast it is the level, also of small counts."""
    y = stats.poisson(rate).rvs(20_000, random_state=0)
    below, up_to = stats.poisson(rate).cdf(y - 1), stats.poisson(rate).cdf(y)
    for level in (0.5, 0.9):
        shares = coverage(Forecast(np.zeros(len(y)), below, up_to), level)
        # A share is between 0 and 1, so its variance is at most that of a coin.
        assert abs(shares - level) < 4.0 * np.sqrt(level * (1.0 - level) / len(y))
    other = stats.poisson(5.0 * rate)
    off = Forecast(np.zeros(len(y)), other.cdf(y - 1), other.cdf(y))
    assert coverage(off, 0.5) < 0.46


def test_coverage_of_counts_without_probability():
    for at, inside in ((0.4, 1.0), (0.99, 0.0)):
        assert coverage(Forecast(np.zeros(1), np.array([at]), np.array([at])), 0.5) == inside


@pytest.mark.parametrize("method", [*SIMPLE, state_space])
def test_forecasts_are_distributions(method, task):
    if method is state_space:
        pytest.importorskip("statsmodels")
    # Only the counts that are judged differ, so the distributions are the same.
    one, next_one = (
        method(task._replace(new_y=np.full(len(task.new_y), count))) for count in (9, 10)
    )
    assert_allclose(one.up_to, next_one.below, rtol=1e-12)
    assert_allclose(np.exp(one.log_probability), one.up_to - one.below, atol=1e-9)
    assert (one.below > 0.0).all()
    assert (next_one.up_to < 1.0).all()


def test_naive_forecasts_follow_the_season():
    """Counts that repeat themselves exactly, in months twice as long in the second year."""
    pattern = np.array([20, 30, 50, 10] * 3)
    t = np.arange(36)[:, None] / 12.0
    exposure = np.repeat([1.0, 2.0, 1.0], 12)
    y = np.tile(pattern, 3) * exposure.astype(int)
    task = Task(t[:24], exposure[:24], y[:24], t[24:], exposure[24:], y[24:], 12, {})
    for method in (last_year, all_years):
        probability = np.exp(method(task).log_probability)
        # As much as the most likely count of a Poisson distribution has.
        assert_allclose(probability, stats.poisson(y[24:]).pmf(y[24:]), rtol=0.1)


def test_fourier_regression_finds_the_rate():
    t = (np.arange(240)[:, None] + 0.5) / 12.0
    exposure = np.where(np.arange(240) % 2, 1.0, 3.0)
    rate = np.exp(3.0 + 0.02 * t[:, 0] + 0.5 * np.cos(2.0 * np.pi * t[:, 0])) * exposure
    y = np.random.default_rng(0).poisson(rate)
    task = Task(t[:228], exposure[:228], y[:228], t[228:], exposure[228:], y[228:], 12, {})
    known, new = fourier_means(task)
    assert_allclose(known, rate[:228], rtol=0.1)
    assert_allclose(new, rate[228:], rtol=0.1)


def test_dispersion_is_the_most_likely_one():
    mean = np.full(5000, 20.0)
    y = negative_binomial(mean, 0.3).rvs(random_state=np.random.default_rng(0))[:, 0]
    # The variance of the variance of these counts gives a standard error of about 0.008.
    assert abs(most_likely_dispersion(y, mean) - 0.3) < 0.04


def test_runs_go_on_where_they_ended(tmp_path):
    calls = []

    def method(task):
        calls.append(len(task.y))
        return last_year(task)

    def missing(task):
        calls.append("missing")
        raise MissingSourceError("pip install it")

    wanted = [
        (MADE, origin, "report", name, function)
        for origin in MADE.origins[:2]
        for name, function in (("naive", method), ("absent", missing))
    ]
    rows = []
    run_missing(wanted, {}, rows, lambda row: None)
    assert calls == [MADE.origins[0], "missing", MADE.origins[1]]
    run_missing(wanted[::2], {}, rows, lambda row: None)
    assert len(calls) == 3
    assert len(rows) == 2
    assert read_rows(tmp_path / "none.csv") == []
