"""Long products of cases, of which the default tests take some in turn.

Every case of a product is run: some by default, the others by ``pytest -m slow``. Which ones
follows from their places in the lists alone, so that every run takes the same ones, and a new
entry of a list is taken by default with some entries of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def in_turn(
    cases: Iterable[tuple],
    n: int,
    *factors: Sequence,
    always: Callable[[tuple], bool] = lambda case: False,
    never: Callable[[tuple], bool] = lambda case: False,
) -> list[Any]:
    """Return all cases of a product; all but every n-th are slow.

    Parameters
    ----------
    cases : iterable of tuple
        Of the product, or of what exists of it. Each case begins with one entry of each factor.
    n : int
        A case is run by default if the sum of the indices of its entries is a multiple of n: where
        a factor has n entries, one of them with each combination of the others.
    *factors : sequence
        The lists of which the product consists.
    always, never : callable
        Tell which cases are run by default whatever their indices, and which are not.

    Returns
    -------
    params : list
        For `pytest.mark.parametrize`.
    """
    places = [list(factor) for factor in factors]
    params = []
    for case in cases:
        turn = sum(f.index(entry) for f, entry in zip(places, case, strict=False))
        chosen = always(case) or (turn % n == 0 and not never(case))
        params.append(pytest.param(*case, marks=[] if chosen else pytest.mark.slow))
    return params


def one_in(n: int, cases: Iterable) -> list[Any]:
    """Return all cases of a list; all but every n-th, from the first on, are slow."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=pytest.mark.slow if i % n else [],
        )
        for i, case in enumerate(cases)
    ]
