"""What "auto" stands for: grids, representations, updates of the hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import has_fast_gradient, has_gradient, separable_form
from .._grid import Grid, find_grid
from .._sampling._settings import SamplerSettings
from ..likelihoods import Likelihood
from ..representations import REPRESENTATIONS, is_usable, representation_class
from ..trace import Trace

# Points of a grid from which on it pays for itself; dense matrices of fewer are small. Without
# trajectories the chains mix slowly on a grid ("prior-white" beside "post-ep").
FEWEST_POINTS = 200
FEWEST_POINTS_WITHOUT_TRAJECTORIES = 2000
# An iteration on a grid has some 20 eigendecompositions of each axis' matrix, a dense one a few
# Cholesky factors of the rows': about equal in cost where the rows are 2.5 times as many as the
# longest axis has coordinates, from 200 rows to 1000.
FEWEST_ROWS_PER_COORDINATE = 3


def training_grid(
    representation: str | float, update: Any, kernel: Kernel, X: Any
) -> tuple[Grid, NDArray[np.intp]] | None:
    """Return the grid that a model is to be sampled on, and which point each row is.

    That is the case where the rows take up at least half of a grid (`find_grid`), the kernel
    separates on it (`separable_form`), and the representation works on grids; with "auto", where
    that is also worth it (`pays`).

    Parameters
    ----------
    representation : str or float
        The estimators' parameter.
    update : str or callable
        The estimators' `hyperparameter_update`.
    kernel : Kernel
        Of the latent function.
    X : array-like of length n_rows
        Distinct rows.
    """
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        return None
    is_auto = representation == "auto"
    if not (is_auto or representation_class(representation).works_on_grids):
        return None
    found = find_grid(X)
    if found is None or separable_form(kernel, found[0]) is None:
        return None
    return found if not is_auto or pays(found[0], len(X), update) else None


def pays(grid: Grid, n_rows: int, update: Any) -> bool:
    """Return whether effective draws are sooner had on a grid than with dense matrices.

    Parameters
    ----------
    grid : Grid
        Of the latent variables.
    n_rows : int
        Distinct rows: latent variables without the grid.
    update : str or callable
        The estimators' `hyperparameter_update`. ``"hmc"`` has nothing but a grid for all counts.
    """
    if update == "hmc":
        return True
    fewest = FEWEST_POINTS if update == "auto" else FEWEST_POINTS_WITHOUT_TRAJECTORIES
    return grid.n >= fewest and n_rows >= FEWEST_ROWS_PER_COORDINATE * max(grid.shape)


# A sweep of slices takes time proportional to the number of hyperparameters, a trajectory hardly
# where the gradient is fast; from three on it brings more effective samples a second
# (`benchmarks.bench_updates`). Elsewhere a gradient takes as long as many covariances, neither is
# much faster, and slices do not get stuck (`benchmarks.bench_updates --kernels`).
FEWEST_FOR_TRAJECTORIES = 3


def follows_trajectories(
    update: Any, representation: str | float, likelihood: Likelihood, kernel: Kernel, rows: Any
) -> bool:
    """Return whether theta moves along Hamiltonian trajectories.

    Parameters
    ----------
    update : str or callable
        The estimators' parameter.
    representation : str or float
        Not ``"auto"``.
    likelihood : Likelihood
        Of the observations.
    kernel : Kernel
        Of the latent functions.
    rows : array-like
        A few rows that the kernel takes.

    Raises
    ------
    ValueError
        If ``"hmc"`` is asked for, and the representation or the kernel has no gradient, or
        anything else for a representation that only moves along trajectories.
    """
    if representation_class(representation).carries_latents:
        _check_trajectories(update, representation)
        return True
    if update == "hmc":
        _check_gradient(representation, likelihood, kernel, rows)
        return True
    return (
        update == "auto"
        and kernel.n_dims >= FEWEST_FOR_TRAJECTORIES
        and representation_class(representation).has_gradient
        and has_fast_gradient(kernel, rows)
    )


def update_in_use(settings: SamplerSettings, traces: Sequence[Trace]) -> Any:
    """Return how theta moved after the warm-up: the estimators' `hyperparameter_update_`."""
    if settings.proposal is not None:
        return settings.proposal
    if not settings.hamiltonian:
        return "slice"
    gave_up = [chain for trace in traces for chain in trace.gave_up]
    if not any(gave_up):
        return "hmc"
    return "slice" if all(gave_up) else "hmc and slice"


def on_grid(update: Any) -> str:
    """Return the representation that "auto" means on a grid, for an estimator's update."""
    return "joint-post" if update in ("auto", "hmc") else "prior-white"


def other_moves(representation: str | float, update: Any) -> str:
    """Return how else theta may move, where its chains are stuck, as it is to be set.

    Parameters
    ----------
    representation : str or float
        The one in use.
    update : str or callable
        ``"slice"``, ``"hmc"``, ``"hmc and slice"`` or the proposal: the one in use.
    """
    slices = 'hyperparameter_update="slice"'
    if representation_class(representation).carries_latents:
        return f'representation="prior-white" with {slices}'
    if update in ("hmc", "hmc and slice"):
        return slices
    if callable(update):
        return f"smaller steps in hyperparameter_update, or {slices}"
    return (
        "" if representation == "marginal" else f"another representation (now {representation!r})"
    )


def without_moves(traces: Sequence[Trace]) -> str:
    """Say in how many chains no hyperparameter has moved, and why; nothing if there are none."""
    chains = [chain for t in traces for chain in zip(t.moved, t.sampling, strict=True)]
    stuck = [costs for moved, costs in chains if moved.size and not moved.any()]
    if not stuck:
        return ""
    return (
        f" No proposal of the hyperparameters was accepted in {len(stuck)} of {len(chains)} "
        f"chains; {sum(costs.n_failures for costs in stuck)} of their proposals were NaN, or gave "
        "a covariance that is not positive definite."
    )


def _check_trajectories(update: Any, representation: str | float) -> None:
    if update not in ("auto", "hmc"):
        raise ValueError(
            f"representation={representation!r} moves hyperparameters and latent variables "
            f"together along Hamiltonian trajectories; got hyperparameter_update={update!r}. Use "
            "hyperparameter_update='auto', or representation='prior-white'."
        )


def _check_gradient(
    representation: str | float, likelihood: Likelihood, kernel: Kernel, rows: Any
) -> None:
    if not representation_class(representation).has_gradient:
        names = [
            repr(name)
            for name, kind in REPRESENTATIONS.items()
            if kind.has_gradient and is_usable(name, likelihood)
        ]
        own = (
            f"Set representation={' or '.join(names)}" if names else "With these data there is none"
        )
        raise ValueError(
            f"hyperparameter_update='hmc' needs a representation with a gradient; "
            f"{representation!r} has none. {own}; for counts on a Cartesian grid there is "
            "'joint-post' too (see the Notes of MCMCCoxProcessRegressor). Or use "
            "hyperparameter_update='auto'."
        )
    if not has_gradient(kernel, rows):
        raise ValueError(
            f"hyperparameter_update='hmc' needs a kernel that returns its gradient with "
            f"eval_gradient=True; {kernel} does not. Use hyperparameter_update='auto'."
        )
