"""The tables as one Markdown page, from the CSV files alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .agreement import (
    ESS_LIMIT,
    RHAT_LIMIT,
    Z_LIMIT,
    Comparison,
    comparable,
    compare_methods,
    compare_reference,
    has_converged,
    hyperparameters,
    slowest_ess,
    worst,
)
from .conditionals import CONSTANT
from .problems import PROBLEMS
from .reference import REFERENCES, SOURCE
from .results import Row, efficiency, group_by, read_rows, standard_error

# Heading of a cost -> its column, and the number of its units.
_UNITS = {
    "1000 likelihood evaluations": ("n_likelihoods", 1000.0),
    "1000 covariance constructions": ("n_covariances", 1000.0),
    "second": ("seconds", 1.0),
}
#: Names of the pictures in the folder of results.
FIGURE = "effective_samples.png"
METROPOLIS_FIGURE = "metropolis.png"

Method = dict[str, list[Row]]

_INTRODUCTION = f"""# The experiments of Murray and Adams (2010), section 5

Written by `python -m benchmarks.paper`; see `python -m benchmarks.paper --help`. One iteration
is a slice-sampling update of every hyperparameter (Algorithm 4; initial brackets of the width of
the prior, no adaptation) and ten elliptical slice updates of the latent variables. Chain k of
every method starts at the same draw of hyperparameters and latent variables from the prior.
Effective samples are those of the complete-data log-likelihood, as R's `coda::effectiveSize`
computes them; costs are those of the kept iterations, CPU seconds on one BLAS thread. A covariance
construction is a setting of the kernel's hyperparameters; a new mean offset needs none.
Entries are means (standard errors) over the chains. R-hat is the rank-normalised split one over
all chains, the largest of all hyperparameters and the complete-data log-likelihood; where it is
above {RHAT_LIMIT} burn-in did not suffice, and effective sample sizes mean little: a chain that
hardly moves can have a large one.
"""


def write_report(results: Path) -> str:
    """Write README.md of all results there are; return its text."""
    parts = [_INTRODUCTION]
    if (results / FIGURE).exists():
        parts.append(
            f"![Effective samples per unit of cost]({FIGURE})\n\n"
            f"Effective samples per unit of cost, divided by those of `surr-site`, which are "
            "beneath each group. Hatched: burn-in did not suffice.\n"
        )
    parts += [_section(name, results) for name in PROBLEMS if (results / f"{name}.csv").exists()]
    text = "\n".join(parts)
    (results / "README.md").write_text(text, encoding="utf-8")
    return text


def load(results: Path, problem: str) -> tuple[Method, Method]:
    """Return the rows of the chains and those of the posterior, by method."""
    chains = group_by(read_rows(results / f"{problem}.csv"), "method")
    return chains, group_by(read_rows(results / f"{problem}_posterior.csv"), "method")


def _section(problem: str, results: Path) -> str:
    chains, posterior = load(results, problem)
    rows = [row for group in posterior.values() for row in group]
    parts = [f"## {problem}\n", _conditions(chains)]
    if "metropolis" in problem and (results / METROPOLIS_FIGURE).exists():
        parts.append(f"![Slice sampling and Metropolis-Hastings]({METROPOLIS_FIGURE})\n")
    parts.append(_efficiency(chains, posterior))
    baseline = PROBLEMS[problem].baseline
    if baseline in chains:
        parts.append(_relative(chains, posterior, baseline))
    if not all(map(has_converged, rows)):
        parts.append(_drift(chains))
    conditionals = results / f"{problem}_conditionals.csv"
    if conditionals.exists():
        parts.append(_conditionals(read_rows(conditionals), posterior))
    parts.append(_posterior(rows, posterior))
    parts.append(_verdict("between methods", compare_methods(rows)))
    if problem in REFERENCES:
        parts.append(_reference(problem, rows, posterior))
    return "\n".join(parts)


def _conditions(chains: Method) -> str:
    rows = [row for group in chains.values() for row in group]

    def distinct(key: str) -> str:
        return ", ".join(str(value) for value in dict.fromkeys(row[key] for row in rows))

    return (
        f"{distinct('n_warmup')} iterations of burn-in, {distinct('n_draws')} kept. Python "
        f"{distinct('python')}, NumPy {distinct('numpy')}, SciPy {distinct('scipy')}, skgpmcmc "
        f"{distinct('skgpmcmc')}, {distinct('processor')} ({distinct('machine')}).\n"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _with_error(value: float, error: float) -> str:
    """Return value (error), both to two digits of the error, at most six of the value."""
    if math.isnan(value):
        return "-"
    if not (math.isfinite(error) and error > 0.0):
        return f"{value:.3g} (-)"
    smallest = max(error, 1e-4 * abs(value))
    decimals = max(0, 1 - math.floor(math.log10(smallest)))
    return f"{value:.{decimals}f} ({error:.{decimals}f})"


def _conditionals(rows: Sequence[Row], posterior: Method) -> str:
    """Return the shares of the posterior variance that one update can renew."""
    sd = {row["quantity"]: row["sd"] for row in posterior["post-site"]}
    methods = list(group_by(rows, "method"))
    lines = []
    for quantity, group in group_by(rows, "quantity").items():
        variance = sd[quantity] ** 2
        cells = [f"{r['variance'] / variance:.3f} ({r['error'] / variance:.3f})" for r in group]
        lines.append([f"`{quantity}`", *cells])
    note = " Constant noise: surrogate data with the noise of `surr-site` at one signal variance."
    n_states = rows[0]["n_states"]
    return (
        "What an update can renew: variance of a hyperparameter given all that a method holds "
        f"fixed, divided by the posterior variance. Mean (standard error) over {n_states} "
        "states of `post-site` chains, by `python -m benchmarks.paper.conditionals`."
        f"{note if CONSTANT in methods else ''}\n\n" + _table(["", *methods], lines)
    )


def _mean_with_error(values: np.ndarray) -> str:
    return _with_error(float(values.mean()), standard_error(values))


def _per_unit() -> list[str]:
    return [f"per {unit}" for unit in _UNITS]


def _efficiency(chains: Method, posterior: Method) -> str:
    head = ["method", "chains", "effective samples", *_per_unit(), "CPU s a chain"]
    head += ["smallest bulk ESS per s", "R-hat", "remark"]
    rows = []
    for method, group in chains.items():
        seconds = sum(row["seconds"] for row in group)
        slowest = slowest_ess(posterior[method])
        largest = worst(posterior[method])
        remark = f"burn-in did not suffice: `{largest['quantity']}`"
        rows.append(
            [method, str(len(group)), _with_error(*efficiency(group))]
            + [_with_error(*efficiency(group, *cost)) for cost in _UNITS.values()]
            + [f"{seconds / len(group):.1f}", f"{slowest / seconds:.2g}"]
            + [f"{largest['rhat']:.3f}", "" if has_converged(largest) else remark]
        )
    return _table(head, rows)


def _relative(chains: Method, posterior: Method, baseline: str) -> str:
    """Return the heights of the figure's bars."""
    rows = []
    for method, group in chains.items():
        cells = []
        for cost, _ in _UNITS.values():
            unit, _ = efficiency(chains[baseline], cost)
            rate, error = efficiency(group, cost)
            cells.append(_with_error(rate / unit, error / unit))
        mark = "" if has_converged(worst(posterior[method])) else " *"
        rows.append([method + mark, *cells])
    table = _table(["method", *_per_unit()], rows)
    return f"The same, divided by those of `{baseline}`. \\*: burn-in did not suffice.\n\n{table}"


def _drift(chains: Method) -> str:
    """Return whether the chains were still on their way when burn-in ended."""
    lines = []
    for method, group in chains.items():
        first = np.array([row["mean_first_quarter"] for row in group])
        last = np.array([row["mean_last_quarter"] for row in group])
        lines.append([method, *(_mean_with_error(x) for x in (first, last, last - first))])
    return (
        "Complete-data log-likelihood in the first and in the last quarter of the kept "
        "iterations, mean (standard error) over the chains: a chain that drifts had not left its "
        "starting point behind when burn-in ended.\n\n"
        + _table(["method", "first quarter", "last quarter", "change"], lines)
    )


def _posterior(rows: Sequence[Row], posterior: Method) -> str:
    reliable = comparable(rows)

    def cell(row: Row) -> str:
        mark = "" if row in reliable else " *"
        mean = _with_error(row["mean"], row["mcse_mean"])
        return f"{mean}; {_with_error(row['sd'], row['mcse_sd'])}{mark}"

    return (
        "Posterior mean (Monte Carlo error); standard deviation (its error). "
        f"\\*: not compared, because the method's R-hat is above {RHAT_LIMIT} or the quantity's "
        f"bulk effective sample size of all chains below {ESS_LIMIT}.\n\n"
        + _by_quantity(rows, posterior, cell)
    )


def _by_quantity(rows: Sequence[Row], posterior: Method, cell: Callable[[Row], str]) -> str:
    found = group_by(rows, "quantity")
    lines = [[f"`{name}`", *map(cell, found[name])] for name in hyperparameters(rows)]
    return _table(["", *posterior], lines)


def _verdict(between: str, comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return f"Agreement {between}: nothing has converged that could be compared.\n"
    largest = max(comparisons, key=lambda c: abs(c.z))
    n_far = sum(abs(c.z) > Z_LIMIT for c in comparisons)
    return (
        f"Agreement {between}: {n_far} of {len(comparisons)} differences of means and standard "
        f"deviations exceed {Z_LIMIT:g} standard errors; the largest is {largest.z:.1f} "
        f"({largest.moment} of `{largest.quantity}`, {largest.method} and {largest.other}).\n"
    )


def _reference(problem: str, rows: Sequence[Row], posterior: Method) -> str:
    reference = REFERENCES[problem]
    comparisons = compare_reference(rows, reference)
    z = {(c.quantity, c.method, c.moment): c.z for c in comparisons}
    lines = []
    for name, (mean, sd) in reference.values.items():
        line = [f"`{name}`", f"{mean} ({sd})"]
        for method in posterior:
            pair = [z.get((name, method, moment)) for moment in ("mean", "sd")]
            line.append("*" if None in pair else "; ".join(f"{value:.1f}" for value in pair))
        lines.append(line)
    return (
        f"Differences of mean; standard deviation from those of other packages ({SOURCE}) in "
        "standard errors of both sides. Theirs is bounded by the smallest effective sample size "
        f"of the run that mixed best, {reference.n_effective:.0f}, and includes rounding.\n\n"
        + _table(["", "mean (sd)", *posterior], lines)
        + "\n"
        + _verdict("with other packages", comparisons)
    )
