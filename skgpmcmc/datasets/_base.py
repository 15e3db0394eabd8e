"""Reading the packaged files and wrapping them as scikit-learn's loaders do."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def read_csv(name: str) -> tuple[list[str], NDArray[np.str_]]:
    """Return the header and the cells, as strings, of ``data/<name>.csv``."""
    text = (files(__package__) / "data" / f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    return header.split(","), np.array([row.split(",") for row in rows])


def make_result(
    name: str,
    *,
    data: NDArray[np.float64],
    target: NDArray[np.int64],
    feature_names: list[str],
    target_column: str,
    as_frame: bool,
    return_X_y: bool,
    **extra: Any,
) -> Bunch | tuple[Any, Any]:
    """Assemble what ``load_<name>`` returns; `extra` becomes further attributes of the Bunch."""
    X: Any = data
    y: Any = target
    frame = None
    if as_frame:
        frame = _to_frame(name, data, target, feature_names, target_column)
        X, y = frame[feature_names], frame[target_column]
    if return_X_y:
        return X, y
    root = files(__package__)
    return Bunch(
        data=X,
        target=y,
        feature_names=feature_names,
        frame=frame,
        DESCR=(root / "descr" / f"{name}.rst").read_text(encoding="utf-8"),
        filename=str(root / "data" / f"{name}.csv"),
        **extra,
    )


def _to_frame(
    name: str,
    data: NDArray[np.float64],
    target: NDArray[np.int64],
    feature_names: list[str],
    target_column: str,
) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            f"load_{name}(as_frame=True) needs pandas, which is not installed: install pandas, "
            "or pass as_frame=False to get NumPy arrays."
        ) from error
    frame = pd.DataFrame(data, columns=feature_names)
    frame[target_column] = target
    return frame
