"""A table of the diagnostics of named quantities."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ._geyer import geyer_ess
from ._mcse import ess_mean
from ._moments import mean_and_sd
from ._rank import ess_tail, rhat_from_scores, split_scores
from ._table import SummaryTable
from ._validation import FloatArray, as_numbers, is_usable


def summarize(draws_by_name: Mapping[str, ArrayLike]) -> SummaryTable:
    """Summarise named quantities by their mean, spread and convergence diagnostics.

    Parameters
    ----------
    draws_by_name : mapping of str to array-like
        Draws of shape (n_chains, n_draws) for a scalar quantity, (n_chains, n_draws, dim) for a
        vector, (n_draws,) for one chain of a scalar.

    Returns
    -------
    SummaryTable
        A dictionary that prints as a table. For each scalar the entries ``mean``, ``sd`` and
        ``mcse`` (of the mean) in the unit of the draws, and ``ess_bulk``, ``ess_tail`` and
        ``rhat``. A vector ``name`` expands to ``name[0]``, ``name[1]``, ... If any draw of a
        quantity is not finite, its entries are NaN.

    Raises
    ------
    ValueError
        If an array has other than one to three dimensions.

    Notes
    -----
    Vehtari et al. (2021), who recommend reporting these. The last four entries are what
    `mcse_mean`, `ess_bulk`, `ess_tail` and `rhat` return. A scalar with 4000 draws takes a few
    milliseconds, and the time is proportional to the number of scalars.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> summary = summarize({"offset": rng.normal(3.0, 1.0, (4, 2500)),
    ...                      "theta": rng.normal(0.0, 1.0, (4, 2500, 2))})
    >>> list(summary)
    ['offset', 'theta[0]', 'theta[1]']
    >>> {name: round(summary["offset"][name], 1) for name in ("mean", "sd", "rhat")}
    {'mean': 3.0, 'sd': 1.0, 'rhat': 1.0}
    """
    rows = {name: _summarize_scalar(chains) for name, chains in _scalars(draws_by_name)}
    return SummaryTable(rows)


def with_quantiles(
    table: Mapping[str, Mapping[str, float]],
    draws_by_name: Mapping[str, ArrayLike],
    quantiles: FloatArray,
) -> SummaryTable:
    """Return a table with quantiles after mean and standard deviation.

    Parameters
    ----------
    table : mapping
        As `summarize` returns it; its rows may have other names.
    draws_by_name : mapping of str to array-like
        What `summarize` was given.
    quantiles : ndarray of shape (n_quantiles,)
        Probabilities in [0, 1]: 0.05 is the column ``"5%"``.
    """
    labels = [f"{100.0 * q:.10g}%" for q in quantiles]
    rows = {}
    for (name, row), (_, chains) in zip(table.items(), _scalars(draws_by_name), strict=True):
        values = np.quantile(chains, quantiles).tolist()
        start = {"mean": row["mean"], "sd": row["sd"]}
        rows[name] = start | dict(zip(labels, values, strict=True)) | dict(row)
    return SummaryTable(rows)


def _scalars(draws_by_name: Mapping[str, ArrayLike]) -> Iterator[tuple[str, FloatArray]]:
    for name, draws in draws_by_name.items():
        array = as_numbers(f"draws_by_name[{name!r}]", draws)
        if array.ndim not in (1, 2, 3):
            raise ValueError(
                f"draws_by_name[{name!r}] has shape {array.shape}; allowed are (n_draws,), "
                "(n_chains, n_draws) and (n_chains, n_draws, dim). Flatten further axes into one."
            )
        if array.ndim < 3:
            yield name, np.atleast_2d(array)
        else:
            for i in range(array.shape[2]):
                # Read many times: in a large array each strided read would miss the cache.
                yield f"{name}[{i}]", np.ascontiguousarray(array[:, :, i])


def _summarize_scalar(chains: FloatArray) -> dict[str, float]:
    mean, sd = mean_and_sd(chains)
    summary = dict.fromkeys(("mean", "sd", "mcse", "ess_bulk", "ess_tail", "rhat"), np.nan)
    summary |= {"mean": mean, "sd": sd}
    if is_usable(chains):
        scores = split_scores(chains)  # shared, as ranking is the costly part
        summary |= {
            "mcse": float(sd / np.sqrt(ess_mean(chains))),
            "ess_bulk": geyer_ess(scores),
            "ess_tail": ess_tail(chains),
            "rhat": rhat_from_scores(chains, scores),
        }
    return summary
