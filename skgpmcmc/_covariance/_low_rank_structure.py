"""The structure of a covariance through inducing points."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ._dense_structure import fast_form
from ._kernel_checks import has_gradient
from ._low_rank import LowRankCovariance
from ._low_rank_kernel import AnyCrossKernel, CrossKernel
from ._low_rank_stationary import StationaryCrossKernel
from ._structure import CovarianceStructure


class LowRankStructure(CovarianceStructure):
    """A prior in which rows depend on each other through the function's values at a few points.

    Given the values u of the latent function at m inducing points, those at all other inputs are
    independent, each with the kernel's own conditional distribution (FITC; Snelson and Ghahramani
    2006). Time is proportional to n m^2 and memory to n m. It approximates the kernel's
    prior, the better the more points there are, and is that prior where the points are the rows.

    Draws keep u, m numbers each, in place of the latent variables of all rows: predictions need
    nothing else. Given f it is Gaussian, and drawn from that whenever a draw is kept. Predictions
    take rows of the data as new inputs: what is their own, beside u, is unknown there.

    Parameters
    ----------
    points : array-like of shape (m, n_features)
        Inducing points; or a sequence of other inputs that the kernel takes. They stay as they
        are. `greedy_points` chooses some of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skgpmcmc import core
    >>> from skgpmcmc.likelihoods import Poisson
    >>> X = np.linspace(0.0, 9.0, 60)[:, np.newaxis]
    >>> model = core.LatentGaussianModel(
    ...     RBF(1.0), X, Poisson(np.arange(60) % 5),
    ...     priors={"length_scale": stats.lognorm(s=1.0)},
    ...     structure=core.LowRankStructure([[0.0], [3.0], [6.0], [9.0]]),
    ... )
    >>> settings = core.SamplerSettings("post-ep", n_warmup=20, n_draws=20)
    >>> trace = core.run_chains(model, settings, n_chains=2, random_state=0)
    >>> trace.latent.shape
    (2, 20, 4)
    >>> mean, std = core.predict_latent(model, trace, X)
    >>> mean.shape
    (60,)
    """

    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"any precisions", "marginal variances", "added noise", "posterior coordinates"}
    )

    keeps_latents: ClassVar[bool] = False

    def __init__(self, points: Any) -> None:
        self.points = points

    def check_inputs(self, X: Any) -> None:
        """Raise a ValueError unless the points are inputs like the rows of X."""
        is_table = isinstance(X, np.ndarray) and X.ndim == 2
        shape = np.shape(self.points) if is_table else (len(self.points),)
        wanted = f"shape (n_points, {X.shape[1]}), like X" if is_table else "inputs like X"
        fits = shape[1:] == X.shape[1:] if is_table else True
        if not (len(shape) > 0 and shape[0] > 0 and fits):
            raise ValueError(f"points must have {wanted}, and be at least one; got shape {shape}.")
        if is_table and not np.isfinite(np.asarray(self.points, dtype=np.float64)).all():
            raise ValueError("points must be finite.")

    def covariance(
        self, kernel: Kernel, X: Any, jitter: float, offset_variance: float, gradient: bool
    ) -> LowRankCovariance:
        """Return the covariance of one chain; see `CovarianceStructure.covariance`."""
        cross = self.cross_kernel(kernel, X, rescales=not offset_variance)
        return LowRankCovariance(cross, jitter, offset_variance)

    def cross_kernel(self, kernel: Kernel, X: Any, rescales: bool = True) -> CrossKernel:
        """Return a kernel between rows and the points, in the fastest way that there is."""
        form, points = fast_form(kernel, X), self.points
        if isinstance(X, np.ndarray):
            points = np.asarray(points, dtype=X.dtype)
        if form is None:
            return AnyCrossKernel(kernel, X, points, rescales)
        return StationaryCrossKernel(form, np.asarray(X, dtype=np.float64), points, rescales)

    def kept_inputs(self, X: Any) -> Any:
        """Return the points: draws keep the latent function there."""
        return self.points

    def conditioned_on(self, X: Any) -> Any:
        """Return the points, at which draws know the latent function."""
        is_table = isinstance(X, np.ndarray) and X.ndim == 2
        return np.asarray(self.points, dtype=np.float64) if is_table else self.points

    def memory(self, kernel: Kernel, X: Any, gradient: bool) -> float:
        """Return the bytes that a chain needs beside its draws, at most about that many."""
        n, m = float(len(X)), float(len(self.points))
        return 16.0 * n * m + 4500.0 * n + 300.0 * m**2

    def has_gradient(self, kernel: Kernel, rows: Any) -> bool:
        """Return whether the kernel returns the gradient of its matrix."""
        return has_gradient(kernel, rows)

    def has_fast_gradient(self, kernel: Kernel, rows: Any) -> bool:
        """Return whether the gradient costs little more, for any number of columns."""
        return fast_form(kernel, rows) is not None
