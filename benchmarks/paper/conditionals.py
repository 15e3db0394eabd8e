"""How far one update can move: the spread of a hyperparameter given what is held fixed.

    python -m benchmarks.paper.conditionals       (minutes; then `benchmarks.paper --report`)

An exact draw of one hyperparameter, given all that a representation holds, renews no more of the
posterior variance than E[var(theta_k given what is held)]. Constant surrogate noise, of the size
that the sites have at one signal variance, stands beside `surr-site`: it tells what surrogate data
do from what noise does that grows with the signal variance.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc.representations import Conditional, build_representation

from .problems import KNOWN_VARIANCE, PROBLEMS
from .results import Row, quantities, standard_error, write_rows
from .runner import Task, start_chain

#: Ionosphere problem -> the signal variance at which the constant noise is that of the sites.
_VARIANCES = {
    "ionosphere": KNOWN_VARIANCE,
    "ionosphere-known-variance": KNOWN_VARIANCE,
    "ionosphere-small-variance": 3.0,
}
CONSTANT = "constant noise"
#: Of the ionosphere's length scales, those of which the data say much.
_INFORMED = ["log_variance"] + [f"log_length_scale[{d}]" for d in (4, 7, 8, 15)]
# Nodes over the support, and again over what of it has the mass.
_N_NODES = 31
_N_DEVIATIONS = 5.0


class Sizes(NamedTuple):
    """Chains, their iterations of burn-in, states of each, iterations between two of them."""

    n_chains: int = 3
    n_warmup: int = 200
    n_states: int = 10
    spacing: int = 25


#: Problem -> the quantities looked at, those with log-uniform priors, and the work.
STUDIES = dict.fromkeys(_VARIANCES, (_INFORMED, Sizes()))
STUDIES["redwoods"] = (
    ["log_variance", "log_length_scale[0]", "log_length_scale[1]"],
    Sizes(n_states=6),
)


class PosteriorDraw(NamedTuple):
    """Hyperparameters, and z with f = L z."""

    theta: np.ndarray
    whitened: np.ndarray


def main(arguments: list[str] | None = None) -> None:
    """Write a table for each problem."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper.conditionals")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--problem", choices=STUDIES, help="default: all of these")
    options = parser.parse_args(arguments)
    options.results.mkdir(parents=True, exist_ok=True)
    # Overflow and NaN at a far node are a density of zero, not warnings.
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(all="ignore"):
        for problem in [options.problem] if options.problem else STUDIES:
            rows = problem_rows(problem, *STUDIES[problem])
            write_rows(options.results / f"{problem}_conditionals.csv", rows)


def problem_rows(problem: str, chosen: Sequence[str], sizes: Sizes) -> list[Row]:
    """Return a row for each of the chosen quantities that the problem has, and each method."""
    model = PROBLEMS[problem].make_model()
    draws = list(_posterior_draws(problem, model, sizes))
    methods: dict[str, str | float] = {name: name for name in PROBLEMS[problem].methods}
    if problem in _VARIANCES:
        precision = model.likelihood.fit_sites(0.0, _VARIANCES[problem], ()).precision
        methods[CONSTANT] = float(1.0 / precision[0])
    names = quantities(problem)
    rng = np.random.default_rng(2010)
    rows: list[Row] = []
    for name in [name for name in names if name in chosen]:
        for method, representation in methods.items():
            index = names.index(name)
            variances = np.array(
                [held_variance(model, draw, representation, index, rng) for draw in draws]
            )
            row = {"problem": problem, "quantity": name, "method": method}
            row |= {"n_states": len(draws), "variance": variances.mean()}
            rows.append(row | {"error": standard_error(variances)})
    return rows


def _posterior_draws(
    problem: str, model: LatentGaussianModel, sizes: Sizes
) -> Iterator[PosteriorDraw]:
    """Yield states of chains of the method that mixes best."""
    for number in range(sizes.n_chains):
        chain = start_chain(Task(problem, "post-site", number, sizes.n_warmup, 1), model)
        for _ in range(sizes.n_warmup):
            chain.iterate()
        for _ in range(sizes.n_states):
            for _ in range(sizes.spacing):
                chain.iterate()
            yield PosteriorDraw(chain.state.theta.copy(), chain.state.whitened.copy())


def held_variance(
    model: LatentGaussianModel,
    draw: PosteriorDraw,
    representation: str | float,
    index: int,
    rng: np.random.Generator,
) -> float:
    """Return the variance of one element of theta given what a representation holds."""
    workspace = model.workspace()
    state = workspace.state_at(*draw)
    assert state is not None
    held = build_representation(representation, workspace)
    held.prepare(state)
    conditional = held.condition(state, rng)
    return conditional_variance(conditional, draw.theta, index, model.layout.priors[index].support)


def conditional_variance(
    conditional: Conditional, theta: np.ndarray, index: int, support: tuple[float, float]
) -> float:
    """Return the variance of theta[index] under a conditional density and a uniform prior.

    By sums over nodes: for standard deviations above a hundredth of the support.
    """
    lower, upper = support
    for _ in range(2):
        nodes = np.linspace(lower, upper, _N_NODES)
        log_density = np.array([_evaluate(conditional, theta, index, node) for node in nodes])
        weights = np.exp(log_density - log_density.max())
        centre = float(np.average(nodes, weights=weights))
        variance = float(np.average((nodes - centre) ** 2, weights=weights))
        # All mass may be at one node.
        reach = _N_DEVIATIONS * max(variance**0.5, nodes[1] - nodes[0])
        lower, upper = max(lower, centre - reach), min(upper, centre + reach)
    return variance


def _evaluate(conditional: Conditional, theta: np.ndarray, index: int, value: float) -> float:
    moved = theta.copy()
    moved[index] = value
    return conditional.evaluate(moved)


if __name__ == "__main__":
    main()
