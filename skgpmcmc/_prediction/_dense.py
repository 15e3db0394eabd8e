"""Exact conditionals of the latent function at new inputs, one posterior draw at a time."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._checks import check_whole
from .._covariance import (
    CovarianceStructure,
    CrossCovariances,
    Summand,
    covariances,
    summands_of,
)
from .._covariance._memory import check_prediction_memory
from .._linalg import Array, blas_threads, slices
from ..likelihoods import Likelihood
from ..trace import Trace
from ._conditional import Conditional
from ._views import Average, CentredPart, Derivative, MeanOffset, Part, WholeFunction

# Rows of X are taken in chunks whose largest arrays fit in this many bytes.
CHUNK_BYTES = 2**26
# What is made of a draw is kept for later predictions, for as many draws as fit in this many bytes.
CACHE_BYTES = 2**28
# Relative to the diagonal. Noise keeps the covariance positive definite, mostly.
_JITTER_BESIDE_NOISE = 1e-12
# Relative to the largest variance of all parts and rows that are drawn together.
_JITTER_OF_SAMPLES = 1e-10
# Of the variance of a value that is left out, what is f at least: less is rounding.
_SMALLEST_SHARE = 1e-12
# Numbers at a time for each pair of rows, measured: the kernel's call, the covariance and what is
# taken off it, or the covariance, its eigenvectors and LAPACK's workspace.
NUMBERS_PER_PAIR = 7
# Into so many parts the draws of a thread are split, so that none waits long for the others.
_PARTS_OF_A_THREAD = 4


class PosteriorDraws:
    """Draws of (theta, m) and values of f, exact or noisy, that predictions are conditional on.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function of f, at any hyperparameters.
    X : array-like of length n_latent
        Inputs of the latent variables.
    theta : ndarray of shape (n_draws, n_parameters)
        Hyperparameters; first the logarithms of the kernel's.
    mean : ndarray of shape (n_draws,)
        Mean offsets.
    values : ndarray of shape (n_draws, n_latent)
        Draws of f, or observations of it with Gaussian noise.
    jitter : float
        As the chains used it.
    noise : ndarray of shape (n_draws, n_latent), optional
        Variance of the noise.

    Attributes
    ----------
    n_jobs : int or None
        Draws whose predictions are computed at the same time, as joblib takes it.
    """

    n_jobs: int | None = None

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        theta: Array,
        mean: Array,
        values: Array,
        jitter: float,
        noise: Array | None = None,
    ) -> None:
        self._kernel = kernel
        self._X = X
        self.theta = theta
        self._mean = mean
        self._values = values
        self._noise = noise
        self._jitter = jitter
        self._known: dict[int, Conditional] = {}
        self._view = WholeFunction(kernel)

    @functools.cached_property
    def _cross(self) -> CrossCovariances:
        """Return the covariances of new inputs and the latent variables."""
        return CrossCovariances(self._kernel, self._X)

    @classmethod
    def from_trace(
        cls, kernel: Kernel, X: Any, trace: Trace, jitter: float, max_draws: int
    ) -> Self:
        """Take at most `max_draws` draws of f, evenly spread over chains and iterations."""
        which = evenly_spaced_draws(trace, max_draws)
        return cls(
            kernel,
            X,
            trace.all_theta()[which],
            trace.mean_offset().reshape(-1)[which],
            trace.latent.reshape(-1, trace.latent.shape[-1])[which],
            jitter,
        )

    @classmethod
    def from_gaussian(
        cls,
        kernel: Kernel,
        X: Any,
        trace: Trace,
        likelihood: Likelihood,
        jitter: float,
        max_draws: int,
    ) -> Self:
        """Take draws of theta alone: f given the data is Gaussian, and integrated out."""
        which = evenly_spaced_draws(trace, max_draws)
        theta = trace.all_theta()[which]
        sites = [likelihood.gaussian_sites(trace.layout.likelihood_params(row)) for row in theta]
        noise = np.array([1.0 / site.precision for site in sites])
        values = noise * np.array([site.shift for site in sites])
        mean = trace.mean_offset().reshape(-1)[which]
        return cls(kernel, X, theta, mean, values, jitter, noise)

    @classmethod
    def for_leaving_out(
        cls,
        structure: CovarianceStructure,
        kernel: Kernel,
        X: Any,
        trace: Trace,
        likelihood: Likelihood,
        jitter: float,
        max_draws: int,
    ) -> PosteriorDraws:
        """Take draws of theta for `left_out_moments`, at rows X with Gaussian noise."""
        given = structure.conditioned_on(X), trace, likelihood, jitter, max_draws
        return cls.from_gaussian(kernel, *given)

    def __len__(self) -> int:
        return len(self.theta)

    def part(self, summand: Summand, has_offset: bool = False) -> Self:
        """Return the same draws, to predict a part of f from.

        Parameters
        ----------
        summand : Summand
            Of the kernel.
        has_offset : bool
            Whether the mean offset belongs to the part.
        """
        is_all = len(summands_of(summand.kernel)) == len(summands_of(self._kernel))
        return self._seen_as(Part(summand, self._X, has_offset, is_all))

    def centred_part(self, summand: Summand, rows: Any) -> Self:
        """Return the same draws, to predict a part of f less its average over some rows from."""
        return self._seen_as(CentredPart(summand, self._X, rows))

    def average(self, rows: Any) -> Self:
        """Return the same draws, to predict the average of f over some rows from."""
        return self._seen_as(Average(self._kernel, self._X, rows))

    def derivative(self, summand: Summand, column: int) -> Self:
        """Return the same draws, to predict the derivative of a part along a column from."""
        return self._seen_as(Derivative(summand, self._X, column))

    def _seen_as(self, view: WholeFunction) -> Self:
        """Return the same draws; what is made of them once is shared."""
        other = copy.copy(self)
        other._view = view
        return other

    def spread(self, n_most: int) -> Self:
        """Return at most so many of the draws, evenly spread."""
        which = _evenly_spaced(len(self), n_most)
        other = copy.copy(self)
        other.theta, other._mean = self.theta[which], self._mean[which]
        other._values = self._values[which]
        other._noise = None if self._noise is None else self._noise[which]
        other._known = {}
        return other

    def mean_offset(self) -> MeanOffset:
        """Return the mean offset as a part of f."""
        return MeanOffset(self._mean)

    @staticmethod
    def numbers_of_draw(X: Any) -> int:
        """Return about how many numbers are made of a draw, and worked through for a new row."""
        return len(X) ** 2

    def chunks(self, X: Any) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows of X, and mean and variance of f there given each draw.

        Parameters
        ----------
        X : array-like of length n_rows
            New inputs.

        Yields
        ------
        rows : slice
        mean, variance : ndarray of shape (n_draws, n_rows_in_chunk)
            But for rounding, the moments of a row do not depend on the other rows.

        Raises
        ------
        ValueError
            If they overflow.
        """
        for rows in self._row_chunks(len(X)):
            mean, variance = self.of_each_draw(self._moments, X[rows], 2)
            _check_no_overflow(self._kernel, rows.start, mean, variance)
            yield rows, mean, np.maximum(variance, 0.0, out=variance)

    def mean_chunks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield rows of X, and the mean of f there given each draw; see `chunks`."""
        for rows in self._row_chunks(len(X)):
            (mean,) = self.of_each_draw(self._means, X[rows], 1)
            _check_no_overflow(self._kernel, rows.start, mean)
            yield rows, mean

    def _row_chunks(self, n_rows: int) -> list[slice]:
        """Return slices of rows whose arrays fit in CHUNK_BYTES."""
        size = max(1, CHUNK_BYTES // (8 * effective_n_jobs(self.n_jobs) * max(self._values.shape)))
        return slices(n_rows, size)

    def of_each_draw(self, compute: Callable[[int, Any], Any], X: Any, n_results: int) -> Array:
        """Return what a function of a draw and rows X returns, (n_results, n_draws, n_rows).

        In threads, which share the inputs. The work is in exponentials and products of blocks, of
        which BLAS' own threads gain nothing.
        """
        results = np.empty((n_results, len(self), len(X)))
        n_at_once = min(effective_n_jobs(self.n_jobs), len(self))
        n_parts = 1 if n_at_once == 1 else min(_PARTS_OF_A_THREAD * n_at_once, len(self))

        def write(draws: Iterable[int]) -> None:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for draw in draws:
                    results[:, draw] = compute(draw, X)

        with blas_threads().limit(limits=1, user_api="blas"):
            Parallel(n_at_once, require="sharedmem")(
                delayed(write)(range(part, len(self), n_parts)) for part in range(n_parts)
            )
        return results

    def _means(self, draw: int, X: Any) -> Array:
        """Return the mean of f at each row of X, given one draw."""
        return self._given(draw).means(X)

    def _moments(self, draw: int, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of f at each row of X, given one draw."""
        return self._given(draw).moments(X)

    def joint(self, X: Any, draw: int) -> tuple[Array, Array]:
        """Return mean and covariance of f at all rows of X together, given one draw.

        Raises
        ------
        ValueError
            If they overflow.
        """
        mean = np.empty(len(X))
        with np.errstate(over="ignore", invalid="ignore"):
            given = self._given(draw)
            cross = given.project(X, mean)
            covariance = given.cross.among(X) - cross.T @ cross
        for part in (np.diagonal(covariance), covariance):  # the row at fault, if it is one
            _check_no_overflow(self._kernel, 0, mean, part)
        return mean, covariance

    def latent(self, draw: int) -> Array:
        """Return the values in one draw."""
        return np.asarray(self._values[draw])

    def deviation(self, draw: int) -> Array:
        """Return the values in one draw without the mean offset."""
        return np.asarray(self._values[draw] - self._mean[draw])

    def usable_precisions(self, precision: Array) -> Array:
        """Return precisions near the given ones that `covariance_given_sites` can do with."""
        return precision

    def covariance_given_sites(self, draw: int, precision: Array) -> Array:
        """Return (K^-1 + W)^-1, the covariance of f under Gaussian sites of these precisions."""
        kernel = self._cross.at(self.theta[draw, : self._kernel.n_dims]).kernel
        lower = np.tril(self._factor(kernel, draw))
        scaled = np.sqrt(precision)[:, np.newaxis] * lower
        inner = np.array(scaled.T @ scaled, order="F")
        np.fill_diagonal(inner, np.diagonal(inner) + 1.0)
        _linalg.cholesky_in_place(inner)  # at least one in every direction
        root = _linalg.solve_lower_matrix(inner, np.asfortranarray(lower.T))
        return np.asarray(root.T @ root)

    def left_out_moments(self, draw: int) -> tuple[Array, Array]:
        """Return mean and variance of each f given the noisy values of all others.

        Rasmussen and Williams (2006), equations 5.11 and 5.12, without the value's own noise.
        """
        assert self._noise is not None
        kernel = self._cross.at(self.theta[draw, : self._kernel.n_dims]).kernel
        inverse = _linalg.inverse_of_lower(self._factor(kernel, draw))
        left_out = 1.0 / np.einsum("ij,ij->j", inverse, inverse)
        residual = left_out * (inverse.T @ (inverse @ self.deviation(draw)))
        return left_out_of_noise(self._values[draw], self._noise[draw], left_out, residual)

    def n_drawn(self, X: Any) -> int:
        """Return at how many rows of X functions are drawn, jointly."""
        return len(X)

    def joint_memory(self, n_rows: int) -> float:
        """Return the bytes that a covariance at so many rows and its root need, at most about."""
        n_latent = self._values.shape[-1]
        return 8.0 * (NUMBERS_PER_PAIR * float(n_rows) ** 2 + 2.0 * n_latent * (n_latent + n_rows))

    def sample(self, X: Any, draw: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw n functions at all rows of X together, given one draw: (n_rows, n)."""
        mean, covariance = self.joint(X, draw)
        normal = rng.standard_normal((len(X), n))
        return mean[:, np.newaxis] + _square_root(covariance) @ normal

    def sample_parts(
        self, parts: Sequence[Self], X: Any, draw: int, n: int, rng: np.random.RandomState
    ) -> Array:
        """Draw n functions of each part, all parts and rows together: (n_parts, n_rows, n)."""
        mean = np.empty((len(parts), len(X)))
        with np.errstate(over="ignore", invalid="ignore"):
            each = [part._given(draw) for part in parts]
            cross = np.hstack([one.project(X, row) for one, row in zip(each, mean, strict=True)])
            covariance = block_diag(*(one.cross.among(X) for one in each)) - cross.T @ cross
        _check_no_overflow(self._kernel, 0, mean, *np.split(covariance, len(parts), axis=1))
        normal = rng.standard_normal((mean.size, n))
        deviations = _fast_square_root(covariance) @ normal
        return mean[:, :, np.newaxis] + deviations.reshape(*mean.shape, n)

    def _given(self, draw: int) -> Conditional:
        """Return the distribution of f given one draw; of the first ones it is kept."""
        given = self._known.get(draw)
        if given is None:
            given = self._condition_on(draw)
            n_kept = CACHE_BYTES // (8 * self.numbers_of_draw(self._X))
            if draw < n_kept:
                self._known[draw] = given
        return self._view.given(given, self.theta[draw], self._mean[draw])

    def _condition_on(self, draw: int) -> Conditional:
        cross = self._cross.at(self.theta[draw, : self._kernel.n_dims])
        offset = self._mean[draw]
        lower = self._factor(cross.kernel, draw)
        return Conditional(cross, lower, self._values[draw] - offset, offset)

    def _among_values(self, kernel: Kernel) -> Any:
        """Return the covariance of the values, without noise and jitter."""
        return covariances(kernel, self._X)

    def _factor(self, kernel: Kernel, draw: int) -> Array:
        """Return the Cholesky factor of the covariance of the values."""
        covariance = np.asarray(self._among_values(kernel), dtype=np.float64)
        diagonal = np.diagonal(covariance)
        noise = 0.0 if self._noise is None else self._noise[draw]
        jitter = self._jitter if self._noise is None else _JITTER_BESIDE_NOISE
        # The chain stood here with its jitter, by other roundings: more is hardly ever needed.
        for relative in (jitter, self._jitter, 10.0 * self._jitter, 1e3 * self._jitter):
            lower = np.array(covariance, order="F")
            np.fill_diagonal(lower, diagonal * (1.0 + relative) + noise)
            if _linalg.cholesky_in_place(lower):
                return lower
        raise np.linalg.LinAlgError(
            f"the covariance of the kernel {kernel} at the training inputs is not positive "
            "definite; rescale the inputs or add a WhiteKernel."
        )


def left_out_of_noise(
    values: Array, noise: Array, left_out: Array, residual: Array
) -> tuple[Array, Array]:
    """Return mean and variance of each f given the noisy values of all others.

    Parameters
    ----------
    values, noise : ndarray of shape (n_latent,)
        Noisy values, and the variances of their noise.
    left_out, residual : ndarray of shape (n_latent,)
        Variance of each value given the others, and how far it is from its mean given them.
    """
    # The jitter is noise too: where there is no other, it is all that is left.
    variance = np.maximum(left_out - noise, _SMALLEST_SHARE * left_out)
    return values - residual, variance


def evenly_spaced_draws(trace: Trace, max_draws: int) -> NDArray[Any]:
    """Return which draws of all chains to use: at most `max_draws`, evenly spread."""
    check_whole("max_prediction_draws", max_draws, 1)  # it may be set after fit
    return _evenly_spaced(trace.n_chains * trace.n_draws, max_draws)


def _evenly_spaced(total: int, n_most: int) -> NDArray[Any]:
    return np.unique(np.linspace(0, total - 1, min(n_most, total)).round().astype(int))


def likelihood_params(trace: Trace, max_draws: int) -> Array:
    """Return the likelihood's parameters in these draws, (n_draws, n_parameters)."""
    theta = trace.all_theta()[evenly_spaced_draws(trace, max_draws)]
    rows = [trace.layout.likelihood_params(row) for row in theta]
    return np.array(rows).reshape(len(rows), -1)


def sample_latent(
    functions: Sequence[PosteriorDraws],
    X: Any,
    n_samples: int,
    rng: np.random.RandomState,
    memory_limit: float | None,
) -> tuple[NDArray[np.integer], list[Array]]:
    """Draw latent functions at X, jointly over its rows.

    Parameters
    ----------
    functions : sequence of PosteriorDraws
        One for each latent function.
    X : array-like of length n_rows
        New inputs.
    n_samples : int
        How many; each comes from a posterior draw chosen at random.
    rng : numpy.random.RandomState
        Source of randomness.
    memory_limit : float or None
        In gigabytes.

    Returns
    -------
    draws : ndarray of int of shape (n_samples,)
        Posterior draw of each sample.
    latent : list of ndarray of shape (n_rows, n_samples)
        One for each latent function.

    Raises
    ------
    ValueError
        If that needs more memory than the limit.
    """
    check_whole("n_samples", n_samples, 1)
    n_drawn = functions[0].n_drawn(X)
    # For each function draws, normal variables and products; what is then made of them.
    per_sample = 8.0 * (4 + 3 * len(functions)) * len(X)
    parts = {f"n_samples={n_samples} draws at {len(X)} rows": per_sample * int(n_samples)}
    if n_drawn:
        parts[f"the joint covariance of {n_drawn} rows"] = functions[0].joint_memory(n_drawn)
    advice = "Pass fewer rows, or fewer n_samples at a time"
    check_prediction_memory(parts, memory_limit, advice)
    chosen = rng.randint(0, len(functions[0]), size=n_samples)
    latent = [np.empty((len(X), n_samples)) for _ in functions]
    for draw in np.unique(chosen):
        columns = np.flatnonzero(chosen == draw)
        for function, values in zip(functions, latent, strict=True):
            values[:, columns] = function.sample(X, int(draw), len(columns), rng)
    return chosen, latent


def check_covariance_memory(
    functions: Sequence[PosteriorDraws], X: Any, memory_limit: float | None
) -> None:
    """Raise a ValueError if the covariances of f at all rows need more memory than the limit."""
    results = 2.0 * 8.0 * len(functions) * float(len(X)) ** 2
    what = f"the covariance of {len(X)} rows"
    check_prediction_memory(
        {what: functions[0].joint_memory(len(X)) + results},
        memory_limit,
        "Pass fewer rows, ask for return_std instead of return_cov",
    )


def _square_root(covariance: Array) -> Array:
    """Return R with R R^T = C, for C positive semi-definite up to rounding."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))


def _fast_square_root(covariance: Array) -> Array:
    """Return nearly the same in a tenth of the time: with a jitter far below that of the chains."""
    lower = np.array(covariance, order="F")
    np.fill_diagonal(lower, np.diagonal(lower) + _JITTER_OF_SAMPLES * np.diagonal(lower).max())
    return np.tril(lower) if _linalg.cholesky_in_place(lower) else _square_root(covariance)


def _check_no_overflow(kernel: Kernel, first_row: int, *moments: Array) -> None:
    """Raise an error where predictions are not finite; rows of X are along their last axis."""
    each = [np.isfinite(part).reshape(-1, part.shape[-1]).all(axis=0) for part in moments]
    finite = np.logical_and.reduce(each)
    if not finite.all():
        raise ValueError(
            f"X cannot be predicted at: in row {first_row + np.argmin(finite)} the covariances of "
            f"the kernel {kernel} are too large for double precision, or NaN. Rescale X, in fit "
            "too, or leave such rows out."
        )
