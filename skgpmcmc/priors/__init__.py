"""Hyperpriors: given on the natural scale, evaluated on the sampling scale.

A positive hyperparameter x is sampled as ``theta = log x``. Its prior is given as a frozen
`scipy.stats` distribution of x; the density of theta is that of x times the Jacobian
``dx / dtheta = x``. This is the factor p_h(theta) of Murray and Adams (2010), section 2.
"""

from ._hyperprior import HyperPrior
from ._names import element_names
from ._resolve import log_uniform_default, resolve_priors
from ._spec import HyperparameterSpec

__all__ = [
    "HyperPrior",
    "HyperparameterSpec",
    "element_names",
    "log_uniform_default",
    "resolve_priors",
]
