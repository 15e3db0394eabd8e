"""What a kernel must return, checked before anything is sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array

# Rows whose covariance is checked: eigenvalues take time.
_MAX_CHECKED = 500
# Of the largest eigenvalue; rounding of the kernel's own arithmetic stays far below.
_NEGATIVE = 1e-7


def check_kernel(kernel: Kernel, X: Any) -> None:
    """Raise an error for a kernel that does not return a covariance matrix.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Called as it is given.
    X : array-like of length n
        Inputs.

    Raises
    ------
    ValueError
        For a kernel that returns anything but a square matrix of numbers, such as
        scikit-learn's CompoundKernel, which holds several kernels; and for one that is not
        positive semi-definite at these inputs, such as ExpSineSquared in two dimensions.
    """
    rows = X[:2]
    matrix = np.asarray(kernel(rows))
    if matrix.shape != (len(rows), len(rows)) or matrix.dtype.kind not in "fiu":
        raise ValueError(
            f"kernel must return a matrix of real numbers of shape {(len(rows), len(rows))} for "
            f"{len(rows)} inputs; {kernel} returned shape {matrix.shape} and dtype {matrix.dtype}. "
            "Combine several kernels by + or *, not by CompoundKernel; a kernel of your own "
            "returns one covariance for each pair of inputs."
        )
    rows = X[:_MAX_CHECKED]
    matrix = np.asarray(kernel(rows))
    _check_consistency(kernel, matrix, kernel.diag(rows))
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
    return _describe_fault(np.asarray(kernel(X)), tolerance)


def _describe_fault(matrix: Array, tolerance: float) -> str:
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = bad[0].tolist()
        return f"the covariance of rows {i} and {j} is {matrix[i, j]}"
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -tolerance * abs(eigenvalues[-1]):
        return (
            "the covariance is not positive definite (smallest eigenvalue "
            f"{eigenvalues[0]:.3g}, largest {eigenvalues[-1]:.3g})"
        )
    return ""
