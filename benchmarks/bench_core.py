"""Cost of one proposal beside the primitives that it cannot avoid.

One `surr-site` proposal for a length scale needs the exponential over one triangle,
two Cholesky factorisations (potrf) and one product of triangles (lauum); one
`prior-white` proposal the exponential and one factorisation. Both are timed in turn
in the same process, on one BLAS thread, in CPU time; the table gives the medians and
the median ratio over the repeats.

    python -m benchmarks.bench_core [--smoke]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dlauum, dpotrf
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.likelihoods import BernoulliLogit

SIZES = [112, 200, 625]
DIMENSIONS = [1, 10, 34]
AIMS = {("surr-site", 200): 1.25, ("surr-site", 625): 1.1}
AIMS |= {("prior-white", n): aim for (_, n), aim in AIMS.items()}


def seconds(function: Callable[[], object], n_calls: int) -> float:
    """Return the CPU time of one call."""
    start = time.process_time()
    for _ in range(n_calls):
        function()
    return (time.process_time() - start) / n_calls


def make_chain(representation: str, n: int, dimension: int) -> Chain:
    """Return a chain on a classification problem of the given size."""
    rng = np.random.default_rng(0)
    X = rng.random((n, dimension))
    y = np.where(X.mean(axis=1) + 0.1 * rng.standard_normal(n) > 0.5, 1.0, -1.0)
    kernel = ConstantKernel(4.0, (0.1, 100.0)) * RBF(np.full(dimension, 1.0), (0.1, 10.0))
    model = LatentGaussianModel(kernel, X, BernoulliLogit(y))
    settings = SamplerSettings(representation)
    return Chain.start(model, settings, rng, kernel.theta)


def make_proposal(chain: Chain) -> Callable[[], object]:
    """Return a function that evaluates one proposal for a length scale, in turn."""
    rng = np.random.default_rng(1)
    conditional = chain.representation.condition(chain.state, rng)
    proposals = []
    for i in range(64):
        theta = chain.state.theta.copy()
        theta[1 + i % (len(theta) - 1)] += 0.1 * rng.standard_normal()
        proposals.append(theta)
    turn = iter(range(10**9))
    return lambda: conditional.evaluate(proposals[next(turn) % 64])


class Primitives:
    """The bare calls, on matrices like those of the proposals."""

    def __init__(self, chain: Chain) -> None:
        lower = np.tril(chain.state.factor.lower)
        self._lower = np.asfortranarray(lower)
        self._matrix = np.asfortranarray(lower @ lower.T)
        self._buffer = np.empty_like(self._matrix)
        n = len(lower)
        self._triangle = -np.random.default_rng(0).random(n * (n + 1) // 2)
        self._out = np.empty_like(self._triangle)

    def _restored(self, source: np.ndarray, call: Callable[[], object], n_calls: int) -> float:
        """Time an in-place call; the copy that restores its argument is taken off."""

        def restore() -> None:
            np.copyto(self._buffer, source)

        def both() -> None:
            np.copyto(self._buffer, source)
            call()

        return seconds(both, n_calls) - seconds(restore, n_calls)

    def measure(self, n_calls: int) -> tuple[float, float, float]:
        """Return the CPU times of exponential, potrf and lauum."""
        buffer = self._buffer
        exponential = seconds(lambda: np.exp(self._triangle, out=self._out), n_calls)
        potrf = self._restored(
            self._matrix, lambda: dpotrf(buffer, lower=1, clean=0, overwrite_a=1), n_calls
        )
        lauum = self._restored(self._lower, lambda: dlauum(buffer, lower=1, overwrite_c=1), n_calls)
        return exponential, potrf, lauum


def compare(n: int, dimension: int, n_calls: int, n_repeats: int) -> None:
    """Print the rows of one problem size."""
    chains = {name: make_chain(name, n, dimension) for name in ("surr-site", "prior-white")}
    proposals = {name: make_proposal(chain) for name, chain in chains.items()}
    primitives = Primitives(chains["surr-site"])
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in proposals}
    for _ in range(n_repeats):
        exponential, potrf, lauum = primitives.measure(n_calls)
        floors = {
            "surr-site": exponential + 2.0 * potrf + lauum,
            "prior-white": exponential + potrf,
        }
        for name, proposal in proposals.items():
            rows[name].append((seconds(proposal, n_calls), floors[name]))
    for name, times in rows.items():
        cost, floor = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
        ratios = sorted(a / b for a, b in times)
        quartiles = f"{ratios[len(ratios) // 4]:.2f}-{ratios[-1 - len(ratios) // 4]:.2f}"
        aim = AIMS.get((name, n))
        print(
            f"| {n} | {dimension} | {name} | {cost:.0f} | {floor:.0f} | "
            f"{statistics.median(ratios):.2f} | {quartiles} | {aim or ''} |"
        )


def latent_updates(n_repeats: int) -> float:
    """Return the milliseconds of ten elliptical slice updates at n = 200."""
    chain = make_chain("surr-site", 200, 10)
    return 1e3 * statistics.median(
        seconds(lambda: chain.update_latents(10), 20) for _ in range(n_repeats)
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few calls, to see that it runs")
    smoke = parser.parse_args().smoke
    n_repeats = 3 if smoke else 21
    print("| n | D | representation | proposal, us | primitives, us | ratio | quartiles | aim |")
    print("|---|---|---|---|---|---|---|---|")
    with threadpool_limits(limits=1, user_api="blas"), np.errstate(all="ignore"):
        for n in SIZES:
            n_calls = 3 if smoke else max(20, int(4e4 / n**1.5 * 20))
            for dimension in DIMENSIONS:
                compare(n, dimension, n_calls, n_repeats)
        print(
            f"\nten elliptical slice updates, n = 200, logit: {latent_updates(n_repeats):.2f} ms "
            "(aim: 0.6)"
        )


if __name__ == "__main__":
    main()
