"""All parts of latent functions together: summands of the kernel, and the mean offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._checks import check_whole
from .._covariance import Summand, summands_of
from .._covariance._memory import check_prediction_memory
from .._linalg import Array
from ._dense import PosteriorDraws
from ._views import MeanOffset


class PartOfSum(NamedTuple):
    """What a part is made of.

    Attributes
    ----------
    summands : list of int
        Which summands of the kernel, in their order.
    has_offset : bool
        Whether the mean offset belongs to it.
    """

    summands: list[int]
    has_offset: bool


class Parts(NamedTuple):
    """The parts of one latent function; together they are the function.

    Attributes
    ----------
    whole : PosteriorDraws
        The function.
    functions : dict of str to PosteriorDraws
        Parts that are functions, by name.
    offset : dict of str to MeanOffset
        The mean offset, where it is a part of its own.
    """

    whole: PosteriorDraws
    functions: dict[str, PosteriorDraws]
    offset: dict[str, MeanOffset]

    @classmethod
    def of(cls, whole: PosteriorDraws, kernel: Kernel, names: Mapping[str, PartOfSum]) -> Self:
        """Return the parts of a function with this kernel, given what each is made of."""
        summands = summands_of(kernel)
        functions = {
            name: whole.part(Summand.sum_of(name, [summands[i] for i in numbers]), has_offset)
            for name, (numbers, has_offset) in names.items()
            if numbers
        }
        others = [name for name in names if name not in functions]
        return cls(whole, functions, {name: whole.mean_offset() for name in others})

    @classmethod
    def centred(
        cls, whole: PosteriorDraws, kernel: Kernel, names: Mapping[str, PartOfSum], rows: Any
    ) -> Self:
        """Return parts that average to zero over some rows, and the average of the function."""
        summands = summands_of(kernel)
        functions = {
            name: whole.centred_part(Summand.sum_of(name, [summands[i] for i in numbers]), rows)
            for name, (numbers, _) in names.items()
            if numbers
        }
        (offset,) = (name for name in names if name not in functions)
        return cls(whole, functions | {offset: whole.average(rows)}, {})

    def predictable(self) -> dict[str, PosteriorDraws | MeanOffset]:
        """Return all parts, by name."""
        return {**self.functions, **self.offset}

    def sample(self, X: Any, draw: int, n: int, rng: np.random.RandomState) -> dict[str, Array]:
        """Draw n functions of each part given one draw, all parts and rows together."""
        drawn = self.whole.sample_parts(list(self.functions.values()), X, draw, n, rng)
        offset = {name: part.sample(X, draw, n, rng) for name, part in self.offset.items()}
        return dict(zip(self.functions, drawn, strict=True)) | offset


def sample_parts(
    functions: Sequence[Parts],
    X: Any,
    n_samples: int,
    rng: np.random.RandomState,
    memory_limit: float | None,
) -> list[dict[str, Array]]:
    """Draw the parts of latent functions at X, jointly over parts and rows.

    Parameters
    ----------
    functions : sequence of Parts
        Of each latent function.
    X : array-like of length n_rows
        New inputs.
    n_samples : int
        How many; each comes from a posterior draw chosen at random.
    rng : numpy.random.RandomState
        Source of randomness.
    memory_limit : float or None
        In gigabytes.

    Returns
    -------
    values : list of dict of str to ndarray of shape (n_rows, n_samples)
        Of each function, by the names of its parts.

    Raises
    ------
    ValueError
        If that needs more memory than the limit.
    """
    check_whole("n_samples", n_samples, 1)
    _check_memory(functions, X, n_samples, memory_limit)
    chosen = rng.randint(0, len(functions[0].whole), size=n_samples)
    values: list[dict[str, Array]] = [{} for _ in functions]
    for draw in np.unique(chosen):
        columns = np.flatnonzero(chosen == draw)
        for parts, out in zip(functions, values, strict=True):
            for name, drawn in parts.sample(X, int(draw), len(columns), rng).items():
                out.setdefault(name, np.empty((len(X), n_samples)))[:, columns] = drawn
    return values


def _check_memory(
    functions: Sequence[Parts], X: Any, n_samples: int, memory_limit: float | None
) -> None:
    first = functions[0]
    n_parts = len(first.functions)
    per_sample = 8.0 * (4 + 3 * n_parts * len(functions)) * len(X)
    needed = {
        f"n_samples={n_samples} draws of {n_parts} parts at {len(X)} rows": per_sample * n_samples,
        f"the joint covariance of {n_parts} parts there": first.whole.joint_memory(
            n_parts * len(X)
        ),
    }
    check_prediction_memory(needed, memory_limit, "Pass fewer rows, or fewer n_samples at a time")
