"""Checks of observations and their settings."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_floats, check_given, check_rows, check_vector, shown

# Beyond it doubles are not whole numbers one apart.
_LARGEST_COUNT = 2.0**53


def check_counts(
    y: ArrayLike,
    hint: str = " Counts are whole numbers of events; pass the time or area as exposure.",
) -> NDArray:
    """Return counts as a float vector, or name the first that is none."""
    counts = as_floats("y", y)
    check_rows(counts, are_whole(counts, 0.0), "y", "a whole number from 0 to 9e15", hint)
    return counts


def check_exposure(exposure: ArrayLike | None, length: int) -> NDArray | None:
    """Return exposures as a float vector, or name the first that is not positive."""
    if exposure is None:
        return None
    vector = check_vector(exposure, "exposure", length)
    hint = " Drop rows that were not observed."
    check_rows(vector, vector > 0.0, "exposure", "positive", hint)
    return vector


def check_trials(trials: ArrayLike, successes: NDArray) -> NDArray:
    """Return numbers of trials as a float vector, or name the first that is none, or too small."""
    numbers = check_vector(trials, "trials", successes.size)
    check_whole_trials(numbers)
    enough = successes <= numbers
    hint = f" That row has {numbers[~enough][0]:.0f} trials." if not enough.all() else ""
    check_rows(successes, enough, "y", "at most the number of trials", hint)
    return numbers


def check_whole_trials(numbers: NDArray) -> None:
    """Raise a ValueError that names the first number of trials that is none."""
    check_rows(numbers, are_whole(numbers, 1.0), "trials", "a whole number from 1 to 9e15")


def check_not_negative(numbers: NDArray, name: str) -> None:
    """Raise a ValueError that names the first number that is negative or not finite."""
    check_rows(numbers, (numbers >= 0.0) & (numbers < np.inf), name, "finite and >= 0")


def are_whole(numbers: NDArray, smallest: float) -> NDArray:
    """Return which numbers are whole, not below the smallest, and told apart by doubles."""
    return (numbers >= smallest) & (numbers <= _LARGEST_COUNT) & (numbers == np.floor(numbers))


def check_latent_index(
    latent_index: ArrayLike, n_obs: int, n_latent: int | None = None
) -> tuple[NDArray, int]:
    """Return the index and the number of latent values, by default those that occur.

    Raises
    ------
    ValueError
        Unless the index holds whole numbers, one for each observation, and every one from 0 to
        its maximum or, with `n_latent`, only smaller ones.
    """
    check_given("latent_index", latent_index)
    index = np.asarray(latent_index)
    if index.dtype.kind not in "iu" or index.shape != (n_obs,):
        raise ValueError(
            f"latent_index must be a vector of {n_obs} whole numbers, one per observation; got "
            f"dtype {index.dtype} and shape {index.shape}."
        )
    index = index.astype(np.intp)
    check_rows(index, index >= 0, "latent_index", ">= 0")
    if n_latent is not None:
        check_rows(index, index < n_latent, "latent_index", f"< n_latent={n_latent}")
        return index, n_latent
    counts = np.bincount(index)
    if not counts.all():
        raise ValueError(
            f"latent_index must contain every number from 0 to its maximum {index.max()}; "
            f"{int(np.argmin(counts))} is missing. Number the latent values without gaps, for "
            "example with numpy.unique(..., return_inverse=True), or pass n_latent."
        )
    return index, counts.size


def check_n_latent(n_latent: int | None, n_obs: int | None) -> None:
    """Raise a ValueError unless `n_latent` is None, or a number of latent values that can be.

    Parameters
    ----------
    n_latent : int or None
    n_obs : int or None
        Number of observations, if each has a latent value of its own.
    """
    if n_latent is None:
        return
    if not isinstance(n_latent, Integral) or isinstance(n_latent, bool) or n_latent < 1:
        raise ValueError(f"n_latent must be a whole number, at least 1; got {shown(n_latent)}.")
    if n_obs is not None and n_latent != n_obs:
        raise ValueError(
            f"n_latent={n_latent}, but y has {n_obs} elements, and without latent_index each has a "
            "latent value of its own. Pass latent_index, the latent value of each observation."
        )


def positive_or_none(value: float | None, message: str) -> float | None:
    """Return a positive number, or None for a parameter that is sampled; else raise `message`."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not np.finfo(float).tiny <= number < math.inf:
        raise ValueError(message)
    return number


def check_quantiles(quantiles: Any) -> NDArray:
    """Return quantiles as an array; raise a ValueError unless all are in [0, 1]."""
    values = np.atleast_1d(as_floats("quantiles", quantiles))
    if values.ndim != 1 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(
            f"quantiles must be one number, or a list of numbers, between 0 and 1; got "
            f"{shown(quantiles)}."
        )
    return values
