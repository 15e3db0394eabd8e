"""Split independent noise off a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.gaussian_process import kernels as skk


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
    parent = "".join(f"{step}__" for step in path[:-1])
    sibling = parent + ("k2__" if path[-1] == "k1" else "k1__")
    names = {}
    for name in (h.name for h in latent.hyperparameters):
        inside = name.startswith(parent)
        names[name] = sibling + name[len(parent) :] if inside else name
    return NoiseSplit(latent, noise, "__".join((*path, "noise_level")), names)


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
