"""What predictions of many rows cost, beside plain numpy's sums over the same draws.

Three models of 100 rows and 4 columns, 200 draws each: `predict` of the regressor needs means of
the latent function alone; its `predict(return_std=True)`, `predict_proba` of the classifier and
rates of the Cox process need variances too. Plain numpy, for each draw and some thousand rows:
the kernel matrix by one product of scaled inputs and one exponential, its product with
K^-1 (f - m), and for variances one product with L^-1 and a sum of squares. It knows K^-1 (f - m)
and L^-1 beforehand, and makes nothing of the moments. Then some other predictions, and a single
row many times. CPU seconds, one thread, all in one process.

    python -m benchmarks.bench_predict [--smoke] [--rows 100000]
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

N_TRAIN, N_COLUMNS = 100, 4
DRAWS = {"n_chains": 2, "n_warmup": 50, "n_draws": 100, "random_state": 0}
SMOKE = {"n_chains": 1, "n_warmup": 5, "n_draws": 10, "random_state": 0}
# Rows at a time in plain numpy, the fastest of some sizes.
BLOCK = 2000
# A tenth of the rows is enough for what takes long for each row.
TENTH = 10
N_REPEATS = 100


def models(options: dict) -> dict[str, Any]:
    """Return the three fitted models."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_TRAIN, N_COLUMNS))
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {
            "regressor": MCMCGaussianProcessRegressor(**options).fit(
                X, f + 0.1 * rng.standard_normal(N_TRAIN)
            ),
            "classifier": MCMCGaussianProcessClassifier(**options).fit(
                X, f + 0.3 * rng.logistic(size=N_TRAIN) > 0.0
            ),
            "Cox process": MCMCCoxProcessRegressor(**options).fit(X, rng.poisson(np.exp(f))),
        }


class PlainSums:
    """The sums behind predictions, in plain numpy.

    Parameters
    ----------
    model : estimator
        With one latent function, and a constant times a squared exponential kernel.
    """

    def __init__(self, model: Any) -> None:
        self._X = model.X_train_
        (draws,) = model._posterior_draws()
        self._terms = []
        for d in range(len(draws)):
            given = draws._given(d)
            parameters = np.exp(given.cross.kernel.theta)
            inverse = np.linalg.inv(np.tril(draws._factor(given.cross.kernel, d)))
            weights = inverse.T @ (inverse @ (draws._values[d] - draws._mean[d]))
            self._terms.append((parameters[0], parameters[1:], inverse, weights, draws._mean[d]))

    def __call__(self, X: np.ndarray, variances: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return means, and perhaps variances, of the latent function given each draw."""
        mean = np.empty((len(self._terms), len(X)))
        variance = np.empty_like(mean) if variances else mean
        for d, (amplitude, scales, inverse, weights, offset) in enumerate(self._terms):
            train = self._X / scales
            train_squares = (train**2).sum(axis=1)[:, np.newaxis]
            for start in range(0, len(X), BLOCK):
                rows = slice(start, start + BLOCK)
                new = X[rows] / scales
                kernel = train @ new.T
                kernel -= 0.5 * train_squares
                kernel -= 0.5 * (new**2).sum(axis=1)
                np.exp(kernel, out=kernel)
                kernel *= amplitude
                mean[d, rows] = offset + weights @ kernel
                if variances:
                    root = inverse @ kernel
                    variance[d, rows] = amplitude - np.einsum("ij,ij->j", root, root)
        return mean, variance


def seconds(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def print_ratios(fitted: dict[str, Any], X: np.ndarray) -> None:
    """Print the table of predictions beside plain numpy's sums."""
    regressor, classifier, cox = fitted.values()
    cases: list[tuple[str, Any, bool, Callable[[], Any]]] = [
        ("regressor, predict", regressor, False, lambda: regressor.predict(X)),
        (
            "regressor, predict(return_std=True)",
            regressor,
            True,
            lambda: regressor.predict(X, return_std=True),
        ),
        ("classifier, predict_proba", classifier, True, lambda: classifier.predict_proba(X)),
        ("Cox process, predict", cox, True, lambda: cox.predict(X)),
    ]
    print(f"{len(X):,} rows\n\n| prediction | s | plain numpy, s | ratio |\n|---|---|---|---|")
    for name, model, variances, call in cases:
        sums = PlainSums(model)
        sums(X[:BLOCK], variances)
        plain = seconds(lambda sums=sums, variances=variances: sums(X, variances))
        ours = seconds(call)
        print(f"| {name} | {ours:.1f} | {plain:.1f} | {ours / plain:.2f} |", flush=True)


def print_others(fitted: dict[str, Any], X: np.ndarray) -> None:
    """Print what other predictions cost for each row, and a single row."""
    regressor, classifier, cox = fitted.values()
    counts, labels = np.ones(len(X)), np.ones(len(X), dtype=bool)
    cases: dict[str, Callable[[], Any]] = {
        "regressor, predict_interval": lambda: regressor.predict_interval(X),
        "regressor, log_predictive_density": lambda: regressor.log_predictive_density(X, counts),
        "classifier, predict_interval": lambda: classifier.predict_interval(X),
        "classifier, log_predictive_density": lambda: classifier.log_predictive_density(X, labels),
        "Cox process, predict_interval": lambda: cox.predict_interval(X),
        "Cox process, predict_quantiles": lambda: cox.predict_quantiles(X, [0.05, 0.95]),
        "Cox process, log_predictive_density": lambda: cox.log_predictive_density(X, counts),
    }
    print("\n| prediction | microseconds a row |\n|---|---|")
    for name, call in cases.items():
        print(f"| {name} | {1e6 * seconds(call) / len(X):.0f} |", flush=True)
    print("\n| a single row | first, ms | then, ms |\n|---|---|---|")
    for name, model in fitted.items():
        copy = pickle_copy(model)
        first = seconds(lambda copy=copy: copy.predict(X[:1]))
        rest = seconds(lambda copy=copy: [copy.predict(X[:1]) for _ in range(N_REPEATS)])
        print(f"| {name}, predict | {1e3 * first:.0f} | {1e3 * rest / N_REPEATS:.1f} |", flush=True)


def pickle_copy(model: Any) -> Any:
    """Return the model as it comes out of a file."""
    return pickle.loads(pickle.dumps(model))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="few rows, tiny chains")
    parser.add_argument("--rows", type=int, default=100_000, help="rows that are predicted")
    options = parser.parse_args()
    fitted = models(SMOKE if options.smoke else DRAWS)
    n_rows = 200 if options.smoke else options.rows
    X = np.random.default_rng(1).standard_normal((n_rows, N_COLUMNS))
    with threadpool_limits(1):
        print_ratios(fitted, X)
        print_others(fitted, X[: max(n_rows // TENTH, 1)])


if __name__ == "__main__":
    main()
