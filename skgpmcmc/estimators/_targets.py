"""Targets of a regression, and the likelihood of their noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._checks import check_rows
from .._covariance import NoiseSplit
from .._linalg import Array
from .._messages import warn_user
from ..likelihoods import Gaussian, Likelihood, StudentT
from ..likelihoods._checks import as_floats
from ..priors import HyperparameterSpec
from ._inputs import number_per_row

# Squares of larger targets overflow; squares of targets below the reciprocal underflow.
_LARGEST_TARGET = 1e100
# A noise variance below this fraction of the variance of y only keeps matrices positive definite.
_NO_NOISE = 1e-6
# The smallest noise variance, as a share of a squared target and of 1: squares of targets divided
# by a smaller one would overflow.
_SMALLEST_NOISE = 1e-290
# Means of that many standard deviations are no accident of a signal around zero.
_LARGE_OFFSET = 10.0
#: Default of the regressor's alpha; it stands for no noise.
DEFAULT_ALPHA = 1e-10
_HINT_OF_ALPHA = (
    " Cross-validation slices X and y, but no parameter of the constructor: leave alpha at its "
    "default, and pass noise variances to fit(X, y, noise_variance=...), also of a search; with "
    "metadata routing on call set_fit_request(noise_variance=True) first."
)


class Given(NamedTuple):
    """Known variances of the noise, as users gave them.

    Attributes
    ----------
    name : str
        Of the parameter.
    values : ndarray of shape (n_rows,)
    unit : float
        What variances of the model are multiplied by, to be in these units.
    """

    name: str
    values: Array
    unit: float


def check_targets(y: Any) -> Array:
    """Return targets as floats; raise a ValueError for such whose squares are not."""
    y = as_floats("y", y)
    check_rows(y, np.isfinite(y), "y", "finite")
    largest = float(np.abs(y).max(initial=0.0))
    if not (largest == 0.0 or 1.0 / _LARGEST_TARGET < largest < _LARGEST_TARGET):
        raise ValueError(
            f"y must be zero, or its largest absolute value between {1.0 / _LARGEST_TARGET:g} and "
            f"{_LARGEST_TARGET:g}; got {largest:.3g}. Change its unit."
        )
    return y


def known_noise(alpha: Any, noise_variance: Any, n_samples: int) -> Array:
    """Return the known variance of each row's noise, from one of two sources.

    Parameters
    ----------
    alpha : float or array-like of shape (n_samples,)
        The regressor's parameter.
    noise_variance : float or array-like of shape (n_samples,), or None
        The argument of `fit`, which is used where it is given.
    n_samples : int
        Number of rows.

    Raises
    ------
    ValueError
        For values that are no variances, and if both say that there is noise.
    """
    if noise_variance is None:
        return number_per_row("alpha", alpha, n_samples, zero=True, hint=_HINT_OF_ALPHA)
    if (as_floats("alpha", alpha) > DEFAULT_ALPHA).any():
        raise ValueError(
            "noise_variance is given to fit, and alpha to the constructor: both are the variance "
            "of known noise. Leave alpha at its default, or leave noise_variance out."
        )
    return number_per_row("noise_variance", noise_variance, n_samples, zero=True)


def typical_variance(y: Array, weights: Array | None, *, centred: bool) -> float:
    """Return the variance of y that the latent function has to account for; never zero."""
    centre = np.average(y, weights=weights) if centred else 0.0
    variance = float(np.average((y - centre) ** 2, weights=weights))
    return variance or 1.0


def warn_of_offset(y: Array, weights: Array | None) -> None:
    """Warn where targets are far from zero for their spread, and a model takes zero for their mean.

    Warns
    -----
    UserWarning
        If the mean is more than ten times the standard deviation; not for constant targets.
    """
    mean = float(np.average(y, weights=weights))
    sd = float(np.sqrt(np.average((y - mean) ** 2, weights=weights)))
    if y.min() < y.max() and abs(mean) > _LARGE_OFFSET * sd:
        warn_user(
            f"The mean of y, {mean:.4g}, is more than {_LARGE_OFFSET:.0f} times its standard "
            f"deviation, {sd:.2g}, and the model has mean='zero': predictions return to zero away "
            "from the rows, and the default priors take the mean for a part of the signal and of "
            "the noise. Set mean='constant' or normalize_y=True.",
            UserWarning,
        )


def noise_likelihood(
    y: Array,
    variance: Array,
    split: NoiseSplit,
    *,
    given: Given,
    kind: str,
    degrees_of_freedom: float | None,
    **options: Any,
) -> tuple[Likelihood, list[HyperparameterSpec]]:
    """Return the likelihood of targets, and the descriptions of its parameters.

    Parameters
    ----------
    y, variance : ndarray of shape (n_rows,)
        Targets, and the known variance of the noise of each.
    split : NoiseSplit
        The kernel's noise, apart from the rest of the kernel.
    given : Given
        The variance as users know it.
    kind, degrees_of_freedom
        The regressor's parameters, the first of them called `likelihood`.
    **options
        Of the likelihood.
    """
    noise, specs = split.noise, []
    fixed: Array | None = None
    known: Array | float = variance
    if noise is None or noise.hyperparameter_noise_level.fixed:
        fixed, known = variance + (0.0 if noise is None else noise.noise_level), 0.0
        _check_fixed_noise(fixed, given, y, kind, options.get("sample_weight"))
    else:
        bounds = noise.hyperparameter_noise_level.bounds
        specs.append(HyperparameterSpec(split.noise_name, 1, True, bounds))
    if kind == "gaussian":
        return Gaussian(y, fixed, known_variance=known, **options), specs
    if degrees_of_freedom is None:
        specs.append(HyperparameterSpec("degrees_of_freedom", 1, True, None))
    return StudentT(y, fixed, degrees_of_freedom, known_variance=known, **options), specs


def _check_fixed_noise(
    variance: Array, given: Given, y: Array, kind: str, weights: Array | None
) -> None:
    """Raise a ValueError for noise that is none, or next to none, but has to be some."""
    name = given.name
    what = "positive where the kernel has no WhiteKernel, or one fixed at zero"
    check_rows(given.values, (variance > 0.0) | (given.values > 0.0), name, what)
    if kind == "student-t" and variance.max() < _NO_NOISE * max(y.var(), 1e-300):
        raise ValueError(
            "likelihood='student-t' takes its squared scale from the kernel's WhiteKernel "
            f"and {name}; the kernel has no WhiteKernel, and {name} is at most "
            f"{variance.max():.3g}. Add a WhiteKernel to the kernel, or set {name}."
        )
    squares = max(1.0, float(np.abs(y).max()) ** 2) * np.ones_like(y)
    least = _SMALLEST_NOISE * squares * (1.0 if weights is None else np.maximum(1.0, weights))
    rows = np.flatnonzero(variance < least)
    if rows.size:
        row = rows[np.argmin(given.values[rows])]
        raise ValueError(
            f"{name} is too small to compute with in double precision, and the kernel has no "
            f"WhiteKernel that adds to it: the smallest is {given.values[row]:.3g}, and for this y "
            f"it must be at least {least[row] * given.unit:.3g}. Raise {name}, such as to the "
            "squared rounding error of y, or add a WhiteKernel to the kernel."
        )
