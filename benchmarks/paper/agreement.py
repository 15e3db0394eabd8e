"""Do the methods sample the same posterior, and the one that other packages found?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .reference import Reference
from .results import LOG_LIKELIHOOD, Row, group_by

#: Draws whose R-hat is above have not converged: they have no Monte Carlo standard error.
RHAT_LIMIT = 1.05
#: With fewer effective draws the standard errors are themselves uncertain (Vehtari et al. 2021).
ESS_LIMIT = 400
Z_LIMIT = 4.0


class Comparison(NamedTuple):
    """One moment of one quantity, of two sources: their difference in standard errors."""

    quantity: str
    moment: str
    method: str
    other: str
    z: float


def has_converged(row: Row) -> bool:
    """Whether R-hat is known and small: that of a quantity that never moved is not known."""
    return bool(row["rhat"] < RHAT_LIMIT)


def worst(rows: Sequence[Row]) -> Row:
    """Return the quantity of a method whose R-hat is largest, or not known."""
    return max(rows, key=lambda row: math.inf if math.isnan(row["rhat"]) else row["rhat"])


def slowest_ess(rows: Sequence[Row]) -> float:
    """Return the smallest bulk effective sample size of a method; NaN if one is not known."""
    return float(np.min([row["ess_bulk"] for row in rows]))


def comparable(posterior: Sequence[Row]) -> list[Row]:
    """Return the rows whose Monte Carlo errors can be relied on.

    Every quantity of the method must have converged: one that mixes well is still wrong
    in its tails while another, on which it depends, has not been explored.
    """
    return [
        row
        for rows in group_by(posterior, "method").values()
        if all(map(has_converged, rows))
        for row in rows
        if row["ess_bulk"] >= ESS_LIMIT
    ]


def compare_methods(posterior: Sequence[Row]) -> list[Comparison]:
    """Compare means and standard deviations of all pairs of methods where they are comparable."""
    found = []
    for quantity, rows in group_by(comparable(posterior), "quantity").items():
        for a, b in combinations(rows, 2):
            for moment in ("mean", "sd"):
                error = math.hypot(a[f"mcse_{moment}"], b[f"mcse_{moment}"])
                z = (a[moment] - b[moment]) / error
                found.append(Comparison(quantity, moment, a["method"], b["method"], z))
    return found


def compare_reference(posterior: Sequence[Row], reference: Reference) -> list[Comparison]:
    """Compare every comparable quantity with the values of other packages."""
    found = []
    for row in comparable(posterior):
        if row["quantity"] not in reference.values:
            continue
        mean, mean_error, sd, sd_error = reference.moments(row["quantity"])
        for moment, value, error in (("mean", mean, mean_error), ("sd", sd, sd_error)):
            z = (row[moment] - value) / math.hypot(row[f"mcse_{moment}"], error)
            found.append(Comparison(row["quantity"], moment, row["method"], "the reference", z))
    return found


def hyperparameters(posterior: Sequence[Row]) -> list[str]:
    """Return the names of the hyperparameters, in their order."""
    names = dict.fromkeys(row["quantity"] for row in posterior)
    return [name for name in names if name != LOG_LIKELIHOOD]
