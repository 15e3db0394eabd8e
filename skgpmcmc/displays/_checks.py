"""What displays accept: fitted estimators, alone or at the end of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._linalg import Array
from ..estimators._base import BaseMCMCGaussianProcess
from ..estimators._inputs import interval_ends
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

    def functions(self) -> tuple[list[Trace], list[str] | None]:
        """Return the trace of each latent function; and of several the classes they belong to."""
        traces = self.estimator.trace_
        if not isinstance(traces, list):
            return [traces], None
        return traces, [str(label) for label in self.estimator.classes_.tolist()]

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
        own = isinstance(estimator, BaseMCMCGaussianProcess)
        wanted = "an estimator of skgpmcmc" if kind is BaseMCMCGaussianProcess else kind.__name__
        found = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        advice = hint if own else " Of a search pass `best_estimator_`."
        raise TypeError(
            f"{caller} takes {wanted}, fitted, or a Pipeline that ends in one; got {found}.{advice}"
        )
    check_is_fitted(estimator)
    return Fitted(estimator, before)


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
    if isinstance(names, str) or len(names) != n_features:
        raise ValueError(
            f"feature_names must be a list of {n_features} names, one for each column; got "
            f"{names!r}."
        )
    return [str(name) for name in names]


def check_levels(confidence_levels: Any) -> list[float]:
    """Return confidence levels, the widest first; raise a ValueError unless all are in (0, 1)."""
    levels = np.atleast_1d(np.asarray(confidence_levels, dtype=float)).tolist()
    for level in levels:
        interval_ends(level)
    if not levels:
        raise ValueError("confidence_levels must have one level or more, such as (0.5, 0.9).")
    return sorted(set(levels), reverse=True)


def as_matrix(name: str, X: Any, n_columns: int | None = None, hint: str = "") -> Array:
    """Return numbers in rows and columns; raise a ValueError, with the hint, for what is none."""
    try:
        matrix = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{name} must hold numbers, in rows and columns: {error}. {hint}"
        raise ValueError(message.rstrip()) from None
    if matrix.ndim != 2 or n_columns not in (None, matrix.shape[1]) or not len(matrix):
        columns = "n_columns" if n_columns is None else n_columns
        raise ValueError(
            f"{name} must have shape (n_rows, {columns}), with a row or more; got {matrix.shape}."
        )
    return matrix
