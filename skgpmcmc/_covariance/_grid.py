"""Covariances on Cartesian grids: one small eigendecomposition for each axis."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._checks import shown
from .._grid import Grid
from .._linalg import Array
from ._base import Covariance, PseudoPosteriorGradient
from ._dense_structure import DenseStructure
from ._grid_factor import (
    AxisSpectrum,
    GridFactor,
    GridPseudoPosterior,
    GridPseudoPosteriorFactory,
    GridSpectrum,
)
from ._grid_gradient import derivative_along_axis, derivatives_along_eigenvalues
from ._kernel_form import StationaryForm, parse, product, set_free
from ._memory import grid_memory
from ._structure import CovarianceStructure


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


class GridStructure(CovarianceStructure):
    """A Kronecker product of one small matrix for each axis of a grid.

    The covariance is that of `DenseStructure`, which serves where the kernel does not separate
    (`separable_form`), and for representations whose sites differ in precision.

    Parameters
    ----------
    grid : Grid
        Its points, in their order, are the inputs of the latent variables.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"pseudo-posterior gradient"})
    alternatives: ClassVar[tuple[CovarianceStructure, ...]] = (DenseStructure(),)

    def __init__(self, grid: Grid) -> None:
        if not isinstance(grid, Grid):
            raise TypeError(f"grid must be a Grid, the points of the model; got {shown(grid)}.")
        self.grid = grid

    def check_inputs(self, X: Any) -> None:
        """Raise a ValueError unless the rows of X are the grid's points, in their order."""
        n, n_axes = self.grid.n, len(self.grid.axes)
        came = f"{len(X)} rows" if len(X) != n else f"an array of shape {np.shape(X)}"
        if np.shape(X) == (n, n_axes):
            elsewhere = np.flatnonzero(self.grid.locate(np.asarray(X)) != np.arange(n))
            if not elsewhere.size:
                return
            row = elsewhere[0]
            point = self.grid.points()[row].tolist()
            came = f"{np.asarray(X)[row].tolist()} in row {row}, where the grid has {point}"
        raise ValueError(
            f"X must be the {n} points of the grid, in their order; got {came}. Pass "
            "X=grid.points(), and the place of each observation there as latent_index."
        )

    def fits(self, kernel: Kernel, integrates_mean: bool) -> bool:
        """Return whether the kernel separates; a constant in every entry does not."""
        return not integrates_mean and separable_form(kernel, self.grid) is not None

    def covariance(
        self, kernel: Kernel, X: Any, jitter: float, offset_variance: float, gradient: bool
    ) -> GridCovariance:
        """Return the covariance of one chain; see `CovarianceStructure.covariance`."""
        form = separable_form(kernel, self.grid)
        assert form is not None
        return GridCovariance(form, self.grid, jitter)

    def memory(self, kernel: Kernel, X: Any, gradient: bool) -> float:
        """Return the bytes that a chain needs beside its draws; see `grid_memory`."""
        return grid_memory(self.grid)

    def conditioned_on(self, X: Any) -> Grid:
        """Return the grid."""
        return self.grid


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

    def pseudo_posterior_gradient(
        self, pseudo: GridPseudoPosterior, eta: Array, residual: Array, score: Array
    ) -> PseudoPosteriorGradient:
        """Return the gradient; see `Covariance.pseudo_posterior_gradient`."""
        factor, form = pseudo.factor, self._form
        unit = factor.unit
        derivatives = derivatives_along_eigenvalues(pseudo, eta, residual, score)
        gradient = np.zeros_like(factor.theta)
        along_nugget = float(derivatives.diagonal.sum())
        rest = (
            float(derivatives.diagonal @ unit.values) - (unit.nugget - self.jitter) * along_nugget
        )
        set_free(form.amplitude, rest, gradient)
        for leaves in form.noise:
            share = (1.0 + self.jitter) * product(leaves, factor.theta) / factor.scale**2
            set_free(leaves, share * along_nugget, gradient)
        if form.length_scale.free:
            scales = [
                derivative_along_axis(unit.axes, d, squares, derivatives)
                for d, squares in enumerate(self._squares)
            ]
            start = form.length_scale.start
            if len(form.length_scale.values) == 1:
                gradient[start] = sum(scales)
            else:
                gradient[start : start + len(scales)] = scales
        return PseudoPosteriorGradient(gradient, derivatives.eta, derivatives.residual)


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
