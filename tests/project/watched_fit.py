"""Fits in a process that watches what it does; run by `test_safety`.

python tests/project/watched_fit.py offline
python tests/project/watched_fit.py files DIRECTORY_OF_TEMPORARY_FILES
"""

import sys
import threading
import warnings
from pathlib import Path

LENGTH = {"n_chains": 2, "n_warmup": 4, "n_draws": 60, "random_state": 0}


def refuse_connections():
    """Raise an error wherever anything of this process, in Python or not, makes a socket."""

    def hook(event, arguments):
        if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")):
            raise PermissionError(f"{event} {arguments}")

    sys.addaudithook(hook)
    import socket

    try:
        socket.socket()
    except PermissionError:
        return
    raise AssertionError("sockets can be made all the same")


def offline():
    """Do all that the package can do, without a network."""
    refuse_connections()
    import matplotlib

    matplotlib.use("Agg")

    import skgpmcmc
    from skgpmcmc import datasets, displays

    data = [datasets.load_ionosphere(return_X_y=True), datasets.load_redwoods(return_X_y=True)]
    data.append(datasets.make_gp_regression(n_samples=20, n_features=2, random_state=0)[:2])
    X, y = datasets.load_coal_mining(return_X_y=True)
    data.append((X, y))
    classifier = skgpmcmc.MCMCGaussianProcessClassifier(**LENGTH)
    classifier.fit(data[0][0][:20, :3], data[0][1][:20]).predict_proba(data[0][0][:2, :3])
    regressor = skgpmcmc.MCMCGaussianProcessRegressor(n_jobs=2, **LENGTH).fit(*data[2])
    regressor.predict(data[2][0])
    counts = skgpmcmc.MCMCCoxProcessRegressor(**LENGTH).fit(X, y)
    counts.predict(X[:3])
    displays.TraceDisplay.from_estimator(counts)
    displays.HyperparameterDisplay.from_estimator(classifier)
    displays.RelevanceDisplay.from_estimator(classifier)
    displays.PredictiveDisplay.from_estimator(regressor, data[2][0], feature=0)
    displays.IntensityDisplay.from_estimator(counts, X)


def files(directory):
    """Fit in two processes with a checkpoint; print what was in the directory meanwhile."""
    import numpy as np
    from sklearn.gaussian_process.kernels import RBF

    from skgpmcmc import MCMCGaussianProcessRegressor

    seen, ended = set(), threading.Event()

    def look():
        while not ended.wait(0.005):
            seen.update(path.name for path in Path(directory).iterdir())

    thread = threading.Thread(target=look)
    thread.start()
    # More than a megabyte: joblib hands it on in a file of its own.
    X = np.random.default_rng(0).standard_normal((220, 600))
    model = MCMCGaussianProcessRegressor(RBF(30.0), n_jobs=2, checkpoint="chains", **LENGTH)
    model.fit(X, X[:, 0]).predict(X[:50])
    model.set_params(checkpoint=None).fit(X, X[:, 0]).predict(X[:50])
    ended.set()
    thread.join()
    print("\n".join(sorted(seen)))


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "The chains have not converged")
    {"offline": offline, "files": files}[sys.argv[1]](*sys.argv[2:])
