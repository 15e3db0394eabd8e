"""What is held fixed, and how far a chain then moves
==================================================

Hyperparameters and the latent function are sampled in turn. While a hyperparameter moves, something
else is held fixed, and what that is decides how far it can move. Two pictures:

- A regression with one unknown length scale, with weak and with strong data. Each line is the
  density of the length scale given what is held fixed: f itself, the variable nu that the prior
  whitens (f = L nu), or surrogate data g and the variable eta. The grey area is the posterior. A
  line that is much narrower than the area makes a slow chain. The states are typical ones: each
  line is the mean of the densities of many states, each moved so that its maximum is at 0.
- Chains of the length scale of the coal mining explosions, for four representations, with as many
  covariance matrices each; and how many effective draws a thousand of them give.

::

    python examples/representations.py [--quick] [--output representations]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.datasets import load_coal_mining
from skgpmcmc.diagnostics import ess_bulk

INPUTS = np.linspace(0.0, 6.0, 40)[:, None]
LENGTH_SCALE = 1.0  # that made the data
GRID = np.linspace(np.log(0.1), np.log(10.0), 301)  # of log length scales, evenly likely
JITTER = 1e-6
NOISES = {"weak data: noise of variance 1": 1.0, "strong data: noise of variance 0.01": 0.01}
# Okabe and Ito: safe for the colour-blind.
STYLES = {
    "f": ("#D55E00", "-"),
    "nu (prior whitened)": ("#009E73", (0, (6, 1.5))),
    "g and eta (surrogate data)": ("#0072B2", "-."),
}
SHOWN = 4000  # covariance matrices
CHAINS = ("fixed", "prior-white", "surr-site", "post-ep")


def covariance(log_scale: float) -> np.ndarray:
    """Return the prior covariance of f, of variance 1."""
    return RBF(np.exp(log_scale))(INPUTS) + JITTER * np.eye(len(INPUTS))


class Scale:
    """All that depends on one length scale; observations and surrogate data have the same noise."""

    def __init__(self, log_scale: float, noise: float) -> None:
        prior, identity = covariance(log_scale), np.eye(len(INPUTS))
        self.noise = noise
        self.prior_root = np.linalg.cholesky(prior)
        self.root = np.linalg.cholesky(prior + noise * identity)
        self.gain = np.linalg.solve(prior + noise * identity, prior).T
        self.posterior_root = np.linalg.cholesky(noise * 0.5 * (self.gain + self.gain.T))

    def log_marginal(self, y: np.ndarray) -> float:
        """Return log N(y; 0, Sigma + s I)."""
        return log_normal(self.root, y)

    def log_likelihood(self, f: np.ndarray, y: np.ndarray) -> float:
        """Return log N(y; f, s I), up to a constant."""
        return -0.5 * np.sum((y - f) ** 2) / self.noise


def log_normal(root: np.ndarray, values: np.ndarray) -> float:
    """Return log N(values; 0, root root'), up to a constant."""
    whitened = np.linalg.solve(root, values)
    return -0.5 * whitened @ whitened - np.log(np.diag(root)).sum()


def conditionals(scales: list[Scale], state: int, y: np.ndarray, rng) -> dict[str, np.ndarray]:
    """Return the log density of the length scale given what is held fixed, at one drawn state."""
    now = scales[state]
    f = now.gain @ y + now.posterior_root @ rng.standard_normal(len(y))
    nu = np.linalg.solve(now.prior_root, f)
    g = f + np.sqrt(now.noise) * rng.standard_normal(len(y))
    eta = np.linalg.solve(now.posterior_root, f - now.gain @ g)

    def surrogate(scale: Scale) -> float:
        moved = scale.gain @ g + scale.posterior_root @ eta
        return scale.log_likelihood(moved, y) + scale.log_marginal(g)

    found = (
        [log_normal(scale.prior_root, f) for scale in scales],
        [scale.log_likelihood(scale.prior_root @ nu, y) for scale in scales],
        [surrogate(scale) for scale in scales],
    )
    return dict(zip(STYLES, map(np.array, found), strict=True))


def normalised(log_density: np.ndarray) -> np.ndarray:
    """Return the density on the grid."""
    density = np.exp(log_density - log_density.max())
    return density / (density.sum() * (GRID[1] - GRID[0]))


def centred(density: np.ndarray) -> np.ndarray:
    """Return the density with its maximum in the middle of a grid of twice the width."""
    moved = np.zeros(2 * len(GRID) - 1)
    start = len(GRID) - 1 - density.argmax()
    moved[start : start + len(GRID)] = density
    return moved


def spread(density: np.ndarray) -> float:
    """Return the standard deviation of the log length scale."""
    weights = density / density.sum()
    return float(np.sqrt(weights @ (GRID - weights @ GRID) ** 2))


def draw_conditionals(path: Path, n_states: int) -> None:
    """Draw and print how much of the posterior is left to a move, for weak and strong data."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    offsets = (GRID[1] - GRID[0]) * np.arange(1 - len(GRID), len(GRID))
    print(f"{'standard deviation of log l given':<36}{'weak data':>11}{'strong data':>13}")
    table: dict[str, list[float]] = {}
    for axes, (title, noise) in zip(panels, NOISES.items(), strict=True):
        rng = np.random.default_rng(1)
        truth = np.linalg.cholesky(covariance(np.log(LENGTH_SCALE))) @ rng.standard_normal(40)
        y = truth + np.sqrt(noise) * rng.standard_normal(len(truth))
        scales = [Scale(log_scale, noise) for log_scale in GRID]
        posterior = normalised(np.array([scale.log_marginal(y) for scale in scales]))
        axes.fill_between(offsets, centred(posterior), color="0.85", label="posterior")
        table.setdefault("y alone: the posterior", []).append(spread(posterior))
        width = 3.0 * spread(posterior)
        states = rng.choice(len(GRID), n_states, p=posterior / posterior.sum())
        drawn = [conditionals(scales, state, y, rng) for state in states]
        for name, (colour, style) in STYLES.items():
            densities = [normalised(each[name]) for each in drawn]
            mean = np.mean([centred(density) for density in densities], axis=0)
            axes.plot(offsets, mean, color=colour, linestyle=style, linewidth=2, label=name)
            table.setdefault(name, []).append(float(np.mean([spread(d) for d in densities])))
        axes.set(title=title, xlabel="log length scale, from the maximum", xlim=(-width, width))
        axes.set_ylim(0.0, 5.0 * posterior.max())
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
    for name, (weak, strong) in table.items():
        print(f"{name:<36}{weak:>11.3f}{strong:>13.3f}")
    panels[0].set_ylabel("density given what is held fixed")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    print(f"picture: {path}\n")


def draw_chains(path: Path, n_draws: int) -> None:
    """Draw and print how fast chains of the same posterior mix, with as many covariances each."""
    X, y = load_coal_mining(return_X_y=True)
    figure, panels = plt.subplots(
        len(CHAINS), 1, figsize=(11, 6.5), sharex=True, sharey=True, layout="constrained"
    )
    print(f"{'representation':<16}{'effective draws per 1000 covariances':>38}")
    for axes, representation in zip(panels, CHAINS, strict=True):
        model = MCMCCoxProcessRegressor(
            representation=representation,
            hyperparameter_update="slice",
            n_chains=1,
            n_warmup=200,
            n_draws=n_draws,
            min_ess=None,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        lengths = model.posterior_["k2__length_scale"].reshape(1, -1)
        n_covariances = model.trace_.sampling[0].n_covariances
        efficiency = 1e3 * ess_bulk(np.log(lengths)) / n_covariances
        print(f"{representation:<16}{efficiency:>38.1f}")
        shown = int(SHOWN * n_draws / n_covariances)
        axes.plot(np.linspace(0, SHOWN, shown), lengths[0, :shown], color="#0072B2", linewidth=1)
        axes.set_title(representation, loc="left", fontsize=10)
        axes.set(
            yscale="log", ylabel="length scale", yticks=(10, 30, 100), yticklabels=(10, 30, 100)
        )
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("covariance matrices constructed")
    figure.savefig(path, dpi=110)
    print(f"picture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer states, shorter chains")
    parser.add_argument("--output", default="representations", help="folder of the pictures")
    arguments = parser.parse_args()

    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    draw_conditionals(folder / "held_fixed.png", 20 if arguments.quick else 200)
    draw_chains(folder / "chains.png", 400 if arguments.quick else 3000)


if __name__ == "__main__":
    main()
