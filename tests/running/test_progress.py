"""Progress: lines, bars and scikit-learn's callbacks; none of it changes a draw."""

import contextlib
import io
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from itertools import product
from pathlib import Path

import joblib
import numpy as np
import pytest
from rotation import in_turn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc._running._progress import (
    Audience,
    Bar,
    Lines,
    ProgressSender,
    Report,
    terminal_progress,
    watching,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).normal(size=(12, 2))
Y = X[:, 0] > 0.0
SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 0}
START = "[skgpmcmc] chain "
ONE = f"{START}1 of 1: "


def classifier(**options):
    return MCMCGaussianProcessClassifier(**{**SHORT, **options})


@pytest.fixture(scope="module")
def whole():
    """Draws of a fit without progress."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier().fit(X, Y).trace_.theta


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def reports(*done, chain=0):
    """Return reports of a chain of 40 iterations of warm-up and 60 more."""
    return [Report(chain, n, 100, 40, 0.5 if n > 40 else math.nan) for n in done]


def lines(capsys, sequence, n_chains=1, seconds_each=1.0):
    """Return the lines of reports; every iteration of any chain takes some time."""
    done = {}
    listener = Lines(n_chains, lambda: seconds_each * sum(n - first for first, n in done.values()))
    for report in sequence:
        done[report.chain] = done.get(report.chain, (report.n_done, 0))[0], report.n_done
        listener(report)
    listener.close()
    return capsys.readouterr().out.splitlines()


def test_text_of_lines(capsys):
    assert lines(capsys, reports(0, 20, 40, 60, 80, 100)) == [
        f"{ONE}0 of 100 iterations (warm-up)",
        f"{ONE}20 of 100 iterations (warm-up), at most about 80 s left",
        f"{ONE}40 of 100 iterations (warm-up), at most about 60 s left",
        f"{ONE}60 of 100 iterations (20 after the warm-up, moved in 50 %), at most about 40 s left",
        f"{ONE}80 of 100 iterations (40 after the warm-up, moved in 50 %), at most about 20 s left",
        f"{ONE}100 of 100 iterations (60 after the warm-up, moved in 50 %)",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.001, "0 s"), (1.0, "80 s"), (10.0, "13 min"), (900.0, "20.0 h")],
)
def test_units_of_time(capsys, seconds, text):
    last = lines(capsys, reports(0, 20), seconds_each=seconds)[-1]
    assert last.endswith(f", at most about {text} left")


@pytest.mark.parametrize(("n_at_once", "seconds"), [(1, 380), (2, 190), (4, 95)])
def test_time_left_counts_chains_that_wait(capsys, n_at_once, seconds):
    """With several at once all iterations together take less time."""
    left = lines(capsys, reports(0, 20), n_chains=4, seconds_each=1.0 / n_at_once)[1]
    minutes = f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds} s"
    assert left.endswith(f"about {minutes} left")


def test_time_left_of_a_chain_that_is_continued(capsys):
    last = lines(capsys, reports(60, 80))[-1]
    assert last.endswith("about 20 s left")


def test_few_lines_for_each_chain(capsys):
    sequence = [r for n in range(0, 101, 5) for c in range(3) for r in reports(n, chain=c)]
    printed = lines(capsys, sequence, n_chains=3)
    for chain in range(3):
        assert sum(f"{START}{chain + 1} of 3" in line for line in printed) == 6


class FakeBar:
    def __init__(self, **options):
        self.options, self.moves, self.text, self.open = options, [], "", True

    def update(self, n):
        self.moves.append(n)

    def set_postfix_str(self, text, refresh):
        self.text = text

    def close(self):
        self.open = False


def test_bar():
    made = []
    bar = Bar(2, lambda **options: made.append(FakeBar(**options)) or made[0])
    sequence = [*reports(0, 20, 60), *reports(0, 60, 100, chain=1), *reports(20, 60, 100)]
    for report in sequence:
        bar(report)
    bar.close()
    (fake,) = made
    assert fake.options["total"] == 200
    assert fake.moves == [0, 20, 40, 0, 60, 40, -40, 40, 40]  # the first chain began again
    assert sum(fake.moves) == 200
    assert fake.text == "2 past the warm-up"
    assert not fake.open
    Bar(2, FakeBar).close()


def test_a_title_says_what_the_chains_are_for(capsys):
    made = []
    bar = Bar(2, lambda **options: made.append(FakeBar(**options)) or made[0], "choosing points")
    bar(reports(0)[0])
    assert made[0].options["desc"] == "choosing points, 2 chains"
    Lines(1, title="choosing points")(reports(0)[0])
    assert capsys.readouterr().out.startswith("[skgpmcmc] choosing points, chain 1 of 1: 0 of 100")


def test_bar_writes_to_the_standard_output(capsys):
    bar = Bar(1, lambda file, **options: print("a bar", file=file) or FakeBar())
    bar(reports(0)[0])
    assert capsys.readouterr().out == "a bar\n"


def test_bar_where_tqdm_is_installed():
    pytest.importorskip("tqdm")
    assert isinstance(terminal_progress(1), Bar)


def test_lines_where_it_is_not(without_tqdm):
    assert isinstance(terminal_progress(1), Lines)


@pytest.fixture
def clock(monkeypatch):
    """Set the time: a list with one number."""
    now = [0.0]
    monkeypatch.setattr("skgpmcmc._running._progress.time.monotonic", lambda: now[0])
    return now


def test_fast_chain_reports_a_fixed_number_of_times(clock):
    seen = []
    sender = ProgressSender(seen.append, None, 7, 1000)
    for n_done in range(1, 1001):
        sender(3, n_done, lambda n: 0.25)
    assert [r.n_done for r in seen] == [7, *range(50, 1001, 50)]
    assert math.isnan(seen[0].moved)
    assert {r.moved for r in seen[1:]} == {0.25}
    assert {(r.chain, r.n_iterations, r.n_warmup) for r in seen} == {(3, 1000, 7)}


def test_slow_chain_reports_every_iteration(clock):
    seen = []
    sender = ProgressSender(seen.append, None, 7, 1000)
    for n_done in range(1, 21):
        clock[0] += 1.5
        sender(0, n_done, lambda n: 0.25)
        clock[0] += 0.1
        sender(1, n_done, lambda n: 0.25)
    assert [r.n_done for r in seen if r.chain == 0] == list(range(2, 21))
    assert [r.n_done for r in seen if r.chain == 1] == list(range(2, 21))


def test_audience_is_told_of_progress_alone():
    seen, stopped = [], []
    wants_stop = [False]
    audience = Audience([seen.append, lambda _: wants_stop[0]], lambda: stopped.append(1))
    for report in [*reports(0, 20, 20), *reports(20, chain=1), *reports(10, 30)]:
        audience(report)
    assert [(r.chain, r.n_done) for r in seen] == [(0, 0), (0, 20), (1, 20), (0, 30)]
    assert not stopped
    wants_stop[0] = True
    audience(reports(40)[0])
    assert stopped == [1]


def test_report_is_told_once(tmp_path, monkeypatch):
    """Also in the warm-up, when the share of moves is NaN."""
    monkeypatch.setattr("skgpmcmc._running._progress._SECONDS_BETWEEN_LOOKS", 0.001)
    seen = []
    with watching(tmp_path, seen.append):
        sender = pickle.loads(pickle.dumps(ProgressSender(print, tmp_path, 40, 100)))
        sender.send(0, 20, math.nan)
        time.sleep(0.1)
    assert [r.n_done for r in seen] == [20]


def test_directory_that_is_gone_is_no_error(tmp_path):
    sender = pickle.loads(pickle.dumps(ProgressSender(print, tmp_path / "gone", 40, 100)))
    sender.send(0, 20, math.nan)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("verbose", [1, 2])
def test_fit_prints_lines(without_tqdm, capsys, whole, n_jobs, verbose):
    model = classifier(n_jobs=n_jobs, verbose=verbose).fit(X, Y)
    np.testing.assert_array_equal(model.trace_.theta, whole)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith(START)]
    for chain in ("1 of 2", "2 of 2"):
        own = [line for line in printed if line.startswith(START + chain)]
        assert 1 <= len(own) <= 7
        assert "60 of 60 iterations (40 after the warm-up, moved in " in own[-1]
    if n_jobs == 1:
        assert len(printed) == 14


def test_fit_moves_a_bar(capsys, whole):
    pytest.importorskip("tqdm")
    model = classifier(verbose=1).fit(X, Y)
    np.testing.assert_array_equal(model.trace_.theta, whole)
    out = capsys.readouterr().out
    assert "2 chains: 100%" in out
    assert "120/120" in out


def test_silent_by_default(capsys):
    classifier().fit(X, Y)
    assert capsys.readouterr().out == ""


def test_one_chain_with_several_jobs(without_tqdm, capsys):
    classifier(n_chains=1, n_jobs=2, verbose=1).fit(X, Y)
    assert "60 of 60 iterations" in capsys.readouterr().out


def test_threads(without_tqdm, capsys, whole):
    with joblib.parallel_config(backend="threading"):
        model = classifier(n_jobs=2, verbose=1).fit(X, Y)
    np.testing.assert_array_equal(model.trace_.theta, whole)
    assert len(capsys.readouterr().out.splitlines()) == 14


def test_chains_that_are_on_disk_are_told_of(without_tqdm, capsys, tmp_path):
    classifier(checkpoint=tmp_path).fit(X, Y)
    classifier(checkpoint=tmp_path, verbose=1).fit(X, Y)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert all("60 of 60 iterations (40 after the warm-up, moved in " in line for line in printed)


class Broken(io.StringIO):
    """An output that fails, from its first use or a later one on."""

    encoding = "utf-8"

    def __init__(self, error, after=0, fails="write"):
        super().__init__()
        self.error, self.after, self.fails = error, after, fails
        self.n_tried = self.n_failed = 0

    def use(self, name):
        self.n_tried += 1
        self.n_failed += self.n_failed > 0  # it is not left alone
        if self.n_tried > self.after and name == self.fails:
            self.n_failed = max(self.n_failed, 1)
            raise self.error

    def write(self, text):
        self.use("write")
        return super().write(text)

    def flush(self):
        self.use("flush")


ERRORS = [BrokenPipeError("nobody reads this"), OSError(28, "No space left on device")]
ERRORS.append(ValueError("I/O operation on closed file"))


@pytest.fixture(params=["bar", "lines"])
def kind(request):
    if request.param == "bar":
        pytest.importorskip("tqdm")
    else:
        request.getfixturevalue("without_tqdm")
    return request.param


#: How many times the output works before, and what fails then.
AFTER, FAILS = [0, 2], ["write", "flush"]


@pytest.mark.parametrize(
    ("error", "after", "fails"),
    in_turn(product(ERRORS, AFTER, FAILS), len(ERRORS), ERRORS, AFTER, FAILS),
)
def test_output_that_fails_is_not_tried_again(kind, error, after, fails):
    with contextlib.redirect_stdout(Broken(error, after, fails)) as output:
        listener = terminal_progress(2)
        for report in reports(0, 20, 40, 60, 80, 100):
            listener(report)
            time.sleep(0.11 if kind == "bar" else 0.0)  # tqdm writes ten times a second
        listener.close()
    assert output.n_failed == 1


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [0, 3])
def test_fit_does_not_need_its_output(kind, whole, n_jobs, after):
    """Twice: the first fit leaves no lock behind for which the second would wait."""
    for _ in range(2):
        with contextlib.redirect_stdout(Broken(ERRORS[0], after)):
            model = classifier(n_jobs=n_jobs, verbose=1)
            thread = threading.Thread(target=model.fit, args=(X, Y), daemon=True)
            thread.start()
            thread.join(timeout=60.0)
        assert not thread.is_alive()
        np.testing.assert_array_equal(model.trace_.theta, whole)


def test_no_output_at_all(kind, monkeypatch, whole):
    monkeypatch.setattr(sys, "stdout", None)
    np.testing.assert_array_equal(classifier(verbose=1).fit(X, Y).trace_.theta, whole)


@pytest.mark.second_stage
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_process_whose_output_nobody_reads_ends(n_jobs):
    script = (
        "import sys, test_progress as t\n"
        "model = t.classifier(verbose=1, n_jobs=int(sys.argv[1])).fit(t.X, t.Y)\n"
        "print(model.n_iter_, file=sys.stderr)\n"
    )
    paths = [str(Path(__file__).parent), *sys.path]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as output:
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script, str(n_jobs)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=output, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
        )  # fmt: skip
    assert result.stderr.splitlines()[:1] == ["60"], result.stderr


# scikit-learn's callbacks


class Recorder:
    """Counts tasks; stops at the end of a given one, or raises."""

    def __init__(self, at=None, error=None):
        self.at, self.error = at, error
        self.begun, self.ended, self.set_up, self.torn_down = [], [], 0, 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context)
        if len(self.ended) == self.at:
            if self.error is not None:
                raise self.error
            return True
        return False


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback")


def names(contexts):
    return [context.task_name for context in contexts]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tasks_begin_and_end(callback, whole, n_jobs):
    recorder = Recorder()
    model = classifier(n_jobs=n_jobs).set_callbacks(recorder).fit(X, Y)
    np.testing.assert_array_equal(model.trace_.theta, whole)
    assert set(map(id, recorder.begun)) == set(map(id, recorder.ended))
    assert len(recorder.begun) == len(recorder.ended) == 1 + 2 * (1 + 20)
    assert names(recorder.begun).count("chain") == 2
    assert names(recorder.begun)[0] == names(recorder.ended)[-1] == "fit"
    assert (recorder.set_up, recorder.torn_down) == (1, 1)


def test_callback_stops_the_fit(callback, whole):
    # Twenty steps of the first chain, its end, ten of the second: 30 of 60 iterations.
    recorder = Recorder(at=31)
    model = classifier().set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="fit was stopped: 10 of n_draws=40 draws"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.trace_.theta, whole[:, :10])
    assert set(map(id, recorder.begun)) == set(map(id, recorder.ended))
    assert recorder.torn_down == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_that_raises(callback, n_jobs):
    recorder = Recorder(at=5, error=ZeroDivisionError("in a callback"))
    model = classifier(n_jobs=n_jobs).fit(X, Y)
    before = model.set_callbacks(recorder).trace_
    with pytest.raises(ZeroDivisionError, match="in a callback"):
        model.fit(X, Y)
    assert model.trace_ is before
    assert recorder.torn_down == 1


def test_progress_bar_of_scikit_learn(callback, whole, capsys):
    pytest.importorskip("rich")
    model = classifier(n_jobs=2).set_callbacks(callback.ProgressBar()).fit(X, Y)
    np.testing.assert_array_equal(model.trace_.theta, whole)


def test_progress_bar_of_a_search(callback, capsys):
    pytest.importorskip("rich")
    options = {"n_draws": 5, "n_warmup": 4, "n_chains": 1}
    search = GridSearchCV(classifier(**options), {"n_warmup": [4, 5]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X, np.arange(12) % 2)
    assert search.best_estimator_.trace_.n_draws == 5
