"""What all estimators share: validation, sampling, diagnostics."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from .._chain import SamplerSettings
from .._covariance import check_kernel
from .._model import LatentGaussianModel
from .._sampler import run_chains
from ..likelihoods import Likelihood
from ._defaults import DataScaledPriors, default_kernel
from ._prediction import PosteriorDraws

# Beyond these a quantity is reported as not converged (Vehtari et al. 2021 ask for
# R-hat below 1.01 and 400 effective draws for publication; a warning at every fit
# that is good enough for predictions would be ignored).
_MAX_RHAT = 1.05
_MIN_ESS = 100.0


class BaseMCMCGaussianProcess(BaseEstimator):
    """Base class of the estimators; not for direct use."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [None, Kernel],
        "mean": [StrOptions({"zero", "constant"})],
        "representation": [str, Real],
        "hyperparameter_update": [StrOptions({"slice"}), callable],
        "n_latent_updates": [Interval(Integral, 1, None, closed="left")],
        "priors": [dict, None],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 4, None, closed="left")],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "max_prediction_draws": [Interval(Integral, 1, None, closed="left")],
        "copy_X_train": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _validate_inputs(self, X: Any, *, reset: bool, **options: Any) -> Any:
        """Check X, and y where given, as the kernel takes them."""
        vectors = self.kernel is None or self.kernel.requires_vector_input
        if vectors:
            return validate_data(self, X, dtype=np.float64, reset=reset, **options)
        X = as_objects(X)
        # NaN is undefined for objects.
        finite = not np.issubdtype(getattr(X, "dtype", np.float64), np.object_)
        options = {"ensure_2d": False, "dtype": None, "ensure_all_finite": finite, **options}
        return validate_data(self, X, reset=reset, **options)

    def _sample(self, likelihood: Likelihood, X: Any, signal_variance: float) -> None:
        """Run the chains, and set the fitted attributes that all estimators have."""
        kernel = default_kernel(X) if self.kernel is None else self.kernel
        check_kernel(kernel, X)
        model = LatentGaussianModel(
            kernel,
            X,
            likelihood,
            priors=self.priors,
            defaults=DataScaledPriors(
                kernel, X, signal_variance, bounds_are_set=self.kernel is not None
            ),
            mean=self.mean,
        )
        trace = run_chains(
            model,
            self._settings(),
            n_chains=self.n_chains,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.trace_ = trace
        self.posterior_ = trace.posterior()
        self.diagnostics_ = trace.summary()
        self.n_iter_ = self.n_warmup + self.n_draws * self.thin
        theta = np.array([np.median(column) for column in np.moveaxis(trace.theta, -1, 0)])
        self.kernel_ = kernel.clone_with_theta(theta[: model.layout.n_kernel])
        self._jitter = model.jitter
        self._warn_if_not_converged()

    def _settings(self) -> SamplerSettings:
        update = self.hyperparameter_update
        if isinstance(update, type):
            raise ValueError(
                "hyperparameter_update must be 'slice' or a proposal that can be called with theta "
                f"and a generator; got the class {update.__name__}. Give an instance of it."
            )
        return SamplerSettings(
            representation="surr-site" if self.representation == "auto" else self.representation,
            proposal=None if update == "slice" else update,
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            thin=self.thin,
            n_latent_updates=self.n_latent_updates,
        )

    def _posterior_draws(self, X_latent: Any) -> PosteriorDraws:
        return PosteriorDraws.from_trace(
            self.kernel_, X_latent, self.trace_, self._jitter, self.max_prediction_draws
        )

    def _warn_if_not_converged(self) -> None:
        """Warn once, naming the worst quantity and what to do."""
        worst = _worst_quantity(self.diagnostics_)
        if worst is None:
            return
        name, row = worst
        message = (
            f"The chains have not converged: the worst quantity is {name!r} with R-hat "
            f"{row['rhat']:.3f} (should be below {_MAX_RHAT}) and {row['ess_bulk']:.0f} effective "
            f"draws (should be above {_MIN_ESS:.0f}). Raise n_draws (now {self.n_draws}) and "
            f"n_warmup (now {self.n_warmup}), or state narrower priors. The table of all "
            "quantities is in diagnostics_."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)


def _worst_quantity(
    diagnostics: dict[str, dict[str, float]],
) -> tuple[str, dict[str, float]] | None:
    """Return the quantity whose R-hat or ESS is furthest beyond its limit, if any is."""

    def badness(row: dict[str, float]) -> float:
        ratios = (row["rhat"] - 1.0) / (_MAX_RHAT - 1.0), _MIN_ESS / max(row["ess_bulk"], 1e-300)
        # NaN: a quantity that never moved, or too few draws to tell.
        return max(math.inf if math.isnan(ratio) else ratio for ratio in ratios)

    name = max(diagnostics, key=lambda n: badness(diagnostics[n]))
    return (name, diagnostics[name]) if badness(diagnostics[name]) > 1.0 else None


def as_objects(X: Any) -> Any:
    """Return a list of objects of unequal lengths as an array of objects; all else as it is."""
    if not isinstance(X, list | tuple):
        return X
    try:
        np.asarray(X)
    except ValueError:  # ragged
        objects = np.empty(len(X), dtype=object)
        objects[:] = X
        return objects
    return X


def share_latents(X: Any, *, vectors: bool) -> tuple[Any, NDArray[np.intp] | None]:
    """Return the distinct rows of X and, for each row, the one it equals.

    Exactly repeated rows share one latent variable: the covariance stays positive
    definite, and the cost falls.
    """
    if not vectors:
        return X, None
    distinct, inverse = np.unique(X, axis=0, return_inverse=True)
    if len(distinct) == len(X):
        return X, None
    return distinct, inverse.reshape(-1)
