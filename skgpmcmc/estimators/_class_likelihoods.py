"""Likelihoods of class labels, and of numbers of successes in trials."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from .._linalg import Array
from .._messages import warn_user
from ..likelihoods import Bernoulli, BernoulliLogit, BernoulliProbit, Binomial, SoftmaxClass
from ..likelihoods._checks import check_counts, check_trials
from ..likelihoods._special import log_binomial
from ._inputs import number_per_row

# As in scikit-learn: more classes than that share of the rows, of more rows than so many, are
# hardly meant.
_MOST_CLASSES, _FEW_ROWS = 0.5, 20

LINKS: dict[str, type[Bernoulli]] = {"logit": BernoulliLogit, "probit": BernoulliProbit}


def likelihoods_of_labels(
    codes: NDArray[np.intp], n_classes: int, *, link: str, multi_class: str, **options: Any
) -> list[list[Bernoulli]]:
    """Return independent problems, each a list of coupled latent functions.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The number of each row's class.
    n_classes : int
        How many there are.
    link, multi_class : str
        The classifier's parameters.
    **options
        Of each likelihood.
    """
    signs = [np.where(codes == c, 1.0, -1.0) for c in range(n_classes)]
    if multi_class == "softmax":
        if link != "logit":
            raise ValueError(
                f"multi_class='softmax' needs link='logit'; got link={link!r}. Use "
                "multi_class='one_vs_rest' for the probit link."
            )
        return [[SoftmaxClass(s, n_classes, **options) for s in signs]]
    if n_classes == 2:
        return [[LINKS[link](signs[1], **options)]]
    return [[LINKS[link](s, **options)] for s in signs]


def check_successes(y: Any, trials: Any) -> tuple[Array, Array]:
    """Return numbers of successes and of trials; raise a ValueError that names a bad row."""
    y = check_counts(y, hint="")
    return y, check_trials(number_per_row("trials", trials, len(y), zero=False), y)


def likelihood_of_trials(
    y: Array,
    trials: Array,
    latent_index: NDArray[np.intp] | None,
    sample_weight: Array | None,
    *,
    link: str,
    multi_class: str,
) -> Bernoulli | Binomial:
    """Return the likelihood of numbers of successes, but for `log_left_out`.

    Parameters
    ----------
    y, trials : ndarray of shape (n_rows,)
        Numbers of successes and of trials.
    latent_index, sample_weight : ndarray of shape (n_rows,) or None
        Which latent variable each row has, and its weight.
    link, multi_class : str
        The classifier's parameters.
    """
    if multi_class == "softmax":
        raise ValueError(
            "trials need a single latent function; got multi_class='softmax'. Use "
            "multi_class='one_vs_rest'."
        )
    if link == "logit":
        return Binomial(y, trials, latent_index=latent_index, sample_weight=sample_weight)
    # Successes and failures are rows of their own that stand for so many copies.
    signs = np.repeat([1.0, -1.0], len(y))
    copies = np.concatenate([y, trials - y])
    copies = copies * (1.0 if sample_weight is None else np.tile(sample_weight, 2))
    index = np.tile(np.arange(len(y)) if latent_index is None else latent_index, 2)
    return LINKS[link](signs, latent_index=index, sample_weight=copies)


def log_left_out(y: Array, trials: Array | None, link: str) -> float | Array:
    """Return what `likelihood_of_trials` leaves out: where rows are copies, how many orders."""
    if trials is None or link == "logit":
        return 0.0
    return log_binomial(y, trials - y + 1.0)


def check_classes(y: NDArray) -> None:
    """Raise a ValueError for targets that are no labels; warn where they hardly are.

    It takes the place of scikit-learn's warning, which some of its versions have.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels of single trials.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        check_classification_targets(y)
    n_classes = len(np.unique(y))
    if len(y) <= _FEW_ROWS or n_classes <= round(_MOST_CLASSES * len(y)):
        return
    is_number = y.dtype.kind in "iuf"
    advice = "check that y are labels"
    if is_number and y.min() >= 0 and (y == np.floor(y)).all():
        advice = (
            "if y are numbers of successes, pass the numbers of trials, fit(X, y, trials=...); if "
            "they are counts of events, use MCMCCoxProcessRegressor"
        )
    elif is_number:
        advice = "if y are measurements, use MCMCGaussianProcessRegressor"
    warn_user(
        f"y has {n_classes} different values in {len(y)} rows, and each of them is taken for a "
        f"class of its own: {advice}.",
        UserWarning,
    )
