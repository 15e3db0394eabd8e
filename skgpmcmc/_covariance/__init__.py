"""Covariances of latent variables: from scikit-learn kernels to factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ._base import Covariance
from ._dense import DenseCovariance, KernelCovariance
from ._factor import CholeskyFactor, PseudoPosterior, PseudoPosteriorFactory
from ._grid import GridCovariance, separable_form
from ._grid_factor import GridFactor, GridPseudoPosterior, GridPseudoPosteriorFactory
from ._kernel_call import covariances, variances
from ._kernel_checks import (
    check_hyperparameters,
    check_kernel,
    check_kernel_call,
    describe_fault,
    has_gradient,
)
from ._kernel_form import NoiseSplit, StationaryForm, parse, split_white_noise
from ._memory import grid_memory, working_memory
from ._stationary import StationaryCovariance

#: The square root of a covariance, in either form.
Factor = CholeskyFactor | GridFactor
AnyPseudoPosterior = PseudoPosterior | GridPseudoPosterior

__all__ = [
    "AnyPseudoPosterior",
    "CholeskyFactor",
    "Covariance",
    "DenseCovariance",
    "Factor",
    "GridCovariance",
    "GridFactor",
    "GridPseudoPosterior",
    "GridPseudoPosteriorFactory",
    "KernelCovariance",
    "NoiseSplit",
    "PseudoPosterior",
    "PseudoPosteriorFactory",
    "StationaryCovariance",
    "check_hyperparameters",
    "check_kernel",
    "check_kernel_call",
    "covariances",
    "describe_fault",
    "grid_memory",
    "has_fast_gradient",
    "has_gradient",
    "make_covariance",
    "separable_form",
    "split_white_noise",
    "variances",
    "working_memory",
]


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
    form = _fast_form(kernel, X)
    if form is not None:
        points = np.asarray(X, dtype=np.float64)
        return StationaryCovariance(form, points, jitter, offset_variance, gradient)
    return KernelCovariance(kernel, X, jitter, offset_variance, gradient)


def has_fast_gradient(kernel: Kernel, X: Any) -> bool:
    """Return whether the gradient costs little more than the covariance, for any number of columns.

    The kernel's own gradient is an array of n x n x n_dims numbers, which takes as long as many
    covariances.
    """
    return _fast_form(kernel, X) is not None


def _fast_form(kernel: Kernel, X: Any) -> StationaryForm | None:
    """Return the form of a kernel that `StationaryCovariance` takes, None for any other."""
    form = parse(kernel)
    if form is None or len(form.length_scale.values) not in (1, np.shape(X)[1]):
        return None  # where the length scales do not fit X, the kernel's own call says so
    return form
