"""Settings of a chain, and the initial widths of its slice sampling."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_whole, shown
from .._linalg import Array
from .._model._layout import ParameterLayout
from ..representations import (
    REPRESENTATIONS,
    Representation,
    check_is_representation,
    representation_class,
)
from ..updates import Proposal

# Prior mass left outside the initial bracket where the support is unbounded.
_TAIL = 0.005
# The smallest allowed value of each whole number.
_LEAST = {
    "n_warmup": 0,
    "n_draws": 1,
    "thin": 1,
    "n_approximate": 0,
    "n_latent_updates": 0,
    "max_steps_out": 0,
}
_LENGTHS = ("width", "path_length")
_SWITCHES = ("hamiltonian", "whitened_updates", "condition_each_scalar", "adapt_widths")


@dataclass(frozen=True)
class SamplerSettings:
    """How a chain runs.

    Attributes
    ----------
    representation : str or float
        What is held fixed while theta moves: a name of `REPRESENTATIONS`, or the
        variance alpha of constant surrogate noise.
    proposal : callable or None
        None: slice sampling of every element of theta in turn. Otherwise one
        Metropolis-Hastings update of the whole vector with this proposal.
    hamiltonian : bool
        Whether theta moves along Hamiltonian trajectories instead, in coordinates that make
        its prior about standard normal; for the representations that have a gradient.
    path_length : float or None
        Mean length of the trajectories, in posterior standard deviations; None is the
        representation's own.
    n_warmup, n_draws, thin : int
        Iterations before the first kept draw; kept draws; iterations for each.
    n_approximate : int
        First iterations of the warm-up in which theta moves under an approximation of
        its marginal posterior (`ApproximateMarginalRepresentation`), which forgets a
        bad starting point sooner.
    n_latent_updates : int
        Elliptical slice updates of the latent variables in each iteration.
    whitened_updates : bool
        Whether after every five of them the signal variance, the mean offset and the
        likelihood's parameters are updated once more, with the whitened latent variables
        held fixed (Algorithm 2): f is multiplied by a number or shifted as a whole, which
        no other update does, and no matrix is factored.
    condition_each_scalar : bool
        Whether the variables held fixed are drawn anew for every element of theta
        (Algorithm 4) or once for each sweep.
    width : float or None
        Width of the initial brackets on the sampling scale, sigma of Algorithm 4. None
        is, for each hyperparameter, the width of its prior.
    adapt_widths : bool
        Whether warm-up adapts the widths of the brackets; they are frozen after it.
    max_steps_out : int
        Most steps by which a bracket may be widened; 0 is Algorithm 4.

    Raises
    ------
    ValueError
        For an unknown representation, numbers that are not whole, too small or not finite, an
        approximation that would not end before the first kept draw, or trajectories beside a
        proposal or without a gradient.
    TypeError
        For a proposal that cannot be called.
    """

    representation: str | float = "surr-site"
    proposal: Proposal | None = None
    hamiltonian: bool = False
    path_length: float | None = None
    n_warmup: int = 500
    n_draws: int = 500
    thin: int = 1
    n_approximate: int = 0
    n_latent_updates: int = 10
    whitened_updates: bool = False
    condition_each_scalar: bool = True
    width: float | None = None
    adapt_widths: bool = True
    max_steps_out: int = 0

    @property
    def n_iterations(self) -> int:
        """Iterations of a chain in all."""
        return self.n_warmup + self.n_draws * self.thin

    def __post_init__(self) -> None:
        """Raise an error for settings that cannot be run; see Raises of the class."""
        check_is_representation(self.representation)
        self._check_numbers()
        for name in _SWITCHES:
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {shown(value)}.")
        self._check_update()

    def _check_numbers(self) -> None:
        for name, least in _LEAST.items():
            check_whole(name, getattr(self, name), least)
        if self.n_approximate >= max(self.n_warmup, 1):
            raise ValueError(
                f"n_approximate must be smaller than n_warmup={self.n_warmup}, or 0; got "
                f"{self.n_approximate}. Draws under the approximation are not exact."
            )

        for name in _LENGTHS:
            value = getattr(self, name)
            is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if value is not None and not (is_number and 0.0 < value < math.inf):
                raise ValueError(
                    f"{name} must be None or a positive, finite number; got {shown(value)}."
                )

    def _check_update(self) -> None:
        """Raise an error unless exactly one existing update of theta is chosen."""
        proposal, kind = self.proposal, representation_class(self.representation)
        if proposal is not None and (isinstance(proposal, type) or not callable(proposal)):
            raise TypeError(
                "proposal must be None or a callable that takes (theta, rng), such as "
                f"skgpmcmc.updates.RandomWalk(0.1); got {shown(proposal)}."
            )
        if proposal is not None and (self.hamiltonian or kind.updates_latents_jointly):
            raise ValueError(
                f"representation={self.representation!r} with hamiltonian={self.hamiltonian} "
                "moves theta along trajectories, and a proposal would move it too. Set "
                "proposal=None, or hamiltonian=False and another representation than 'joint-post'."
            )
        if self.hamiltonian and not _has_trajectories(kind):
            names = [
                repr(name) for name, other in REPRESENTATIONS.items() if _has_trajectories(other)
            ]
            raise ValueError(
                f"hamiltonian=True needs a representation with a gradient, {', '.join(names)}; got "
                f"representation={self.representation!r}. Set hamiltonian=False, or one of these."
            )


def recorded(settings: SamplerSettings) -> dict[str, Any]:
    """Return the settings that a trace stores.

    These are all but the number of draws; of a proposal, only whether there is one.
    """
    values = {name: value for name, value in vars(settings).items() if name != "n_draws"}
    return values | {"proposal": settings.proposal is not None}


def _has_trajectories(kind: type[Representation]) -> bool:
    return kind.has_gradient or kind.updates_latents_jointly


def initial_widths(layout: ParameterLayout, width: float | None) -> Array:
    """Return the given width, or that of each prior: its support, or its central 99 %."""
    if width is not None:
        return np.full(len(layout), width)
    widths = []
    for prior in layout.priors:
        lower, upper = prior.support
        if not math.isfinite(upper - lower):
            lower, upper = prior.quantile(_TAIL), prior.quantile(1.0 - _TAIL)
        widths.append(upper - lower)
    return np.array(widths)
