"""Kernels of the fast path, and inputs for them."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Matern,
    WhiteKernel,
)

ARD = [0.7, 1.3, 2.0]


def inputs(n, n_columns=3):
    return np.random.default_rng(n).standard_normal((n, n_columns))


FIXED = "fixed"


FAST_KERNELS = {
    "rbf": RBF(0.8),
    "rbf-ard": RBF(ARD),
    "rbf-one-element": RBF([0.8]),
    "constant-rbf": 2.0 * RBF(0.8),
    "constant-rbf-ard": ConstantKernel(2.0) * RBF(ARD),
    "rbf-ard-constant": RBF(ARD) * ConstantKernel(2.0),
    "constants": ConstantKernel(2.0) * RBF(ARD) * ConstantKernel(0.3) * ConstantKernel(5.0),
    "constants-nested": ConstantKernel(2.0) * (ConstantKernel(0.3) * Matern(ARD, nu=0.5)),
    "fixed-constant": ConstantKernel(3.0, FIXED) * RBF(ARD),
    "fixed-length-scale": RBF(ARD, FIXED) * ConstantKernel(3.0),
    "fixed-first-free-last": ConstantKernel(3.0, FIXED) * ConstantKernel(0.5) * Matern(0.9, nu=1.5),
    "all-fixed": ConstantKernel(3.0, FIXED) * RBF(0.6, FIXED),
    "matern-0.5": 1.5 * Matern(0.8, nu=0.5),
    "matern-0.5-ard": 1.5 * Matern(ARD, nu=0.5),
    "matern-1.5": Matern(0.8, nu=1.5) * ConstantKernel(1.5),
    "matern-1.5-ard": 1.5 * Matern(ARD, nu=1.5),
    "matern-2.5": Matern(0.8, nu=2.5),
    "matern-2.5-ard": 1.5 * Matern(ARD, nu=2.5),
    "matern-inf-ard": 1.5 * Matern(ARD, nu=np.inf),
    "white": 1.5 * RBF(ARD) + WhiteKernel(0.2),
    "white-first": WhiteKernel(0.2) + 1.5 * Matern(ARD, nu=2.5),
    "white-fixed": WhiteKernel(0.2, FIXED) + RBF(0.8),
    "constant-added": 1.5 * RBF(ARD) + ConstantKernel(0.7),
    "constant-first": ConstantKernel(0.7) + RBF(ARD, FIXED) * ConstantKernel(1.5),
    "constant-white": ConstantKernel(0.4) * WhiteKernel(0.2) + RBF(0.8),
    "constants-added": 2.0 * RBF(0.8) + ConstantKernel(0.7) * ConstantKernel(0.5, FIXED),
    "everything": (
        WhiteKernel(0.3)
        + ConstantKernel(0.4)
        + (ConstantKernel(1.7) * Matern(ARD, nu=1.5) * ConstantKernel(0.9, FIXED))
        + (WhiteKernel(0.1) * ConstantKernel(0.6) + ConstantKernel(0.2, FIXED))
    ),
}
