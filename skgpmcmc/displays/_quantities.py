"""The scalars that chains were run for: draws, names, priors and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._linalg import Array
from ..estimators._convergence import badness
from ..estimators._reports import quantity_names
from ..priors import HyperPrior
from ..trace import OTHER_QUANTITIES, Trace
from ._checks import Fitted
from ._text import some_of


@dataclass(frozen=True, eq=False)
class Quantity:
    """Draws of one scalar.

    Attributes
    ----------
    name : str
        Readable.
    other_names : frozenset of str
        What else it may be asked for by: its key in `diagnostics_`, its hyperparameter.
    draws : ndarray of shape (n_chains, n_draws)
        On the natural scale.
    prior : HyperPrior or None
        None for what is no hyperparameter.
    diagnostics : dict
        Its row of `diagnostics_`.
    """

    name: str
    other_names: frozenset[str]
    draws: Array
    prior: HyperPrior | None
    diagnostics: dict[str, float]

    @property
    def log_scale(self) -> bool:
        """Whether it is positive and was sampled as its logarithm."""
        return self.prior is not None and self.prior.log_scale


def quantities_of(fitted: Fitted, feature_names: Sequence[str] | None) -> list[Quantity]:
    """Return all scalars of a fitted estimator, in the order of `diagnostics_`."""
    estimator = fitted.estimator
    traces, classes = fitted.functions()
    labels = [""] if classes is None else [f"{label}: " for label in classes]
    names = iter(_names(fitted, feature_names))
    rows = iter(estimator.diagnostics_.items())
    quantities = []
    for label, trace in zip(labels, traces, strict=True):
        for group, draws, prior in _scalars(trace):
            key, diagnostics = next(rows)
            others = frozenset({key, key.removeprefix(label), group, f"{label}{group}"})
            quantities.append(Quantity(next(names), others, draws, prior, diagnostics))
    return quantities


def _names(fitted: Fitted, feature_names: Sequence[str] | None) -> list[str]:
    known = feature_names is not None or fitted.before is not None
    return quantity_names(fitted.estimator, fitted.columns(feature_names) if known else None)


def _scalars(trace: Trace) -> list[tuple[str, Array, HyperPrior | None]]:
    """Return hyperparameter, draws and prior of each scalar of one latent function."""
    natural = trace.layout.natural(trace.theta)
    scalars: list[tuple[str, Array, HyperPrior | None]] = [
        (group, natural[..., i], trace.layout.priors[i])
        for group, where in trace.layout.groups.items()
        for i in range(where.start, where.stop)
    ]
    quantities = trace.quantities()
    return [*scalars, *((name, quantities[name], None) for name in OTHER_QUANTITIES)]


def choose(quantities: list[Quantity], wanted: Any) -> list[Quantity]:
    """Return the quantities that somebody named, in the order of the names.

    Parameters
    ----------
    quantities : list of Quantity
        All there are.
    wanted : str, sequence of str or None
        A name, a key of `diagnostics_`, or a hyperparameter, which stands for all its elements.

    Raises
    ------
    ValueError
        For a name that nothing has.
    """
    if wanted is None:
        return quantities
    chosen: list[Quantity] = []
    for name in _as_names(wanted):
        is_name = isinstance(name, str)
        found = [q for q in quantities if is_name and name in {q.name, *q.other_names}]
        if not found:
            known = some_of([q.name for q in quantities])
            raise ValueError(f"quantities has {name!r}, which is none of {known}.")
        chosen += [q for q in found if q not in chosen]
    return chosen


def _as_names(wanted: Any) -> list[Any]:
    if isinstance(wanted, str):
        return [wanted]
    try:
        names = list(wanted)
    except TypeError:
        raise ValueError(
            f"quantities must be a name, or a list of names; got {wanted!r}. The names are the "
            "keys of diagnostics_."
        ) from None
    if not names:
        raise ValueError(
            f"quantities must name one or more; got {wanted!r}. Leave it out for the default."
        )
    return names


def worst(quantities: list[Quantity], n_most: int) -> tuple[list[Quantity], str]:
    """Return those that converged least, in their order, and a note on the others."""
    by_badness = sorted(quantities, key=lambda q: badness(q.diagnostics), reverse=True)
    kept, left_out = by_badness[:n_most], by_badness[n_most:]
    if not left_out:
        return quantities, ""
    rhat = max(q.diagnostics["rhat"] for q in left_out)
    ess = min(q.diagnostics["ess_bulk"] for q in left_out)
    note = (
        f"The {len(kept)} of {len(quantities)} quantities with the worst R-hat and ESS; of the "
        f"others R-hat is at most {rhat:.3f}, bulk ESS at least {ess:.0f}."
    )
    return [q for q in quantities if q in kept], note


def first(quantities: list[Quantity], n_most: int) -> tuple[list[Quantity], str]:
    """Return the first ones, and a note on the others."""
    kept = quantities[:n_most]
    n_left = len(quantities) - len(kept)
    note = f"{n_left} of {len(quantities)} left out; choose by quantities=." if n_left else ""
    return kept, note


def pooled(draws: Array) -> Array:
    """Return the draws of all chains in one row."""
    return np.asarray(draws).reshape(-1)
