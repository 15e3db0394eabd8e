"""The order of the parameters in theta."""

from __future__ import annotations

import numpy as np

from .._linalg import Array
from ..priors import HyperPrior


class ParameterLayout:
    """The position of each parameter in theta, and its prior.

    theta holds the logarithms of the kernel's free hyperparameters in
    scikit-learn's order, then the mean offset (natural scale) if it is sampled,
    then the logarithms of the likelihood's own parameters.

    Parameters
    ----------
    priors : list of HyperPrior
        One for each element of theta.
    sizes : dict
        Name of a hyperparameter -> its number of elements, in the order of theta.
    n_kernel : int
        How many belong to the kernel.
    samples_mean : bool
        Whether the element after them is the mean offset.
    fixed_mean : float
        The mean of the latent variables where it is not sampled.

    Attributes
    ----------
    first_likelihood : int
        How many are not the likelihood's own parameters, which come last.
    """

    def __init__(
        self,
        priors: list[HyperPrior],
        sizes: dict[str, int],
        n_kernel: int,
        samples_mean: bool,
        fixed_mean: float,
    ) -> None:
        self.priors = priors
        ends = np.cumsum(list(sizes.values())).tolist()
        self.groups = {
            name: slice(end - size, end)
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        self.names = [prior.name for prior in priors]
        self.n_kernel = n_kernel
        self.samples_mean = samples_mean
        self._fixed_mean = fixed_mean
        self.first_likelihood = n_kernel + samples_mean

    def __len__(self) -> int:
        return len(self.priors)

    def mean(self, theta: Array) -> float:
        """Return the prior mean of the latent variables."""
        return float(theta[self.n_kernel]) if self.samples_mean else self._fixed_mean

    def likelihood_params(self, theta: Array) -> tuple[float, ...]:
        """Return the likelihood's own parameters on their natural scale."""
        if self.first_likelihood == len(self.priors):
            return ()
        return tuple(np.exp(theta[self.first_likelihood :]).tolist())

    def log_prior(self, theta: Array) -> float:
        """Return log p(theta) on the sampling scale, including the Jacobian."""
        pairs = zip(self.priors, theta.tolist(), strict=True)
        return sum(prior.log_density(value) for prior, value in pairs)

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw theta from its prior."""
        return np.array([float(prior.sample(rng)) for prior in self.priors])

    def natural(self, theta: Array) -> Array:
        """Return theta, shape (..., n_parameters), on the natural scale."""
        columns = [prior.natural(theta[..., i]) for i, prior in enumerate(self.priors)]
        return np.stack(columns, axis=-1) if columns else np.empty_like(theta)
