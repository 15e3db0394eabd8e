"""The data sets of the accuracy battery, and how they are split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from skgpmcmc.datasets import load_coal_mining, load_ionosphere, load_redwoods

SEED = 2010
_MAX_TEST = 300


@dataclass(frozen=True)
class Problem:
    """One data set; every model sees the same split and the same transformed columns."""

    name: str
    kind: str
    n_train: int
    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    n_components: int | None = None

    def transformers(self) -> list[Any]:
        """Return what comes before every model, fitted on the training rows only."""
        if self.n_components is None:
            return [StandardScaler()]
        return [StandardScaler(), PCA(self.n_components, whiten=True, random_state=SEED)]

    def splits(self, n_splits: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows for training and for testing."""
        X, y = self.load()
        stratified = self.kind == "classification"
        splitter = (StratifiedShuffleSplit if stratified else ShuffleSplit)(
            n_splits,
            train_size=self.n_train,
            test_size=min(len(X) - self.n_train, _MAX_TEST),
            random_state=SEED,
        )
        return splitter.split(X, y)


def _xy(loader: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    X, y = loader(return_X_y=True)
    return np.asarray(X, dtype=float), y


def _two_irises() -> tuple[np.ndarray, np.ndarray]:
    X, y = _xy(datasets.load_iris)
    return X[y > 0], y[y > 0]


def _iris_width() -> tuple[np.ndarray, np.ndarray]:
    X, _ = _xy(datasets.load_iris)
    return X[:, :3], X[:, 3]


def _wine_alcohol() -> tuple[np.ndarray, np.ndarray]:
    X, _ = _xy(datasets.load_wine)
    return X[:, 1:], X[:, 0]


def _four_digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = _xy(datasets.load_digits)
    kept = np.isin(y, [3, 5, 8, 9])
    return X[kept], y[kept]


def _linnerud_chins() -> tuple[np.ndarray, np.ndarray]:
    linnerud = datasets.load_linnerud()
    return linnerud.target, linnerud.data[:, 0].astype(int)


def _friedman() -> tuple[np.ndarray, np.ndarray]:
    return datasets.make_friedman1(400, n_features=10, noise=1.0, random_state=SEED)


PROBLEMS = {
    problem.name: problem
    for problem in [
        Problem("irises-2", "classification", 60, _two_irises),
        Problem("breast-cancer", "classification", 60, lambda: _xy(datasets.load_breast_cancer)),
        Problem("ionosphere", "classification", 60, lambda: _xy(load_ionosphere)),
        Problem("irises-3", "classification", 60, lambda: _xy(datasets.load_iris)),
        Problem("wine", "classification", 60, lambda: _xy(datasets.load_wine)),
        Problem("digits-3589", "classification", 80, _four_digits, n_components=6),
        Problem("diabetes", "regression", 100, lambda: _xy(datasets.load_diabetes)),
        Problem("wine-alcohol", "regression", 80, _wine_alcohol),
        Problem("iris-width", "regression", 60, _iris_width),
        Problem("friedman1", "regression", 80, _friedman),
        Problem("coal-mining", "counts", 75, lambda: _xy(load_coal_mining)),
        Problem("redwoods", "counts", 150, lambda: _xy(load_redwoods)),
        Problem("linnerud-chins", "counts", 14, _linnerud_chins),
    ]
}
