"""Our estimators, and named variants of their defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.priors._data_scaled import FEATURE_FACTOR, ard_scale

from .catalogue import CLASSES, COUNTS, NUMBERS
from .forecasters import Forecaster, OurCounts, OurNumbers, Probabilities
from .kernels import BOUNDS, FIXED, SharedScaleKernel
from .methods import Method, Task

#: Short chains: as accurate on average as the long default, at a sixth of the price.
SHORT = {"n_chains": 4, "n_warmup": 100, "n_draws": 150, "max_prediction_draws": 600}
#: Half of these chains, to see which variants are worth more.
SEARCH = {**SHORT, "n_chains": 2}
SMOKE = {"n_chains": 2, "n_warmup": 10, "n_draws": 10}

_ALL = (CLASSES, NUMBERS, COUNTS)
_ESTIMATORS: dict[str, tuple[type, type]] = {
    CLASSES: (MCMCGaussianProcessClassifier, Probabilities),
    NUMBERS: (MCMCGaussianProcessRegressor, OurNumbers),
    COUNTS: (MCMCCoxProcessRegressor, OurCounts),
}


@dataclass(frozen=True)
class Variant:
    """What differs from the defaults.

    Attributes
    ----------
    options : callable
        Of a task: keyword arguments of the estimator, such as kernel and priors; None where
        the variant is the default.
    kinds : tuple of str
        Kinds of tables that it differs for.
    """

    options: Callable[[Task], dict[str, Any] | None] = lambda task: {}
    kinds: tuple[str, ...] = _ALL

    def method(self, chains: dict[str, int]) -> Method:
        """Return it as a method, with chains of these lengths."""
        return {kind: self._maker(kind, chains) for kind in self.kinds}

    def _maker(self, kind: str, chains: dict[str, int]) -> Callable[[Task], Forecaster | None]:
        estimator, wrapper = _ESTIMATORS[kind]

        def make(task: Task) -> Forecaster | None:
            options = self.options(task)
            if options is None:
                return None
            return wrapper(estimator(**{"random_state": task.seed, **chains, **options}))

        return make


def _several_columns(
    options: Callable[[Task], dict[str, Any]],
) -> Callable[[Task], dict[str, Any] | None]:
    """Return the same, but nothing for tables of a single column."""
    return lambda task: options(task) if task.X.shape[1] > 1 else None


def _several_classes(
    options: Callable[[Task], dict[str, Any]],
) -> Callable[[Task], dict[str, Any] | None]:
    """Return the same, but nothing for tables of two classes."""
    return lambda task: options(task) if len(np.unique(task.y)) > 2 else None


def with_kernel(
    task: Task, *, ard: bool = True, nu: float = math.inf, priors: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a kernel of the default's form, with default priors where no others are given.

    Parameters
    ----------
    task : Task
    ard : bool
        Whether each column has a length scale.
    nu : float
        Matern's; infinity for the squared exponential.
    priors : dict, optional
        "constant_value" or "length_scale" -> its prior.
    """
    n_columns = task.X.shape[1]
    scale = np.full(n_columns, math.sqrt(n_columns)) if ard else math.sqrt(n_columns)
    kernel: Kernel = ConstantKernel() * Matern(scale, nu=nu)
    names = {"constant_value": "k1__constant_value", "length_scale": "k2__length_scale"}
    before = ""
    if task.kind == NUMBERS:
        kernel, before = kernel + WhiteKernel(), "k1__"
    named = {before + names[name]: prior for name, prior in (priors or {}).items()}
    return {"kernel": kernel, "priors": named}


def _amplitude(median: float, sd: float) -> Callable[[Task], dict[str, Any]]:
    prior = {"constant_value": stats.lognorm(sd, scale=median)}
    return lambda task: with_kernel(task, priors=prior)


def _wide(task: Task) -> dict[str, Any]:
    """Return priors of length scales that grow with the root of the number of columns.

    Hvarfner, Hellsten and Nardi (2024), the lower tail cut off.
    """
    root = math.sqrt(task.X.shape[1])
    prior = stats.lognorm(math.sqrt(3.0), scale=math.exp(math.sqrt(2.0)) * root)
    options = with_kernel(task, priors={"length_scale": prior})
    kernel = options["kernel"]
    stationary = kernel.k1.k2 if task.kind == NUMBERS else kernel.k2
    stationary.length_scale_bounds = (0.1 * root, 1e6)
    return options


@dataclass(frozen=True)
class Shared:
    """Priors of a `SharedScaleKernel`; targets that are numbers are normalised.

    Attributes
    ----------
    linear : float
        Median of the linear part's variance at a typical row of normalised numbers, and of log
        rates, and an eighth of that of logits. Zero: no linear part.
    linear_sd : float
        Standard deviation of its logarithm.
    factor : float or None
        Median of the common scale in roots of the number of columns; None for that of the
        default's length scales.
    scale_sd : float
        Standard deviation of the common scale's logarithm; zero: it is its median.
    spread : float
        Standard deviation of the logarithm of a column's length scale, the common scale given.
    spread_sd : float
        Of its logarithm; zero: it is known.
    amplitude : tuple of float, optional
        Median and log-sd of the nonlinear part's variance, for classes.
    nu : float
        Of the nonlinear part.
    classes : dict
        Further options of the classifier.
    """

    linear: float = 0.0
    linear_sd: float = 2.0
    factor: float | None = None
    scale_sd: float = 0.0
    spread: float = 1.0
    spread_sd: float = 0.0
    amplitude: tuple[float, float] | None = None
    nu: float = math.inf
    classes: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, task: Task) -> dict[str, Any]:
        """Return kernel and priors."""
        n_columns = task.X.shape[1]
        scale, linear = self._scale(task.kind, n_columns), self._linear(task.kind, n_columns)
        priors = {
            "relative": stats.lognorm(1.0),
            "scale": stats.lognorm(self.scale_sd or 1.0, scale=scale),
            "spread": stats.lognorm(self.spread_sd or 1.0, scale=self.spread),
            "linear": stats.lognorm(self.linear_sd, scale=linear or 1.0),
        }
        if self.amplitude and task.kind == CLASSES:
            median, sd = self.amplitude
            priors["constant_value"] = stats.lognorm(sd, scale=median)
        kernel = SharedScaleKernel(
            relative=np.ones(n_columns),
            scale=scale,
            linear=linear,
            spread=self.spread,
            nu=self.nu,
            scale_bounds=BOUNDS if self.scale_sd else FIXED,
            linear_bounds=BOUNDS if self.linear else FIXED,
            spread_bounds=BOUNDS if self.spread_sd else FIXED,
        )
        free = {h.name for h in kernel.hyperparameters if not h.fixed}
        priors = {name: prior for name, prior in priors.items() if name in free}
        if task.kind == CLASSES:
            return {"kernel": kernel, "priors": priors, **self.classes}
        if task.kind == COUNTS:
            return {"kernel": kernel, "priors": priors}
        return {
            "kernel": kernel + WhiteKernel(),
            "priors": {f"k1__{name}": prior for name, prior in priors.items()},
            "normalize_y": True,
        }

    def _scale(self, kind: str, n_columns: int) -> float:
        if self.factor is not None:
            return self.factor * math.sqrt(n_columns)
        is_feature = kind != COUNTS and n_columns > 1
        return (FEATURE_FACTOR if is_feature else 1.0) * ard_scale(n_columns)

    def _linear(self, kind: str, n_columns: int) -> float:
        return self.linear * (8.0 if kind == CLASSES else 1.0) / n_columns


_CONSTANT = {"mean": "constant"}
_SOFTMAX = {"mean": "constant", "multi_class": "softmax"}


VARIANTS: dict[str, Variant] = {
    "ours": Variant(),
    # The same with other random numbers: how much of a difference is the chains' noise.
    "ours-again": Variant(lambda task: {"random_state": task.seed + 1000}),
    "ours-softmax": Variant(_several_classes(lambda task: {"multi_class": "softmax"}), (CLASSES,)),
    "ours-negative-binomial": Variant(lambda task: {"likelihood": "negative-binomial"}, (COUNTS,)),
    "ours-linear-spread-matern52-negative-binomial": Variant(
        lambda task: {
            **Shared(linear=0.5, factor=2.0, scale_sd=1.2, spread=0.7, spread_sd=0.8, nu=2.5)(task),
            "likelihood": "negative-binomial",
        },
        (COUNTS,),
    ),
    "ours-normalised": Variant(lambda task: {"normalize_y": True}, (NUMBERS,)),
    "ours-iso": Variant(_several_columns(lambda task: with_kernel(task, ard=False))),
    "ours-smooth": Variant(with_kernel, (NUMBERS, COUNTS)),
    "ours-matern52": Variant(lambda task: with_kernel(task, nu=2.5)),
    "ours-matern32": Variant(lambda task: with_kernel(task, nu=1.5)),
    "ours-wide": Variant(_wide),
    "ours-amplitude-8": Variant(_amplitude(8.0, 2.0), (CLASSES,)),
    "ours-amplitude-4": Variant(_amplitude(4.0, 1.5), (CLASSES,)),
    "ours-linear": Variant(Shared(linear=0.5)),
    "ours-linear-8": Variant(Shared(linear=0.5, amplitude=(8.0, 2.0)), (CLASSES,)),
    "ours-constant": Variant(lambda task: {"mean": "constant"}, (CLASSES,)),
    "ours-linear-constant-2": Variant(
        Shared(linear=0.5, amplitude=(2.0, 2.0), classes=_CONSTANT), (CLASSES,)
    ),
    "ours-linear-constant-2-matern52": Variant(
        Shared(linear=0.5, amplitude=(2.0, 2.0), nu=2.5, classes=_CONSTANT), (CLASSES,)
    ),
    "ours-linear-constant-2-spread": Variant(
        Shared(
            linear=0.5,
            factor=4.0,
            scale_sd=1.2,
            spread=0.7,
            spread_sd=0.8,
            amplitude=(2.0, 2.0),
            nu=2.5,
            classes=_CONSTANT,
        ),
        (CLASSES,),
    ),
    "ours-linear-constant-tails": Variant(
        Shared(linear=0.5, linear_sd=3.0, amplitude=(8.0, 3.0), classes=_CONSTANT), (CLASSES,)
    ),
    "ours-linear-softmax-2": Variant(
        _several_classes(Shared(linear=0.5, amplitude=(2.0, 2.0), classes=_SOFTMAX)), (CLASSES,)
    ),
    "ours-linear-softmax-tails": Variant(
        _several_classes(Shared(linear=0.5, linear_sd=3.0, amplitude=(2.0, 3.0), classes=_SOFTMAX)),
        (CLASSES,),
    ),
    "ours-linear-matern52": Variant(Shared(linear=0.5, nu=2.5)),
    "ours-shared": Variant(_several_columns(Shared(scale_sd=1.0))),
    "ours-spread": Variant(
        _several_columns(Shared(factor=2.0, scale_sd=1.2, spread=0.7, spread_sd=0.8))
    ),
    "ours-linear-spread-matern52": Variant(
        Shared(linear=0.5, factor=2.0, scale_sd=1.2, spread=0.7, spread_sd=0.8, nu=2.5)
    ),
    "ours-linear-spread": Variant(
        Shared(linear=0.5, factor=2.0, scale_sd=1.2, spread=0.7, spread_sd=0.8)
    ),
}


def our_methods(chains: dict[str, int]) -> dict[str, Method]:
    """Return name -> method."""
    return {name: variant.method(chains) for name, variant in VARIANTS.items()}
