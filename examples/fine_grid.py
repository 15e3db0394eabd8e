"""A map of 10,000 cells
=====================

The intensity of simulated events in 100 by 100 cells, some of them not surveyed.

The log intensity is a Gaussian process whose variance, two length scales and mean are sampled
along with its 10,000 values. The cells form a grid, so that the covariance is a Kronecker product
and no matrix of 10,000 by 10,000 numbers is needed: dense ones would take hours. Cells that were
not surveyed are simply left out of the data; the model fills them in, with more uncertainty the
further away the data are.

::

    python examples/fine_grid.py [--quick] [--output fine_grid.png]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from skgpmcmc import MCMCCoxProcessRegressor

# The true process on the unit square: events per unit area, and hyperparameters of the log.
N_EVENTS, VARIANCE, LENGTH_SCALES = 4000.0, 1.0, (0.12, 0.25)
LEVEL = 0.9  # of the intervals
BAR = (1.03, 0.0, 0.045, 1.0)  # where a colour bar is, in units of its map


class Survey(NamedTuple):
    """Centres of all cells, true intensity and counts there, and which were surveyed."""

    X: np.ndarray
    intensity: np.ndarray
    counts: np.ndarray
    surveyed: np.ndarray


def simulate(n_cells: int, seed: int) -> Survey:
    """Draw a log-Gaussian Cox process in n_cells x n_cells cells; y varies fastest."""
    rng = np.random.default_rng(seed)
    middle = (np.arange(n_cells) + 0.5) / n_cells
    roots = [
        np.linalg.cholesky(RBF(scale)(middle[:, None]) + 1e-8 * np.eye(n_cells))
        for scale in LENGTH_SCALES
    ]
    log_intensity = np.log(N_EVENTS) - 0.5 * VARIANCE
    log_intensity += np.sqrt(VARIANCE) * (
        roots[0] @ rng.standard_normal((n_cells, n_cells)) @ roots[1].T
    )
    X = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    intensity = np.exp(log_intensity.ravel())
    lake = np.hypot(X[:, 0] - 0.3, X[:, 1] - 0.65) < 0.17
    corner = (X[:, 0] > 0.7) & (X[:, 1] < 0.25)
    return Survey(X, intensity, rng.poisson(intensity / n_cells**2), ~(lake | corner))


def print_diagnostics(model: MCMCCoxProcessRegressor) -> None:
    """Print the table of hyperparameters beside the truth."""
    truths = [VARIANCE, *LENGTH_SCALES, np.log(N_EVENTS) - 0.5 * VARIANCE, np.nan, np.nan]
    print(f"{'quantity':<30}{'truth':>10}{'mean':>11}{'sd':>9}{'ESS':>7}{'R-hat':>8}")
    for (name, row), truth in zip(model.diagnostics_.items(), truths, strict=True):
        known = "" if np.isnan(truth) else f"{truth:.3f}"
        print(
            f"{name:<30}{known:>10}{row['mean']:>11.3f}{row['sd']:>9.3f}{row['ess_bulk']:>7.0f}"
            f"{row['rhat']:>8.3f}"
        )


def plot(survey: Survey, mean: np.ndarray, interval: np.ndarray, path: str) -> None:
    """Draw truth and counts, and below them the mean intensity and its uncertainty."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator, ScalarFormatter

    n_cells = round(len(mean) ** 0.5)
    figure, axes = plt.subplots(2, 2, figsize=(11, 9.4), layout="constrained")
    counts = np.where(survey.surveyed, survey.counts, np.nan)
    lowest, highest = np.quantile(survey.intensity, [0.01, 1.0])
    log_scale = {"cmap": "cividis", "norm": LogNorm(lowest, highest)}
    maps: list[tuple] = [
        ("True intensity", survey.intensity, "events per unit area", log_scale),
        ("Counts; hatched: not surveyed", counts, "events in a cell", {"cmap": "cividis"}),
        ("Posterior mean intensity", mean, "events per unit area", log_scale),
        (
            "Uncertainty of the intensity",
            interval[:, 1] / interval[:, 0],
            f"upper / lower end of {100 * LEVEL:.0f} % intervals",
            {"cmap": "magma", "norm": LogNorm()},
        ),
    ]
    for panel, (title, values, label, scale) in zip(axes.flat, maps, strict=True):
        image = panel.imshow(
            values.reshape(n_cells, n_cells).T, origin="lower", extent=(0, 1, 0, 1), **scale
        )
        bar = figure.colorbar(image, cax=panel.inset_axes(BAR), label=label)
        if isinstance(image.norm, LogNorm):
            bar.set_ticks(LogLocator(subs=(1.0, 2.0, 5.0)), minor=False)
            bar.ax.yaxis.set_major_formatter(ScalarFormatter())
            bar.ax.minorticks_off()
        panel.set(title=title, xlabel="x", ylabel="y", aspect="equal")
    hidden = np.where(survey.surveyed, 0.0, 1.0).reshape(n_cells, n_cells).T
    middle = (np.arange(n_cells) + 0.5) / n_cells
    axes[0, 1].contourf(middle, middle, hidden, levels=[0.5, 1.5], colors="none", hatches=["///"])
    for panel, colour in zip(axes.flat, ["white", "black", "white", "white"], strict=True):
        panel.contour(middle, middle, hidden, levels=[0.5], colors=colour, linewidths=1.5)
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="20 by 20 cells, a few draws")
    parser.add_argument("--output", default="fine_grid.png", help="where the picture goes")
    arguments = parser.parse_args()

    n_cells = 100
    length: dict = {"n_chains": 2, "n_warmup": 150, "n_draws": 200}
    if arguments.quick:
        n_cells, length = 20, {"n_chains": 2, "n_warmup": 10, "n_draws": 20}
    survey = simulate(n_cells, seed=4)
    seen = survey.surveyed
    start = time.perf_counter()
    with warnings.catch_warnings():
        if arguments.quick:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = MCMCCoxProcessRegressor(random_state=0, **length)
        # With the cell's area as exposure, the rate is an intensity: events per unit area.
        model.fit(survey.X[seen], survey.counts[seen], exposure=1.0 / n_cells**2)
    print(
        f"{survey.counts[seen].sum()} events in {seen.sum()} of {n_cells} x {n_cells} cells, "
        f"{model.n_chains} chains of {model.n_iter_} iterations: "
        f"{time.perf_counter() - start:.1f} s\n"
    )
    print_diagnostics(model)
    start = time.perf_counter()
    mean, interval = model.predict(survey.X), model.predict_interval(survey.X, LEVEL)
    inside = (interval[:, 0] < survey.intensity) & (survey.intensity < interval[:, 1])
    print(f"\nmaps of all {len(survey.X)} cells: {time.perf_counter() - start:.1f} s")
    print(
        f"truth inside the {100 * LEVEL:.0f} % intervals: {100 * inside[seen].mean():.0f} % of the "
        f"surveyed cells, {100 * inside[~seen].mean():.0f} % of the others"
    )
    plot(survey, mean, interval, arguments.output)


if __name__ == "__main__":
    main()
