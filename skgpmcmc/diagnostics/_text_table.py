"""Tables as text and as HTML."""

from __future__ import annotations

import copy
import html
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

# Numbers outside take up less room with an exponent.
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -5, 6


class TextColumn(NamedTuple):
    """A column of a table, as text.

    Attributes
    ----------
    heading : str
    texts : list of str
        A cell for each row.
    is_number : bool
        Whether decimal points are to be below each other; other columns begin at the left.
    """

    heading: str
    texts: list[str]
    is_number: bool = False


class TextTable(dict[str, Any]):
    """A dictionary that prints as an aligned table, in notebooks too.

    Derived classes say what the table has: `_text_columns` and `_records`.
    """

    def _text_columns(self) -> list[TextColumn]:
        """Return the cells; the first column is the names of the rows."""
        raise NotImplementedError

    def _records(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the table is about, name of a row -> name of a column -> value."""
        raise NotImplementedError

    def _note(self) -> str:
        """Return what is said below the table."""
        return ""

    def copy(self) -> Self:
        """Return a table of the same kind and content."""
        return copy.copy(self)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, its values not rounded.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_rows, n_columns)
            A row for each row of the printed table, indexed by its name.

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
        records = self._records()
        columns = list(next(iter(records.values()), {}))
        return pandas.DataFrame.from_dict(records, orient="index", columns=columns)

    def __repr__(self) -> str:
        """Return an aligned table, and the note below."""
        lines: Iterable[str] = ()
        if self:
            padded = [_align(c) if c.is_number else _left(c) for c in self._text_columns()]
            lines = ("  ".join(line).rstrip() for line in zip(*padded, strict=True))
        return "\n".join([*lines, *filter(None, [self._note()])])

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        note = self._note()
        below = f"<p>{html.escape(note)}</p>" if note else ""
        if not self:
            return below
        columns = self._text_columns()
        row = '<tr style="text-align: right">'
        head = "".join(f"<th>{html.escape(column.heading)}</th>" for column in columns)
        lines = [
            f'{row}<th style="text-align: left">{html.escape(name)}</th>'
            f"{''.join(f'<td>{html.escape(text)}</td>' for text in texts)}</tr>"
            for name, *texts in zip(*(column.texts for column in columns), strict=True)
        ]
        body = f"<tbody>{''.join(lines)}</tbody>"
        return f"<table><thead>{row}{head}</tr></thead>{body}</table>{below}"


def rounded(value: float, last: int) -> str:
    """Return a number whose last digit stands for 10 ** last."""
    first = max(exponent(value), last)
    if last >= _SMALLEST_EXPONENT and first < _LARGEST_EXPONENT:
        return f"{round(value, -last) + 0.0:.{max(-last, 0)}f}"  # never -0
    return f"{value:.{first - last}e}"


def exponent(value: float) -> int:
    """Return the power of ten of the first digit."""
    return math.floor(math.log10(abs(value))) if value else 0


def _align(column: TextColumn) -> list[str]:
    """Pad a heading and numbers to one width, the decimal points below each other."""
    tails = [len(text) - len(text.split(".")[0]) for text in column.texts]
    longest = max(tails, default=0)
    padded = [t + " " * (longest - tail) for t, tail in zip(column.texts, tails, strict=True)]
    width = max(map(len, (column.heading, *padded)))
    return [text.rjust(width) for text in (column.heading, *padded)]


def _left(column: TextColumn) -> list[str]:
    texts = (column.heading, *column.texts)
    width = max(map(len, texts))
    return [text.ljust(width) for text in texts]
