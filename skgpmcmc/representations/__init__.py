"""Representations: what is held fixed while the hyperparameters move."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any

from .._model._model import LatentGaussianModel, Workspace
from ..exceptions import MissingCapabilityError
from ..likelihoods import Likelihood
from ._base import Conditional, Representation
from ._collapsed import CollapsedRepresentation, MarginalRepresentation
from ._direct import FixedRepresentation, PriorWhiteRepresentation
from ._joint import JointRepresentation
from ._pseudo_posterior import (
    PosteriorPropagated,
    PosteriorSite,
    PosteriorTaylor,
    SurrogateConstant,
    SurrogatePropagated,
    SurrogateSite,
    SurrogateTaylor,
)
from ._site_rules import check_variance
from ._warm_up import ApproximateMarginalRepresentation

#: Name -> representation; the names are the paper's.
REPRESENTATIONS: dict[str, type[Representation]] = {
    "fixed": FixedRepresentation,
    "prior-white": PriorWhiteRepresentation,
    "surr-site": SurrogateSite,
    "surr-taylor": SurrogateTaylor,
    "post-site": PosteriorSite,
    "post-taylor": PosteriorTaylor,
    "surr-ep": SurrogatePropagated,
    "post-ep": PosteriorPropagated,
    "marginal": MarginalRepresentation,
    "collapsed": CollapsedRepresentation,
    "joint-post": JointRepresentation,
}


def representation_class(representation: str | float) -> type[Representation]:
    """Return the class of a name, or of constant surrogate noise for a number."""
    if isinstance(representation, str):
        return REPRESENTATIONS[representation]
    return SurrogateConstant


def check_is_representation(
    value: Any, likelihood: Likelihood | None = None, on_grid: bool = False
) -> None:
    """Raise a ValueError for what is neither the name of a representation nor a variance.

    Parameters
    ----------
    value : object
        Anything.
    likelihood : Likelihood, optional
        The message names what can be combined with it; by default all representations.
    on_grid : bool
        Whether the covariance is a Kronecker product.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        check_variance(float(value))
    elif not isinstance(value, str) or value not in REPRESENTATIONS:
        names = list(REPRESENTATIONS) if likelihood is None else _usable(likelihood, on_grid)
        close = get_close_matches(str(value), names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"representation must be one of {_listed(names)}; got {value!r}.{hint}")


def _usable(likelihood: Likelihood, on_grid: bool) -> list[str]:
    return [name for name in REPRESENTATIONS if is_usable(name, likelihood, on_grid)]


def _listed(names: Sequence[str]) -> str:
    """Return names, and what a representation may be besides, for messages."""
    shown = ", ".join(map(repr, names))
    return f"{shown}, or a positive number (the variance of constant surrogate noise)"


def check_representation(
    representation: str | float, likelihood: Likelihood, on_grid: bool = False
) -> None:
    """Raise an error before sampling if a representation cannot be used.

    Parameters
    ----------
    representation : str or float
        A name, or the variance alpha of constant surrogate noise.
    likelihood : Likelihood
        What it is to be combined with.
    on_grid : bool
        Whether the covariance is a Kronecker product.

    Raises
    ------
    ValueError
        For an unknown name, or a number that is not a variance.
    MissingCapabilityError
        If the likelihood or the covariance lacks what the representation needs.
    """
    check_is_representation(representation, likelihood, on_grid)
    if not isinstance(representation, str):
        return
    try:
        _check(representation, likelihood, on_grid)
    except MissingCapabilityError as error:
        raise MissingCapabilityError(
            f"representation={representation!r} cannot be used here: {error} What can be used is "
            f"{_listed(_usable(likelihood, on_grid))}; representation='auto' of the estimators "
            "chooses among them."
        ) from None


def first_usable(names: Sequence[str], likelihood: Likelihood, on_grid: bool = False) -> str:
    """Return the first of some names that can be combined with a likelihood."""
    return next(name for name in names if is_usable(name, likelihood, on_grid))


def is_usable(name: str, likelihood: Likelihood, on_grid: bool = False) -> bool:
    """Return whether a representation of that name can be combined with a likelihood."""
    try:
        _check(name, likelihood, on_grid)
    except MissingCapabilityError:
        return False
    return True


def _check(name: str, likelihood: Likelihood, on_grid: bool) -> None:
    kind = REPRESENTATIONS[name]
    kind.check(likelihood)
    if kind.carries_latents and not on_grid:
        raise MissingCapabilityError(
            "only a covariance on a grid has the gradient that it needs. Of the estimators "
            "MCMCCoxProcessRegressor alone uses grids, where the rows take up at least half of a "
            "Cartesian grid and the kernel is a constant times a squared exponential, without "
            "white noise."
        )


def make_workspace(
    model: LatentGaussianModel, representation: str | float, gradient: bool = False
) -> Workspace:
    """Return the workspace of one chain, with a grid's covariance if that can be used.

    Parameters
    ----------
    model : LatentGaussianModel
        The target.
    representation : str or float
        A name, or the variance alpha of constant surrogate noise.
    gradient : bool
        See `Workspace`.
    """
    return model.workspace(gradient, representation_class(representation).works_on_grids)


def make_representation(representation: str | float, workspace: Workspace) -> Representation:
    """Return a representation for one chain.

    Parameters
    ----------
    representation : str or float
        A name, or the variance alpha of constant surrogate noise.
    workspace : Workspace
        The chain's buffers and counters.
    """
    on_grid = workspace.covariance.has_pseudo_posterior_gradient
    check_representation(representation, workspace.likelihood, on_grid)
    if isinstance(representation, str):
        return REPRESENTATIONS[representation](workspace)
    return SurrogateConstant(workspace, float(representation))


__all__ = [
    "REPRESENTATIONS",
    "ApproximateMarginalRepresentation",
    "Conditional",
    "PriorWhiteRepresentation",
    "Representation",
    "check_is_representation",
    "check_representation",
    "first_usable",
    "is_usable",
    "make_representation",
    "make_workspace",
    "representation_class",
]
