"""From draws to effective samples for each CPU second, in the same way for every package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skgpmcmc.diagnostics import ess_bulk, summarize

from .density import complete_data_log_likelihood
from .exchange import Problem, Run

Estimate = tuple[float, float]


@dataclass(frozen=True)
class RunRow:
    """What one run, all chains of one seed, came to.

    Attributes
    ----------
    problem, package, seed : str, str, int
        What was run.
    n_chains, n_warmup, n_draws : int
        How long.
    smallest_ess : float
        The smallest bulk effective sample size of all quantities; NaN if one never moved.
    slowest : str
        The quantity that has it.
    warmup_seconds, seconds, setup_seconds : float
        CPU time of all chains' warm-up, of their sampling, and of compilation.
    evaluations : float
        Gradients or covariances for each draw.
    divergences : int
        In all chains.
    """

    problem: str
    package: str
    seed: int
    n_chains: int
    n_warmup: int
    n_draws: int
    smallest_ess: float
    slowest: str
    warmup_seconds: float
    seconds: float
    setup_seconds: float
    evaluations: float
    divergences: int

    @property
    def rate(self) -> float:
        """Effective samples for each CPU second of sampling."""
        return self.smallest_ess / self.seconds

    @property
    def rate_with_warmup(self) -> float:
        """The same, warm-up counted."""
        return self.smallest_ess / (self.seconds + self.warmup_seconds)


@dataclass(frozen=True)
class Entry:
    """A package on a problem.

    Attributes
    ----------
    rows : list of RunRow
        One for each seed.
    summary : dict
        Quantity -> its moments and diagnostics, the chains of all seeds together.
    versions : dict
        Of the packages involved.
    """

    rows: list[RunRow]
    summary: dict[str, dict[str, float]]
    versions: dict[str, str]

    def rate(self, *, with_warmup: bool = False) -> Estimate:
        """Return effective samples for each CPU second: mean and standard error over seeds."""
        name = "rate_with_warmup" if with_warmup else "rate"
        return mean_and_error([getattr(row, name) for row in self.rows])

    def pooled_rate(self) -> float:
        """Return the smallest effective sample size of all seeds' chains for each CPU second.

        The smallest of many noisy estimates is too small, the more so the shorter the run: this
        one errs less than the mean over the seeds, and has no standard error.
        """
        smallest = np.min([row["ess_bulk"] for row in self.summary.values()])
        return float(smallest) / sum(row.seconds for row in self.rows)

    def worst_rhat(self) -> float:
        """Return the largest R-hat, NaN if a quantity has none."""
        return float(np.max([row["rhat"] for row in self.summary.values()]))


def quantities(problem: Problem, run: Run, seed: int) -> dict[str, np.ndarray]:
    """Return the draws by name, of shape (n_chains, n_draws): theta, and the log-likelihood."""
    draws = {name: run.theta[..., i] for i, name in enumerate(problem.names)}
    return draws | {
        "complete_data_log_likelihood": complete_data_log_likelihood(problem, run, seed)
    }


def make_entry(problem: Problem, package: str, runs: Mapping[int, Run]) -> Entry:
    """Return what the runs, by seed, of a package on a problem came to."""
    rows, draws = [], []
    for seed, run in runs.items():
        draws.append(quantities(problem, run, seed))
        rows.append(_make_row(problem.name, package, seed, run, draws[-1]))
    pooled = {name: np.concatenate([d[name] for d in draws]) for name in draws[0]}
    return Entry(rows, summarize(pooled), next(iter(runs.values())).versions)


def _make_row(
    problem: str, package: str, seed: int, run: Run, draws: Mapping[str, np.ndarray]
) -> RunRow:
    sizes = {name: ess_bulk(values) for name, values in draws.items()}
    # A quantity that never moved has no effective sample size: slower than all others.
    slowest = min(sizes, key=lambda name: -1.0 if math.isnan(sizes[name]) else sizes[name])
    n_chains, n_draws, _ = run.theta.shape
    return RunRow(
        problem=problem,
        package=package,
        seed=seed,
        n_chains=n_chains,
        n_warmup=run.n_warmup,
        n_draws=n_draws,
        smallest_ess=sizes[slowest],
        slowest=slowest,
        warmup_seconds=float(run.warmup_seconds.sum()),
        seconds=float(run.seconds.sum()),
        setup_seconds=run.setup_seconds,
        evaluations=run.evaluations / (n_chains * n_draws),
        divergences=run.divergences,
    )


def mean_and_error(values: Sequence[float]) -> Estimate:
    """Return the mean and its standard error; NaN for the error of one value."""
    error = math.nan
    if len(values) > 1:
        error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)), error


def ratio(numerator: Estimate, denominator: Estimate) -> Estimate:
    """Return a ratio of independent estimates and its standard error, to first order."""
    value = numerator[0] / denominator[0]
    relative = math.hypot(*(error / mean for mean, error in (numerator, denominator)))
    return value, abs(value) * relative


def largest_difference(one: Entry, other: Entry) -> float:
    """Return the largest difference of posterior means, in standard errors of both."""
    differences = [
        abs(row["mean"] - other.summary[name]["mean"])
        / math.hypot(row["mcse"], other.summary[name]["mcse"])
        for name, row in one.summary.items()
    ]
    return float(np.max(differences))
