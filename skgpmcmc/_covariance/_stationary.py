"""Fast path: a constant times a stationary kernel, plus white noise and constants.

A chain keeps the weighted squared distances of its current state. A move of one
length scale costs one fused update and one exponential over one triangle; a move
of the signal variance alone rescales the factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from ._base import Covariance
from ._factor import CholeskyFactor
from ._kernel_form import StationaryForm, product
from ._triangle import Triangle

Axes = NDArray[np.intp]

# Tables of squared distances, one for each axis, are kept up to this many bytes;
# beyond it they are recomputed where they are needed.
_TABLE_BYTES = 2**28
# The running sum of weighted distances is recomputed after this many fused
# updates, or when a weight has fallen by this factor from its largest value in
# them, so that rounding errors stay orders of magnitude below the jitter.
_MAX_FUSED_UPDATES = 32
_MAX_WEIGHT_FALL = 1e3


def _squared_exponential(distance: Array, out: Array, scratch: Array) -> None:
    np.exp(distance, out=out)


def _matern12(distance: Array, out: Array, scratch: Array) -> None:
    np.sqrt(distance, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)


def _matern32(distance: Array, out: Array, scratch: Array) -> None:
    np.sqrt(distance, out=scratch)
    np.negative(scratch, out=out)
    np.exp(out, out=out)
    scratch += 1.0
    out *= scratch


def _matern52(distance: Array, out: Array, scratch: Array) -> None:
    np.sqrt(distance, out=scratch)
    np.negative(scratch, out=out)
    np.exp(out, out=out)
    # 1 + s + s^2 / 3 = (s + 3 / 2)^2 / 3 + 1 / 4, without another array.
    scratch += 1.5
    np.square(scratch, out=scratch)
    scratch /= 3.0
    scratch += 0.25
    out *= scratch


#: nu -> correlation of the tabulated distance (see StationaryForm.distance_factor).
_CORRELATIONS: dict[float, Callable[[Array, Array, Array], None]] = {
    0.5: _matern12,
    1.5: _matern32,
    2.5: _matern52,
    math.inf: _squared_exponential,
}


class StationaryCovariance(Covariance):
    """Covariance with a fast path for moves of one hyperparameter.

    Parameters
    ----------
    form : StationaryForm
        What `parse` made of the kernel.
    X : ndarray of shape (n, n_features)
        Inputs.
    jitter, offset_variance : float
        See `Covariance`.
    """

    def __init__(
        self, form: StationaryForm, X: Array, jitter: float = 1e-6, offset_variance: float = 0.0
    ) -> None:
        super().__init__(X.shape[0], jitter, offset_variance)
        self._form = form
        self._rescales = form.rescales and offset_variance == 0.0
        isotropic = len(form.length_scale.values) == 1
        self._columns = [X] if isotropic else [X[:, [d]] for d in range(X.shape[1])]
        self._triangle = Triangle(X.shape[0])
        size = self._triangle.size
        self._distances = tuple(np.empty(size) for _ in range(2))
        self._weights: list[Array | None] = [None, None]
        # Of the updates since a slot's distances were last computed afresh.
        self._n_fused = [0, 0]
        self._largest_weights = [np.zeros(len(self._columns))] * 2
        self._correlation = np.empty(size)
        self._scratch = np.empty(size)
        self._tables = self._tabulate()

    def _tabulate(self) -> Array | None:
        shape = (len(self._columns), self._triangle.size)
        if 8 * shape[0] * shape[1] > _TABLE_BYTES:
            return None
        tables = np.empty(shape)
        for axis, row in enumerate(tables):
            self._squared_distance(axis, row)
        return tables

    def _squared_distance(self, axis: int, out: Array) -> None:
        self._triangle.squared_distance(self._columns[axis], out)
        out *= self._form.distance_factor

    def _build(self, theta: Array, current: CholeskyFactor | None) -> CholeskyFactor | None:
        form = self._form
        weights = form.length_scale.natural(theta) ** -2.0
        amplitude = product(form.amplitude, theta)
        changed = self._changed_axes(weights, current)
        in_range = amplitude > 0.0 and math.isfinite(amplitude * (1.0 + self.jitter))
        if not (in_range and np.isfinite(weights).all()):
            return None
        if self._rescales and current is not None and changed is not None and not changed.size:
            return self._rescaled(current, theta, amplitude)
        slot = 0 if current is None else 1 - current.slot
        self._set_distance(slot, weights, changed)
        _CORRELATIONS[form.nu](self._distances[slot], self._correlation, self._scratch)
        if self._rescales:
            self._triangle.unpack(self._correlation, 1.0, 0.0, self._buffers[slot])
            self._diagonals[slot][:] = 1.0 + self.jitter
            variance = amplitude * (1.0 + self.jitter)
            return self._factor_buffer(slot, theta, variance, math.sqrt(amplitude))
        return self._build_sum(slot, theta, amplitude)

    def _build_sum(self, slot: int, theta: Array, amplitude: float) -> CholeskyFactor | None:
        offset = sum(product(leaves, theta) for leaves in self._form.offset)
        noise = sum(product(leaves, theta) for leaves in self._form.noise)
        variance = (amplitude + offset + noise) * (1.0 + self.jitter) + self.offset_variance
        everywhere = offset + self.offset_variance
        self._triangle.unpack(self._correlation, amplitude, everywhere, self._buffers[slot])
        self._diagonals[slot][:] = variance
        return self._factor_buffer(slot, theta, variance)

    def _rescaled(self, current: CholeskyFactor, theta: Array, amplitude: float) -> CholeskyFactor:
        """Return the factor with another signal variance: L itself is shared."""
        variance = amplitude * (1.0 + self.jitter)
        half_log_det = current.unit_half_log_det
        scale = math.sqrt(amplitude)
        return CholeskyFactor(theta, current.lower, half_log_det, variance, current.slot, scale)

    def _changed_axes(self, weights: Array, current: CholeskyFactor | None) -> Axes | None:
        """Axes whose weight differs from that of the current state; None if unknown."""
        old = None if current is None else self._weights[current.slot]
        return None if old is None else np.flatnonzero(weights != old)

    def _set_distance(self, slot: int, weights: Array, changed: Axes | None) -> None:
        """Set the weighted squared distances of a slot, from the other one if cheap."""
        other = 1 - slot
        old, n_fused = self._weights[other], self._n_fused[other]
        largest = self._largest_weights[other]
        distance = self._distances[slot]
        self._weights[slot] = weights
        if changed is not None and changed.size == 0:
            distance[:] = self._distances[other]
        elif (
            changed is None
            or old is None
            or changed.size > 1
            or n_fused >= _MAX_FUSED_UPDATES
            or (largest > _MAX_WEIGHT_FALL * weights).any()
        ):
            self._set_distance_afresh(distance, weights)
            n_fused, largest = 0, weights
        else:
            axis = int(changed[0])
            self._add_axis(axis, weights[axis] - old[axis], distance)
            distance += self._distances[other]
            n_fused, largest = n_fused + 1, np.maximum(largest, weights)
        self._n_fused[slot], self._largest_weights[slot] = n_fused, largest

    def _add_axis(self, axis: int, weight: float, out: Array) -> None:
        if self._tables is None:
            self._squared_distance(axis, out)
            out *= weight
        else:
            np.multiply(self._tables[axis], weight, out=out)

    def _set_distance_afresh(self, distance: Array, weights: Array) -> None:
        if self._tables is not None:
            np.dot(weights, self._tables, out=distance)
            return
        distance[:] = 0.0
        for axis, weight in enumerate(weights):
            self._add_axis(axis, weight, self._scratch)
            distance += self._scratch
