"""Whether the chains of an earlier fit can be continued."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib

from .._chain import SamplerSettings
from .._model import LatentGaussianModel
from ..trace import Trace


@dataclass(frozen=True)
class Continuation:
    """Fingerprints of all that the chains of a fit depend on, and their length.

    Attributes
    ----------
    fingerprints : dict
        What users know it as -> hash.
    n_draws : int
        Draws that each chain kept.
    """

    fingerprints: dict[str, str]
    n_draws: int

    @classmethod
    def of(
        cls,
        estimator: Any,
        models: Sequence[Sequence[LatentGaussianModel]],
        settings: SamplerSettings,
    ) -> Continuation:
        """Describe a fit that is about to run."""
        priors = [
            (prior.name, prior.distribution.dist.name, prior.distribution.args,
             prior.distribution.kwds, prior.support)
            for prior in models[0][0].layout.priors
        ]  # fmt: skip
        parts = {
            "X": models[0][0].X,
            "y, sample_weight or exposure": [m.likelihood for group in models for m in group],
            "kernel": models[0][0].kernel,
            "priors": priors,
            "hyperparameter_update": settings.proposal,
            "the sampler's settings": (
                replace(settings, n_draws=0, proposal=None),
                estimator.n_chains,
            ),
        }
        return cls({name: _hash(part) for name, part in parts.items()}, settings.n_draws)

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
        changed = [n for n, h in self.fingerprints.items() if h != old.fingerprints[n]]
        if changed:
            raise ValueError(
                "warm_start=True continues the chains of the last fit, but these differ from it: "
                f"{'; '.join(changed)}. Set warm_start=False to start afresh."
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


def _hash(part: Any) -> str:
    """Return a hash of a value, or of its identity where it cannot be pickled."""
    try:
        return str(joblib.hash(part))
    except (pickle.PicklingError, AttributeError, TypeError):
        return str(id(part))
