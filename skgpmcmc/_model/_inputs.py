"""Checks of the arguments of a model."""

from __future__ import annotations

import math
import reprlib
from numbers import Real
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_array

from .._checks import check_container, check_rows_of_numbers, plain, refuse_text, shown
from .._covariance import check_hyperparameters


def check_kernel_of(kernel: Any) -> None:
    """Raise an error unless it is a kernel whose hyperparameters can be sampled.

    Raises
    ------
    TypeError
        For anything but a scikit-learn kernel.
    ValueError
        See `check_hyperparameters`.
    """
    if not isinstance(kernel, Kernel):
        hint = " Give an instance of the class." if isinstance(kernel, type) else ""
        raise TypeError(
            "kernel must be a kernel of sklearn.gaussian_process.kernels, such as RBF(), or one "
            f"derived from its class Kernel; got {shown(kernel)}.{hint}"
        )
    check_hyperparameters(kernel)


def as_inputs(kernel: Kernel, X: Any) -> Any:
    """Return inputs as the kernel takes them: rows of numbers as an array, other objects unchanged.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Is not called.
    X : array-like
        What the user gave.

    Raises
    ------
    TypeError
        For no sequence; for strings and dates, where the kernel takes rows of numbers.
    ValueError
        For anything but rows of finite numbers, where the kernel takes such.
    """
    if kernel.requires_vector_input:
        refuse_text("X", X)
        check_rows_of_numbers("X", X)
        try:
            X = check_array(X, dtype=np.float64, input_name="X")
        except (TypeError, ValueError) as error:
            raise ValueError(
                "X must be rows of finite numbers, of shape (n_samples, n_features), for the "
                f"kernel {kernel}; got {_shown(X)}. {error}"
            ) from None
        return X
    check_container("X", X)
    if not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
        raise TypeError(f"X must be a sequence of inputs for the kernel {kernel}; got {shown(X)}.")
    return X


def _shown(X: Any) -> str:
    """Return a short description of a value, for messages."""
    try:
        shape = np.shape(X)
    except ValueError:  # rows of several lengths
        shape = ()
    return f"an array of shape {shape}" if shape else reprlib.repr(plain(X))


def check_mean(mean: Any) -> None:
    """Raise a ValueError unless it is the name of a prior mean."""
    if not isinstance(mean, str) or mean not in ("zero", "constant"):
        raise ValueError(f"mean must be 'zero' or 'constant'; got {shown(mean)}.")


def check_jitter(jitter: Any) -> None:
    """Raise a ValueError unless it is a number that can be added to a diagonal."""
    is_number = isinstance(jitter, Real) and not isinstance(jitter, bool)
    if not is_number or not 0.0 <= jitter < math.inf:
        raise ValueError(
            f"jitter must be a finite number, zero or larger, such as 1e-6; got {shown(jitter)}."
        )


def check_feature_names(names: Any, X: Any) -> None:
    """Raise a ValueError unless there is one name for each column of X, or None."""
    if names is None:
        return
    n_columns = X.shape[1] if np.ndim(X) == 2 else None
    is_list = hasattr(names, "__iter__") and not isinstance(names, str)
    given = list(names) if is_list else []
    if len(given) != n_columns or not all(isinstance(name, str) for name in given):
        expected = "None where X has no columns" if n_columns is None else f"{n_columns} strings"
        raise ValueError(
            f"feature_names must be {expected}, one for each column of X; got "
            f"{reprlib.repr(names)}."
        )


def check_structure(structure: Any, X: Any) -> None:
    """Raise an error unless it is a covariance structure, and the inputs have this structure."""
    if isinstance(structure, type) or not hasattr(structure, "check_inputs"):
        raise TypeError(
            "structure must be an instance of a CovarianceStructure, such as DenseStructure(); got "
            f"{reprlib.repr(structure)}."
        )
    structure.check_inputs(X)
