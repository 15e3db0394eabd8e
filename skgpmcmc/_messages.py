"""Words for the user: long texts shortened, warnings at the line of the user's own code."""

from __future__ import annotations

import sys
import warnings


def shortened(text: str, n_most: int) -> str:
    """Return a text without its middle, if it is too long: names differ at either end."""
    if len(text) <= n_most:
        return text
    n_end = (n_most - 1) // 2
    return f"{text[: n_most - 1 - n_end].rstrip()}…{text[-n_end:].lstrip()}"


# Packages that may call the package on behalf of the user's code.
_BETWEEN = {"skgpmcmc", "sklearn", "joblib"}


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the line of the user's code that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _package(names: dict) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
