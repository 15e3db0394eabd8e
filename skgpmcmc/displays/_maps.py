"""Maps: cells of a grid, some perhaps left out, on axes of any units."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._grid import Grid
from .._linalg import Array
from ._cells import cell_edges, get_cells, place_in
from ._conversions import Convert, are_dates, check_convert, convert_edges, convert_rows
from ._figures import panels
from ._style import BLUE, ORANGE, concise_dates, plain_numbers

# Position of a colour bar, in units of its map.
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
_TITLES = ("Posterior mean of the rate", "Is the rate above the threshold?")
_HATCH, _HATCH_COLOUR = "////", "0.7"


class Map(NamedTuple):
    """Cells of a grid on their axes.

    Attributes
    ----------
    grid : Grid
        Of all cells' centres.
    places : ndarray of int of shape (n_rows,)
        Which cell each row is.
    areas : ndarray of shape (n_rows,)
        Of each row's cell, in units of the inputs.
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
    areas: Array
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


def make_map(centres: Array, convert: Convert, edges: Sequence[Array] | None = None) -> Map:
    """Return the map whose cells have these centres, one of the axes converted.

    Parameters
    ----------
    centres : ndarray of shape (n_rows, 2)
        Of all cells or some.
    convert : callable or None
        From rows of that kind to what the axis of one of the columns shows.
    edges : sequence of two arrays, optional
        Of all cells; by default half-way between the centres.
    """
    check_convert(convert)
    if edges is None:
        grid, places = get_cells(centres)
        shown: list[Any] = [cell_edges(axis) for axis in grid.axes]
    else:
        grid, places = place_in(edges, centres)
        shown = list(edges)
    areas = np.outer(*(np.diff(edge) for edge in shown)).ravel()[places]
    spans = [float(edge[-1] - edge[0]) for edge in shown]
    converted = None
    if convert is not None:
        converted, values = convert_edges(shown, convert)
        shown[converted] = values
    is_date = [are_dates(edge) for edge in shown]
    comparable = convert is None and max(spans) <= _COMPARABLE * min(spans)
    size = _equal_size(spans[1] / spans[0]) if comparable else (_SIDE, 0.8 * _SIDE)
    aspect = "equal" if comparable else "auto"
    return Map(grid, places, areas, shown, converted, is_date, aspect, size)


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


def draw_maps(
    axes: NDArray[np.object_], of: Map, values: Sequence[Any], labels: Sequence[str]
) -> tuple[list[Any], list[Any]]:
    """Draw the mean of a rate, and the probability that it is above a threshold.

    Parameters
    ----------
    axes : ndarray of two Axes
    of : Map
    values : sequence of two arrays of shape (n_rows,)
        Of its cells.
    labels : sequence of two str
        Of the colour bars.

    Returns
    -------
    meshes, bars : list
        Of both maps.
    """
    meshes, bars = [], []
    for ax, numbers, style, label, title in zip(
        axes, values, _map_styles(), labels, _TITLES, strict=True
    ):
        meshes.append(_draw_cells(ax, of, numbers, style))
        place = ax.inset_axes(_BAR)
        bars.append(ax.figure.colorbar(meshes[-1], cax=place, label=_wrapped(label, of.size[1])))
        ax.set_title(title, fontsize="medium")
    return meshes, bars


def _map_styles() -> list[dict[str, Any]]:
    """Return the colours of the two maps."""
    from matplotlib.colors import LinearSegmentedColormap

    doubt = LinearSegmentedColormap.from_list("doubt", [BLUE, "#F2F2F2", ORANGE])
    return [{"cmap": "cividis", "vmin": 0.0}, {"cmap": doubt, "vmin": 0.0, "vmax": 1.0}]


def _draw_cells(ax: Any, of: Map, values: Array, style: dict) -> Any:
    """Draw the cells of one map on their axes; return the mesh."""
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
    return mesh


def draw_events(axes: NDArray[np.object_], of: Map, events: Array, convert: Convert) -> list[Any]:
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
