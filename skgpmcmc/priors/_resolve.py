"""From what the user states about priors to one prior per scalar hyperparameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ._hyperprior import HyperPrior


@dataclass(frozen=True, eq=False)
class HyperparameterSpec:
    """What a prior needs to know of one, possibly vector-valued, hyperparameter.

    Attributes
    ----------
    name : str
    size : int
        Number of its elements.
    log_scale : bool
        Whether its elements are positive and sampled as logarithms.
    bounds : ndarray of shape (size, 2) or None
        Lower and upper bounds on the natural scale.
    """

    name: str
    size: int
    log_scale: bool
    bounds: NDArray[np.float64] | None

    def element_name(self, index: int) -> str:
        """Name of one element: the plain name if there is only one."""
        return self.name if self.size == 1 else f"{self.name}[{index}]"


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
) -> list[HyperPrior]:
    """One prior per scalar element of the hyperparameters, in order.

    Parameters
    ----------
    hyperparameters : iterable of HyperparameterSpec
    priors : mapping from name to frozen distribution, or None
        Priors on the natural scale. For a vector-valued hyperparameter, one distribution for
        all its elements, or a sequence with one for each.
    defaults : callable
        ``defaults(spec, index)`` gives the distribution where `priors` has no entry.
    unset_bounds : (float, float), optional
        Bounds that nobody has chosen: priors are not cut to them.

    Returns
    -------
    list of HyperPrior

    Raises
    ------
    TypeError, ValueError
        If `priors` is no mapping, names an unknown hyperparameter, gives a sequence of the
        wrong length, or holds something that `HyperPrior` refuses.

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
    given = priors or {}
    _check_names(given, [spec.name for spec in specs])
    return [
        HyperPrior(
            distribution,
            log_scale=spec.log_scale,
            bounds=_bounds_of(spec, index, unset_bounds),
            name=spec.element_name(index),
        )
        for spec in specs
        for index, distribution in enumerate(_distributions_of(spec, given, defaults))
    ]


def _bounds_of(
    spec: HyperparameterSpec, index: int, unset: tuple[float, float] | None
) -> NDArray[np.float64] | None:
    if spec.bounds is None or tuple(spec.bounds[index]) == unset:
        return None
    return spec.bounds[index]


def _check_names(given: Mapping[str, Any], valid: list[str]) -> None:
    unknown = [name for name in given if name not in valid]
    if unknown:
        close = get_close_matches(str(unknown[0]), valid, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"priors has entries for unknown hyperparameters {unknown}.{hint} "
            f"Valid names are {valid}."
        )


def _distributions_of(
    spec: HyperparameterSpec,
    given: Mapping[str, Any],
    defaults: Callable[[HyperparameterSpec, int], Any],
) -> Sequence[Any]:
    if spec.name not in given:
        return [defaults(spec, index) for index in range(spec.size)]
    entry = given[spec.name]
    if not isinstance(entry, (list, tuple, np.ndarray)) or np.shape(entry) == ():
        return [entry] * spec.size
    if len(entry) != spec.size:
        raise ValueError(
            f"priors[{spec.name!r}] has {len(entry)} distributions, but the hyperparameter has "
            f"{spec.size} element(s). Give one distribution for all, or one for each."
        )
    return list(entry)
