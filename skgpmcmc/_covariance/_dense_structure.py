"""The structure of any covariance: whole matrices, built in the fastest way that there is."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ._dense import DenseCovariance, KernelCovariance
from ._kernel_checks import describe_fault, has_gradient
from ._kernel_form import StationaryForm, parse
from ._memory import working_memory
from ._stationary import StationaryCovariance
from ._structure import CovarianceStructure


class DenseStructure(CovarianceStructure):
    """Matrices of n x n numbers, for any kernel and any inputs."""

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"any precisions", "marginal variances", "added noise"}
    )

    def covariance(
        self, kernel: Kernel, X: Any, jitter: float, offset_variance: float, gradient: bool
    ) -> DenseCovariance:
        """Return the covariance of one chain; see `make_covariance`."""
        return make_covariance(kernel, X, jitter, offset_variance, gradient)

    def memory(self, kernel: Kernel, X: Any, gradient: bool) -> float:
        """Return the bytes that a chain needs beside its draws; see `working_memory`."""
        n_columns = X.shape[1] if np.ndim(X) == 2 else 1
        return working_memory(kernel, len(X), n_columns, gradient)

    def has_gradient(self, kernel: Kernel, rows: Any) -> bool:
        """Return whether the kernel returns the gradient of its matrix."""
        return has_gradient(kernel, rows)

    def has_fast_gradient(self, kernel: Kernel, rows: Any) -> bool:
        """Return whether the gradient costs little more, for any number of columns.

        The kernel's own gradient is an array of n x n x n_dims numbers, which takes as long as
        many covariances.
        """
        return fast_form(kernel, rows) is not None

    def describe_fault(self, kernel: Kernel, X: Any, tolerance: float) -> str:
        """Return what is wrong with the covariance of a kernel at X, or an empty string."""
        return describe_fault(kernel, X, tolerance)


def make_covariance(
    kernel: Kernel,
    X: Any,
    jitter: float = 1e-6,
    offset_variance: float = 0.0,
    gradient: bool = False,
) -> DenseCovariance:
    """Return the fastest covariance that exists for a kernel.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Any kernel.
    X : array-like of length n
        Inputs that the kernel takes.
    jitter : float
        Added to the diagonal, relative to it.
    offset_variance : float
        Added to every entry.
    gradient : bool
        Whether gradients will be asked for.

    Returns
    -------
    covariance : DenseCovariance
        For one chain: it owns buffers.
    """
    form = fast_form(kernel, X)
    if form is not None:
        points = np.asarray(X, dtype=np.float64)
        return StationaryCovariance(form, points, jitter, offset_variance, gradient)
    return KernelCovariance(kernel, X, jitter, offset_variance, gradient)


def fast_form(kernel: Kernel, X: Any) -> StationaryForm | None:
    """Return the form of a kernel that `StationaryCovariance` takes, None for any other."""
    form = parse(kernel)
    if form is None or len(form.length_scale.values) not in (1, np.shape(X)[1]):
        return None  # where the length scales do not fit X, the kernel's own call says so
    return form
