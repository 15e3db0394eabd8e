"""Curves: predictions with all of their intervals, of each class, and rates with events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array
from ._conversions import Convert, check_convert, convert_numbers
from ._style import BLUE, GREY, colours_of, draw_bands
from ._text import as_legend_label

_GOLDEN = 0.6180339887498949
# Where data of the classes 0 and 1 are drawn, outside of the probabilities.
_STRIP, _STRIP_HEIGHT = 0.03, 0.08
_ROW_HEIGHT = 0.04
# Colour of the band of new data.
_NEW = "#E6E6E6"
# Length of the marks of events, in units of the axis.
_RUG = 0.02

Artists = tuple[list[Any], list[Any], list[Any]]


def draw_single(ax: Any, of: Any, convert: Convert) -> Artists:
    """Draw one curve with all of its intervals; return lines, bands and points.

    Parameters
    ----------
    ax : matplotlib Axes
    of : PredictiveDisplay
    convert : callable or None
        From values of the column to what the axis shows.
    """
    x = convert_numbers(of.x, convert)
    bands = draw_bands(ax, x, of.intervals[0], of.confidence_levels, of.of_what)
    label = "mean" if of.is_probability else as_legend_label(of.labels[0])
    lines = ax.plot(x, of.mean[0], color=BLUE, linewidth=2.0, label=label)
    if of.x_observed is None or of.y_observed is None:
        return lines, bands, []
    there, where = _observed_at(of, convert)
    y = of.y_observed[0][there]
    if of.is_probability:
        # Evenly spread, whatever the order of the rows.
        jitter = _STRIP + _STRIP_HEIGHT * ((np.arange(len(y)) * _GOLDEN) % 1.0)
        y = np.where(y == 1.0, 1.0 + jitter, -jitter)
        for edge in (0.0, 1.0):
            ax.axhline(edge, color="0.8", linewidth=0.8, zorder=0)
    style = {"color": GREY, "markersize": 3.5, "alpha": 0.6, "markeredgewidth": 0.0}
    return lines, bands, ax.plot(where, y, "o", label=of.data_label, **style)


def draw_several(ax: Any, of: Any, convert: Convert) -> Artists:
    """Draw a curve for each class with its narrowest interval, as `draw_single`."""
    lines, bands, points = [], [], []
    across = convert_numbers(of.x, convert)
    colours = colours_of(len(of.mean))
    for k, (mean, label, colour) in enumerate(zip(of.mean, of.labels, colours, strict=True)):
        style = {"color": colour, "alpha": 0.2, "linewidth": 0}
        bands.append(ax.fill_between(across, *of.intervals[k, -1].T, **style))
        style = {"color": colour, "linewidth": 2.0, "label": as_legend_label(label)}
        lines += ax.plot(across, mean, **style)
        if of.x_observed is not None and of.y_observed is not None:
            there, where = _observed_at(of, convert)
            x = where[of.y_observed[k][there] == 1.0]
            height = np.full(len(x), 1.0 + _STRIP + _ROW_HEIGHT * k)
            points += ax.plot(x, height, "|", color=colour, markersize=5.0)
    ax.set_title(
        f"Means and {100 * of.confidence_levels[-1]:g} % intervals"
        + ("" if of.y_observed is None else "; data above"),
        fontsize="medium",
        loc="left",
    )
    return lines, bands, points


def draw_new(ax: Any, of: Any, convert: Convert) -> Any:
    """Draw the interval of new data behind everything else, if there is one; return the band."""
    if of.new_interval is None:
        return None
    label = f"{100 * max(of.confidence_levels):g} % {of.of_new}"
    style = {"color": _NEW, "linewidth": 0, "label": label, "zorder": 0.5}
    return ax.fill_between(convert_numbers(of.x, convert), *of.new_interval.T, **style)


def _observed_at(of: Any, convert: Convert) -> tuple[NDArray[np.bool_], Any]:
    """Return which data have a place on the axis, and where that is."""
    there = ~np.isnan(of.x_observed) & ~np.isnan(of.y_observed).any(axis=0)
    return there, convert_numbers(of.x_observed[there], convert)


def draw_training_edges(ax: Any, of: Any, convert: Convert) -> list[Any]:
    """Draw where the training data end along a curve; return the lines."""
    if not len(of.training_edges):
        return []
    style: dict[str, Any] = {"color": GREY, "linestyle": (0, (1, 2)), "linewidth": 1.2}
    edges = convert_numbers(np.asarray(of.training_edges, dtype=float), convert)
    return [
        ax.axvline(at, label="end of the training data" if i == 0 else None, **style)
        for i, at in enumerate(edges)
    ]


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
    what = "interval of the rate"
    bands = draw_bands(ax, x, of.intervals, of.confidence_levels or [], what)
    lines = ax.plot(x, of.mean, color=BLUE, linewidth=2.0, label="posterior mean")
    points = []
    if of.threshold is not None:
        label = f"threshold, {of.threshold:.10g}"
        ax.axhline(of.threshold, color=GREY, linestyle="--", linewidth=1.0, label=label)
    if of.events is not None:
        where = convert_numbers(of.events[:, 0], convert)
        style = {"color": "0.2", "markersize": 9.0, "transform": ax.get_xaxis_transform()}
        points = ax.plot(where, np.full(len(where), _RUG), "|", label="event", **style)
    ax.set(xlim=(x[0], x[-1]))
    ax.set_ylim(bottom=0.0)
    return lines, bands, points
