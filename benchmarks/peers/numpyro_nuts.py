"""NumPyro's NUTS with its default settings, in double precision."""

from __future__ import annotations

import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import NUTS

from .exchange import Lengths, Problem, Run, serve, stack_draws, timed


def make_model(problem: Problem) -> Any:
    """Return the model: f is whitened; with Gaussian noise it is integrated out."""
    X, y = jnp.asarray(problem.X), jnp.asarray(problem.y)
    n, n_columns = X.shape

    def log_uniform(bounds: tuple[float, float]) -> Any:
        return dist.Uniform(math.log(bounds[0]), math.log(bounds[1]))

    def covariance(log_variance: Any, log_length_scale: Any) -> Any:
        scaled = X / jnp.exp(log_length_scale)
        squares = (scaled**2).sum(axis=1)
        distances = squares[:, None] + squares - 2.0 * scaled @ scaled.T
        correlation = jnp.exp(-0.5 * jnp.maximum(distances, 0.0))
        diagonal = jnp.eye(n, dtype=bool)
        return jnp.exp(log_variance) * jnp.where(diagonal, 1.0 + problem.jitter, correlation)

    def model() -> None:
        log_variance = numpyro.sample("log_variance", log_uniform(problem.variance))
        scales = log_uniform(problem.length_scale).expand([n_columns]).to_event(1)
        K = covariance(log_variance, numpyro.sample("log_length_scale", scales))
        if problem.likelihood == "gaussian":
            noisy = K + problem.noise_variance * jnp.eye(n)
            numpyro.sample("y", dist.MultivariateNormal(0.0, covariance_matrix=noisy), obs=y)
            return
        mean = 0.0 if problem.mean is None else numpyro.sample("mean", dist.Normal(*problem.mean))
        white = numpyro.sample("white", dist.Normal(0.0, 1.0).expand([n]).to_event(1))
        latent = mean + jnp.linalg.cholesky(K) @ white
        if problem.likelihood == "logit":
            numpyro.sample("y", dist.Bernoulli(logits=latent).to_event(1), obs=(y + 1.0) / 2.0)
        else:
            numpyro.sample("y", dist.Poisson(jnp.exp(latent)).to_event(1), obs=y)

    return model


def sample(problem: Problem, lengths: Lengths, seed: int) -> Run:
    """Run the chains, compiled before the clock starts."""
    numpyro.enable_x64()
    begin = time.process_time()
    kernel = NUTS(make_model(problem))

    def iterate(state: Any, _: None) -> tuple[Any, Any]:
        state = kernel.sample(state, (), {})
        return state, (state.z, state.num_steps, state.diverging)

    keys = jax.random.split(jax.random.PRNGKey(seed), lengths.n_chains)
    states = [kernel.init(key, lengths.n_warmup) for key in keys]
    warm_up, draw = (
        jax.jit(lambda state, n=n: jax.lax.scan(iterate, state, length=n))
        .lower(states[0])
        .compile()
        for n in (lengths.n_warmup, lengths.n_draws)
    )
    setup_seconds = time.process_time() - begin
    constrain = jax.vmap(kernel.postprocess_fn((), {}))
    chains, warmup_seconds, seconds, n_steps, divergences = [], [], [], 0.0, 0
    for state in states:
        (warm, _), warmup = timed(lambda s=state: jax.block_until_ready(warm_up(s)))
        (_, kept), sampling = timed(lambda s=warm: jax.block_until_ready(draw(s)))
        warmup_seconds.append(warmup)
        seconds.append(sampling)
        unconstrained, steps, diverging = kept
        n_steps += float(steps.sum())
        divergences += int(diverging.sum())
        chains.append({k: np.asarray(v) for k, v in constrain(unconstrained).items()})
    return Run(
        **stack_draws(chains),
        warmup_seconds=np.array(warmup_seconds),
        seconds=np.array(seconds),
        evaluations=n_steps,
        n_warmup=lengths.n_warmup,
        divergences=divergences,
        setup_seconds=setup_seconds,
        versions={"numpyro": numpyro.__version__, "jax": jax.__version__},
    )


if __name__ == "__main__":
    serve(sample)
