"""Adaptation of slice-sampling brackets during warm-up."""

from __future__ import annotations

import numpy as np

from .._linalg import Array

# Width of a bracket, in units of the mean move. On a normal target, brackets of 1.4, 2.0, 4.5, 7
# and 12 standard deviations are 3.7, 4.0, 5.9, 8 and 13 mean moves wide, and widths of 6 to 12 mean
# moves give the most effective draws for each evaluation. A bracket that is far too narrow is three
# mean moves wide, so that it grows by 8/3 in each window.
_MOVES_IN_A_WIDTH = 8.0
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
        """Record the absolute moves of one sweep over all hyperparameters."""
        self._total += np.abs(moves)
        self._count += 1
        if self._count == self._window:
            self._update()
            self._window *= 2

    def _update(self) -> None:
        widths = _MOVES_IN_A_WIDTH * self._total / self._count
        # A chain that stood still for a window must not be frozen by its own bracket.
        self.widths = np.maximum(widths, 0.01 * self._initial)
        self._total[:] = 0.0
        self._count = 0
