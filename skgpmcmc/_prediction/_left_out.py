"""Log densities of each row given one draw and the other rows: leave-one-out weights.

Inverse to importance weights for the posterior without the row (Gelfand, Dey and Chang 1992), with
latent values integrated out as far as possible (Vehtari, Mononen, Tolvanen, Sivula and Winther
2016): all of f for Gaussian noise, f along a line for other likelihoods; see `_lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._linalg import Array
from ..exceptions import MissingCapabilityError
from ._dense import PosteriorDraws
from ._lines import Lines, RowsOfGroup

# Pairs of a row and a latent value that lines go through, for each draw: 2000 rows take a minute
# for 200 draws.
_MOST_PAIRS = 4_000_000


class LeftOut(NamedTuple):
    """Log densities of rows given each draw and the other rows, of shape (n_draws, n_rows).

    Attributes
    ----------
    all_copies : ndarray
        Of the row as often as its weight says: minus the logarithm of the importance weight.
    one_copy : ndarray
        Of the row once.
    """

    all_copies: Array
    one_copy: Array


def left_out_along_lines(
    functions: Sequence[PosteriorDraws], rows: RowsOfGroup, params: Array
) -> LeftOut:
    """Return log densities of rows, f being integrated out along a line for each row.

    Parameters
    ----------
    functions : sequence of PosteriorDraws
        Draws of each of the latent functions that the rows depend on.
    rows : RowsOfGroup
        The data.
    params : ndarray of shape (n_draws, n_parameters)
        Of the likelihood.

    Raises
    ------
    MissingCapabilityError
        If there are too many rows.
    """
    check_number_of_pairs(len(rows.places), len(functions[0].latent(0)))
    every = range(len(params))
    values = [tuple(each) for each in params.tolist()]
    sites = rows.sites([([f.latent(draw) for f in functions], values[draw]) for draw in every])
    # Which precisions a structure can do with is the same for all draws.
    pairs = zip(functions, sites.precisions, strict=True)
    sites = sites._replace(precisions=[f.usable_precisions(each) for f, each in pairs])

    def densities(draw: int, places: Array) -> tuple[Array, Array]:
        return Lines(
            rows,
            [f.latent(draw) for f in functions],
            [f.deviation(draw) for f in functions],
            [
                f.covariance_given_sites(draw, each)
                for f, each in zip(functions, sites.precisions, strict=True)
            ],
            sites,
            values[draw],
        ).log_densities()

    return LeftOut(*functions[0].of_each_draw(densities, rows.places, 2))


def check_number_of_pairs(n_rows: int, n_latent: int) -> None:
    """Raise an error where lines through all latent values would take hours."""
    if not has_few_pairs(n_rows, n_latent):
        raise MissingCapabilityError(
            f"leaving out each of {n_rows} rows with {n_latent} latent values is not available: it "
            f"takes time proportional to their product, which may be at most {_MOST_PAIRS}. Fit "
            "with inducing points (n_inducing), which has a faster way, or score rows that were "
            "not fitted."
        )


def has_few_pairs(n_rows: int, n_latent: int) -> bool:
    """Return whether so many rows and latent values can be left out within minutes."""
    return n_rows * n_latent <= _MOST_PAIRS


def left_out_of_gaussian(function: PosteriorDraws, rows: RowsOfGroup, params: Array) -> LeftOut:
    """Return log densities of rows with Gaussian noise, all of f being integrated out.

    Given the data at all other latent values, f_j is normal (Rasmussen and Williams 2006, eq. 5.12)
    and the other rows with the same latent value are more data of it.

    Parameters
    ----------
    function : PosteriorDraws
        Made by `from_gaussian`.
    rows, params
        See `left_out_along_lines`.
    """
    likelihood, places = rows.group[0], rows.places
    single = likelihood.with_latent_of_each_row(len(places))
    copies = 1.0 if rows.weights is None else rows.weights
    values = [tuple(each) for each in params.tolist()]

    def densities(draw: int, places: Array) -> tuple[Array, Array]:
        mean, variance = (each[places] for each in function.left_out_moments(draw))
        all_rows = likelihood.gaussian_sites(values[draw])
        own = single.gaussian_sites(values[draw])
        others = np.maximum(all_rows.precision[places] - own.precision, 0.0)
        precision = 1.0 / variance + others
        mean = (mean / variance + all_rows.shift[places] - own.shift) / precision
        centre = own.shift / own.precision
        at_centre = single.per_latent(centre, values[draw])

        def log_integral(n_parts: Array | float) -> Array:
            """Integrate exp(a - w (f - centre)^2 / 2) N(f; mean, 1 / precision), one part of w."""
            noise = n_parts / own.precision
            total = 1.0 / precision + noise
            squares = (centre - mean) ** 2 / total
            return np.asarray(at_centre / n_parts + 0.5 * (np.log(noise / total) - squares))

        return log_integral(1.0), log_integral(copies)

    return LeftOut(*function.of_each_draw(densities, places, 2))
