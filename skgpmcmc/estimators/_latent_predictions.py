"""Predictions of the latent function, which all estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._checks import check_whole
from .._linalg import Array
from .._prediction._averages import (
    latent_covariance,
    latent_mean,
    latent_moments,
    of_new_observations,
)
from .._prediction._dense import (
    PosteriorDraws,
    check_covariance_memory,
    evenly_spaced_draws,
    likelihood_params,
)
from .._prediction._registry import FEWEST_DRAWS, draws_within_budget, posterior_draws
from ..diagnostics._vehtari import mcse_of_means
from ..likelihoods import Likelihood
from ._base import BaseMCMCGaussianProcess
from ._monte_carlo import describe_mcse, spread_rows


class _Kept(NamedTuple):
    """What predictions of an estimator average over, and the draws and their number behind it."""

    traces: Any
    n_draws: int
    functions: list[PosteriorDraws]


# Beside the estimators, and not in them: predictions leave these as they are, and files small.
_KEPT: WeakKeyDictionary[LatentPredictions, _Kept] = WeakKeyDictionary()


class LatentPredictions(BaseMCMCGaussianProcess):
    """Predictions of the latent function, common to all estimators; not for direct use."""

    @property
    def _likelihood(self) -> Any:
        """The likelihood of the first latent function, as `fit` made it."""
        first: Likelihood = self._observed.groups[0][0]
        return first

    def _params(self) -> Array:
        """Return its parameters in each draw that predictions average over."""
        return likelihood_params(self._traces[0][0], self._n_prediction_draws())

    def _n_prediction_draws(self) -> int:
        """Return how many draws predictions average over, at most."""
        if self.max_prediction_draws is not None:
            check_whole("max_prediction_draws", self.max_prediction_draws, 1)  # set after fit
            return int(self.max_prediction_draws)
        first = self._traces[0][0]
        return min(first.n_chains * first.n_draws, max(FEWEST_DRAWS, self._n_affordable_draws()))

    def _n_affordable_draws(self) -> int:
        """Return over how many draws predictions take little time."""
        n_functions = sum(len(group) for group in self._traces)
        return draws_within_budget(self._structure, self.X_train_, n_functions)

    def _posterior_draws(self) -> list[PosteriorDraws]:
        """Return what predictions average over, for each latent function, in parallel.

        It is kept for the next prediction, with what was made of the draws.
        """
        n_draws = self._n_prediction_draws()
        kept = _KEPT.get(self)
        if kept is None or kept.traces is not self._traces or kept.n_draws != n_draws:
            kept = _Kept(self._traces, n_draws, self._all_posterior_draws())
            _KEPT[self] = kept
        for draws in kept.functions:
            draws.n_jobs = self.n_jobs
        return kept.functions

    def _all_posterior_draws(self) -> list[PosteriorDraws]:
        """Return what predictions average over, for each latent function."""
        given = self._structure, self._latent_kernel, self.X_train_
        return [
            posterior_draws(*given, trace, self._jitter, self._n_prediction_draws())
            for group in self._traces
            for trace in group
        ]

    def _predicted(
        self, method: Callable[..., Array], X: Any, *first: Array, **per_row: Array
    ) -> Array:
        """Return what a method of the likelihood says; see `of_new_observations`."""
        draws, params = self._posterior_draws()[0], self._params()
        return of_new_observations(method, draws, X, params, *first, **per_row)

    def _conditional_predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield some rows at a time, and what is predicted there given each draw.

        These have the shape (n_draws, n_rows, ...). Their means over the draws are the predictions,
        or deviate from their means as the predictions do. Here: of the latent functions.
        """
        for chunk in zip(*(f.mean_chunks(X) for f in self._posterior_draws()), strict=True):
            rows, means = zip(*chunk, strict=True)
            yield rows[0], joined(means)

    def _mcse_at(self, X: Any) -> Array:
        """Return the Monte Carlo standard errors of predictions at checked inputs."""
        trace = self._traces[0][0]
        which = evenly_spaced_draws(trace, self._n_prediction_draws())
        parts = []
        for _, values in self._conditional_predictions(X):
            flat = mcse_of_means(values.reshape(len(values), -1), which // trace.n_draws)
            parts.append(flat.reshape(values.shape[1:]))
        return np.concatenate(parts)

    def _note_on_predictions(self) -> str:
        """Return a line on the error at the training rows, where it takes little time."""
        if self._n_prediction_draws() > self._n_affordable_draws():
            return ""
        return describe_mcse(self._mcse_at(spread_rows(self.X_train_)))

    def predict_latent(
        self, X: Any, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the posterior mean of the latent function, averaged over the draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the posterior standard deviation too.
        return_cov : bool, default=False
            Whether to return the posterior covariance of all rows too.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_functions)
            Posterior mean. If there are several latent functions, there is a column for each.
        std : ndarray of the same shape
            Only if `return_std`. It is computed by the law of total variance over the draws.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_functions)
            Only if `return_cov`.

        Raises
        ------
        RuntimeError
            If both `return_std` and `return_cov` are asked for.
        ValueError
            If a covariance needs more memory than `memory_limit`.
        """
        check_one_uncertainty(return_std, return_cov)
        X = self._validate_new(X)
        functions = self._posterior_draws()
        if return_cov:
            check_covariance_memory(functions, X, self.memory_limit)
        if not (return_std or return_cov):
            return joined([latent_mean(draws, X) for draws in functions])
        moments = latent_covariance if return_cov else latent_moments
        means, uncertainties = zip(*(moments(draws, X) for draws in functions), strict=True)
        mean, uncertainty = joined(means), joined(uncertainties)
        return mean, np.sqrt(uncertainty) if return_std else uncertainty


def joined(parts: Sequence[Array]) -> Array:
    """Return the array of the only latent function, or those of several along a last axis."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


def check_one_uncertainty(return_std: bool, return_cov: bool) -> None:
    """Raise scikit-learn's error if both are asked for."""
    if return_std and return_cov:
        raise RuntimeError("At most one of return_std or return_cov can be requested.")
