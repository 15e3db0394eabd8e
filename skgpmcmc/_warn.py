"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings

# Packages between the user's line and where something is found out.
_BETWEEN = {"skgpmcmc", "sklearn", "joblib"}


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn of something in the line that called the package, through whatever wrappers."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _package(frame.f_globals) in _BETWEEN:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _package(names: dict) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
