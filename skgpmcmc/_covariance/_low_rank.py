"""Covariances through inducing points: a low-rank matrix and what it leaves of the diagonal.

With points Z, Q = K_nm K_mm^-1 K_mn for the kernel's covariances of rows and points, the covariance
is Q + diag(K - Q) (Snelson and Ghahramani 2006): a proper prior, and the kernel's own where the
points are the rows.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _linalg
from .._linalg import Array
from ._base import Covariance, LogNormalGradient, moved_elements
from ._low_rank_coordinates import LowRankCoordinates
from ._low_rank_factor import (
    Columns,
    LowRankFactor,
    LowRankPseudoPosteriorFactory,
    pieces,
    root_of_gram,
)
from ._low_rank_gradient import POINT_JITTER, log_normal_gradient
from ._low_rank_kernel import CrossKernel, PointsCovariance

# What the points leave of a variance is at least this share of it, whatever rounding errors do.
_LEAST_RESIDUAL = 1e-10


class LowRankCovariance(Covariance[LowRankFactor]):
    """Covariance through m inducing points, in two swapped buffers of n x m numbers.

    Parameters
    ----------
    kernel : CrossKernel
        Of rows and points.
    jitter : float
        Relative to the kernel's diagonal.
    offset_variance : float
        Added to every entry of K: one more column.
    """

    def __init__(self, kernel: CrossKernel, jitter: float, offset_variance: float = 0.0) -> None:
        super().__init__(kernel.n, jitter)
        self._kernel = kernel
        self._offset_variance = offset_variance
        self.scale_parameters = kernel.scale_parameters
        self._buffers = np.zeros((2, kernel.n, kernel.m + (offset_variance > 0.0)))

    def pseudo_posterior_factory(self) -> LowRankPseudoPosteriorFactory:
        """Return what factors I + L^T W L."""
        return LowRankPseudoPosteriorFactory()

    def _new_factor(
        self, theta: Array, current: LowRankFactor | None, moved: list[int]
    ) -> LowRankFactor | None:
        if current is None or not self._only_rescales(moved):
            return self._build(theta, self._new_columns(theta, current), 0.0)
        amplitude = self._kernel.amplitude(theta)
        in_range = amplitude > 0.0 and np.isfinite(current.unit_variance * amplitude).all()
        return current.rescaled(theta, amplitude) if in_range else None

    def noisy_factor(
        self, theta: Array, noise: Array, current: LowRankFactor
    ) -> LowRankFactor | None:
        """Return the factor of K + diag(noise) at theta; see `Covariance.noisy_factor`."""
        self.n_constructions += bool(moved_elements(theta, current))
        factor = self._build(theta, self._columns_at(theta, current), noise)
        if factor is None:
            self.n_failures += 1
        return factor

    def factor_beside(self, theta: Array, current: LowRankFactor) -> LowRankFactor | None:
        """Return the factor of K at theta, beside one that may have noise."""
        return self._build(theta, self._columns_at(theta, current), 0.0)

    def posterior_coordinates(
        self, theta: Array, precision: Array, residual: Array, current: LowRankFactor
    ) -> LowRankCoordinates | None:
        """Return coordinates at theta; see `Covariance.posterior_coordinates`."""
        self.n_constructions += bool(moved_elements(theta, current))
        columns, amplitude = self._columns_at(theta, current), self._kernel.amplitude(theta)
        made = None
        if columns is not None and 0.0 < amplitude < math.inf:
            made = LowRankCoordinates.at(
                theta, columns, amplitude, self.jitter, precision, residual
            )
        if made is None:
            self.n_failures += 1
        return made

    def factor_at(self, coordinates: LowRankCoordinates) -> LowRankFactor | None:
        """Return the factor of K at the last coordinates; see `Covariance.factor_at`."""
        return self._build(coordinates.theta, coordinates.columns, 0.0)

    def kept_latents(
        self, factor: LowRankFactor, latent: Array, mean: float, rng: np.random.Generator
    ) -> Array:
        """Draw the latent function at the points, given f and its mean; see `Covariance`."""
        return mean + factor.draw_points(latent - mean, rng)

    def _build_afresh(self, current: LowRankFactor) -> LowRankFactor | None:
        return self._build(current.theta, self._new_columns(current.theta, current), 0.0)

    def _only_rescales(self, moved: list[int]) -> bool:
        return all(i in self.scale_parameters for i in moved)

    def _columns_at(self, theta: Array, current: LowRankFactor) -> Columns | None:
        """Return the columns at theta: the current ones where no other are needed."""
        if self._only_rescales(moved_elements(theta, current)):
            return current.columns
        return self._new_columns(theta, current)

    def _new_columns(self, theta: Array, current: LowRankFactor | None) -> Columns | None:
        """Write A into the buffer that the current factor does not hold; None if not finite."""
        cross = self._kernel.at(theta)
        if cross is None:
            return None
        slot = 0 if current is None else 1 - current.columns.slot
        columns, m = self._buffers[slot], self._kernel.m
        root = root_of_points(cross)
        if root is None:
            return None
        solver = _linalg.RowSolver(root)
        columns[:, m:] = math.sqrt(self._offset_variance)
        explained = project_on_points(cross, solver, columns[:, :m])
        total = np.asarray(cross.variance)
        least = max(self.jitter, _LEAST_RESIDUAL) * total
        residual = np.maximum(total * (1.0 + self.jitter) - explained, least)
        return Columns(columns, root, solver, cross, residual, slot, self.scale_parameters)

    def _build(
        self, theta: Array, columns: Columns | None, noise: float | Array
    ) -> LowRankFactor | None:
        """Return the factor of K + noise at theta, given A there."""
        if columns is None:
            return None
        cross = columns.cross
        amplitude = self._kernel.amplitude(theta)
        unit_variance = cross.variance * (1.0 + self.jitter) + self._offset_variance
        if not (amplitude > 0.0 and np.isfinite(unit_variance * amplitude).all()):
            return None
        diagonal = columns.residual + noise / amplitude
        half_log_diagonal = 0.5 * _linalg.log_diagonal_sum(diagonal)
        if half_log_diagonal != half_log_diagonal:  # NaN
            return None
        lower = root_of_gram(columns.values, 1.0 / diagonal)
        if lower is None:
            return None
        half_log_det = half_log_diagonal + _linalg.log_diagonal_sum(np.diagonal(lower))
        if half_log_det != half_log_det:
            return None
        return LowRankFactor(
            theta, columns, diagonal, lower, half_log_det, unit_variance, amplitude
        )

    def log_normal_gradient(
        self, factor: LowRankFactor, noise: Array, deviation: Array
    ) -> LogNormalGradient:
        """Return the gradient of log N(c; m, K + S); see `Covariance.log_normal_gradient`."""
        return log_normal_gradient(factor, noise, deviation, self.jitter)


def root_of_points(cross: PointsCovariance) -> Array | None:
    """Return the lower Cholesky factor L of the points' covariance; None if it has none."""
    root = np.asfortranarray(np.tril(cross.points()))
    diagonal = _linalg.diagonal_view(root)
    diagonal *= 1.0 + POINT_JITTER
    return root if _linalg.cholesky_in_place(root) else None


def project_on_points(cross: PointsCovariance, solver: _linalg.RowSolver, out: Array) -> Array:
    """Write L^-1 k for each row, as rows; return their squared lengths: what the points explain."""
    explained = np.empty(len(out))
    for rows in pieces(out):
        block = out[rows]
        cross.write(rows, block)
        solver.solve(block)
        np.einsum("ij,ij->i", block, block, out=explained[rows])
    return explained
