"""What a fitted estimator is saved as: numbers, strings, arrays, and objects that users know.

Pickles, and files of skops, then hold none of the package's own classes but the estimators', no
functions, and no distributions, whose classes are private to scipy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import stats

from .._covariance import DenseStructure, GridStructure, NoiseSplit
from .._grid import Grid
from .._model._layout import ParameterLayout
from .._sampling._chain import ChainSnapshot
from .._sampling._latent_functions import GroupSnapshot
from ..diagnostics import SummaryTable
from ..likelihoods import LIKELIHOODS, Sites, SoftmaxClass
from ..likelihoods._gaussian import Sums
from ..priors import HyperPrior
from ..priors._families import Truncated
from ..representations._site_rules import FrozenSites
from ..trace import Costs, Trace
from ..updates import HamiltonianTuner, WidthAdapter
from ._prior_table import PriorTable
from ._training_rows import Observed
from ._warm_start import Continuation

# The entry of a dictionary that stands for an object: the name of its class.
_KIND = "skgpmcmc"
_DISTRIBUTION = "distribution"
_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *LIKELIHOODS.values(),
        ChainSnapshot,
        Continuation,
        Costs,
        DenseStructure,
        FrozenSites,
        Grid,
        GridStructure,
        GroupSnapshot,
        HamiltonianTuner,
        HyperPrior,
        NoiseSplit,
        Observed,
        ParameterLayout,
        PriorTable,
        Sites,
        SoftmaxClass,
        SummaryTable,
        Sums,
        Trace,
        Truncated,
        WidthAdapter,
    )
}
_FROZEN = type(stats.norm())

_Convert = Callable[[Any], Any]
_Change = Callable[[Any, _Convert], Any]


def to_plain(value: Any) -> Any:
    """Return a value with dictionaries in place of the package's objects, wherever they are.

    Arrays, kernels, and distributions that are not scipy's own are left as they are.
    """
    return _convert(value, _as_dictionary, {})


def from_plain(value: Any) -> Any:
    """Return what `to_plain` was given.

    Raises
    ------
    ValueError
        If the value names a class that cannot be restored.
    """
    return _convert(value, _as_object, {})


def with_structure(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a fitted estimator as this version has it.

    Version 0.1.0 had a grid, or None, in place of the structure of the covariance.
    """
    if "_grid" not in state:
        return state
    state = dict(state)
    grid = state.pop("_grid")
    return state | {"_structure": DenseStructure() if grid is None else GridStructure(grid)}


def _convert(value: Any, change: _Change, done: dict[int, tuple[Any, Any]]) -> Any:
    """Return what a value, or what is in it, is changed to; what is one object stays one."""
    if id(value) not in done:
        # With the value itself: a number of an object is not given twice while that exists.
        done[id(value)] = value, change(value, lambda part: _convert(part, change, done))
    return done[id(value)][1]


def _in_containers(value: Any, convert: _Convert) -> Any:
    """Convert the items of lists, tuples and dictionaries."""
    if type(value) not in (dict, list, tuple):
        return value
    items = list(value.values()) if isinstance(value, dict) else value
    converted = [convert(item) for item in items]
    if all(new is old for new, old in zip(converted, items, strict=True)):
        return value
    if isinstance(value, dict):
        return dict(zip(value, converted, strict=True))
    return type(value)(converted)


def _as_dictionary(value: Any, convert: _Convert) -> Any:
    name = type(value).__name__
    if _CLASSES.get(name) is type(value):
        return {_KIND: name, "fields": convert(_fields(value))}
    if type(value) is _FROZEN and _is_scipys_own(value.dist):
        fields = {"name": value.dist.name, "args": value.args, "kwds": value.kwds}
        return {_KIND: _DISTRIBUTION, "fields": fields}
    return _in_containers(value, convert)


def _fields(value: Any) -> Any:
    """Return what an object is made of."""
    if isinstance(value, dict):
        return {"items": dict(value), "attributes": vars(value)}
    fields = value._asdict() if hasattr(value, "_asdict") else value.__getstate__()
    return {} if fields is None else fields  # Python has None for an object without attributes


def _is_scipys_own(family: Any) -> bool:
    own: Any = getattr(stats, family.name, None)
    return type(own) is type(family) and (own.a, own.b) == (family.a, family.b)


def _as_object(value: Any, convert: _Convert) -> Any:
    if type(value) is not dict or _KIND not in value:
        return _in_containers(value, convert)
    name, fields = value[_KIND], convert(value["fields"])
    if name == _DISTRIBUTION:
        return _distribution(**fields)
    if name not in _CLASSES:
        raise ValueError(
            f"the state of the estimator has an object of the kind {name!r}, which this version of "
            "skgpmcmc does not have. Load it with the version that saved it."
        )
    cls = _CLASSES[name]
    if issubclass(cls, tuple):
        return cls(**fields)
    instance = cls.__new__(cls)
    if isinstance(instance, dict):
        dict.update(instance, fields["items"])  # also of tables that refuse changes
        fields = fields["attributes"]
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(fields)
    else:
        vars(instance).update(fields)
    return instance


def _distribution(name: str, args: tuple, kwds: dict[str, Any]) -> Any:
    family = getattr(stats, name, None)
    if not isinstance(family, stats.rv_continuous):
        raise ValueError(
            f"the state of the estimator has a distribution {name!r}, which scipy.stats does not "
            "have. Load it with the version of scipy that saved it."
        )
    return family(*args, **kwds)
