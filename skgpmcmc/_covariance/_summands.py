"""The summands of a kernel that is a sum, each a covariance function of its own."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as skk


class Summand(NamedTuple):
    """A summand, or the sum of several, of a kernel.

    Attributes
    ----------
    name : str
        Path in the kernel, such as ``"k1__k2"``; empty for a kernel that is no sum.
    kernel : Kernel
    elements : ndarray of int
        Its elements of the kernel's theta.
    """

    name: str
    kernel: skk.Kernel
    elements: NDArray[np.intp]

    @classmethod
    def sum_of(cls, name: str, summands: Sequence[Summand]) -> Self:
        """Return several summands of a kernel as one."""
        kernel = functools.reduce(skk.Sum, [one.kernel for one in summands])
        return cls(name, kernel, np.concatenate([one.elements for one in summands]))


def summands_of(kernel: skk.Kernel) -> list[Summand]:
    """Return the summands of a kernel; sums inside of sums are sums of more summands.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Any kernel. Products of sums are not multiplied out.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared
    >>> kernel = ConstantKernel(2.0) * RBF(3.0) + ExpSineSquared() + ConstantKernel(0.5)
    >>> [(one.name, one.elements.tolist()) for one in summands_of(kernel)]
    [('k1__k1', [0, 1]), ('k1__k2', [2, 3]), ('k2', [4])]
    """
    return _below(kernel, "", 0)


def _below(kernel: skk.Kernel, path: str, start: int) -> list[Summand]:
    if type(kernel) is not skk.Sum:
        return [Summand(path, kernel, np.arange(start, start + kernel.n_dims))]
    prefix = f"{path}__" if path else ""
    second = start + kernel.k1.n_dims
    return [
        *_below(kernel.k1, f"{prefix}k1", start),
        *_below(kernel.k2, f"{prefix}k2", second),
    ]
