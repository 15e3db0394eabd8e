"""The picture of quickstart.py: what was gained, which columns matter, calibration."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from skgpmcmc.displays import RelevanceDisplay

# Of Okabe and Ito, for the colour-blind: one for each model, in their order.
COLOURS = ("#0072B2", "#D55E00", "#B8860B", "0.4")
BINS = np.array([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
LEAST, MOST = 1e-3, 3.0  # ends of the axis of relevance


def draw(losses: dict, predictions: dict, columns: dict, path: str) -> None:
    """Draw everything.

    Parameters
    ----------
    losses : dict
        Name of a model -> log loss of each part.
    predictions : dict
        Name of a model -> probabilities, labels, and numbers of the rows, of all parts.
    columns : dict
        Their names, and their relevance: draws, optimised values, and prior intervals.
    path : str
        Where the picture goes.
    """
    figure = plt.figure(figsize=(13, 10), layout="constrained")
    above = ["losses", "losses", "relevance", "relevance"]
    mosaic: list = [above, list(predictions)]
    axes = figure.subplot_mosaic(mosaic, height_ratios=[1.3, 1.0])
    draw_losses(axes["losses"], losses)
    draw_relevance(axes["relevance"], **columns)
    for (name, pooled), colour in zip(predictions.items(), COLOURS, strict=True):
        p, y, row = pooled
        draw_calibration(axes[name], p, y, row, colour)
        axes[name].set_title(name, color=colour, fontsize=11)
    axes[next(iter(predictions))].set_ylabel("share of good returns")
    figure.supxlabel(
        "Calibration: points on the line are right (95 % intervals; below: how many predictions)",
        fontsize=11,
    )
    figure.savefig(path, dpi=100)


def draw_losses(ax, losses: dict) -> None:
    """Draw the log loss of each model in each part; a line joins those of one part."""
    ax.plot(np.array(list(losses.values())), color="0.85", linewidth=1)
    for i, (loss, colour) in enumerate(zip(losses.values(), COLOURS, strict=True)):
        ax.plot(np.full(len(loss), i), loss, "o", color=colour, alpha=0.6)
        ax.hlines(loss.mean(), i - 0.25, i + 0.25, color=colour, linewidth=3)
    names = [name.replace(" (", "\n(").replace("d, ", "d,\n") for name in losses]
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel("log loss (lower is better)")
    ax.set_title("Log loss: a point for each part that was learnt from, and means", fontsize=11)


def draw_relevance(ax, names: list[str], draws, prior, optimised) -> None:
    """Draw how much the columns matter; over it what the optimiser found in each part."""
    options = {"feature_names": names, "labels": ["integrated, all parts"], "prior": prior}
    display = RelevanceDisplay(draws[None], **options).plot(ax, max_features=14)
    values = np.clip(optimised[:, display.order_], LEAST, MOST)
    rows = np.tile(np.arange(values.shape[1]), len(values))
    label = "optimised, each part (at an edge: beyond)"
    ax.plot(values.ravel(), rows, "x", color=COLOURS[1], label=label)
    ax.set_xlim(0.8 * LEAST, 1.3 * MOST)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.08, 1.0), ncols=3)
    ax.set_title("Which columns matter? So few rows leave it open", fontsize=11, pad=26)


def draw_calibration(ax, p, y, row, colour: str) -> None:
    """Draw how often it came true in each bin of predictions, with intervals and counts."""
    bins = np.searchsorted(BINS[1:-1], p)
    ax.plot([0, 1], [0, 1], color="0.75", linewidth=1)
    for i in np.unique(bins):
        inside = bins == i
        predicted, observed = p[inside].mean(), y[inside].mean()
        # The predictions of one return, in several parts, count as one observation.
        n = len(np.unique(row[inside]))
        interval = stats.binomtest(round(observed * n), n).proportion_ci(method="wilson")
        ax.vlines(predicted, *interval, color=colour, linewidth=2)
        ax.plot(predicted, observed, "o", color=colour)
        middle = BINS[i : i + 2].mean()
        ax.text(middle, -0.15, inside.sum(), ha="center", fontsize=8, rotation=60)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.19, 1.03), xlabel="predicted probability of a good return")
