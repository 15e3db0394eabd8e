"""Whether the chains of an earlier fit can be continued."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from .._model._model import LatentGaussianModel
from .._running._checkpoint import differences
from ..trace import Trace

# Parameters that the draws do not depend on, or not on their values at the first fit. Priors
# are compared as they were resolved: distributions that are made anew are the same priors.
_MAY_CHANGE = {
    "checkpoint",
    "copy_X_train",
    "max_prediction_draws",
    "max_rhat",
    "max_seconds",
    "memory_limit",
    "min_ess",
    "n_draws",
    "n_jobs",
    "priors",
    "random_state",
    "verbose",
    "warm_start",
}

# Parameters on which neither the likelihood nor the priors depend.
_OF_THE_RUN = {"n_chains", "n_latent_updates", "n_warmup", "thin"}

_OBSERVATIONS = "y, sample_weight, trials, exposure or noise_variance"

# In place of the hash of a value that has none.
_IDENTITY = "identity:"


@dataclass(frozen=True)
class Continuation:
    """Fingerprints of all that the chains of a fit depend on, but the seed.

    Attributes
    ----------
    parameters, data, priors : dict
        What users know it as -> hash.
    """

    parameters: dict[str, str]
    data: dict[str, str]
    priors: dict[str, str]

    @classmethod
    def of(cls, estimator: Any, models: Sequence[Sequence[LatentGaussianModel]]) -> Continuation:
        """Describe a fit that is about to run."""
        values = estimator.get_params(deep=False)
        parameters = {n: _hash(v) for n, v in values.items() if n not in _MAY_CHANGE}
        likelihoods = [model.likelihood for group in models for model in group]
        data = {
            "X": _hash(models[0][0].X),
            _OBSERVATIONS: _hash(likelihoods),
        }
        priors = [
            (prior.name, prior.distribution.dist.name, prior.distribution.args,
             prior.distribution.kwds, prior.support)
            for prior in models[0][0].layout.priors
        ]  # fmt: skip
        return cls(parameters, data, {"priors": _hash(priors)})

    def depends(self, name: str) -> Set[str]:
        """Return what the fingerprint of a name depends on, beside what it is of."""
        if name in self.parameters or name == "X":
            return frozenset()
        of_the_model = self.parameters.keys() - _OF_THE_RUN
        return of_the_model if name == _OBSERVATIONS else of_the_model | self.data.keys()

    def portable(self) -> dict[str, str]:
        """Return all fingerprints, which mean the same in another process.

        Raises
        ------
        ValueError
            If a value cannot be pickled, and so has none.
        """
        prints = self._prints()
        unknown = [name for name, value in prints.items() if value.startswith(_IDENTITY)]
        if unknown:
            raise ValueError(
                f"checkpoint needs parameters that can be pickled, to tell whether they are the "
                f"same in another process; got others for {', '.join(unknown)}. Define functions "
                "and classes in a module, not as lambda or inside a function."
            )
        return prints

    def _prints(self) -> dict[str, str]:
        return self.parameters | self.data | self.priors

    def previous(self, estimator: Any) -> list[list[Trace]] | None:
        """Return the traces to be continued, None if there are none.

        Raises
        ------
        ValueError
            If anything differs, or fewer draws are asked for than there are.
        """
        old: Continuation | None = getattr(estimator, "_continuation", None)
        if old is None:
            return None
        prints = self._prints()
        depends = {name: self.depends(name) for name in prints}
        changed = differences(prints, old._prints(), depends)
        if changed:
            raise ValueError(
                "warm_start=True continues the chains of the last fit, but these differ from it: "
                f"{'; '.join(changed)}. Pass the same values, or set warm_start=False to "
                "start afresh."
            )
        traces: list[list[Trace]] = list(estimator._traces)
        first = traces[0][0]
        if first.n_chains < estimator.n_chains:
            raise ValueError(
                f"warm_start=True continues n_chains={estimator.n_chains} chains, but only "
                f"{first.n_chains} of the last fit are left: the others' processes died. Set "
                "warm_start=False to start afresh."
            )
        if estimator.n_draws < first.n_draws:
            raise ValueError(
                f"n_draws={estimator.n_draws} must be at least {first.n_draws}, the draws of the "
                "last fit, when warm_start=True."
            )
        return traces


def _hash(part: Any) -> str:
    """Return a hash of a value, or of its identity where it cannot be pickled."""
    try:
        # An array is the same whether it is in memory or mapped.
        return str(joblib.hash(_plain(part), coerce_mmap=True))
    except (PicklingError, AttributeError, TypeError):
        return f"{_IDENTITY}{id(part)}"


def _plain(value: Any) -> Any:
    """Return a value of which joblib's hash depends on the numbers alone.

    It has plain arrays in place of masked ones, which joblib cannot hash; nothing of them is
    masked: that was refused before. Kernels are cloned: where two parts share a tuple of bounds,
    the hash is another one than for two equal tuples, which a clone always has.
    """
    if isinstance(value, np.ma.MaskedArray):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):  # a kernel
        params = value.get_params().items()
        masked = {name: _plain(v) for name, v in params if isinstance(v, np.ma.MaskedArray)}
        return clone(value).set_params(**masked)
    return value
