"""Names and notes as pictures show them."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from .._shorten import shortened

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


def in_lines(name: str, width: int) -> str:
    """Return a name in lines of at most so many letters, broken between its parts."""
    lines = [""]
    for part in re.findall(r"\[.*\]|.*?(?:__|: |(?=\[)|$)", name, flags=re.DOTALL):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(as_label(line, width) for line in lines).strip()


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
