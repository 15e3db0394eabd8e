"""Representations: what is held fixed while the hyperparameters move."""

from ._base import Conditional, Representation
from ._direct import PriorWhiteRepresentation
from ._registry import (
    LIKELIHOOD_CAPABILITIES,
    REPRESENTATIONS,
    STRUCTURE_CAPABILITIES,
    build_representation,
    check_is_representation,
    first_usable,
    is_usable,
    representation_class,
    supports,
    usable_structure,
)
from ._warm_up import ApproximateMarginalRepresentation, laplace_log_evidence

__all__ = [
    "LIKELIHOOD_CAPABILITIES",
    "REPRESENTATIONS",
    "STRUCTURE_CAPABILITIES",
    "ApproximateMarginalRepresentation",
    "Conditional",
    "PriorWhiteRepresentation",
    "Representation",
    "build_representation",
    "check_is_representation",
    "first_usable",
    "is_usable",
    "laplace_log_evidence",
    "representation_class",
    "supports",
    "usable_structure",
]
