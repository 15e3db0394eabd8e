"""Representations by name, and whether one can be used with a likelihood and a covariance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from .._checks import shown
from .._covariance import CovarianceStructure, DenseStructure
from .._model._model import Workspace
from ..exceptions import MissingCapabilityError
from ..likelihoods import Likelihood
from ._base import Representation
from ._collapsed import CollapsedRepresentation, MarginalRepresentation
from ._direct import FixedRepresentation, PriorWhiteRepresentation
from ._joint import JointRepresentation
from ._joint_propagated import JointPropagated
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
    "joint-ep": JointPropagated,
}

#: Capability -> a call that raises a MissingCapabilityError if the likelihood lacks it.
#: Capabilities that are not listed here are those of a covariance structure.
LIKELIHOOD_CAPABILITIES: dict[str, Callable[[Likelihood, tuple[float, ...]], object]] = {
    "taylor sites": lambda likelihood, params: likelihood.taylor_sites(params),
    "gaussian sites": lambda likelihood, params: likelihood.gaussian_sites(params),
    "augmentation": lambda likelihood, params: likelihood.augment(
        np.zeros(likelihood.n_latent), params, np.random.default_rng(0)
    ),
}

#: Capability -> the end of the error message if the covariance structure lacks it.
STRUCTURE_CAPABILITIES: dict[str, str] = {
    "any precisions": "it needs a covariance that takes sites of different precisions.",
    "marginal variances": "it needs a covariance that gives variances of the pseudo-posterior.",
    "added noise": "it needs a covariance to which noise of any variances can be added.",
    "pseudo-posterior gradient": (
        "only a covariance on a grid has the gradient that it needs. MCMCCoxProcessRegressor is "
        "the only estimator that uses grids: the rows must take up at least half of a Cartesian "
        "grid, and the kernel must be a constant times a squared exponential, without white noise."
    ),
    "posterior coordinates": "only a covariance through inducing points can be used with it.",
}

_DENSE = DenseStructure()


def representation_class(representation: str | float) -> type[Representation]:
    """Return the class of a name, or of constant surrogate noise for a number."""
    if isinstance(representation, str):
        return REPRESENTATIONS[representation]
    return SurrogateConstant


def supports(structure: CovarianceStructure, kind: type[Representation]) -> bool:
    """Return whether a covariance structure has all capabilities that a representation requires."""
    return not _lacking(structure, kind)


def _lacking(structure: CovarianceStructure, kind: type[Representation]) -> list[str]:
    wanted = [name for name in kind.requires if name not in LIKELIHOOD_CAPABILITIES]
    return [name for name in wanted if name not in structure.capabilities]


def _usable_structure(
    kind: type[Representation], likelihood: Likelihood, structure: CovarianceStructure
) -> CovarianceStructure:
    """Return the structure, or the first of its alternatives, that a representation can use.

    Raises
    ------
    MissingCapabilityError
        If the likelihood or all of these structures lack what it requires.
    """
    params = (1.0,) * len(likelihood.parameters)
    for name in kind.requires:
        if name in LIKELIHOOD_CAPABILITIES:
            LIKELIHOOD_CAPABILITIES[name](likelihood, params)
    for candidate in (structure, *structure.alternatives):
        lacking = _lacking(candidate, kind)
        if not lacking:
            return candidate
    raise MissingCapabilityError(STRUCTURE_CAPABILITIES[lacking[0]])


def usable_structure(
    representation: str | float, likelihood: Likelihood, structure: CovarianceStructure
) -> CovarianceStructure:
    """Return the covariance structure that chains with a representation use.

    Parameters
    ----------
    representation : str or float
        A name, or the variance alpha of constant surrogate noise.
    likelihood : Likelihood
        What it is to be combined with.
    structure : CovarianceStructure
        The model's; its alternatives are tried next.

    Raises
    ------
    ValueError
        For an unknown name, or a number that is not a variance.
    MissingCapabilityError
        If the likelihood or the covariance lacks what the representation requires.
    """
    check_is_representation(representation, likelihood, structure)
    try:
        return _usable_structure(representation_class(representation), likelihood, structure)
    except MissingCapabilityError as error:
        raise MissingCapabilityError(
            f"representation={representation!r} cannot be used here: {error} What can be used is "
            f"{_listed(_usable(likelihood, structure))}; representation='auto' of the estimators "
            "chooses among them."
        ) from None


def check_is_representation(
    value: Any, likelihood: Likelihood | None = None, structure: CovarianceStructure = _DENSE
) -> None:
    """Raise a ValueError unless the value is the name of a representation or a variance.

    Parameters
    ----------
    value : object
        Anything.
    likelihood : Likelihood, optional
        The message names what can be combined with it; by default all representations.
    structure : CovarianceStructure
        The message names what can be combined with it too.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        check_variance(float(value))
    elif not isinstance(value, str) or value not in REPRESENTATIONS:
        names = list(REPRESENTATIONS) if likelihood is None else _usable(likelihood, structure)
        close = get_close_matches(str(value), names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"representation must be one of {_listed(names)}; got {shown(value)}.{hint}"
        )


def first_usable(
    names: Sequence[str], likelihood: Likelihood, structure: CovarianceStructure
) -> str:
    """Return the first of some names that can be combined with a likelihood and a covariance."""
    return next(name for name in names if is_usable(name, likelihood, structure))


def is_usable(name: str, likelihood: Likelihood, structure: CovarianceStructure = _DENSE) -> bool:
    """Return whether a representation can be combined with a likelihood and a covariance."""
    try:
        _usable_structure(REPRESENTATIONS[name], likelihood, structure)
    except MissingCapabilityError:
        return False
    return True


def _usable(likelihood: Likelihood, structure: CovarianceStructure) -> list[str]:
    return [name for name in REPRESENTATIONS if is_usable(name, likelihood, structure)]


def _listed(names: Sequence[str]) -> str:
    """Return the allowed values of `representation`, for messages."""
    shown = ", ".join(map(repr, names))
    return f"{shown}, or a positive number (the variance of constant surrogate noise)"


def build_representation(representation: str | float, workspace: Workspace) -> Representation:
    """Return a representation for one chain, known to be usable; see `usable_structure`."""
    if isinstance(representation, str):
        return REPRESENTATIONS[representation](workspace)
    return SurrogateConstant(workspace, float(representation))
