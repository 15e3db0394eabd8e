"""Radar returns (Ionosphere): probabilities with the hyperparameters integrated out.

Trains on the first 200 rows, predicts the other 151, and compares with scikit-learn's
GaussianProcessClassifier, with its default kernel and with the same kernel. Prints
accuracy and log loss, the hyperparameters with their diagnostics, and the seconds;
saves a picture of the length scales and of the calibration.

    python examples/quickstart.py [--quick] [--output quickstart.png]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import accuracy_score, log_loss

from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc.datasets import load_ionosphere

N_TRAIN = 200


def make_models(n_features: int, quick: bool) -> dict:
    """Return the estimators to compare, by name."""
    kernel = ConstantKernel(1.0, (0.1, 100.0)) * RBF(np.ones(n_features), (0.1, 10.0))
    length = {"n_warmup": 10, "n_draws": 20} if quick else {"n_warmup": 250, "n_draws": 500}
    return {
        "skgpmcmc, ARD kernel": MCMCGaussianProcessClassifier(
            kernel, n_jobs=-1, random_state=0, **length
        ),
        "scikit-learn, default kernel": GaussianProcessClassifier(random_state=0),
        "scikit-learn, ARD kernel": GaussianProcessClassifier(kernel, random_state=0),
    }


def print_diagnostics(model: MCMCGaussianProcessClassifier) -> None:
    """Print the table of hyperparameters."""
    print(f"\n{'quantity':<30}{'mean':>9}{'sd':>9}{'ESS':>7}{'R-hat':>8}")
    for name, row in model.diagnostics_.items():
        numbers = f"{row['mean']:>9.3f}{row['sd']:>9.3f}{row['ess_bulk']:>7.0f}{row['rhat']:>8.3f}"
        print(f"{name:<30}{numbers}")


def plot(model: MCMCGaussianProcessClassifier, probabilities: dict, y, names, path: str) -> None:
    """Draw the posteriors of the length scales, and the calibration on the test rows."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 6.5), layout="constrained")
    scales = np.log10(model.posterior_["k2__length_scale"].reshape(-1, len(names)))
    order = np.argsort(np.median(scales, axis=0))[::-1]
    low, middle, high = np.quantile(scales[:, order], [0.05, 0.5, 0.95], axis=0)
    rows = np.arange(len(names))
    left.hlines(rows, low, high, color="0.6", linewidth=3)
    left.plot(middle, rows, "o", color="C0", markersize=5)
    left.set_yticks(rows, [names[i] for i in order], fontsize=8)
    left.set_xlabel("log10 of the length scale (short: relevant)")
    left.set_title("Length scales: median and 90 % interval")
    right.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for (name, p), marker in zip(probabilities.items(), "os^", strict=True):
        observed, predicted = calibration_curve(y, p, n_bins=6)
        right.plot(predicted, observed, marker=marker, label=name)
    right.set_xlabel("predicted probability of a good return")
    right.set_ylabel("observed frequency")
    right.set_title(f"Calibration on the {len(y)} test rows")
    right.legend(frameon=False)
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--output", default="quickstart.png", help="where the picture goes")
    arguments = parser.parse_args()

    data = load_ionosphere()
    X, y = data.data, data.target
    models = make_models(X.shape[1], arguments.quick)
    probabilities = {}
    print(f"{'on 151 test rows':<32}{'accuracy':>9}{'log loss':>10}{'seconds':>9}")
    for name, model in models.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            # scikit-learn warns that optimised length scales lie on their bounds.
            if not isinstance(model, MCMCGaussianProcessClassifier) or arguments.quick:
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[:N_TRAIN], y[:N_TRAIN])
        p = model.predict_proba(X[N_TRAIN:])[:, 1]
        elapsed = time.perf_counter() - start
        accuracy, loss = accuracy_score(y[N_TRAIN:], p > 0.5), log_loss(y[N_TRAIN:], p)
        print(f"{name:<32}{accuracy:>9.3f}{loss:>10.3f}{elapsed:>9.1f}")
        probabilities[name] = p
    mcmc = models["skgpmcmc, ARD kernel"]
    print_diagnostics(mcmc)
    plot(mcmc, probabilities, y[N_TRAIN:], data.feature_names, arguments.output)


if __name__ == "__main__":
    main()
