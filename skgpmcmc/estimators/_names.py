"""Names that people read, of the scalars that hyperparameters consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._linalg import Array
from ..priors import element_names as names_of
from ..trace import OTHER_QUANTITIES


def element_names(
    posterior: Mapping[str, Array], feature_names: Sequence[str] | None = None
) -> list[str]:
    """Return a name for each scalar of the hyperparameters of one latent function.

    Parameters
    ----------
    posterior : mapping of str to ndarray
        Name of a hyperparameter -> draws of shape (n_chains, n_draws), or (n_chains, n_draws,
        size), as `Trace.posterior` returns them. (The `posterior_` of an estimator with several
        latent functions has one more axis: see `quantity_names`.)
    feature_names : sequence of str, optional
        Names of the columns of X, if they have some.

    Returns
    -------
    names : list of str
        In the order of `diagnostics_`. The elements of a vector have the feature's name in
        brackets where there are as many as features, of different names, and otherwise their
        number.

    Examples
    --------
    >>> import numpy as np
    >>> posterior = {"k1__constant_value": np.ones((4, 9)), "k2__length_scale": np.ones((4, 9, 2))}
    >>> element_names(posterior, ["age", "petal width"])
    ['k1__constant_value', 'k2__length_scale[age]', 'k2__length_scale[petal width]']
    >>> element_names(posterior)
    ['k1__constant_value', 'k2__length_scale[0]', 'k2__length_scale[1]']
    """
    return [
        element
        for name, draws in posterior.items()
        for element in names_of(name, 1 if draws.ndim == 2 else draws.shape[2], feature_names)
    ]


def quantity_names(estimator: Any, feature_names: Sequence[str] | None = None) -> list[str]:
    """Return a readable name for each key of a fitted estimator's `diagnostics_`, in its order.

    Parameters
    ----------
    estimator : fitted estimator
        With one latent function or several: their names begin with the class.
    feature_names : sequence of str, optional
        Names of the columns; by default those that `fit` has seen, if X had names.

    Returns
    -------
    names : list of str
        Of length ``len(estimator.diagnostics_)``; the last ones of each latent function are
        ``"latent[worst]"`` and ``"complete_data_log_likelihood"``.
    """
    features = feature_names
    if features is None:
        features = getattr(estimator, "feature_names_in_", None)
    traces = estimator.trace_
    if not isinstance(traces, list):
        return _names_of(traces, features)
    labels = estimator.classes_.tolist()
    return [
        f"{label}: {name}"
        for label, trace in zip(labels, traces, strict=True)
        for name in _names_of(trace, features)
    ]


def _names_of(trace: Any, features: Sequence[str] | None) -> list[str]:
    return [*element_names(trace.posterior(), features), *OTHER_QUANTITIES]
