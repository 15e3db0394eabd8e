"""Colours, axes and figures that all displays share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._linalg import Array

# Of Okabe and Ito, safe for the colour-blind; their yellow is too pale for lines on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
BLUE, ORANGE = COLOURS[0], COLOURS[3]
GREY, PALE_GREY = "0.35", "0.8"
# Of nested intervals, the widest one first.
BLUES = ("#D6E8F4", "#9CC7E2", "#5FA3CF")
SMALL = 8
_NOTE_WIDTH = 60
# Powers of ten of numbers that are written out, and intervals of an axis, at most.
_WRITTEN_OUT, _N_TICKS = (-4, 9), 5
# Ratios of the ends of a logarithmic axis; up to each it has ticks at these digits.
_NARROW = 5.0
_DIGITS = ((30.0, (1.0, 2.0, 5.0)), (3e3, (1.0, 3.0)), (np.inf, (1.0,)))


def require_matplotlib(caller: str) -> None:
    """Raise an ImportError that says how to install matplotlib, where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib. Install it with "
            '`pip install "skgpmcmc[plot]"`, or `pip install matplotlib`.'
        ) from error


def colour_of(number: int) -> str:
    """Return the colour of a chain or a class."""
    return COLOURS[number % len(COLOURS)]


def single_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return the given Axes, or those of a new figure."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is None:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    if isinstance(ax, list | np.ndarray) and len(ax) == 1:
        ax = ax[0]
    if not isinstance(ax, Axes):
        raise ValueError(f"ax must be a matplotlib Axes, or None for a new figure; got {ax!r}.")
    return ax


def panels(ax: Any, used: NDArray[np.bool_], figsize: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure and the Axes of its panels.

    Parameters
    ----------
    ax : Axes, array-like of Axes or None
        As in scikit-learn's displays: None is a new figure, a single Axes makes room for all
        panels, and an array has one Axes for each panel.
    used : ndarray of bool of shape (n_rows, n_columns)
        Which panels there are.
    figsize : (float, float)
        Width and height of a new figure in inches.

    Returns
    -------
    figure : Figure
    axes : ndarray of Axes of the shape of `used`
        None where there is no panel.

    Raises
    ------
    ValueError
        For a wrong number of Axes, and for a single one without a place in a grid.
    """
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    axes = np.full(used.shape, None, dtype=object)
    figure: Any
    if ax is None:
        figure = plt.figure(figsize=figsize, layout="constrained")
        grid = figure.add_gridspec(*used.shape)
    elif isinstance(ax, Axes):
        figure, grid = ax.figure, _divide(ax, used.shape)
    else:
        given = np.asarray(ax, dtype=object)
        if given.size != used.sum() or not all(isinstance(a, Axes) for a in given.flat):
            raise ValueError(
                f"ax must be None, a matplotlib Axes, or an array of {used.sum()} of them, one for "
                f"each panel; got {ax!r}."
            )
        axes[used] = given.ravel()
        return given.flat[0].figure, axes
    for where in zip(*np.nonzero(used), strict=True):
        axes[where] = figure.add_subplot(grid[where])
    return figure, axes


def _divide(ax: Any, shape: tuple[int, ...]) -> Any:
    """Return a grid of panels in the place of the given Axes, which are hidden."""
    place = ax.get_subplotspec()
    if place is None or not ax.axison:
        raise ValueError(
            "ax must be an Axes of a grid, as plt.subplots makes them, that no other display "
            "has been drawn on. Pass ax=display.axes_ to draw on these again."
        )
    ax.set_axis_off()
    return place.subgridspec(*shape)


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
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    else:
        subs = next(digits for ratio, digits in _DIGITS if high / low <= ratio)
        axis.set_major_locator(LogLocator(subs=subs, numticks=5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_plain))


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
    """Put a few dates on an axis, each without what it shares with the others."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=_N_TICKS + 1)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def _plain(value: float, position: int) -> str:
    """Return a number as people write it, long powers of ten as such."""
    if value <= 0.0:  # a tick that a linear locator put beyond the end
        return ""
    exponent = round(np.log10(value))
    if -3 < exponent < 4 or not np.isclose(value, 10.0**exponent, rtol=1e-9):
        return f"{value:g}"
    return f"$10^{{{exponent}}}$"


def draw_bands(ax: Any, x: Any, intervals: Any, levels: Sequence[float]) -> list[Any]:
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
    """
    bands = []
    for i, level in enumerate(levels):
        style = {"color": BLUES[min(i, len(BLUES) - 1)], "linewidth": 0}
        ends = np.asarray(intervals)[i].T
        bands.append(ax.fill_between(x, *ends, label=f"{100 * level:g} % interval", **style))
    return bands


def hide_frame(ax: Any) -> None:
    """Leave only the left and lower line of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def thinned(draws: Array, n_most: int) -> Array:
    """Return at most `n_most` rows, evenly spread."""
    which = np.linspace(0, len(draws) - 1, min(n_most, len(draws))).round().astype(int)
    return draws[np.unique(which)]


def wrap(text: str) -> str:
    """Break a note into lines that fit below a panel."""
    return textwrap.fill(text, _NOTE_WIDTH)


def quote_levels(levels: Any) -> str:
    """Return confidence levels as people write them: ``"50 and 90 %"``."""
    return " and ".join(f"{100 * level:g}" for level in sorted(levels)) + " %"
