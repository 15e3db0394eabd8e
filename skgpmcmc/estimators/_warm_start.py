"""Whether the chains of an earlier fit can be continued."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib

from .._model import LatentGaussianModel
from ..trace import Trace

# Parameters that the draws do not depend on, or not on their values at the first fit. Priors
# are compared as they were resolved: distributions that are made anew are the same priors.
_MAY_CHANGE = {
    "copy_X_train",
    "max_prediction_draws",
    "memory_limit",
    "n_draws",
    "n_jobs",
    "priors",
    "random_state",
    "verbose",
    "warm_start",
}


@dataclass(frozen=True)
class Continuation:
    """Fingerprints of all that the chains of a fit depend on, and their length.

    Attributes
    ----------
    parameters, data, priors : dict
        What users know it as -> hash. Each depends on those before it.
    n_draws : int
        Draws that each chain kept.
    """

    parameters: dict[str, str]
    data: dict[str, str]
    priors: dict[str, str]
    n_draws: int

    @classmethod
    def of(
        cls, estimator: Any, models: Sequence[Sequence[LatentGaussianModel]], n_draws: int
    ) -> Continuation:
        """Describe a fit that is about to run."""
        values = estimator.get_params(deep=False)
        parameters = {n: _hash(v) for n, v in values.items() if n not in _MAY_CHANGE}
        likelihoods = [model.likelihood for group in models for model in group]
        data = {
            "X": _hash(models[0][0].X),
            "y, sample_weight, trials or exposure": _hash(likelihoods),
        }
        priors = [
            (prior.name, prior.distribution.dist.name, prior.distribution.args,
             prior.distribution.kwds, prior.support)
            for prior in models[0][0].layout.priors
        ]  # fmt: skip
        return cls(parameters, data, {"priors": _hash(priors)}, n_draws)

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
        changed = (
            _differences(self.parameters, old.parameters)
            or _differences(self.data, old.data)
            or _differences(self.priors, old.priors)
        )
        if changed:
            raise ValueError(
                "warm_start=True continues the chains of the last fit, but these differ from it: "
                f"{'; '.join(changed)}. Pass the same, or set warm_start=False to start afresh."
            )
        if self.n_draws < old.n_draws:
            raise ValueError(
                f"n_draws={self.n_draws} must be at least {old.n_draws}, the draws of the last "
                "fit, when warm_start=True."
            )
        if self.n_draws == old.n_draws:
            warnings.warn(
                "warm_start=True without a larger n_draws adds no draws.", UserWarning, stacklevel=7
            )
        return list(estimator._traces)


def _differences(new: dict[str, str], old: dict[str, str]) -> list[str]:
    return [name for name, value in new.items() if value != old[name]]


def _hash(part: Any) -> str:
    """Return a hash of a value, or of its identity where it cannot be pickled."""
    try:
        return str(joblib.hash(part))
    except (pickle.PicklingError, AttributeError, TypeError):
        return str(id(part))
