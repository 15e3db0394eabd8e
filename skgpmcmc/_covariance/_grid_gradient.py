"""Derivatives of functions of a covariance on a grid, along its eigenvalues and length scales.

A function phi of a symmetric matrix acts on its eigenvalues, and the derivative of x . phi(A) y
along A is, in the eigenbasis, a sum of x_i dA_ij y_j (phi_i - phi_j) / (lambda_i - lambda_j):
the divided difference, phi' where the two eigenvalues are equal (Daleckii and Krein 1965).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from .._linalg import Array
from ._grid_factor import AxisSpectrum, GridPseudoPosterior

# The fastest rotation of eigenvectors along a log length scale that is taken into account. A faster
# one has rounding errors that would show in the gradient; it occurs where eigenvalues cross, or
# consist of rounding errors.
_FASTEST_ROTATION = 1e6


class EigenvalueDerivatives(NamedTuple):
    """A sum over terms x . phi(A) y, and of a function of each eigenvalue, with its derivatives.

    Attributes
    ----------
    left, right, values : ndarray of shape (n_terms, n)
        x and y in the eigenbasis, and phi at each eigenvalue.
    diagonal : ndarray of shape (n,)
        Derivative along each eigenvalue of K / amplitude.
    eta, residual : ndarray of shape (n,)
        Derivatives along what the sum is a function of besides, not in the eigenbasis.
    """

    left: Array
    right: Array
    values: Array
    diagonal: Array
    eta: Array
    residual: Array


def derivatives_along_eigenvalues(
    pseudo: GridPseudoPosterior, eta: Array, residual: Array, score: Array
) -> EigenvalueDerivatives:
    """Return the derivatives of score . L z - z . z / 2 - log |U| along the eigenvalues of K.

    With k an eigenvalue of K and q = 1 / (1 + w k), the whitened z = U^-T (eta + b) with
    b = U^-1 L r is q^1/2 eta + k^1/2 q r, and L z is (k q)^1/2 eta + k q r.

    Parameters
    ----------
    pseudo : GridPseudoPosterior
        Gives L and U.
    eta, residual, score : ndarray of shape (n,)
        See `Covariance.pseudo_posterior_gradient`.
    """
    factor, w = pseudo.factor, pseudo.precision
    unit = factor.unit
    eta, residual, score = unit.rotate(np.stack([eta, residual, score]))
    amplitude, root = factor.scale**2, factor.scale * unit.root
    k = amplitude * unit.values
    q = 1.0 / (1.0 + w * k)
    half = np.sqrt(q)
    values = np.stack([half * root, q * k, half, q * root])
    z = values[2] * eta + values[3] * residual
    left = np.stack([score, score, -z, -z])
    right = np.stack([eta, residual, eta, residual])
    root_rate = 0.5 * q / root
    along = np.stack([half * root_rate, q * q, -0.5 * w * half * q, root_rate - w * values[3] * q])
    diagonal = amplitude * (np.einsum("ti,ti,ti->i", left, right, along) - 0.5 * w * q)
    moving = np.stack([values[0] * score - values[2] * z, values[1] * score - values[3] * z])
    return EigenvalueDerivatives(left, right, values, diagonal, *unit.rotate_back(moving))


def derivative_along_axis(
    axes: Sequence[AxisSpectrum], d: int, squares: Array, derivatives: EigenvalueDerivatives
) -> float:
    """Return the derivative along the log length scale of one axis.

    With E the derivative of the axis' own correlations, in its eigenbasis, and v the product
    of the other axes' eigenvalues, dA_ij is v_k E_ab for i = (k, a) and j = (k, b), and
    v_k cancels from the divided difference: matrix products do the sum over k.

    Parameters
    ----------
    axes : sequence of AxisSpectrum
        All of them.
    d : int
        Which one.
    squares : ndarray of shape (n_axis, n_axis)
        Its squared distances.
    derivatives : EigenvalueDerivatives
        Of what the derivative is wanted.
    """
    axis = axes[d]
    derivative = axis.vectors.T @ (axis.correlation * squares) @ axis.vectors
    derivative *= axis.weight
    gaps = np.subtract.outer(axis.values, axis.values)
    # Left out are pairs of eigenvalues that differ only by rounding errors, and the diagonal.
    distinct = np.abs(derivative) < _FASTEST_ROTATION * np.abs(gaps)
    rotation = np.divide(derivative, gaps, out=np.zeros_like(derivative), where=distinct)
    left, right, values = derivatives.left, derivatives.right, derivatives.values
    off_diagonal = _columns(left * values, axes, d).T @ _columns(right, axes, d)
    off_diagonal -= _columns(left, axes, d).T @ _columns(right * values, axes, d)
    others = reduce(np.multiply.outer, [a.values for a in (*axes[:d], *axes[d + 1 :])], np.ones(()))
    along_values = others.reshape(-1) @ _columns(derivatives.diagonal, axes, d)
    return float(np.vdot(rotation, off_diagonal) + along_values @ np.diagonal(derivative))


def _columns(values: Array, axes: Sequence[AxisSpectrum], d: int) -> Array:
    """Return vectors on the grid as a matrix whose columns belong to one axis."""
    n_axis, n_after = len(axes[d].values), math.prod(len(a.values) for a in axes[d + 1 :])
    return values.reshape(-1, n_axis, n_after).swapaxes(1, 2).reshape(-1, n_axis)
