"""The packages that are compared, and how one of them is run: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .exchange import ONE_THREAD, Lengths

ROOT = Path(__file__).resolve().parents[2]
OURS = "ours"


@dataclass(frozen=True)
class Package:
    """A package and its script.

    Attributes
    ----------
    title : str
        What is compared.
    script : str
        Module of this folder.
    imports : tuple of str
        What the script needs beside NumPy.
    unit : str
        What it evaluates.
    """

    title: str
    script: str
    imports: tuple[str, ...]
    unit: str


PACKAGES = {
    OURS: Package("skgpmcmc, defaults", "ours", ("skgpmcmc",), "covariances"),
    "numpyro": Package("NumPyro, NUTS", "numpyro_nuts", ("numpyro",), "gradients"),
    "pymc": Package("PyMC, nutpie", "pymc_nutpie", ("pymc", "nutpie", "numba"), "gradients"),
}


def environment() -> dict[str, str]:
    """Return the environment of a process that finds this project, and uses one thread."""
    return os.environ | ONE_THREAD | {"PYTHONPATH": str(ROOT)}


def is_installed(package: Package, interpreter: str) -> bool:
    """Return whether an interpreter has what a package's script imports."""
    code = (
        "import sys; from importlib.util import find_spec; "
        "sys.exit(not all(map(find_spec, sys.argv[1:])))"
    )
    command = [interpreter, "-c", code, *package.imports]
    try:
        return subprocess.run(command, env=environment(), check=False).returncode == 0
    except OSError:  # There is no such interpreter.
        return False


def find_interpreters(wanted: list[str], given: dict[str, str]) -> dict[str, str]:
    """Return the interpreter of each wanted package that is installed.

    Raises
    ------
    ValueError
        If a package is missing in the interpreter that was given for it.
    """
    found = {}
    for name in wanted:
        interpreter = given.get(name, sys.executable)
        if is_installed(PACKAGES[name], interpreter):
            found[name] = interpreter
        elif name in given:
            raise ValueError(
                f"--peer {name}: {interpreter} cannot import all of "
                f"{', '.join(PACKAGES[name].imports)}. Install "
                f"benchmarks/peers/requirements-{name}.txt there."
            )
    return found


def run_package(
    name: str, interpreter: str, problem: Path, run: Path, seed: int, lengths: Lengths
) -> None:
    """Sample a problem's file with a package, into another file.

    Raises
    ------
    subprocess.CalledProcessError
        If the package fails.
    """
    command = [interpreter, "-m", f"benchmarks.peers.{PACKAGES[name].script}"]
    command += [str(problem.absolute()), str(run.absolute()), "--seed", str(seed)]
    for length, n in lengths.given().items():
        command += [f"--{length.replace('_', '-')}", str(n)]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True, preexec_fn=_use_one_core)


def _use_one_core() -> None:
    """Keep the process on one core: XLA has threads that no setting switches off."""
    if hasattr(os, "sched_setaffinity"):  # not on every system
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
