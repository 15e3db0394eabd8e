"""Likelihoods: how observations depend on latent values, one at a time.

Examples
--------
>>> from skgpmcmc.likelihoods import LIKELIHOODS
>>> sorted(LIKELIHOODS)
['bernoulli-logit', 'bernoulli-probit', 'gaussian', 'poisson', 'student-t']
"""

from ._augmented import GaussianGivenAuxiliaries
from ._base import Likelihood
from ._bernoulli import Bernoulli
from ._bernoulli_logit import BernoulliLogit
from ._bernoulli_probit import BernoulliProbit
from ._gaussian import Gaussian
from ._poisson import Poisson
from ._sites import Sites
from ._softmax import SoftmaxClass
from ._student_t import StudentT

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "bernoulli-logit": BernoulliLogit,
    "bernoulli-probit": BernoulliProbit,
    "gaussian": Gaussian,
    "poisson": Poisson,
    "student-t": StudentT,
}

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "BernoulliLogit",
    "BernoulliProbit",
    "Gaussian",
    "GaussianGivenAuxiliaries",
    "Likelihood",
    "Poisson",
    "Sites",
    "SoftmaxClass",
    "StudentT",
]
