"""The rate of a Cox process over one column, or on a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._grid import find_grid
from .._linalg import Array
from ..estimators import MCMCCoxProcessRegressor
from ._cells import axis_labels, cell_edges, check_events, check_threshold, rate_points
from ._checks import check_levels, unwrap
from ._exceedance import exceedance_probability
from ._style import (
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    draw_bands,
    hide_frame,
    panels,
    require_matplotlib,
    single_axes,
)

# Where a colour bar is, in units of its map.
_BAR = (1.03, 0.0, 0.045, 1.0)
_RUG = 0.02
# Of a map, in inches.
_SIDE = 4.6
_DEFAULT_UNIT = "events per unit of exposure"


class IntensityDisplay:
    """The rate of a Cox process: a curve over one column, or maps over two.

    It is recommended to use `from_estimator`. A curve has the posterior mean of the rate, its
    posterior intervals, and the events as a rug. Of two columns there are two maps: of the
    posterior mean, and of the posterior probability that the rate is above a threshold.

    Parameters
    ----------
    X : ndarray of shape (n_points, 1) or (n_points, 2)
        Where the rate is: increasing values, or the cells' centres, the second column moving
        fastest.
    mean : ndarray of shape (n_points,)
        Posterior mean of the rate.
    intervals : ndarray of shape (n_levels, n_points, 2), default=None
        For curves.
    confidence_levels : sequence of float, default=None
        Of the intervals, the widest first.
    exceedance : ndarray of shape (n_points,), default=None
        For maps: the posterior probability of a rate above the threshold.
    threshold : float, default=None
        Events per unit of exposure.
    events : ndarray of shape (n_events, n_columns), default=None
        Where events were.
    feature_names : list of str, default=None
        Labels of the axes.
    unit : str, default="events per unit of exposure"
        Of the rate.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds the axes.
    axes_ : ndarray of Axes of shape (1,) or (2,)
        Of the curve; or of the mean and the probability.
    line_ : Line2D
        Mean of a curve.
    bands_ : list of PolyCollection
        Intervals of a curve.
    meshes_ : list of QuadMesh
        Mean and probability of a map; empty for a curve.
    colorbars_ : list of Colorbar
        Of the maps.
    points_ : list of Line2D
        Events, on each of the axes; empty without.

    See Also
    --------
    PredictiveDisplay : One of several columns; counts as points.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skgpmcmc.displays import IntensityDisplay
    >>> X = np.stack(np.meshgrid([0.5, 1.5], [0.5, 1.5], indexing="ij"), axis=-1).reshape(-1, 2)
    >>> display = IntensityDisplay(
    ...     X, np.ones(4), exceedance=np.full(4, 0.5), threshold=1.0, unit="trees per hectare"
    ... )
    >>> len(display.plot().meshes_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        X: Array,
        mean: Array,
        *,
        intervals: Array | None = None,
        confidence_levels: Sequence[float] | None = None,
        exceedance: Array | None = None,
        threshold: float | None = None,
        events: Array | None = None,
        feature_names: Sequence[str] | None = None,
        unit: str = _DEFAULT_UNIT,
    ) -> None:
        self.X = X
        self.mean = mean
        self.intervals = intervals
        self.confidence_levels = confidence_levels
        self.exceedance = exceedance
        self.threshold = threshold
        self.events = events
        self.feature_names = feature_names
        self.unit = unit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        events: Any = None,
        threshold: float | None = None,
        confidence_levels: Sequence[float] = (0.5, 0.9),
        feature_names: Sequence[str] | None = None,
        unit: str = _DEFAULT_UNIT,
        convert: Callable[[Array], Any] | None = None,
        ax: Any = None,
    ) -> IntensityDisplay:
        """Draw the rate of a fitted Cox process.

        Parameters
        ----------
        estimator : MCMCCoxProcessRegressor
            Fitted to one or two columns; or a Pipeline that ends in such a one.
        X : array-like of shape (n_points, 1) or (n_points, 2), default=None
            Where to draw the rate; two columns must be all combinations of their values, cells'
            centres in any order. By default a fine line over inputs and events; or the cells that
            the estimator was fitted to, 40 x 40 cells if these are no full grid. A Pipeline needs
            it.
        events : array-like of shape (n_events,) or (n_events, n_columns), default=None
            Where events were, in the units of X, to draw.
        threshold : float, default=None
            Events per unit of exposure, positive. The default for maps is the mean of the rate
            over the map; a curve has a dotted line there if it is given.
        confidence_levels : sequence of float, default=(0.5, 0.9)
            Posterior probabilities of a curve's intervals.
        feature_names : sequence of str, default=None
            Labels of the axes, with units; by default the columns' names that `fit` has seen.
        unit : str, default="events per unit of exposure"
            Of the rate, such as ``"trees per hectare"``.
        convert : callable, default=None
            From values of a single column to what its axis shows, such as dates.
        ax : matplotlib Axes, or array of two for a map, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : IntensityDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        NotFittedError
            For an estimator that is not fitted.
        TypeError
            For another estimator.
        ValueError
            For more than two columns, cells that are no full grid, and a threshold that is not
            positive.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import matplotlib.pyplot as plt
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> from skgpmcmc.displays import IntensityDisplay
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0)
        >>> display = IntensityDisplay.from_estimator(
        ...     model.fit(X, y), feature_names=["years since 1851"], unit="disasters a year"
        ... )
        >>> display.axes_[0].get_ylabel()
        'rate (disasters a year)'
        >>> plt.close(display.figure_)
        """
        caller = f"{cls.__name__}.from_estimator"
        require_matplotlib(caller)
        hint = " PredictiveDisplay draws the predictions of every estimator."
        fitted = unwrap(caller, estimator, MCMCCoxProcessRegressor, hint)
        levels = check_levels(confidence_levels)
        points = rate_points(fitted, X, events)
        n_columns = points.shape[1]
        what: dict[str, Any] = {
            "threshold": check_threshold(threshold),
            "events": None if events is None else check_events(events, n_columns),
            "feature_names": axis_labels(fitted, feature_names, n_columns),
            "unit": unit,
        }
        new = fitted.transform(points)
        mean = fitted.estimator.predict(new)
        if n_columns == 1:
            ends = [fitted.estimator.predict_interval(new, level) for level in levels]
            what |= {"intervals": np.array(ends), "confidence_levels": levels}
        else:
            what["threshold"] = float(mean.mean()) if threshold is None else threshold
            above = exceedance_probability(fitted.estimator, new, what["threshold"])
            what["exceedance"] = above
        display = cls(points, mean, **what)
        return display.plot(ax, convert=convert)

    def plot(
        self, ax: Any = None, *, convert: Callable[[Array], Any] | None = None
    ) -> IntensityDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or array of two for a map, default=None
            A single Axes, of a grid, makes room for both maps. By default a new figure.
        convert : callable, default=None
            From values of a single column to what its axis shows, such as dates.

        Returns
        -------
        display : IntensityDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        self.bands_: list[Any] = []
        self.meshes_: list[Any] = []
        self.colorbars_: list[Any] = []
        self.points_: list[Any] = []
        if self.X.shape[1] == 1:
            self._plot_curve(ax, convert or (lambda x: x))
        else:
            self._plot_maps(ax)
        return self

    def _plot_curve(self, ax: Any, convert: Callable[[Array], Any]) -> None:
        ax = single_axes(ax, (9.0, 4.2))
        self.figure_, self.axes_ = ax.figure, np.array([ax], dtype=object)
        x = convert(self.X[:, 0])
        self.bands_ += draw_bands(ax, x, self.intervals, self.confidence_levels or [])
        (self.line_,) = ax.plot(x, self.mean, color=BLUE, linewidth=2.0, label="posterior mean")
        if self.threshold is not None:
            ax.axhline(self.threshold, color=GREY, linestyle=":", label="threshold")
        if self.events is not None:
            height = np.full(len(self.events), _RUG)
            style = {"color": "0.2", "markersize": 9.0, "transform": ax.get_xaxis_transform()}
            self.points_ += ax.plot(convert(self.events[:, 0]), height, "|", label="event", **style)
        ax.set(xlabel=self._label(0), ylabel=f"rate ({self.unit})", xlim=(x[0], x[-1]))
        ax.set_ylim(bottom=0.0)
        ax.legend(fontsize=SMALL, framealpha=0.9)
        hide_frame(ax)

    def _plot_maps(self, ax: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        found = find_grid(self.X, smallest_share=1.0)
        if found is None:
            raise ValueError("X must have all combinations of the values of its two columns.")
        axes, place = found[0].axes, np.argsort(found[1])
        edges = [cell_edges(axis) for axis in axes]
        spans = [float(edge[-1] - edge[0]) for edge in edges]
        height = _SIDE * min(spans[1] / spans[0], 2.0)
        used = np.ones((1, 2), dtype=bool)
        self.figure_, grid = panels(ax, used, (2.0 * _SIDE + 2.6, height + 0.9))
        self.axes_ = grid[0]
        doubt = LinearSegmentedColormap.from_list("doubt", [BLUE, "#F2F2F2", ORANGE])
        titles = ["Posterior mean of the rate", "Is the rate above the threshold?"]
        values = [self.mean, self.exceedance]
        styles: list[dict] = [
            {"cmap": "cividis", "vmin": 0.0},
            {"cmap": doubt, "vmin": 0.0, "vmax": 1.0},
        ]
        labels = [f"rate ({self.unit})", f"P(rate > {self.threshold:.4g} {self.unit})"]
        for panel, title, value, style, label in zip(
            self.axes_, titles, values, styles, labels, strict=True
        ):
            cells = np.asarray(value)[place].reshape(found[0].shape)
            mesh = panel.pcolormesh(*edges, cells.T, rasterized=True, **style)
            self.meshes_.append(mesh)
            bar = panel.inset_axes(_BAR)
            self.colorbars_.append(self.figure_.colorbar(mesh, cax=bar, label=label))
            panel.set(xlabel=self._label(0), ylabel=self._label(1), aspect="equal")
            panel.set_title(title, fontsize="medium")
        self._draw_events()

    def _draw_events(self) -> None:
        if self.events is None:
            return
        styles: list[dict] = [
            {"color": "white", "markersize": 3.5, "markeredgecolor": "black"},
            {"color": "black", "markersize": 2.5},
        ]
        for panel, style in zip(self.axes_, styles, strict=True):
            self.points_ += panel.plot(*self.events.T, "o", **style)

    def _label(self, column: int) -> str:
        return f"x{column}" if self.feature_names is None else self.feature_names[column]
