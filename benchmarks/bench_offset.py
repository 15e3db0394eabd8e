"""The mean offset of a count model: sampled beside the hyperparameters, or integrated out.

Both on the same data, as the Cox estimator samples them without a grid: effective draws for each
CPU second of the slowest log hyperparameter and of the offset, and the ratio of the two
ways. Integrated out, the offset is drawn exactly, given the latent function.

    python -m benchmarks.bench_offset [--smoke]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from skgpmcmc.core import LatentGaussianModel, SamplerSettings, run_chains
from skgpmcmc.datasets import load_coal_mining, load_redwoods
from skgpmcmc.likelihoods import NegativeBinomial, Poisson

N_CHAINS = 2
SEEDS = [0, 1, 2]


class Problem(NamedTuple):
    """Counts, their likelihood, the bounds of the log-uniform priors, and the number of draws."""

    load: Callable
    likelihood: type
    variance: tuple[float, float]
    length_scale: tuple[float, float]
    n_draws: int


PROBLEMS = {
    "mining": Problem(load_coal_mining, Poisson, (0.01, 10.0), (1.0, 100.0), 2000),
    "mining, negative binomial": Problem(
        load_coal_mining, NegativeBinomial, (0.01, 10.0), (1.0, 100.0), 1000
    ),
    "redwoods": Problem(load_redwoods, Poisson, (0.01, 100.0), (0.01, 1.0), 200),
}


class Rates(NamedTuple):
    """Effective draws for each CPU second of sampling."""

    slowest: float
    offset: float


def measure(problem: Problem, seed: int, collapse: bool, n_warmup: int, n_draws: int) -> Rates:
    """Sample once, on one thread."""
    X, y = problem.load(return_X_y=True)
    kernel = ConstantKernel(1.0, problem.variance) * RBF(np.ones(X.shape[1]), problem.length_scale)
    priors = {"mean": stats.norm(np.log(y.mean()), 2.0)}
    likelihood = problem.likelihood(y)
    if likelihood.parameters:
        priors["dispersion"] = stats.lognorm(s=1.5, scale=0.3)
    model = LatentGaussianModel(
        kernel, X, likelihood, priors=priors, mean="constant", collapse_mean=collapse
    )
    settings = SamplerSettings(
        representation="post-ep",
        n_warmup=n_warmup,
        n_draws=n_draws,
        n_approximate=n_warmup // 4,
        whitened_updates=True,
    )
    with threadpool_limits(1):
        trace = run_chains(model, settings, n_chains=N_CHAINS, random_state=seed)
    seconds = sum(costs.seconds for costs in trace.sampling)
    rates = {name: row["ess_bulk"] / seconds for name, row in trace.summary().items()}
    offset = rates.pop("mean")
    del rates["latent[worst]"], rates["complete_data_log_likelihood"]
    return Rates(min(rates.values()), offset)


def row(name: str, seeds: list[int], n_warmup: int, n_draws: int) -> str:
    """Measure both ways, seed by seed, and return the row of the table."""
    problem = PROBLEMS[name]
    sampled, collapsed = (np.empty((len(seeds), 2)) for _ in range(2))
    for i, seed in enumerate(seeds):
        sampled[i] = measure(problem, seed, False, n_warmup, n_draws)
        collapsed[i] = measure(problem, seed, True, n_warmup, n_draws)
    ratios = collapsed / sampled
    errors = ratios.std(axis=0) / np.sqrt(max(len(seeds) - 1, 1))
    cells = [
        f"{sampled[:, i].mean():.3g} | {collapsed[:, i].mean():.3g} | "
        f"{ratios[:, i].mean():.2f} ({errors[i]:.2f})"
        for i in range(2)
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="tiny chains, one seed, no redwoods")
    smoke = parser.parse_args().smoke
    print("Effective draws a CPU second; in parentheses standard errors over seeds.\n")
    print("| problem | slowest, offset sampled | integrated out | ratio ", end="")
    print("| offset, sampled | integrated out | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, problem in PROBLEMS.items():
        if smoke and name == "redwoods":
            continue
        seeds, n_warmup, n_draws = (SEEDS[:1], 10, 10) if smoke else (SEEDS, 250, problem.n_draws)
        print(row(name, seeds, n_warmup, n_draws), flush=True)


if __name__ == "__main__":
    main()
