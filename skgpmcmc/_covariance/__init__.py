"""Covariances of latent variables: from scikit-learn kernels to factors."""

from __future__ import annotations

from ._base import (
    AnyPseudoPosterior,
    Covariance,
    Factor,
    PosteriorCoordinates,
    PseudoPosteriorWithVariances,
)
from ._cross import AverageCovariance, CentredCovariance, CrossCovariance, CrossCovariances
from ._dense import DenseCovariance, KernelCovariance
from ._dense_structure import DenseStructure, make_covariance
from ._derivatives import DerivativeCovariance, check_differentiable
from ._factor import CholeskyFactor, PseudoPosterior, PseudoPosteriorFactory
from ._grid import GridCovariance, GridStructure, separable_form
from ._grid_factor import GridFactor, GridPseudoPosterior, GridPseudoPosteriorFactory
from ._inducing_points import Certificate, certificate, greedy_points, variance_left
from ._kernel_call import covariances, variances
from ._kernel_checks import (
    check_hyperparameters,
    check_kernel,
    check_kernel_call,
    describe_fault,
    has_gradient,
)
from ._kernel_form import NoiseSplit, split_white_noise
from ._low_rank import LowRankCovariance, project_on_points, root_of_points
from ._low_rank_factor import LowRankFactor, LowRankPseudoPosterior
from ._low_rank_gradient import POINT_JITTER
from ._low_rank_structure import LowRankStructure
from ._memory import grid_memory, working_memory
from ._stationary import StationaryCovariance
from ._structure import CovarianceStructure
from ._summands import Summand, summands_of

__all__ = [
    "POINT_JITTER",
    "AnyPseudoPosterior",
    "AverageCovariance",
    "CentredCovariance",
    "Certificate",
    "CholeskyFactor",
    "Covariance",
    "CovarianceStructure",
    "CrossCovariance",
    "CrossCovariances",
    "DenseCovariance",
    "DenseStructure",
    "DerivativeCovariance",
    "Factor",
    "GridCovariance",
    "GridFactor",
    "GridPseudoPosterior",
    "GridPseudoPosteriorFactory",
    "GridStructure",
    "KernelCovariance",
    "LowRankCovariance",
    "LowRankFactor",
    "LowRankPseudoPosterior",
    "LowRankStructure",
    "NoiseSplit",
    "PosteriorCoordinates",
    "PseudoPosterior",
    "PseudoPosteriorFactory",
    "PseudoPosteriorWithVariances",
    "StationaryCovariance",
    "Summand",
    "certificate",
    "check_differentiable",
    "check_hyperparameters",
    "check_kernel",
    "check_kernel_call",
    "covariances",
    "describe_fault",
    "greedy_points",
    "grid_memory",
    "has_gradient",
    "make_covariance",
    "project_on_points",
    "root_of_points",
    "separable_form",
    "split_white_noise",
    "summands_of",
    "variance_left",
    "variances",
    "working_memory",
]
