"""Likelihoods: how observations depend on latent values, one at a time.

Examples
--------
>>> from skgpmcmc.likelihoods import LIKELIHOODS
>>> sorted(LIKELIHOODS)
['bernoulli-logit', 'bernoulli-probit', 'gaussian', 'poisson']
"""

from ._base import Likelihood
from ._bernoulli import Bernoulli, BernoulliLogit, BernoulliProbit
from ._gaussian import Gaussian
from ._poisson import Poisson
from ._sites import Sites
from ._softmax import SoftmaxClass

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "bernoulli-logit": BernoulliLogit,
    "bernoulli-probit": BernoulliProbit,
    "gaussian": Gaussian,
    "poisson": Poisson,
}

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "BernoulliLogit",
    "BernoulliProbit",
    "Gaussian",
    "Likelihood",
    "Poisson",
    "Sites",
    "SoftmaxClass",
]
