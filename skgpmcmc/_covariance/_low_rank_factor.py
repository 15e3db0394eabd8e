"""Square roots of a diagonal plus a low-rank covariance.

With K = s^2 (A A^T + D), A of n x m and D diagonal, let C C^T = I + A^T D^-1 A. Then

    L = s D^1/2 (I + B (I + C)^-1 B^T),    B = D^-1/2 A,

is a square root of K: with P = I + C, the products of P^-1 + P^-T + P^-1 (C C^T - I) P^-T with P on
the left and P^T on the right are P^T + P + C C^T - I = P P^T, so that the sum is the identity.
Its inverse has (I + B P^-1 B^T)^-1 = I - B P^-T C^-1 B^T. All maps cost a few products with A,
and one with triangular matrices of m x m; nothing is as large as n x n.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field, replace

import numpy as np

from .. import _linalg
from .._linalg import Array, slices
from ._low_rank_kernel import PointsCovariance

# Bytes of the pieces in which rows are taken, so that these stay in the processor's caches.
_PIECE = 2**18


@dataclass(slots=True, eq=False)
class Columns:
    """A and what it is made of, at one theta: in one of the two buffers of a chain.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        A = K_nm L^-T, for the covariance K_mm = L L^T of the points; where a mean is integrated
        out, with its standard deviation as one more column.
    root : ndarray of shape (m, m)
        L.
    solver : RowSolver
        Of L.
    cross : PointsCovariance
        The kernel.
    residual : ndarray of shape (n,)
        D.
    slot : int
        Which buffer holds A.
    scale_parameters : list of int
        Elements of theta that only rescale K.
    """

    values: Array
    root: Array
    solver: _linalg.RowSolver
    cross: PointsCovariance
    residual: Array
    slot: int
    scale_parameters: list[int]


@dataclass(slots=True, eq=False)
class LowRankFactor:
    """K = L L^T, at one setting of the kernel's hyperparameters, with or without noise.

    Attributes
    ----------
    theta : ndarray of shape (n_kernel_parameters,)
        Logarithms of the kernel's free hyperparameters.
    columns : Columns
        A.
    diagonal : ndarray of shape (n,)
        D, noise included.
    lower : ndarray of shape (m, m)
        C, in the lower triangle; the upper one is zero.
    scale : float
        s, so that a move of the signal variance needs no new factorisation.
    variance : float or ndarray of shape (n,)
        The diagonal of K, without noise; a float where all entries are equal.
    half_log_det : float
        log |K| / 2.
    """

    theta: Array
    columns: Columns
    diagonal: Array
    lower: Array
    unit_half_log_det: float
    unit_variance: float | Array
    amplitude: InitVar[float]
    shifted: Array = field(init=False)
    scale: float = field(init=False)
    variance: float | Array = field(init=False)
    half_log_det: float = field(init=False)

    def __post_init__(self, amplitude: float) -> None:
        self.shifted = plus_identity(self.lower)
        self.scale = math.sqrt(amplitude)
        self.variance = self.unit_variance * amplitude
        self.half_log_det = self.unit_half_log_det + len(self.diagonal) * math.log(self.scale)

    @property
    def n(self) -> int:
        """Number of latent variables."""
        return len(self.diagonal)

    def rescaled(self, theta: Array, amplitude: float) -> LowRankFactor:
        """Return the factor at another amplitude; all else is shared."""
        return replace(self, theta=theta, amplitude=amplitude)

    def colour(self, whitened: Array) -> Array:
        """Return L z: a draw from N(0, K) if z is one from N(0, I)."""
        return self.colour_columns(whitened[:, np.newaxis])[:, 0]

    def colour_columns(self, whitened: Array) -> Array:
        """Return L Z for the columns of Z, shape (n, n_columns)."""
        A, root = self.columns.values, self._root()
        inner = _linalg.solve_lower_matrix(self.shifted, A.T @ (whitened / root))
        return self.scale * (root * whitened + A @ inner)

    def colour_transpose(self, vector: Array) -> Array:
        """Return L^T x."""
        A, root = self.columns.values, np.sqrt(self.diagonal)
        inner = _linalg.solve_lower(self.shifted, vector @ A, transpose=True)
        return self.scale * (root * vector + (A @ inner) / root)

    def whiten(self, deviation: Array) -> Array:
        """Return z with L z = f - m."""
        return self.whiten_columns(deviation[:, np.newaxis])[:, 0]

    def whiten_columns(self, deviations: Array) -> Array:
        """Return Z with L Z = F for columns F, shape (n, n_columns)."""
        A, root = self.columns.values, self._root()
        inner = _linalg.solve_lower_matrix(self.lower, A.T @ (deviations / root**2))
        inner = _linalg.solve_lower_matrix(self.shifted, inner, transpose=True)
        return (deviations - A @ inner) / (self.scale * root)

    def solve(self, vector: Array) -> Array:
        """Return K^-1 x."""
        residual = vector - self.columns.values @ self.explain(vector)
        return residual / (self.scale**2 * self.diagonal)

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of K^-1 = (D^-1 - D^-1 A (C C^T)^-1 A^T D^-1) / s^2."""
        explained, solver = np.empty(self.n), _linalg.RowSolver(self.lower)
        for rows in pieces(self.columns.values):
            block = self.columns.values[rows].copy()
            solver.solve(block)
            np.einsum("ij,ij->i", block, block, out=explained[rows])
        return np.asarray((1.0 - explained / self.diagonal) / (self.scale**2 * self.diagonal))

    def explain(self, vector: Array) -> Array:
        """Return the mean of s v given s (A v + D^1/2 e) = x, with v and e standard normal."""
        inner = _linalg.solve_lower(self.lower, (vector / self.diagonal) @ self.columns.values)
        return _linalg.solve_lower(self.lower, inner, transpose=True)

    def draw_inner(self, deviation: Array, rng: np.random.Generator) -> Array:
        """Draw v given f - m = s (A v + D^1/2 e), with v and e standard normal."""
        normal = rng.standard_normal(len(self.lower))
        inner = _linalg.solve_lower(self.lower, normal, transpose=True)
        return self.explain(deviation) / self.scale + inner

    def draw_points(self, deviation: Array, rng: np.random.Generator) -> Array:
        """Draw u - m at the points given f - m = s (A v + D^1/2 e), where u - m = s L v.

        Where a mean has been integrated out, m is a draw of it: of A and C the parts that belong
        to the points are left.
        """
        root = self.columns.root
        m = len(root)
        lower = np.asfortranarray(self.lower[:m, :m])
        projected = ((deviation / self.diagonal) @ self.columns.values)[:m]
        inner = _linalg.solve_lower(lower, projected) + self.scale * rng.standard_normal(m)
        return _linalg.multiply_lower(root, _linalg.solve_lower(lower, inner, transpose=True))

    def log_normal(self, whitened: Array) -> float:
        """Return log N(f; m, K) up to the constant -n log(2 pi) / 2, given z."""
        return -0.5 * float(whitened.dot(whitened)) - self.half_log_det

    def _root(self) -> Array:
        return np.sqrt(self.diagonal)[:, np.newaxis]


class LowRankPseudoPosterior:
    """The Gaussian with prior N(m, K) and sites exp(-W f^2 / 2 + h f).

    Its covariance is a diagonal plus a low-rank matrix too, with omega = s^2 D W and
    C_W C_W^T = I + B^T diag(omega / (1 + omega)) B,

        (K^-1 + W)^-1 = s^2 [D / (1 + omega) + A' (C_W C_W^T)^-1 A'^T],   A' = A / (1 + omega),

    with a square root T of the form of L, in which C_W^-1 C is what C is there:

        T = s (D / (1 + omega))^1/2 R,    R = I + B' C_W^-T (C_W + C)^-1 B'^T,
        R^-1 = I - B' (C_W + C)^-T C^-1 B'^T,    B' = B / (1 + omega)^1/2.

    U^-T = L^-1 T makes U a square root of I + L^T W L.

    Attributes
    ----------
    factor : LowRankFactor
        L.
    precision : ndarray of shape (n,)
        W, all entries >= 0.
    half_log_det : float
        log |U|.
    """

    __slots__ = ("_damping", "_lower", "_shifted", "factor", "half_log_det", "precision")

    def __init__(
        self, factor: LowRankFactor, precision: Array, damping: Array, lower: Array, log_det: float
    ) -> None:
        self.factor = factor
        self.precision = precision
        # (1 + omega)^-1/2
        self._damping = damping
        self._lower = lower
        self._shifted = lower + factor.lower
        self.half_log_det = log_det

    def project(self, shift: Array, mean: float) -> Array:
        """Return b = U^-1 L^T (h - W m) = T^T (h - W m)."""
        residual = shift - self.precision * mean if mean else shift
        factor, damping = self.factor, self._damping
        A, root = factor.columns.values, np.sqrt(factor.diagonal)
        inner = _linalg.solve_lower(self._lower, (damping**2 * residual) @ A)
        inner = _linalg.solve_lower(self._shifted, inner, transpose=True)
        return factor.scale * damping * (root * residual + (A @ inner) / root)

    def whiten(self, whitened: Array, projection: Array) -> Array:
        """Return eta = U^T z - b, standard normal under the pseudo-posterior."""
        factor, damping = self.factor, self._damping
        A, root = factor.columns.values, np.sqrt(factor.diagonal)
        deviation = factor.colour(whitened) / factor.scale
        inner = _linalg.solve_lower(factor.lower, (deviation / factor.diagonal) @ A)
        inner = _linalg.solve_lower(self._shifted, inner, transpose=True)
        return (deviation / damping - damping * (A @ inner)) / root - projection

    def colour(self, eta: Array, projection: Array) -> Array:
        """Return z = U^-T (eta + b), so that f = m + L z."""
        return self.colour_columns((eta + projection)[:, np.newaxis])[:, 0]

    def colour_columns(self, eta: Array) -> Array:
        """Return U^-T eta for the columns of eta, shape (n, n_columns)."""
        factor, damping = self.factor, self._damping[:, np.newaxis]
        A, root = factor.columns.values, np.sqrt(factor.diagonal)[:, np.newaxis]
        inner = _linalg.solve_lower_matrix(self._shifted, A.T @ (damping / root * eta))
        inner = _linalg.solve_lower_matrix(self._lower, inner, transpose=True)
        deviations = damping * root * eta + damping**2 * (A @ inner)
        return factor.whiten_columns(factor.scale * deviations)

    def marginal_variance(self) -> Array:
        """Return the diagonal of L U^-T U^-1 L^T, the variances of the latent variables."""
        factor, damping = self.factor, self._damping**2
        explained = np.empty(factor.n)
        solver = _linalg.RowSolver(self._lower)
        for rows in pieces(factor.columns.values):
            block = factor.columns.values[rows].copy()
            solver.solve(block)
            np.einsum("ij,ij->i", block, block, out=explained[rows])
        return np.asarray(factor.scale**2 * damping * (factor.diagonal + damping * explained))


class LowRankPseudoPosteriorFactory:
    """Builds pseudo-posteriors, which own what they keep: vectors, and matrices of m x m."""

    def build(
        self,
        factor: LowRankFactor,
        precision: Array,
        current: LowRankPseudoPosterior | None = None,
    ) -> LowRankPseudoPosterior | None:
        """Factor I + L^T W L; None where that fails in floating point."""
        omega = factor.scale**2 * factor.diagonal * precision
        weights = factor.scale**2 * precision / (1.0 + omega)
        lower = root_of_gram(factor.columns.values, weights)
        if lower is None:
            return None
        half_log_det = 0.5 * float(np.log1p(omega).sum()) + _linalg.log_diagonal_sum(
            np.diagonal(lower)
        )
        if not math.isfinite(half_log_det):
            return None
        damping = 1.0 / np.sqrt(1.0 + omega)
        return LowRankPseudoPosterior(factor, precision, damping, lower, half_log_det)


def root_of_gram(columns: Array, weights: Array) -> Array | None:
    """Return the lower C with C C^T = I + A^T diag(w) A, zero above the diagonal; None if none."""
    gram = np.zeros((columns.shape[1],) * 2).T
    add_gram(columns, np.sqrt(weights), gram)
    diagonal = _linalg.diagonal_view(gram)
    diagonal += 1.0
    if not _linalg.cholesky_in_place(gram):
        return None
    return gram


def add_gram(columns: Array, factors: Array, out: Array) -> None:
    """Add A^T diag(factors^2) A to the lower triangle of a matrix."""
    scratch = np.empty((pieces(columns)[0].stop, columns.shape[1]))
    for rows in pieces(columns):
        block = scratch[: rows.stop - rows.start]
        np.multiply(columns[rows], factors[rows, np.newaxis], out=block)
        _linalg.add_gram(block, out)


def pieces(columns: Array) -> list[slice]:
    """Return slices of the rows of a matrix, each of a size for the processor's caches."""
    n, m = columns.shape
    return slices(n, max(16, _PIECE // (8 * m)))


def plus_identity(lower: Array) -> Array:
    """Return I + C."""
    shifted = lower.copy(order="F")
    diagonal = _linalg.diagonal_view(shifted)
    diagonal += 1.0
    return shifted
