"""The only caller of BLAS and LAPACK: in-place, and nothing here raises.

Every matrix is square, float64 and Fortran ordered; only its lower triangle is
read or written, so the upper triangle may hold anything finite. Functions that
can fail report it in their return value, because inside a chain a matrix that
is not positive definite is a rejected proposal and not an exception.
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsyr, dsyr2, dsyrk, dtrmm, dtrmv, dtrsm, dtrsv
from scipy.linalg.lapack import dlauum, dpotrf, dsyevd, dtrtri
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]

# The size up to which a matrix is inverted at once.
_BLOCK_SIZE = 50


def buffer_pair(n: int) -> tuple[Array, Array]:
    """Allocate two n x n Fortran-ordered matrices of zeros.

    In one piece: numpy asks for huge pages from 4 MB on.
    """
    first, second = np.zeros((2, n, n))
    return first.T, second.T


def diagonal_view(matrix: Array) -> Array:
    """Return a writeable view of the diagonal of a Fortran-ordered matrix."""
    return matrix.reshape(-1, order="A")[:: matrix.shape[0] + 1]


def cholesky_in_place(matrix: Array) -> bool:
    """Overwrite the lower triangle of C by L with C = L L^T; False if it has none."""
    _, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
    return bool(info == 0)


def gram_in_place(lower: Array) -> None:
    """Overwrite the lower triangle of L by that of L^T L (n^3 / 3 operations)."""
    dlauum(lower, lower=1, overwrite_c=1)


def log_diagonal_sum(diagonal: Array) -> float:
    """Return the sum of logarithms, NaN if an entry is not positive and finite."""
    total = float(np.add.reduce(np.log(diagonal)))
    return total if math.isfinite(total) else math.nan


def symmetric_spectrum(matrix: Array) -> tuple[Array, Array] | None:
    """Return the increasing eigenvalues and the eigenvectors of C; None if that fails.

    C is symmetric and may have any order; it is kept.
    """
    values, vectors, info = dsyevd(matrix.T, lower=1)
    return (values, vectors) if info == 0 else None


def multiply_lower(lower: Array, vector: Array, *, transpose: bool = False) -> Array:
    """Return L x, or L^T x."""
    return dtrmv(lower, vector, lower=1, trans=transpose)


def solve_lower(lower: Array, vector: Array, *, transpose: bool = False) -> Array:
    """Return L^-1 x, or L^-T x."""
    return dtrsv(lower, vector, lower=1, trans=transpose)


def multiply_lower_matrix(lower: Array, columns: Array) -> Array:
    """Return L B for a matrix B of column vectors."""
    return dtrmm(1.0, lower, columns, lower=1)


def multiply_lower_in_place(lower: Array, columns: Array) -> Array:
    """Overwrite a matrix B of column vectors, Fortran ordered, by L B, and return it."""
    return dtrmm(1.0, lower, columns, lower=1, overwrite_b=1)


def solve_lower_matrix(lower: Array, columns: Array, *, transpose: bool = False) -> Array:
    """Return L^-1 B, or L^-T B, for a matrix B of column vectors."""
    return dtrsm(1.0, lower, columns, lower=1, trans_a=transpose)


def inverse_of_lower(lower: Array) -> Array:
    """Return X = L^-1, row by row, so that X L differs from I by no more than a solve's rounding.

    Each row x solves x L = e backward stably: |X L - I| <= n u |X| |L| (Higham 2002, section
    14.2). Hence X (L v) is within the bound of a triangular solve with L, if not as exact as such
    solves mostly are.
    """
    identity = np.zeros(lower.shape, order="F")
    diagonal_view(identity).fill(1.0)
    return dtrsm(1.0, lower, identity, side=1, lower=1, overwrite_b=1)


def inverse_in_place(lower: Array) -> None:
    """Overwrite the lower triangle of L by that of (L L^T)^-1."""
    _invert_lower(lower)
    gram_in_place(lower)


def _invert_lower(lower: Array) -> None:
    """Overwrite the lower triangle of L by that of L^-1.

    By halves, down to blocks that stay in the fastest cache: OpenBLAS's dtrtri alone takes
    twice as long.
    """
    n = lower.shape[0]
    if n <= _BLOCK_SIZE:
        lower[...] = dtrtri(lower, lower=1)[0]
        return
    half = n // 2
    first, second, below = lower[:half, :half], lower[half:, half:], lower[half:, :half]
    _invert_lower(first)
    _invert_lower(second)
    product = dtrmm(-1.0, first, below, side=1, lower=1)
    below[...] = dtrmm(1.0, second, product, lower=1, overwrite_b=1)


def write_products(columns: Array, factor: float, out: Array) -> None:
    """Overwrite the lower triangle of `out` by that of factor A A^T."""
    dsyrk(factor, columns, c=out, lower=1, overwrite_c=1)


def add_sums(vector: Array, factor: float, matrix: Array) -> None:
    """Add factor (x_i + x_j) to the lower triangle."""
    dsyr2(factor, vector, np.ones_like(vector), a=matrix, lower=1, overwrite_a=1)


def add_square(vector: Array, factor: float, matrix: Array) -> None:
    """Add factor x x^T to the lower triangle."""
    dsyr(factor, vector, a=matrix, lower=1, overwrite_a=1)


def multiply_symmetric(lower: Array, columns: Array) -> Array:
    """Return C B for a symmetric C, given by its lower triangle, and column vectors B."""
    return dsymm(1.0, lower, columns, lower=1)


@functools.cache
def blas_threads() -> ThreadpoolController:
    """Return the object that limits BLAS threads; cached, as making it takes a millisecond."""
    return ThreadpoolController()


def slices(n: int, size: int) -> list[slice]:
    """Return slices of 0, ..., n - 1, each of at most that size.

    Examples
    --------
    >>> slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def add_gram(rows: Array, out: Array) -> None:
    """Add X^T X to the lower triangle of `out`, for rows in C order."""
    dsyrk(1.0, rows.T, beta=1.0, c=out, lower=1, overwrite_c=1)


def fill_upper(matrix: Array) -> None:
    """Copy the lower triangle of a matrix into its upper one."""
    np.copyto(matrix, matrix.T, where=_above_diagonal(len(matrix)))


@functools.lru_cache(maxsize=4)
def _above_diagonal(n: int) -> NDArray[np.bool_]:
    return ~np.tri(n, dtype=bool)


class RowSolver:
    """Solves X L^T = B and X L = B for many rows, in place.

    By blocks of columns, with the inverses of L's diagonal blocks: OpenBLAS's dtrsm takes more than
    twice as long, and the inverse of L as a whole would lose digits where L is ill conditioned.

    Parameters
    ----------
    lower : ndarray of shape (m, m)
        L; kept.
    """

    def __init__(self, lower: Array) -> None:
        m = len(lower)
        self._lower = lower
        self._blocks = [
            (some.start, some.stop, np.tril(dtrtri(lower[some, some], lower=1)[0]))
            for some in slices(m, _BLOCK_SIZE)
        ]

    def solve(self, rows: Array) -> None:
        """Overwrite B by B L^-T."""
        for start, stop, inverse in self._blocks:
            block = rows[:, start:stop]
            known = rows[:, :start] @ self._lower[start:stop, :start].T
            np.matmul(block - known, inverse.T, out=block)

    def solve_transpose(self, rows: Array) -> None:
        """Overwrite B by B L^-1."""
        for start, stop, inverse in reversed(self._blocks):
            block = rows[:, start:stop]
            known = rows[:, stop:] @ self._lower[stop:, start:stop]
            np.matmul(block - known, inverse, out=block)
