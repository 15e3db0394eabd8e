"""Nothing runs code from data, reaches for a network, or is left behind."""

import ast
import importlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.estimators._pickling import from_plain, to_plain
from skgpmcmc.priors import HyperPrior

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "skgpmcmc").rglob("*.py"))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# ---------------------------------------------------------------- the source

BUILTINS = {"eval", "exec", "compile", "__import__"}
MODULES = {
    *("pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "runpy", "importlib"),
    *("subprocess", "pty", "ctypes", "cffi"),
    *("socket", "socketserver", "ssl", "http", "urllib", "urllib3", "requests", "ftplib"),
    *("smtplib", "xmlrpc", "asyncio", "webbrowser"),
}
#: Parts of those modules that read no data and run nothing.
HARMLESS = {("pickle", "PicklingError"), ("importlib.resources", "files")}
ATTRIBUTES = {"eval", "system", "popen", "posix_spawn", "fork", "read_pickle", "to_pickle"}
ATTRIBUTES |= {f"{kind}{end}" for kind in ("exec", "spawn") for end in ("v", "ve", "vp", "l", "le")}
# Of joblib, which may run chains, but not read files.
OF_JOBLIB = {"load", "dump"}


def dangers(source):
    """Return what a source could run code, or reach for a network, with."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if is_danger(node)]


def is_danger(node):
    if isinstance(node, ast.Name):
        return node.id in BUILTINS
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        module = "" if node.level else node.module
        taken = {(module, name) for name in names} - HARMLESS
        root = module.split(".")[0]
        return bool(taken) and (
            root in MODULES
            or (root == "os" and bool(names & ATTRIBUTES))
            or (root == "joblib" and bool(names & OF_JOBLIB))
        )
    if isinstance(node, ast.Attribute):
        of_joblib = isinstance(node.value, ast.Name) and node.value.id == "joblib"
        return node.attr in ATTRIBUTES or (of_joblib and node.attr in OF_JOBLIB)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load"):
        return "allow_pickle" not in {keyword.arg for keyword in node.keywords}
    if isinstance(node, ast.keyword):
        refused = isinstance(node.value, ast.Constant) and node.value.value is False
        return node.arg == "allow_pickle" and not refused
    return False


def test_source_runs_no_code_from_data():
    assert len(SOURCES) > 100
    found = {path.name: dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "run = exec",
        "import pickle",
        "import os, urllib.request as u",
        "def f():\n    from pickle import loads",
        "from pickle import PicklingError, loads",
        "from os import system",
        "os.system('ls')",
        "os.execv('ls', [])",
        "from joblib import Parallel, load",
        "joblib.load('file')",
        "frame.eval('a + b')",
        "pd.read_pickle('file')",
        "np.load('file')",
        "np.load('file', allow_pickle=True)",
        "load('file', allow_pickle=trusted)",
        "from importlib import import_module",
        "from http.client import HTTPConnection",
    ],
)
def test_check_of_the_source_reports(source):
    assert len(dangers(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import re\nre.compile('a')",
        "from joblib import Parallel\njoblib.hash(1)",
        "from .socket import x",
        "from pickle import PicklingError",
        "np.load('file', allow_pickle=False)",
    ],
)
def test_check_of_the_source_accepts(source):
    assert dangers(source) == []


# ---------------------------------------------------------------- checkpoints


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("victim", ["state.npz", "draws-*.npz"])
@pytest.mark.parametrize("is_npz", [True, False])
def test_pickles_in_place_of_a_checkpoint_are_refused(tmp_path, monkeypatch, victim, is_npz):
    monkeypatch.chdir(tmp_path)
    X, y = np.arange(6.0)[:, np.newaxis], np.arange(6.0)
    options = {"n_chains": 2, "n_warmup": 2, "n_draws": 60, "random_state": 0}
    model = MCMCGaussianProcessRegressor(checkpoint="chains", **options).fit(X, y)
    (file,) = Path("chains").glob(f"chain-1-*/{victim}")
    if is_npz:
        names = np.load(file, allow_pickle=False).files
        np.savez(file, **{name: np.array([Bomb()], dtype=object) for name in names})
    else:
        file.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=r"chain-1-\w+' is damaged .* Delete that directory"):
        model.fit(X, y)
    assert not Path("exploded").exists()
    pickle.loads(pickle.dumps(Bomb()))  # that it would have
    assert Path("exploded").exists()


# ---------------------------------------------------------------- files of skops

SHORT = {"n_chains": 2, "n_warmup": 8, "n_draws": 10, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (24, 2))
SIGNAL = np.sin(X[:, 0]) + X[:, 1]
CELLS = np.stack(np.meshgrid(np.arange(6.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
COUNTS = RNG.poisson(3.0, 24)
THREE = np.array(["a", "b", "c"])[np.digitize(SIGNAL, [-0.5, 0.5])]


def classifier(**options):
    return MCMCGaussianProcessClassifier(**SHORT, **options)


def regressor(**options):
    return MCMCGaussianProcessRegressor(**SHORT, **options)


def cox(**options):
    return MCMCCoxProcessRegressor(**SHORT, **options)


KERNEL = ConstantKernel() * RBF([1.0, 1.0])
PRIORS = {"k2__length_scale": [stats.lognorm(1.0, scale=2.0), stats.weibull_min(2.0)]}
FITS = {
    "two classes": (classifier(), X, SIGNAL > 0.0),
    "probit": (classifier(link="probit", representation="surr-site"), X, SIGNAL > 0.0),
    "three classes": (classifier(), X, THREE),
    "softmax": (classifier(multi_class="softmax", mean="constant"), X, THREE),
    "regression": (regressor(normalize_y=True), X, SIGNAL),
    "priors": (regressor(kernel=KERNEL, priors=PRIORS, alpha=0.1), X, SIGNAL),
    "student-t": (regressor(likelihood="student-t"), X, SIGNAL),
    "counts": (cox(), X, COUNTS),
    "negative binomial": (cox(likelihood="negative-binomial"), X, COUNTS),
    "grid": (cox(representation="joint-post"), CELLS, COUNTS),
    "grid with gaps": (cox(representation="joint-post"), CELLS[1:], COUNTS[1:]),
}


def is_public(name):
    """Whether a type can be imported from a module without an underscore in its name."""
    module, kind = name.rsplit(".", 1)
    parts = module.split(".")
    public = next((n for n, part in enumerate(parts) if part.startswith("_")), len(parts))
    if parts[0] not in ("skgpmcmc", "sklearn", "scipy", "numpy") or kind.startswith("_"):
        return False
    places = [importlib.import_module(".".join(parts[: n + 1])) for n in range(public)]
    itself = getattr(importlib.import_module(module), kind)
    return any(getattr(place, kind, None) is itself for place in places)


def test_check_of_types_can_fail():
    assert is_public("skgpmcmc.estimators._cox.MCMCCoxProcessRegressor")
    assert is_public("sklearn.gaussian_process.kernels.RBF")
    assert not is_public("skgpmcmc._sampling._chain.ChainSnapshot")
    assert not is_public("scipy.stats._distn_infrastructure.rv_continuous_frozen")
    assert not is_public("functools.partial")


@pytest.mark.parametrize("name", FITS)
def test_skops_holds_public_types_alone_and_gives_the_same_model(name):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    estimator, rows, y = FITS[name]
    model = estimator.fit(rows, y)
    data = io.dumps(model)
    untrusted = io.get_untrusted_types(data=data)
    assert [kind for kind in untrusted if not is_public(kind)] == []
    loaded = io.loads(data, trusted=untrusted)
    for method in ("predict", "predict_interval", "predict_latent"):
        expected = getattr(model, method)(rows)
        np.testing.assert_array_equal(getattr(loaded, method)(rows), expected)
    np.testing.assert_array_equal(
        loaded.sample_y(rows, 2, random_state=0), model.sample_y(rows, 2, random_state=0)
    )
    np.testing.assert_array_equal(
        loaded.log_predictive_density(rows, y), model.log_predictive_density(rows, y)
    )
    assert str(loaded.summary()) == str(model.summary())
    more = {"warm_start": True, "n_draws": 14}
    for one, other in zip(
        *(np.ravel(m.set_params(**more).fit(rows, y).trace_) for m in (loaded, model)), strict=True
    ):
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_array_equal(one.latent, other.latent)


FAMILIES = [
    stats.lognorm(1.0, scale=2.0),
    stats.uniform(0.5, 2.0),
    stats.weibull_min(2.0, 0.0, 3.0),
    stats.gamma(a=np.float64(2.0)),
    stats.t(3.0),
]


@pytest.mark.parametrize("distribution", FAMILIES, ids=lambda d: d.dist.name)
def test_priors_come_back(distribution):
    log_scale = distribution.support()[0] >= 0.0
    prior = HyperPrior(distribution, log_scale=log_scale, bounds=(0.6, 2.0), name="a")
    back = from_plain(to_plain({"priors": [prior, prior]}))["priors"]
    assert back[0] is back[1]
    assert repr(back[0]) == repr(prior)
    for value in np.linspace(*prior.support, 5):
        assert back[0].log_density(value) == prior.log_density(value)
    assert back[0].quantile(0.3) == prior.quantile(0.3)


class Own(stats.rv_continuous):
    def _pdf(self, x):
        return 2.0 * x


def test_distributions_that_are_not_scipys_own_are_left_alone():
    cut = type(stats.norm)(name="norm", a=-1.0, b=1.0)()
    for distribution in (Own(a=0.0, b=1.0, name="norm")(), cut):
        assert to_plain([distribution])[0] is distribution


@pytest.mark.parametrize(
    "state",
    [
        {"skgpmcmc": "Popen", "fields": {"args": "ls"}},
        {"skgpmcmc": "distribution", "fields": {"name": "rv_histogram", "args": (), "kwds": {}}},
        {"skgpmcmc": "distribution", "fields": {"name": "__doc__", "args": (), "kwds": {}}},
    ],
)
def test_states_with_names_of_other_things_are_refused(state):
    with pytest.raises(ValueError, match="the state of the estimator has"):
        from_plain({"trace_": [state]})


# ---------------------------------------------------------------- networks and files


def watched(*arguments, **options):
    """Run fits in a process of their own; return what they print."""
    environment = {"PYTHONPATH": str(ROOT), **os.environ, **options.pop("environment", {})}
    result = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "project" / "watched_fit.py"), *arguments],
        env=environment, capture_output=True, text=True, timeout=300, check=False, **options,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.second_stage
def test_no_network_is_reached_for():
    pytest.importorskip("matplotlib")
    watched("offline")


@pytest.mark.second_stage
def test_no_files_are_left_but_those_of_the_checkpoint(tmp_path):
    temporary, home, here = (tmp_path / name for name in ("temporary", "home", "here"))
    for directory in (temporary, home, here):
        directory.mkdir()
    names = ("TMPDIR", "TEMP", "TMP", "JOBLIB_TEMP_FOLDER")
    environment = dict.fromkeys(names, str(temporary)) | {"HOME": str(home)}
    seen = watched("files", str(temporary), environment=environment, cwd=here)
    assert "joblib_memmapping_folder" not in seen  # X went to the workers by their pipes
    assert list(temporary.iterdir()) == []
    assert list(home.iterdir()) == []
    left = [path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file()]
    pattern = r"chains/(checkpoint\.json|chain-[01]-[0-9a-f]+/(state|draws-[0-9]+-[0-9]+)\.npz)"
    assert [name for name in left if not re.fullmatch(pattern, name)] == []
    assert "chains/checkpoint.json" in left
