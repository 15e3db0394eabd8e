"""Parts of the latent function, given the same draws as the whole.

With f = m + f_1 + f_2 + ..., each f_j a Gaussian process with a summand k_j of the kernel, the
values of f and a part at new inputs are jointly normal: their covariances are k_j(x, X), because
the other parts are independent of this one. So is every other linear function of f. Given the
values, with the covariance C (of f at X, and the noise), a part has

    mean k_j(x, X) C^-1 (f - m),    covariance k_j(x, x') - k_j(x, X) C^-1 k_j(X, x'),

and two parts have the covariance -k_j(x, X) C^-1 k_l(X, x'). These add up to the moments of f.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._covariance import (
    AverageCovariance,
    CentredCovariance,
    CrossCovariance,
    CrossCovariances,
    DerivativeCovariance,
    Summand,
)
from .._linalg import Array
from ._conditional import Conditional


class WholeFunction:
    """The latent function itself.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        At any hyperparameters.

    Attributes
    ----------
    shares : tuple of two float
        What this part has of the function at a new input, and of its average over `rows`.
    rows : array-like or None
        None where it has nothing of an average.
    """

    shares: ClassVar[tuple[float, float]] = (1.0, 0.0)
    rows: Any = None

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def given(self, whole: Conditional, theta: Array, mean: float) -> Conditional:
        """Return the distribution of this part, given that of the whole function."""
        return whole

    def cross(self, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of this part at new inputs and the latent function at X."""
        return CrossCovariance(self._kernel.clone_with_theta(theta[: self._kernel.n_dims]), X)

    def along_axis(self, axis: int, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances at inputs that differ along one axis of a grid; see `cross`."""
        return self.cross(theta, X)

    def offset(self, mean: float) -> float:
        """Return how much of the mean offset belongs to this part."""
        return mean

    def of_values(self, values: Array, mean: float) -> Array | None:
        """Return this part where the latent function has known values; None if they do not tell."""
        return values


class Part(WholeFunction):
    """The sum of some of the kernel's summands.

    Parameters
    ----------
    summand : Summand
        The kernel of the part.
    X : array-like of length n_latent
        Inputs of the latent variables.
    has_offset : bool
        Whether the mean offset belongs to it.
    is_all : bool
        Whether these are all summands of the kernel.
    """

    def __init__(self, summand: Summand, X: Any, has_offset: bool, is_all: bool) -> None:
        super().__init__(summand.kernel)
        self._elements, self._X = summand.elements, X
        self._has_offset, self._is_all = has_offset, is_all

    @functools.cached_property
    def _crosses(self) -> CrossCovariances:
        return CrossCovariances(self._kernel, self._X)

    def given(self, whole: Conditional, theta: Array, mean: float) -> Conditional:
        """Return the distribution of this part; see `WholeFunction.given`."""
        return whole.through(self._crosses.at(theta[self._elements]), self.offset(mean))

    def cross(self, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of this part and f; see `WholeFunction.cross`."""
        return CrossCovariance(self._kernel.clone_with_theta(theta[self._elements]), X)

    def offset(self, mean: float) -> float:
        """Return how much of the mean offset belongs to this part."""
        return mean if self._has_offset else 0.0

    def of_values(self, values: Array, mean: float) -> Array | None:
        """Return this part where f is known; see `WholeFunction.of_values`."""
        return values - mean + self.offset(mean) if self._is_all else None


class CentredPart(Part):
    """A part of the latent function less its average over some rows.

    Parameters
    ----------
    summand, X
        See `Part`.
    rows : array-like of length n_rows
    """

    shares = (1.0, -1.0)

    def __init__(self, summand: Summand, X: Any, rows: Any) -> None:
        super().__init__(summand, X, has_offset=False, is_all=False)
        self.rows = rows

    def given(self, whole: Conditional, theta: Array, mean: float) -> Conditional:
        """Return the distribution of this part; see `WholeFunction.given`."""
        cross = self._crosses.at(theta[self._elements])
        return whole.through(CentredCovariance(cross, self.rows, len(self._X)), 0.0)

    def cross(self, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of this part and f; see `WholeFunction.cross`."""
        return CentredCovariance(super().cross(theta, X), self.rows, len(X))

    def along_axis(self, axis: int, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of the part that is not centred."""
        return super().cross(theta, X)


class Average(WholeFunction):
    """The average of the latent function over some rows.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    X : array-like of length n_latent
        Inputs of the latent variables.
    rows : array-like of length n_rows
    """

    shares = (0.0, 1.0)

    def __init__(self, kernel: Kernel, X: Any, rows: Any) -> None:
        super().__init__(kernel)
        self._X, self.rows = X, rows

    def given(self, whole: Conditional, theta: Array, mean: float) -> Conditional:
        """Return the distribution of the average; see `WholeFunction.given`."""
        return whole.through(AverageCovariance(whole.cross, self.rows, len(self._X)), mean)

    def cross(self, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of the average and f; see `WholeFunction.cross`."""
        return AverageCovariance(super().cross(theta, X), self.rows, len(X))

    def along_axis(self, axis: int, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of the function."""
        return super().cross(theta, X)

    def of_values(self, values: Array, mean: float) -> Array | None:
        """Return None: one value of the function does not tell its average."""
        return None


class Derivative(Part):
    """The derivative of a part along a column.

    Parameters
    ----------
    summand, X
        See `Part`.
    column : int
    """

    def __init__(self, summand: Summand, X: Any, column: int) -> None:
        super().__init__(summand, X, has_offset=False, is_all=False)
        self._column = column

    def given(self, whole: Conditional, theta: Array, mean: float) -> Conditional:
        """Return the distribution of the derivative; see `WholeFunction.given`."""
        return whole.through(self.cross(theta, self._X), 0.0)

    def cross(self, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances of the derivative and f; see `WholeFunction.cross`."""
        kernel = self._kernel.clone_with_theta(theta[self._elements])
        return DerivativeCovariance(kernel, X, self._column)

    def along_axis(self, axis: int, theta: Array, X: Any) -> CrossCovariance:
        """Return covariances along an axis: a product of several has one derivative."""
        return self.cross(theta, X) if axis == self._column else super().cross(theta, X)


class MeanOffset:
    """The mean offset as a part: each draw has one number for all inputs.

    Parameters
    ----------
    mean : ndarray of shape (n_draws,)
    """

    def __init__(self, mean: Array) -> None:
        self._mean = mean

    def __len__(self) -> int:
        return len(self._mean)

    def chunks(self, X: Any) -> Iterator[tuple[slice, Array, Array]]:
        """Yield all rows of X, and mean and variance given each draw."""
        mean = np.repeat(self._mean[:, np.newaxis], len(X), axis=1)
        yield slice(0, len(X)), mean, np.zeros_like(mean)

    def sample(self, X: Any, draw: int, n: int, rng: np.random.RandomState) -> Array:
        """Return the offset at all rows, n times: (n_rows, n)."""
        return np.full((len(X), n), self._mean[draw])
