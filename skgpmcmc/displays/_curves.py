"""Curves: predictions with all of their intervals, of each class, and rates with events."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._linalg import Array
from ._convert import Convert, check_convert, convert_numbers
from ._style import BLUE, GREY, colours_of, draw_bands
from ._text import as_legend_label

_GOLDEN = 0.6180339887498949
# Where data of the classes 0 and 1 are drawn, outside of the probabilities.
_STRIP, _STRIP_HEIGHT = 0.03, 0.08
_ROW_HEIGHT = 0.04
# Of events, in units of the axis.
_RUG = 0.02

Artists = tuple[list[Any], list[Any], list[Any]]


def draw_single(ax: Any, of: Any) -> Artists:
    """Draw one curve with all of its intervals; return lines, bands and points.

    Parameters
    ----------
    ax : matplotlib Axes
    of : PredictiveDisplay
    """
    bands = draw_bands(ax, of.x, of.intervals[0], of.confidence_levels)
    label = "mean" if of.is_probability else as_legend_label(of.labels[0])
    lines = ax.plot(of.x, of.mean[0], color=BLUE, linewidth=2.0, label=label)
    if of.x_observed is None or of.y_observed is None:
        return lines, bands, []
    y = of.y_observed[0]
    if of.is_probability:
        # Evenly spread, whatever the order of the rows.
        jitter = _STRIP + _STRIP_HEIGHT * ((np.arange(len(y)) * _GOLDEN) % 1.0)
        y = np.where(y == 1.0, 1.0 + jitter, -jitter)
        for edge in (0.0, 1.0):
            ax.axhline(edge, color="0.8", linewidth=0.8, zorder=0)
    style = {"color": GREY, "markersize": 3.5, "alpha": 0.6, "markeredgewidth": 0.0}
    return lines, bands, ax.plot(of.x_observed, y, "o", label="data", **style)


def draw_several(ax: Any, of: Any) -> Artists:
    """Draw a curve for each class with its narrowest interval, as `draw_single`."""
    lines, bands, points = [], [], []
    colours = colours_of(len(of.mean))
    for k, (mean, label, colour) in enumerate(zip(of.mean, of.labels, colours, strict=True)):
        style = {"color": colour, "alpha": 0.2, "linewidth": 0}
        bands.append(ax.fill_between(of.x, *of.intervals[k, -1].T, **style))
        style = {"color": colour, "linewidth": 2.0, "label": as_legend_label(label)}
        lines += ax.plot(of.x, mean, **style)
        if of.x_observed is not None and of.y_observed is not None:
            x = of.x_observed[of.y_observed[k] == 1.0]
            height = np.full(len(x), 1.0 + _STRIP + _ROW_HEIGHT * k)
            points += ax.plot(x, height, "|", color=colour, markersize=5.0)
    ax.set_title(
        f"Means and {100 * of.confidence_levels[-1]:g} % intervals"
        + ("" if of.x_observed is None else "; data above"),
        fontsize="medium",
        loc="left",
    )
    return lines, bands, points


def check_curve(points: Array, convert: Convert) -> None:
    """Raise a ValueError for points that are all the same, and what convert cannot mean."""
    if points[0, 0] == points[-1, 0]:
        raise ValueError(f"X must have two values or more, for a curve; got {points[0, 0]:.6g}.")
    check_convert(convert)
    convert_numbers(points[:, 0], convert)


def draw_rate(ax: Any, of: Any, convert: Convert) -> Artists:
    """Draw the rate over one column with its intervals and the events, as `draw_single`.

    Parameters
    ----------
    ax : matplotlib Axes
    of : IntensityDisplay
    convert : callable or None
        From values of the column to what the axis shows.
    """
    x = convert_numbers(of.X[:, 0], convert)
    bands = draw_bands(ax, x, of.intervals, of.confidence_levels or [])
    lines = ax.plot(x, of.mean, color=BLUE, linewidth=2.0, label="posterior mean")
    points = []
    if of.threshold is not None:
        ax.axhline(of.threshold, color=GREY, linestyle=":", label="threshold")
    if of.events is not None:
        where = convert_numbers(of.events[:, 0], convert)
        style = {"color": "0.2", "markersize": 9.0, "transform": ax.get_xaxis_transform()}
        points = ax.plot(where, np.full(len(where), _RUG), "|", label="event", **style)
    ax.set(xlim=(x[0], x[-1]))
    ax.set_ylim(bottom=0.0)
    return lines, bands, points
