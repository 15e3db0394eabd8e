"""A kernel for what is tried as a default: a linear part, and length scales that share one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from .scoring import Array

BOUNDS = (1e-5, 1e5)
FIXED = "fixed"


class SharedScaleKernel(Kernel):
    """c k(q) + b x.x', where q is the squared distance in length scales.

    k is the squared exponential exp(-q / 2), or Matern's correlation with nu = 5/2.

    These are l_d = s r_d^t: a common scale s, relative scales r_d, and a spread t. All of c, b,
    s, r and t are hyperparameters unless their bounds are "fixed"; log r_d may have standard
    normal priors.

    Parameters
    ----------
    constant_value : float
        c.
    linear : float
        b.
    relative : ndarray of shape (n_columns,)
        r.
    scale : float
        s.
    spread : float
        t.
    nu : float
        Infinity, or 2.5.
    constant_value_bounds, linear_bounds, relative_bounds, scale_bounds, spread_bounds
        As in scikit-learn's kernels.
    """

    def __init__(
        self,
        constant_value: float = 1.0,
        linear: float = 1.0,
        relative: Any = 1.0,
        scale: float = 1.0,
        spread: float = 1.0,
        nu: float = math.inf,
        constant_value_bounds: Any = BOUNDS,
        linear_bounds: Any = BOUNDS,
        relative_bounds: Any = BOUNDS,
        scale_bounds: Any = BOUNDS,
        spread_bounds: Any = FIXED,
    ) -> None:
        self.constant_value = constant_value
        self.linear = linear
        self.relative = relative
        self.scale = scale
        self.spread = spread
        self.nu = nu
        self.constant_value_bounds = constant_value_bounds
        self.linear_bounds = linear_bounds
        self.relative_bounds = relative_bounds
        self.scale_bounds = scale_bounds
        self.spread_bounds = spread_bounds

    @property
    def hyperparameter_constant_value(self) -> Hyperparameter:
        """Of the nonlinear part."""
        return Hyperparameter("constant_value", "numeric", self.constant_value_bounds)

    @property
    def hyperparameter_linear(self) -> Hyperparameter:
        """Of the linear part."""
        return Hyperparameter("linear", "numeric", self.linear_bounds)

    @property
    def hyperparameter_relative(self) -> Hyperparameter:
        """Of each column."""
        return Hyperparameter("relative", "numeric", self.relative_bounds, len(self.relative))

    @property
    def hyperparameter_scale(self) -> Hyperparameter:
        """Of all columns."""
        return Hyperparameter("scale", "numeric", self.scale_bounds)

    @property
    def hyperparameter_spread(self) -> Hyperparameter:
        """How much columns differ."""
        return Hyperparameter("spread", "numeric", self.spread_bounds)

    def length_scales(self) -> Array:
        """Return l."""
        return self.scale * np.asarray(self.relative) ** self.spread

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances, and their derivatives along the free hyperparameters."""
        X = np.atleast_2d(X)
        other = X if Y is None else np.atleast_2d(Y)
        scales = self.length_scales()
        distances = cdist(X / scales, other / scales)
        curved, slope = (self.constant_value * part for part in self._correlation(distances))
        straight = self.linear * (X @ other.T) if self.linear else np.zeros_like(curved)
        if not eval_gradient:
            return curved + straight
        squares = ((X[:, None] - X[None]) / scales) ** 2 * slope[..., None]
        logarithms = np.log(np.broadcast_to(self.relative, X.shape[1]))
        along = {
            "constant_value": curved[..., None],
            "linear": straight[..., None],
            "relative": self.spread * squares,
            "scale": squares.sum(axis=2, keepdims=True),
            "spread": self.spread * (squares @ logarithms)[..., None],
        }
        free = [along[h.name] for h in self.hyperparameters if not h.fixed]
        return curved + straight, np.concatenate(free, axis=2)

    def _correlation(self, distances: Array) -> tuple[Array, Array]:
        """Return k, and -2 dk/dq."""
        if self.nu == math.inf:
            value = np.exp(-0.5 * distances**2)
            return value, value
        s = math.sqrt(5.0) * distances
        value = np.exp(-s)
        return (1.0 + s + s**2 / 3.0) * value, 5.0 / 3.0 * (1.0 + s) * value

    def diag(self, X: Any) -> Array:
        """Return the variances."""
        X = np.atleast_2d(X)
        return self.constant_value + self.linear * np.einsum("id,id->i", X, X)

    def is_stationary(self) -> bool:
        """Return whether only differences of rows matter."""
        return False
