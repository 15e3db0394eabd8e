"""Our estimators, and named variants of their defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

from .catalogue import CLASSES, COUNTS, NUMBERS
from .forecasters import Forecaster, OurCounts, OurNumbers, Probabilities
from .methods import Method, Task

#: Short chains: as accurate on average as the long default, at a sixth of the price.
SHORT = {"n_chains": 4, "n_warmup": 100, "n_draws": 150, "max_prediction_draws": 600}
SMOKE = {"n_chains": 2, "n_warmup": 10, "n_draws": 10}

_ESTIMATORS: dict[str, tuple[type, type]] = {
    CLASSES: (MCMCGaussianProcessClassifier, Probabilities),
    NUMBERS: (MCMCGaussianProcessRegressor, OurNumbers),
    COUNTS: (MCMCCoxProcessRegressor, OurCounts),
}


@dataclass(frozen=True)
class Variant:
    """What differs from the defaults.

    Attributes
    ----------
    options : callable, optional
        Of a task: keyword arguments of the estimator, such as kernel and priors.
    kinds : tuple of str
        Kinds of tables that it differs for.
    """

    options: Callable[[Task], dict[str, Any]] | None = None
    kinds: tuple[str, ...] = field(default=(CLASSES, NUMBERS, COUNTS))

    def method(self, chains: dict[str, int]) -> Method:
        """Return it as a method, with chains of these lengths."""
        return {kind: self._maker(kind, chains) for kind in self.kinds}

    def _maker(self, kind: str, chains: dict[str, int]) -> Callable[[Task], Forecaster]:
        estimator, wrapper = _ESTIMATORS[kind]

        def make(task: Task) -> Forecaster:
            options = {} if self.options is None else self.options(task)
            return wrapper(estimator(random_state=task.seed, **{**chains, **options}))

        return make


VARIANTS: dict[str, Variant] = {
    "ours": Variant(),
    "ours-softmax": Variant(lambda task: {"multi_class": "softmax"}, (CLASSES,)),
}


def our_methods(chains: dict[str, int]) -> dict[str, Method]:
    """Return name -> method."""
    return {name: variant.method(chains) for name, variant in VARIANTS.items()}
