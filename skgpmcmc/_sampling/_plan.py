"""Check once, before chains run, whether a model and its sampler settings go together."""

from __future__ import annotations

from .._model._model import LatentGaussianModel
from ..representations import representation_class, usable_structure
from ._settings import SamplerSettings


def plan(model: LatentGaussianModel, settings: SamplerSettings) -> LatentGaussianModel:
    """Return the model with a covariance structure that the representation can use.

    Chains do not repeat these checks.

    Parameters
    ----------
    model : LatentGaussianModel
        The target.
    settings : SamplerSettings
        How it is to be sampled.

    Raises
    ------
    MissingCapabilityError
        If the likelihood or the covariance lacks what the representation requires.
    ValueError
        For an unknown representation, and if trajectories need a gradient that there is not.
    """
    representation = settings.representation
    structure = usable_structure(representation, model.likelihood, model.structure)
    kind = representation_class(representation)
    always = kind.updates_latents_jointly
    needs_gradient = kind.has_gradient and (settings.hamiltonian or always)
    if needs_gradient and not structure.has_gradient(model.kernel, model.X[:2]):
        what = f"representation={representation!r}" if always else "hamiltonian=True"
        raise ValueError(
            f"{what} needs a kernel that returns its gradient with eval_gradient=True; "
            f"{model.kernel} does not. "
            + ("Use another representation." if always else "Set hamiltonian=False.")
        )
    return model.with_structure(structure)
