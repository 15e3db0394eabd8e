"""A table of named quantities that people can read."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ._text_table import TextColumn, TextTable, exponent, rounded

# Beyond these a quantity is marked as not converged (Vehtari et al. 2021 ask for R-hat below
# 1.01 and 400 effective draws for publication; a mark at every fit that is good enough for
# predictions would be ignored).
MAX_RHAT = 1.05
MIN_ESS = 100.0

_MARK = "*"
_NOTE = (
    f"{_MARK} R-hat above {MAX_RHAT}, ESS below {MIN_ESS:.0f}, or undefined: raise n_draws; if "
    "R-hat stays high, compare the chains (TraceDisplay)."
)
_SIZES = ("ess_bulk", "ess_tail")


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
        For the name of a quantity that the table does not have.

    Notes
    -----
    As text, the last digit of a row's numbers has the order of magnitude of the Monte Carlo error
    of its mean: more digits would be noise. Quantiles have two significant digits at least: those
    of a skewed quantity may be far below the error of its mean. The numbers themselves are not
    rounded.

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

    def __init__(self, rows: Mapping[str, Mapping[str, float]]) -> None:
        super().__init__({name: dict(row) for name, row in rows.items()})

    def flagged(self) -> list[str]:
        """Return the names of the quantities whose chains have not converged."""
        return [name for name, row in self.items() if _is_doubtful(row)]

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
        return _NOTE if self.flagged() else ""


def _is_doubtful(row: Mapping[str, float]) -> bool:
    """Whether a quantity has not been shown to have converged; NaN is no such proof."""
    return not (row["rhat"] <= MAX_RHAT and all(row[name] >= MIN_ESS for name in _SIZES))


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
