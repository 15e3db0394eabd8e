"""Families of distributions: log densities without scipy's overhead, logarithms, truncation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


# Log densities in standard form (loc 0, scale 1), without their constants: `HyperPrior` takes the
# constant from scipy, once. At an end point with unbounded density they return -inf, since a
# point of measure zero must not trap a sampler. Shapes a, b that only move the support are unused.
def _flat(z: float) -> float:
    return 0.0


def _reciprocal(z: float, a: float, b: float) -> float:
    return -math.log(z)


def _normal(z: float) -> float:
    return -0.5 * z * z


def _truncated_normal(z: float, a: float, b: float) -> float:
    return _normal(z)


def _lognormal(z: float, s: float) -> float:
    if z <= 0.0:
        return -math.inf
    log_z = math.log(z)
    return -log_z - 0.5 / (s * s) * log_z * log_z


def _exponential(z: float) -> float:
    return -z


def _gamma(z: float, a: float) -> float:
    if z <= 0.0:
        return 0.0 if a == 1.0 else -math.inf
    return (a - 1.0) * math.log(z) - z


def _inverse_gamma(z: float, a: float) -> float:
    return -(a + 1.0) * math.log(z) - 1.0 / z if z > 0.0 else -math.inf


def _student_t(z: float, df: float = 1.0) -> float:
    if math.isinf(df):
        return _normal(z)
    # the hypotenuse, unlike z * z, does not overflow far out in the heavy tail
    return -(df + 1.0) * math.log(math.hypot(1.0, z / math.sqrt(df)))


def _generic(x: float, logpdf: Callable[[float], Any], support: tuple[float, float]) -> float:
    """Any other family: scipy's own log density, on the natural scale (slow)."""
    # exp(log(end)) may lie one rounding outside the support
    value = float(logpdf(min(max(x, support[0]), support[1])))
    return value if value < math.inf else -math.inf


# Keyed by scipy's class, not its name: a user's subclass may reuse a name for another density.
_FAST_FAMILIES: dict[type, Callable[..., float]] = {
    type(stats.uniform): _flat,
    type(stats.loguniform): _reciprocal,
    type(stats.norm): _normal,
    type(stats.halfnorm): _normal,
    type(stats.truncnorm): _truncated_normal,
    type(stats.lognorm): _lognormal,
    type(stats.expon): _exponential,
    type(stats.gamma): _gamma,
    type(stats.invgamma): _inverse_gamma,
    type(stats.t): _student_t,
    type(stats.cauchy): _student_t,
    type(stats.halfcauchy): _student_t,
}


def kernel_of(distribution: Any) -> tuple[Callable[[float], float], float, float]:
    """Kernel, loc and scale of ``logpdf(x) = constant + kernel((x - loc) / scale)``."""
    family = _FAST_FAMILIES.get(type(distribution.dist))
    if family is None:
        lower, upper = distribution.support()
        support = (float(lower), float(upper))
        return partial(_generic, logpdf=distribution.logpdf, support=support), 0.0, 1.0
    shapes = parameters_of(distribution)
    loc, scale = shapes.pop("loc"), shapes.pop("scale")
    kernel = partial(family, **shapes) if shapes else family
    return kernel, loc, scale


def constant_of(distribution: Any, inside: float) -> float:
    """Return the constant that goes with `kernel_of`, from scipy's log density at a point."""
    if type(distribution.dist) not in _FAST_FAMILIES:
        return 0.0
    kernel, loc, scale = kernel_of(distribution)
    return float(distribution.logpdf(inside)) - kernel((inside - loc) / scale)


#: Minus the second derivative of the kernels of `kernel_of` that are quadratic.
_CURVATURES: dict[type, float] = {type(stats.uniform): 0.0, type(stats.norm): 1.0}


def curvature_of_kernel(distribution: Any) -> float | None:
    """Return c where `kernel_of` is -c z^2 / 2, None for others."""
    return _CURVATURES.get(type(distribution.dist))


def _log_of_lognorm(s: float, scale: float) -> Any:
    return stats.norm(loc=math.log(scale), scale=s)


def _log_of_loguniform(a: float, b: float, scale: float) -> Any:
    return stats.uniform(loc=math.log(a) + math.log(scale), scale=math.log(b) - math.log(a))


# Families whose logarithm is another scipy family: on the log scale they need no exponential.
_LOG_FAMILIES: dict[type, Callable[..., Any]] = {
    type(stats.lognorm): _log_of_lognorm,
    type(stats.loguniform): _log_of_loguniform,
}


def logarithm_of(distribution: Any) -> Any | None:
    """Distribution of log x, given that of x; None where scipy has no such family."""
    family = _LOG_FAMILIES.get(type(distribution.dist))
    parameters = parameters_of(distribution)
    shifted = parameters.pop("loc") != 0.0
    return None if family is None or shifted else family(**parameters)


class Truncated:
    """A distribution restricted to an interval, with quantiles accurate in both tails."""

    def __init__(self, distribution: Any, lower: float, upper: float) -> None:
        self.distribution = distribution
        self.ends = (lower, upper)
        self.lower_tail = float(distribution.cdf(lower))
        self.upper_tail = float(distribution.sf(upper))
        if lower > distribution.ppf(0.5):
            self.mass = float(distribution.sf(lower)) - self.upper_tail
        else:
            self.mass = float(distribution.cdf(upper)) - self.lower_tail

    def quantile(self, probability: ArrayLike) -> NDArray[np.float64]:
        """Quantiles of the truncated distribution."""
        p = np.asarray(probability, dtype=float)
        below = np.minimum(self.lower_tail + p * self.mass, 1.0)
        above = np.minimum(self.upper_tail + (1.0 - p) * self.mass, 1.0)
        values = np.where(below <= 0.5, self.distribution.ppf(below), self.distribution.isf(above))
        return np.clip(values, *self.ends)  # rounding may have led outside, below 0 for instance


def parameters_of(distribution: Any) -> dict[str, float]:
    """Shapes, loc and scale of a frozen distribution, however they were passed."""
    shapes = distribution.dist.shapes
    names = [*(shapes.replace(",", " ").split() if shapes else []), "loc", "scale"]
    given = dict(zip(names, distribution.args, strict=False)) | distribution.kwds
    return {"loc": 0.0, "scale": 1.0} | {key: float(value) for key, value in given.items()}


def describe(distribution: Any) -> str:
    """Show a frozen distribution as it was written."""
    arguments = [f"{value}" for value in distribution.args]
    arguments += [f"{key}={value}" for key, value in distribution.kwds.items()]
    return f"{distribution.dist.name}({', '.join(arguments)})"
