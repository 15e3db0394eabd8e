"""Maps: cells of a grid, some perhaps left out, on axes of any units."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._grid import Grid
from .._linalg import Array
from ._cells import cell_edges, get_cells
from ._style import BLUE, ORANGE, concise_dates, panels, plain_numbers

# Where a colour bar is, in units of its map.
_BAR = (1.03, 0.0, 0.045, 1.0)
# Letters of a colour bar's label for each inch of the bar, and in a line of it at least.
_LETTERS, _SHORTEST_LINE = 11.5, 26
# Of a map, in inches: its side, how much longer it may be, and what stands around two of them,
# for labels of a few letters and for each letter that is more.
_SIDE, _LONGER = 4.6, 1.5
_AROUND, _LETTER, _FEW = (3.2, 1.0), 0.09, 4
# Margins of panels, in inches.
_PADS = {"w_pad": 0.1, "h_pad": 0.06}
# The longer extent over the shorter one, up to which they may well be in the same units.
_COMPARABLE = 3.0
_HATCH, _HATCH_COLOUR = "////", "0.7"


class Map(NamedTuple):
    """Cells of a grid on their axes.

    Attributes
    ----------
    grid : Grid
        Of all cells' centres.
    places : ndarray of int of shape (n_rows,)
        Which cell each row is.
    edges : list of two arrays
        Of the cells, as the axes show them.
    converted : int or None
        The axis that is converted.
    is_date : list of two bool
        Whether these are dates.
    aspect : {"equal", "auto"}
        Whether a unit is as long on both axes.
    size : (float, float)
        Width and height in inches.
    """

    grid: Grid
    places: NDArray[np.intp]
    edges: list[Any]
    converted: int | None
    is_date: list[bool]
    aspect: str
    size: tuple[float, float]

    @property
    def has_gaps(self) -> bool:
        """Whether cells are left out."""
        return len(np.unique(self.places)) < self.grid.n

    def cells(self, values: Array) -> np.ma.MaskedArray:
        """Return values in the shape of the grid, masked where there are none."""
        cells = np.ma.masked_all(self.grid.n)
        cells[self.places] = values
        return cells.reshape(self.grid.shape)


def make_map(centres: Array, convert: Callable[[Array], Any] | None) -> Map:
    """Return the map whose cells have these centres, one of the axes converted.

    Parameters
    ----------
    centres : ndarray of shape (n_rows, 2)
        Of all cells or some.
    convert : callable or None
        From rows of that kind to what the axis of one of the columns shows.
    """
    grid, places = get_cells(centres)
    edges: list[Any] = [cell_edges(axis) for axis in grid.axes]
    spans = [float(edge[-1] - edge[0]) for edge in edges]
    converted = None
    if convert is not None:
        converted, values = convert_edges(edges, convert)
        edges[converted] = values
    is_date = [are_dates(edge) for edge in edges]
    comparable = convert is None and max(spans) <= _COMPARABLE * min(spans)
    size = _equal_size(spans[1] / spans[0]) if comparable else (_SIDE, 0.8 * _SIDE)
    return Map(grid, places, edges, converted, is_date, "equal" if comparable else "auto", size)


def convert_edges(edges: Sequence[Array], convert: Callable[[Array], Any]) -> tuple[int, Any]:
    """Return which of two columns is converted, and its edges converted.

    It is the one that makes a difference to `convert`.
    """
    found = []
    for axis, edge in enumerate(edges):
        rows = np.tile([float(each[0]) for each in edges], (len(edge), 1))
        rows[:, axis] = edge
        values = convert_rows(rows, convert)
        if values[0] != values[-1]:
            found.append((axis, values))
    if len(found) != 1:
        raise ValueError(
            "convert must change with one column, for a map, that of dates for example; it "
            f"changes with {'both' if found else 'neither'}."
        )
    return found[0]


def convert_rows(rows: Array, convert: Callable[[Array], Any]) -> Any:
    """Return what rows of two columns are converted to; raise a ValueError for another shape."""
    values = np.asarray(convert(rows))
    if values.shape != (len(rows),):
        raise ValueError(
            "convert must return a value for each row, for a map: what the axis of one of the two "
            f"columns shows, as EventGrid.to_dates does. Given rows of shape {rows.shape} it "
            f"returned the shape {values.shape}."
        )
    return values


def are_dates(values: Any) -> bool:
    """Whether values are dates, numpy's or Python's."""
    array = np.asarray(values)
    return array.dtype.kind == "M" or (
        array.dtype.kind == "O" and all(isinstance(x, datetime.date) for x in array.flat)
    )


def make_panels(ax: Any, of: Map) -> tuple[Any, Any]:
    """Return a figure and the Axes of two maps."""
    n_more = 0 if of.is_date[1] else max(_n_letters(of.edges[1]) - _FEW, 0)
    width = 2.0 * (of.size[0] + n_more * _LETTER) + _AROUND[0]
    figure, axes = panels(ax, np.ones((1, 2), dtype=bool), (width, of.size[1] + _AROUND[1]))
    if ax is None:
        figure.get_layout_engine().set(**_PADS)
    return figure, axes[0]


def _n_letters(edges: Array) -> int:
    """Return how long the labels of an axis of large numbers are."""
    return len(f"{np.abs(edges).max():.0f}")


def map_styles() -> list[dict[str, Any]]:
    """Return the colours of the two maps."""
    from matplotlib.colors import LinearSegmentedColormap

    doubt = LinearSegmentedColormap.from_list("doubt", [BLUE, "#F2F2F2", ORANGE])
    return [{"cmap": "cividis", "vmin": 0.0}, {"cmap": doubt, "vmin": 0.0, "vmax": 1.0}]


def draw_map(ax: Any, of: Map, values: Array, style: dict, label: str) -> tuple[Any, Any]:
    """Draw one map with its colour bar; return the mesh and the bar.

    Parameters
    ----------
    ax : matplotlib Axes
    of : Map
    values : ndarray of shape (n_rows,)
        Of its cells.
    style : dict
        Colours.
    label : str
        Of the colour bar.
    """
    mesh = ax.pcolormesh(*of.edges, of.cells(values).T, rasterized=True, **style)
    ax.set_aspect(of.aspect)
    if of.has_gaps:
        ax.patch.set(hatch=_HATCH, edgecolor=_HATCH_COLOUR)
    for axis, edges, is_date in zip((ax.xaxis, ax.yaxis), of.edges, of.is_date, strict=True):
        if is_date:
            concise_dates(axis)
        else:
            room = of.size[0] / ((_n_letters(edges) + 1) * _LETTER)  # of labels beside each other
            plain_numbers(axis, room if axis is ax.xaxis else np.inf)
    bar = ax.figure.colorbar(mesh, cax=ax.inset_axes(_BAR), label=_wrapped(label, of.size[1]))
    return mesh, bar


def draw_events(
    axes: NDArray[np.object_], of: Map, events: Array, convert: Callable[[Array], Any] | None
) -> list[Any]:
    """Draw events on two maps; return the points on each."""
    columns: list[Any] = list(events.T)
    if of.converted is not None and convert is not None:
        columns[of.converted] = convert_rows(events, convert)
    styles: list[dict] = [
        {"color": "white", "markersize": 3.5, "markeredgecolor": "black"},
        {"color": "black", "markersize": 2.5},
    ]
    points = []
    for ax, style in zip(axes, styles, strict=True):
        points += ax.plot(*columns, "o", **style)
    return points


def _wrapped(label: str, height: float) -> str:
    """Return a label in lines of about equal length that fit a colour bar of that many inches."""
    longest = max(int(_LETTERS * height), _SHORTEST_LINE)
    n_lines = -(-len(label) // longest)
    return label if n_lines == 1 else textwrap.fill(label, len(label) // n_lines + 4)


def _equal_size(ratio: float) -> tuple[float, float]:
    """Return width and height of a map, in inches, whose height over width is `ratio`."""
    if ratio > 1.0:
        height = _SIDE * min(ratio, _LONGER)
        return height / ratio, height
    width = _SIDE * min(1.0 / ratio, _LONGER)
    return width, width * ratio
