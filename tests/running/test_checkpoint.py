"""Chains on disk: a fit that died goes on to the draws of one that did not."""

import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared
from sklearn.model_selection import GridSearchCV

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._running import _checkpoint, _one_chain, _rounds, _workers
from skgpmcmc._running._chains import run_groups
from skgpmcmc._running._checkpoint import Checkpoint
from skgpmcmc._sampling._latent_functions import LatentFunctionsGibbs
from skgpmcmc.core import LatentGaussianModel, SamplerSettings
from skgpmcmc.likelihoods import Gaussian
from skgpmcmc.updates import RandomWalk

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# The second points from which chains continue, 50 iterations after the first, are within.
SHORT = {"n_chains": 2, "n_warmup": 4, "n_draws": 60, "random_state": 0}
ONE = {**SHORT, "n_chains": 1}
KERNEL = ConstantKernel(1.0, (0.1, 10.0)) * RBF(1.0, (0.1, 10.0))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
SIGNAL = X[:, 0] + 0.5 * RNG.normal(size=12)
CELLS = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0)), axis=-1).reshape(-1, 2)
COUNTS = RNG.poisson(2.0, 12)


def cox(**options):
    return MCMCCoxProcessRegressor, X, COUNTS, options


def classifier(**options):
    return MCMCGaussianProcessClassifier, X, SIGNAL > 0.0, options


def three_classes(mode):
    y = np.arange(12) % 3
    return MCMCGaussianProcessClassifier, X, y, {"multi_class": mode}


def regressor(**options):
    return MCMCGaussianProcessRegressor, X, SIGNAL, options


REPRESENTATIONS = ["post-ep", "post-site", "post-taylor", "surr-ep", "surr-site", "surr-taylor"]
FITS = {
    **{name: cox(representation=name) for name in [*REPRESENTATIONS, "prior-white", "fixed", 0.5]},
    "grid": (MCMCCoxProcessRegressor, CELLS, COUNTS, {"representation": "joint-post"}),
    "grid with gaps": (MCMCCoxProcessRegressor, CELLS[1:], COUNTS[1:], {}),
    "negative binomial": cox(likelihood="negative-binomial"),
    "thin": cox(thin=3),
    "collapsed": classifier(hyperparameter_update="slice"),
    "collapsed hmc": classifier(hyperparameter_update="hmc"),
    "Metropolis": classifier(hyperparameter_update=RandomWalk(0.3)),
    "probit": classifier(link="probit"),
    "softmax": three_classes("softmax"),
    "one-vs-rest": three_classes("one_vs_rest"),
    "marginal": regressor(),
    "marginal slice": regressor(hyperparameter_update="slice", mean="constant"),
    "Student-t": regressor(likelihood="student-t", mean="constant"),
    "Student-t, EP": regressor(likelihood="student-t", representation="post-ep"),
}


def arrays(model):
    """Return all draws."""
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    names = ("theta", "latent", "log_likelihood", "complete_data_log_likelihood", "moved")
    draws = {f"{name}-{i}": getattr(t, name) for i, t in enumerate(traces) for name in names}
    return draws | {f"mean-{i}": t.mean_offset() for i, t in enumerate(traces)}


def assert_same(one, other):
    one, other = arrays(one), arrays(other)
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


class Death(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def count(monkeypatch):
    """Count the iterations after the warm-up; at the number under "death" the process ends."""
    counted = {"iterations": 0, "death": None}
    iterate = LatentFunctionsGibbs.iterate

    def iterate_or_die(self):
        if counted["iterations"] == counted["death"]:
            raise Death
        counted["iterations"] += 1
        iterate(self)

    monkeypatch.setattr(LatentFunctionsGibbs, "iterate", iterate_or_die)
    monkeypatch.setattr(_checkpoint, "_SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(_checkpoint, "_SHARE_BETWEEN_SAVES", 0.0)
    return counted


@pytest.mark.parametrize("name", FITS)
def test_dead_fit_goes_on_to_the_same_draws(tmp_path, count, monkeypatch, name):
    for module in (_one_chain, _rounds):
        monkeypatch.setattr(module, "SNAPSHOT_INTERVAL", 10)
    estimator, inputs, y, options = FITS[name]
    options = {**(SHORT if name in ("post-ep", "marginal") else ONE), **options}
    chain = 12  # iterations
    options["n_draws"] = chain // options.get("thin", 1)
    whole = estimator(**options).fit(inputs, y)
    n_iterations = count["iterations"]
    # In the last chain, after its second point to continue from, and some way to the next.
    count.update(iterations=0, death=n_iterations - 1)
    with pytest.raises(Death):
        estimator(checkpoint=tmp_path / "chains", **options).fit(inputs, y)
    count.update(iterations=0, death=None)
    resumed = estimator(checkpoint=tmp_path / "chains", **options).fit(inputs, y)
    assert_same(resumed, whole)
    # Of all chains, those from iteration 10 of the last.
    assert count["iterations"] == chain - 10
    assert (resumed.predict(inputs) == whole.predict(inputs)).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_checkpoint_changes_no_draw_and_is_read_the_second_time(tmp_path, count, n_jobs):
    estimator, inputs, y, _ = classifier()
    whole = estimator(**SHORT).fit(inputs, y)
    model = estimator(checkpoint=str(tmp_path / "a" / "b"), n_jobs=n_jobs, **SHORT)
    assert_same(model.fit(inputs, y), whole)
    count["death"] = count["iterations"]
    again = clone(model).set_params(n_jobs=None).fit(inputs, y)
    assert_same(again, whole)


# A tuple of bounds that two parts of a kernel share is two tuples in its clone.
@pytest.mark.parametrize("kernel", [ConstantKernel() * RBF(), ExpSineSquared(), KERNEL])
def test_clone_of_a_kernel_is_the_same_kernel(tmp_path, kernel):
    data = X[:, :1], SIGNAL
    whole = MCMCGaussianProcessRegressor(kernel, **{**ONE, "n_draws": 110}).fit(*data)
    for options in ({"warm_start": True}, {"checkpoint": tmp_path}):
        model = MCMCGaussianProcessRegressor(kernel, **ONE, **options).fit(*data)
        if "checkpoint" in options:
            model = clone(model)
        model.set_params(kernel=clone(kernel), n_draws=110).fit(*data)
        assert_same(model, whole)


def test_more_draws_continue(tmp_path, count):
    estimator, inputs, y, _ = cox()
    options = {**ONE, "n_draws": 110}
    whole = estimator(**options).fit(inputs, y)
    for n_draws in (30, 60, 110):
        count["iterations"] = 0
        options.update(n_draws=n_draws, checkpoint=tmp_path)
        model = estimator(**options).fit(inputs, y)
    assert_same(model, whole)
    assert count["iterations"] == 110 - 50


def test_stored_seed_is_taken_where_none_is_given(tmp_path, count):
    estimator, inputs, y, _ = regressor()
    options = {**SHORT, "random_state": None, "checkpoint": tmp_path}
    count["death"] = SHORT["n_draws"] + 20
    with pytest.raises(Death):
        estimator(**options).fit(inputs, y)
    first = np.load(next(tmp_path.glob("chain-0-*/draws-*.npz")))["theta-0"]
    count["death"] = None
    model = estimator(**options).fit(inputs, y)
    np.testing.assert_array_equal(model.trace_.theta[0][: len(first)], first)
    assert_same(estimator(**options).fit(inputs, y), model)


def test_generator_as_random_state(tmp_path):
    estimator, inputs, y, _ = regressor()
    options = {**SHORT, "checkpoint": tmp_path}
    options.pop("random_state")
    state = np.random.RandomState(3)
    model = estimator(random_state=state, **options).fit(inputs, y)
    again = estimator(random_state=np.random.RandomState(3), **options).fit(inputs, y)
    assert_same(model, again)
    with pytest.raises(ValueError, match="differ from it: random_state"):
        estimator(random_state=state, **options).fit(inputs, y)  # has moved on


def test_collapsed_mean_offset(tmp_path):
    model = LatentGaussianModel(
        ConstantKernel(1.0, (0.1, 10.0)) * RBF(1.0, (0.1, 10.0)),
        X,
        Gaussian(SIGNAL, noise_variance=0.1),
        mean="constant",
        priors={"mean": stats.norm(0.0, 1.0)},
        collapse_mean=True,
    )
    settings = SamplerSettings(n_warmup=5, n_draws=60, representation="marginal")
    checkpoint = Checkpoint(tmp_path, {"X": "hash"})
    runs = [
        run_groups([[model]], settings, n_chains=2, random_state=0, checkpoint=c)[0][0]
        for c in (None, checkpoint, checkpoint)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.theta, runs[0].theta)
        np.testing.assert_array_equal(run.collapsed_mean, runs[0].collapsed_mean)


def test_every_chain_starts_anew_where_no_point_can_be_kept(tmp_path, monkeypatch, count):
    monkeypatch.setattr("skgpmcmc._covariance._base.Covariance.rebuild", lambda self, current: None)
    estimator, inputs, y, _ = cox()
    whole = estimator(**ONE).fit(inputs, y)
    count.update(iterations=0, death=58)
    with pytest.raises(Death):
        estimator(checkpoint=tmp_path, **ONE).fit(inputs, y)
    count.update(iterations=0, death=None)
    assert_same(estimator(checkpoint=tmp_path, **ONE).fit(inputs, y), whole)
    assert count["iterations"] == 60


# Refusals

BASE = {**SHORT, "n_draws": 8, "n_chains": 1}
WEIGHTS = np.arange(12.0) + 1.0


def refusal(path, *data, estimator=MCMCGaussianProcessClassifier, **options):
    with pytest.raises(ValueError, match="checkpoint") as error:
        estimator(checkpoint=path, **{**BASE, **options}).fit(*data)
    return str(error.value)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A directory with the chains of a classifier."""
    path = tmp_path_factory.mktemp("chains")
    MCMCGaussianProcessClassifier(KERNEL, checkpoint=path, **BASE).fit(X, SIGNAL > 0.0)
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": X + 1e-12}, "X"),
        ({"y": SIGNAL > 0.6}, "y, sample_weight, trials, exposure or noise_variance"),
        ({"kernel": KERNEL + KERNEL}, "kernel"),
        ({"mean": "constant"}, "mean"),
        ({"mean": "constant", "X": X + 1.0, "random_state": 1}, "mean; X; random_state"),
        (
            {"X": X + 1.0, "y": SIGNAL > 0.6},
            "X; y, sample_weight, trials, exposure or noise_variance",
        ),
        ({"n_warmup": 7}, "n_warmup"),
        (
            {"n_warmup": 7, "y": SIGNAL > 0.6},
            "n_warmup; y, sample_weight, trials, exposure or noise_variance",
        ),
        ({"n_chains": 2}, "n_chains"),
        ({"thin": 2}, "thin"),
        ({"random_state": 1}, "random_state"),
        ({"priors": {"k2__length_scale": stats.lognorm(1.0)}}, "priors"),
        ({"priors": {"k2__length_scale": stats.lognorm(1.0)}, "thin": 2}, "thin; priors"),
        ({"hyperparameter_update": RandomWalk(0.3)}, "hyperparameter_update"),
        ({"representation": "surr-site"}, "representation"),
    ],
)
def test_other_fits_are_refused(saved, change, words):
    options = {"X": X, "y": SIGNAL > 0.0, "kernel": KERNEL} | change
    before = {path: path.read_bytes() for path in saved.rglob("*.*")}
    message = refusal(saved, options.pop("X"), options.pop("y"), **options)
    assert message.startswith(f"checkpoint={str(saved)!r} has the chains of another fit: ")
    assert f"these differ from it: {words}. Pass the same values, or another directory" in message
    assert before == {path: path.read_bytes() for path in saved.rglob("*.*")}


def test_another_estimator_is_refused(saved):
    message = refusal(saved, X, SIGNAL, estimator=MCMCGaussianProcessRegressor, kernel=KERNEL)
    assert "these differ from it: the estimator. Pass" in message


@pytest.mark.parametrize("change", [{"mean": "constant"}, {"alpha": 0.5}, {"normalize_y": True}])
def test_parameters_that_change_what_is_made_of_y_are_named_alone(tmp_path, change):
    MCMCGaussianProcessRegressor(checkpoint=tmp_path, **BASE).fit(X, SIGNAL)
    options = {"estimator": MCMCGaussianProcessRegressor} | change
    message = refusal(tmp_path, X, SIGNAL, **options)
    assert f"these differ from it: {next(iter(change))}. Pass" in message


@pytest.mark.parametrize(
    ("estimator", "y", "name", "value"),
    [
        (MCMCCoxProcessRegressor, COUNTS, "exposure", WEIGHTS),
        (MCMCGaussianProcessRegressor, SIGNAL, "sample_weight", WEIGHTS),
        (MCMCGaussianProcessClassifier, SIGNAL > 0.0, "trials", WEIGHTS.astype(int)),
    ],
)
def test_other_weights_are_refused(tmp_path, estimator, y, name, value):
    options = {**BASE, "checkpoint": tmp_path}
    estimator(**options).fit(X, y, **{name: value})
    estimator(**options).fit(X, y, **{name: list(value)})
    for other in (None, value + 1):
        with pytest.raises(
            ValueError, match="y, sample_weight, trials, exposure or noise_variance"
        ):
            estimator(**options).fit(X, y, **{name: other})


def copied(saved, to):
    for path in saved.rglob("*.*"):
        target = to / path.relative_to(saved)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    return to


def edit(path, **changes):
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize("package", ["skgpmcmc", "numpy", "scipy", "scikit-learn", "Python"])
def test_other_versions_are_refused(saved, tmp_path, package):
    path = copied(saved, tmp_path)
    edit(path / "checkpoint.json", **{f"version of {package}": "0.1.2"})
    message = refusal(path, X, SIGNAL > 0.0, kernel=KERNEL)
    assert f"these differ from it: version of {package} (was 0.1.2). Pass" in message
    # What else is compared may be another because of the version.
    edit(path / "checkpoint.json", X="hash of another version")
    assert refusal(path, X, SIGNAL > 0.0, kernel=KERNEL) == message


def test_fewer_draws_are_refused(saved):
    message = refusal(saved, X, SIGNAL > 0.0, kernel=KERNEL, n_draws=7)
    assert message.startswith(
        "n_draws=7 must be at least 8, the draws that a chain has in the checkpoint"
    )


def test_copied_directory_is_taken(saved, tmp_path, count):
    count["death"] = 0
    options = {**BASE, "checkpoint": copied(saved, tmp_path)}
    MCMCGaussianProcessClassifier(KERNEL, **options).fit(X, SIGNAL > 0.0)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: (path / "checkpoint.json").write_text("{"), "cannot be read"),
        (lambda path: (path / "checkpoint.json").write_text("[]"), "cannot be read"),
        (lambda path: edit(path / "checkpoint.json", entropy="x"), "cannot be read"),
        (lambda path: edit(path / "checkpoint.json", format=99), "its format is 99, not 4"),
    ],
)
def test_damaged_descriptions(saved, tmp_path, damage, words):
    path = copied(saved, tmp_path)
    damage(path)
    message = refusal(path, X, SIGNAL > 0.0, kernel=KERNEL)
    assert words in message
    assert message.endswith("or delete this one to start afresh.")


def truncate(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"x"),
    ],
)
@pytest.mark.parametrize("pattern", ["chain-0-*/state.npz", "chain-0-*/draws-*.npz"])
def test_damaged_chains(saved, tmp_path, count, pattern, damage):
    (file,) = copied(saved, tmp_path).glob(pattern)
    damage(file)
    if not file.exists() and file.stem == "state":  # as if the chain had not been saved
        MCMCGaussianProcessClassifier(KERNEL, checkpoint=tmp_path, **BASE).fit(X, SIGNAL > 0.0)
        assert count["iterations"] == BASE["n_draws"]
        return
    message = refusal(tmp_path, X, SIGNAL > 0.0, kernel=KERNEL)
    assert f"{str(file.parent)!r} is damaged (" in message
    assert "Delete that directory: its chain begins anew, to the same draws." in message
    assert "pickle" not in message
    if file.exists():
        assert f"is damaged ({file.name} holds no plain arrays). Delete" in message


def test_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    message = refusal(tmp_path, X, SIGNAL > 0.0)
    assert message.startswith("checkpoint must be a directory that is new, empty or has")
    assert message.endswith(f"got {str(tmp_path)!r}, which has other files.")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_files_that_were_being_written_at_death_are_no_obstacle(tmp_path):
    (tmp_path / "checkpoint.json.12.part").write_text("{")
    model = MCMCGaussianProcessClassifier(checkpoint=tmp_path, **BASE).fit(X, SIGNAL > 0.0)
    (tmp_path / "state.npz.12.part").write_text("{")
    again = MCMCGaussianProcessClassifier(checkpoint=tmp_path, **BASE).fit(X, SIGNAL > 0.0)
    assert_same(model, again)


@pytest.mark.parametrize("below", ["", "further"])
def test_file_in_place_of_the_directory_is_refused(tmp_path, below):
    (tmp_path / "file").touch()
    message = refusal(tmp_path / "file" / below, X, SIGNAL > 0.0)
    assert "cannot be written to (" in message
    assert message.endswith("Pass another directory, or None.")


class AsBytes:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return os.fsencode(self.path)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "", AsBytes(""), "~nobody-of-this-name/x"])
def test_what_names_no_directory_is_refused(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    message = refusal(value, X, SIGNAL > 0.0)
    assert message.startswith("checkpoint must be the path of a directory; got ")
    assert message.endswith("Pass a directory that is new, or None.")
    assert list(tmp_path.iterdir()) == []


def test_working_directory_that_is_gone_is_named(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    message = refusal("chains", X, SIGNAL > 0.0)
    assert message.startswith("checkpoint must be the path of a directory; got 'chains' (")
    monkeypatch.undo()


@pytest.mark.parametrize("kind", [str, Path, AsBytes])
def test_home_directory(tmp_path, monkeypatch, kind):
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    options = {"checkpoint": kind("~/chains"), **BASE}
    MCMCGaussianProcessClassifier(**options).fit(X, SIGNAL > 0.0)
    assert (home / "chains" / "checkpoint.json").exists()
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("value", [3, True, 1.5, b"bytes"])
def test_other_types_are_refused(value):
    with pytest.raises(
        ValueError, match=r"'checkpoint' parameter of MCMC.* must be an instance of"
    ):
        MCMCGaussianProcessClassifier(checkpoint=value, **BASE).fit(X, SIGNAL > 0.0)


def test_functions_that_cannot_be_pickled_are_refused(tmp_path):
    message = refusal(tmp_path, X, SIGNAL > 0.0, hyperparameter_update=lambda theta, rng: theta)
    assert "can be pickled" in message
    assert "got others for hyperparameter_update. Define functions and classes in a" in message
    assert not list(tmp_path.iterdir())


# Other uses


def test_search_with_one_checkpoint_says_why_not(tmp_path):
    model = MCMCGaussianProcessClassifier(checkpoint=tmp_path, **BASE)
    search = GridSearchCV(model, {"kernel": [None, KERNEL]}, cv=2, refit=False)
    with pytest.warns(
        FitFailedWarning, match="Inside a search or cross-validation use checkpoint=None"
    ):
        search.fit(X, np.arange(12) % 2)
    assert np.isfinite(search.cv_results_["split0_test_score"][0])


def test_estimators_with_a_checkpoint_are_ordinary(tmp_path):
    model = MCMCGaussianProcessClassifier(checkpoint=tmp_path, **BASE)
    assert model.get_params()["checkpoint"] is tmp_path
    assert clone(model).checkpoint == tmp_path
    model.fit(X, SIGNAL > 0.0)
    again = pickle.loads(pickle.dumps(model))
    assert_same(again, model)
    assert_same(clone(again).fit(X, SIGNAL > 0.0), model)


def test_relative_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = MCMCGaussianProcessClassifier(checkpoint="chains", **BASE).fit(X, SIGNAL > 0.0)
    monkeypatch.chdir("/")
    path = tmp_path / "chains"
    again = MCMCGaussianProcessClassifier(checkpoint=path, **BASE).fit(X, SIGNAL > 0.0)
    assert_same(model, again)


class TestWarmStart:
    def fit(self, n_draws, model=None, **options):
        if model is None:
            model = MCMCGaussianProcessClassifier(warm_start=True, n_chains=2, n_warmup=4)
        return model.set_params(n_draws=n_draws, **options).fit(X, SIGNAL > 0.0)

    def test_draws_go_to_the_checkpoint(self, tmp_path, count):
        model = self.fit(60, random_state=0)
        self.fit(70, model, checkpoint=tmp_path)
        count.update(iterations=0)
        other = self.fit(80, random_state=0, checkpoint=tmp_path)
        assert count["iterations"] == 2 * (80 - 50)
        assert_same(other, self.fit(80, random_state=0))

    def test_draws_come_from_the_checkpoint(self, tmp_path, count):
        self.fit(80, random_state=0, checkpoint=tmp_path)
        model = self.fit(20, random_state=0)
        count["death"] = count["iterations"]
        assert self.fit(80, model, checkpoint=tmp_path).trace_.n_draws == 80

    def test_chains_of_another_seed_are_refused(self, tmp_path):
        self.fit(10, random_state=1, checkpoint=tmp_path)
        for seed in (0, None):
            model = self.fit(10, random_state=seed)
            with pytest.raises(ValueError, match="differ from it: random_state"):
                # The second fit's random_state does not matter: the chains have theirs.
                self.fit(20, model, random_state=1, checkpoint=tmp_path)

    def test_same_seed_without_a_number(self, tmp_path):
        model = self.fit(10)
        self.fit(20, model, checkpoint=tmp_path)
        theta = self.fit(30, model).trace_.theta
        np.testing.assert_array_equal(theta, self.fit(30, checkpoint=tmp_path).trace_.theta)


def test_fit_goes_on_where_draws_cannot_be_written(tmp_path, monkeypatch, count):
    whole = MCMCGaussianProcessClassifier(**SHORT).fit(X, SIGNAL > 0.0)
    full = {"disk": True}
    save = _checkpoint.save_arrays

    def save_if_room(file, arrays):
        if full["disk"]:
            raise OSError(28, "No space left on device")
        save(file, arrays)

    monkeypatch.setattr(_checkpoint, "save_arrays", save_if_room)
    model = MCMCGaussianProcessClassifier(checkpoint=tmp_path, **SHORT)
    with pytest.warns(UserWarning, match="checkpoint: the last draws of chain 1 and 2") as caught:
        model.fit(X, SIGNAL > 0.0)
    assert_same(model, whole)
    (text,) = [str(w.message) for w in caught if w.category is UserWarning]
    assert "could not be written ([Errno 28] No space left on device). This fit has them" in text
    assert not list(tmp_path.rglob("draws-*"))
    full["disk"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "The chains have not converged")
        assert_same(model.fit(X, SIGNAL > 0.0), whole)
    assert list(tmp_path.rglob("draws-*"))


def test_directory_that_is_deleted_during_the_fit(tmp_path, monkeypatch, count):
    whole = MCMCGaussianProcessClassifier(**SHORT).fit(X, SIGNAL > 0.0)
    path = tmp_path / "chains"
    run = _workers.run_chain

    def delete_and_run(*args):
        (path / "checkpoint.json").unlink(missing_ok=True)
        path.rmdir() if path.exists() else None
        return run(*args)

    monkeypatch.setattr(_workers, "run_chain", delete_and_run)
    model = MCMCGaussianProcessClassifier(checkpoint=path, **SHORT)
    with pytest.warns(UserWarning, match="could not be written .*No such file or directory"):
        assert_same(model.fit(X, SIGNAL > 0.0), whole)


def test_two_fits_at_once_do_each_other_no_harm(tmp_path, count):
    """The second begins, and ends, when the first is somewhere in its last chain."""
    options = {**SHORT, "checkpoint": tmp_path}
    whole = MCMCGaussianProcessClassifier(**SHORT).fit(X, SIGNAL > 0.0)
    iterate = LatentFunctionsGibbs.iterate
    others = []

    def fit_another(self):
        if count["iterations"] == count["other"]:
            count["other"] = None
            others.append(MCMCGaussianProcessClassifier(**options).fit(X, SIGNAL > 0.0))
        iterate(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LatentFunctionsGibbs, "iterate", fit_another)
        count["other"] = count["iterations"] + 60 + 53
        first = MCMCGaussianProcessClassifier(**options).fit(X, SIGNAL > 0.0)
    assert len(others) == 1
    count["death"] = count["iterations"]
    for model in (first, *others, MCMCGaussianProcessClassifier(**options).fit(X, SIGNAL > 0.0)):
        assert_same(model, whole)


class Halved(RBF):
    """A kernel of the user's."""

    def __call__(self, X, Y=None, eval_gradient=False):
        value = super().__call__(X, Y, eval_gradient)
        return (0.5 * value[0], 0.5 * value[1]) if eval_gradient else 0.5 * value

    def diag(self, X):
        return np.full(len(X), 0.5)


def fit_with_own_kernel(path):
    """Fit with a kernel and priors that are made anew in every process."""
    kernel = Halved(1.0, (0.1, 10.0)) + ConstantKernel(1.0, (0.1, 10.0))
    priors = {"k1__length_scale": stats.truncnorm(0.0, 3.0, 1.0, 2.0)}
    proposal = RandomWalk(0.3)
    model = MCMCGaussianProcessClassifier(
        kernel, priors=priors, hyperparameter_update=proposal, checkpoint=path, **BASE
    )
    return model.fit(X, SIGNAL > 0.0)


@pytest.mark.second_stage
def test_another_process_knows_the_fit(tmp_path):
    model = fit_with_own_kernel(tmp_path)
    script = "import test_checkpoint as t; t.LatentFunctionsGibbs.iterate = None; "
    script += f"print(t.fit_with_own_kernel({str(tmp_path)!r}).trace_.theta.tolist())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == model.trace_.theta.tolist()
