"""CPU seconds of fits and predictions of this checkout beside those of another one.

Each measurement has a fresh process with one BLAS thread; the two checkouts take turns, and the
table gives medians, and the median of the ratios of neighbours with its range.

    python -m benchmarks.bench_versions OTHER [--repeats 5] [--smoke]

OTHER is a folder with another checkout, such as ``git worktree add ../before COMMIT`` makes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_BEGIN = """
import time, warnings
import numpy as np
from skgpmcmc import *
from skgpmcmc.datasets import load_coal_mining
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 4))
f = X[:, 0] + np.sin(2.0 * X[:, 1])
LENGTH = dict(n_chains=1, n_warmup=warmup, n_draws=draws, random_state=0, max_prediction_draws=200)
# Versions from 0.2 on would stop earlier, and take inducing points.
takes = MCMCGaussianProcessRegressor().get_params()
LENGTH |= {name: None for name in ("min_ess", "n_inducing") if name in takes}
grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2) / side
"""
_END = """
start = time.process_time()
model.fit(*data)
middle = time.process_time()
model.predict(data[0])
print(middle - start, time.process_time() - middle)
"""
CASES = {
    "classifier, slices": """
how = dict(representation="surr-site", hyperparameter_update="slice")
model = MCMCGaussianProcessClassifier(**how, **LENGTH)
data = X, f + rng.logistic(size=n) > 0.0
""",
    "classifier, collapsed": """
how = dict(representation="collapsed", hyperparameter_update="hmc")
model = MCMCGaussianProcessClassifier(**how, **LENGTH)
data = X, f + rng.logistic(size=n) > 0.0
""",
    "regressor": """
model = MCMCGaussianProcessRegressor(**LENGTH)
data = X, f + 0.3 * rng.normal(size=n)
""",
    "counts, post-ep": """
model = MCMCCoxProcessRegressor(**LENGTH)
data = load_coal_mining(return_X_y=True)
""",
    "counts on a grid": """
model = MCMCCoxProcessRegressor(representation="joint-post", **LENGTH)
data = grid, rng.poisson(np.exp(1.0 + np.sin(4.0 * grid[:, 0]) - grid[:, 1]))
""",
}


def measure(checkout: Path, code: str, sizes: dict[str, int]) -> tuple[float, float]:
    """Return CPU seconds of `fit` and `predict` in a fresh process."""
    begin = "".join(f"{name} = {value}\n" for name, value in sizes.items()) + _BEGIN
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"}
    script = begin + code + _END
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    fit, predict = map(float, result.stdout.split())
    return fit, predict


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", default=ROOT, help="default: this one")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="small and short")
    options = parser.parse_args()
    sizes = {"n": 150, "warmup": 100, "draws": 200, "side": 20}
    repeats = options.repeats
    if options.smoke:
        sizes, repeats = {"n": 20, "warmup": 10, "draws": 10, "side": 5}, 1
    print(f"{'':<24}{'':>9}{'other':>9}{'this':>9}{'this / other':>24}")
    for name, code in CASES.items():
        pairs = [
            [measure(checkout.resolve(), code, sizes) for checkout in (options.other, ROOT)]
            for _ in range(repeats)
        ]
        for i, what in enumerate(("fit", "predict")):
            other, this = ([pair[side][i] for pair in pairs] for side in (0, 1))
            ratios = sorted(b / a for a, b in zip(other, this, strict=True))
            shown = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            medians = f"{statistics.median(other):>9.2f}{statistics.median(this):>9.2f}"
            print(f"{name:<24}{what:>9}{medians}{shown:>24}", flush=True)


if __name__ == "__main__":
    main()
