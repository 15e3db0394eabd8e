"""Fits in processes of their own that are interrupted or killed at random moments.

`pytest -m slow -s tests/running/test_killed_processes.py` disturbs many, and prints what came of
each.
"""

import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import disturbed_fit
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "running" / "disturbed_fit.py"

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="finds processes through /proc"
    ),
]


def moments(n, quick=None):
    """Parametrise by n seeds of random moments, of which at most one is not slow."""
    slow = pytest.mark.slow
    seeds = [pytest.param(s, marks=[] if s == quick else slow) for s in range(n)]
    return pytest.mark.parametrize("seed", seeds)


def start(output, n_jobs, *checkpoint):
    """Start a fit in a process group of its own; return when the fit has begun."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, SCRIPT, output, str(n_jobs), *checkpoint],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        # Whoever runs the tests in the background may ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "fit\n"
    return process


def end(process):
    """Wait for the end of a fit that must not fail."""
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Draws of the undisturbed fit, and how many seconds it takes with one job and with two."""
    output = tmp_path_factory.mktemp("whole") / "draws.npz"
    seconds = {}
    for n_jobs in (2, 1):
        process = start(output, n_jobs)
        began = time.monotonic()
        end(process)
        seconds[n_jobs] = time.monotonic() - began
    with np.load(output) as draws:
        return draws["theta"], draws["latent"], seconds


def wait_for_moment(whole, n_jobs, seed):
    time.sleep(np.random.default_rng([n_jobs, seed]).uniform() * whole[2][n_jobs])


def check_prefix(whole, theta, latent):
    n_draws = theta.shape[1]
    np.testing.assert_array_equal(theta, whole[0][:, :n_draws])
    np.testing.assert_array_equal(latent, whole[1][:, :n_draws])


def workers(parent):
    """Return the numbers of the processes in which chains of another process run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "stat").read_text().rpartition(")")[2].split()
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(status[1]) == parent and b"LokyProcess" in command:
            found.append(int(path.name))
    return sorted(found)


@moments(10, quick=1)
def test_interrupt(tmp_path, whole, seed):
    """Ctrl-C in a terminal, which reaches all processes, keeps draws or is an interrupt."""
    n_jobs = 1 + seed % 2
    output = tmp_path / "draws.npz"
    process = start(output, n_jobs)
    wait_for_moment(whole, n_jobs, seed)
    os.killpg(process.pid, signal.SIGINT)
    pressed = time.monotonic()
    end(process)
    took = time.monotonic() - pressed
    with np.load(output) as result:
        if "interrupt" in result:
            text = str(result["interrupt"])
            assert not text or text.startswith("stopped before every chain had kept a draw")
            outcome = "KeyboardInterrupt"
        else:
            n_draws = result["theta"].shape[1]
            check_prefix(whole, result["theta"], result["latent"])
            texts = "".join(result["warnings"])
            assert f"fit was stopped: {n_draws} of n_draws=800 draws" in texts or n_draws == 800
            assert "died" not in texts
            outcome = f"{n_draws} draws"
    print(f"Ctrl-C, n_jobs={n_jobs}: {outcome}, {took:.1f} s later")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_keeps_draws_of_chains_that_take_turns(tmp_path, n_jobs):
    """Four chains, on one core or two: all have draws when Ctrl-C comes in their midst."""
    output, checkpoint = tmp_path / "draws.npz", tmp_path / "chains"
    process = start(output, n_jobs, checkpoint, "4", "100000")
    while not list(checkpoint.glob("chain-3-*/draws-*")) and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    end(process)
    with np.load(output) as result:
        theta, latent = result["theta"], result["latent"]
        assert f"{theta.shape[1]} of n_draws=100000 draws of each" in "".join(result["warnings"])
    assert theta.shape[0] == 4
    X, y = disturbed_fit.problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trace = disturbed_fit.model(4, theta.shape[1]).fit(X, y).trace_
    np.testing.assert_array_equal(theta, trace.theta)
    np.testing.assert_array_equal(latent, trace.latent)


def saved_draws(checkpoint, whole):
    """Check all draws that are on disk; return how many of each chain there are."""
    counts = []
    for directory in sorted(checkpoint.glob("chain-*")):
        files = sorted(directory.glob("draws-*.npz"))
        number = int(directory.name.split("-")[1])
        ends = [0]
        for file in files:
            first, last = (int(n) for n in file.stem.split("-")[1:])
            with np.load(file) as draws:
                np.testing.assert_array_equal(draws["theta-0"], whole[0][number, first:last])
                np.testing.assert_array_equal(draws["latent-0"], whole[1][number, first:last])
            ends.append(last)
        counts.append(max(ends))
    return counts


@moments(20, quick=5)
def test_kill(tmp_path, whole, seed):
    """Kill all processes, or the first only: its workers write what they have meanwhile."""
    n_jobs, orphans = 1 + seed % 2, seed % 4 == 3
    checkpoint, output = tmp_path / "chains", tmp_path / "draws.npz"
    process = start(output, n_jobs, checkpoint)
    wait_for_moment(whole, n_jobs, seed)
    (os.kill if orphans else os.killpg)(process.pid, signal.SIGKILL)
    finished = process.wait(timeout=60) == 0
    before = saved_draws(checkpoint, whole)
    resumed = start(output, n_jobs, checkpoint)
    end(resumed)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # orphans that wait for another chain
    with np.load(output) as result:
        assert result["theta"].shape == whole[0].shape
        check_prefix(whole, result["theta"], result["latent"])
    after = saved_draws(checkpoint, whole)
    assert after == [800, 800]
    print(
        f"SIGKILL, n_jobs={n_jobs}, {'the first process' if orphans else 'all processes'}: "
        f"draws on disk {before}, then the same draws{' (had finished)' if finished else ''}"
    )


@moments(5)
def test_kill_of_a_worker(tmp_path, whole, seed):
    output = tmp_path / "draws.npz"
    process = start(output, 2)
    while len(workers(process.pid)) < 2 and process.poll() is None:
        time.sleep(0.01)
    # Workers take most of a second to start; the fit ends with the chains.
    time.sleep(np.random.default_rng(seed).uniform() * 0.7 * whole[2][2])
    found = workers(process.pid)
    if found:
        os.kill(found[seed % len(found)], signal.SIGKILL)
    end(process)
    with np.load(output) as result:
        assert result["theta"].shape == whole[0].shape
        check_prefix(whole, result["theta"], result["latent"])
        deaths = [text for text in result["warnings"] if "died" in text]
    assert len(deaths) <= 1
    for text in deaths:
        assert text.startswith("Chain 1"), text
        assert "(numbered from 1) died; most likely its process was killed" in text
    # Workers that wait for nothing any more may die unnoticed.
    outcome = deaths[0].partition(" died")[0] if deaths else "no chain was there"
    print(f"SIGKILL of a worker: {outcome}; all draws the same")
