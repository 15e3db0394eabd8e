"""PyMC with nutpie's NUTS, its default settings and compiler (numba)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt

from .exchange import Lengths, Problem, Run, serve, stack_draws, timed


def make_model(problem: Problem) -> pm.Model:
    """Return the model: f is whitened; with Gaussian noise it is integrated out."""
    X, y = problem.X, problem.y
    n, n_columns = X.shape

    def log_uniform(name: str, bounds: tuple[float, float], shape: int | tuple = ()) -> Any:
        low, high = np.log(bounds)
        return pm.Uniform(name, low, high, shape=shape)

    def covariance(log_variance: Any, log_length_scale: Any) -> Any:
        scaled = X / pt.exp(log_length_scale)
        squares = (scaled**2).sum(axis=1)
        distances = squares[:, None] + squares - 2.0 * scaled @ scaled.T
        correlation = pt.exp(-0.5 * pt.maximum(distances, 0.0))
        off_diagonal = 1.0 - np.eye(n)
        return pt.exp(log_variance) * (
            correlation * off_diagonal + (1 + problem.jitter) * np.eye(n)
        )

    with pm.Model() as model:
        log_variance = log_uniform("log_variance", problem.variance)
        K = covariance(
            log_variance, log_uniform("log_length_scale", problem.length_scale, n_columns)
        )
        if problem.likelihood == "gaussian":
            noisy = K + problem.noise_variance * np.eye(n)
            pm.MvNormal("y", np.zeros(n), cov=noisy, observed=y)
            return model
        mean = 0.0 if problem.mean is None else pm.Normal("mean", *problem.mean)
        white = pm.Normal("white", shape=n)
        latent = mean + pt.linalg.cholesky(K) @ white
        if problem.likelihood == "logit":
            pm.Bernoulli("y", logit_p=latent, observed=(y > 0).astype(np.int64))
        else:
            pm.Poisson("y", pt.exp(latent), observed=y)
    return model


def sample(problem: Problem, lengths: Lengths, seed: int) -> Run:
    """Run the chains one after the other, compiled before the clock starts.

    Warm-up and sampling are one call: its CPU time is divided among them as the gradients are.
    """
    begin = time.process_time()
    compiled = nutpie.compile_pymc_model(make_model(problem))

    def run(n_warmup: int, n_draws: int, chain_seed: int) -> Any:
        options = {"chains": 1, "cores": 1, "progress_bar": False}
        return nutpie.sample(compiled, tune=n_warmup, draws=n_draws, seed=chain_seed, **options)

    # Whatever the first call compiles.
    run(2, 2, seed)
    setup_seconds = time.process_time() - begin
    chains, warmup_seconds, seconds, n_steps, divergences = [], [], [], 0.0, 0
    for chain_seed in np.random.SeedSequence(seed).generate_state(lengths.n_chains):
        trace, total = timed(lambda s=chain_seed: run(lengths.n_warmup, lengths.n_draws, int(s)))
        warming = float(trace.warmup_sample_stats["n_steps"].sum())
        sampling = float(trace.sample_stats["n_steps"].sum())
        warmup_seconds.append(total * warming / (warming + sampling))
        seconds.append(total * sampling / (warming + sampling))
        n_steps += sampling
        divergences += int(trace.sample_stats["diverging"].sum())
        chains.append({name: trace.posterior[name].to_numpy()[0] for name in trace.posterior})
    return Run(
        **stack_draws(chains),
        warmup_seconds=np.array(warmup_seconds),
        seconds=np.array(seconds),
        evaluations=n_steps,
        n_warmup=lengths.n_warmup,
        divergences=divergences,
        setup_seconds=setup_seconds,
        versions={"pymc": pm.__version__, "nutpie": nutpie.__version__},
    )


if __name__ == "__main__":
    serve(sample)
