"""What each kind of estimator predicts, and what that is compared with, as curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from .._linalg import Array
from ..estimators import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from ..estimators._rates import check_exposure
from ..likelihoods._validation import as_floats
from ._text import as_label


class Curves(NamedTuple):
    """Predictions at the rows of X.

    Attributes
    ----------
    mean : ndarray of shape (n_curves, n_rows)
    intervals : ndarray of shape (n_curves, n_levels, n_rows, 2)
        Lower and upper end.
    labels : list of str
        What each curve is.
    ylabel : str
        What the vertical axis shows.
    is_probability : bool
    """

    mean: Array
    intervals: Array
    labels: list[str]
    ylabel: str
    is_probability: bool = False


@singledispatch
def curves(estimator: Any, X: Any, levels: Sequence[float], target: Any) -> Curves:
    """Return predictions at X, for one class or all where there are classes."""
    raise NotImplementedError


@singledispatch
def observed(estimator: Any, y: Any, exposure: Any, target: Any) -> Array:
    """Return what the curves are compared with, shape (n_curves, n_samples), given a vector y."""
    raise NotImplementedError


@curves.register
def _(
    estimator: MCMCGaussianProcessRegressor, X: Any, levels: Sequence[float], target: Any
) -> Curves:
    _refuse_target(target)
    return _mean_and_intervals(estimator, X, levels, "mean of y", "y")


@observed.register
def _(estimator: MCMCGaussianProcessRegressor, y: Any, exposure: Any, target: Any) -> Array:
    _refuse_exposure(exposure)
    return as_floats("y", y)[None]


@curves.register
def _(estimator: MCMCCoxProcessRegressor, X: Any, levels: Sequence[float], target: Any) -> Curves:
    _refuse_target(target)
    ylabel = "rate (events per unit of exposure)"
    return _mean_and_intervals(estimator, X, levels, "mean rate", ylabel)


@observed.register
def _(estimator: MCMCCoxProcessRegressor, y: Any, exposure: Any, target: Any) -> Array:
    if exposure is None and estimator._had_exposure:
        raise ValueError(
            "exposure must be given along with y, for the points are counts divided by it, and fit "
            "was given exposures other than 1; got None. Pass exposure=... of the rows, or leave y "
            "out to draw no points."
        )
    counts = as_floats("y", y)
    return (counts / check_exposure(exposure, len(counts)))[None]


@curves.register
def _(
    estimator: MCMCGaussianProcessClassifier, X: Any, levels: Sequence[float], target: Any
) -> Curves:
    which = _classes(estimator, target)
    intervals = np.array([estimator.predict_interval(X, level) for level in levels])
    if intervals.ndim == 3:  # of the probability of the second class
        intervals = np.stack([1.0 - intervals[..., ::-1], intervals], axis=2)
    labels = [str(label) for label in estimator.classes_[which].tolist()]
    return Curves(
        estimator.predict_proba(X).T[which],
        intervals.transpose(2, 0, 1, 3)[which],
        labels,
        f"probability of class {as_label(labels[0], 30)}"
        if len(labels) == 1
        else "probability of each class",
        is_probability=True,
    )


@observed.register
def _(estimator: MCMCGaussianProcessClassifier, y: Any, exposure: Any, target: Any) -> Array:
    _refuse_exposure(exposure)
    labels = np.asarray(y)
    unknown = set(labels.tolist()) - set(estimator.classes_.tolist())
    if unknown:
        raise ValueError(
            f"y must hold labels out of {estimator.classes_.tolist()}; got {sorted(unknown)[:3]}. "
            "Leave y out to draw no data (also where y are numbers of successes)."
        )
    which = _classes(estimator, target)
    return (labels == estimator.classes_[which][:, None]).astype(np.float64)


def _classes(estimator: MCMCGaussianProcessClassifier, target: Any) -> list[int]:
    """Return which classes to draw: one of two, all of more, or the one that is asked for."""
    classes = estimator.classes_.tolist()
    if target is None:
        return [1] if len(classes) == 2 else list(range(len(classes)))
    if target not in classes:
        raise ValueError(f"target must be a class out of {classes}; got {target!r}.")
    return [classes.index(target)]


def _mean_and_intervals(
    estimator: Any, X: Any, levels: Sequence[float], label: str, ylabel: str
) -> Curves:
    """Return the one curve of a regressor."""
    intervals = [estimator.predict_interval(X, level) for level in levels]
    return Curves(np.array([estimator.predict(X)]), np.array([intervals]), [label], ylabel)


def _refuse_exposure(exposure: Any) -> None:
    if exposure is not None:
        raise ValueError("exposure is for the counts of MCMCCoxProcessRegressor; leave it out.")


def _refuse_target(target: Any) -> None:
    if target is not None:
        raise ValueError(f"target is a class, for classifiers only; got {target!r}. Leave it out.")
