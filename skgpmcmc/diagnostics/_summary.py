"""Diagnostics of named quantities, as a table that people can read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._draws import FloatArray, as_numbers, is_usable, mean_and_sd
from ._text_table import TextColumn, TextTable, exponent, rounded
from ._vehtari import ess_mean, ess_tail, geyer_ess, rhat_from_scores, split_scores

# Beyond these a quantity is marked as not converged (Vehtari et al. 2021 ask for R-hat below
# 1.01 and 400 effective draws for publication; a mark at every fit that is good enough for
# predictions would be ignored).
MAX_RHAT = 1.05
MIN_ESS = 100.0

_MARK = "*"
_SIZES = ("ess_bulk", "ess_tail")


class Limits(NamedTuple):
    """What counts as converged in a table, and what to do about a quantity that has not.

    Attributes
    ----------
    min_ess, max_rhat : float
        The least effective draws, and the largest R-hat.
    sizes : tuple of str
        The columns of effective draws that are looked at.
    more_draws : str
        How more draws are made.
    """

    min_ess: float = MIN_ESS
    max_rhat: float = MAX_RHAT
    sizes: tuple[str, ...] = _SIZES
    more_draws: str = "raise n_draws"

    def are_met(self, row: Mapping[str, float]) -> bool:
        """Return whether a quantity has been shown to have converged; NaN is no such proof."""
        enough = all(row[name] >= self.min_ess for name in self.sizes)
        return enough and row["rhat"] <= self.max_rhat

    def note(self) -> str:
        """Return what the mark means."""
        rhat = f"R-hat above {self.max_rhat:.10g}, " if self.max_rhat < math.inf else ""
        size = "ESS" if self.sizes == _SIZES else " and ".join(self.sizes)
        return (
            f"{_MARK} {rhat}{size} below {self.min_ess:.10g}, or undefined: {self.more_draws}; if "
            "R-hat stays high, compare the chains (TraceDisplay)."
        )


_USUAL = Limits()


class SummaryTable(TextTable):
    """Numbers of named quantities: a dictionary that prints as an aligned table.

    Parameters
    ----------
    rows : mapping of str to mapping of str to float
        Name of a quantity -> name of a column -> number. All rows have the same columns, among
        them ``mcse``, ``ess_bulk``, ``ess_tail`` and ``rhat``.

    Raises
    ------
    KeyError
        If the table has no quantity of this name.

    Notes
    -----
    In the text, numbers are rounded. The last digit of a row's numbers has the order of magnitude
    of the Monte Carlo error of its mean: more digits would be noise. Quantiles have at least two
    significant digits, because quantiles of a skewed quantity may be far below the error of its
    mean. The numbers in the dictionary are not rounded.

    Examples
    --------
    >>> table = SummaryTable({
    ...     "mean": {"mean": 1.2345, "sd": 0.5, "50%": 1.2, "mcse": 0.0123, "ess_bulk": 1652.3,
    ...              "ess_tail": 1800.0, "rhat": 1.0012},
    ...     "length_scale": {"mean": 23.45, "sd": 11.0, "50%": 21.3, "mcse": 1.7, "ess_bulk": 42.0,
    ...                      "ess_tail": 61.0, "rhat": 1.07},
    ... })
    >>> table  # doctest: +NORMALIZE_WHITESPACE
                   mean     sd    50%   mcse  ess_bulk  ess_tail   rhat
    mean           1.23   0.50   1.20  0.012      1652      1800  1.001
    length_scale  23     11     21     1.7          42        61  1.070  *
    * R-hat above 1.05, ESS below 100, or undefined: raise n_draws; if R-hat stays high, compare
      the chains (TraceDisplay).
    >>> table["mean"]["sd"], table.flagged()
    (0.5, ['length_scale'])
    """

    _remark = ""
    _limits = _USUAL

    def __init__(self, rows: Mapping[str, Mapping[str, float]]) -> None:
        super().__init__({name: dict(row) for name, row in rows.items()})

    def flagged(self) -> list[str]:
        """Return the names of the quantities whose chains have not converged."""
        return [name for name, row in self.items() if not self._limits.are_met(row)]

    def _records(self) -> Mapping[str, Mapping[str, float]]:
        return self

    def _text_columns(self) -> list[TextColumn]:
        marked = set(self.flagged())
        names = list(next(iter(self.values()), {}))
        numbers = [
            TextColumn(name, [_text(name, row[name], row["mcse"]) for row in self.values()], True)
            for name in names
        ]
        marks = [_MARK if name in marked else "" for name in self]
        return [TextColumn("", list(self)), *numbers, TextColumn("", marks)]

    def _note(self) -> str:
        return "\n".join(
            filter(None, [self._limits.note() if self.flagged() else "", self._remark])
        )


def judged_by(
    rows: Mapping[str, Mapping[str, float]], limits: Limits, remark: str = ""
) -> SummaryTable:
    """Return a table whose marks follow these limits, with a remark below."""
    table = SummaryTable(rows)
    table._limits, table._remark = limits, remark
    return table


def limits_of(table: SummaryTable) -> Limits:
    """Return what the marks of a table follow."""
    return table._limits


def _text(column: str, value: float, mcse: float) -> str:
    """Return a number with as many digits as it deserves."""
    if math.isnan(value):
        return "nan"
    if column == "rhat":
        return f"{value:.3f}"
    if column in _SIZES:
        return f"{value:.0f}"
    if not 0.0 < mcse < math.inf:
        return f"{value:.4g}"
    last = exponent(mcse) - (column == "mcse")
    if column.endswith("%"):
        last = min(last, exponent(value) - 1)
    return rounded(value, last)


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
        A dictionary that prints as a table. Each scalar has the entries ``mean``, ``sd`` and
        ``mcse`` (of the mean) in the unit of the draws, and ``ess_bulk``, ``ess_tail`` and
        ``rhat``. A vector ``name`` expands to ``name[0]``, ``name[1]``, ... If any draw of a
        quantity is not finite, its entries are NaN.

    Raises
    ------
    ValueError
        If an array has other than one to three dimensions.

    See Also
    --------
    rhat : Do the chains agree?
    ess_bulk : Effective sample size.

    Notes
    -----
    Vehtari et al. (2021) recommend these numbers for reports. The last four entries are what
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
    remark: str = "",
    limits: Limits = _USUAL,
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
    remark : str
        What is said below the table.
    limits : Limits
        What counts as converged.
    """
    labels = [f"{100.0 * q:.10g}%" for q in quantiles]
    rows = {}
    for (name, row), (_, chains) in zip(table.items(), _scalars(draws_by_name), strict=True):
        values = np.quantile(chains, quantiles).tolist()
        start = {"mean": row["mean"], "sd": row["sd"]}
        rows[name] = start | dict(zip(labels, values, strict=True)) | dict(row)
    return judged_by(rows, limits, remark)


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
            "ess_bulk": float(geyer_ess(scores)),
            "ess_tail": ess_tail(chains),
            "rhat": float(rhat_from_scores(chains, scores)),
        }
    return summary
