"""A map of a rate, with its uncertainty
=====================================

Redwood seedlings: their intensity, and where it surely differs from a constant.

Counts in 20 by 20 cells of the unit square are Poisson with a log intensity that is a Gaussian
process; its variance, two length scales and mean are sampled too. The grid is coarser than the
25 by 25 cells of Murray and Adams (2010) to stay within a minute: the time grows with the cube of
the number of cells. The length scales come out at about one cell's side, and shorter on finer
grids: the trees cluster more closely than the cells resolve.

::

    python examples/redwoods.py [--quick] [--output redwoods.png]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgpmcmc import MCMCCoxProcessRegressor
from skgpmcmc.datasets import load_redwoods

LEVELS = (0.9, 0.5)  # of the intervals that the right map is made of
BAR = (1.03, 0.0, 0.045, 1.0)  # where a colour bar is, in units of its map


def centres(n_cells: int) -> np.ndarray:
    """Return the centres of n_cells x n_cells cells of the unit square; y varies fastest."""
    middle = (np.arange(n_cells) + 0.5) / n_cells
    return np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)


def fit(points: np.ndarray, n_cells: int, length: dict) -> MCMCCoxProcessRegressor:
    """Fit the counts of the points in n_cells x n_cells cells."""
    edges = np.linspace(0.0, 1.0, n_cells + 1)
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=[edges, edges])
    model = MCMCCoxProcessRegressor(random_state=0, **length)
    # With the cell's area as exposure, the rate is an intensity: trees per unit area.
    return model.fit(centres(n_cells), counts.ravel(), exposure=1.0 / n_cells**2)


def certainty(model: MCMCCoxProcessRegressor, X: np.ndarray, reference: float) -> np.ndarray:
    """Return how many of the intervals lie above the reference, less how many lie below."""
    steps = np.zeros(len(X))
    for level in LEVELS:
        low, high = model.predict_interval(X, level).T
        steps += (low > reference).astype(float) - (high < reference)
    return steps


def print_diagnostics(model: MCMCCoxProcessRegressor) -> None:
    """Print the table of hyperparameters."""
    print(f"{'quantity':<30}{'mean':>9}{'sd':>9}{'ESS':>7}{'R-hat':>8}")
    for name, row in model.diagnostics_.items():
        numbers = f"{row['mean']:>9.3f}{row['sd']:>9.3f}{row['ess_bulk']:>7.0f}{row['rhat']:>8.3f}"
        print(f"{name:<30}{numbers}")


def plot(intensity: np.ndarray, steps: np.ndarray, points: np.ndarray, path: str) -> None:
    """Draw the mean intensity, and beside it where it is above or below the homogeneous one."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import BoundaryNorm, ListedColormap

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.7), layout="constrained")
    shape = {"origin": "lower", "extent": (0, 1, 0, 1)}
    image = left.imshow(intensity.T, cmap="cividis", vmin=0.0, **shape)
    figure.colorbar(image, cax=left.inset_axes(BAR), label="intensity (trees per unit area)")
    left.plot(*points.T, "o", color="white", markersize=3.5, markeredgecolor="black")
    left.set_title("Posterior mean intensity")
    # Blue to orange, as of Okabe and Ito: safe for the colour-blind.
    colours = ListedColormap(["#0072B2", "#A6CEE3", "#F2F2F2", "#F5C08F", "#D55E00"])
    image = right.imshow(steps.T, cmap=colours, norm=BoundaryNorm(np.arange(-2.5, 3.0), 5), **shape)
    bar = figure.colorbar(image, cax=right.inset_axes(BAR))
    bar.set_ticks([-1.5, -0.5, 0.5, 1.5], labels=["5 %", "25 %", "75 %", "95 %"])
    bar.set_label(f"posterior probability of more than {len(points)} trees per unit area")
    right.plot(*points.T, "o", color="black", markersize=2.5)
    right.set_title("Is it above the homogeneous intensity?")
    for axes in (left, right):
        axes.set(
            xlabel="x (unit: the square's side)",
            ylabel="y (unit: the square's side)",
            aspect="equal",
        )
    figure.savefig(path, dpi=110)
    print(f"\npicture: {path}")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10 by 10 cells, a few draws")
    parser.add_argument("--output", default="redwoods.png", help="where the picture goes")
    arguments = parser.parse_args()

    points = load_redwoods().points
    n_cells, length = 20, {"n_warmup": 40, "n_draws": 140}
    if arguments.quick:
        n_cells, length = 10, {"n_warmup": 10, "n_draws": 20}
    start = time.perf_counter()
    with warnings.catch_warnings():
        if arguments.quick:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = fit(points, n_cells, length)
    print(f"{n_cells} x {n_cells} cells, 4 chains of {model.n_iter_} iterations: ", end="")
    print(f"{time.perf_counter() - start:.1f} s\n")
    print_diagnostics(model)
    start = time.perf_counter()
    # Four pixels in each cell: all are equally far from its centre, or the grid would show.
    n_pixels = 2 * n_cells
    X = centres(n_pixels)
    intensity, steps = model.predict(X), certainty(model, X, len(points))
    print(f"\nmaps of {n_pixels} x {n_pixels} pixels: {time.perf_counter() - start:.1f} s")
    square = (n_pixels, n_pixels)
    plot(intensity.reshape(square), steps.reshape(square), points, arguments.output)


if __name__ == "__main__":
    main()
