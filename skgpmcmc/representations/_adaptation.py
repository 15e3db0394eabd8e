"""What a representation adapts to the posterior in the warm-up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from .._linalg import Array
from .._model._state import LatentState


class Adaptation(ABC):
    """What a representation finds in the warm-up, and holds from then on.

    Only in the warm-up: the posterior stays invariant only if nothing is adapted.
    """

    @property
    @abstractmethod
    def frozen(self) -> Any:
        """What is held, made of arrays and numbers, so that it can be saved; None if nothing is."""

    @frozen.setter
    @abstractmethod
    def frozen(self, value: Any) -> None: ...

    def observe(self, state: LatentState) -> None:  # noqa: B027 - a hook; some look at no state
        """Take in a state of the warm-up, for `find`."""

    @abstractmethod
    def find(self, state: LatentState, theta: Array) -> Any:
        """Return what to hold from now on; None where there is nothing better.

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
        """Hold what is found now, and set anew what is kept in a state.

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
