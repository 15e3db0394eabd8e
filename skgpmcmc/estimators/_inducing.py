"""Inducing points of a fit: when there are any, which, and how much they lose."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_array

from .._checks import refuse_masked
from .._covariance import (
    Certificate,
    CovarianceStructure,
    DenseStructure,
    LowRankStructure,
    certificate,
    greedy_points,
)
from .._linalg import Array
from .._messages import warn_user
from .._model._model import LatentGaussianModel, Workspace
from .._prediction._averages import latent_mean
from .._prediction._registry import posterior_draws
from .._running._chains import run_groups
from .._running._progress import terminal_progress
from .._sampling._settings import SamplerSettings
from ..likelihoods import Likelihood
from ..representations import laplace_log_evidence
from ..trace import Trace

#: Distinct rows up to which "auto" is exact.
LARGEST_EXACT = 400
# Numbers of points that "auto" tries, one after the other.
_NUMBERS = (50, 100, 200)
# Variance of the difference of log evidences beyond which more points are tried, and a warning is
# given: importance weights of that variance would be worth less than half of the draws.
_MOST_EVIDENCE_VARIANCE = 0.7
# Mean share of the latent function's variance that points may leave: what they leave is noise of
# its own at every row, which predictions know nothing about.
_MOST_VARIANCE_LEFT = 0.1
# Short runs that show where the hyperparameters are, and of how many rows: the first one begins
# far from them, and few rows are quick and leave the posterior wide.
_PILOT_ROWS = (1000, 2000)
_N_WARMUP, _N_DRAWS = 40, 20
_N_PILOT_CHAINS = 2
# Of iterations of a pilot run under the approximate posterior.
_N_APPROXIMATE = 15
_SEED = 20101206
# Points are chosen at this quantile of the length scales of a pilot run: points chosen at long
# ones make short ones look worse than they are.
_SHORT = 0.1
# The number of draws at which evidences are compared, and of those that a mean is over.
_N_COMPARED, _N_OF_MEANS = 8, 40
# Of draws of pilot runs, the logarithm of the ratio of probability densities to the largest that is
# too small for a start, beyond the number of hyperparameters: half of that is what to expect.
_LEAST_LOG_RATIO = 10.0
# The smallest precision of data that stand for the observations, relative to the largest.
_FLATTEST = 1e-3

Groups = list[list[LatentGaussianModel]]


class Wanted(NamedTuple):
    """What a user wants of inducing points.

    Attributes
    ----------
    points : array-like of length m or None
        Those that were given.
    number : int or None
        How many are to be chosen; None is as many as are needed, within limits.
    """

    points: Any
    number: int | None

    def example(self, X: Any) -> LowRankStructure:
        """Return a structure of the size that the chains will have, at most."""
        size = _NUMBERS[-1] if self.number is None else self.number
        return LowRankStructure(X[:size] if self.points is None else self.points)


def wanted_points(n_inducing: Any, X: Any) -> Wanted | None:
    """Return what `n_inducing` asks for; None where the covariance is to be exact.

    Parameters
    ----------
    n_inducing : None, "auto", int or array-like
        The estimators' parameter.
    X : array-like of length n
        Distinct rows.

    Raises
    ------
    ValueError
        For points that are not finite, or not inputs like X.
    """
    if n_inducing is None:
        return None
    if isinstance(n_inducing, str):
        return Wanted(None, None) if len(X) > LARGEST_EXACT else None
    if isinstance(n_inducing, Integral):
        return Wanted(None, int(n_inducing)) if n_inducing < len(X) else None
    points = n_inducing
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        points = check_points(points, X.shape[1])
    return Wanted(points, None)


def check_points(points: Any, n_columns: int) -> Array:
    """Return inducing points that were given, each once.

    Raises
    ------
    ValueError
        For points that are not finite numbers in as many columns.
    """
    refuse_masked("n_inducing", points)
    try:
        array = check_array(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"n_inducing must be None, 'auto', a whole number or an array of points of shape "
            f"(n_points, {n_columns}): {error}"
        ) from None
    if array.shape[1] != n_columns:
        raise ValueError(
            f"n_inducing is an array of points with {array.shape[1]} columns, but X has "
            f"{n_columns}. Pass points of shape (n_points, {n_columns})."
        )
    _, first = np.unique(array, axis=0, return_index=True)
    return np.asarray(array[np.sort(first)])


def choose(
    models_with: Callable[..., Groups],
    settings: SamplerSettings,
    wanted: Wanted,
    n_chains: int,
    n_jobs: int | None,
    verbose: int,
) -> tuple[CovarianceStructure, Array | None]:
    """Choose inducing points among the rows, by short runs with few points.

    The runs have a seed of their own, so that the points depend on the data alone: a fit that is
    continued has the same ones.

    Parameters
    ----------
    models_with : callable
        Returns the models of a fit with a structure, of all rows or of some.
    settings : SamplerSettings
        How the chains will run.
    wanted : Wanted
        Points, or how many.
    n_chains, n_jobs
        See `run_groups`.
    verbose : int
        Whether the short runs show how far they are.

    Returns
    -------
    structure : CovarianceStructure
        Dense, if the kernel is white noise alone: there is no function that points could know.
    theta : ndarray of shape (n_groups, n_chains, n_parameters) or None
        Starting points of the chains.
    """
    if wanted.points is not None:
        return LowRankStructure(wanted.points), None
    model = models_with(DenseStructure())[0][0]
    kernel, X, layout = model.kernel, model.X, model.layout
    medians = np.array([prior.quantile(0.5) for prior in layout.priors[: layout.n_kernel]])
    first = _NUMBERS[0] if wanted.number is None else min(wanted.number, _NUMBERS[0])
    points = greedy_points(kernel.clone_with_theta(medians), X, first)
    if len(points) == 0:
        return DenseStructure(), None
    n_approximate = min(settings.n_approximate, _N_APPROXIMATE)
    lengths = {"n_warmup": _N_WARMUP, "n_draws": _N_DRAWS, "thin": 1}
    pilot = replace(settings, n_approximate=n_approximate, **lengths)  # type: ignore[arg-type]
    theta: Array | None = None
    order = np.random.default_rng(_SEED).permutation(len(X))
    for n_rows in _PILOT_ROWS:
        structure = LowRankStructure(points)
        some = models_with(structure, np.sort(order[:n_rows]))
        traces = _run(some, pilot, theta, n_jobs, verbose)
        found = [_probable(models, group) for models, group in zip(some, traces, strict=True)]
        theta = np.stack([_spread(one, _N_PILOT_CHAINS) for one in found])
        before = len(points)
        share = min(n_rows / len(X), 1.0)
        points = _better_points(models_with(structure), traces, wanted.number, share)
        if len(points) <= before and n_rows >= len(X):
            break
    return LowRankStructure(points), np.stack([_spread(one, n_chains) for one in found])


def judge(groups: Groups, traces: Sequence[Sequence[Trace]], are_given: bool) -> dict[str, float]:
    """Return how much the inducing points of a fit lose; warn if it is too much.

    Parameters
    ----------
    groups : list of list of LatentGaussianModel
        What was sampled.
    traces : sequence of sequence of Trace
        Its draws.
    are_given : bool
        Whether the user chose the points.

    Warns
    -----
    UserWarning
        If more points would change the posterior.
    """
    model = groups[0][0]
    points = model.structure.kept_inputs(model.X)
    more = greedy_points(short_kernel(model, traces), model.X, 2 * len(points))
    found = compare(stand_ins(groups, traces), points, more)
    if not _is_good(found):
        number = "1 inducing point is" if len(points) == 1 else f"{len(points)} inducing points are"
        raise_number = f"Raise n_inducing (now {len(points)} points)"
        advice = "Give more points as n_inducing" if are_given else raise_number
        warn_user(
            f"{number} too few for these data: with {len(more)} the log evidence differs by an "
            "amount that varies over the draws with variance "
            f"{found.evidence_variance:.3g} (should be at most {_MOST_EVIDENCE_VARIANCE}), and "
            f"{100.0 * found.variance_left:.2g} % of the latent function's variance is left "
            f"(should be at most {100.0 * _MOST_VARIANCE_LEFT:.0f} %). "
            f"{advice}, use a smoother kernel, or set "
            "n_inducing=None for the exact model, whose time grows with the cube of the rows.",
            UserWarning,
        )
    return found._asdict()


def _is_good(found: Certificate) -> bool:
    """Whether points lose little; False for NaN."""
    is_known = found.evidence_variance <= _MOST_EVIDENCE_VARIANCE
    return is_known and found.variance_left <= _MOST_VARIANCE_LEFT


def _run(
    groups: Groups, pilot: SamplerSettings, theta: Array | None, n_jobs: int | None, verbose: int
) -> list[list[Trace]]:
    """Run short chains.

    Raises
    ------
    KeyboardInterrupt
        If they were stopped: there is no fit yet.
    """
    n_chains = _N_PILOT_CHAINS * len(groups)
    terminal = terminal_progress(n_chains, "choosing inducing points") if verbose else None
    stopped = KeyboardInterrupt("stopped while inducing points were chosen: there are no draws yet")
    try:
        traces = run_groups(
            groups,
            pilot,
            n_chains=_N_PILOT_CHAINS,
            n_jobs=n_jobs,
            random_state=_SEED,
            theta=theta,
            listeners=[] if terminal is None else [terminal],
        )
    except KeyboardInterrupt:  # what it says of draws and checkpoints is meant for a fit
        raise stopped from None
    finally:
        if terminal is not None:
            terminal.close()
    if traces[0][0].n_draws < pilot.n_draws:
        raise stopped
    return traces


def _spread(theta: Array, number: int) -> Array:
    """Return so many rows, evenly spread."""
    return theta[np.linspace(0, len(theta) - 1, number).round().astype(int)]


def _probable(models: Sequence[LatentGaussianModel], traces: Sequence[Trace]) -> Array:
    """Return theta of late draws of a pilot run, without those of far smaller probability.

    A chain may not have left a mode that has next to none: no chain of the fit should begin there.
    Several latent functions, each of which depends on the others, keep all.
    """
    theta = np.concatenate(traces[0].theta[:, -(_N_DRAWS // 2) :: 2])
    if len(models) > 1:
        return theta
    workspace = models[0].workspace()
    log_densities = np.array([_log_density(workspace, one) for one in theta])
    is_probable = log_densities >= log_densities.max() - theta.shape[1] - _LEAST_LOG_RATIO
    return theta[is_probable] if is_probable.any() else theta


def _log_density(workspace: Workspace, theta: Array) -> float:
    """Return that of theta given the data by Laplace's approximation, but for a constant."""
    state = workspace.state_at(theta, np.zeros(workspace.model.n_latent))
    if state is None:
        return -math.inf
    return workspace.layout.log_prior(theta) + laplace_log_evidence(workspace, state)


def _better_points(
    groups: Groups, traces: list[list[Trace]], n_points: int | None, share: float
) -> Any:
    """Return points for the hyperparameters of a pilot run: as many as are asked for or needed.

    The run had a share of the rows.
    """
    model = groups[0][0]
    most = 2 * _NUMBERS[-1] if n_points is None else n_points
    candidates = greedy_points(short_kernel(model, traces), model.X, most)
    if n_points is not None:
        return candidates
    data = stand_ins(groups, traces, share)
    for number in _NUMBERS:
        points = candidates[:number]
        if number >= len(candidates):
            break
        if _is_good(compare(data, points, candidates[: 2 * number])):
            break
    return points


def short_kernel(model: LatentGaussianModel, traces: Sequence[Sequence[Trace]]) -> Kernel:
    """Return the kernel at the medians of its hyperparameters, but with short length scales."""
    n_kernel = model.layout.n_kernel
    draws = np.concatenate([t.all_theta()[:, :n_kernel] for group in traces for t in group])
    theta = np.median(draws, axis=0)
    first = 0
    for hyperparameter in model.kernel.hyperparameters:
        if hyperparameter.fixed:
            continue
        own = slice(first, first + hyperparameter.n_elements)
        if hyperparameter.name.endswith("length_scale"):
            theta[own] = np.quantile(draws[:, own], _SHORT, axis=0)
        first = own.stop
    return model.kernel.clone_with_theta(theta)


class _StandIn(NamedTuple):
    """Gaussian data that stand for the observations of one latent function, at some draws.

    They have the first two derivatives of the log likelihood near the posterior mean of f; where it
    is normal they are the observations themselves.

    Attributes
    ----------
    model : LatentGaussianModel
        Of the latent function.
    theta : ndarray of shape (n_draws, n_kernel_parameters)
        Draws of the logarithms of the kernel's hyperparameters.
    noise, deviation : ndarray of shape (n_draws, n_latent)
        Variances of the data, and how far they are from the prior mean.
    """

    model: LatentGaussianModel
    theta: Array
    noise: Array
    deviation: Array


def stand_ins(
    groups: Groups, traces: Sequence[Sequence[Trace]], share: float = 1.0
) -> list[_StandIn]:
    """Return Gaussian data for each latent function; the traces had a share of the rows."""
    found = []
    for models, group in zip(groups, traces, strict=True):
        means = [_mean_at_rows(m, t) for m, t in zip(models, group, strict=True)]
        for f, (model, trace) in enumerate(zip(models, group, strict=True)):
            likelihood = copy.copy(model.likelihood)
            if len(models) > 1:
                likelihood.condition_on(means[:f] + means[f + 1 :])
            found.append(_stand_in(model, likelihood, trace, means[f], share))
    return found


def _mean_at_rows(model: LatentGaussianModel, trace: Trace) -> Array:
    """Return the posterior mean of the latent function at all rows."""
    given = model.structure, model.kernel, model.X, trace, model.jitter, _N_OF_MEANS
    return latent_mean(posterior_draws(*given), model.X)


def _stand_in(
    model: LatentGaussianModel, likelihood: Likelihood, trace: Trace, latent: Array, share: float
) -> _StandIn:
    layout = model.layout
    every = trace.all_theta()
    # The posterior of all rows is narrower, by about the root of the share.
    centre = np.median(every, axis=0)
    every = centre + math.sqrt(share) * (every - centre)
    theta = every[np.linspace(0, len(every) - 1, _N_COMPARED).astype(int)]
    noise, deviation = np.empty((2, len(theta), len(latent)))
    for i, one in enumerate(theta):
        score, curvature = likelihood.derivatives(latent, layout.likelihood_params(one))
        precision = np.maximum(-curvature, 0.0)
        precision = np.maximum(precision, _FLATTEST * precision.max())
        noise[i] = 1.0 / precision
        deviation[i] = latent + score / precision - layout.mean(one)
    return _StandIn(model, theta[:, : layout.n_kernel], noise, deviation)


def compare(data: Sequence[_StandIn], points: Any, more_points: Any) -> Certificate:
    """Compare points with more of them, for each latent function; return the worst."""
    more = LowRankStructure(more_points)
    found = [
        certificate(model.kernel, model.X, points, more, theta, noise, deviation, model.jitter)
        for model, theta, noise, deviation in data
    ]
    return Certificate(*np.max(found, axis=0).tolist())
