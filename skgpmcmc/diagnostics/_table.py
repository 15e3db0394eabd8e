"""A table of named quantities that people can read."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

# Beyond these a quantity is marked as not converged (Vehtari et al. 2021 ask for R-hat below
# 1.01 and 400 effective draws for publication; a mark at every fit that is good enough for
# predictions would be ignored).
MAX_RHAT = 1.05
MIN_ESS = 100.0

_MARK = "*"
_NOTE = (
    f"{_MARK} R-hat above {MAX_RHAT}, ESS below {MIN_ESS:.0f}, or undefined: raise n_draws "
    "(warm_start=True continues the chains) or n_warmup."
)
_SIZES = ("ess_bulk", "ess_tail")
# Numbers outside take up less room with an exponent.
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -5, 6


class SummaryTable(dict[str, dict[str, float]]):
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
    * R-hat above 1.05, ESS below 100, or undefined: raise n_draws (warm_start=True continues the
      chains) or n_warmup.
    >>> table["mean"]["sd"], table.flagged()
    (0.5, ['length_scale'])
    """

    def __init__(self, rows: Mapping[str, Mapping[str, float]]) -> None:
        super().__init__({name: dict(row) for name, row in rows.items()})

    @property
    def _columns(self) -> list[str]:
        return list(next(iter(self.values()), {}))

    def flagged(self) -> list[str]:
        """Return the names of the quantities whose chains have not converged."""
        return [name for name, row in self.items() if _is_doubtful(row)]

    def to_frame(self) -> Any:
        """Return the numbers as a pandas DataFrame, a row for each quantity.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_quantities, n_columns)
            ``pandas.DataFrame(table)`` has a column for each quantity.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas. Install it, for example with `pip install pandas`."
            ) from error
        return pandas.DataFrame.from_dict(self, orient="index", columns=self._columns)

    def _cells(self) -> list[list[str]]:
        """Return the table as text: headings, then name, numbers and mark of each row."""
        marked = set(self.flagged())
        cells = [["", *self._columns, ""]]
        for name, row in self.items():
            texts = [_text(column, row[column], row["mcse"]) for column in self._columns]
            cells.append([name, *texts, _MARK if name in marked else ""])
        return cells

    def __repr__(self) -> str:
        """Return an aligned table, and what to do about rows with a mark."""
        names, *columns, marks = zip(*self._cells(), strict=True)
        width = max(map(len, names))
        padded = [[name.ljust(width) for name in names], *map(_align, columns), marks]
        lines = ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
        return "\n".join([*lines, _NOTE] if any(marks) else lines)

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        cells = [[html.escape(text) for text in line] for line in self._cells()]
        row = '<tr style="text-align: right">'
        head = f"{row}{''.join(f'<th>{text}</th>' for text in cells[0])}</tr>"
        lines = [
            f'{row}<th style="text-align: left">{name}</th>'
            f"{''.join(f'<td>{text}</td>' for text in texts)}</tr>"
            for name, *texts in cells[1:]
        ]
        table = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
        return table + (f"<p>{html.escape(_NOTE)}</p>" if self.flagged() else "")


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
    last = _exponent(mcse) - (column == "mcse")
    if column.endswith("%"):
        last = min(last, _exponent(value) - 1)
    return _rounded(value, last)


def _rounded(value: float, last: int) -> str:
    """Return a number whose last digit stands for 10 ** last."""
    first = max(_exponent(value), last)
    if last >= _SMALLEST_EXPONENT and first < _LARGEST_EXPONENT:
        return f"{round(value, -last) + 0.0:.{max(-last, 0)}f}"  # never -0
    return f"{value:.{first - last}e}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _align(texts: tuple[str, ...]) -> list[str]:
    """Pad a heading and numbers to one width, the decimal points below each other."""
    heading, *numbers = texts
    tails = [len(text) - len(text.split(".")[0]) for text in numbers]
    padded = [text + " " * (max(tails) - tail) for text, tail in zip(numbers, tails, strict=True)]
    width = max(map(len, (heading, *padded)))
    return [text.rjust(width) for text in (heading, *padded)]
