"""Derivatives of kernels along one column of the inputs.

The derivative of a Gaussian process is another one, whose covariances are derivatives of the
kernel's (Rasmussen and Williams 2006, section 9.4): df/dx_c and f have dk(x, y)/dx_c, and two
derivatives have d^2 k(x, y)/dx_c dy_c. Stationary kernels are functions h(s) of the squared
distance s, in length scales: with u = (x_c - y_c) / l_c^2 the derivatives are 2 h' u, -2 h' u and
-4 h'' u^2 - 2 h' / l_c^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gamma, kv
from sklearn.gaussian_process import kernels as skk

from .._linalg import Array
from ._cross import CrossCovariance


class Derivatives(NamedTuple):
    """A kernel at pairs of inputs x and y, and its derivatives along a column.

    Attributes
    ----------
    value, along_x, along_y, along_both : ndarray
        k, dk/dx_c, dk/dy_c and d^2 k/dx_c dy_c.
    """

    value: Array
    along_x: Array
    along_y: Array
    along_both: Array


class DerivativeCovariance(CrossCovariance):
    """Covariances of the derivative of f at new inputs, and of f at the latent variables.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Of the function, at one theta; `check_differentiable` accepts it.
    X : ndarray of shape (n, n_columns)
        Inputs of the latent variables.
    column : int
    """

    def __init__(self, kernel: skk.Kernel, X: Array, column: int) -> None:
        super().__init__(kernel, X)
        self._column = column

    def write(self, new: Array, out: Array) -> None:
        """Write the covariances; see `CrossCovariance.write`."""
        out[...] = self._between(new[:, np.newaxis], self._X[np.newaxis]).along_x

    def variances(self, new: Array) -> Array:
        """Return the variances of the derivative at new inputs."""
        return self._between(new, new).along_both

    def among(self, new: Array) -> Array:
        """Return the covariances of the derivative at new inputs."""
        return self._between(new[:, np.newaxis], new[np.newaxis]).along_both

    def _between(self, x: Array, y: Array) -> Derivatives:
        with np.errstate(over="ignore", under="ignore"):
            return kernel_derivatives(self.kernel, x, y, self._column)


def check_differentiable(kernel: skk.Kernel, n_columns: int) -> None:
    """Raise a ValueError for a kernel whose functions have no derivative, or none known here.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    n_columns : int
        Of the inputs.
    """
    reason = _fault(kernel, n_columns)
    if reason:
        raise ValueError(
            f"the derivative of the latent function is not available: {reason}. Available are sums "
            "and products of RBF, Matern with nu above 1, RationalQuadratic, ExpSineSquared (of a "
            "single column), DotProduct and ConstantKernel, and powers of these. Name a component "
            "that consists of such kernels, or fit with another kernel."
        )


def _fault(kernel: skk.Kernel, n_columns: int) -> str:
    kind = type(kernel)
    if kind in (skk.Sum, skk.Product):
        return _fault(kernel.k1, n_columns) or _fault(kernel.k2, n_columns)
    if kind is skk.Exponentiation:
        return _fault(kernel.kernel, n_columns)
    if kind is skk.WhiteKernel:
        return "white noise has none"
    if kind is skk.Matern and not kernel.nu > 1.0:
        return f"functions with the kernel {kernel} are too rough to have one"
    if kind is skk.ExpSineSquared and n_columns > 1:
        return f"{kernel} takes {n_columns} columns here"
    return "" if kind in _FORMULAS else f"that of the kernel {kernel} is not known"


def kernel_derivatives(kernel: skk.Kernel, x: Array, y: Array, column: int) -> Derivatives:
    """Return a kernel and its derivatives at pairs of inputs.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        One that `check_differentiable` accepts.
    x, y : ndarray of shape (..., n_columns)
        Broadcast against each other.
    column : int
    """
    return _FORMULAS[type(kernel)](kernel, x, y, column)


def _sum(kernel: skk.Sum, x: Array, y: Array, column: int) -> Derivatives:
    one, two = (kernel_derivatives(part, x, y, column) for part in (kernel.k1, kernel.k2))
    return Derivatives(*(a + b for a, b in zip(one, two, strict=True)))


def _product(kernel: skk.Product, x: Array, y: Array, column: int) -> Derivatives:
    one, two = (kernel_derivatives(part, x, y, column) for part in (kernel.k1, kernel.k2))
    return Derivatives(
        one.value * two.value,
        one.along_x * two.value + one.value * two.along_x,
        one.along_y * two.value + one.value * two.along_y,
        one.along_both * two.value
        + one.along_x * two.along_y
        + one.along_y * two.along_x
        + one.value * two.along_both,
    )


def _power(kernel: skk.Exponentiation, x: Array, y: Array, column: int) -> Derivatives:
    base, p = kernel_derivatives(kernel.kernel, x, y, column), kernel.exponent
    slope = p * base.value ** (p - 1.0)
    curvature = p * (p - 1.0) * base.value ** (p - 2.0) if p != 1.0 else 0.0
    return Derivatives(
        base.value**p,
        slope * base.along_x,
        slope * base.along_y,
        curvature * base.along_x * base.along_y + slope * base.along_both,
    )


def _constant(kernel: skk.ConstantKernel, x: Array, y: Array, column: int) -> Derivatives:
    zero = np.zeros(np.broadcast_shapes(x.shape, y.shape)[:-1])
    return Derivatives(zero + kernel.constant_value, zero, zero, zero)


def _dot_product(kernel: skk.DotProduct, x: Array, y: Array, column: int) -> Derivatives:
    value = kernel.sigma_0**2 + (x * y).sum(axis=-1)
    zero = np.zeros_like(value)
    return Derivatives(value, zero + y[..., column], zero + x[..., column], zero + 1.0)


def _periodic(kernel: skk.ExpSineSquared, x: Array, y: Array, column: int) -> Derivatives:
    angle = 2.0 * np.pi / kernel.periodicity * (x - y)[..., column]
    rate = 2.0 * np.pi / kernel.periodicity
    scale = kernel.length_scale**-2.0
    # log k = -2 sin^2(angle / 2) / l^2 and its derivatives along x.
    value = np.exp(-2.0 * scale * np.sin(0.5 * angle) ** 2)
    slope = -scale * rate * np.sin(angle)
    curvature = -scale * rate**2 * np.cos(angle)
    return Derivatives(value, slope * value, -slope * value, -(curvature + slope**2) * value)


# h, h' and h'' at squared distances, given the kernel. Where s = 0, h'' is multiplied by 0.
_Profile = tuple[Array, Array, Array]


def _stationary(profile: Callable[[Any, Array], _Profile]) -> Callable[..., Derivatives]:
    """Return the derivatives of a kernel that is a function of the squared distance."""

    def formula(kernel: Any, x: Array, y: Array, column: int) -> Derivatives:
        scales = np.broadcast_to(kernel.length_scale, x.shape[-1:])
        difference = x - y
        s = ((difference / scales) ** 2).sum(axis=-1)
        u = difference[..., column] / scales[column] ** 2
        value, slope, curvature = profile(kernel, s)
        along = 2.0 * slope * u
        both = -4.0 * curvature * u**2 - 2.0 * slope / scales[column] ** 2
        return Derivatives(value, along, -along, both)

    return formula


def _squared_exponential(kernel: Any, s: Array) -> _Profile:
    value = np.exp(-0.5 * s)
    return value, -0.5 * value, 0.25 * value


def _rational_quadratic(kernel: skk.RationalQuadratic, s: Array) -> _Profile:
    alpha = kernel.alpha
    base = 1.0 + s / (2.0 * alpha)
    curvature = 0.25 * (alpha + 1.0) / alpha * base ** (-alpha - 2.0)
    return base**-alpha, -0.5 * base ** (-alpha - 1.0), curvature


def _matern(kernel: skk.Matern, s: Array) -> _Profile:
    """Return the profile; by d/dz z^nu K_nu(z) = -z^nu K_(nu - 1)(z), with z^2 = 2 nu s."""
    nu = kernel.nu
    if nu == math.inf:
        return _squared_exponential(kernel, s)
    z = np.sqrt(2.0 * nu * s)
    if nu == 1.5:
        decay = np.exp(-z)
        return (1.0 + z) * decay, -1.5 * decay, _where_apart(z, lambda z: 2.25 / z * np.exp(-z))
    if nu == 2.5:
        decay = np.exp(-z)
        return (
            (1.0 + z + z**2 / 3.0) * decay,
            -5.0 / 6.0 * (1.0 + z) * decay,
            25.0 / 12.0 * decay,
        )
    factor = 2.0 ** (1.0 - nu) / gamma(nu)
    at_zero = factor * nu * 2.0 ** (nu - 2.0) * gamma(nu - 1.0)
    value = _where_apart(z, lambda z: factor * z**nu * kv(nu, z), 1.0)
    slope = _where_apart(z, lambda z: -factor * nu * z ** (nu - 1.0) * kv(nu - 1.0, z), -at_zero)
    curvature = _where_apart(z, lambda z: factor * nu**2 * z ** (nu - 2.0) * kv(nu - 2.0, z))
    return value, slope, curvature


def _where_apart(z: Array, formula: Callable[[Array], Array], at_zero: float = 0.0) -> Array:
    """Return a formula that has no value at z = 0, and what is given there."""
    apart = z > 0.0
    return np.where(apart, formula(np.where(apart, z, 1.0)), at_zero)


_FORMULAS: dict[type, Callable[..., Derivatives]] = {
    skk.Sum: _sum,
    skk.Product: _product,
    skk.Exponentiation: _power,
    skk.ConstantKernel: _constant,
    skk.DotProduct: _dot_product,
    skk.ExpSineSquared: _periodic,
    skk.RBF: _stationary(_squared_exponential),
    skk.RationalQuadratic: _stationary(_rational_quadratic),
    skk.Matern: _stationary(_matern),
}
