"""Fits that stop when enough is drawn: when, that nothing else changes, and what is said."""

import contextlib
import functools
import itertools
import os
import signal
import warnings
from collections import deque

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    diagnostics,
)
from skgpmcmc._running import _progress, _stopping
from skgpmcmc._running._progress import Bar, Lines, Report
from skgpmcmc._running._stopping import (
    Convergence,
    StoppingRule,
    convergence,
    have_settled,
    warm_up_lengths,
)
from skgpmcmc._sampling._latent_functions import LatentFunctionsGibbs
from skgpmcmc.estimators import _slow_fit
from skgpmcmc.estimators._slow_fit import SlowFit

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(25, 1))
LATENT = np.sin(2.0 * X[:, 0])
TARGETS = {
    MCMCGaussianProcessRegressor: LATENT + 0.3 * RNG.normal(size=25),
    MCMCGaussianProcessClassifier: LATENT + 0.5 * RNG.normal(size=25) > 0.0,
    MCMCCoxProcessRegressor: RNG.poisson(np.exp(LATENT)),
}
each_estimator = pytest.mark.parametrize("estimator", TARGETS)
SEED = {"random_state": 0, "n_chains": 2}


def fitted(estimator=MCMCGaussianProcessRegressor, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator(**SEED | options).fit(X, TARGETS[estimator])


@functools.cache
def reference(is_settled, min_ess):
    """The fit that others with these options must equal, under the same `settled`."""
    return fitted(n_warmup=160, min_ess=min_ess, max_rhat=None)


def assert_same_draws(model, whole):
    for name in ("theta", "latent", "log_likelihood"):
        draws = getattr(model.trace_, name)
        np.testing.assert_array_equal(draws, getattr(whole.trace_, name)[:, : draws.shape[1]])


@pytest.fixture
def own_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def settled(monkeypatch):
    """Let the first warm-up suffice, or never: how two short chains agree is chance."""
    return lambda is_: monkeypatch.setattr(_stopping, "_SETTLED_RHAT", np.inf if is_ else 0.0)


# ------------------------------------------------------------------ the rule


@pytest.mark.parametrize(
    ("rule", "rhat", "ess", "is_met"),
    [
        (StoppingRule(100.0, 1.05), 1.05, 100.0, True),
        (StoppingRule(100.0, 1.05), 1.051, 400.0, False),
        (StoppingRule(100.0, 1.05), 1.0, 99.0, False),
        (StoppingRule(100.0, None), np.inf, 100.0, True),
        (StoppingRule(100.0, None), 1.0, np.nan, False),
        (StoppingRule(10.0, 1.05), np.nan, 100.0, False),
        (StoppingRule(), 1.05, 100.0, True),
        (StoppingRule(), 1.05, 99.0, False),
    ],
)
def test_rule(rule, rhat, ess, is_met):
    assert rule.is_met(Convergence(50, rhat, ess)) is is_met


@each_estimator
def test_worst_quantity_is_that_of_the_diagnostics(estimator):
    """Also latent variables: the worst of 25, one after the other."""
    trace = fitted(estimator, n_warmup=20, n_draws=40, min_ess=None).trace_
    scalars = np.concatenate(
        [trace.theta, trace.latent, trace.complete_data_log_likelihood[..., np.newaxis]], axis=2
    )
    each = np.moveaxis(scalars, 2, 0)
    found = convergence([[trace]])
    assert found.n_draws == 40
    assert found.rhat == max(diagnostics.rhat(draws) for draws in each)
    assert found.ess == min(diagnostics.ess_bulk(draws) for draws in each)


def test_a_quantity_that_never_moved_is_not_enough():
    trace = fitted(n_warmup=20, n_draws=40, min_ess=None).trace_
    trace.theta[..., 0] = 1.0
    found = convergence([[trace]])
    assert np.isnan(found.rhat)
    assert np.isnan(found.ess)


def test_settled_chains_are_at_the_same_place():
    near = RNG.normal(size=(4, 50, 2))
    assert have_settled(list(near))
    assert not have_settled(list(near + np.array([[0.0], [0.0], [0.0], [3.0]])[..., np.newaxis]))
    assert not have_settled(list(np.ones((4, 50, 2))))
    assert have_settled([np.empty((50, 0))] * 4)


@pytest.mark.parametrize("n", [0, 1, 149, 150, 250, 251, 1000, 12345])
def test_warm_ups_have_all_iterations_together(n):
    lengths = warm_up_lengths(n)
    assert sum(lengths) == n
    assert min(lengths) >= min(n, 50)


# ------------------------------------------------------------------ fits


@each_estimator
def test_fit_stops_when_enough_is_drawn(estimator):
    model = fitted(estimator, n_warmup=60, min_ess=40, max_rhat=1.2)
    assert model.converged_
    assert model.n_draws_ == model.trace_.n_draws < 1000
    assert model.n_warmup_ == 60
    assert model.n_iter_ == 60 + model.n_draws_
    rows = model.diagnostics_.values()
    assert min(row["ess_bulk"] for row in rows) >= 40
    assert max(row["rhat"] for row in rows) <= 1.2
    assert_same_draws(model, fitted(estimator, n_warmup=60, n_draws=model.n_draws_, min_ess=None))


@pytest.mark.parametrize(("n_jobs", "backend"), [(2, "loky"), (-1, "loky"), (2, "threading")])
@pytest.mark.parametrize("is_settled", [False, True])
def test_draws_are_the_same_in_parallel(settled, n_jobs, backend, is_settled):
    settled(is_settled)
    options = {"n_warmup": 160, "min_ess": 30, "max_rhat": None}
    whole = reference(is_settled, 30)
    assert whole.n_warmup_ == (100 if is_settled else 160)
    with joblib.parallel_config(backend=backend):
        model = fitted(n_jobs=n_jobs, **options)
    assert (model.n_warmup_, model.n_draws_) == (whole.n_warmup_, whole.n_draws_)
    assert_same_draws(model, whole)


def test_no_more_draws_than_n_draws_and_one_warning():
    model = MCMCGaussianProcessRegressor(n_warmup=10, n_draws=60, min_ess=1e4, **SEED)
    with pytest.warns(ConvergenceWarning, match=r"should be at least 10000") as caught:
        model.fit(X, TARGETS[type(model)])
    assert len(caught) == 1
    assert model.n_draws_ == 60
    assert not model.converged_


def test_fixed_length():
    model = fitted(n_warmup=160, n_draws=120, min_ess=None, max_rhat=10.0)
    assert (model.n_warmup_, model.n_draws_) == (160, 120)


def test_no_limit_of_rhat():
    model = fitted(n_warmup=10, min_ess=5, max_rhat=None)
    assert model.n_draws_ == 50


@each_estimator
def test_warm_start_goes_on_to_more_effective_draws(estimator):
    options = {"n_warmup": 60, "max_rhat": None}
    whole = fitted(estimator, min_ess=120, **options)
    model = fitted(estimator, min_ess=20, warm_start=True, **options)
    assert model.n_draws_ < whole.n_draws_
    model.set_params(min_ess=120).fit(X, TARGETS[estimator])
    assert model.n_draws_ == whole.n_draws_
    assert_same_draws(model, whole)
    with pytest.warns(UserWarning, match=r"without a larger min_ess \(now 120\).* adds no draws"):
        model.fit(X, TARGETS[estimator])
    assert model.n_draws_ == whole.n_draws_


@pytest.mark.parametrize("is_settled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("moment", [40, 130, 180, 290, 335, 390])
def test_interrupted_fit_goes_on_from_its_checkpoint(
    own_handler, settled, monkeypatch, tmp_path, moment, is_settled
):
    """Ctrl-C in the first or second warm-up of either chain, or among its draws."""
    settled(is_settled)
    options = {"n_warmup": 160, "min_ess": 60, "max_rhat": None}
    whole = reference(is_settled, 60)
    n_done = 0

    def press(method):
        def wrapper(self, *args):
            nonlocal n_done
            method(self, *args)
            n_done += 1
            if n_done == moment:
                os.kill(os.getpid(), signal.SIGINT)

        return wrapper

    for name in ("warm_up", "iterate"):
        method = press(getattr(LatentFunctionsGibbs, name))
        monkeypatch.setattr(LatentFunctionsGibbs, name, method)
    with contextlib.suppress(KeyboardInterrupt):
        fitted(checkpoint=tmp_path, **options)
    assert n_done >= moment
    model = fitted(checkpoint=tmp_path, **options)
    assert (model.n_warmup_, model.n_draws_) == (whole.n_warmup_, whole.n_draws_)
    assert_same_draws(model, whole)


def test_max_seconds():
    model = MCMCGaussianProcessRegressor(n_warmup=10, min_ess=1e6, max_seconds=1e-3, **SEED)
    with pytest.warns(ConvergenceWarning, match=r"stopped after max_seconds=0.001: 50 of n_draws"):
        model.fit(X, TARGETS[type(model)])
    assert model.n_draws_ == 50


def test_no_second_warm_up_after_max_seconds(settled):
    settled(False)
    assert fitted(n_warmup=160, min_ess=1e6, max_seconds=1e-3).n_warmup_ == 100


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_ess": 0},
        {"min_ess": True},
        {"min_ess": "many"},
        {"max_rhat": 1.0},
        {"max_rhat": np.nan},
        {"max_seconds": 0},
        {"max_seconds": -1.0},
    ],
)
def test_wrong_parameters(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name}.*must be"):
        fitted(**wrong)


# ------------------------------------------------------------------ what is said


def test_lines_say_how_far_the_chains_are(capsys):
    Lines(2).show(Convergence(50, 1.1234, 83.4), StoppingRule(100.0, 1.05))
    Lines(2).show(Convergence(50, 1.1234, 83.4), StoppingRule())
    text = "[skgpmcmc] 50 draws of each chain: R-hat 1.123, 83 effective draws"
    assert capsys.readouterr().out.splitlines() == [
        f"{text} (wanted: at most 1.05, at least 100)",
        text,
    ]


def test_bar_says_how_far_the_chains_are():
    class FakeBar:
        text = ""

        def __init__(self, **options):
            pass

        def update(self, n):
            pass

        def set_postfix_str(self, text, refresh=True):
            FakeBar.text = text

    bar = Bar(1, FakeBar)
    bar.show(Convergence(50, 1.1, 8.0), StoppingRule())
    bar(Report(0, 20, 100, 10, 0.5))
    assert FakeBar.text == "R-hat 1.100, 8 effective draws"


def slow_fit_messages(seconds_of, n_at_once=1, n_chains=4, n_most=200, max_seconds=None):
    """Return what is said while chains take turns, the n-th iteration so many seconds."""
    now = 0.0
    listener = SlowFit(n_chains, n_at_once, max_seconds, lambda: now)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(n_most):
            now += seconds_of(n)
            listener(Report(0, n + 1, 1000, 250, np.nan))
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(("seconds_each", "is_long"), [(0.1, False), (4.0, True)])
@pytest.mark.parametrize("n_at_once", [1, 2])
def test_a_long_fit_is_announced_once(seconds_each, is_long, n_at_once):
    """Of 250 iterations and 200 draws, or up to 750, on four chains."""
    messages = slow_fit_messages(lambda n: seconds_each, n_at_once)
    assert len(messages) == is_long
    if is_long:
        least, most = ("2.0 h", "4.4 h") if n_at_once == 1 else ("60 min", "2.2 h")
        assert f"fit will take about {least} with 200 draws" in messages[0]
        assert f"up to {most}" in messages[0]
        assert "max_seconds" in messages[0]
        assert ("n_jobs" in messages[0]) == (n_at_once == 1)


@pytest.mark.parametrize("n_slow", [1, 3, 9])
def test_slow_first_iterations_are_no_long_fit(n_slow):
    """Workers start, and chains look for their first point: the rest is fast."""
    assert not slow_fit_messages(lambda n: 40.0 / n_slow if n < n_slow else 0.1)


def test_a_wait_between_rounds_is_no_long_fit():
    assert not slow_fit_messages(lambda n: 1000.0 if n == 50 else 0.1)


def test_a_fit_of_very_slow_iterations_is_announced_after_two_minutes():
    assert slow_fit_messages(lambda n: 60.0, n_most=3)


def test_a_warm_up_that_ends_early_is_no_burst_of_iterations():
    clock = itertools.count(0.0, 3.0)
    listener = SlowFit(1, 1, None, lambda: next(clock))
    with pytest.warns(UserWarning, match="about 22 min with"):  # of 450 iterations
        deque((listener(Report(0, n, 1000, 250, np.nan)) for n in [1, 5, *range(251, 280)]), 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_warning_of_a_long_fit_points_to_the_call_of_fit(monkeypatch, n_jobs):
    """Reports of workers come from a thread, which the user's code did not start."""
    monkeypatch.setattr(_slow_fit, "_SECONDS_OF_A_LONG_FIT", 0.0)
    monkeypatch.setattr(_slow_fit, "_ITERATIONS", 1)
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    model = MCMCGaussianProcessRegressor(**SEED, n_jobs=n_jobs)
    with (
        joblib.parallel_config("threading"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        model.fit(X, TARGETS[type(model)])
    places = [w.filename for w in caught if "fit will take" in str(w.message)]
    assert places == [__file__]


@pytest.mark.parametrize(("max_seconds", "is_long"), [(20.0, False), (4000.0, True), (None, True)])
def test_a_limit_of_time_below_the_estimate_needs_no_announcement(max_seconds, is_long):
    """Of an hour for 450 iterations of one chain."""
    messages = slow_fit_messages(lambda n: 8.0, n_chains=1, max_seconds=max_seconds)
    assert len(messages) == is_long


@pytest.mark.parametrize("max_seconds", [None, 1000.0])
def test_fit_passes_its_limit_of_time_on(monkeypatch, max_seconds):
    passed = []
    monkeypatch.setattr(
        "skgpmcmc.estimators._run.SlowFit", lambda *args: passed.append(args) or SlowFit(*args)
    )
    model = MCMCGaussianProcessRegressor(max_seconds=max_seconds, n_warmup=5, n_draws=5, **SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, TARGETS[type(model)])
    assert passed == [(model.n_chains, 1, max_seconds)]


def test_a_kernel_without_hyperparameters():
    model = MCMCGaussianProcessRegressor(ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed"), **SEED)
    model.set_params(alpha=0.1, min_ess=50).fit(X, TARGETS[type(model)])
    assert model.converged_
    assert model.n_warmup_ == 100
