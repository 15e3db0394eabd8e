"""Derivatives of log N(c; m, Q + diag(K - Q) + S) along the kernel's hyperparameters.

With C = Q + Lambda and a = C^-1 (c - m) the derivative is the sum of G_ij dC_ij, where
G = (a a^T - C^-1) / 2 and dC = dQ + diag(dK - dQ). Let H = G - diag(G), Q = A A^T with
A = K_nm L^-T, and B = I + A^T Lambda^-1 A. Weights of dK_nm are 2 H A L^-1, those of dK_mm are
-L^-T A^T H A L^-1, and

    2 H A = a (a^T A) - Lambda^-1 A B^-1 - diag(2 G) A,
    2 A^T H A = (A^T a) (a^T A) + B + B^-1 - 2 I - A^T diag(2 G + Lambda^-1) A.

Here Lambda^-1 exceeds the diagonal of C^-1 by that of Lambda^-1 A B^-1 A^T Lambda^-1, so that the
last sum has weights of at least zero.
"""

from __future__ import annotations

import numpy as np

from .. import _linalg
from .._linalg import Array
from ._base import LogNormalGradient
from ._low_rank_factor import LowRankFactor, pieces

# Added to the diagonal of the points' covariance, relative to it: far less than what the
# default jitter adds to that of the rows.
POINT_JITTER = 1e-8


def log_normal_gradient(
    factor: LowRankFactor, noise: Array, deviation: Array, jitter: float
) -> LogNormalGradient:
    """Return the gradient; anything for the parameters that rescale K.

    Parameters
    ----------
    factor : LowRankFactor
        Of K + S.
    noise : ndarray of shape (n,)
        Diagonal of S.
    deviation : ndarray of shape (n,)
        c - m.
    jitter : float
        Relative to the kernel's diagonal.
    """
    scale, n = factor.scale, factor.n
    solution = factor.solve(deviation)
    sums = _Sums(factor, scale * solution)
    for rows in pieces(factor.columns.values):
        sums.add(rows)
    theta = sums.total(jitter)
    inverse_diagonal = sums.inverse_diagonal / scale**2
    # Sum of G_ij K_ij, by K = C - S.
    noise_part = float(noise @ (solution**2 - inverse_diagonal))
    along_amplitude = 0.5 * (float(solution @ deviation) - n - noise_part)
    theta[factor.columns.scale_parameters] = along_amplitude
    return LogNormalGradient(theta, solution, inverse_diagonal)


class _Sums:
    """The sums over all rows, in units in which the kernel's amplitude is one.

    Parameters
    ----------
    factor : LowRankFactor
        Of C.
    alpha : ndarray of shape (n,)
        a.

    Attributes
    ----------
    inverse_diagonal : ndarray of shape (n,)
        Diagonal of C^-1.
    """

    def __init__(self, factor: LowRankFactor, alpha: Array) -> None:
        columns = factor.columns
        self._factor, self._columns, self._alpha = factor, columns, alpha
        self._m = len(columns.root)
        self._inverse = factor.lower.copy(order="F")
        _linalg.inverse_in_place(self._inverse)
        _linalg.fill_upper(self._inverse)
        self._projected = alpha @ columns.values
        along = self._projected[: self._m]
        self._along = _linalg.solve_lower(columns.root, along, transpose=True)
        self._gram = np.zeros_like(factor.lower, order="F")
        self._derivatives = columns.cross.derivatives()
        self.inverse_diagonal = np.empty(factor.n)
        longest = pieces(columns.values)[0].stop
        self._work, self._weights = np.empty((2, longest, columns.values.shape[1]))

    def add(self, rows: slice) -> None:
        """Add the derivatives along some rows of K_nm."""
        block, alpha = self._columns.values[rows], self._alpha[rows]
        diagonal = self._factor.diagonal[rows]
        work, weights = self._work[: len(block)], self._weights[: len(block)]
        np.matmul(block, self._inverse, out=weights)
        weights /= diagonal[:, np.newaxis]
        leverage = np.einsum("ij,ij->i", block, weights) / diagonal
        inverse_diagonal = self.inverse_diagonal[rows]
        np.subtract(1.0 / diagonal, leverage, out=inverse_diagonal)
        squares = alpha**2
        np.multiply(block, np.sqrt(squares + leverage)[:, np.newaxis], out=work)
        _linalg.add_gram(work, self._gram)
        np.multiply(block, (squares - inverse_diagonal)[:, np.newaxis], out=work)
        weights += work
        weights = weights[:, : self._m]
        self._columns.solver.solve_transpose(weights)
        np.subtract(np.multiply.outer(alpha, self._along), weights, out=weights)
        self._derivatives.add_rows(rows, weights)

    def total(self, jitter: float) -> Array:
        """Add the derivatives along K_mm and the variances; return the sum along theta."""
        slopes = 0.5 * (self._alpha**2 - self.inverse_diagonal)
        self._derivatives.add_variances((1.0 + jitter) * slopes)
        self._derivatives.add_points(self._weights_of_points())
        return self._derivatives.total()

    def _weights_of_points(self) -> Array:
        m, lower, solver = self._m, self._factor.lower, self._columns.solver
        _linalg.fill_upper(self._gram)
        matrix = np.multiply.outer(self._projected, self._projected)
        matrix += lower @ lower.T + self._inverse - self._gram
        matrix[np.diag_indices_from(matrix)] -= 2.0
        matrix = np.ascontiguousarray(matrix[:m, :m])
        solver.solve_transpose(matrix)
        matrix = np.ascontiguousarray(matrix.T)
        solver.solve_transpose(matrix)
        matrix[np.diag_indices(m)] *= 1.0 + POINT_JITTER
        return -0.5 * matrix
