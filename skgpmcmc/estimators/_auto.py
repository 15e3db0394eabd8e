"""What "auto" stands for: covariance structures, representations, updates of theta, warm-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import CovarianceStructure, GridStructure
from .._grid import Grid, find_grid
from .._sampling._settings import SamplerSettings
from ..likelihoods import Likelihood
from ..representations import (
    REPRESENTATIONS,
    ApproximateMarginalRepresentation,
    first_usable,
    is_usable,
    representation_class,
    supports,
)
from ..trace import Trace
from ._inducing import wanted_points

# Points of a grid from which on it pays for itself; dense matrices of fewer are small. Without
# trajectories the chains mix slowly on a grid ("prior-white" beside "post-ep").
FEWEST_POINTS = 200
FEWEST_POINTS_WITHOUT_TRAJECTORIES = 2000
# An iteration on a grid has some 20 eigendecompositions of each axis' matrix, a dense one a few
# Cholesky factors of the rows': about equal in cost where the rows are 2.5 times as many as the
# longest axis has coordinates, from 200 rows to 1000.
FEWEST_ROWS_PER_COORDINATE = 3


# Smoothness of the default kernel. For numbers and counts the squared exponential is often too
# smooth (`benchmarks.tables`); for classes it makes no difference.
ROUGH, SMOOTH = 2.5, math.inf


def default_smoothness(n_inducing: Any, X: Any) -> float:
    """Return nu of the default kernel of numbers, and of counts that are not on a grid.

    Inducing points serve smooth functions: of rough ones they would miss too much.

    Parameters
    ----------
    n_inducing : None, "auto", int or array-like
        The estimators' parameter.
    X : ndarray of shape (n_rows, n_columns)
        Distinct rows.
    """
    return ROUGH if wanted_points(n_inducing, X) is None else SMOOTH


def training_structure(
    representation: str | float, update: Any, kernel: Kernel, X: Any
) -> tuple[GridStructure | None, Any, NDArray[np.intp]]:
    """Return a grid, its points, and which of these each row is; or None, the rows, and numbers.

    There is one where the rows take up at least half of one (`find_grid`), the covariance is a
    Kronecker product on it, and the representation works there; with "auto", where that is also
    worth it (`pays`).

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
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    found = find_grid(X) if is_table else None
    if found is not None:
        grid, places = found
        structure = GridStructure(grid)
        if representation == "auto":
            is_wanted = pays(grid, len(X), update)
        else:
            is_wanted = supports(structure, representation_class(representation))
        if is_wanted and structure.fits(kernel, integrates_mean=False):
            return structure, grid.points(), places
    return None, X, np.arange(len(X))


def allows_grid(n_inducing: Any) -> bool:
    """Return whether the estimators' `n_inducing` asks for no points: "auto" or None."""
    return n_inducing is None or (isinstance(n_inducing, str) and n_inducing == "auto")


def pays(grid: Grid, n_rows: int, update: Any) -> bool:
    """Return whether a grid gives effective draws faster than dense matrices.

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


#: Representations that "auto" stands for where the covariance is dense, the best ones first.
PREFERRED_FOR_NUMBERS = ("marginal", "collapsed", "surr-site")
PREFERRED_FOR_COUNTS = ("joint-ep", "post-ep", "collapsed")
# Link -> up to how many hyperparameters of the kernel a sweep of slices around sites mixes about
# as fast as auxiliary variables do, and several times faster where a line separates the classes
# (`benchmarks.bench_representations`).
_FEW_HYPERPARAMETERS = {"logit": 4, "probit": 9}


def preferred_for_classes(
    n_hyperparameters: int,
    link: str,
    multi_class: str,
    structure: CovarianceStructure,
) -> tuple[str, ...]:
    """Return the representations that "auto" stands for with labels, the best ones first.

    Parameters
    ----------
    n_hyperparameters : int
        Of the kernel.
    link, multi_class : str
        The classifier's parameters.
    structure : CovarianceStructure
        Of the covariance. With inducing points there are many rows: the sum of what sites leave of
        their likelihoods then allows only small moves.
    """
    few = n_hyperparameters <= _FEW_HYPERPARAMETERS[link] and structure.keeps_latents
    sites_first = few and multi_class != "softmax"
    rest = ("post-ep", "collapsed") if sites_first else ("collapsed", "post-ep")
    # Sites of a class would be those of the other classes' latent functions at one moment.
    return rest if multi_class == "softmax" else ("joint-ep", *rest)


class Target(NamedTuple):
    """What is sampled, as far as choices depend on it.

    Attributes
    ----------
    likelihood : Likelihood
        Of the observations.
    structure : CovarianceStructure
        Of the covariance.
    kernel : Kernel
        Of the latent functions.
    rows : array-like
        A few rows that the kernel takes.
    """

    likelihood: Likelihood
    structure: CovarianceStructure
    kernel: Kernel
    rows: Any

    def has_gradient(self) -> bool:
        """Return whether the covariance has a gradient."""
        return self.structure.has_gradient(self.kernel, self.rows)

    def has_fast_gradient(self) -> bool:
        """Return whether that gradient costs little more than the covariance."""
        return self.structure.has_fast_gradient(self.kernel, self.rows)


def auto_representation(preferred: Sequence[str], update: Any, target: Target) -> str:
    """Return the representation that "auto" stands for.

    Parameters
    ----------
    preferred : sequence of str
        Names for covariances in dense form, the best ones first.
    update : str or callable
        The estimators' `hyperparameter_update`.
    target : Target
        What is sampled.
    """
    if supports(target.structure, representation_class("joint-post")):
        return "joint-post" if update in ("auto", "hmc") else "prior-white"
    is_fast = update == "auto" and target.has_fast_gradient()
    may_follow = is_fast or (update == "hmc" and target.has_gradient())
    names = [
        name
        for name in preferred
        if may_follow or not representation_class(name).updates_latents_jointly
    ]
    if update == "hmc":  # without a gradient it is refused
        names.sort(key=lambda name: not representation_class(name).has_gradient)
    return first_usable(names, target.likelihood, target.structure)


# First iterations of the warm-up that find the bulk of the posterior.
_N_APPROXIMATE = 30


def n_approximate(
    n_warmup: int, representation: str | float, hamiltonian: bool, structure: CovarianceStructure
) -> int:
    """Return how many iterations of the warm-up move theta under an approximate posterior.

    None where trajectories find the bulk of the posterior by themselves, where the marginal
    posterior itself is known, and where the covariance has no approximation of it.
    """
    approximates = supports(structure, ApproximateMarginalRepresentation)
    if hamiltonian or representation == "marginal" or not approximates:
        return 0
    return min(_N_APPROXIMATE, n_warmup // 2)


# A sweep of slices takes time proportional to the number of hyperparameters, a trajectory hardly
# where the gradient is fast; from three on it brings more effective samples a second
# (`benchmarks.bench_updates`). Elsewhere a gradient takes as long as many covariances, neither is
# much faster, and slices do not get stuck (`benchmarks.bench_updates --kernels`).
FEWEST_FOR_TRAJECTORIES = 3


def follows_trajectories(update: Any, representation: str | float, target: Target) -> bool:
    """Return whether theta moves along Hamiltonian trajectories.

    Parameters
    ----------
    update : str or callable
        The estimators' parameter.
    representation : str or float
        Not ``"auto"``.
    target : Target
        What is sampled.

    Raises
    ------
    ValueError
        If ``"hmc"`` is asked for, and the representation or the kernel has no gradient, or
        anything else for a representation that only moves along trajectories.
    """
    kind = representation_class(representation)
    if kind.updates_latents_jointly:
        _check_trajectories(update, representation)
        if kind.has_gradient:
            _check_kernel_gradient(f"representation={representation!r}", target)
        return True
    if update == "hmc":
        _check_gradient(representation, target)
        return True
    return (
        update == "auto"
        and target.kernel.n_dims >= FEWEST_FOR_TRAJECTORIES
        and representation_class(representation).has_gradient
        and target.has_fast_gradient()
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
    if representation_class(representation).updates_latents_jointly:
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


def _check_gradient(representation: str | float, target: Target) -> None:
    if not representation_class(representation).has_gradient:
        names = [
            repr(name)
            for name, kind in REPRESENTATIONS.items()
            if kind.has_gradient and is_usable(name, target.likelihood, target.structure)
        ]
        own = (
            f"Set representation={' or '.join(names)}."
            if names
            else "No representation of these data has a gradient but, with inducing points, "
            "'joint-ep' (n_inducing) and, for counts on a Cartesian grid, 'joint-post' (see the "
            "Notes of MCMCCoxProcessRegressor)."
        )
        raise ValueError(
            f"hyperparameter_update='hmc' needs a representation with a gradient; "
            f"{representation!r} has none. {own} Or use hyperparameter_update='auto'."
        )
    _check_kernel_gradient("hyperparameter_update='hmc'", target)


def _check_kernel_gradient(what: str, target: Target) -> None:
    if not target.has_gradient():
        raise ValueError(
            f"{what} needs a kernel that returns its gradient with eval_gradient=True; "
            f"{target.kernel} does not. Use representation='auto' and hyperparameter_update='auto'."
        )
