"""Coverage of the parts of a sum: trend and season, each with its intervals.

Hyperparameters are drawn from their priors, a trend and a season from their Gaussian processes, and
numbers or counts in each month of four years from their likelihood. The estimator is fitted to
these with the same priors, and the truth is compared with the central 50 and 90 % intervals of
`predict_components`. Each part is centred over the months of the data, and so is its truth. "whole"
is the latent function, without centring.

Of the rows that are compared, twelve are months of the data, and twelve those of the next year.
Standard errors are over data sets, because the rows of one are not independent. A control that has
to fail is in `tests/prediction/test_component_coverage.py`.

    python -m benchmarks.bench_parts [--smoke] [--data-sets 100] [--output FILE.csv]

The CSV file gets a row for each data set. A run that is started again with the same file goes on
where it ended; --report prints the table of a file, and runs nothing.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, WhiteKernel
from threadpoolctl import threadpool_limits

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor

LEVELS = (0.5, 0.9)
LABELS = ("trend", "season")
WHOLE = "whole"
N_MONTHS, N_AHEAD = 48, 12
MONTHS = (np.arange(N_MONTHS + N_AHEAD)[:, None] + 0.5) / 12.0
DATA, AHEAD = MONTHS[:N_MONTHS], MONTHS[N_MONTHS:]
# January of the first year, February of the second, and so on; then the year ahead. So a season has
# the same values in both.
_EACH = np.arange(N_AHEAD)
ROWS = np.concatenate([_EACH + 12 * (_EACH % 4), N_MONTHS + _EACH])
# Fits end when enough is drawn, as by default, but with two chains instead of four.
LENGTH = {"n_chains": 2}
SMOKE = {"n_chains": 2, "n_warmup": 5, "n_draws": 10, "min_ess": None}

KERNEL = ConstantKernel() * RBF() + ConstantKernel() * ExpSineSquared(
    periodicity=1.0, periodicity_bounds="fixed"
)
PRIORS = {
    "k1__k1__constant_value": stats.gamma(1.5, scale=0.5),
    "k1__k2__length_scale": stats.lognorm(s=0.5, scale=1.5),
    "k2__k1__constant_value": stats.gamma(1.5, scale=0.3),
    "k2__k2__length_scale": stats.lognorm(s=0.5, scale=1.0),
}
NOISE = stats.lognorm(s=0.5, scale=0.1)
MEAN = stats.norm(1.5, 1.0)


class Truth(NamedTuple):
    """Both parts at the months of the data and ahead, and the mean."""

    parts: dict[str, np.ndarray]
    mean: float


def draw_truth(rng: np.random.Generator) -> Truth:
    """Return parts with hyperparameters of the priors."""
    values = {name: prior.rvs(random_state=rng) for name, prior in PRIORS.items()}
    kernel = KERNEL.clone_with_theta(KERNEL.theta).set_params(**values)
    parts = {}
    for label, part in zip(LABELS, (kernel.k1, kernel.k2), strict=True):
        covariance = part(MONTHS) + 1e-9 * np.eye(len(MONTHS))
        parts[label] = np.linalg.cholesky(covariance) @ rng.standard_normal(len(MONTHS))
    return Truth(parts, MEAN.rvs(random_state=rng))


def fit_numbers(latent: np.ndarray, rng: np.random.Generator, options: dict) -> Any:
    """Return a fit of numbers with Gaussian noise."""
    noise = np.sqrt(NOISE.rvs(random_state=rng)) * rng.standard_normal(N_MONTHS)
    priors = {f"k1__{name}": prior for name, prior in PRIORS.items()}
    model = MCMCGaussianProcessRegressor(
        KERNEL + WhiteKernel(), mean="constant", normalize_y=False,
        priors=priors | {"k2__noise_level": NOISE, "mean": MEAN}, **options,
    )  # fmt: skip
    return model.fit(DATA, latent + noise)


def fit_counts(latent: np.ndarray, rng: np.random.Generator, options: dict) -> Any:
    """Return a fit of Poisson counts."""
    model = MCMCCoxProcessRegressor(KERNEL, priors=PRIORS | {"mean": MEAN}, **options)
    return model.fit(DATA, rng.poisson(np.exp(latent)))


STUDIES: dict[str, Callable[..., Any]] = {"numbers": fit_numbers, "counts": fit_counts}


def run_data_set(name: str, seed: int, options: dict) -> dict[str, Any]:
    """Draw a truth, fit, and return the share of truths in the intervals, by part and place."""
    rng = np.random.default_rng([seed, 11])
    truth = draw_truth(rng)
    latent = truth.mean + sum(truth.parts.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = STUDIES[name](latent[:N_MONTHS], rng, {"random_state": seed, **options})
    quantiles = [0.5 + sign * level / 2.0 for level in LEVELS for sign in (-1, 1)]
    parts = model.predict_components(MONTHS[ROWS], quantiles, LABELS, centre_on=DATA)
    whole = model.predict_components(MONTHS[ROWS], quantiles, ["mean", "mean"])["mean"]
    row = {"study": name, "seed": seed, "converged": int(model.converged_)}
    for part, ends, true in [
        *((key, parts[key].quantiles, f - f[:N_MONTHS].mean()) for key, f in truth.parts.items()),
        (WHOLE, whole.quantiles, latent),
    ]:
        low_and_high = np.reshape(ends, (len(ROWS), len(LEVELS), 2))
        low, high = np.moveaxis(low_and_high, -1, 0)
        inside = (low <= true[ROWS, None]) & (true[ROWS, None] <= high)
        for place, of in (("data", slice(None, -N_AHEAD)), ("ahead", slice(-N_AHEAD, None))):
            for level, share in zip(LEVELS, inside[of].mean(axis=0), strict=True):
                row[f"{part}, {place}, {100 * level:.0f} %"] = f"{share:.4f}"
    return row


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print the coverage of each part in each study, with its standard error."""
    by_study = defaultdict(list)
    for row in rows:
        by_study[row["study"]].append(row)
    print("| study | part | rows | 50 % | 90 % |\n|---|---|---|---|---|")
    for study, found in by_study.items():
        for part in (*LABELS, WHOLE):
            for place in ("data", "ahead"):
                cells = [_cell(found, f"{part}, {place}, {100 * level:.0f} %") for level in LEVELS]
                print(f"| {study} | {part} | {place} | {' | '.join(cells)} |")
    print()
    for study, found in by_study.items():
        n_good = sum(int(row["converged"]) for row in found)
        print(f"{study}: {n_good} of {len(found)} fits met R-hat and effective draws")


def _cell(rows: list[dict[str, Any]], name: str) -> str:
    shares = 100.0 * np.array([float(row[name]) for row in rows])
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    return f"{shares.mean():.1f} ({error:.1f})"


def read_rows(path: Path | None) -> list[dict[str, Any]]:
    """Return the rows of a CSV file; none if there is no file."""
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Append a row to a CSV file, with a header if it is new."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two data sets, short chains")
    parser.add_argument("--data-sets", type=int, default=100, help="for each study")
    parser.add_argument("--output", type=Path, help="a CSV file, a row for each data set")
    parser.add_argument("--report", type=Path, help="run nothing; print the table of a CSV file")
    arguments = parser.parse_args()
    if arguments.report:
        print_table(read_rows(arguments.report))
        return
    n_data_sets, options = (2, SMOKE) if arguments.smoke else (arguments.data_sets, LENGTH)
    rows = read_rows(arguments.output)
    done = {(row["study"], int(row["seed"])) for row in rows}
    for name in STUDIES:
        for seed in range(n_data_sets):
            if (name, seed) in done:
                continue
            with threadpool_limits(1, user_api="blas"):
                rows.append(run_data_set(name, seed, options))
            if arguments.output:
                append_row(arguments.output, rows[-1])
    print_table(rows)


if __name__ == "__main__":
    main()
