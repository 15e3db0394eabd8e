"""Checks of the matrices that a kernel returns, before anything is sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from .._linalg import Array
from ._kernel_call import covariances, variances

# Rows whose covariance is checked: eigenvalues take time.
_MAX_CHECKED = 500
# Negative eigenvalues up to this share of the largest one are accepted: rounding errors of a kernel
# are far smaller.
_NEGATIVE = 1e-7


def check_hyperparameters(kernel: Kernel) -> None:
    """Raise an error for hyperparameters or bounds whose logarithms do not exist.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Not called.

    Raises
    ------
    ValueError
        For a value that is not positive and finite (zero is allowed if it is fixed), and for
        bounds that are not one pair for each element.
    """
    values = kernel.get_params()
    for hyperparameter in kernel.hyperparameters:
        if hyperparameter.name not in values:
            raise ValueError(
                f"The kernel's hyperparameter {hyperparameter.name!r} must be a parameter of its "
                f"__init__, as scikit-learn wants it; these are {list(values)}."
            )
        _check_value(hyperparameter, values[hyperparameter.name])
        if not hyperparameter.fixed:
            _check_bounds(hyperparameter)


def _check_value(hyperparameter: Hyperparameter, value: Any) -> None:
    fixed = hyperparameter.fixed
    numbers = np.asarray(value)
    is_vector = numbers.dtype.kind in "fiu" and numbers.ndim < 2 and numbers.size > 0
    if (
        not is_vector
        or not (numbers >= 0.0 if fixed else (numbers > 0.0) & (numbers < np.inf)).all()
    ):
        allowed = "zero or larger" if fixed else "positive and finite"
        raise ValueError(
            f"The kernel's hyperparameter {hyperparameter.name!r} must be a number, or a vector of "
            f"numbers, {allowed}; got {value!r}."
        )


def _check_bounds(hyperparameter: Hyperparameter) -> None:
    size = hyperparameter.n_elements
    try:
        bounds = np.asarray(hyperparameter.bounds, dtype=np.float64)
        lower, upper = bounds.T
        allowed = bounds.shape == (size, 2) and ((lower >= 0.0) & (lower < upper)).all()
    except (TypeError, ValueError):
        allowed = False
    if not allowed:
        pairs = "a pair (lower, upper)" if size == 1 else f"one pair (lower, upper), or {size} such"
        raise ValueError(
            f"The bounds of the kernel's hyperparameter {hyperparameter.name!r} must be 'fixed' or "
            f"{pairs} with 0 <= lower < upper; got {np.squeeze(hyperparameter.bounds).tolist()!r}."
        )


def check_kernel_call(kernel: Kernel, rows: Any) -> None:
    """Raise an error for a kernel that does not return a square matrix of real numbers.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Called as it is given.
    rows : array-like of length n
        A few inputs.

    Raises
    ------
    ValueError
        For a kernel that fails, and for one that returns anything else, such as
        scikit-learn's CompoundKernel, which holds several kernels.
    """
    try:
        with np.errstate(all="ignore"):  # too far inputs are no fault of the kernel
            matrix = np.asarray(kernel(rows))
    except Exception as error:  # a kernel of the user's own may raise anything
        raise ValueError(
            f"kernel {kernel} fails on the first rows of X, of shape {np.shape(rows)}: {error}. "
            "Give a kernel for inputs like these."
        ) from error
    if matrix.shape != (len(rows), len(rows)) or matrix.dtype.kind not in "fiu":
        raise ValueError(
            f"kernel must return a matrix of real numbers of shape {(len(rows), len(rows))} for "
            f"{len(rows)} inputs; {kernel} returned shape {matrix.shape} and dtype {matrix.dtype}. "
            "Combine several kernels by + or *, not by CompoundKernel; a kernel of your own "
            "returns one covariance for each pair of inputs."
        )


def has_gradient(kernel: Kernel, rows: Any) -> bool:
    """Return whether a kernel returns the gradient of its matrix, as scikit-learn's do."""
    try:
        with np.errstate(all="ignore"):
            _, gradient = kernel(rows, eval_gradient=True)
    except Exception:  # a kernel of the user's own may raise anything
        return False
    return np.shape(gradient) == (len(rows), len(rows), kernel.n_dims)


def check_kernel(kernel: Kernel, X: Any) -> None:
    """Raise an error unless the kernel is a covariance function at these inputs.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Called as it is given, on the first of the inputs.
    X : array-like of length n
        Inputs.

    Raises
    ------
    ValueError
        For a kernel that is not positive semi-definite, such as ExpSineSquared in two
        dimensions, not symmetric, zero at an input, or not finite.
    """
    rows = X[:_MAX_CHECKED]
    matrix = covariances(kernel, rows)
    _check_consistency(kernel, matrix, variances(kernel, rows))
    fault = _describe_fault(matrix, _NEGATIVE)
    if fault:
        raise ValueError(
            f"kernel {kernel} is not a covariance function for these inputs: {fault}. Use another "
            "kernel, or other inputs; a kernel that is only valid in one dimension can be applied "
            "to one column of X."
        )


def _check_consistency(kernel: Kernel, matrix: Array, diagonal: Array) -> None:
    """Raise an error where K is not symmetric, or `diag` is not its diagonal."""
    problem = ""
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=0.0, equal_nan=True):
        problem = "its matrix is not symmetric"
    elif not np.allclose(diagonal, np.diagonal(matrix), rtol=1e-6, atol=0.0, equal_nan=True):
        problem = "its diag(X) is not the diagonal of its matrix"
    if problem:
        raise ValueError(f"kernel {kernel} is not a covariance function: {problem}.")


def describe_fault(kernel: Kernel, X: Any, tolerance: float) -> str:
    """Return what is wrong with the covariance of a kernel at X, or an empty string.

    Negative eigenvalues up to `tolerance` of the largest are not a fault.
    """
    return _describe_fault(covariances(kernel, X), tolerance)


def _describe_fault(matrix: Array, tolerance: float) -> str:
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = bad[0].tolist()
        return f"the covariance of rows {i} and {j} is {matrix[i, j]}"
    zero = np.flatnonzero(np.diagonal(matrix) == 0.0)
    if zero.size:
        return f"the variance of row {zero[0]} is 0; a ConstantKernel added to it makes it positive"
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -tolerance * abs(eigenvalues[-1]):
        return (
            "the covariance is not positive definite (smallest eigenvalue "
            f"{eigenvalues[0]:.3g}, largest {eigenvalues[-1]:.3g})"
        )
    return ""
