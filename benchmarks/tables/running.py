"""Run methods on splits of tables, one after the other, and keep each result at once."""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from .catalogue import SEED, Table
from .methods import Method, Task
from .scoring import MEASURES

KEY = ["table", "split", "method"]
FIELDS = [
    *KEY,
    "kind",
    "half",
    "n_train",
    "n_columns",
    *MEASURES,
    "fit_seconds",
    "score_seconds",
    "warned",
]


@dataclass(frozen=True)
class Plan:
    """What is to be run: each of these on each of those."""

    tables: list[Table]
    methods: Mapping[str, Method]
    n_splits: int
    most_rows: int | None = None


def run_one(
    table: Table, split: int, method: Method, most_rows: int | None = None
) -> dict[str, Any] | None:
    """Return the row of one method on one split; None where the method is not for the table."""
    X, y = table.load()
    train, test = table.split(split, y)
    # Splits are shuffled: the first rows are a random sample.
    train = train[:most_rows]
    scaler = StandardScaler().fit(X[train])
    task = Task(table.kind, scaler.transform(X[train]), y[train], SEED + split)
    forecaster = method[table.kind](task)
    if forecaster is None:
        return None
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        forecaster.fit(task.X, task.y)
        fitted = time.process_time()
        measures = forecaster.score(scaler.transform(X[test]), y[test])
        scored = time.process_time()
    return {
        "kind": table.kind,
        "half": table.half,
        "n_train": len(train),
        "n_columns": X.shape[1],
        **measures,
        "fit_seconds": fitted - start,
        "score_seconds": scored - fitted,
        "warned": int(any(issubclass(w.category, ConvergenceWarning) for w in caught)),
    }


def run(plan: Plan, path: Path) -> None:
    """Run what the file does not hold, split by split, and append a row to it for each."""
    done = {tuple(row[name] for name in KEY) for row in read_rows([path])}
    for split in range(plan.n_splits):
        for table in plan.tables:
            for name, method in plan.methods.items():
                if (table.name, str(split), name) in done or table.kind not in method:
                    continue
                measures = run_one(table, split, method, plan.most_rows)
                if measures is not None:
                    row = {"table": table.name, "split": split, "method": name, **measures}
                    append_row(path, row)
                    print(_line(row), flush=True)


def _line(row: Mapping[str, Any]) -> str:
    seconds = row["fit_seconds"] + row["score_seconds"]
    return f"{row['table']} {row['split']} {row['method']}: {row['loss']:.4f}, {seconds:.1f} CPU s"


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Append a row, after a header where there is none; five significant digits are enough."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, restval="", lineterminator="\n")
        if is_new:
            writer.writeheader()
        numbers = {k: f"{v:.5g}" for k, v in row.items() if isinstance(v, float)}
        writer.writerow({**row, **numbers})


def read_rows(paths: Iterable[Path]) -> list[dict[str, str]]:
    """Return the rows of all files that exist."""
    rows: list[dict[str, str]] = []
    for path in paths:
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                rows += csv.DictReader(file)
    return rows


def losses(rows: Iterable[Mapping[str, str]], measure: str = "loss") -> dict[str, dict]:
    """Return table -> method -> split -> a measure, where it is known."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        if row[measure]:
            of_table = found.setdefault(row["table"], {})
            of_table.setdefault(row["method"], {})[int(row["split"])] = float(row[measure])
    return found


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> np.ndarray:
    """Return the differences, first minus second, on the splits that both have."""
    common = sorted(set(first) & set(second))
    return np.array([first[split] - second[split] for split in common])
