"""Data frames: the names of their columns, and rows of numbers in a frame of their kind."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.utils.validation import validate_data

from .._linalg import Array
from .._messages import warn_user
from ._checks import Fitted


def frame_columns(X: Any) -> list | None:
    """Return the names of the columns of a data frame, such as of pandas or polars, or None."""
    columns = getattr(X, "columns", None)
    if hasattr(X, "iloc"):
        return None if columns is None else list(columns)
    has_names = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    return columns if has_names else None


def like(X: Any, rows: Array) -> Any:
    """Return rows of numbers in a frame with the columns of X, if X is one.

    What predicts from them can then tell whether the columns are those of `fit`.
    """
    columns = frame_columns(X)
    if columns is None:
        return rows
    if hasattr(X, "iloc"):
        return type(X)(rows, columns=X.columns)
    return type(X)(dict(zip(columns, rows.T, strict=True)))


def check_columns_of_events(fitted: Fitted, X: Any, events: Any) -> None:
    """Raise a ValueError for events in a frame whose columns are not those of the inputs.

    Parameters
    ----------
    fitted : Fitted
    X : array-like, DataFrame or None
        Where the rate is drawn.
    events : array-like or DataFrame of shape (n_events, n_columns)
    """
    names, own = frame_columns(events), frame_columns(X)
    if names is None:
        return
    if own is not None:
        if names != own:
            raise ValueError(
                f"events must have the columns of X in the same order, {own}; got {names}."
            )
    elif fitted.before is None:
        _check_as_fit("events", events, fitted.estimator)


def _check_as_fit(name: str, frame: Any, estimator: Any) -> None:
    """Let scikit-learn compare the columns with those of `fit`, in words that name the frame."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            validate_data(estimator, frame, reset=False, skip_check_array=True)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    for warning in caught:
        message = str(warning.message)
        warn_user(message.replace("X has", f"{name} has", 1), warning.category)
