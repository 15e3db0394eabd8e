"""The posteriors of the paper's experiments, in numbers that every package can read."""

from __future__ import annotations

from skgpmcmc.likelihoods import BernoulliLogit, Gaussian, Poisson

from ..paper.problems import PROBLEMS
from .exchange import Lengths, Problem

_LIKELIHOODS = {BernoulliLogit: "logit", Gaussian: "gaussian", Poisson: "poisson"}

#: Of a run of a peer. One chain for each seed: four would take hours.
PEER_LENGTHS = {
    "ionosphere": Lengths(500, 1000, 1),
    "synthetic": Lengths(500, 1000, 1),
    "mining": Lengths(1000, 2000, 1),
    "redwoods": Lengths(150, 250, 1),
}


def load_problem(name: str) -> Problem:
    """Return one of the paper's problems; the model in `benchmarks.paper` is what defines it."""
    model = PROBLEMS[name].make_model()
    kernel, priors = model.kernel.get_params(), model.layout.priors
    likelihood = _LIKELIHOODS[type(model.likelihood)]
    prior = priors[-1].distribution if priors[-1].name == "mean" else None
    return Problem(
        name=name,
        X=model.X,
        y=model.likelihood.y,
        likelihood=likelihood,
        variance=kernel["k1__constant_value_bounds"],
        length_scale=kernel["k2__length_scale_bounds"],
        jitter=model.jitter,
        noise_variance=(
            float(model.likelihood.noise_variance) if likelihood == "gaussian" else None
        ),
        mean=None if prior is None else (float(prior.mean()), float(prior.std())),
    )
