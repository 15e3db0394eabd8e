"""Run chains, each into a file of its own; what is finished is never run again."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._sampling._chain import Chain
from skgpmcmc.trace import Costs

from .machine import describe_machine
from .problems import PROBLEMS, Lengths

_SEED = 2010


@dataclass(frozen=True)
class Task:
    """One chain."""

    problem: str
    method: str
    chain: int
    n_warmup: int
    n_draws: int

    def path(self, folder: Path) -> Path:
        """Return the chain's file."""
        method = self.method.replace(" ", "_")
        name = f"{method}_chain{self.chain:02d}_{self.n_warmup}+{self.n_draws}.npz"
        return folder / self.problem / name

    def rng(self, *purpose: str) -> np.random.Generator:
        """Return the stream of this problem and chain, for one purpose."""
        key = "/".join((self.problem, str(self.chain), *purpose))
        return np.random.default_rng(np.random.SeedSequence([_SEED, zlib.crc32(key.encode())]))


def make_tasks(problem: str, methods: Sequence[str], lengths: Lengths) -> list[Task]:
    """Return the chains in the order of work: the first of every method, then the second."""
    return [
        Task(problem, method, chain, lengths.n_warmup, lengths.n_draws)
        for chain in range(lengths.n_chains)
        for method in methods
    ]


def run_tasks(tasks: Sequence[Task], folder: Path, n_jobs: int) -> int:
    """Run those chains that have no file yet; return their number."""
    missing = [task for task in tasks if not task.path(folder).exists()]
    Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="n_jobs")(
        delayed(_run_to_file)(task, folder) for task in missing
    )
    return len(missing)


def _run_to_file(task: Task, folder: Path) -> None:
    path = task.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = run_chain(task)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(unfinished, path)
    seconds = float(arrays["warmup_seconds"] + arrays["seconds"])
    print(f"{task.problem} {task.method} chain {task.chain}: {seconds:.1f} CPU s", flush=True)


def start_chain(task: Task, model: LatentGaussianModel) -> Chain:
    """Start a chain at a draw of (theta, f) from the prior.

    It depends on problem and chain alone: chain k of every method starts at the same point.
    """
    settings = replace(
        PROBLEMS[task.problem].methods[task.method], n_warmup=task.n_warmup, n_draws=task.n_draws
    )
    workspace = model.workspace()
    state = workspace.initial_state(task.rng("start"))
    return Chain(workspace, settings, task.rng("method", task.method), state)


def run_chain(task: Task) -> dict[str, np.ndarray]:
    """Run one chain on one BLAS thread; return its traces, costs, and where it ran."""
    model = PROBLEMS[task.problem].make_model()
    theta = np.empty((task.n_draws, len(model.layout)))
    log_likelihood = np.empty(task.n_draws)
    # Overflow and NaN in a proposal are rejections, not warnings.
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(all="ignore"):
        begin = Costs(seconds=time.process_time())
        chain = start_chain(task, model)
        for _ in range(task.n_warmup):
            chain.iterate()
        warm = chain.costs()
        for i in range(task.n_draws):
            chain.iterate()
            theta[i] = chain.state.theta
            log_likelihood[i] = chain.state.complete_data_log_likelihood()
        end = chain.costs()
    record: dict[str, object] = {"theta": theta, "complete_data_log_likelihood": log_likelihood}
    record |= {f"warmup_{key}": value for key, value in asdict(warm - begin).items()}
    record |= asdict(end - warm)
    record |= describe_machine()
    return {key: np.asarray(value) for key, value in record.items()}
