"""Names and notes as pictures show them."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from .._messages import shortened

_NOTE_WIDTH = 60


def as_label(name: Any, n_most: int) -> str:
    """Return a name of at most so many letters that matplotlib writes as it is.

    Between two dollars matplotlib would set mathematics, and fail where it is none.
    """
    return shortened(str(name), n_most).replace("$", r"\$")


def as_legend_label(name: Any, n_most: int = 26) -> str:
    """Return what `as_label` does; a legend leaves out what begins with an underscore."""
    label = as_label(name, n_most)
    return f" {label}" if label.startswith("_") else label


def short_number(value: float, n_digits: int = 4) -> str:
    """Return a number as people write it, rounded to so many digits, or to a whole number.

    Examples
    --------
    >>> [short_number(x) for x in (0.123456, 3.0, 1851.2, 652000.4, 1e12, 1.5e-7)]
    ['0.1235', '3', '1851', '652000', '1e+12', '1.5e-07']
    """
    return f"{value:.0f}" if 10.0**n_digits <= abs(value) < 1e9 else f"{value:.{n_digits}g}"


def in_lines(name: str, width: int) -> str:
    """Return a name in lines of at most so many letters, broken between its parts.

    The column in brackets stays whole; the class stands alone rather than the hyperparameter
    is broken.

    Examples
    --------
    >>> print(in_lines("Iris setosa: k1__k2__length_scale[petal width (cm)]", 22))
    Iris setosa:
    k1__k2__length_scale
    [petal width (cm)]
    """
    start = name.find("[") if name.endswith("]") else len(name)
    lines, column = [name[:start]], name[start:]
    for between in (r"(?<=: )", r"(?<=__)"):
        lines = [part for line in lines for part in _broken(line, width, between)]
    if not column or len(lines[-1] + column) <= width:
        lines[-1] += column
    else:
        lines.append(column)
    return "\n".join(as_label(line.strip(), width) for line in lines if line)


def _broken(line: str, width: int, between: str) -> list[str]:
    """Return a line in parts that are short enough, if it can be broken there."""
    lines = [""]
    for part in re.split(between, line) if len(line) > width else [line]:
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def wrap(text: str, width: int = _NOTE_WIDTH) -> str:
    """Break a note into lines that fit below a panel."""
    return textwrap.fill(text, width)


def quote_levels(levels: Any) -> str:
    """Return confidence levels as people write them: ``"50 and 90 %"``."""
    return " and ".join(f"{100 * level:g}" for level in sorted(levels)) + " %"


def some_of(names: list[str], n_most: int = 8) -> str:
    """Return a few names, quoted, and how many more there are."""
    more = f" and {len(names) - n_most} more" if len(names) > n_most else ""
    return ", ".join(map(repr, names[:n_most])) + more
