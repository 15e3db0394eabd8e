"""Representations: what is held fixed while the hyperparameters move."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from .._model import Workspace
from ..exceptions import MissingCapabilityError
from ..likelihoods import Likelihood
from ._base import Conditional, Representation
from ._collapsed import CollapsedRepresentation, MarginalRepresentation
from ._direct import FixedRepresentation, PriorWhiteRepresentation
from ._marginal import ApproximateMarginalRepresentation
from ._noise import ConstantNoise
from ._pseudo_posterior import (
    PosteriorSite,
    PosteriorTaylor,
    SurrogateConstant,
    SurrogateSite,
    SurrogateTaylor,
)

#: Name -> representation; the names are the paper's.
REPRESENTATIONS: dict[str, type[Representation]] = {
    "fixed": FixedRepresentation,
    "prior-white": PriorWhiteRepresentation,
    "surr-site": SurrogateSite,
    "surr-taylor": SurrogateTaylor,
    "post-site": PosteriorSite,
    "post-taylor": PosteriorTaylor,
    "marginal": MarginalRepresentation,
    "collapsed": CollapsedRepresentation,
}


def check_representation(representation: str | float, likelihood: Likelihood) -> None:
    """Raise an error before sampling if a representation cannot be used.

    Parameters
    ----------
    representation : str or float
        A name, or the variance alpha of constant surrogate noise.
    likelihood : Likelihood
        What it is to be combined with.

    Raises
    ------
    ValueError
        For an unknown name, or a number that is not a variance.
    MissingCapabilityError
        If the likelihood lacks what the representation needs.
    """
    if isinstance(representation, Real) and not isinstance(representation, bool):
        ConstantNoise(likelihood, float(representation))
        return
    if not isinstance(representation, str) or representation not in REPRESENTATIONS:
        names = ", ".join(repr(name) for name in REPRESENTATIONS if _is_usable(name, likelihood))
        msg = (
            f"representation must be one of {names}, or a positive number (the variance of "
            f"constant surrogate noise); got {representation!r}."
        )
        raise ValueError(msg)
    try:
        REPRESENTATIONS[representation].check(likelihood)
    except MissingCapabilityError as error:
        raise MissingCapabilityError(
            f"representation={representation!r} cannot be used here: {error}"
        ) from None


def first_usable(names: Sequence[str], likelihood: Likelihood) -> str:
    """Return the first of some names that can be combined with a likelihood."""
    return next(name for name in names if _is_usable(name, likelihood))


def _is_usable(name: str, likelihood: Likelihood) -> bool:
    try:
        REPRESENTATIONS[name].check(likelihood)
    except MissingCapabilityError:
        return False
    return True


def make_representation(representation: str | float, workspace: Workspace) -> Representation:
    """Return a representation for one chain.

    Parameters
    ----------
    representation : str or float
        A name, or the variance alpha of constant surrogate noise.
    workspace : Workspace
        The chain's buffers and counters.
    """
    check_representation(representation, workspace.likelihood)
    if isinstance(representation, str):
        return REPRESENTATIONS[representation](workspace)
    return SurrogateConstant(workspace, float(representation))


__all__ = [
    "REPRESENTATIONS",
    "ApproximateMarginalRepresentation",
    "Conditional",
    "PriorWhiteRepresentation",
    "Representation",
    "check_representation",
    "first_usable",
    "make_representation",
]
