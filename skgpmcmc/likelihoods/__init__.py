"""Likelihoods: how observations depend on latent values, one at a time.

Examples
--------
>>> from skgpmcmc.likelihoods import LIKELIHOODS
>>> print(*sorted(LIKELIHOODS))
bernoulli-logit bernoulli-probit binomial gaussian negative-binomial poisson student-t
"""

from ._augmentation import GaussianGivenAuxiliaries
from ._base import Likelihood
from ._bernoulli import Bernoulli
from ._bernoulli_logit import BernoulliLogit
from ._bernoulli_probit import BernoulliProbit
from ._binomial import Binomial
from ._gaussian import Gaussian
from ._negative_binomial import NegativeBinomial
from ._poisson import Poisson
from ._sites import Sites
from ._softmax import SoftmaxClass
from ._student_t import StudentT

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "bernoulli-logit": BernoulliLogit,
    "bernoulli-probit": BernoulliProbit,
    "binomial": Binomial,
    "gaussian": Gaussian,
    "negative-binomial": NegativeBinomial,
    "poisson": Poisson,
    "student-t": StudentT,
}

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "BernoulliLogit",
    "BernoulliProbit",
    "Binomial",
    "Gaussian",
    "GaussianGivenAuxiliaries",
    "Likelihood",
    "NegativeBinomial",
    "Poisson",
    "Sites",
    "SoftmaxClass",
    "StudentT",
]
