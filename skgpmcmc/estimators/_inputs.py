"""Conversion of the users' arguments to the inputs of models."""

from __future__ import annotations

import re
import reprlib
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import column_or_1d

from .._checks import (
    as_array,
    as_elements,
    check_given,
    check_rows,
    first_without_numbers,
    is_missing,
    refuse_inexact,
    refuse_text,
)
from .._covariance import check_kernel_call, covariances
from .._linalg import Array
from .._messages import warn_user
from ..likelihoods._checks import as_floats

# More copies of a row than that leave nothing of the prior in double precision.
_LARGEST_WEIGHT = 1e12
# Less weight than that would overflow as a variance.
_SMALLEST_WEIGHT = 1e-100
# Below that in every row, weights are hardly meant as numbers of copies.
_SMALL_WEIGHT = 0.1
# As in scikit-learn, rows of weight zero are checked like all others.
_DROP_ROWS = " Leave out the rows without observations: a weight of 0 does not help."
_ROUND_TARGETS = (
    "Round y to numbers that float64 holds; from targets of a regression rather subtract a number, "
    "such as the smallest one, while they are whole numbers."
)


def as_objects(X: Any) -> Any:
    """Return objects that the kernel takes as an array, where numpy would not make one."""
    if hasattr(X, "to_numpy") and getattr(X, "ndim", 2) == 1:
        return X.to_numpy()  # a Series, of pandas' own data types too
    if not isinstance(X, list | tuple):
        return X
    try:
        np.asarray(X)
    except ValueError:  # ragged
        objects = np.empty(len(X), dtype=object)
        objects[:] = X
        return objects
    return X


def share_latents(X: Any, kernel: Kernel | None) -> tuple[Any, NDArray[np.intp] | None]:
    """Return the distinct rows of X in a fixed order and, for each row, the one it equals.

    Exactly repeated rows share one latent variable: the covariance stays positive
    definite, and the cost falls. The order makes the draws independent of that of the
    rows. Rows stay separate where the kernel tells equal inputs apart (white noise).
    """
    if kernel is not None:
        check_kernel_call(kernel, X[:2])
        if not _is_one_function(kernel, X[:1]):
            return X, None
    try:
        distinct, inverse = np.unique(X, axis=0, return_inverse=True)
    except (TypeError, ValueError):  # objects that have no order, such as arrays
        return X, None
    return distinct, inverse.reshape(-1)


def _is_one_function(kernel: Kernel, row: Any) -> bool:
    """Whether the same input twice has the same latent value."""
    matrix = covariances(kernel, np.concatenate([row, row]))
    return bool((matrix == matrix[0, 0]).all())


def number_per_row(name: str, values: Any, n_samples: int, *, zero: bool, hint: str = "") -> Array:
    """Return one number for each row, given such, or one for all.

    Parameters
    ----------
    name : str
        What users know the numbers as.
    values : float or array-like of shape (n_samples,)
        The numbers.
    n_samples : int
        Number of rows.
    zero : bool
        Whether a number may be zero.
    hint : str
        What to do where there are numbers for more rows, or fewer.

    Raises
    ------
    ValueError
        For a wrong shape, and for numbers that are negative, zero where that is not
        allowed, or not finite.
    """
    numbers = _number_or_vector(name, values, n_samples, hint)
    allowed = np.isfinite(numbers) & (numbers >= 0.0 if zero else numbers > 0.0)
    what = "finite and >= 0" if zero else "positive and finite"
    check_rows(numbers, allowed, name, what, _DROP_ROWS if numbers.ndim and not zero else "")
    return np.array(np.broadcast_to(numbers, (n_samples,)))


def _number_or_vector(name: str, values: Any, n_samples: int, hint: str = "") -> Array:
    """Return a number, or one for each row; raise a ValueError for another shape."""
    numbers = as_floats(name, values)
    if numbers.shape not in ((), (n_samples,)):
        is_column = numbers.shape == (n_samples, 1)
        raise ValueError(
            f"{name} must be a number, or have shape ({n_samples},), one for each row of X; got "
            f"shape {numbers.shape}."
            + " Make the column flat by numpy.ravel." * is_column
            + hint * (numbers.ndim == 1)
        )
    return numbers


def check_threshold(threshold: Any, n_samples: int) -> Array:
    """Return one threshold for each row, given such, or one for all; they may be infinite.

    Raises
    ------
    ValueError
        For a wrong shape, and for what is no number: NaN, None, booleans.
    """
    numbers = _number_or_vector("threshold", threshold, n_samples)
    if threshold is None or np.asarray(threshold).dtype.kind == "b":
        raise ValueError(
            f"threshold must be a number, or a number for each row; got {reprlib.repr(threshold)}."
        )
    hint = " Nothing is above or below NaN; inf and -inf are allowed."
    check_rows(numbers, ~np.isnan(numbers), "threshold", "a number", hint)
    return np.array(np.broadcast_to(numbers, (n_samples,)))


def check_sample_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Return weights as an array; None where they are all one.

    Raises
    ------
    ValueError
        For a wrong shape, and for weights that are negative, too large or not finite.
    """
    if sample_weight is None:
        return None
    weights = number_per_row("sample_weight", sample_weight, n_samples, zero=True)
    check_rows(
        weights,
        weights <= _LARGEST_WEIGHT,
        "sample_weight",
        f"at most {_LARGEST_WEIGHT:g}",
        " A weight counts copies of its row; divide all of them by the same number.",
    )
    check_rows(
        weights,
        (weights == 0.0) | (weights >= _SMALLEST_WEIGHT),
        "sample_weight",
        f"0, or at least {_SMALLEST_WEIGHT:g}",
        " A weight of 0 leaves its row out.",
    )
    if not weights.any():
        raise ValueError("sample_weight is zero in every row: there is nothing to fit.")
    return None if (weights == 1.0).all() else weights


def warn_of_shares(weights: Array | None) -> None:
    """Warn where weights look like shares that sum to one, so that rows count next to nothing.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,) or None
        Of the rows that have any.
    """
    if weights is None:
        return
    n, largest, total = len(weights), float(weights.max()), float(weights.sum())
    # Shares that were rounded, or some of them, as in the folds of a cross-validation.
    are_shares = n > 1 and total <= 1.0 + 1e-5
    if largest < _SMALL_WEIGHT or are_shares:
        warn_user(
            f"sample_weight says how many copies of its row each row counts as: the largest is "
            f"{largest:.3g}, and all {n} rows together count as {total:.3g}. The prior matters as "
            "much as with so few rows. If the weights were divided by their sum, multiply them by "
            "the number of rows.",
            UserWarning,
        )


def drop_weightless(weights: Array | None, *arrays: Any) -> tuple[Array | None, list[Any]]:
    """Leave out the rows of weight zero, which are not data."""
    if weights is None:
        return None, list(arrays)
    kept = weights > 0.0
    return weights[kept], [array[kept] for array in arrays]


def check_y(y: Any, *, what: str = "a number", exact: bool = False) -> None:
    """Raise an error for targets of which numpy makes nothing, or something wrong.

    Parameters
    ----------
    y : array-like
        As the user passed it; None is for scikit-learn.
    what : str, default="a number"
        Which each of them is.
    exact : bool, default=False
        Whether whole numbers that float64 cannot hold are refused here.

    Raises
    ------
    TypeError
        For what holds no values in memory, or holds them in no order.
    ValueError
        For masked and missing values, and whole numbers that would collapse.
    """
    check_given("y", y)
    refuse_text("y", y)
    values = as_elements(y)
    if values is None:
        return
    if values.dtype.kind == "O":
        flat = values.reshape(-1)
        there = np.array([value is None or not is_missing(value) for value in flat], dtype=bool)
        check_rows(flat, there, "y", what, _DROP_ROWS)
    if exact:
        refuse_inexact("y", "it", values, _ROUND_TARGETS)


def check_labels(y: Any) -> None:
    """Raise an error that names the first row without a label, or says what is no label.

    Parameters
    ----------
    y : array-like
        As the user passed it: of a list with NaN among strings numpy makes the string "nan". None
        is for scikit-learn.

    Raises
    ------
    TypeError
        For what holds no values in memory, or holds them in no order.
    ValueError
        For masked and missing labels, and those of several types.
    """
    check_given("y", y)
    refuse_text("y", y)
    array, values = as_array(y), as_elements(y)
    if y is None or array is None or values is None or array.dtype.kind == "f":
        return
    labels = values.reshape(-1) if array.dtype.kind in "OU" else array.reshape(-1)
    if labels.dtype.kind in "OmM":
        there = np.array([not is_missing(label) for label in labels], dtype=bool)
        check_rows(labels, there, "y", "a class label", _DROP_ROWS)
    if hasattr(getattr(y, "dtype", None), "numpy_dtype"):  # pandas' own
        refuse_inexact("y", "it", values)  # scikit-learn makes floats of them
    elif array.dtype.kind in "OU" and array.ndim == 1:
        _check_one_type(labels)


def _check_one_type(labels: NDArray) -> None:
    """Raise a ValueError for objects that are not all strings: scikit-learn takes no others."""
    types = {str if isinstance(label, str) else type(label) for label in labels}
    if types - {str}:
        names = " and ".join(sorted(kind.__name__ for kind in types))
        target = "int" if all(issubclass(kind, Integral | np.bool_) for kind in types) else "str"
        raise ValueError(
            "Unknown label type: y must be class labels of one type, all of them numbers or all of "
            f"them strings; got objects of type {names}. Pass numpy.asarray(y, dtype={target})."
        )


def new_vector(y: Any, **options: Any) -> NDArray:
    """Return targets of new rows as a vector; options and errors are those of `check_y`."""
    _refuse_none(y)
    check_y(y, **options)
    vector: NDArray = column_or_1d(y)
    return vector


def new_labels(y: Any) -> NDArray:
    """Return labels of new rows as a vector; errors are those of `check_labels`."""
    _refuse_none(y)
    check_labels(y)
    labels: NDArray = column_or_1d(y)
    if labels.dtype.kind == "f":
        check_rows(labels, np.isfinite(labels), "y", "a class label")
    return labels


def _refuse_none(y: Any) -> None:
    if y is None:
        raise ValueError("y must be an array or a list, with an entry for each row of X; got None.")


def explain_inputs(error: Exception, X: Any) -> Exception:
    """Return scikit-learn's error, in other words where X holds no numbers."""
    if str(error).startswith("Input y contains"):
        return type(error)(str(error) + _DROP_ROWS)
    if re.search(r"\bX\b", str(error)):
        return error
    reason = "None is no array" if X is None else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # complex numbers: scikit-learn's words are clear
            np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        reason = str(cause).rstrip(".")
    if not reason:
        return error
    column = first_without_numbers(X)
    if column:
        reason = f"{column}: {reason}"
    advice = (
        "Encode categories as numbers, such as by OneHotEncoder(sparse_output=False) of "
        "scikit-learn, or give a kernel that takes objects."
    )
    if re.search(r"'\d{4}-\d\d?\b", reason):
        advice = (
            "Make dates of such strings, by pandas.to_datetime for example, and pass the number "
            "of days since one of them."
        )
    return type(error)(f"X must hold numbers, in shape (n_samples, n_features): {reason}. {advice}")


def check_inducing_points(n_inducing: Any) -> None:
    """Raise an error for an array of inducing points that is no table of numbers.

    Raises
    ------
    ValueError
        For complex numbers, no points at all, and other shapes than that of a table.
    """
    if n_inducing is None or isinstance(n_inducing, str | Real):
        return
    array = as_array(n_inducing)
    if array is None or array.dtype.kind == "O":  # inputs of a kernel that takes objects, or text
        return
    if array.dtype.kind == "c":
        raise ValueError("n_inducing must hold real numbers; got complex ones.")
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            "n_inducing must be None, 'auto', a whole number or an array of points of shape "
            f"(n_points, n_features), with one point at least; got shape {array.shape}."
            + " Points in one column are n_inducing.reshape(-1, 1)."
            * (array.ndim == 1)
        )


def interval_ends(confidence_level: Any) -> list[float]:
    """Return the quantiles that bound a central interval.

    Raises
    ------
    ValueError
        Unless the confidence level is inside (0, 1).
    """
    if not (isinstance(confidence_level, Real) and 0.0 < float(confidence_level) < 1.0):
        raise ValueError(
            f"confidence_level must be a number between 0 and 1; got {confidence_level!r}. For "
            "90 % pass 0.9."
        )
    tail = 0.5 * (1.0 - float(confidence_level))
    return [tail, 1.0 - tail]
