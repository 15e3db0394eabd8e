"""One prior for each scalar hyperparameter, from the argument `priors` and the defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ._hyperprior import HyperPrior
from ._names import Given, given_priors
from ._spec import HyperparameterSpec


def log_uniform_default(spec: HyperparameterSpec, index: int) -> Any:
    """Log-uniform prior over the bounds of one element of a hyperparameter.

    Parameters
    ----------
    spec : HyperparameterSpec
    index : int
        Index of the element.

    Returns
    -------
    frozen scipy.stats.loguniform

    Raises
    ------
    ValueError
        If the element has no bounds, as those of a likelihood have none, or they are not positive
        and finite.

    Examples
    --------
    >>> import numpy as np
    >>> spec = HyperparameterSpec("noise_level", 1, True, np.array([[0.1, 10.0]]))
    >>> round(float(log_uniform_default(spec, 0).median()), 12)
    1.0
    """
    if spec.bounds is None:
        example = "lognorm(1.0)" if spec.log_scale else "norm(0.0, 1.0)"
        raise ValueError(
            f"Hyperparameter {spec.element_name(index)!r} needs a prior: there is none by default. "
            f"Give one, for instance priors={{{spec.name!r}: scipy.stats.{example}}}."
        )
    limits = np.asarray(spec.bounds[index], dtype=float)
    if not 0.0 < limits[0] < limits[1] < math.inf:
        raise ValueError(
            f"Hyperparameter {spec.element_name(index)!r} has the bounds {limits.tolist()}: "
            "its default, a log-uniform prior, needs finite bounds with 0 < lower < upper. Set "
            "them, or give this hyperparameter a prior."
        )
    return stats.loguniform(float(limits[0]), float(limits[1]))


def resolve_priors(
    hyperparameters: Iterable[HyperparameterSpec],
    priors: Mapping[str, Any] | None,
    defaults: Callable[[HyperparameterSpec, int], Any],
    unset_bounds: tuple[float, float] | None = None,
    feature_names: Sequence[str] | None = None,
) -> list[HyperPrior]:
    """One prior per scalar element of the hyperparameters, in order.

    Parameters
    ----------
    hyperparameters : iterable of HyperparameterSpec
    priors : mapping from name to frozen distribution, or None
        Priors on the natural scale. For a vector-valued hyperparameter, one distribution for
        all its elements, or a sequence with one for each. An element may have an entry of its
        own, which goes before that of the vector: by its number, as in ``"length_scale[2]"``, or
        by the name of its column, as in ``"length_scale[age]"``.
    defaults : callable
        ``defaults(spec, index)`` gives the distribution where `priors` has no entry.
    unset_bounds : (float, float), optional
        Bounds that nobody has chosen: priors are not cut to them.
    feature_names : sequence of str, optional
        Names of the columns of X: names of elements of vectors that have one for each column.

    Returns
    -------
    list of HyperPrior

    Raises
    ------
    TypeError, ValueError
        If `priors` is no mapping, names an unknown hyperparameter or element, gives an element
        twice or a sequence of the wrong length, or holds something that `HyperPrior` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> spec = HyperparameterSpec("length_scale", 2, True, np.array([[0.1, 10.0]] * 2))
    >>> priors = resolve_priors([spec], {"length_scale": stats.lognorm(1.0)}, log_uniform_default)
    >>> [prior.name for prior in priors]
    ['length_scale[0]', 'length_scale[1]']
    """
    specs = list(hyperparameters)
    if priors is not None and not isinstance(priors, Mapping):
        raise TypeError(
            "priors must be None or a mapping from hyperparameter name to frozen scipy.stats "
            f"distribution, got {type(priors).__name__}."
        )
    columns = None if feature_names is None else [str(name) for name in feature_names]
    given = given_priors(priors or {}, specs, columns)
    resolved = []
    for spec in specs:
        for index in range(spec.size):
            bounds = _bounds_of(spec, index, unset_bounds)
            entry = given.get((spec.name, index)) or _default(spec, index, defaults, bounds)
            prior = HyperPrior(
                entry.distribution,
                log_scale=spec.log_scale,
                bounds=bounds,
                name=entry.name,
                origin=entry.origin,
            )
            # Only messages about what the user gave have the user's name for it.
            prior.name = spec.element_name(index)
            resolved.append(prior)
    return resolved


def _default(
    spec: HyperparameterSpec,
    index: int,
    defaults: Callable[[HyperparameterSpec, int], Any],
    bounds: NDArray[np.float64] | None,
) -> Given:
    """Return the default prior of an element; one that fills the bounds was made from them."""
    distribution = defaults(spec, index)
    fills = bounds is not None and tuple(distribution.support()) == tuple(bounds)
    origin = "from bounds" if fills else "default"
    return Given(distribution, spec.element_name(index), origin)


def _bounds_of(
    spec: HyperparameterSpec, index: int, unset: tuple[float, float] | None
) -> NDArray[np.float64] | None:
    if spec.bounds is None or tuple(spec.bounds[index]) == unset:
        return None
    return spec.bounds[index]
