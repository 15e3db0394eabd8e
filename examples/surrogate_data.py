"""What a new length scale does to the latent function
===================================================

Figure 2 of Murray and Adams (2010).

Observations with Gaussian noise, and a chain whose current state (length scale 0.3, f) follows
them; the length scale 1.5 is proposed. What becomes of f depends on what is held fixed:

- f itself (Algorithm 1): nothing, but f is much too crooked for the new length scale (how large
  the log ratio becomes is a matter of the jitter);
- the variable nu that the prior whitens, f = L nu (Algorithm 2): f becomes smooth, and forgets
  the observations;
- surrogate data g ~ N(f, S) and eta, f = m + L_R eta (Algorithm 3, equations 9 and 10, S the
  noise of the observations): f becomes smooth, and stays near where it was.

Draws the picture, and prints how often each proposal would be accepted.

::

    python examples/surrogate_data.py [--quick] [--output surrogate_data.png]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats
from sklearn.gaussian_process.kernels import RBF

CURRENT, PROPOSED = 0.3, 1.5  # length scales, as in the paper
INPUTS = np.linspace(0.0, 3.0, 31)[:, None]
NOISE_VARIANCE = 0.09
JITTER = 1e-6  # relative to the signal variance, which is 1
GREY, BLUE, ORANGE = "0.82", "#0072B2", "#D55E00"  # Okabe and Ito: safe for the colour-blind


def covariance(length_scale: float) -> np.ndarray:
    """Return Sigma, the prior covariance of f."""
    return RBF(length_scale)(INPUTS) + JITTER * np.eye(len(INPUTS))


def pseudo_posterior(g: np.ndarray, length_scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of f given g ~ N(f, S), and the Cholesky factor of its covariance R (9)."""
    sigma = covariance(length_scale)
    gain = np.linalg.solve(sigma + NOISE_VARIANCE * np.eye(len(g)), sigma).T
    # R = Sigma (Sigma + S)^-1 S: no difference of matrices, in which digits would cancel.
    return gain @ g, np.linalg.cholesky(NOISE_VARIANCE * 0.5 * (gain + gain.T))


def hold_whitened(f: np.ndarray, new: float) -> np.ndarray:
    """Return f for the new length scale with nu held (Algorithm 2, steps 1 and 3)."""
    nu = np.linalg.solve(np.linalg.cholesky(covariance(CURRENT)), f)
    return np.linalg.cholesky(covariance(new)) @ nu


def hold_surrogate(f: np.ndarray, g: np.ndarray, new: float) -> np.ndarray:
    """Return f for the new length scale with g and eta held (Algorithm 3, steps 2 and 4)."""
    mean, factor = pseudo_posterior(g, CURRENT)
    eta = np.linalg.solve(factor, f - mean)
    mean, factor = pseudo_posterior(g, new)
    return mean + factor @ eta


def log_likelihood(f: np.ndarray, y: np.ndarray) -> float:
    """Return log L(f)."""
    return float(stats.norm(f, np.sqrt(NOISE_VARIANCE)).logpdf(y).sum())


def log_acceptance(f: np.ndarray, g: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the log of each acceptance ratio, with q symmetric and p_h flat in log l."""

    def log_normal_ratio(z: np.ndarray, noise: float) -> float:
        new, old = (
            stats.multivariate_normal(cov=covariance(scale) + noise * np.eye(len(z))).logpdf(z)
            for scale in (PROPOSED, CURRENT)
        )
        return new - old

    now = log_likelihood(f, y)
    surrogate = log_likelihood(hold_surrogate(f, g, PROPOSED), y) - now
    return {
        "f": log_normal_ratio(f, 0.0),
        "nu (prior whitened)": log_likelihood(hold_whitened(f, PROPOSED), y) - now,
        "g and eta (surrogate data)": surrogate + log_normal_ratio(g, NOISE_VARIANCE),
    }


def draw_state(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return f, drawn given the observations and the current length scale, and g given f."""
    mean, factor = pseudo_posterior(y, CURRENT)  # S is the observations' noise: the posterior
    f = mean + factor @ rng.standard_normal(len(y))
    return f, f + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(len(y))


def print_acceptance(y: np.ndarray, n_states: int, rng: np.random.Generator) -> None:
    """Print quantiles of the log ratio, and the acceptance probability, over many states."""
    ratios = [log_acceptance(*draw_state(y, rng), y) for _ in range(n_states)]
    print(f"l = {CURRENT} -> {PROPOSED}, {n_states} states (f, g)")
    print(f"{'held fixed':<28}{'median log ratio':>17}{'mean acceptance':>17}")
    for name in ratios[0]:
        log_ratio = np.array([each[name] for each in ratios])
        acceptance = np.exp(np.minimum(log_ratio, 0.0)).mean()
        print(f"{name:<28}{np.median(log_ratio):>17.1f}{acceptance:>17.3f}")


def plot(f: np.ndarray, g: np.ndarray, y: np.ndarray, path: str) -> None:
    """Draw the current and the proposed latent function for both representations."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    proposals = (hold_whitened(f, PROPOSED), hold_surrogate(f, g, PROPOSED))
    titles = (r"Whitening the prior: $\nu$ is held", r"Surrogate data: g and $\eta$ are held")
    x, two_sigma = INPUTS[:, 0], 2.0 * np.sqrt(NOISE_VARIANCE)
    for axes, proposal, title in zip(panels, proposals, titles, strict=True):
        axes.vlines(
            x,
            y - two_sigma,
            y + two_sigma,
            color=GREY,
            linewidth=5,
            label=r"observations ± $2\sigma$",
        )
        axes.plot(x, f, color=BLUE, linewidth=2, label=f"current f, $\\ell$ = {CURRENT}")
        label = f"proposed f, $\\ell$ = {PROPOSED}"
        axes.plot(x, proposal, color=ORANGE, linewidth=2, linestyle=(0, (5, 1.5)), label=label)
        now, then = log_likelihood(f, y), log_likelihood(proposal, y)
        axes.set_title(f"{title}\nlog likelihood: ${now:.0f}$, then ${then:.0f}$")
        axes.set_xlabel("input x")
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].plot(x, g, "o", color="black", markerfacecolor="none", label="surrogate data g")
    panels[0].set_ylabel("latent function f(x)")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer states")
    parser.add_argument("--output", default="surrogate_data.png", help="where the picture goes")
    arguments = parser.parse_args()

    rng = np.random.default_rng(0)
    truth = np.sin(1.5 * INPUTS[:, 0])
    y = truth + np.sqrt(NOISE_VARIANCE) * rng.standard_normal(len(truth))
    f, g = draw_state(y, rng)
    print_acceptance(y, 50 if arguments.quick else 1000, rng)
    plot(f, g, y, arguments.output)


if __name__ == "__main__":
    main()
