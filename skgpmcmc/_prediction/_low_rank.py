"""The latent function at new inputs, given its values at inducing points or Gaussian data.

With u the values at the points, K_mm = L L^T and a = L^-1 k for the covariances k of a new input x
and the points, f(x) is N(m + a . w, k(x, x) - |a|^2) for w = L^-1 (u - m). The training rows do not
matter: a draw is m numbers. Given Gaussian data in place of u, w is N(v, (C C^T)^-1) itself, which
adds |C^-1 a|^2.

A row that the model was fitted to is no exception: it is predicted as a new input of the same
function, whose deviation from what u says is unknown. Near points there is next to none.
Covariances of new inputs are the kernel's own, given u.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .. import _linalg
from .._covariance import (
    CrossCovariance,
    LowRankStructure,
    PointsAndRows,
    covariances,
    project_on_points,
    root_of_points,
)
from .._linalg import Array
from ._dense import NUMBERS_PER_PAIR, PosteriorDraws, check_no_overflow


class _Known(NamedTuple):
    """What is known of w, in units in which the kernel's amplitude is one.

    Attributes
    ----------
    mean : ndarray of shape (m,)
    root : ndarray of shape (m, m) or None
        C; None where w is known.
    """

    mean: Array
    root: Array | None


class LowRankPosteriorDraws(PosteriorDraws):
    """Draws of (theta, m) and u, or of (theta, m) and Gaussian data, that predictions are given.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance function of f, at any hyperparameters.
    inputs : PointsAndRows
        Of the latent function and the data.
    theta, mean, jitter
        See `PosteriorDraws`.
    values : ndarray of shape (n_draws, m) or (n_draws, n)
        u; or, with noise, observations of f.
    noise : ndarray of shape (n_draws, n), optional
        Variance of the noise.
    """

    def __init__(
        self,
        kernel: Kernel,
        inputs: PointsAndRows,
        theta: Array,
        mean: Array,
        values: Array,
        jitter: float,
        noise: Array | None = None,
    ) -> None:
        super().__init__(kernel, inputs, theta, mean, values, jitter, noise)
        self._structure = LowRankStructure(inputs.points)
        self._rows = inputs.rows
        self._known: dict[int, _Known] = {}

    def _moments(self, draw: int, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of f at each row of X, given one draw."""
        with np.errstate(over="ignore", invalid="ignore"):
            cross, projected, root = self._project_on_points(draw, X)
            known = self._know(draw, root)
            mean = self._mean[draw] + projected @ known.mean
            variance = cross.variance - np.einsum("ij,ij->i", projected, projected)
            if known.root is not None:
                _linalg.RowSolver(known.root).solve(projected)
                variance += np.einsum("ij,ij->i", projected, projected)
            return mean, cross.amplitude * variance

    def joint(self, X: Any, draw: int) -> tuple[Array, Array]:
        """Return mean and covariance of f at all rows together; see `PosteriorDraws.joint`."""
        with np.errstate(over="ignore", invalid="ignore"):
            cross, projected, root = self._project_on_points(draw, X)
            known = self._know(draw, root)
            mean = self._mean[draw] + projected @ known.mean
            covariance = covariances(self._kernel_of(draw), X)
            covariance -= cross.amplitude * (projected @ projected.T)
            if known.root is not None:
                _linalg.RowSolver(known.root).solve(projected)
                covariance += cross.amplitude * (projected @ projected.T)
        for part in (np.diagonal(covariance), covariance):  # the row at fault, if it is one
            check_no_overflow(self._kernel, 0, mean, part)
        return mean, covariance

    def at_rows(self, draw: int) -> tuple[Array, Array]:
        """Return mean and variance of f at each row of the data, as if it were a new input."""
        mean, variance = self._moments(draw, self._rows)
        return mean, np.maximum(variance, 0.0)

    def log_prior(self, draw: int) -> float:
        """Return log N(u; m, K_mm)."""
        cross, _, root = self._project_on_points(draw, self._structure.points)
        whitened, m = self._know(draw, root).mean / math.sqrt(cross.amplitude), len(root)
        log_det = _linalg.log_diagonal_sum(np.diagonal(root)) + 0.5 * m * math.log(cross.amplitude)
        return -0.5 * (float(whitened @ whitened) + m * math.log(2.0 * math.pi)) - log_det

    def joint_memory(self, n_rows: int) -> float:
        """Return the bytes that `joint` and a root of its covariance need, at most about."""
        n_points = len(self._structure.points)
        return 8.0 * (NUMBERS_PER_PAIR * float(n_rows) ** 2 + 2.0 * n_points * (n_points + n_rows))

    def _kernel_of(self, draw: int) -> Kernel:
        return self._kernel.clone_with_theta(self.theta[draw, : self._kernel.n_dims])

    def _project_on_points(self, draw: int, X: Any) -> tuple[CrossCovariance, Array, Array]:
        """Return the kernel's covariances, and L^-1 k for each row of X, and L."""
        theta = self.theta[draw, : self._kernel.n_dims]
        cross = self._structure.cross_kernel(self._kernel, X).at(theta)
        root = None if cross is None else root_of_points(cross)
        if cross is None or root is None:  # the chain stood there, at the same numbers
            raise _no_root(self._kernel_of(draw))
        projected = np.empty((len(X), len(root)))
        project_on_points(cross, _linalg.RowSolver(root), projected)
        return cross, projected, root

    def _know(self, draw: int, root: Array) -> _Known:
        if self._noise is None:
            deviation = self._values[draw] - self._mean[draw]
            return _Known(_linalg.solve_lower(root, deviation), None)
        if draw not in self._known:
            self._known[draw] = self._condition_on_data(draw)
        return self._known[draw]

    def _condition_on_data(self, draw: int) -> _Known:
        """Return the moments of w given the data: O(n m^2), once for a draw."""
        assert self._noise is not None
        theta = self.theta[draw, : self._kernel.n_dims]
        covariance = self._structure.covariance(
            self._kernel, self._rows, self._jitter, 0.0, gradient=False
        )
        factor = covariance.factor(theta)
        if factor is not None:
            factor = covariance.noisy_factor(theta, self._noise[draw], factor)
        if factor is None:
            raise _no_root(self._kernel_of(draw))
        return _Known(factor.explain(self._values[draw] - self._mean[draw]), factor.lower)


def _no_root(kernel: Kernel) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(
        f"the covariance of the kernel {kernel} at the inducing points is not positive definite; "
        "rescale the inputs or add a WhiteKernel."
    )
