"""Observations, the latent values that they share, and which of them are equal."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_rows, check_vector
from ..exceptions import MissingCapabilityError
from ._checks import check_latent_index, check_n_latent

_MOST_COPIES = 100_000


class Observations:
    """Observations with weights, each of one latent value; parameters as in `Likelihood`."""

    per_observation: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        y: ArrayLike,
        *,
        latent_index: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_latent: int | None = None,
    ) -> None:
        self.y = check_vector(y, "y")
        check_n_latent(n_latent, self.y.size if latent_index is None else None)
        self.latent_index = None
        self.n_latent = self.y.size
        self.sample_weight = None
        if latent_index is not None:
            self.latent_index, self.n_latent = check_latent_index(
                latent_index, self.y.size, n_latent
            )
        if sample_weight is not None:
            self.sample_weight = check_vector(sample_weight, "sample_weight", self.y.size)
            check_rows(self.sample_weight, self.sample_weight >= 0.0, "sample_weight", ">= 0")
        self._index_latents()
        self._refresh()

    def _index_latents(self) -> None:
        """Precompute how observations are summed for each latent value."""
        self._order = self._starts = None
        self._observed = np.ones(self.n_latent, dtype=bool)
        if self.latent_index is not None:
            self._order = np.argsort(self.latent_index, kind="stable")
            ordered = self.latent_index[self._order]
            # Of the latent values that have observations: `reduceat` has no empty sums.
            self._starts = np.flatnonzero(np.diff(ordered, prepend=-1))
            self._observed = np.bincount(self.latent_index, minlength=self.n_latent) > 0
        self._unobserved = np.flatnonzero(~self._observed)
        self._one_each = self.n_latent == self.y.size and not self._unobserved.size
        weight = self.sample_weight
        unweighted = weight is None or bool((weight == 1.0).all())
        self._simple = unweighted and self._one_each
        self._ignored = None if weight is None or weight.all() else np.flatnonzero(weight == 0.0)

    def _refresh(self) -> None:
        """Recompute what is derived from ``y``; called whenever the observations change."""

    def _at_observations(self, latent: NDArray) -> NDArray:
        return latent if self.latent_index is None else latent[..., self.latent_index]

    def _sum_per_latent(self, values: NDArray) -> NDArray:
        """Sum values of shape (..., n_obs) over the observations of each latent value."""
        if self._order is None or self._starts is None:
            return values
        sums = np.add.reduceat(values[..., self._order], self._starts, axis=-1)
        if not self._unobserved.size:
            return sums
        totals = np.zeros((*sums.shape[:-1], self.n_latent), dtype=sums.dtype)
        totals[..., self._observed] = sums
        return totals

    def _weighted(self, values: NDArray) -> NDArray:
        return values if self.sample_weight is None else self.sample_weight * values

    def _copies(self) -> tuple[NDArray, NDArray]:
        """Return observations and latent indices with each row as often as its weight says.

        The order depends on neither that of the rows nor on whether copies are rows of
        their own or a weight: what is drawn for them then does not either.

        Raises
        ------
        MissingCapabilityError
            For weights that are not whole numbers.
        """
        rows, index = np.arange(self.y.size), self._full_index()
        if self.sample_weight is None:
            return self._in_order(rows, index)
        copies = np.rint(self.sample_weight).astype(np.intp)
        if (copies != self.sample_weight).any() or copies.sum() > _MOST_COPIES:
            raise MissingCapabilityError(
                "the auxiliary variables need weights that are whole numbers with a sum of at most "
                f"{_MOST_COPIES}: every copy of a row has its own auxiliary variable."
            )
        rows = np.repeat(rows, copies)
        return self._in_order(rows, index[rows])

    def _in_order(self, rows: NDArray, index: NDArray) -> tuple[NDArray, NDArray]:
        values = self._per_observation_values()
        values.pop("sample_weight", None)
        order = np.lexsort((*(value[rows] for value in values.values()), self.y[rows], index))
        return rows[order], index[order]

    def distinct(self) -> tuple[Self, NDArray]:
        """Likelihood over the latent values that differ in their observations.

        Site fits for a shared prior mean and variance are computed once per distinct latent value
        and expanded: ``small.fit_sites(m, K).precision[inverse]``.

        Returns
        -------
        small : Likelihood
            Over one representative of each set of latent values with the same observations,
            weights and other settings, in whatever order.
        inverse : ndarray of int of shape (n_latent,)
            For each latent value the place of its representative in ``small``.
        """
        columns = [self.y, *self._per_observation_values().values()]
        table = np.column_stack(columns) + 0.0  # -0.0 + 0.0 is 0.0
        if self._one_each:
            rows = table if self._order is None else table[self._order]
            # Comparing rows is ten times slower than comparing numbers.
            rows, axis = (rows, 0) if rows.shape[1] > 1 else (rows[:, 0], None)
            _, first, inverse = np.unique(rows, axis=axis, return_index=True, return_inverse=True)
            return self.of_latents(first), inverse.reshape(-1)
        first, inverse = group_by_observations(table, self._full_index(), self.n_latent)
        return self.of_latents(first), inverse

    def _full_index(self) -> NDArray:
        return np.arange(self.y.size) if self.latent_index is None else self.latent_index

    def _per_observation_values(self) -> dict[str, NDArray]:
        """Collect the attributes with one value per observation, except ``y`` and the index."""
        values = {name: getattr(self, name) for name in ("sample_weight", *self.per_observation)}
        return {name: value for name, value in values.items() if np.ndim(value) == 1}

    def of_latents(self, latents: NDArray) -> Self:
        """Return the likelihood of some latent values alone: their observations, in this order.

        Parameters
        ----------
        latents : ndarray of int
            Which, each at most once.

        Returns
        -------
        Likelihood
        """
        place = np.full(self.n_latent, -1)
        place[latents] = np.arange(latents.size)
        new_index = place[self._full_index()]
        observations = np.flatnonzero(new_index >= 0)
        observations = observations[np.argsort(new_index[observations], kind="stable")]
        other = self._copy()
        other.y = self.y[observations]
        for name, value in self._per_observation_values().items():
            setattr(other, name, value[observations])
        other.n_latent = latents.size
        index = new_index[observations]
        simple = np.array_equal(index, np.arange(latents.size))
        other.latent_index = None if simple else index
        other._index_latents()
        other._refresh()
        return other

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def with_latent_of_each_row(self, n_rows: int) -> Self:
        """Return the same observations, those of each row with a latent value of their own.

        Parameters
        ----------
        n_rows : int
            Observations are blocks of so many, one of each row.

        Returns
        -------
        Likelihood
        """
        n_blocks = self.y.size // n_rows
        other = self._copy()
        other.n_latent = n_rows
        other.latent_index = None if n_blocks == 1 else np.tile(np.arange(n_rows), n_blocks)
        other._index_latents()
        other._refresh()
        return other

    def with_targets(self, y: NDArray) -> Self:
        """Return the same likelihood with other observations, which are not validated.

        Parameters
        ----------
        y : ndarray of shape (n_obs,)

        Returns
        -------
        Likelihood
        """
        other = self._copy()
        other.y = np.asarray(y, dtype=float)
        other._refresh()
        return other


def group_by_observations(table: NDArray, index: NDArray, n_latent: int) -> tuple[NDArray, NDArray]:
    """Group latent values whose rows of ``table`` are equal in any order."""
    order = np.lexsort((*table.T, index))
    starts = np.searchsorted(index[order], np.arange(1, n_latent))
    keys: dict[bytes, int] = {}
    inverse = np.empty(n_latent, dtype=np.intp)
    first: list[int] = []
    for latent, rows in enumerate(np.split(table[order], starts)):
        place = keys.setdefault(rows.tobytes(), len(keys))
        if place == len(first):
            first.append(latent)
        inverse[latent] = place
    return np.array(first), inverse
