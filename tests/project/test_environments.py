"""The package in environments that differ from the usual one; each in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from skgpmcmc import MCMCGaussianProcessClassifier

pytestmark = pytest.mark.second_stage

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "project" / "environment_fit.py"
OPTIONAL = ["matplotlib", "arviz", "dask", "distributed", "pandas", "tqdm", "rich"]


def run(*arguments, flags=(), environment=None, cwd=ROOT, python=sys.executable):
    """Return what the script prints; fail with its errors."""
    inherited = {"PYTHONPATH": str(ROOT)} | dict(os.environ)
    result = subprocess.run(
        [python, *flags, str(SCRIPT), *arguments],
        env=inherited | (environment or {}),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def usual():
    """What the script prints in the usual environment."""
    return run()


def test_without_optional_dependencies(usual):
    assert run("1", "loky", *OPTIONAL) == usual


def test_optimised_python(usual):
    assert run(flags=["-OO"]) == usual


def test_threads_limited_before(usual):
    limits = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
    assert run(environment=limits) == usual


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_start_methods(usual, method):
    assert run("2", "multiprocessing", environment={"JOBLIB_START_METHOD": method}) == usual


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a directory that nobody can write to")
def test_read_only_working_directory(usual):
    assert run("2", "loky", cwd="/proc") == usual


def test_two_fits_in_two_threads():
    rng = np.random.default_rng(0)
    problems = [rng.standard_normal((25, 2)) for _ in range(2)]
    length = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "random_state": 0}

    def fit(X):
        return MCMCGaussianProcessClassifier(**length).fit(X, X[:, 0] > 0.0).trace_.theta

    with threadpool_limits(1):
        alone = [fit(X) for X in problems]
        together = [None, None]

        def work(i):
            together[i] = fit(problems[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_is_left_behind(tmp_path):
    run("2", environment={"TMPDIR": str(tmp_path)})
    assert not list(tmp_path.glob("skgpmcmc-*"))


def test_constraints_are_the_lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(extras[name] for name in ("plot", "arviz", "dask", "test")),
    ]
    bounds = dict(re.findall(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", str(wanted)))
    lines = (ROOT / "tests" / "project" / "oldest.txt").read_text(encoding="utf-8")
    constraints = dict(re.findall(r"^([\w-]+)==([\d.]+)$", lines, re.MULTILINE))
    # What others depend on: of scikit-learn, and a part of dask[distributed].
    implied = {"threadpoolctl": "3.1", "distributed": bounds["dask"]}
    assert constraints == bounds | implied


def interpreter(version):
    """Return an interpreter of that version; skip where there is none."""
    found = shutil.which(f"python{version}")
    if found is None or subprocess.run([found, "-c", ""], check=False).returncode:
        pytest.skip(f"there is no python{version} on the PATH")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "constraints"),
    [("3.11", True), ("3.11", False), ("3.12", False), ("3.13", False)],
    ids=["3.11, oldest", "3.11, newest", "3.12, newest", "3.13, newest"],
)
def test_versions_of_python_and_dependencies(tmp_path, version, constraints):
    """Install in a fresh virtual environment, and run the quicker test files there."""
    subprocess.run([interpreter(version), "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    options = ["-c", str(ROOT / "tests" / "project" / "oldest.txt")] if constraints else []
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [python, "-m", "pip", "install", "--quiet", *options, str(ROOT), "pytest"]
    subprocess.run(install, check=True, env=clean)
    files = [
        "statistics/test_known_values.py",
        "running/test_continuation.py",
        "estimators/test_sklearn_contract.py",
        "priors/test_priors.py",
        "inputs/test_known_troubles.py",
        "covariance/test_linalg.py",
    ]
    tests = [f"tests/{file}" for file in files]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    result = subprocess.run(
        [*command, *tests], env=clean, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout[-3000:]
