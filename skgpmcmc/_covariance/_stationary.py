"""Fast path: a constant times a stationary kernel, plus white noise and constants.

A move of one length scale costs one fused update of the distances and one exponential
over one triangle; a move of the signal variance alone rescales the factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import _linalg
from .._linalg import Array
from ._dense import DenseCovariance
from ._factor import CholeskyFactor
from ._kernel_form import StationaryForm, product, set_free
from ._packed_distances import Triangle, WeightedDistances
from ._stationary_gradient import CorrelationDerivatives


def _matern12(distance: Array, scratch: Array) -> None:
    np.sqrt(distance, out=distance)
    np.negative(distance, out=distance)
    np.exp(distance, out=distance)


def _matern32(distance: Array, scratch: Array) -> None:
    np.sqrt(distance, out=scratch)
    np.negative(scratch, out=distance)
    np.exp(distance, out=distance)
    scratch += 1.0
    distance *= scratch


def _matern52(distance: Array, scratch: Array) -> None:
    np.sqrt(distance, out=scratch)
    np.negative(scratch, out=distance)
    np.exp(distance, out=distance)
    # 1 + s + s^2 / 3 = (s + 3 / 2)^2 / 3 + 1 / 4, without another array.
    scratch += 1.5
    np.square(scratch, out=scratch)
    scratch /= 3.0
    scratch += 0.25
    distance *= scratch


def _squared_exponential(distance: Array, scratch: Array) -> None:
    np.exp(distance, out=distance)


#: nu -> what overwrites the tabulated distance (see StationaryForm.distance_factor) by
#: the correlation.
CORRELATIONS: dict[float, Callable[[Array, Array], None]] = {
    0.5: _matern12,
    1.5: _matern32,
    2.5: _matern52,
    math.inf: _squared_exponential,
}


class StationaryCovariance(DenseCovariance):
    """Covariance with a fast path for moves of one hyperparameter.

    Parameters
    ----------
    form : StationaryForm
        What `parse` made of the kernel.
    X : ndarray of shape (n, n_features)
        Inputs.
    jitter, offset_variance, gradient
        See `DenseCovariance`.
    """

    def __init__(
        self,
        form: StationaryForm,
        X: Array,
        jitter: float = 1e-6,
        offset_variance: float = 0.0,
        gradient: bool = False,
    ) -> None:
        super().__init__(X.shape[0], jitter, offset_variance, gradient)
        self._form = form
        self._rescales = form.rescales and offset_variance == 0.0
        if self._rescales:
            self.scale_parameters = [leaf.start for leaf in form.amplitude if leaf.free]
        isotropic = len(form.length_scale.values) == 1
        axes = [X] if isotropic else [X[:, [d]] for d in range(X.shape[1])]
        self._triangle = Triangle(X.shape[0])
        # Gradients come with whole matrices of distances, by one product.
        self._distances = WeightedDistances(
            axes, form.distance_factor, self._triangle, tabulate=not gradient
        )
        self._weights: list[Array | None] = [None, None]
        work, scratch = np.empty((2, self._triangle.longest))
        packed = zip(self._triangle.runs, self._triangle.packed_views(work), strict=True)
        self._work = [(work[: run.size], scratch[: run.size], views) for run, views in packed]
        self._views = [self._triangle.matrix_views(buffer) for buffer in self._buffers]
        self._derivatives: CorrelationDerivatives | None = None
        if gradient:
            correlate = CORRELATIONS[form.nu]
            self._derivatives = CorrelationDerivatives(
                X, form.nu, form.distance_factor, correlate, self._triangle
            )

    def forget(self) -> None:
        """Forget the distances that fused updates, and their rounding errors, have left."""
        self._distances.forget()

    def _amplitude(self, theta: Array) -> float:
        return product(self._form.amplitude, theta) if self._rescales else 1.0

    def _write(
        self, theta: Array, slot: int, current: CholeskyFactor | None, moved: list[int]
    ) -> float | None:
        weights, axis = self._new_weights(theta, current, moved)
        amplitude = product(self._form.amplitude, theta)
        if not (0.0 < amplitude < math.inf) or weights is None:
            return None
        self._weights[slot] = weights
        if self._derivatives is None:
            self._fill(slot, weights, axis)
        else:
            self._fill_with_derivatives(slot, weights, self._derivatives)
        if self._rescales:
            self._diagonals[slot].fill(1.0 + self.jitter)
            return 1.0 + self.jitter
        return self._write_sum(slot, theta, amplitude)

    def _new_weights(
        self, theta: Array, current: CholeskyFactor | None, moved: list[int]
    ) -> tuple[Array | None, int | None]:
        """Return the weights of the axes, None if not finite; and the only one that differs.

        They are those of the current state, the same object, if no length scale moved.
        """
        leaf = self._form.length_scale
        old = None if current is None else self._weights[current.slot]
        if current is None or old is None:
            return _finite(leaf.natural(theta) ** -2.0), None
        if self._derivatives is None:
            self._distances.set_base(old)
        stop = leaf.start + old.size
        axes = [i - leaf.start for i in moved if leaf.start <= i < stop] if leaf.free else []
        if not axes:
            return old, None
        if len(axes) > 1:
            return _finite(leaf.natural(theta) ** -2.0), None
        axis = axes[0]
        weights = old.copy()
        weights[axis] = np.exp(-2.0 * theta[leaf.start + axis])
        return (weights if math.isfinite(weights[axis]) else None), axis

    def _fill(self, slot: int, weights: Array, axis: int | None) -> None:
        """Write the correlations into the lower triangle of a buffer."""
        correlate = CORRELATIONS[self._form.nu]
        write_distances = self._distances.writer(weights, axis)
        runs = zip(self._work, self._views[slot], strict=True)
        for number, ((work, scratch, sources), targets) in enumerate(runs):
            write_distances(number, work)
            correlate(work, scratch)
            for source, target in zip(sources, targets, strict=True):
                np.copyto(target, source)

    def _fill_with_derivatives(
        self, slot: int, weights: Array, derivatives: CorrelationDerivatives
    ) -> None:
        """Write the correlations, and keep what the gradient needs."""
        views = self._views[slot]
        if derivatives.write(weights, self._buffers[slot], views):
            return
        write_distances = self._distances.writer(weights, None)
        for number, ((work, _, sources), targets) in enumerate(zip(self._work, views, strict=True)):
            write_distances(number, work)
            for source, target in zip(sources, targets, strict=True):
                np.copyto(target, source)
        derivatives.correlate(weights, views)

    def _contract(self, factor: CholeskyFactor, weights: Array, along_amplitude: float) -> Array:
        """Return the sums; see `DenseCovariance._contract`."""
        derivatives, form, theta = self._derivatives, self._form, factor.theta
        axis_weights = self._weights[factor.slot]
        assert derivatives is not None
        assert axis_weights is not None
        if not derivatives.holds(axis_weights):
            # The last matrix written was another one: write this one into the other buffer.
            self._fill_with_derivatives(1 - factor.slot, axis_weights, derivatives)
        sums = np.zeros_like(theta)
        scale = 1.0
        if not self._rescales:
            scale = product(form.amplitude, theta)
            self._contract_sum(theta, weights, along_amplitude, sums)
        leaf = form.length_scale
        if leaf.free:
            stop = leaf.start + len(leaf.values)
            sums[leaf.start : stop] = scale * derivatives.contract(weights)
        return sums

    def _contract_sum(
        self, theta: Array, weights: Array, along_amplitude: float, sums: Array
    ) -> None:
        """Set the sums for white noises, constants and the amplitude, where these are added."""
        ones = np.ones((self.n, 1), order="F")
        everywhere = -0.5 * float(_linalg.multiply_symmetric(weights, ones).sum())
        diagonal = -0.5 * float(_linalg.diagonal_view(weights).sum())
        rest = along_amplitude - self.offset_variance * everywhere
        for leaves, along in [
            *((leaves, (1.0 + self.jitter) * diagonal) for leaves in self._form.noise),
            *((leaves, everywhere + self.jitter * diagonal) for leaves in self._form.offset),
        ]:
            along *= product(leaves, theta)
            rest -= along
            set_free(leaves, along, sums)
        set_free(self._form.amplitude, rest, sums)

    def _write_sum(self, slot: int, theta: Array, amplitude: float) -> float:
        offset = sum(product(leaves, theta) for leaves in self._form.offset)
        noise = sum(product(leaves, theta) for leaves in self._form.noise)
        variance = (amplitude + offset + noise) * (1.0 + self.jitter) + self.offset_variance
        everywhere = offset + self.offset_variance
        for run in self._views[slot]:
            for block in run:
                block *= amplitude
                if everywhere:
                    block += everywhere
        self._diagonals[slot].fill(variance)
        return variance


def _finite(weights: Array) -> Array | None:
    return weights if np.isfinite(weights).all() else None
