"""Words for the user: long texts shortened, warnings at the line of the user's own code."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass


def shortened(text: str, n_most: int) -> str:
    """Return a text without its middle, if it is too long: names differ at either end."""
    if len(text) <= n_most:
        return text
    n_end = (n_most - 1) // 2
    return f"{text[: n_most - 1 - n_end].rstrip()}…{text[-n_end:].lstrip()}"


# Packages that may call the package on behalf of the user's code.
_BETWEEN = {"skgpmcmc", "sklearn", "joblib"}


@dataclass(frozen=True)
class UserPlace:
    """The line of the user's code that called the package.

    It may be kept for a warning that another thread issues later.

    Attributes
    ----------
    file : str
    line : int
    module : str
    registry : dict
        Where Python notes which warnings this module has had.
    """

    file: str
    line: int
    module: str
    registry: dict

    @classmethod
    def now(cls) -> UserPlace:
        """Return the line that is being executed."""
        frame = sys._getframe(1)
        while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
            frame = frame.f_back
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        module = str(frame.f_globals.get("__name__", "<string>"))
        return cls(frame.f_code.co_filename, frame.f_lineno, module, registry)


def warn_user(message: str, category: type[Warning], place: UserPlace | None = None) -> None:
    """Issue a warning that points to a line of the user's code: by default, the present one."""
    at = UserPlace.now() if place is None else place
    warnings.warn_explicit(message, category, at.file, at.line, at.module, at.registry)


def _package(names: dict) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
