"""Chains on a cluster
===================

The same fit serially and on Dask workers, and the same draws.

Starts a cluster of two worker processes on this machine; for workers on others, pass the address
of their scheduler. Needs the `dask` extra.

::

    python examples/dask_cluster.py [--quick] [--scheduler tcp://host:8786]
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import ExitStack

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc.datasets import load_ionosphere


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few draws, to see that it runs")
    parser.add_argument("--scheduler", help="address of a running scheduler")
    arguments = parser.parse_args()

    from dask.distributed import Client, LocalCluster

    X, y = load_ionosphere(return_X_y=True)
    X, y = X[:200], y[:200]
    length: dict = {"n_warmup": 5, "n_draws": 5} if arguments.quick else {"n_draws": 250}
    if arguments.quick:
        warnings.simplefilter("ignore", ConvergenceWarning)
    model = MCMCGaussianProcessClassifier(n_chains=4, random_state=0, **length)

    with ExitStack() as stack:
        address = arguments.scheduler or stack.enter_context(
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        )
        client = stack.enter_context(Client(address))
        n_workers = len(client.ncores())
        start = time.perf_counter()
        with joblib.parallel_config(backend="dask"):
            model.fit(X, y)
        print(
            f"{model.n_chains} chains on {n_workers} workers: {time.perf_counter() - start:.1f} s"
        )
    spread = model.trace_.theta

    start = time.perf_counter()
    serial = model.fit(X, y).trace_.theta
    print(f"one after the other: {time.perf_counter() - start:.1f} s")
    print(f"the same draws, bit for bit: {np.array_equal(spread, serial)}")


if __name__ == "__main__":
    main()
