"""Run the chains of an estimator: continued, on disk, with progress."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import joblib
import numpy
import scipy
import sklearn

from .._checkpoint import Checkpoint, checkpoint_directory
from .._model import LatentGaussianModel
from .._progress import Bar, Lines, terminal_progress
from .._sampler import run_groups
from .._settings import SamplerSettings
from .._version import __version__
from ..trace import Trace
from ._callbacks import ChainTasks, chain_tasks
from ._warm_start import Continuation


def run_chains_of(
    estimator: Any,
    models: Sequence[Sequence[LatentGaussianModel]],
    settings: SamplerSettings,
) -> list[list[Trace]]:
    """Run all chains of a fit, and set what a later fit can continue.

    Parameters
    ----------
    estimator : estimator
        Its parameters say how; `_continuation` is set.
    models : sequence of sequence of LatentGaussianModel
        See `run_groups`.
    settings : SamplerSettings
        How the chains run.

    Returns
    -------
    traces : list of list of Trace
        See `run_groups`.
    """
    continuation = Continuation.of(estimator, models)
    previous = continuation.previous(estimator) if estimator.warm_start else None
    n_chains = estimator.n_chains * len(models)
    listeners: list[Lines | Bar | ChainTasks] = [*chain_tasks(estimator, n_chains)]
    if estimator.verbose:
        n_at_once = min(joblib.effective_n_jobs(estimator.n_jobs), n_chains)
        listeners.append(terminal_progress(n_chains, n_at_once))
    try:
        traces = run_groups(
            models,
            settings,
            n_chains=estimator.n_chains,
            random_state=estimator.random_state,
            n_jobs=estimator.n_jobs,
            previous=previous,
            checkpoint=_checkpoint(estimator.checkpoint, continuation),
            listeners=listeners,
            verbose=max(int(estimator.verbose) - 1, 0),
        )
    finally:
        for listener in listeners:
            listener.close()
    estimator._continuation = continuation
    return traces


def _checkpoint(path: Any, continuation: Continuation) -> Checkpoint | None:
    if path is None:
        return None
    versions = {
        "version of skgpmcmc": __version__,
        "version of numpy": numpy.__version__,
        "version of scipy": scipy.__version__,
        "version of scikit-learn": sklearn.__version__,
        "version of joblib": joblib.__version__,
        "version of Python": ".".join(platform.python_version_tuple()[:2]),
    }
    directory = checkpoint_directory(path)
    prints = continuation.portable()
    # Another version may take the same for something else.
    depends = {name: continuation.depends(name) | versions.keys() for name in prints}
    return Checkpoint(directory, versions | prints, depends)
