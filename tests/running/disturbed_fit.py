"""A fit in a process of its own, to be interrupted or killed by the tests of that.

    python tests/running/disturbed_fit.py OUTPUT N_JOBS [CHECKPOINT [N_CHAINS N_DRAWS]]

Prints a line when the fit begins. Writes the draws to OUTPUT, an npz file, with the text of the
warnings, and of a KeyboardInterrupt in place of draws.
"""

import signal
import sys
import warnings

import numpy as np

from skgpmcmc import MCMCGaussianProcessClassifier

N_CHAINS, N_DRAWS = 2, 800


def problem():
    """Return inputs and labels of a small classification problem."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return X, X[:, 0] + 0.5 * rng.normal(size=30) > 0.0


def model(n_chains=N_CHAINS, n_draws=N_DRAWS, **options):
    """Return the estimator that is disturbed."""
    # The rule looks at the draws, and is never met.
    lengths = {"n_warmup": 150, "n_draws": int(n_draws), "min_ess": 1e9}
    return MCMCGaussianProcessClassifier(
        n_chains=int(n_chains), random_state=0, **lengths, **options
    )


def main(output, n_jobs, checkpoint=None, *numbers):
    """Fit, and write what came of it."""
    X, y = problem()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print("fit", flush=True)
        try:
            fitted = model(*numbers, n_jobs=int(n_jobs), checkpoint=checkpoint).fit(X, y)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt as error:
            print("KeyboardInterrupt", flush=True)
            np.savez(output, interrupt=str(error))
            return
    trace = fitted.trace_
    texts = [str(w.message) for w in caught]
    np.savez(output, theta=trace.theta, latent=trace.latent, warnings=texts)


if __name__ == "__main__":
    main(*sys.argv[1:])
