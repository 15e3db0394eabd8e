"""Latent variables in coordinates that a pseudo-posterior makes standard normal, with points.

Let f - m = s (A v + D^1/2 e) with v and e standard normal, as in `_low_rank_factor`, and sites
exp(-w x^2 / 2 + r x) of the deviations x = f - m. With lambda = s^2 D and c = 1 / (1 + lambda w),

    C C^T = I + s^2 A^T diag(w c) A,    b = s A^T (c r),
    v = C^-T (C^-1 b + eta_v),
    f - m = c (s A v + lambda r) + (lambda c)^1/2 eta_e

is a draw from the pseudo-posterior where eta = (eta_v, eta_e) is standard normal: n + m coordinates
for n latent variables, of which (v, e) given f is one of many. The evidence of the sites is

    log Z = |C^-1 b|^2 / 2 - log |C| + sum(lambda c r^2 - log(1 + lambda w)) / 2.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _linalg
from .._linalg import Array
from ._base import PseudoPosteriorGradient
from ._low_rank_factor import Columns, LowRankFactor, pieces, root_of_gram
from ._low_rank_gradient import POINT_JITTER


class LowRankCoordinates:
    """The map from eta to f - m, at one theta; see `PosteriorCoordinates`.

    Parameters
    ----------
    theta : ndarray of shape (n_kernel_parameters,)
        Logarithms of the kernel's free hyperparameters.
    columns : Columns
        A, D and what they are made of.
    amplitude : float
        s^2.
    jitter : float
        Relative to the kernel's diagonal.
    precision, residual : ndarray of shape (n,)
        w and r.
    lower : ndarray of shape (m, m)
        C.
    """

    def __init__(
        self,
        theta: Array,
        columns: Columns,
        amplitude: float,
        jitter: float,
        precision: Array,
        residual: Array,
        lower: Array,
    ) -> None:
        self.theta, self.columns, self.amplitude = theta, columns, amplitude
        self._scale, self._jitter = math.sqrt(amplitude), jitter
        self._w, self._r, self._lower = precision, residual, lower
        self._own = amplitude * columns.residual
        self._c = 1.0 / (1.0 + self._own * precision)
        self._spread = np.sqrt(self._own * self._c)
        self._b = self._scale * ((self._c * residual) @ columns.values)
        inner = _linalg.solve_lower(lower, self._b)
        self._centre = _linalg.solve_lower(lower, inner, transpose=True)
        of_rows = self._own * self._c * residual**2 + np.log(self._c)
        log_root = _linalg.log_diagonal_sum(np.diagonal(lower))
        self.log_evidence = 0.5 * float(inner @ inner + of_rows.sum()) - log_root

    @classmethod
    def at(
        cls,
        theta: Array,
        columns: Columns,
        amplitude: float,
        jitter: float,
        precision: Array,
        residual: Array,
    ) -> LowRankCoordinates | None:
        """Return the coordinates; None where they are not finite."""
        weights = amplitude * precision / (1.0 + amplitude * columns.residual * precision)
        lower = root_of_gram(columns.values, weights)
        if lower is None:
            return None
        made = cls(theta, columns, amplitude, jitter, precision, residual, lower)
        return made if math.isfinite(made.log_evidence) else None

    def deviation(self, eta: Array) -> Array:
        """Return f - m."""
        m = len(self._lower)
        v = self._centre + _linalg.solve_lower(self._lower, eta[:m], transpose=True)
        common = self._scale * (self.columns.values @ v)
        return self._c * (common + self._own * self._r) + self._spread * eta[m:]

    def coordinates(
        self, deviation: Array, factor: LowRankFactor, rng: np.random.Generator
    ) -> Array:
        """Draw eta given f - m; the factor is that of K at the same theta."""
        v = factor.draw_inner(deviation, rng)
        of_rows = deviation - self._c * (
            self._scale * (self.columns.values @ v) + self._own * self._r
        )
        common = _linalg.multiply_lower(self._lower, v - self._centre, transpose=True)
        return np.concatenate([common, of_rows / self._spread])

    def gradient(self, eta: Array, score: Array) -> PseudoPosteriorGradient:
        """Return the gradient of score . (f - m) + log Z - eta . eta / 2; see the protocol."""
        return _Gradient(self, eta, score).total()


class _Gradient:
    """The sums over all rows, by the chain rule backwards through the formulas above.

    The derivative along a Cholesky factor C of B becomes one along B by
    C^-T (tril(P) + tril(P)^T - diag(P)) C^-1 / 2, where P is C^T times it (Murray 2016,
    Differentiation of the Cholesky decomposition, eq. 10).
    """

    def __init__(self, at: LowRankCoordinates, eta: Array, score: Array) -> None:
        lower, m = at._lower, len(at._lower)
        self._at, self._score, self._eta = at, score, eta
        columns, self._solver = at.columns, at.columns.solver
        self._v = at._centre + _linalg.solve_lower(lower, eta[:m], transpose=True)
        # Along v, and C^-1 times that: along eta_v.
        self._along_v = at._scale * ((at._c * score) @ columns.values)
        self._along_eta = _linalg.solve_lower(lower, self._along_v)
        moved = _linalg.solve_lower(lower, self._along_eta, transpose=True)
        self._along_b = at._centre + moved
        self._along_gram = self._derivative_along_gram(moved)
        self._points_gram = np.zeros((m, m))
        self._derivatives = columns.cross.derivatives()
        self._slopes, self._residual = np.empty((2, len(score)))
        self._along_amplitude = 0.0

    def _derivative_along_gram(self, moved: Array) -> Array:
        """Return the derivative along I + s^2 A^T diag(w c) A."""
        at, m = self._at, len(self._at._lower)
        inverse = _linalg.inverse_of_lower(at._lower)
        turned = np.multiply.outer(self._eta[:m], self._along_eta)
        inner = _symmetric_from_lower(turned)
        inner[np.diag_indices(m)] += 1.0
        crossed = np.multiply.outer(at._centre + moved, at._centre)
        crossed += np.multiply.outer(at._centre, moved)
        return np.asarray(-0.5 * (inverse.T @ inner @ inverse + crossed))

    def _add(self, rows: slice) -> None:
        at, block = self._at, self._at.columns.values[rows]
        c, w, r, own = at._c[rows], at._w[rows], at._r[rows], at._own[rows]
        score, scale = self._score[rows], at._scale
        common, from_b = scale * (block @ self._v), scale * (block @ self._along_b)
        weights = block @ self._along_gram
        explained = at.amplitude * np.einsum("ij,ij->i", weights, block)
        along_c = score * common + r * from_b + w * explained + own * r * (score + 0.5 * r)
        along_own = c * (r * score + 0.5 * r**2 - 0.5 * w) - w * c**2 * along_c
        eta = self._eta[len(at._lower) :][rows]
        along_own += 0.5 * c**2 / at._spread[rows] * score * eta
        self._residual[rows] = c * (own * (score + r) + from_b)
        self._along_amplitude += float(
            along_own @ own + c @ (0.5 * (score * common + r * from_b) + w * explained)
        )
        slopes = at.amplitude * along_own
        self._slopes[rows] = slopes
        self._points_gram += (block * slopes[:, np.newaxis]).T @ block
        weights *= (2.0 * at.amplitude * w * c)[:, np.newaxis]
        weights -= 2.0 * slopes[:, np.newaxis] * block
        weights += np.multiply.outer(scale * c * score, self._v)
        weights += np.multiply.outer(scale * c * r, self._along_b)
        weights = np.ascontiguousarray(weights[:, : len(at.columns.root)])
        self._solver.solve_transpose(weights)
        self._derivatives.add_rows(rows, weights)

    def total(self) -> PseudoPosteriorGradient:
        at = self._at
        for rows in pieces(at.columns.values):
            self._add(rows)
        self._derivatives.add_variances((1.0 + at._jitter) * self._slopes)
        self._derivatives.add_points(self._weights_of_points())
        theta = self._derivatives.total()
        theta[at.columns.scale_parameters] = self._along_amplitude
        m = len(at._lower)
        along_eta = np.concatenate([self._along_eta, at._spread * self._score])
        along_eta -= self._eta
        assert len(along_eta) == m + len(self._score)
        return PseudoPosteriorGradient(theta, along_eta, self._residual)

    def _weights_of_points(self) -> Array:
        """Return the derivative along K_mm, through its factor and all of A."""
        at, m = self._at, len(self._at.columns.root)
        gram = at._lower @ at._lower.T
        gram[np.diag_indices_from(gram)] -= 1.0
        product = np.multiply.outer(self._v, self._along_v)
        product += np.multiply.outer(self._along_b, at._b)
        product += 2.0 * (self._along_gram @ gram - self._points_gram)
        matrix = np.ascontiguousarray(_symmetric_from_lower(product[:m, :m]))
        self._solver.solve_transpose(matrix)
        matrix = np.ascontiguousarray(matrix.T)
        self._solver.solve_transpose(matrix)
        matrix[np.diag_indices(m)] *= 1.0 + POINT_JITTER
        return -0.5 * matrix


def _symmetric_from_lower(matrix: Array) -> Array:
    """Return the symmetric matrix that has the lower triangle of another one."""
    lower = np.tril(matrix)
    return lower + np.tril(matrix, -1).T
