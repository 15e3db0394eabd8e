"""Recognise the scikit-learn kernels that have a fast path.

The fast path covers one stationary kernel (RBF, or Matern with nu = 1/2, 3/2,
5/2, infinity; isotropic or ARD), times any constants, plus any number of white
noises and constants. Everything else goes through the kernel's own call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.gaussian_process import kernels as skk

from .._linalg import Array

#: nu -> the factor that the squared distances are tabulated with.
_DISTANCE_FACTOR = {0.5: 1.0, 1.5: 3.0, 2.5: 5.0, np.inf: -0.5}


@dataclass(frozen=True)
class Leaf:
    """One hyperparameter: a slice of theta, or a fixed value."""

    start: int
    values: tuple[float, ...]
    free: bool

    def natural(self, theta: Array) -> Array:
        """Return the values on the natural scale at theta."""
        if self.free:
            return np.exp(theta[self.start : self.start + len(self.values)])
        return np.array(self.values)


@dataclass
class StationaryForm:
    """A sum of one stationary term, white noises and constants.

    Attributes
    ----------
    nu : float
        Matern's nu; infinity for the squared exponential.
    length_scale : Leaf
        One value (isotropic) or one for every column (ARD).
    amplitude : list of Leaf
        Constants that multiply the stationary term.
    noise, offset : list of list of Leaf
        For each white noise, each constant: the factors of its product.
    """

    nu: float
    length_scale: Leaf
    amplitude: list[Leaf]
    noise: list[list[Leaf]] = field(default_factory=list)
    offset: list[list[Leaf]] = field(default_factory=list)

    @property
    def distance_factor(self) -> float:
        """Factor of the tabulated squared distances, so that none is applied later."""
        return _DISTANCE_FACTOR[self.nu]

    @property
    def rescales(self) -> bool:
        """Whether K is a constant times a correlation matrix."""
        return not self.noise and not self.offset


def product(leaves: Sequence[Leaf], theta: Array) -> float:
    """Return the product of scalar hyperparameters; infinity where it overflows."""
    value, logarithm = 1.0, 0.0
    for leaf in leaves:
        if leaf.free:
            logarithm += float(theta[leaf.start])
        else:
            value *= leaf.values[0]
    try:
        return value * math.exp(logarithm)
    except OverflowError:
        return math.inf


def set_free(leaves: Sequence[Leaf], value: float, vector: Array) -> None:
    """Set the elements of a vector along theta that belong to free hyperparameters."""
    for leaf in leaves:
        if leaf.free:
            vector[leaf.start] = value


def parse(kernel: skk.Kernel) -> StationaryForm | None:
    """Return the form of a kernel that has a fast path, else None."""
    terms = [_factors(term) for term in _flatten((kernel, 0), skk.Sum)]
    stationary = [t for t in terms if t is not None and _cores(t) and not _is_white(t)]
    if any(t is None for t in terms) or len(stationary) != 1:
        return None
    (nu, length_scale), amplitude = _cores(stationary[0])[0], _constants(stationary[0])
    form = StationaryForm(nu, length_scale, amplitude)
    for term in terms:
        if term is stationary[0] or term is None:
            continue
        (form.noise if _is_white(term) else form.offset).append([leaf for _, leaf in term])
    return form


def scale_leaves(kernel: skk.Kernel) -> list[Leaf]:
    """Return the free constants that multiply a kernel as a whole."""
    leaves = []
    for node in _flatten((kernel, 0), skk.Product):
        if type(node[0]) is skk.ConstantKernel and node[0].n_dims:
            leaves.append(Leaf(node[1], (float(node[0].constant_value),), free=True))
    return leaves


# A node is (kernel, offset of its first free hyperparameter in theta).
_Node = tuple[skk.Kernel, int]


def _children(node: _Node) -> list[_Node]:
    kernel, start = node
    return [(kernel.k1, start), (kernel.k2, start + kernel.k1.n_dims)]


def _flatten(node: _Node, operator: type) -> list[_Node]:
    if type(node[0]) is operator:
        return [leaf for child in _children(node) for leaf in _flatten(child, operator)]
    return [node]


def _factors(node: _Node) -> list[tuple[str | float, Leaf]] | None:
    """Return the factors of a product as (kind, leaf), or None if one is unknown.

    The kind is "constant", "white", or the nu of a stationary kernel.
    """
    factors = [_leaf(child) for child in _flatten(node, skk.Product)]
    known = [factor for factor in factors if factor is not None]
    n_cores = sum(kind != "constant" for kind, _ in known)
    return known if len(known) == len(factors) and n_cores <= 1 else None


def _leaf(node: _Node) -> tuple[str | float, Leaf] | None:
    kernel, start = node
    readers = {
        skk.ConstantKernel: lambda k: ("constant", k.constant_value),
        skk.WhiteKernel: lambda k: ("white", k.noise_level),
        skk.RBF: lambda k: (np.inf, k.length_scale),
        skk.Matern: lambda k: (float(k.nu), k.length_scale),
    }
    if type(kernel) not in readers:
        return None
    kind, value = readers[type(kernel)](kernel)
    if kind not in ("constant", "white") and kind not in _DISTANCE_FACTOR:
        return None
    values = tuple(float(v) for v in np.atleast_1d(value))
    return kind, Leaf(start, values, free=kernel.n_dims > 0)


def _cores(factors: list[tuple[str | float, Leaf]]) -> list[tuple[float, Leaf]]:
    return [(kind, leaf) for kind, leaf in factors if isinstance(kind, float)]


def _constants(factors: list[tuple[str | float, Leaf]]) -> list[Leaf]:
    return [leaf for kind, leaf in factors if kind == "constant"]


def _is_white(factors: list[tuple[str | float, Leaf]]) -> bool:
    return any(kind == "white" for kind, _ in factors)


@dataclass(frozen=True)
class NoiseSplit:
    """A kernel as the covariance of a latent function, plus independent noise.

    Attributes
    ----------
    latent : Kernel
        The kernel without the noise.
    noise : WhiteKernel or None
        None where the kernel has no white noise as an addend of its own.
    noise_name : str
        The kernel's name of the noise's hyperparameter.
    names : dict
        Name of each hyperparameter in `latent` -> its name in the kernel.
    """

    latent: skk.Kernel
    noise: skk.WhiteKernel | None
    noise_name: str
    names: dict[str, str]

    def name_of(self, path: str) -> str:
        """Return what a path in `latent` is called in the kernel; the empty one is all of it."""
        noise = tuple(self.noise_name.split("__")[:-1])
        return _name_before(path, noise) if noise else path


def split_white_noise(kernel: skk.Kernel) -> NoiseSplit:
    """Split the first white noise that is an addend off a kernel.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Of any kind; not modified.

    Returns
    -------
    split : NoiseSplit
        A kernel that is white noise and nothing else is left whole.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> split = split_white_noise(RBF(2.0) + WhiteKernel(0.1))
    >>> split.latent, split.noise_name, split.names
    (RBF(length_scale=2), 'k2__noise_level', {'length_scale': 'k1__length_scale'})
    """
    path = _find(kernel, ())
    if not path:
        names = {h.name: h.name for h in kernel.hyperparameters}
        return NoiseSplit(kernel, None, "", names)
    noise = kernel
    for step in path:
        noise = getattr(noise, step)
    latent = _remove(kernel, path)
    names = {h.name: _name_before(h.name, path) for h in latent.hyperparameters}
    return NoiseSplit(latent, noise, "__".join((*path, "noise_level")), names)


def _name_before(name: str, path: tuple[str, ...]) -> str:
    """Return the name that something in a kernel had before the addend at the path was removed."""
    steps, above = name.split("__") if name else [], len(path) - 1
    if tuple(steps[:above]) == path[:-1]:
        steps.insert(above, "k2" if path[-1] == "k1" else "k1")
    return "__".join(steps)


def _find(kernel: skk.Kernel, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path to the first white noise among the addends; empty if there is none."""
    if type(kernel) is skk.WhiteKernel:
        return path
    if type(kernel) is not skk.Sum:
        return ()
    return _find(kernel.k1, (*path, "k1")) or _find(kernel.k2, (*path, "k2"))


def _remove(kernel: skk.Kernel, path: tuple[str, ...]) -> skk.Kernel:
    """Return a sum without the addend at the end of the path."""
    step, rest = path[0], path[1:]
    other = kernel.k2 if step == "k1" else kernel.k1
    if not rest:
        return other
    inner = _remove(getattr(kernel, step), rest)
    return skk.Sum(inner, other) if step == "k1" else skk.Sum(other, inner)
