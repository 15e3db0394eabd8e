"""Colours and axes that all displays share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._linalg import Array

# Colours of Okabe and Ito, safe for the colour-blind; their yellow is too pale for lines on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
BLUE, ORANGE = COLOURS[0], COLOURS[3]
GREY, PALE_GREY = "0.35", "0.8"
# Colours of nested intervals, the widest one first.
BLUES = ("#D6E8F4", "#9CC7E2", "#5FA3CF")
SMALL = 8
# Lines of a column of a legend; letters of a line of one that stands inside of the axes.
_LONGEST_LEGEND, _NARROW_LEGEND = 24, 18
# Powers of ten of numbers that are written out, and intervals of an axis, at most.
_WRITTEN_OUT, _N_TICKS = (-4, 9), 5
# Inches that a date takes on an axis, and dates, at most.
_DATE, _N_DATES = 0.7, 9
_ENOUGH_DATES = 7
# Ratios of the ends of a logarithmic axis; up to each it has ticks at these digits.
_NARROW = 5.0
_DIGITS = ((30.0, (1.0, 2.0, 5.0)), (300.0, (1.0, 3.0)), (np.inf, (1.0,)))
# Linear intervals of a narrower one: its numbers need more digits below a ratio of 1.3.
_N_LINEAR, _N_LONG, _LONG = 3, 2, 1.3
# Powers of ten of numbers that are written out on a logarithmic axis.
_PLAIN = (-3, 3)


def colours_of(n: int) -> list[str]:
    """Return a colour for each of n chains or classes."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if n <= len(COLOURS):
        return list(COLOURS[:n])
    return [to_hex(colour) for colour in colormaps["turbo"](np.linspace(0.03, 0.97, n))]


def shades_of(n: int) -> list[str]:
    """Return a blue for each of n nested intervals, the widest one first."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    if n <= len(BLUES):
        return list(BLUES[:n])
    shades = LinearSegmentedColormap.from_list("shades", BLUES)
    return [to_hex(shade) for shade in shades(np.linspace(0.0, 1.0, n))]


def label_log_axis(axis: Any, low: float, high: float) -> None:
    """Put plain numbers on a logarithmic axis, a few whatever its length.

    Parameters
    ----------
    axis : matplotlib Axis
        ``ax.xaxis`` or ``ax.yaxis``, of logarithmic scale.
    low, high : float
        What the axis shows.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if high / low < _NARROW:
        n = _N_LONG if high / low < _LONG else _N_LINEAR
        axis.set_major_locator(MaxNLocator(n, steps=[1, 2, 2.5, 4, 5, 10]))
    else:
        subs = next(digits for ratio, digits in _DIGITS if high / low <= ratio)
        axis.set_major_locator(LogLocator(subs=subs, numticks=5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_plain))


def whole_numbers(axis: Any) -> None:
    """Put ticks at whole numbers only, a few."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(_N_TICKS, integer=True, steps=[1, 2, 5, 10]))


def plain_numbers(axis: Any, n_most: float = np.inf) -> None:
    """Write numbers out, without a factor or an offset, such as coordinates in metres have.

    Parameters
    ----------
    axis : matplotlib Axis
    n_most : float
        Labels that there is room for.
    """
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    n_ticks = int(np.clip(n_most - 1.0, 1, _N_TICKS))
    formatter = ScalarFormatter(useOffset=False)
    formatter.set_powerlimits(_WRITTEN_OUT)
    axis.set_major_formatter(formatter)
    axis.set_major_locator(MaxNLocator(n_ticks, steps=[1, 2, 2.5, 5, 10]))


def concise_dates(axis: Any) -> None:
    """Put as many dates on an axis as it has room for, each without what all of them share."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    inches = axis.axes.get_window_extent().width / axis.figure.dpi
    n_most = int(np.clip(inches / _DATE, _N_TICKS, _N_DATES))
    # With fewer at most, and 3 at least, the locator finds no steps for some ranges.
    locator = AutoDateLocator(minticks=3 if n_most >= _ENOUGH_DATES else 2, maxticks=n_most)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def _plain(value: float, position: int) -> str:
    """Return a number as people write it, long ones with a power of ten."""
    if value <= 0.0:  # a tick that a linear locator put beyond the end
        return ""
    exponent = int(np.floor(np.log10(value * (1.0 + 1e-9))))
    if _PLAIN[0] <= exponent <= _PLAIN[1]:
        return f"{value:g}"
    digits = f"{value / 10.0**exponent:g}"
    return f"$10^{{{exponent}}}$" if digits == "1" else rf"${digits}\cdot10^{{{exponent}}}$"


def draw_bands(
    ax: Any, x: Any, intervals: Any, levels: Sequence[float], of_what: str = "interval"
) -> list[Any]:
    """Draw nested intervals around a curve, the widest one first; return the bands.

    Parameters
    ----------
    ax : matplotlib Axes
    x : array-like of shape (n_points,)
        Numbers, or what else the axis shows.
    intervals : array-like of shape (n_levels, n_points, 2)
        Lower and upper ends.
    levels : sequence of float
        Probability of each interval.
    of_what : str
        What stands after the percentage in the legend.
    """
    bands = []
    shades = shades_of(len(levels))
    for ends, level, shade in zip(np.asarray(intervals), levels, shades, strict=True):
        style = {"color": shade, "linewidth": 0, "label": f"{100 * level:g} % {of_what}"}
        bands.append(ax.fill_between(x, *ends.T, **style))
    return bands


def draw_legend(ax: Any, *, beside: bool) -> None:
    """Draw the legend beside the axes, or inside, where there is most room.

    Parameters
    ----------
    ax : matplotlib Axes
    beside : bool
        Whether the figure has room for it; those of users may not, and their axes be narrow.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not beside:
        labels = [textwrap.fill(label, _NARROW_LEGEND, drop_whitespace=False) for label in labels]
        ax.legend(handles, labels, fontsize=SMALL, framealpha=0.9)
        return
    n_columns = math.ceil(len(labels) / _LONGEST_LEGEND)
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    ax.legend(fontsize=SMALL, frameon=False, ncols=n_columns, **place)


def hide_frame(ax: Any) -> None:
    """Leave only the left and lower line of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def thinned(draws: Array, n_most: int) -> Array:
    """Return at most `n_most` rows, evenly spread."""
    which = np.linspace(0, len(draws) - 1, min(n_most, len(draws))).round().astype(int)
    return draws[np.unique(which)]
