"""Elliptical slice sampling (Murray, Adams and MacKay 2010)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._linalg import Array
from ._slice import MAX_SHRINKS


class EllipticalResult(NamedTuple):
    """The result of one elliptical slice update.

    Attributes
    ----------
    deviation : ndarray
        The new point, relative to the prior mean.
    log_likelihood : float
        At the new point.
    cosine, sine : float
        The new point is old * cosine + auxiliary * sine; the same combination
        updates any linear function of the point, whitened variables for one.
    n_evaluations : int
        Of the log likelihood.
    moved : bool
        Whether a point was accepted.
    """

    deviation: Array
    log_likelihood: float
    cosine: float
    sine: float
    n_evaluations: int
    moved: bool


def elliptical_slice_step(
    log_likelihood: Callable[[Array], float],
    deviation: Array,
    log_likelihood_value: float,
    auxiliary: Array,
    rng: np.random.Generator,
    *,
    max_shrinks: int = MAX_SHRINKS,
) -> EllipticalResult:
    """Update a vector with a Gaussian prior of mean 0; leaves the posterior invariant.

    Parameters
    ----------
    log_likelihood : callable
        Of the deviation of the vector from its prior mean; NaN counts as outside
        the slice.
    deviation : ndarray of shape (n,)
        Current point minus the prior mean.
    log_likelihood_value : float
        At `deviation`.
    auxiliary : ndarray of shape (n,)
        A fresh draw from the prior of the deviation.
    rng : numpy.random.Generator
        Source of randomness.
    max_shrinks : int
        Proposals after which the update gives up and stays where it is.

    Returns
    -------
    result : EllipticalResult
        New point and what led to it.

    See Also
    --------
    slice_step : For single variables with any density.

    References
    ----------
    Murray, Adams and MacKay (2010), Elliptical slice sampling, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc.updates import elliptical_slice_step
    >>> rng = np.random.default_rng(0)
    >>> def log_likelihood(f):
    ...     return -0.5 * float((f - 2.0) @ (f - 2.0))
    >>> f = np.zeros(1)
    >>> draw = elliptical_slice_step(
    ...     log_likelihood, f, log_likelihood(f), rng.standard_normal(1), rng
    ... )
    >>> draw.moved
    True
    """
    level = log_likelihood_value - rng.standard_exponential()
    angle = 2.0 * math.pi * rng.random()
    left, right = angle - 2.0 * math.pi, angle
    for n_evaluations in range(1, max_shrinks + 1):
        cosine, sine = math.cos(angle), math.sin(angle)
        proposal = deviation * cosine
        proposal += auxiliary * sine
        proposal_log_likelihood = log_likelihood(proposal)
        if proposal_log_likelihood > level:  # False for NaN
            return EllipticalResult(
                proposal, proposal_log_likelihood, cosine, sine, n_evaluations, True
            )
        if angle < 0.0:
            left = angle
        else:
            right = angle
        angle = left + (right - left) * rng.random()
    return EllipticalResult(deviation, log_likelihood_value, 1.0, 0.0, max_shrinks, False)
