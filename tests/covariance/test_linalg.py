"""BLAS and LAPACK wrappers against dense algebra."""

import math

import numpy as np
import pytest
from rounding import product_bound, stable_bound

from skgpmcmc import _linalg

# 70 is beyond the block size of LAPACK's blocked algorithms' smallest cases.
SIZES = [1, 2, 5, 70]
# Around the size of a block, and such that halves of halves are odd.
INVERSE_SIZES = [1, 2, 49, 50, 51, 103, 230]


def positive_definite(n):
    root = np.random.default_rng(n).standard_normal((n, n + 3))
    return root @ root.T / n + np.eye(n)


def lower_triangle(n):
    return np.linalg.cholesky(positive_definite(n))


def in_lower_triangle(matrix, garbage=1e300):
    """Return a Fortran-ordered copy whose strict upper triangle holds garbage."""
    buffer = np.array(matrix, order="F")
    buffer[np.triu_indices_from(buffer, 1)] = garbage
    return buffer


def assert_upper_untouched(buffer, garbage=1e300):
    assert (buffer[np.triu_indices_from(buffer, 1)] == garbage).all()


@pytest.mark.parametrize("n", SIZES)
def test_buffer_pair(n):
    pair = _linalg.buffer_pair(n)
    assert not np.shares_memory(*pair)
    for buffer in pair:
        assert buffer.shape == (n, n)
        assert buffer.flags.f_contiguous
        assert buffer.dtype == np.float64
        assert not buffer.any()


@pytest.mark.parametrize("n", SIZES)
def test_diagonal_view_writes_through(n):
    buffer = in_lower_triangle(positive_definite(n))
    diagonal = _linalg.diagonal_view(buffer)
    np.testing.assert_array_equal(diagonal, np.diag(buffer))
    assert np.shares_memory(diagonal, buffer)
    diagonal += 2.0
    np.testing.assert_array_equal(np.diag(buffer), np.diag(positive_definite(n)) + 2.0)
    assert_upper_untouched(buffer)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_in_place(n):
    matrix = positive_definite(n)
    buffer = in_lower_triangle(matrix)
    assert _linalg.cholesky_in_place(buffer) is True
    expected = np.linalg.cholesky(matrix)
    assert np.all(np.abs(np.tril(buffer) - expected) <= stable_bound(matrix, expected))
    assert_upper_untouched(buffer)


@pytest.mark.parametrize("n", SIZES)
def test_gram_in_place(n):
    lower = lower_triangle(n)
    buffer = in_lower_triangle(lower)
    assert _linalg.gram_in_place(buffer) is None
    difference = np.abs(np.tril(buffer) - np.tril(lower.T @ lower))
    assert np.all(difference <= product_bound(lower.T, lower))
    assert_upper_untouched(buffer)


def test_in_place_functions_work_on_the_view_of_another_buffer():
    # Two steps in one buffer, seen through an array that was taken before.
    buffer = in_lower_triangle(positive_definite(5))
    diagonal = _linalg.diagonal_view(buffer)
    assert _linalg.cholesky_in_place(buffer)
    _linalg.gram_in_place(buffer)
    matrix = positive_definite(5)
    lower = np.linalg.cholesky(matrix)
    rounding = 2.0 * stable_bound(matrix, lower) * np.linalg.norm(lower, 2)
    np.testing.assert_allclose(diagonal, np.diag(lower.T @ lower), rtol=0.0, atol=rounding)


def _with_entry(i, j, value):
    matrix = positive_definite(5)
    matrix[i, j] = matrix[j, i] = value
    return matrix


BAD_MATRICES = {
    "indefinite": np.diag([1.0, 1.0, -1.0]),
    "singular": np.zeros((3, 3)),
    "negative": -np.eye(1),
    "nan-diagonal": _with_entry(2, 2, math.nan),
    "nan-off-diagonal": _with_entry(4, 1, math.nan),
    "nan-first": _with_entry(0, 0, math.nan),
    "inf-diagonal": _with_entry(1, 1, math.inf),
    "inf-last": _with_entry(4, 4, math.inf),
    "inf-off-diagonal": _with_entry(3, 0, math.inf),
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_bad_matrices_are_reported_and_not_raised(name):
    buffer = in_lower_triangle(BAD_MATRICES[name])
    with np.errstate(all="ignore"):
        # Some BLAS report NaN and infinity only through the diagonal.
        success = _linalg.cholesky_in_place(buffer)
        total = _linalg.log_diagonal_sum(_linalg.diagonal_view(buffer))
    assert not success or math.isnan(total)


@pytest.mark.parametrize("name", ["indefinite", "singular", "negative"])
def test_cholesky_of_a_finite_bad_matrix_returns_false(name):
    assert _linalg.cholesky_in_place(in_lower_triangle(BAD_MATRICES[name])) is False


def test_log_diagonal_sum():
    assert _linalg.log_diagonal_sum(np.array([2.0, 3.0])) == pytest.approx(math.log(6.0))
    with np.errstate(all="ignore"):
        for bad in (0.0, -1.0, math.nan, math.inf):
            assert math.isnan(_linalg.log_diagonal_sum(np.array([2.0, bad])))


def rounding_of(name, lower, argument, result):
    """Return the bound for a product with L, or for a solution."""
    if "multiply" in name:
        return product_bound(lower.T if "transpose" in name else lower, argument)
    return stable_bound(lower, result)


VECTOR_FUNCTIONS = {
    "multiply": (_linalg.multiply_lower, False, lambda a, x: a @ x),
    "multiply-transpose": (_linalg.multiply_lower, True, lambda a, x: a.T @ x),
    "solve": (_linalg.solve_lower, False, np.linalg.solve),
    "solve-transpose": (_linalg.solve_lower, True, lambda a, x: np.linalg.solve(a.T, x)),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_vector_functions(name, n):
    function, transpose, dense = VECTOR_FUNCTIONS[name]
    buffer = in_lower_triangle(lower_triangle(n))
    vector = np.random.default_rng(1).standard_normal(n)
    kept = buffer.copy(), vector.copy()
    result = function(buffer, vector, transpose=transpose)
    difference = np.abs(result - dense(lower_triangle(n), vector))
    assert np.all(difference <= rounding_of(name, lower_triangle(n), vector, result))
    assert result.shape == (n,)
    assert not np.shares_memory(result, vector)
    np.testing.assert_array_equal(buffer, kept[0])
    np.testing.assert_array_equal(vector, kept[1])


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("function", "dense"),
    [(_linalg.multiply_lower_matrix, np.matmul), (_linalg.solve_lower_matrix, np.linalg.solve)],
)
@pytest.mark.parametrize("order", ["F", "C"])
def test_matrix_functions(function, dense, n, n_columns, order):
    buffer = in_lower_triangle(lower_triangle(n))
    columns = np.array(np.random.default_rng(1).standard_normal((n, n_columns)), order=order)
    kept = buffer.copy(), columns.copy()
    result = function(buffer, columns)
    difference = np.abs(result - dense(lower_triangle(n), columns))
    rounding = rounding_of(function.__name__, lower_triangle(n), columns, result)
    assert np.all(difference <= rounding)
    assert not np.shares_memory(result, columns)
    np.testing.assert_array_equal(buffer, kept[0])
    np.testing.assert_array_equal(columns, kept[1])


@pytest.mark.parametrize("n", INVERSE_SIZES)
def test_inverse_in_place(n):
    lower = lower_triangle(n)
    buffer = in_lower_triangle(lower, garbage=7.0)
    _linalg.inverse_in_place(buffer)
    inverse = np.linalg.inv(lower @ lower.T)
    rounding = stable_bound(lower @ lower.T, inverse)
    assert np.all(np.abs(np.tril(buffer) - np.tril(inverse)) <= rounding)
    assert_upper_untouched(buffer, garbage=7.0)
