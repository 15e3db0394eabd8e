"""Ctrl-C keeps draws; chains whose process dies are drawn again."""

import os
import pickle
import re
import signal
import tempfile
import threading
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._running import _one_chain, _rounds, _workers
from skgpmcmc._running._interrupts import StopSignal
from skgpmcmc._sampling._latent_functions import LatentFunctionsGibbs
from skgpmcmc.exceptions import ChainDiedError
from skgpmcmc.updates import RandomWalk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = X[:, 0] + 0.5 * RNG.normal(size=12) > 0.0
SHORT = {"n_chains": 2, "n_warmup": 6, "n_draws": 60, "random_state": 0}


def classifier(**options):
    return MCMCGaussianProcessClassifier(**{**SHORT, **options})


@pytest.fixture(scope="module")
def whole():
    """Draws of the undisturbed fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier().fit(X, Y)


@pytest.fixture
def own_handler():
    """Let Ctrl-C do what it does in Python by default."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupt(monkeypatch):
    """Press Ctrl-C in the middle of iterations: set the attribute "at" to their numbers."""

    class Interrupt:
        at = ()
        n_done = 0

    iterate = LatentFunctionsGibbs.iterate

    def iterate_and_press(self):
        iterate(self)
        Interrupt.n_done += 1
        if Interrupt.n_done in Interrupt.at:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LatentFunctionsGibbs, "iterate", iterate_and_press)
    return Interrupt


def moment(n_draws):
    """Return after how many iterations the second of two chains has so many draws.

    The first has had its turn: rounds are of 50 iterations, and of the last 10.
    """
    return 50 + n_draws if n_draws <= 50 else 60 + n_draws


def fit_and_catch(model, inputs=X, y=Y):
    """Return the texts of all warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(inputs, y)
    return [str(w.message) for w in caught]


def _means_of(model):
    (name,) = (name for name in model.get_params() if re.fullmatch("(.*__)?mean", name))
    return {name: ["zero", "constant"]}


SEARCHES = {
    "search": lambda model: GridSearchCV(model, _means_of(model), cv=2).fit(X, Y),
    "scores": lambda model: cross_val_score(model, X, Y, cv=2),
    "predictions": lambda model: cross_val_predict(model, X, Y, cv=2),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("steps", [[], [StandardScaler()]], ids=["alone", "pipeline"])
def test_a_search_ends(own_handler, interrupt, search, steps):
    """Not with the score of a fit that was cut short, and not with the next one."""
    interrupt.at = [30]
    with pytest.raises(KeyboardInterrupt):
        SEARCHES[search](make_pipeline(*steps, classifier(n_chains=1)) if steps else classifier())
    assert interrupt.n_done == 30


def test_the_last_fit_of_a_search_keeps_its_draws(own_handler, interrupt):
    model = classifier(n_chains=1, n_draws=12)
    interrupt.at = [4 * 12 + 5]  # after two candidates on two splits
    search = GridSearchCV(model, {"mean": ["zero", "constant"]}, cv=2)
    texts = fit_and_catch(search)
    assert any("fit was stopped: 5 of n_draws=12" in text for text in texts)
    assert search.best_estimator_.trace_.n_draws == 5


@pytest.mark.parametrize("n_draws", [1, 2, 3, 25, 59])
def test_draws_until_then_are_kept(own_handler, interrupt, whole, n_draws):
    interrupt.at = [moment(n_draws)]
    model = classifier(warm_start=True)
    (text,) = fit_and_catch(model)
    assert text.startswith(
        f"fit was stopped: {n_draws} of n_draws=60 draws of each chain are kept."
    )
    assert "To go on from here, fit again with warm_start=True." in text
    assert interrupt.n_done == moment(n_draws)
    assert model.n_iter_ == 6 + n_draws
    for name in ("theta", "latent", "log_likelihood", "complete_data_log_likelihood"):
        kept = getattr(model.trace_, name)
        np.testing.assert_array_equal(kept, getattr(whole.trace_, name)[:, :n_draws])
    assert np.isfinite(model.predict_proba(X)).all()
    model.summary()
    model.predict_interval(X)

    fit_and_catch(model)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)
    np.testing.assert_array_equal(model.trace_.moved, whole.trace_.moved)
    assert model.n_iter_ == 66


@pytest.mark.parametrize(
    ("estimator", "y", "options"),
    [
        (MCMCCoxProcessRegressor, RNG.poisson(2.0, 12), {}),
        (MCMCGaussianProcessRegressor, X[:, 0], {"thin": 3}),
        (MCMCGaussianProcessClassifier, np.arange(12) % 3, {"multi_class": "softmax"}),
        (MCMCGaussianProcessClassifier, np.arange(12) % 3, {"multi_class": "one_vs_rest"}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_is_left_fitted(own_handler, interrupt, estimator, y, options):
    model = estimator(**{**SHORT, "n_draws": 12}, **options, warm_start=True)
    whole = estimator(**{**SHORT, "n_draws": 12}, **options).fit(X, y)
    interrupt.at = [2 * interrupt.n_done - 8]
    model.fit(X, y)
    left = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    all_draws = whole.trace_ if isinstance(whole.trace_, list) else [whole.trace_]
    assert {trace.n_draws for trace in left} == {9 if "thin" in options else 4}
    for trace, other in zip(left, all_draws, strict=True):
        np.testing.assert_array_equal(trace.latent, other.latent[:, : trace.n_draws])
    model.predict(X)
    assert (model.fit(X, y).predict(X) == whole.predict(X)).all()


@pytest.mark.parametrize("n_fits_before", [0, 1])
def test_too_early_is_an_interrupt_and_the_estimator_as_before(
    own_handler, interrupt, n_fits_before
):
    model = classifier(n_draws=10)
    for _ in range(n_fits_before):
        fit_and_catch(model)
    before = dict(vars(model))
    interrupt.at = [interrupt.n_done + 10]  # no draw of the second chain is there
    with pytest.raises(KeyboardInterrupt, match="stopped before every chain had kept a draw"):
        model.fit(X, Y)
    assert vars(model) == before


def test_last_moment_is_no_interrupt(own_handler, interrupt, whole):
    interrupt.at = [120]
    model = classifier()
    texts = fit_and_catch(model)
    assert not any("stopped" in text for text in texts)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


def test_second_time_is_an_interrupt_at_once(own_handler, monkeypatch):
    """A chain that cannot be stopped, as if one iteration took hours."""
    monkeypatch.setattr(StopSignal, "is_set", lambda self: False)
    presses = []

    def iterate(self):
        presses.append(1)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LatentFunctionsGibbs, "iterate", iterate)
    with pytest.raises(KeyboardInterrupt):
        classifier().fit(X, Y)
    assert len(presses) == 2


def test_handlers_of_others_are_left_alone(interrupt, whole):
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        interrupt.at = [70, 80]
        model = classifier()
        fit_and_catch(model)
        handler = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT] * 2
    assert handler is not before
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fit_in_a_thread(own_handler, whole, n_jobs):
    model = classifier(n_jobs=n_jobs)
    thread = threading.Thread(target=model.fit, args=(X, Y))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


def test_chains_in_threads_stop(own_handler, interrupt, whole):
    interrupt.at = [60]
    model = classifier(n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        (text,) = fit_and_catch(model)
    n_draws = model.trace_.n_draws
    assert 0 < n_draws <= 60
    assert f"fit was stopped: {n_draws} of" in text or n_draws == 60
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta[:, :n_draws])


def test_continued_fit_keeps_what_there_was(own_handler, interrupt, whole):
    """Ctrl-C in the first chain: the second has its draws of the fit before."""
    model = classifier(warm_start=True, n_draws=20)
    fit_and_catch(model)
    interrupt.at = [interrupt.n_done + 30]
    (text,) = fit_and_catch(model.set_params(n_draws=60))
    assert text.startswith("fit was stopped: 20 of n_draws=60 draws")
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta[:, :20])
    fit_and_catch(model)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


def test_checkpoint_has_all_draws_until_then(own_handler, interrupt, whole, tmp_path):
    interrupt.at = [30]
    with pytest.raises(KeyboardInterrupt):
        classifier(checkpoint=tmp_path).fit(X, Y)
    (file,) = tmp_path.glob("chain-*/draws-*.npz")
    with np.load(file) as draws:
        np.testing.assert_array_equal(draws["theta-0"], whole.trace_.theta[0, :30])
    # The first chain goes on from there, until the second is stopped.
    interrupt.at = [30 + moment(25)]
    model = classifier(checkpoint=tmp_path)
    (text,) = fit_and_catch(model)
    assert text.startswith("fit was stopped: 25 of")
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta[:, :25])
    interrupt.at = [interrupt.n_done + 1]  # in the second chain: the first is further
    (text,) = fit_and_catch(model)
    assert text.startswith("fit was stopped: 25 of")
    fit_and_catch(model)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


@pytest.mark.parametrize("after", [3, 30])
@pytest.mark.parametrize(
    ("estimator", "y", "n_chains"),
    [
        (MCMCGaussianProcessClassifier, Y, 2),
        (MCMCGaussianProcessClassifier, np.arange(12) % 3, 6),  # one-vs-rest: two of each class
        (MCMCGaussianProcessRegressor, X[:, 0], 2),
        (MCMCCoxProcessRegressor, RNG.poisson(2.0, 12), 2),
    ],
)
def test_advice_after_too_early_an_interrupt_knows_the_checkpoint(
    own_handler, interrupt, tmp_path, monkeypatch, estimator, y, n_chains, after
):
    if after < SHORT["n_warmup"]:
        monkeypatch.setattr(
            LatentFunctionsGibbs, "warm_up", lambda self, _: LatentFunctionsGibbs.iterate(self)
        )
    interrupt.at = [after]
    with pytest.raises(KeyboardInterrupt) as error:
        estimator(**SHORT, checkpoint=tmp_path / "chains").fit(X, y)
    text = str(error.value)
    assert text.startswith("stopped before every chain had kept a draw")
    assert "With checkpoint=" not in text
    if after > SHORT["n_warmup"]:
        assert f"1 of {n_chains} chains" in text
        assert repr(str(tmp_path / "chains")) in text
        assert "the same call continues them" in text
    else:
        assert f"There are no draws in checkpoint={str(tmp_path / 'chains')!r} yet" in text
        assert "the same call starts from the beginning" in text


def test_advice_without_a_checkpoint(own_handler, interrupt):
    interrupt.at = [30]
    with pytest.raises(KeyboardInterrupt, match=r"With checkpoint=.* could continue"):
        classifier().fit(X, Y)


def test_advice_for_a_stopped_fit_knows_the_checkpoint(own_handler, interrupt, whole, tmp_path):
    interrupt.at = [moment(25)]
    model = classifier(checkpoint=tmp_path)
    (text,) = fit_and_catch(model)
    assert "25 of n_draws=60 draws" in text
    assert f"call fit again: it goes on from checkpoint={str(tmp_path)!r}" in text
    assert "warm_start=True." not in text.partition("The chains have not")[0]
    fit_and_catch(model)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


@pytest.mark.parametrize("presses", [[30], [60 + 25]])
def test_advice_for_generators_says_that_they_moved_on(own_handler, interrupt, tmp_path, presses):
    """The same call, with a generator that has made numbers in between, is another one."""
    interrupt.at = presses
    generator = np.random.RandomState(0)
    model = classifier(checkpoint=tmp_path, random_state=generator)
    try:
        (text,) = fit_and_catch(model)
    except KeyboardInterrupt as error:
        text = str(error)
    assert "random_state" in text
    assert "RandomState of the same seed" in text
    with pytest.raises(ValueError, match="random_state"):
        model.fit(X, Y)
    interrupt.at = []
    fit_and_catch(model.set_params(random_state=np.random.RandomState(0)))
    assert model.trace_.n_draws == 60


def test_signal_reaches_another_process(tmp_path):
    stop = StopSignal(tmp_path / "stop")
    other = pickle.loads(pickle.dumps(stop))
    assert not other.is_set()
    stop.set()
    assert other.is_set()
    assert stop.is_set()
    alone = StopSignal()
    alone.set()
    assert alone.is_set()


def test_process_whose_parent_died_stops(tmp_path, monkeypatch):
    other = pickle.loads(pickle.dumps(StopSignal(tmp_path / "stop")))
    here = StopSignal(tmp_path / "stop")
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert other.is_set()
    assert not here.is_set()


def test_signal_whose_directory_is_gone_still_stops_this_process(tmp_path):
    stop = StopSignal(tmp_path / "gone" / "stop")
    stop.set()
    assert stop.is_set()


def test_process_whose_parent_died_removes_what_that_left_behind(tmp_path, monkeypatch):
    directory = tmp_path / "skgpmcmc-x"
    directory.mkdir()
    (directory / "progress-0").touch()
    stop = StopSignal(directory / "stop")
    here, parent = os.getpid(), os.getppid()
    for number in (here, parent, 1):
        # Its parent is another process, such as a nanny of Dask's, unless that made the signal.
        monkeypatch.setattr(os, "getppid", lambda: parent)
        other = pickle.loads(pickle.dumps(stop))
        monkeypatch.setattr(os, "getppid", lambda number=number: number)
        assert other.is_set() == (number != parent)
        assert directory.exists()
    monkeypatch.setattr(os, "getppid", lambda: here)
    worker = pickle.loads(pickle.dumps(stop))
    assert not worker.is_set()
    assert directory.exists()
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert worker.is_set()
    assert list(tmp_path.iterdir()) == []


# Processes that die


class Fatal(RandomWalk):
    """A proposal that kills the process it runs in, if a file says so; the first chain's ones."""

    def __init__(self, path, chains=1, times=1):
        super().__init__(0.3)
        self.path, self.chains, self.times = str(path), chains, times

    def __call__(self, theta, rng):
        """Propose, or die: chains know themselves by where they start."""
        if os.getpid() != int(Path(self.path, "parent").read_text()):
            self.die(rng)
        return super().__call__(theta, rng)

    def die(self, rng):
        key = rng.bit_generator.seed_seq.spawn_key
        if not key or key[0] >= self.chains:  # no chain's generator, or that of one that lives
            return
        n_deaths = len(list(Path(self.path).glob(f"{key[0]}-*")))
        if n_deaths < self.times:
            Path(self.path, f"{key[0]}-{n_deaths}").touch()
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


@pytest.fixture
def dying(tmp_path):
    """Return a function that makes estimators of which chains die."""
    (tmp_path / "parent").write_text(str(os.getpid()))

    def make(chains, times, **options):
        return classifier(n_jobs=2, hyperparameter_update=Fatal(tmp_path, chains, times), **options)

    return make


@pytest.fixture(scope="module")
def metropolis():
    """Draws of the undisturbed fit with that proposal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier(hyperparameter_update=RandomWalk(0.3)).fit(X, Y)


@pytest.mark.second_stage
def test_chain_that_dies_is_drawn_again(dying, metropolis, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = dying(chains=1, times=1)
    text, *others = fit_and_catch(model)
    # The second chain may have ended before.
    assert re.match(
        r"Chain 1( or 2)? \(numbered from 1\) died; most likely its process was killed or", text
    )
    assert "run once more, one at a time; the draws do not change." in text
    assert not any("died" in other for other in others)
    np.testing.assert_array_equal(model.trace_.theta, metropolis.trace_.theta)
    assert not list(tmp_path.glob("skgpmcmc-*"))


@pytest.mark.second_stage
def test_chain_that_dies_twice_is_left_out(dying, metropolis, tmp_path):
    model = dying(chains=1, times=2, warm_start=True, checkpoint=tmp_path / "chains")
    texts = fit_and_catch(model)
    assert re.match(r"Chain 1( or 2)? \(numbered from 1\) died", texts[0])
    assert texts[1].startswith(
        "Only 1 of 2 chains are left: the process of chain 1 (numbered from 1) died twice"
    )
    np.testing.assert_array_equal(model.trace_.theta, metropolis.trace_.theta[1:])
    np.testing.assert_array_equal(model.trace_.latent, metropolis.trace_.latent[1:])
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="only 1 of the last fit are left: the others' processes"):
        model.set_params(n_draws=70).fit(X, Y)
    # It has died often enough: the chains are complete, the other's draws read from disk.
    fit_and_catch(model.set_params(n_draws=60, warm_start=False))
    np.testing.assert_array_equal(model.trace_.theta, metropolis.trace_.theta)


@pytest.mark.slow
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_no_chain_is_left(dying, tmp_path, has_checkpoint):
    checkpoint = tmp_path / "chains" if has_checkpoint else None
    model = dying(chains=2, times=2, n_draws=10, checkpoint=checkpoint)
    message = r"No chain is left: the process of chain 1, 2 \(numbered from 1\) died twice"
    with (
        pytest.warns(UserWarning, match="died"),
        pytest.raises(ChainDiedError, match=message) as error,
    ):
        model.fit(X, Y)
    assert not hasattr(model, "trace_")
    assert ("with checkpoint=..." in str(error.value)) != has_checkpoint
    assert ("continues from checkpoint=" in str(error.value)) == has_checkpoint


@pytest.fixture
def memory(monkeypatch):
    """Let chains run out of memory: a list of numbers of runs, counted from 0."""
    runs, missing = [], []

    def run(*args):
        runs.append(1)
        if len(runs) - 1 in missing:
            raise MemoryError
        return _one_chain.run_chain(*args)

    monkeypatch.setattr(_workers, "run_chain", run)
    return missing


def test_memory_that_comes_back(memory, whole):
    memory.append(1)
    model = classifier()
    text, *_ = fit_and_catch(model)
    assert text.startswith("Chain 2 (numbered from 1) ran out of memory. All chains that had not")
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)


def test_memory_that_does_not_come_back(memory, whole):
    memory.extend([1, 2])
    model = classifier()
    texts = fit_and_catch(model)
    assert texts[1].startswith(
        "Only 1 of 2 chains are left: the process of chain 2 (numbered from 1) died twice"
    )
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta[:1])
    memory.extend(range(3, 10))
    with (
        pytest.warns(UserWarning, match="ran out of memory"),
        pytest.raises(ChainDiedError, match="Free some memory"),
    ):
        model.fit(X, Y)


def test_other_targets_lose_the_chain_too(memory):
    """One against the rest: three targets, of as many chains each."""
    memory.extend([1, 6])
    model = classifier(n_draws=10)
    texts = fit_and_catch(model, X, np.arange(12) % 3)
    assert texts[1].startswith("Only 1 of 2 chains are left: the process of chain 2 (numbered")
    assert [trace.n_chains for trace in model.trace_] == [1, 1, 1]
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_temporary_directory(monkeypatch, whole, n_jobs):
    def fail(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_rounds, "TemporaryDirectory", fail)
    model = classifier(n_jobs=n_jobs, verbose=1)
    fit_and_catch(model)
    np.testing.assert_array_equal(model.trace_.theta, whole.trace_.theta)
