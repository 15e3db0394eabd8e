"""From chain files to two small tables: one row per chain, and one per method and quantity."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skgpmcmc.diagnostics import ess_bulk, ess_spectral, mcse_mean, rhat

from .machine import describe_machine
from .problems import PROBLEMS
from .runner import Task

Row = dict[str, Any]

LOG_LIKELIHOOD = "complete_data_log_likelihood"
_PHASE = ("n_likelihoods", "n_covariances", "n_failures", "seconds")
_COSTS = [*_PHASE, *(f"warmup_{name}" for name in _PHASE)]
#: The columns of the three costs that divide the effective samples.
COSTS = ["n_likelihoods", "n_covariances", "seconds"]


def quantities(problem: str) -> list[str]:
    """Return the names of the elements of theta; all but the mean offset are logarithms."""
    priors = PROBLEMS[problem].make_model().layout.priors
    return [f"log_{prior.name}" if prior.log_scale else prior.name for prior in priors]


def collect(tasks: Sequence[Task], chains: Path, results: Path) -> None:
    """Write both tables of one problem from those of its chains that are finished."""
    finished = [task for task in tasks if task.path(chains).exists()]
    if not finished:
        return
    problem = finished[0].problem
    names = quantities(problem)
    rows: list[Row] = []
    posterior: list[Row] = []
    for method in dict.fromkeys(task.method for task in finished):
        own = [task for task in finished if task.method == method]
        records = []
        for task in own:
            with np.load(task.path(chains)) as file:
                records.append(dict(file))
        rows += [_chain_row(t, names, r) for t, r in zip(own, records, strict=True)]
        posterior += _method_rows(own[0], names, records)
    results.mkdir(parents=True, exist_ok=True)
    write_rows(results / f"{problem}.csv", rows)
    write_rows(results / f"{problem}_posterior.csv", posterior)


def _chain_row(task: Task, names: Sequence[str], record: Mapping[str, np.ndarray]) -> Row:
    row: Row = {"problem": task.problem, "method": task.method, "chain": task.chain}
    row |= {"n_warmup": task.n_warmup, "n_draws": task.n_draws}
    trace = record[LOG_LIKELIHOOD]
    quarter = max(1, len(trace) // 4)
    row["ess"] = ess_spectral(trace)
    row |= {"mean_first_quarter": trace[:quarter].mean()}
    row |= {"mean_last_quarter": trace[-quarter:].mean()}
    row |= {name: record[name].item() for name in _COSTS}
    for name, draws in zip(names, record["theta"].T, strict=True):
        row |= {f"mean_{name}": draws.mean(), f"sd_{name}": draws.std(ddof=1)}
        row[f"mcse_{name}"] = mcse_mean(draws)
    return row | {name: record[name].item() for name in describe_machine()}


def _method_rows(
    task: Task, names: Sequence[str], records: Sequence[Mapping[str, np.ndarray]]
) -> list[Row]:
    """Return a row for each quantity, from the draws of all chains together."""
    theta = np.stack([record["theta"] for record in records])
    draws = dict(zip(names, np.moveaxis(theta, -1, 0), strict=True))
    draws[LOG_LIKELIHOOD] = np.stack([record[LOG_LIKELIHOOD] for record in records])
    head = {"problem": task.problem, "method": task.method}
    return [head | {"quantity": name} | _moments(chains) for name, chains in draws.items()]


def _moments(chains: np.ndarray) -> Row:
    """Return mean and standard deviation with their Monte Carlo errors, ESS and R-hat."""
    mean, sd = chains.mean(), chains.std(ddof=1)
    # By the delta method; a quantity that never moved has none.
    sd_error = mcse_mean((chains - mean) ** 2) / (2.0 * sd) if sd > 0.0 else math.nan
    return {
        "n_chains": chains.shape[0],
        "mean": mean,
        "mcse_mean": mcse_mean(chains),
        "sd": sd,
        "mcse_sd": sd_error,
        "ess_bulk": ess_bulk(chains),
        "rhat": rhat(chains),
    }


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write a table, floats to six digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _format(v) for k, v in row.items()} for row in rows)


def read_rows(path: Path) -> list[Row]:
    """Read a table; what looks like a number is one."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: _parse(v) for k, v in row.items()} for row in csv.DictReader(file)]


def _format(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _parse(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def group_by(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    """Return the rows by the value of a column, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups


def efficiency(
    rows: Sequence[Row], cost: str | None = None, n_units: float = 1.0
) -> tuple[float, float]:
    """Return effective samples per so many units of cost, or in all.

    Returns
    -------
    mean, error : float
        The mean over chains and its standard error: NaN with one chain.
    """
    rates = np.array([n_units * row["ess"] / (row[cost] if cost else 1.0) for row in rows])
    return float(rates.mean()), standard_error(rates)


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of independent values: NaN of a single one."""
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else math.nan
