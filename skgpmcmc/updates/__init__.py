"""Markov updates of a state, given a log density; independent of Gaussian processes."""

from ._elliptical import EllipticalResult, elliptical_slice_step
from ._hamiltonian import HamiltonianResult, HamiltonianTuner, Point, hamiltonian_step
from ._metropolis import Proposal, RandomWalk, metropolis_step
from ._slice import StepResult, slice_step
from ._widths import WidthAdapter

__all__ = [
    "EllipticalResult",
    "HamiltonianResult",
    "HamiltonianTuner",
    "Point",
    "Proposal",
    "RandomWalk",
    "StepResult",
    "WidthAdapter",
    "elliptical_slice_step",
    "hamiltonian_step",
    "metropolis_step",
    "slice_step",
]
