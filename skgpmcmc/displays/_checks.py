"""What displays accept: fitted estimators, alone or at the end of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._checks import check_given, check_rows_of_numbers
from .._linalg import Array
from ..estimators._base import BaseMCMCGaussianProcess
from ..estimators._reports import function_labels
from ..trace import Trace


class Fitted(NamedTuple):
    """A fitted estimator of this package, and what stands before it.

    Attributes
    ----------
    estimator : BaseMCMCGaussianProcess
    before : Pipeline or None
        The other steps, if it is the last one of a pipeline.
    """

    estimator: Any
    before: Pipeline | None

    def transform(self, X: Any) -> Any:
        """Return what the estimator sees of X."""
        return X if self.before is None else self.before.transform(X)

    def check_missing(self, X: Any) -> None:
        """Raise the error of `predict` for missing values, unless a step fills them in."""
        seen = self.transform(X)
        try:
            has_holes = bool(np.isnan(as_matrix("X", seen)).any())
        except (TypeError, ValueError):  # objects, or what predictions refuse in better words
            return
        if has_holes:
            self.estimator.predict(seen)

    def functions(self) -> tuple[list[Trace], list[str] | None]:
        """Return the trace of each latent function; and of several what they are called."""
        labels, traces = function_labels(self.estimator), self.estimator.trace_
        return [traces] if labels is None else traces, labels

    def columns(self, feature_names: Sequence[str] | None) -> list[str]:
        """Return names of the columns that the estimator sees; numbers where they have none."""
        estimator = self.estimator
        n_features = getattr(estimator, "n_features_in_", 0)
        names = feature_names
        if names is None and self.before is not None:
            names = _names_after(self.before)
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            return [str(i) for i in range(n_features)]
        return check_names(names, n_features)


def unwrap(caller: str, model: Any, kind: type = BaseMCMCGaussianProcess, hint: str = "") -> Fitted:
    """Return a fitted estimator of the kind, given itself or a pipeline that ends in it.

    Parameters
    ----------
    caller : str
        For messages.
    model : estimator
        What the user passed.
    kind : type
        What it must be.
    hint : str
        What else fits, for messages.

    Raises
    ------
    TypeError
        For another kind of estimator.
    NotFittedError
        If it is not fitted.
    """
    before, estimator = None, model
    if isinstance(model, Pipeline):
        before, estimator = (model[:-1] if len(model) > 1 else None), model[-1]
    if not isinstance(estimator, kind):
        wanted = "an estimator of skgpmcmc" if kind is BaseMCMCGaussianProcess else kind.__name__
        raise TypeError(
            f"{caller} takes {wanted}, fitted, or a Pipeline that ends in one; got "
            f"{_what_came(estimator, hint)}"
        )
    check_is_fitted(estimator)
    return Fitted(estimator, before)


def _what_came(other: Any, hint: str) -> str:
    """Return what came instead of an estimator that fits, and what to do about it."""
    if isinstance(other, type):
        name = other.__name__
        return f"the class {name}. Pass an instance: {name}(...).fit(X, y)."
    name = type(other).__name__
    if isinstance(other, BaseMCMCGaussianProcess):
        return f"{name}.{hint}"
    is_search = hasattr(other, "refit")
    return f"{name}." + " Of a search pass `best_estimator_`." * is_search


def _names_after(before: Pipeline) -> list[str] | None:
    """Return the names of the columns that the steps make, if they know any."""
    if not hasattr(before, "feature_names_in_"):
        return None
    try:
        return before.get_feature_names_out().tolist()
    except (AttributeError, ValueError):  # not every transformer has names
        return None


def check_names(names: Sequence[str], n_features: int) -> list[str]:
    """Return names of columns; raise a ValueError where their number is wrong."""
    if isinstance(names, str) or np.shape(names) != (n_features,):
        raise ValueError(
            f"feature_names must be a list of {n_features} names, one for each column; got "
            f"{names!r}."
        )
    return [str(name) for name in names]


def check_levels(confidence_levels: Any) -> list[float]:
    """Return confidence levels, the widest first; raise a ValueError unless all are in (0, 1)."""
    check_given("confidence_levels", confidence_levels)
    array = np.asarray(confidence_levels, dtype=object)
    levels = array.ravel().tolist()
    if array.ndim > 1 or not levels or not all(_is_level(level) for level in levels):
        raise ValueError(
            "confidence_levels must be a number between 0 and 1, or a list of one or more, such "
            f"as (0.5, 0.9); got {confidence_levels!r}. For 90 % pass 0.9."
        )
    return sorted({float(level) for level in levels}, reverse=True)


def _is_level(level: Any) -> bool:
    return isinstance(level, Real) and not isinstance(level, bool) and 0.0 < float(level) < 1.0


def as_matrix(name: str, X: Any, n_columns: int | None = None, hint: str = "") -> Array:
    """Return numbers in rows and columns, NaN where missing; errors end with the hint.

    Raises
    ------
    TypeError
        For dates, and what holds no values in memory; as `predict` does.
    ValueError
        For what is no matrix of numbers.
    """
    try:
        check_rows_of_numbers(name, X)
    except TypeError as error:
        raise TypeError(f"{error} {hint}".rstrip()) from None
    try:
        matrix = np.asarray(_filled(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{name} must hold numbers, in rows and columns: {error}. {hint}"
        raise ValueError(message.rstrip()) from None
    if matrix.ndim != 2 or n_columns not in (None, matrix.shape[1]) or not len(matrix):
        columns = "n_columns" if n_columns is None else n_columns
        raise ValueError(
            f"{name} must have shape (n_rows, {columns}), with a row or more; got {matrix.shape}."
        )
    return matrix


def _filled(X: Any) -> Any:
    """Return a frame of pandas as an array: of its own data types numpy makes no NaN."""
    return X.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(X, "iloc") else X
