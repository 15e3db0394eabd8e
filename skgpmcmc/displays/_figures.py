"""Figures and Axes that displays draw on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def require_matplotlib(caller: str) -> None:
    """Raise an ImportError that says how to install matplotlib, where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib. Install it with "
            '`pip install "skgpmcmc[plot]"`, or `pip install matplotlib`.'
        ) from error


def single_axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return the given Axes, or those of a new figure."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is None:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    given = np.asarray(ax, dtype=object)
    if given.size == 1 and isinstance(given.flat[0], Axes):
        return given.flat[0]
    found = repr(ax)
    if given.size > 1 and all(isinstance(each, Axes) for each in given.flat):
        first = ", ".join("0" * given.ndim)
        found = f"an array of {given.size}. Pass one of them, such as ax[{first}]"
    raise ValueError(f"ax must be a matplotlib Axes, or None for a new figure; got {found}.")


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
    else:
        given = np.asarray(ax, dtype=object)
        is_axes = all(isinstance(each, Axes) for each in given.flat)
        if is_axes and given.size == used.sum() and given.ndim:
            axes[used] = given.ravel()
            return given.flat[0].figure, axes
        if not is_axes or given.size != 1:
            raise ValueError(
                f"ax must be None, a matplotlib Axes, or an array of {used.sum()} of them, one for "
                f"each panel; got {ax!r}."
            )
        figure, grid = given.flat[0].figure, _divide(given.flat[0], used.shape, figsize)
    for where in zip(*np.nonzero(used), strict=True):
        axes[where] = figure.add_subplot(grid[where])
    return figure, axes


def _divide(ax: Any, shape: tuple[int, ...], figsize: tuple[float, float]) -> Any:
    """Return a grid of panels in the place of the given Axes, which are hidden."""
    place = ax.get_subplotspec()
    if place is None or not ax.axison:
        raise ValueError(
            "ax must be an Axes of a grid, as plt.subplots makes them, that no other display "
            "has been drawn on. Pass ax=display.axes_ to draw on these again."
        )
    _make_room(ax, figsize)
    ax.set_axis_off()
    return place.subgridspec(*shape)


def _make_room(ax: Any, figsize: tuple[float, float]) -> None:
    """Keep the panels that replace an Axes, and their labels, from lying on each other.

    Nobody gave a figure without a layout space between its panels; and one of a single Axes has
    the size of a single panel.
    """
    from matplotlib.figure import Figure

    figure = ax.figure
    if not isinstance(figure, Figure):  # a subfigure, whose layout its owner has chosen
        return
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    if figure.axes == [ax]:
        figure.set_size_inches(np.maximum(figure.get_size_inches(), figsize))
