"""Markov updates. They see a function and a state, and know nothing of Gaussian processes."""

from ._elliptical import EllipticalResult, elliptical_slice_step
from ._metropolis import Proposal, RandomWalk, metropolis_step
from ._slice import StepResult, slice_step
from ._widths import WidthAdapter

__all__ = [
    "EllipticalResult",
    "Proposal",
    "RandomWalk",
    "StepResult",
    "WidthAdapter",
    "elliptical_slice_step",
    "metropolis_step",
    "slice_step",
]
