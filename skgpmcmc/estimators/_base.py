"""What all estimators share: parameters, checks of inputs, sampling."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_container, check_rows_of_numbers, refuse_masked, refuse_text
from .._covariance import CovarianceStructure, DenseStructure, check_hyperparameters, check_kernel
from .._covariance._memory import check_memory
from .._model._model import LatentGaussianModel
from .._running._checkpoint import checkpoint_directory, needed_seed
from .._running._stopping import StoppingRule, convergence
from .._sampling._settings import SamplerSettings
from ..diagnostics._summary import judged_by
from ..likelihoods import Likelihood
from ..priors._data_scaled import SKLEARN_BOUNDS
from ..representations import REPRESENTATIONS
from ..trace import Trace
from ._auto import (
    PREFERRED_FOR_NUMBERS,
    Target,
    auto_representation,
    follows_trajectories,
    n_approximate,
    other_moves,
    update_in_use,
    without_moves,
)
from ._convergence import Run, limits_of_fit, warn_once
from ._fit_name import name_of_fit
from ._inducing import choose, judge, wanted_points
from ._inputs import as_objects, check_inducing_points, explain_inputs
from ._pickling import as_this_version, from_plain, to_plain
from ._prior_table import PriorTable
from ._reports import Reports, quantity_names
from ._run import CallbackSupportMixin, fit_chains, with_callbacks
from ._searches import interrupts_end_searches

_DENSE = DenseStructure()


def keeps_fitted(fit: Callable) -> Callable:
    """Decorate `fit`: if it raises, the estimator stays as it was, and its callbacks end.

    In a search Ctrl-C raises, too.
    """
    fit_with_callbacks = with_callbacks(fit)

    @functools.wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            with interrupts_end_searches():
                return fit_with_callbacks(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return wrapper


class BaseMCMCGaussianProcess(Reports, CallbackSupportMixin, BaseEstimator):
    """Base class of the estimators; not for direct use."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [None, Kernel],
        "mean": [StrOptions({"zero", "constant"})],
        "representation": [StrOptions({"auto", *REPRESENTATIONS}), Real],
        "hyperparameter_update": [StrOptions({"auto", "slice", "hmc"}), callable],
        "n_inducing": [
            None,
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            "array-like",
        ],
        "n_latent_updates": [Interval(Integral, 1, None, closed="left")],
        "priors": [dict, None],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 4, None, closed="left")],
        "min_ess": [None, Interval(Real, 0, None, closed="neither")],
        "max_rhat": [None, Interval(Real, 1, None, closed="neither")],
        "max_seconds": [None, Interval(Real, 0, None, closed="neither")],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "max_prediction_draws": [None, Interval(Integral, 1, None, closed="left")],
        "memory_limit": [None, Interval(Real, 0, None, closed="neither")],
        "copy_X_train": ["boolean"],
        "warm_start": ["boolean"],
        "checkpoint": [str, PathLike, None],
        "n_jobs": [
            None,
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # Of estimators that do not have these parameters.
    min_ess: float | None = None
    max_rhat: float | None = None
    max_seconds: float | None = None
    n_inducing: Any = None

    # What several latent functions stand for, in `to_arviz`; see `_function_labels`.
    _function_dimension: ClassVar[str] = "function"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self._takes_vectors()
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled, made of arrays and of what users know; see `_state`."""
        state: dict[str, Any] = to_plain(super().__getstate__())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(as_this_version(from_plain(state)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; see scikit-learn.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the parameters of parameters too, such as those of the kernel.

        Returns
        -------
        params : dict
            Name of a parameter -> value. If `priors` is the `priors_` of a fit, it is returned as a
            plain dictionary, because the text of an estimator has no room for a table.
        """
        params: dict[str, Any] = super().get_params(deep)
        if isinstance(self.priors, dict) and type(self.priors) is not dict:
            params["priors"] = dict(self.priors)
        return params

    def _takes_vectors(self) -> bool:
        return self.kernel is None or self.kernel.requires_vector_input

    def _validate_params(self) -> None:
        """Check the parameters, also for what scikit-learn's constraints cannot say."""
        check_container("n_inducing", self.n_inducing)
        super()._validate_params()
        if self._takes_vectors():
            check_inducing_points(self.n_inducing)
        for name, constraints in self._parameter_constraints.items():
            value = getattr(self, name)
            takes_numbers = any(c is Real or isinstance(c, Interval) for c in constraints)
            if isinstance(value, bool) and takes_numbers:
                raise ValueError(f"{name} must be a number, not a bool; got {value!r}.")
        if self.kernel is not None:
            for name, value in self.kernel.get_params().items():
                refuse_masked(f"{name} of the kernel", value)
            check_hyperparameters(self.kernel)
        not_sampled = self._not_sampled()
        for name in self.priors or {}:
            reason = not_sampled.get(str(name).partition("[")[0])
            if reason is not None:
                raise ValueError(
                    f"priors has an entry for {name!r}, which is not sampled: {reason}."
                )

    def _not_sampled(self) -> dict[str, str]:
        """Return why hyperparameters have no prior, and what to do to sample them."""
        reasons = {
            h.name: "the kernel holds it 'fixed'. Give it bounds there, or drop the prior"
            for h in (self.kernel.hyperparameters if self.kernel is not None else ())
            if h.fixed
        }
        if self.mean == "zero":
            reasons["mean"] = "mean='zero'. Set mean='constant', or drop the prior"
        return reasons

    def _validate_training(self, X: Any, y: Any) -> tuple[Any, NDArray]:
        """Check what `fit` was given; y is an array of the estimator's own.

        Within the workers of a search y may be a memory map, whose file the search deletes.
        """
        X, y = self._validate_inputs(X, y=y, reset=True, copy=self.copy_X_train)
        return X, np.array(y)

    def _validate_inputs(self, X: Any, *, reset: bool, **options: Any) -> Any:
        """Check X, and y where given, as the kernel takes them."""
        refuse_text("X", X)
        if self._takes_vectors():
            check_rows_of_numbers("X", X)
            try:
                return validate_data(self, X, dtype=np.float64, reset=reset, **options)
            except (TypeError, ValueError) as error:
                raise explain_inputs(error, X) from None
        check_container("X", X)
        X = as_objects(X)
        refuse_masked("X", X)
        # NaN is undefined for objects.
        finite = not np.issubdtype(getattr(X, "dtype", np.float64), np.object_)
        options = {"ensure_2d": False, "dtype": None, "ensure_all_finite": finite, **options}
        return validate_data(self, X, reset=reset, **options)

    def _validate_new(self, X: Any) -> Any:
        """Check inputs to predict at."""
        check_is_fitted(self)
        return self._validate_inputs(X, reset=False)

    def _sample(
        self,
        kernel: Kernel,
        groups: Sequence[Sequence[Likelihood]],
        structure: CovarianceStructure | None = None,
        **model_options: Any,
    ) -> None:
        """Run the chains at X_train_, and set the fitted attributes that all estimators have.

        Parameters
        ----------
        kernel : Kernel
            Of the latent functions.
        groups : sequence of sequence of Likelihood
            Independent problems, each of one or several coupled latent functions.
        structure : CovarianceStructure, optional
            Of the covariance at X_train_; by default dense, or of inducing points.
        **model_options
            See `LatentGaussianModel`.
        """
        X = self.X_train_
        check_kernel(kernel, X)
        options = {
            "priors": self.priors,
            "mean": self.mean,
            "feature_names": getattr(self, "feature_names_in_", None),
            "unset_bounds": None if self.kernel is None else SKLEARN_BOUNDS,
            **model_options,
        }

        def models_with(
            structure: CovarianceStructure, rows: NDArray[np.intp] | None = None
        ) -> list[list[LatentGaussianModel]]:
            given = {"structure": structure, **options}
            if rows is None:
                return [[LatentGaussianModel(kernel, X, one, **given) for one in g] for g in groups]
            some = [[one.of_latents(rows) for one in group] for group in groups]
            return [[LatentGaussianModel(kernel, X[rows], one, **given) for one in g] for g in some]

        wanted = None if structure is not None else wanted_points(self.n_inducing, X)
        theta = None
        if wanted is not None:
            example = wanted.example(X)
            settings = self._settings(groups[0][0], kernel, example)
            self._check_memory(example, kernel, groups, settings)
            how = self.n_chains, self.n_jobs, int(self.verbose)
            structure, theta = choose(models_with, settings, wanted, *how)
        structure = structure or _DENSE
        settings = self._settings(groups[0][0], kernel, structure)
        self._check_memory(structure, kernel, groups, settings)
        models = models_with(structure)
        self._traces, self._stopped_by = fit_chains(self, models, settings, theta)
        self.representation_ = settings.representation
        every = [trace for group in self._traces for trace in group]
        self.hyperparameter_update_ = update_in_use(settings, every)
        self._latent_kernel, self._jitter = kernel, models[0][0].jitter
        self._structure = models[0][0].structure
        self._set_approximation(models)
        self._set_fitted(every)

    def _check_memory(
        self,
        structure: CovarianceStructure,
        kernel: Kernel,
        groups: Sequence[Sequence[Likelihood]],
        settings: SamplerSettings,
    ) -> None:
        """Raise an error before anything too large is allocated."""
        X, n_functions = self.X_train_, len(groups[0])
        n_running = min(effective_n_jobs(self.n_jobs), self.n_chains * len(groups))
        n_stored = self.n_chains * self.n_draws * len(groups) * n_functions
        working = n_running * n_functions * structure.memory(kernel, X, settings.hamiltonian)
        check_memory(len(X), working, n_stored * len(structure.kept_inputs(X)), self.memory_limit)

    def _set_approximation(self, models: list[list[LatentGaussianModel]]) -> None:
        """Set what is known of inducing points, if there are any, and warn if they are too few."""
        self.n_inducing_, self.inducing_points_, self.approximation_ = None, None, None
        if not self._structure.keeps_latents:
            self.inducing_points_ = self._structure.kept_inputs(self.X_train_)
            self.n_inducing_ = len(self.inducing_points_)
            self.approximation_ = judge(models, self._traces, np.ndim(self.n_inducing) > 0)

    def _function_labels(self) -> list[Any] | None:
        """Return what the latent functions are called, if there are several."""
        return None

    def _set_fitted(self, traces: list[Trace]) -> None:
        """Set posterior, diagnostics and kernel at its median, and warn once if need be."""
        rule = self._set_lengths(traces)
        labels = self._function_labels()
        if labels is None:
            self.trace_: Any = traces[0]
            self.posterior_ = traces[0].posterior()
            rows = dict(traces[0].summary(()))
        else:
            self.trace_ = traces
            posteriors = [trace.posterior() for trace in traces]
            names = posteriors[0]
            self.posterior_ = {n: np.stack([p[n] for p in posteriors], axis=2) for n in names}
            rows = {
                f"{label}: {name}": row
                for label, trace in zip(labels, traces, strict=True)
                for name, row in trace.summary(()).items()
            }
        self.diagnostics_ = judged_by(rows, limits_of_fit(self, rule))
        kernels = [self._median_kernel(trace) for trace in traces]
        self.kernel_ = kernels[0] if labels is None else CompoundKernel(kernels)
        layout = traces[0].layout
        groups = {name: layout.priors[where] for name, where in layout.groups.items()}
        self.priors_ = PriorTable.of(groups, getattr(self, "feature_names_in_", None))
        self._warn_of_chains(traces, rule)

    def _set_lengths(self, traces: list[Trace]) -> StoppingRule:
        """Set how long the chains were, and whether that was enough; return what is enough."""
        self.n_warmup_, self.n_draws_ = traces[0].n_warmup, traces[0].n_draws
        self.n_iter_ = self.n_warmup_ + self.n_draws_ * self.thin
        rule = StoppingRule(self.min_ess, self.max_rhat)
        self.converged_ = rule.is_met(convergence([traces]))
        return rule

    def _warn_of_chains(self, traces: list[Trace], rule: StoppingRule) -> None:
        """Warn once if the chains were stopped or have not converged."""
        warm_up = self.n_warmup_, bool(self.n_warmup_ >= self.n_warmup)
        moves = other_moves(self.representation_, self.hyperparameter_update_)
        fit = name_of_fit(self, len(self._observed.numbers), getattr(self, "n_features_in_", None))
        run = Run(traces[0].n_chains, self.n_draws_, *warm_up, moves, fit, rule)
        rows = dict(zip(quantity_names(self), self.diagnostics_.values(), strict=True))
        warn_once(rows, run, self._stopped(), self._advice() + without_moves(traces))

    def _stopped(self) -> str:
        """Say that somebody, or the clock, stopped the chains, and how they go on."""
        if not self._stopped_by:
            return ""
        how = "To go on from here, fit again with warm_start=True"
        if self.checkpoint is not None:
            directory = str(checkpoint_directory(self.checkpoint))
            how = f"To go on, call fit again: it goes on from checkpoint={directory!r}"
            how += needed_seed(self.random_state)
        reason = f" after max_seconds={self.max_seconds}" * (self._stopped_by == "time")
        return (
            f"fit was stopped{reason}: {self.n_draws_} of n_draws={self.n_draws} draws of each "
            f"chain are kept. {how}. "
        )

    def _advice(self) -> str:
        """Return what else may be wrong where the chains have not converged."""
        return ""

    def _median_kernel(self, trace: Trace) -> Kernel:
        """Return the latent function's kernel at the posterior median."""
        theta = np.median(trace.all_theta(), axis=0) if len(trace.layout) else np.empty(0)
        return self._latent_kernel.clone_with_theta(theta[: trace.layout.n_kernel])

    def _preferred_representations(
        self, kernel: Kernel, structure: CovarianceStructure
    ) -> tuple[str, ...]:
        """Return what "auto" stands for: the first that likelihood and covariance have."""
        return PREFERRED_FOR_NUMBERS

    def _settings(
        self, likelihood: Likelihood, kernel: Kernel, structure: CovarianceStructure
    ) -> SamplerSettings:
        update = self.hyperparameter_update
        if isinstance(update, type):
            raise ValueError(
                "hyperparameter_update must be 'auto', 'slice', 'hmc' or a proposal that can be "
                f"called with theta and a generator; got the class {update.__name__}. "
                "Give an instance of it."
            )
        target = Target(likelihood, structure, kernel, self.X_train_[:2])
        representation = self.representation
        if representation == "auto":
            names = self._preferred_representations(kernel, structure)
            representation = auto_representation(names, update, target)
        hamiltonian = follows_trajectories(update, representation, target)
        return SamplerSettings(
            representation=representation,
            proposal=None if isinstance(update, str) else update,
            hamiltonian=hamiltonian,
            n_warmup=self.n_warmup,
            n_draws=self.n_draws,
            thin=self.thin,
            n_approximate=n_approximate(self.n_warmup, representation, hamiltonian, structure),
            n_latent_updates=self.n_latent_updates,
            whitened_updates=True,
        )
