"""Why a fixed latent function pins the length scale
=================================================

Figure 1 of Murray and Adams (2010).

Draws one whitened variable nu and makes of it a latent function f = L nu, L L' = Sigma, for
each of three length scales (equation 5). Then computes, on a grid, the posterior of the
length scale given each f, N(f; 0, Sigma) p(l), with a log-uniform prior (equation 4). A chain
that holds f while it updates the length scale cannot step further than about the width of
these peaks, whatever the data say; the widths are printed. The paper does not state its
length scales and inputs; these are ours.

::

    python examples/prior_draws.py [--quick] [--output prior_draws.png]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.gaussian_process.kernels import RBF

LENGTH_SCALES = (0.1, 0.5, 2.0)
INPUTS = np.linspace(0.0, 10.0, 201)[:, None]
BOUNDS = (0.01, 100.0)  # of the log-uniform prior
JITTER = 1e-6  # relative to the signal variance, which is 1
COLOURS = ("#D55E00", "#009E73", "#0072B2")  # Okabe and Ito: safe for the colour-blind
STYLES = ("-", (0, (6, 1.5)), "-.")


def covariance(length_scale: float) -> np.ndarray:
    """Return Sigma, the covariance of f at INPUTS."""
    return RBF(length_scale)(INPUTS) + JITTER * np.eye(len(INPUTS))


def principal_root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric L with L L' = matrix.

    Any square root is right. This one smooths nu in place, so that the draws keep its trend;
    of the lower Cholesky factor, with which the samplers compute, a long length scale sees little
    but the first elements of nu.
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values)) @ vectors.T


def log_density(latents: np.ndarray, length_scale: float) -> np.ndarray:
    """Return log N(f; 0, Sigma), up to a constant, for each column f."""
    factor = np.linalg.cholesky(covariance(length_scale))
    whitened = solve_triangular(factor, latents, lower=True)
    return -0.5 * np.sum(whitened**2, axis=0) - np.sum(np.log(np.diag(factor)))


def posterior_given_latents(latents: np.ndarray, log_grid: np.ndarray) -> np.ndarray:
    """Return p(log l | f) on the even grid, a column for each f."""
    log_posterior = np.array([log_density(latents, scale) for scale in np.exp(log_grid)])
    density = np.exp(log_posterior - log_posterior.max(axis=0))
    return density / (density.sum(axis=0) * (log_grid[1] - log_grid[0]))


def print_widths(log_grid: np.ndarray, density: np.ndarray) -> None:
    """Print the mean and the standard deviation of each posterior."""
    step = log_grid[1] - log_grid[0]
    prior_sd = np.log(BOUNDS[1] / BOUNDS[0]) / np.sqrt(12.0)
    print(f"{'l that made f':>13}{'exp(mean log l)':>18}{'sd of log l':>14}{'prior sd':>11}")
    for scale, column in zip(LENGTH_SCALES, density.T, strict=True):
        mean = step * np.sum(column * log_grid)
        sd = np.sqrt(step * np.sum(column * (log_grid - mean) ** 2))
        print(f"{scale:>13g}{np.exp(mean):>18.3f}{sd:>14.4f}{prior_sd:>11.2f}")


def plot(latents: np.ndarray, log_grid: np.ndarray, density: np.ndarray, path: str) -> None:
    """Draw the latent functions, and beside them the posteriors of their length scales."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for scale, f, p, colour, style in zip(
        LENGTH_SCALES, latents.T, density.T, COLOURS, STYLES, strict=True
    ):
        label = f"$\\ell$ = {scale:g}"
        left.plot(INPUTS[:, 0], f, color=colour, linestyle=style, linewidth=1.8, label=label)
        right.plot(np.exp(log_grid), p, color=colour, linewidth=1.5)
        right.fill_between(np.exp(log_grid), p, color=colour, alpha=0.3, linewidth=0)
        right.annotate(
            label, (scale, p.max()), (0, 5), textcoords="offset points", ha="center", color=colour
        )
    left.set(xlabel="input x", ylabel="latent function f(x)", xlim=(0, 10), ylim=(-3, 3.6))
    left.set_title(r"Prior draws that share the whitened variable $\nu$")
    left.legend(frameon=False, ncols=3, loc="upper center")
    ticks = (0.05, 0.1, 0.2, 0.5, 1, 2, 5)
    right.set(xscale="log", xlim=(0.04, 6), ylim=(0, 1.15 * density.max()))
    right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    right.set_xticks([], minor=True)
    right.set(xlabel="length scale $\\ell$ (logarithmic)", ylabel="density of $\\log\\,\\ell$")
    right.set_title("What each draw says of its length scale: p(log $\\ell$ | f)")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a coarser grid")
    parser.add_argument("--output", default="prior_draws.png", help="where the picture goes")
    arguments = parser.parse_args()

    nu = np.random.default_rng(4).standard_normal(len(INPUTS))
    latents = np.column_stack([principal_root(covariance(scale)) @ nu for scale in LENGTH_SCALES])
    low, high = np.log(BOUNDS)
    log_grid = np.linspace(low, high, 1500 if arguments.quick else 3000)
    density = posterior_given_latents(latents, log_grid)
    print_widths(log_grid, density)
    plot(latents, log_grid, density, arguments.output)


if __name__ == "__main__":
    main()
