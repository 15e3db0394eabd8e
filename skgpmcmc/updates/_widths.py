"""Adaptation of slice-sampling brackets during warm-up."""

from __future__ import annotations

import numpy as np

from .._linalg import Array

# A bracket of four mean moves: from a point drawn from a normal target it is 4.5
# standard deviations wide, and a bracket that is too narrow grows, because a
# proposal uniform in it moves by a third of its width.
_MOVES_IN_A_WIDTH = 4.0
_FIRST_WINDOW = 10


class WidthAdapter:
    """Sets each bracket to a multiple of the mean move of its hyperparameter.

    Moves are averaged over windows that double in length, so that the start of the
    chain is forgotten. Adaptation ends with the warm-up: widths that went on
    changing would not leave the posterior invariant.

    Parameters
    ----------
    widths : array-like of shape (n_parameters,)
        Initial widths of the brackets.
    """

    def __init__(self, widths: Array) -> None:
        self.widths = np.array(widths, dtype=np.float64)
        self._initial = self.widths.copy()
        self._total = np.zeros_like(self.widths)
        self._count = 0
        self._window = _FIRST_WINDOW

    def record(self, moves: Array) -> None:
        """Take in the absolute moves of one sweep over all hyperparameters."""
        self._total += np.abs(moves)
        self._count += 1
        if self._count == self._window:
            self._update()
            self._window *= 2

    def _update(self) -> None:
        widths = _MOVES_IN_A_WIDTH * self._total / self._count
        # Between a hundredth of the start and ten times it: a chain that stood
        # still for a window must not be frozen by its own bracket.
        self.widths = np.clip(widths, 0.01 * self._initial, 10.0 * self._initial)
        self._total[:] = 0.0
        self._count = 0
