"""Covariances of latent variables and new inputs, for one theta after the other.

Predictions need little else: they are written in place, by one product and one exponential where
the kernel has a fast path, and by the kernel's own call elsewhere.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Kernel

from .._linalg import Array
from ._kernel_call import covariances, variances
from ._kernel_form import StationaryForm, parse, product
from ._stationary import CORRELATIONS

# Squared distances by a product are differences of terms of the size of |x|^2, in length scales.
# Beyond this one, their rounding error would be more than some 1e-13 of a covariance.
_LARGEST_SQUARE = 1e3
# Squares of new inputs, in length scales: where they overflow, the kernel's own call has limits.
_LARGEST_NEW_SQUARE = 1e300


class CrossCovariance:
    """Covariances k(x, X) at one theta, by the kernel's own call; the slow twin, for any kernel.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        At this theta.
    X : array-like of length n
        Inputs of the latent variables.
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel = kernel
        self._X = X

    def write(self, new: Any, out: Array) -> None:
        """Write the covariances of some new inputs and all latent variables.

        Parameters
        ----------
        new : array-like of length n_rows
            New inputs.
        out : ndarray of shape (n_rows, n)
            In C order; overwritten.
        """
        out[...] = covariances(self.kernel, self._X, new).T

    def variances(self, new: Any) -> Array:
        """Return the variances of the latent function at new inputs."""
        return variances(self.kernel, new)

    def among(self, new: Any) -> Array:
        """Return the covariances of the latent function at new inputs."""
        return covariances(self.kernel, new)


class StationaryCrossCovariance(CrossCovariance):
    """Covariances of a kernel that has a fast path.

    The squared distance sum_d w_d (z_d - x_d)^2 is one product of the rows (z, sum_d w_d z_d^2, 1)
    and the columns (-2 w x, 1, sum_d w_d x_d^2), which include the factor of the tabulated
    distances (`StationaryForm.distance_factor`).

    Parameters
    ----------
    kernel, X
        See `CrossCovariance`.
    form : StationaryForm
        What `parse` made of the kernel.
    theta : ndarray of shape (n_kernel_parameters,)
        Logarithms of the kernel's free hyperparameters.
    centre : ndarray of shape (n_columns,)
        Among the inputs: distances from it are as small as can be.
    """

    def __init__(
        self, kernel: Kernel, X: Array, form: StationaryForm, theta: Array, centre: Array
    ) -> None:
        super().__init__(kernel, X)
        self._centre = centre
        self._amplitude = product(form.amplitude, theta)
        self._offset = math.fsum(product(leaves, theta) for leaves in form.offset)
        noise = math.fsum(product(leaves, theta) for leaves in form.noise)
        self._variance = self._amplitude + self._offset + noise
        with np.errstate(all="ignore"):
            weights = np.broadcast_to(form.length_scale.natural(theta) ** -2.0, X.shape[1])
            centred = X - centre
            squares = centred**2 @ weights
            # One half of k(q) = 1 - sqrt(q) + ... has infinite slope at q = 0, and would show the
            # rounding error of a product.
            self._by_product = form.nu > 0.5 and bool(squares.max() <= _LARGEST_SQUARE)
            self._factor = form.distance_factor
            self._weights, self._root_weights = weights, np.sqrt(weights)
            columns = np.vstack([-2.0 * (weights * centred).T, np.ones(len(X)), squares])
            self._columns = self._factor * columns
            self._scaled = centred * self._root_weights
        self._correlate = CORRELATIONS[form.nu]

    def write(self, new: Array, out: Array) -> None:
        """Write the covariances; see `CrossCovariance.write`."""
        with np.errstate(all="ignore"):
            if not self._write_distances(new - self._centre, out):
                super().write(new, out)
                return
            self._correlate(out, np.empty_like(out))
            out *= self._amplitude
            if self._offset:
                out += self._offset

    def variances(self, new: Array) -> Array:
        """Return the variances of the latent function at new inputs, which are all the same."""
        return np.full(len(new), self._variance)

    def _write_distances(self, centred: Array, out: Array) -> bool:
        """Write tabulated distances; return False where they may be too large for a float."""
        squares = centred**2 @ self._weights
        if not squares.max(initial=0.0) <= _LARGEST_NEW_SQUARE:  # also for NaN
            return False
        if self._by_product:
            rows = np.column_stack([centred, squares, np.ones(len(centred))])
            np.matmul(rows, self._columns, out=out)
            # Rounding may leave squares below zero. Without a root of them it does not matter.
            if self._factor > 0.0:
                np.maximum(out, 0.0, out=out)
        else:
            cdist(centred * self._root_weights, self._scaled, "sqeuclidean", out=out)
            out *= self._factor
        return True


class AverageCovariance(CrossCovariance):
    """Covariances of the average of a function over some rows, whatever the new input.

    Parameters
    ----------
    cross : CrossCovariance
        Of the function.
    rows : array-like of length n_rows
    n : int
        Number of latent variables.
    """

    def __init__(self, cross: CrossCovariance, rows: Any, n: int) -> None:
        self.kernel, self._rows = cross.kernel, rows
        self._cross, self._n = cross, n

    @functools.cached_property
    def _with_latents(self) -> Array:
        each = np.empty((len(self._rows), self._n))
        self._cross.write(self._rows, each)
        return np.asarray(each.mean(axis=0))

    @functools.cached_property
    def _variance(self) -> float:
        return float(self._cross.among(self._rows).mean())

    def write(self, new: Any, out: Array) -> None:
        """Write the covariances; see `CrossCovariance.write`."""
        out[...] = self._with_latents

    def variances(self, new: Any) -> Array:
        """Return the variance of the average, for each row."""
        return np.full(len(new), self._variance)

    def among(self, new: Any) -> Array:
        """Return the variance of the average, for each pair of rows."""
        return np.full((len(new), len(new)), self._variance)

    def with_function(self, new: Any) -> Array:
        """Return the covariances of the average and the function at new inputs."""
        return np.asarray(covariances(self.kernel, new, self._rows).mean(axis=1))


class CentredCovariance(CrossCovariance):
    """Covariances of a function less its average over some rows.

    Parameters
    ----------
    cross, rows, n
        See `AverageCovariance`.
    """

    def __init__(self, cross: CrossCovariance, rows: Any, n: int) -> None:
        self.kernel, self._cross = cross.kernel, cross
        self._average = AverageCovariance(cross, rows, n)

    def write(self, new: Any, out: Array) -> None:
        """Write the covariances; see `CrossCovariance.write`."""
        average = np.empty_like(out)
        self._cross.write(new, out)
        self._average.write(new, average)
        out -= average

    def variances(self, new: Any) -> Array:
        """Return the variances of the centred function at new inputs."""
        both = self._cross.variances(new) + self._average.variances(new)
        return np.asarray(both - 2.0 * self._average.with_function(new))

    def among(self, new: Any) -> Array:
        """Return the covariances of the centred function at new inputs."""
        shared = self._average.with_function(new)
        both = self._cross.among(new) + self._average.among(new)
        return np.asarray(both - shared - shared[:, np.newaxis])


class CrossCovariances:
    """Covariances with new inputs, for any theta.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function, at any hyperparameters.
    X : array-like of length n
        Inputs of the latent variables.
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self._kernel, self._X = kernel, X
        self._form = parse(kernel)
        with np.errstate(over="ignore"):
            self._centre = None if self._form is None else np.mean(X, axis=0)

    def at(self, theta: Array) -> CrossCovariance:
        """Return the covariances at the logarithms of the free hyperparameters."""
        kernel = self._kernel.clone_with_theta(theta)
        if self._form is None:
            return CrossCovariance(kernel, self._X)
        assert self._centre is not None
        return StationaryCrossCovariance(kernel, self._X, self._form, theta, self._centre)
