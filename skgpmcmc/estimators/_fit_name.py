"""A description of a fit for warnings: searches and cross-validations make many fits."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._messages import shortened

# Letters of a kernel that a warning shows, of another parameter, and of all others.
_MOST_OF_A_KERNEL, _MOST_OF_A_VALUE, _MOST_OF_ALL = 120, 60, 180
# The kernel is named apart; the others are named by the advice, or change no posterior: they say
# how long the chains run, where, and what is kept.
_NOT_NAMED = {
    "kernel",
    "n_chains",
    "n_draws",
    "n_warmup",
    "random_state",
    "n_jobs",
    "verbose",
    "memory_limit",
    "copy_X_train",
    "warm_start",
    "checkpoint",
    "min_ess",
    "max_rhat",
    "max_seconds",
    "max_prediction_draws",
}


def name_of_fit(estimator: Any, n_rows: int, n_columns: int | None) -> str:
    """Return class, kernel, parameters that are not the defaults, and the size of the data.

    Parameters
    ----------
    estimator : estimator
    n_rows : int
    n_columns : int or None
        None where X has none.
    """
    kernel = "the default kernel"
    if estimator.kernel is not None:
        kernel = f"the kernel {shortened(str(estimator.kernel), _MOST_OF_A_KERNEL)}"
    changed = _changed(estimator)
    others = f", {shortened(', '.join(changed), _MOST_OF_ALL)}," if changed else ""
    shape = f"{n_rows} row{'s' if n_rows > 1 else ''}"
    if n_columns is not None:
        shape += f" and {n_columns} column{'s' if n_columns > 1 else ''}"
    return f"the fit of {type(estimator).__name__} with {kernel}{others} to {shape}"


def _changed(estimator: Any) -> list[str]:
    """Return what sets parameters of the constructor to other values than their defaults."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    values = estimator.get_params(deep=False)
    return [
        f"{name}={shortened(_shown(value), _MOST_OF_A_VALUE)}"
        for name, value in values.items()
        if name not in _NOT_NAMED and not _is_same(value, defaults[name].default)
    ]


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (np.ndim(value) == 0 and bool(value == default))


def _shown(value: Any) -> str:
    """Return a value on one line; distributions by their parameters, functions by their names."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_shown(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # frozen, of scipy.stats
        given = [*map(_shown, value.args), *(f"{k}={_shown(v)}" for k, v in value.kwds.items())]
        return f"{value.dist.name}({', '.join(given)})"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    plain = value.item() if isinstance(value, np.generic) else value
    return " ".join(repr(plain).split())
