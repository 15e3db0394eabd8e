"""Small problems that the tests of the sampler share.

A new likelihood or representation is one line in the lists here.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._covariance import DenseStructure, GridStructure, LowRankStructure
from skgpmcmc._grid import Grid
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
    Sites,
)
from skgpmcmc.likelihoods import StudentT as StudentTNoise
from skgpmcmc.representations import build_representation, usable_structure

X_SMALL = np.array([[0.0, 0.3], [0.7, 0.1], [1.5, 1.2], [2.1, 0.4]])
#: The first two observations share a latent variable.
REPEATED = np.array([0, 0, 1, 2, 3])


class StudentT(Likelihood):
    """A user's likelihood: everything but the density comes from the defaults."""

    def pointwise(self, latent, params=()):
        # stats.t.logpdf(self.y - latent, 4), which is ten times slower.
        return math.log(0.375) - 2.5 * np.log1p(0.25 * (self.y - latent) ** 2)

    def sample(self, latent, params, rng):
        return latent + rng.standard_t(4, size=latent.shape)


@dataclass(frozen=True)
class Case:
    """A likelihood on four latent variables, and which representations it has."""

    make: Callable[[], Likelihood]
    taylor: bool = True
    gaussian: bool = False
    augmented: bool = False

    def supports(self, representation) -> bool:
        """Whether the combination exists."""
        if representation == "marginal":
            return self.gaussian
        if representation == "collapsed":
            return self.augmented
        return self.taylor or not str(representation).endswith("taylor")


_SIGNS = np.array([1.0, -1.0, 1.0, 1.0])

LIKELIHOODS = {
    "logit": Case(lambda: BernoulliLogit(_SIGNS), taylor=False, augmented=True),
    "logit-repeated": Case(
        lambda: BernoulliLogit(np.array([1.0, -1.0, 1.0, 1.0, -1.0]), latent_index=REPEATED),
        taylor=False,
        augmented=True,
    ),
    "probit": Case(lambda: BernoulliProbit(_SIGNS), taylor=False, augmented=True),
    "gaussian-fixed": Case(
        lambda: Gaussian(np.array([0.5, -0.2, 1.0, 0.3]), noise_variance=0.3), gaussian=True
    ),
    "gaussian-noise": Case(lambda: Gaussian(np.array([0.5, -0.2, 1.0, 0.3])), gaussian=True),
    "gaussian-known": Case(
        lambda: Gaussian(np.array([0.5, -0.2, 1.0, 0.3]), known_variance=[0.0, 0.4, 0.1, 1.0]),
        gaussian=True,
    ),
    "poisson": Case(
        lambda: Poisson(np.array([0.0, 3.0, 1.0, 0.0]), exposure=np.array([1.0, 2.0, 0.5, 1.0]))
    ),
    "binomial": Case(
        lambda: Binomial(
            np.array([0.0, 2.0, 7.0, 1.0, 1.0]),
            np.array([1.0, 3.0, 9.0, 1.0, 3.0]),
            latent_index=REPEATED,
        ),
        augmented=True,
    ),
    "negative-binomial": Case(
        lambda: NegativeBinomial(
            np.array([0.0, 3.0, 1.0, 0.0]), exposure=np.array([1.0, 2.0, 0.5, 1.0])
        ),
        augmented=True,
    ),
    "student-t": Case(lambda: StudentT(np.array([0.5, -0.2, 1.0, 0.3]))),
    "student-t-noise": Case(
        lambda: StudentTNoise(np.array([0.5, -0.2, 1.0, 0.3]), degrees_of_freedom=None),
        augmented=True,
    ),
}

#: A number is the variance of constant surrogate noise.
REPRESENTATIONS = [
    "fixed",
    "prior-white",
    "surr-site",
    "surr-taylor",
    "post-site",
    "post-taylor",
    "marginal",
    "collapsed",
    "surr-ep",
    "post-ep",
    "joint-post",
    "joint-ep",
    0.5,
]

#: Trajectories of latent variables need a covariance on a grid, or one with inducing points.
JOINT = ["joint-post", "joint-ep"]
REPRESENTATIONS_OF_DENSE = [name for name in REPRESENTATIONS if name not in JOINT]

COMBINATIONS = [
    (name, representation)
    for name, case in LIKELIHOODS.items()
    for representation in REPRESENTATIONS
    if case.supports(representation)
]

#: Narrow enough that the joint distribution has no absurd draws, wide enough that
#: a wrong density ratio shows.
PRIORS = {
    "k1__constant_value": stats.lognorm(s=0.7, scale=1.0),
    "k2__length_scale": stats.lognorm(s=0.8, scale=1.0),
    "mean": stats.norm(0.3, 0.7),
    "noise_level": stats.lognorm(s=0.7, scale=0.3),
    "degrees_of_freedom": stats.lognorm(s=0.7, scale=3.0),
    "dispersion": stats.lognorm(s=0.7, scale=0.5),
}


#: Four points, for representations that need a covariance on a grid.
GRID = Grid((np.array([0.0, 1.0]), np.array([0.0, 0.7])))
#: Inducing points: fewer than the rows of `X_SMALL`, and one of them a row.
POINTS = np.array([X_SMALL[1], [1.6, 0.6]])
#: Of one precision, as the warm-up finds them.
SITES_ON_GRID = Sites(np.full(4, 4.0), np.array([2.0, -1.0, 4.0, 0.5]))


def make_model(likelihood: Likelihood, kernel=None, priors=None, X=X_SMALL, **options):
    """Return a model on the small inputs, with a constant mean by default."""
    kernel = ConstantKernel(1.0) * RBF(1.0) if kernel is None else kernel
    options = {"mean": "constant", **options}
    wanted = {h.name for h in kernel.hyperparameters if not h.fixed} | set(likelihood.parameters)
    if options["mean"] == "constant":
        wanted.add("mean")
    chosen = {n: p for n, p in (priors or PRIORS).items() if n in wanted}
    return LatentGaussianModel(kernel, X, likelihood, priors=chosen, **options)


def make_model_for(representation, likelihood: Likelihood, kernel=None, priors=None, **options):
    """Return a model of which the representation can be used."""
    if representation == "joint-post":
        options = {"X": GRID.points(), "structure": GridStructure(GRID), **options}
    if representation == "joint-ep":
        options = {"structure": LowRankStructure(POINTS), **options}
    return make_model(likelihood, kernel, priors, **options)


def check_representation(representation, likelihood: Likelihood, structure=None) -> None:
    """Raise an error if a representation cannot be used, by default with a dense covariance."""
    usable_structure(representation, likelihood, structure or DenseStructure())


def make_representation(representation, workspace):
    """Return a representation for one chain, after the check that a plan of chains makes."""
    check_representation(representation, workspace.likelihood, workspace.structure)
    return build_representation(representation, workspace)


def frozen_for(representation, model: LatentGaussianModel):
    """Return what a chain's warm-up might freeze, which does not depend on the chain's state."""
    if representation == "joint-post":
        return SITES_ON_GRID
    workspace = model.workspace()
    theta = np.linspace(-0.3, 0.4, len(model.layout))
    state = workspace.state_at(theta, np.linspace(-1.0, 1.0, model.n_latent))
    held = make_representation(representation, workspace)
    assert held.prepare(state)
    return None if held.adaptation is None else held.adaptation.frozen


def with_targets(model: LatentGaussianModel, y) -> LatentGaussianModel:
    """Return the same model of other data."""
    other = copy.copy(model)
    other.likelihood = model.likelihood.with_targets(y)
    return other
