"""Covariances on Cartesian grids: one small eigendecomposition for each axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._grid import Grid
from .._linalg import Array
from ._base import Covariance
from ._grid_factor import AxisSpectrum, GridFactor, GridPseudoPosteriorFactory, GridSpectrum
from ._kernel_form import Leaf, StationaryForm, parse, product

# Of eigenvectors along a log length scale. The rounding errors of what turns faster would
# show in a gradient; it is eigenvalues that cross, or that are nothing but rounding errors.
_FASTEST_ROTATION = 1e6


def separable_form(kernel: Kernel, grid: Grid) -> StationaryForm | None:
    """Return the form of a kernel whose K on a grid is a Kronecker product, else None.

    It is a constant times a squared exponential, plus white noises: what these and the jitter
    add is diagonal in the eigenbasis, as no constant would be.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Any kernel.
    grid : Grid
        Of the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from skgpmcmc._covariance import separable_form
    >>> from skgpmcmc._grid import Grid
    >>> grid = Grid((np.arange(3.0), np.arange(4.0)))
    >>> separable_form(2.0 * RBF([1.0, 2.0]), grid) is not None
    True
    >>> separable_form(2.0 * Matern([1.0, 2.0]), grid) is not None
    False
    """
    form = parse(kernel)
    if form is None or form.nu != math.inf or form.offset:
        return None
    return form if len(form.length_scale.values) in (1, len(grid.axes)) else None


class GridCovariance(Covariance[GridFactor]):
    """Covariance s^2 (R_1 x ... x R_D) of the points of a grid, plus white noises.

    Parameters
    ----------
    form : StationaryForm
        What `separable_form` made of the kernel.
    grid : Grid
        Of the inputs.
    jitter : float
        See `Covariance`.
    """

    has_colour_gradient: ClassVar[bool] = True

    def __init__(self, form: StationaryForm, grid: Grid, jitter: float = 1e-6) -> None:
        super().__init__(grid.n, jitter)
        self._form = form
        if form.rescales:
            self.scale_parameters = [leaf.start for leaf in form.amplitude if leaf.free]
        self._squares = [np.subtract.outer(axis, axis) ** 2 for axis in grid.axes]

    def pseudo_posterior_factory(self) -> GridPseudoPosteriorFactory:
        """Return what factors I + L W L."""
        return GridPseudoPosteriorFactory()

    def _build_afresh(self, current: GridFactor) -> GridFactor | None:
        return self._new_factor(current.theta, None, [])

    def _new_factor(
        self, theta: Array, current: GridFactor | None, moved: list[int]
    ) -> GridFactor | None:
        amplitude = product(self._form.amplitude, theta)
        if not 0.0 < amplitude < math.inf:
            return None
        if current is not None and all(i in self.scale_parameters for i in moved):
            return current.rescaled(theta, amplitude)
        axes = self._axes(theta, None if current is None else current.unit.axes)
        nugget = self.jitter + (1.0 + self.jitter) * self._noise(theta) / amplitude
        if axes is None or not math.isfinite(nugget):
            return None
        factor = GridFactor(theta, GridSpectrum(axes, nugget), amplitude)
        return factor if math.isfinite(factor.half_log_det) else None

    def _noise(self, theta: Array) -> float:
        return sum(product(leaves, theta) for leaves in self._form.noise)

    def _axes(
        self, theta: Array, current: tuple[AxisSpectrum, ...] | None
    ) -> tuple[AxisSpectrum, ...] | None:
        """Return the axes' spectra, those of the current state where nothing moved."""
        weights = (self._form.length_scale.natural(theta) ** -2.0).tolist()
        if len(weights) == 1:
            weights *= len(self._squares)
        axes = []
        for d, (squares, weight) in enumerate(zip(self._squares, weights, strict=True)):
            if current is not None and current[d].weight == weight:
                axes.append(current[d])
                continue
            axis = _axis_spectrum(squares, weight)
            if axis is None:
                return None
            axes.append(axis)
        return tuple(axes)

    def colour_gradient(self, factor: GridFactor, whitened: Array, score: Array) -> Array:
        """Return the derivative of score . (L z) along theta; see `Covariance.colour_gradient`.

        From R R = A follows dR R + R dR = dA for a symmetric root R: in the eigenbasis dR_ij is
        dA_ij / (r_i + r_j), with r the roots of the eigenvalues of A.
        """
        unit, form = factor.unit, self._form
        gradient = np.zeros_like(factor.theta)
        left, right = factor.scale * unit.rotate(score), unit.rotate(whitened)
        halves = 0.5 * left * right / unit.root
        along_nugget = float(halves.sum())
        rest = float(halves @ unit.values) - (unit.nugget - self.jitter) * along_nugget
        _set_free(form.amplitude, rest, gradient)
        for leaves in form.noise:
            share = (1.0 + self.jitter) * product(leaves, factor.theta) / factor.scale**2
            _set_free(leaves, share * along_nugget, gradient)
        if form.length_scale.free:
            products = ((left * unit.root, right), (left, unit.root * right))
            slopes = [
                _along_axis(unit.axes, d, squares, products, halves)
                for d, squares in enumerate(self._squares)
            ]
            start = form.length_scale.start
            if len(form.length_scale.values) == 1:
                gradient[start] = sum(slopes)
            else:
                gradient[start : start + len(slopes)] = slopes
        return gradient


def _along_axis(
    axes: Sequence[AxisSpectrum],
    d: int,
    squares: Array,
    products: Sequence[tuple[Array, Array]],
    halves: Array,
) -> float:
    """Return left . (dR right) for the derivative of the root along an axis' log length scale.

    With E the derivative of the axis' own correlations, in its eigenbasis, and v the product
    of the other axes' eigenvalues, it is a sum of left_ka v_k E_ab right_kb / (r_ka + r_kb).
    The roots are those of v_k lambda_a + nu: off the diagonal v_k / (r_ka + r_kb) is
    (r_ka - r_kb) / (lambda_a - lambda_b), and matrix products do the sum over k.

    Parameters
    ----------
    axes : sequence of AxisSpectrum
        All of them.
    d : int
        Which one.
    squares : ndarray of shape (n_axis, n_axis)
        Its squared distances.
    products : sequence of pairs of ndarray of shape (n,)
        (left r, right) and (left, r right).
    halves : ndarray of shape (n,)
        left right / 2 r.
    """
    axis = axes[d]
    slope = axis.vectors.T @ (axis.correlation * squares) @ axis.vectors
    slope *= axis.weight
    gaps = np.subtract.outer(axis.values, axis.values)
    # What is left out are pairs within rounding errors of each other, and the diagonal.
    distinct = np.abs(slope) < _FASTEST_ROTATION * np.abs(gaps)
    rotation = np.divide(slope, gaps, out=np.zeros_like(slope), where=distinct)
    first, second = (_columns(a, axes, d).T @ _columns(b, axes, d) for a, b in products)
    others = reduce(np.multiply.outer, [a.values for a in (*axes[:d], *axes[d + 1 :])], np.ones(()))
    along_values = others.reshape(-1) @ _columns(halves, axes, d)
    return float(np.vdot(rotation, first - second) + along_values @ np.diagonal(slope))


def _columns(values: Array, axes: Sequence[AxisSpectrum], d: int) -> Array:
    """Return a vector on the grid as a matrix whose columns belong to one axis."""
    n_axis, n_after = len(axes[d].values), math.prod(len(a.values) for a in axes[d + 1 :])
    return values.reshape(-1, n_axis, n_after).swapaxes(1, 2).reshape(-1, n_axis)


def _axis_spectrum(squares: Array, weight: float) -> AxisSpectrum | None:
    """Return the spectrum of exp(-squares weight / 2); None where that is not finite."""
    if not math.isfinite(weight):
        return None
    correlation = np.exp(-0.5 * weight * squares)
    spectrum = _linalg.symmetric_spectrum(correlation)
    if spectrum is None:
        return None
    values, vectors = spectrum
    return AxisSpectrum(weight, correlation, vectors, np.maximum(values, 0.0))


def _set_free(leaves: Sequence[Leaf], value: float, gradient: Array) -> None:
    for leaf in leaves:
        if leaf.free:
            gradient[leaf.start] = value
