"""Quantities that a representation adapts to the posterior during the warm-up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from .._linalg import Array
from .._model._state import LatentState


class Adaptation(ABC):
    """Quantities that a representation finds during the warm-up, and then keeps fixed.

    Only in the warm-up: the posterior stays invariant only if nothing is adapted.
    """

    @property
    @abstractmethod
    def frozen(self) -> Any:
        """The fixed quantities, as arrays and numbers; None before they are found."""

    @frozen.setter
    @abstractmethod
    def frozen(self, value: Any) -> None: ...

    def observe(self, state: LatentState) -> None:  # noqa: B027 - a hook; some look at no state
        """Take in a state of the warm-up, for `find`."""

    @abstractmethod
    def find(self, state: LatentState, theta: Array) -> Any:
        """Return the new quantities; None to keep those of before.

        Parameters
        ----------
        state : LatentState
            The current state.
        theta : ndarray of shape (n_parameters,)
            Amid the posterior, as far as is known.
        """

    def adapt(
        self, state: LatentState, theta: Array, prepare: Callable[[LatentState], bool]
    ) -> bool:
        """Replace the fixed quantities, and recompute the parts of a state that depend on them.

        Parameters
        ----------
        state, theta
            See `find`.
        prepare : callable
            The representation's `prepare`. If it says that what was found is not finite at the
            state, all stays as it was.

        Returns
        -------
        adapted : bool
            Whether something else is held than before.
        """
        before, found = self.frozen, self.find(state, theta)
        if found is None:
            return False
        self.frozen = found
        if prepare(state):
            return True
        self.frozen = before
        prepare(state)
        return False
