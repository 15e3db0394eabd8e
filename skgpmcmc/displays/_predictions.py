"""Predictions of each kind of estimator, and the data to compare them with, as curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from .._linalg import Array
from ..estimators import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from ..estimators._inputs import interval_ends, new_labels, new_vector
from ..estimators._rates import check_exposure
from ..estimators._targets import check_targets
from ..likelihoods._checks import check_counts
from ._text import as_label, short_number

Exposures = tuple[float, float] | None

# Exposures that differ by a smaller share are equal, but for rounding.
_ROUNDING = 1e-9


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
    of_what : str
        What the intervals are of, in a legend, after their percentage.
    new_interval : ndarray of shape (n_rows, 2) or None
        Of a single curve: the widest interval of new data, where the others are of something
        else.
    of_new : str
        What that is of.
    data : str
        What the points are.
    title : str
    """

    mean: Array
    intervals: Array
    labels: list[str]
    ylabel: str
    is_probability: bool = False
    of_what: str = "interval"
    new_interval: Array | None = None
    of_new: str = ""
    data: str = "data"
    title: str = ""

    def for_display(self) -> dict[str, Any]:
        """Return those that a display takes by the same names."""
        names = ("labels", "is_probability", "of_what", "new_interval", "of_new", "title")
        return {name: getattr(self, name) for name in names}


@singledispatch
def exposure_range(estimator: Any, exposure: Any, n_samples: int) -> Exposures:
    """Return the smallest and the largest exposure of counts; None for what is no count.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    exposure : float, array-like of shape (n_samples,) or None
        Of the data that are drawn; None is that of `fit`.
    n_samples : int
    """
    if exposure is not None:
        raise ValueError("exposure is for the counts of MCMCCoxProcessRegressor; leave it out.")
    return None


@exposure_range.register
def _(estimator: MCMCCoxProcessRegressor, exposure: Any, n_samples: int) -> Exposures:
    if exposure is None:
        return estimator.exposure_range_
    given = check_exposure(exposure, n_samples)
    return float(given.min()), float(given.max())


class Wanted(NamedTuple):
    """What is to be drawn.

    Attributes
    ----------
    levels : sequence of float
        Levels of the intervals, the widest first.
    target : label or None
        One class out of several.
    exposures : tuple of two float, or None
        What `exposure_range` returns.
    """

    levels: Sequence[float]
    target: Any
    exposures: Exposures


@singledispatch
def curves(estimator: Any, X: Any, wanted: Wanted) -> Curves:
    """Return predictions of a fitted estimator at X, of one class or all if there are several."""
    raise NotImplementedError


@singledispatch
def observed(estimator: Any, y: Any, exposure: Any, target: Any) -> Array:
    """Return what the curves are compared with, shape (n_curves, n_samples); errors as of `fit`.

    Numbers and counts may be NaN, where nothing was observed.
    """
    raise NotImplementedError


@curves.register
def _(estimator: MCMCGaussianProcessRegressor, X: Any, wanted: Wanted) -> Curves:
    _refuse_target(wanted.target)
    mean, intervals = _mean_and_intervals(estimator, X, wanted.levels)
    known = estimator.has_known_noise_  # by rows; nobody knows that of new ones
    of_what = "of y without the noise given to fit" if known else "of new observations"
    return Curves(mean, intervals, ["mean of y"], "y", of_what=of_what)


@observed.register
def _(estimator: MCMCGaussianProcessRegressor, y: Any, exposure: Any, target: Any) -> Array:
    return _with_gaps(check_targets, y)[None]


@curves.register
def _(estimator: MCMCCoxProcessRegressor, X: Any, wanted: Wanted) -> Curves:
    _refuse_target(wanted.target)
    mean, intervals = _mean_and_intervals(estimator, X, wanted.levels)
    words: dict[str, Any] = {"of_what": "interval of the rate", "data": "counts / exposure"}
    ylabel = "events per unit of exposure"
    least, most = wanted.exposures or estimator.exposure_range_
    if most > least * (1.0 + _ROUNDING):
        words["title"] = (
            "Rates per unit of exposure; exposures differ, from "
            f"{short_number(least)} to {short_number(most)}"
        )
    else:
        counts = estimator.predict_quantiles(X, interval_ends(wanted.levels[0]), exposure=least)
        words |= {"new_interval": counts / least, "of_new": "of new counts"}
        if abs(least - 1.0) <= _ROUNDING:
            ylabel, words["data"] = "count", "counts"
        else:
            words["of_new"] += f" in exposure\n{short_number(least)}, divided by it"
    return Curves(mean, intervals, ["mean rate"], ylabel, **words)


@observed.register
def _(estimator: MCMCCoxProcessRegressor, y: Any, exposure: Any, target: Any) -> Array:
    if exposure is None and estimator.exposure_range_ != (1.0, 1.0):
        raise ValueError(
            "exposure must be given along with y, for the points are counts divided by it, and fit "
            "was given exposures other than 1; got None. Pass exposure=... of the rows, or leave y "
            "out to draw no points."
        )
    counts = _with_gaps(check_counts, y)
    return (counts / check_exposure(exposure, len(counts)))[None]


@curves.register
def _(estimator: MCMCGaussianProcessClassifier, X: Any, wanted: Wanted) -> Curves:
    which = _classes(estimator, wanted.target)
    intervals = np.array([estimator.predict_interval(X, level) for level in wanted.levels])
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
        of_what="interval of the probability",
        data="data (top: of the class;\nbottom: of others)",
    )


@observed.register
def _(estimator: MCMCGaussianProcessClassifier, y: Any, exposure: Any, target: Any) -> Array:
    labels = new_labels(y)
    unknown = set(labels.tolist()) - set(estimator.classes_.tolist())
    if unknown:
        raise ValueError(
            f"y must hold labels out of {estimator.classes_.tolist()}; got {sorted(unknown)[:3]}. "
            "Leave y out to draw no data (also where y are numbers of successes)."
        )
    which = _classes(estimator, target)
    return (labels == estimator.classes_[which][:, None]).astype(np.float64)


def _with_gaps(check: Callable[[Array], Array], y: Any) -> Array:
    """Return numbers that pass the check, and NaN where y is NaN."""
    vector = new_vector(y, exact=True)
    if vector.dtype.kind != "f":
        return check(vector)
    is_gap = np.isnan(vector)
    # Zero is allowed everywhere, and rows keep their numbers in messages.
    return np.where(is_gap, np.nan, check(np.where(is_gap, 0.0, vector)))


def _classes(estimator: MCMCGaussianProcessClassifier, target: Any) -> list[int]:
    """Return which classes to draw: one of two, all of more, or the one that is asked for."""
    classes = estimator.classes_.tolist()
    if target is None:
        return [1] if len(classes) == 2 else list(range(len(classes)))
    if target not in classes:
        raise ValueError(f"target must be a class out of {classes}; got {target!r}.")
    return [classes.index(target)]


def _mean_and_intervals(estimator: Any, X: Any, levels: Sequence[float]) -> tuple[Array, Array]:
    """Return the one curve of a regressor, and its intervals."""
    intervals = [estimator.predict_interval(X, level) for level in levels]
    return np.array([estimator.predict(X)]), np.array([intervals])


def _refuse_target(target: Any) -> None:
    if target is not None:
        raise ValueError(f"target is a class, for classifiers only; got {target!r}. Leave it out.")
