"""What passes between the comparison and the packages, each in a process of its own.

Imports NumPy alone: the environment of a peer need not hold anything of ours.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

#: For the environment of a process, before it imports anything.
ONE_THREAD = dict.fromkeys(
    [
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ],
    "1",
) | {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
# CPU seconds for each second that passed, above which more than one thread was at work.
_MOST_BUSY = 1.1


@dataclass(frozen=True)
class Problem:
    """A posterior: f ~ N(mean, K) with an ARD squared exponential K.

    Attributes
    ----------
    name : str
        What it is called.
    X : ndarray of shape (n, D)
        Inputs.
    y : ndarray of shape (n,)
        Labels -1 and +1, targets, or counts.
    likelihood : {"logit", "gaussian", "poisson"}
        Of y given f.
    variance, length_scale : tuple of float
        Bounds of the log-uniform priors of the signal variance and each length scale.
    jitter : float
        The diagonal of K is the variance times 1 + this.
    noise_variance : float, optional
        Of the Gaussian likelihood; known.
    mean : tuple of float, optional
        Location and standard deviation of the normal prior of the mean; zero without.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    likelihood: str
    variance: tuple[float, float]
    length_scale: tuple[float, float]
    jitter: float
    noise_variance: float | None = None
    mean: tuple[float, float] | None = None

    @property
    def names(self) -> list[str]:
        """Names of theta."""
        scales = [f"log_length_scale[{d}]" for d in range(self.X.shape[1])]
        return ["log_variance", *scales, *(["mean"] if self.mean else [])]

    def save(self, path: Path) -> None:
        """Write it to a file."""
        settings = {k: v for k, v in vars(self).items() if not isinstance(v, np.ndarray)}
        np.savez(path, X=self.X, y=self.y, settings=json.dumps(settings))

    @classmethod
    def load(cls, path: Path) -> Problem:
        """Read it from a file."""
        with np.load(path) as file:
            settings = json.loads(str(file["settings"]))
            # JSON has no tuples.
            settings = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
            return cls(X=file["X"], y=file["y"], **settings)


@dataclass(frozen=True)
class Lengths:
    """How long the chains of a run are, and how many; None is the package's default."""

    n_warmup: int | None = None
    n_draws: int | None = None
    n_chains: int | None = None

    def given(self) -> dict[str, int]:
        """Return those that are not left to the package."""
        return {name: n for name, n in asdict(self).items() if n is not None}


@dataclass
class Run:
    """What a package drew from a posterior, and what it cost.

    Attributes
    ----------
    theta : ndarray of shape (n_chains, n_draws, n_parameters)
        Log variance, log length scales, and the mean offset, where there is one.
    warmup_seconds, seconds : ndarray of shape (n_chains,)
        CPU time of warm-up and of sampling. Compilation is in neither.
    evaluations : float
        Gradients, or covariance matrices where there are none, while sampling.
    n_warmup : int
        Iterations of warm-up.
    whitened : ndarray of shape (n_chains, n_draws, n), optional
        v of f = mean + L v, with L the Cholesky factor of K; without, f was integrated out.
    complete_data_log_likelihood : ndarray of shape (n_chains, n_draws), optional
        Where the package records it itself.
    divergences : int
        Draws at the end of trajectories that left the level of energy.
    setup_seconds : float
        CPU time of compilation and of whatever else precedes the warm-up.
    versions : dict
        Of the packages involved.
    """

    theta: np.ndarray
    warmup_seconds: np.ndarray
    seconds: np.ndarray
    evaluations: float
    n_warmup: int
    whitened: np.ndarray | None = None
    complete_data_log_likelihood: np.ndarray | None = None
    divergences: int = 0
    setup_seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write it to a file."""
        values = {key: value for key, value in vars(self).items() if value is not None}
        values["versions"] = json.dumps(self.versions)
        np.savez(path, **values)

    @classmethod
    def load(cls, path: Path) -> Run:
        """Read it from a file."""
        with np.load(path) as file:
            values: dict[str, Any] = {key: file[key] for key in file.files}
        values = {key: v.item() if v.ndim == 0 else v for key, v in values.items()}
        return cls(**values | {"versions": json.loads(values["versions"])})


def stack_draws(chains: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return `theta`, and `whitened` where there is one, from the draws of each chain by name."""
    draws = {name: np.stack([chain[name] for chain in chains]) for name in chains[0]}
    columns = [draws["log_variance"][..., np.newaxis], draws["log_length_scale"]]
    if "mean" in draws:
        columns.append(draws["mean"][..., np.newaxis])
    stacked = {"theta": np.concatenate(columns, axis=-1)}
    return stacked | ({"whitened": draws["white"]} if "white" in draws else {})


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function returns, and its CPU seconds; it must not use two threads."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if cpu > _MOST_BUSY * wall + 0.5:
        raise RuntimeError(
            f"more than one thread was at work: {cpu:.1f} CPU seconds in {wall:.1f} seconds. "
            "Run it through `python -m benchmarks.peers`, which sets the environment."
        )
    return result, cpu


def serve(sample: Callable[[Problem, Lengths, int], Run]) -> None:
    """Run a package as a process: read the problem, sample, write the run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    for name in Lengths.__dataclass_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    options = vars(parser.parse_args())
    problem, path, seed = (options.pop(name) for name in ("problem", "run", "seed"))
    run = sample(Problem.load(problem), Lengths(**options), seed)
    run.versions = {"python": platform.python_version(), "numpy": np.__version__} | run.versions
    run.save(path)
