"""Rounds: where they end, and what is decided between them; none of it changes a draw."""

import time

import numpy as np
import pytest
from problems import LIKELIHOODS, make_model

from skgpmcmc import diagnostics
from skgpmcmc._running import _one_chain, _rounds
from skgpmcmc._running._chains import run_groups
from skgpmcmc._running._checkpoint import Checkpoint
from skgpmcmc.core import SamplerSettings
from skgpmcmc.updates import RandomWalk

SEED = {"random_state": 0}


def settings(n_draws=230, **options):
    return SamplerSettings("post-site", n_warmup=6, n_draws=n_draws, **options)


@pytest.fixture(scope="module")
def model():
    return make_model(LIKELIHOODS["poisson"].make())


@pytest.fixture(scope="module")
def whole(model):
    """Draws of four chains that nobody stops."""
    return run_groups([[model]], settings(), n_chains=4, **SEED)[0][0]


@pytest.fixture
def ends(monkeypatch):
    """Return a list of the iterations at which rounds of the chains in this process end."""
    seen = []
    run_round = _rounds._Rounds._run_round

    def run_and_note(self, chains, end):
        seen.append(end)
        run_round(self, chains, end)

    monkeypatch.setattr(_rounds._Rounds, "_run_round", run_and_note)
    return seen


def assert_beginning(trace, whole):
    n_draws = trace.n_draws
    for name in ("theta", "latent", "log_likelihood", "complete_data_log_likelihood"):
        np.testing.assert_array_equal(getattr(trace, name), getattr(whole, name)[:, :n_draws])


@pytest.mark.parametrize(("n_draws", "thin"), [(49, 1), (50, 1), (230, 1), (77, 3), (2, 120)])
def test_rounds_grow(model, ends, n_draws, thin):
    trace = run_groups([[model]], settings(n_draws, thin=thin), n_chains=1, **SEED)[0][0]
    n_in_all = n_draws * thin
    assert trace.n_draws == n_draws
    assert ends == [0, *(n for n in (50, 100, 150, 200) if n < n_in_all), n_in_all]


@pytest.mark.parametrize("seconds", [0.0, 1e-9])
@pytest.mark.second_stage
def test_rounds_that_take_long_are_divided_and_change_no_draw(
    model, whole, ends, monkeypatch, seconds
):
    monkeypatch.setattr(_rounds, "_SECONDS_OF_A_ROUND", seconds)
    trace = run_groups([[model]], settings(), n_chains=4, **SEED)[0][0]
    assert ends == [0, 50, 100, 150, 200, 230]
    assert_beginning(trace, whole)
    assert trace.n_draws == 230


def test_costs_do_not_depend_on_rounds(model, whole, monkeypatch):
    """What it takes to restore a chain is not counted."""
    monkeypatch.setattr(_rounds, "next_look", lambda n_done, n_in_all: n_in_all)
    trace = run_groups([[model]], settings(), n_chains=4, **SEED)[0][0]
    for name in ("n_covariances", "n_likelihoods", "n_failures"):
        for part in ("warmup", "sampling"):
            counts = [[getattr(c, name) for c in getattr(t, part)] for t in (trace, whole)]
            assert counts[0] == counts[1]
    np.testing.assert_array_equal(trace.moved, whole.moved)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.second_stage
def test_listener_stops_chains_that_take_turns(model, whole, n_jobs):
    """All four have draws, on one core or two, when the last one is half-way."""

    def stop(report):
        return report.chain == 3 and report.n_done >= 120

    trace = run_groups([[model]], settings(), n_chains=4, n_jobs=n_jobs, listeners=[stop], **SEED)
    trace = trace[0][0]
    assert trace.n_chains == 4
    assert 100 <= trace.n_draws <= 230
    # The eleventh report, of twenty for 236 iterations.
    assert n_jobs > 1 or trace.n_draws == 11 * 236 // 20 - 6
    assert_beginning(trace, whole)
    longer = run_groups([[model]], settings(), n_chains=4, previous=[[trace]])[0][0]
    assert_beginning(longer, whole)
    assert longer.n_draws == 230


class Precise:
    """Wants draws until every hyperparameter has a number of effective ones."""

    def __init__(self, least):
        self.least, self.asked = least, []

    def __call__(self, traces):
        ((trace,),) = traces
        self.asked.append(trace.n_draws)
        ess = [diagnostics.ess_bulk(draws) for draws in np.moveaxis(trace.theta, 2, 0)]
        return min(ess) < self.least


def test_stopping_rule(model, whole):
    """It leaves the beginning of the draws, as much of it however the chains run."""
    ess = {}
    for n in (50, 100, 200):
        ess[n] = min(diagnostics.ess_bulk(d) for d in np.moveaxis(whole.theta[:, :n], 2, 0))
    assert ess[50] < ess[100]
    stopped = []
    for n_jobs in (1, 2):
        wanted = Precise(0.5 * (ess[50] + ess[100]))
        options = {"n_chains": 4, "n_jobs": n_jobs, "wanted": wanted}
        stopped.append(run_groups([[model]], settings(), **options, **SEED)[0][0])
        assert wanted.asked == [50, 100]
        assert_beginning(stopped[-1], whole)
    assert [trace.n_draws for trace in stopped] == [100, 100]
    same = run_groups([[model]], settings(), n_chains=4, previous=[[stopped[1]]], wanted=wanted)
    assert same[0][0].n_draws == 100
    more = run_groups([[model]], settings(), n_chains=4, previous=[[stopped[1]]])[0][0]
    assert more.n_draws == 230
    assert_beginning(more, whole)


def test_stopping_rule_does_not_look_at_the_clock(model, monkeypatch):
    monkeypatch.setattr(_rounds, "_SECONDS_OF_A_ROUND", 0.0)
    wanted = Precise(np.inf)
    run_groups([[model]], settings(), n_chains=2, wanted=wanted, **SEED)
    assert wanted.asked == [50, 100, 150, 200]


def test_stopping_rule_is_not_asked_without_draws(model):
    asked = []

    def wanted(traces):
        asked.append(traces[0][0].n_draws)
        return True

    run_groups([[model]], settings(8, thin=60), n_chains=2, wanted=wanted, **SEED)
    assert asked == [n // 60 for n in (100, 150, 200, 250, 300, 350, 400)]


def test_interrupted_rounds_go_on_from_their_beginning(model, whole, tmp_path):
    """The first chains have done a round more than the last: each goes on where it is."""

    def stop(report):
        return report.chain == 2 and report.n_done > 120

    checkpoint = Checkpoint(tmp_path, {"X": "hash"})
    options = {"n_chains": 4, "checkpoint": checkpoint, **SEED}
    stopped = run_groups([[model]], settings(), listeners=[stop], **options)[0][0]
    assert stopped.n_draws == 100
    resumed = run_groups([[model]], settings(), **options)[0][0]
    assert_beginning(resumed, whole)
    assert resumed.n_draws == 230


def test_chain_that_cannot_be_restored_at_the_end_of_a_round_goes_back(model, whole, monkeypatch):
    """As where the covariance cannot be constructed afresh: now and then there is no snapshot."""
    take_snapshot = _one_chain._Sampling.take_snapshot

    def take_some(self):
        if self.n_done not in (50, 200):
            take_snapshot(self)

    monkeypatch.setattr(_one_chain._Sampling, "take_snapshot", take_some)
    trace = run_groups([[model]], settings(), n_chains=2, **SEED)[0][0]
    assert trace.n_draws == 230
    # Without snapshots there is no rounding of theirs: the draws are the same until the first.
    np.testing.assert_array_equal(trace.theta[:, :50], whole.theta[:2, :50])
    monkeypatch.setattr(_rounds, "next_look", lambda n_done, n_in_all: n_in_all)
    again = run_groups([[model]], settings(), n_chains=2, **SEED)[0][0]
    np.testing.assert_array_equal(trace.theta, again.theta)
    np.testing.assert_array_equal(trace.latent, again.latent)


class Slow(RandomWalk):
    """A proposal that takes a fifth of a second."""

    def __call__(self, theta, rng):
        """Wait, then propose."""
        time.sleep(0.2)
        return super().__call__(theta, rng)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_slow_chain_shows_that_it_moves(model, n_jobs):
    """After a second or two, long before the first of twenty equal steps."""
    seen = []

    def listen(report):
        if report.n_done > 0:
            seen.append(report.n_done)
        return len(seen) == 2

    how = SamplerSettings("post-site", n_warmup=1000, n_draws=1000, proposal=Slow(0.1))
    with pytest.raises(KeyboardInterrupt):
        run_groups([[model]], how, n_chains=2, n_jobs=n_jobs, listeners=[listen], **SEED)
    assert all(0 < n <= 15 for n in seen)
