"""The prior of one scalar hyperparameter."""

from __future__ import annotations

import math
import sys
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .._checks import shown
from ._families import (
    Truncated,
    constant_of,
    curvature_of_kernel,
    describe,
    kernel_of,
    logarithm_of,
    parameters_of,
)

_LARGEST = sys.float_info.max
# Relative step of numerical derivatives.
_DIFFERENCE = 1e-6
# A hyperparameter that under- or overflows on the natural scale is of no use to a kernel.
_LOG_RANGE = (math.log(sys.float_info.min), math.log(_LARGEST))
# Names that attributes have in pickles of version 0.1.0.
_OLD_NAMES = {"reach": "finite_support", "parabola": "normal_form"}


class HyperPrior:
    """Prior of one scalar hyperparameter, on its sampling scale.

    Parameters
    ----------
    distribution : frozen scipy.stats continuous distribution
        Prior of the hyperparameter on its natural scale.
    log_scale : bool, default=True
        Whether the hyperparameter is positive and sampled as its logarithm. Otherwise it is
        sampled as it is (a mean offset, say).
    bounds : (float, float) or None, default=None
        Interval on the natural scale that the prior is cut to, and normalised on.
    name : str, default=""
        Name of the hyperparameter, for messages.
    origin : str, default="given"
        Where it comes from, for people: ``"given"``, ``"default"`` or ``"from bounds"``.

    Attributes
    ----------
    support : (float, float)
        Interval of positive density on the sampling scale; its ends may be infinite.
    finite_support : (float, float)
        The part of it on which natural values neither under- nor overflow.
    normal_form : tuple of float or None
        The numbers (a, b, c) of a log density that is a - c (x - b)^2 / 2 on the sampling scale,
        inside `finite_support`; None for other densities.

    Raises
    ------
    TypeError
        If `distribution` is not a frozen scipy distribution.
    ValueError
        If it is discrete or multivariate, has invalid or array parameters, is improper, reaches
        below zero with ``log_scale=True``, or has no mass inside `bounds`; or if `bounds` are no
        interval.

    Examples
    --------
    >>> from scipy import stats
    >>> prior = HyperPrior(stats.loguniform(0.1, 10.0), name="length_scale")
    >>> prior.log_density(0.0) == prior.log_density(1.0)
    True
    >>> prior.log_density(5.0)
    -inf
    """

    def __init__(
        self,
        distribution: Any,
        *,
        log_scale: bool = True,
        bounds: ArrayLike | None = None,
        name: str = "",
        origin: str = "given",
    ) -> None:
        self.name = name
        self.origin = origin
        self.distribution = distribution
        self.log_scale = log_scale
        label = f"prior of hyperparameter {name!r}"
        _check_distribution(distribution, label)
        label = f"{label}, {describe(distribution)},"
        lower, upper = _natural_interval(distribution, log_scale, bounds, label)
        self.support = (_log(lower), _log(upper)) if log_scale else (lower, upper)
        smallest, largest = _LOG_RANGE if log_scale else (-_LARGEST, _LARGEST)
        self.finite_support = (max(self.support[0], smallest), min(self.support[1], largest))
        self._lowest, self._highest = self.finite_support
        self.normal_form: tuple[float, float, float] | None = None

        # The density is computed on the sampling scale if scipy has the distribution there,
        # otherwise on the natural scale.
        on_log_scale = logarithm_of(distribution) if log_scale else None
        self._exponential = log_scale and on_log_scale is None
        working = distribution if on_log_scale is None else on_log_scale
        ends = (lower, upper) if self._exponential else self.support
        self._truncated = Truncated(working, *ends)
        self._set_density(working, label)

    def _set_density(self, working: Any, label: str) -> None:
        """Choose the implementation of the log density, and normalise it."""
        mass = self._truncated.mass
        if mass <= 0.0:
            raise ValueError(
                f"The {label} has no mass (in double precision) inside "
                f"{self.natural(self.support).tolist()}. Widen the bounds, or move the prior."
                f"{_hint_on_own_density(self.distribution)}"
            )
        centre = float(self._truncated.quantile(0.5))
        curvature = None if self._exponential else curvature_of_kernel(working)
        self._constant = math.nan
        if mass <= 1.0 + 1e-9 and math.isfinite(centre):
            self._kernel, self._loc, self._scale = kernel_of(working)
            self._constant = constant_of(working, centre) - math.log(mass)
        if not math.isfinite(self._constant):
            raise ValueError(
                f"The {label} is improper, or too extreme for double "
                "precision: its density cannot be normalised. Use a proper prior with moderate "
                "parameters, such as scipy.stats.lognorm(s=1.0)."
            )
        if curvature is not None:
            self.normal_form = (self._constant, self._loc, curvature / self._scale**2)

    @property
    def mass(self) -> float:
        """Share of the distribution that is inside the bounds."""
        return self._truncated.mass

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes but functions."""
        return {name: value for name, value in vars(self).items() if name != "_kernel"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes that `__getstate__` returned."""
        vars(self).update({_OLD_NAMES.get(name, name): value for name, value in state.items()})
        self._kernel, *_ = kernel_of(self._truncated.distribution)

    def __repr__(self) -> str:
        """Distribution, scale, support and name."""
        return (
            f"HyperPrior({describe(self.distribution)}, log_scale={self.log_scale}, "
            f"support={self.support}, name={self.name!r})"
        )

    def log_density(self, value: float) -> float:
        """Log density at one value on the sampling scale.

        Normalised, including the Jacobian and the truncation to the bounds.

        Parameters
        ----------
        value : float
            Value on the sampling scale.

        Returns
        -------
        float
            The log density; -inf outside the support and for NaN, also where the natural value
            under- or overflows, and at an end point where the density is unbounded.
        """
        if not self._lowest <= value <= self._highest:
            return -math.inf
        value = float(value)
        working, log_jacobian = (math.exp(value), value) if self._exponential else (value, 0.0)
        return self._constant + log_jacobian + self._kernel((working - self._loc) / self._scale)

    def score(self, value: float) -> float:
        """Return the derivative of the log density on the sampling scale.

        The value must be inside the support. Exact for priors that are flat or normal on the
        sampling scale, such as log-uniform and log-normal ones; by central differences for
        others, with an error of about 1e-6.
        """
        if self.normal_form is not None:
            _, centre, curvature = self.normal_form
            return curvature * (centre - value)
        step = _DIFFERENCE * max(1.0, abs(value))
        left, right = max(value - step, self._lowest), min(value + step, self._highest)
        return (self.log_density(right) - self.log_density(left)) / (right - left)

    def sample(
        self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> float | NDArray[np.float64]:
        """Independent draws on the sampling scale, by inversion of the truncated cdf.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness; one uniform number is used per draw.
        size : int, tuple of int or None, default=None
            Shape of the result; None gives one float.

        Returns
        -------
        float or ndarray of shape `size`
        """
        # rng.random() can be 0, whose quantile may be infinite
        values = self._quantile(np.maximum(rng.random(size), 2.0**-54))
        return float(values) if size is None else values

    def quantile(self, probability: float) -> float:
        """Quantile on the sampling scale, of the prior cut to the bounds.

        Parameters
        ----------
        probability : float
            Probability below the quantile, from 0 to 1.

        Returns
        -------
        float
            The quantile; always finite, since it is clipped to where `log_density` can be finite:
            natural values that neither under- nor overflow.

        Raises
        ------
        ValueError
            If `probability` is not in [0, 1].

        Examples
        --------
        >>> from scipy import stats
        >>> prior = HyperPrior(stats.uniform(0.0, 4.0), log_scale=False, bounds=(2.0, 10.0))
        >>> prior.quantile(0.25)
        2.5
        """
        if not 0.0 <= probability <= 1.0:
            raise ValueError(
                f"probability must be a number from 0 to 1, got {shown(probability)}. "
                "Divide percentages by 100."
            )
        return float(self._quantile(probability))

    def median(self) -> float:
        """Median on the sampling scale, of the prior cut to the bounds."""
        return self.quantile(0.5)

    def natural(self, values: ArrayLike) -> NDArray[np.float64]:
        """Map values from the sampling scale to the natural scale."""
        values = np.array(values, dtype=float)
        return np.exp(values) if self.log_scale else values

    def _quantile(self, probability: ArrayLike) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):  # a quantile that underflows to 0 is clipped below
            values = self._truncated.quantile(probability)
            if self._exponential:
                values = np.log(values)
        return np.clip(values, self._lowest, self._highest)


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def _hint_on_own_density(distribution: Any) -> str:
    """Return what else may be wrong with a density whose cdf scipy computes by quadrature."""
    if type(distribution.dist)._cdf is not stats.rv_continuous._cdf:
        return ""
    return (
        " Or the density of your class does not integrate to 1, or scipy integrates it wrongly "
        "over so wide an interval: define _cdf as well as _pdf."
    )


def _check_distribution(distribution: Any, label: str) -> None:
    """Refuse anything but a frozen, scalar, continuous distribution."""
    advice = "Pass a frozen continuous distribution, such as scipy.stats.lognorm(s=1.0)."
    if isinstance(distribution, stats.rv_continuous):
        raise TypeError(
            f"The {label} is the unfrozen family scipy.stats.{distribution.name}: call it with its "
            f"parameters. {advice}"
        )
    family = getattr(distribution, "dist", None)
    if isinstance(family, stats.rv_discrete):
        raise ValueError(f"The {label}, {describe(distribution)}, is discrete. {advice}")
    if not isinstance(family, stats.rv_continuous):
        _refuse_other_kinds(distribution, label, advice)
    if any(np.ndim(value) > 0 for value in (*distribution.args, *distribution.kwds.values())):
        raise ValueError(
            f"The {label}, {describe(distribution)}, has array parameters. Use scalars; for a "
            "vector-valued hyperparameter pass a list with one distribution per element."
        )
    if any(math.isnan(end) for end in distribution.support()):
        raise ValueError(f"The {label}, {describe(distribution)}, has invalid parameters.")


def _refuse_other_kinds(distribution: Any, label: str, advice: str) -> NoReturn:
    """Raise an error for what is no frozen distribution of one variable."""
    kind = type(distribution).__name__
    if isinstance(distribution, type) or not hasattr(distribution, "logpdf"):
        raise TypeError(f"The {label} is {distribution!r} ({kind}). {advice}")
    if not hasattr(distribution, "support"):
        raise ValueError(
            f"The {label}, of the class {kind}, is multivariate. {advice} For a vector-valued "
            "hyperparameter pass a list with one distribution per element."
        )
    raise TypeError(
        f"The {label} is {distribution!r}, of the class {kind}, which is no frozen distribution "
        f"(scipy's newer classes of distributions are not supported). {advice}"
    )


def _natural_interval(
    distribution: Any, log_scale: bool, bounds: ArrayLike | None, label: str
) -> tuple[float, float]:
    """Intersection of the support with the bounds, on the natural scale."""
    lower, upper = (float(end) for end in distribution.support())
    # of loc + scale * (standard end)
    rounding = 8.0 * sys.float_info.epsilon * abs(parameters_of(distribution)["loc"])
    if log_scale and lower < -rounding:
        raise ValueError(
            f"The {label} has the support [{lower}, {upper}], but the "
            "hyperparameter is positive. Use a distribution on the positive numbers, such as "
            "scipy.stats.lognorm, halfnorm or gamma."
        )
    if log_scale:
        lower = max(lower, 0.0)
    if bounds is None:
        return lower, upper
    limits = np.asarray(bounds, dtype=float)
    if limits.shape != (2,) or not limits[0] < limits[1] or (log_scale and limits[0] < 0.0):
        kind = "0 <= lower < upper" if log_scale else "lower < upper"
        raise ValueError(
            f"The bounds for the {label} must be a pair with {kind}, got {shown(bounds)}."
        )
    inner = max(lower, float(limits[0])), min(upper, float(limits[1]))
    if not inner[0] < inner[1]:
        raise ValueError(
            f"The {label} has the support [{lower}, {upper}], which does "
            f"not overlap the bounds [{limits[0]}, {limits[1]}]. Change one of the two."
        )
    return inner
