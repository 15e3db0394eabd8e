"""The rate of a Cox process over one column, or on a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .._linalg import Array
from ..estimators import MCMCCoxProcessRegressor
from ..point_patterns import EventGrid
from ._cells import (
    axis_labels,
    check_number_of_columns,
    check_threshold,
    fine_curve,
    no_warning_of_names,
    points_covering,
    rate_points,
    transformed,
    warn_of_sizes,
    were_fitted,
)
from ._checks import check_levels, unwrap
from ._conversions import Convert, are_dates, check_events
from ._curves import check_curve, draw_rate, draw_training_edges
from ._figures import require_matplotlib, single_axes
from ._maps import draw_events, draw_maps, make_map, make_panels
from ._style import concise_dates, draw_legend, hide_frame
from ._text import as_label, short_number

_LONGEST_LABEL = 40
_DEFAULT_UNIT = "events per unit of exposure"


@dataclass(repr=False, eq=False)
class IntensityDisplay:
    """The rate of a Cox process: a curve over one column, or maps over two.

    It is recommended to use `from_estimator`. For one column the picture is a curve. It has the
    posterior mean of the rate, its posterior intervals, and the events as short lines on the axis.
    For two columns there are two maps: one of the posterior mean, and one of the posterior
    probability that the rate is above a threshold. Cells that are left out are hatched.

    Parameters
    ----------
    X : ndarray of shape (n_points, 1) or (n_points, 2)
        Where the rate is drawn. For a curve these are increasing values. For maps they are the
        centres of some or all cells of a grid, in any order.
    mean : ndarray of shape (n_points,)
        Posterior mean of the rate.
    intervals : ndarray of shape (n_levels, n_points, 2), default=None
        For curves.
    confidence_levels : sequence of float, default=None
        Levels of the intervals, the widest first.
    exceedance : ndarray of shape (n_points,), default=None
        For maps: the posterior probability that the rate is above the threshold.
    threshold : float, default=None
        Events per unit of exposure.
    events : ndarray of shape (n_events, n_columns), default=None
        Where events were.
    feature_names : list of str, default=None
        Labels of the axes. The default is ``"date"`` for dates, and otherwise ``"x0"`` and
        ``"x1"``.
    unit : str, default="events per unit of exposure"
        Unit of the rate. Text between dollars is matplotlib's mathematics.
    edges : sequence of two arrays, default=None
        For maps: edges of the cells along each axis. By default they are half-way between the
        centres.
    threshold_is_mean : bool, default=False
        Whether the threshold is the mean of the rate. A map then says so, and rounds it.
    training_edges : sequence of float, default=()
        For curves: where the training data end, while the curve continues.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds the axes.
    axes_ : ndarray of Axes of shape (1,) or (2,)
        The Axes of the curve, or those of the two maps.
    line_ : Line2D
        Mean of a curve.
    bands_ : list of PolyCollection
        Intervals of a curve.
    edge_lines_ : list of Line2D
        Where the training data of a curve end.
    meshes_ : list of QuadMesh
        Mean and probability of a map. It is empty for a curve.
    colorbars_ : list of Colorbar
        Of the maps.
    points_ : list of Line2D
        Events, on each of the axes. It is empty if there are no events.

    See Also
    --------
    PredictiveDisplay : Predictions along one of several columns, with counts as points.

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

    X: Array
    mean: Array
    _: KW_ONLY
    intervals: Array | None = None
    confidence_levels: Sequence[float] | None = None
    exceedance: Array | None = None
    threshold: float | None = None
    events: Array | None = None
    feature_names: Sequence[str] | None = None
    unit: str = _DEFAULT_UNIT
    edges: Sequence[Array] | None = None
    threshold_is_mean: bool = False
    training_edges: Sequence[float] = ()

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
            An estimator that was fitted to one or two columns, or a Pipeline that ends in one.
        X : array-like of shape (n_points, 1) or (n_points, 2), or EventGrid, default=None
            Where to draw the rate. For a map these are the centres of cells, in any order. Cells of
            their grid without a row are left out and hatched. By default a curve is a fine line
            over inputs and events. By default a map has the cells that the estimator was fitted to.
            Cells that nobody observed are then left out: see Notes for predictions there. If the
            rows of `fit` are not centres of cells, the map has 40 x 40 cells. A Pipeline needs X.
            For a map, an `EventGrid` means its observed cells with their edges, which are needed if
            cells have several sizes. For a curve, it means a fine line from end to end.
        events : array-like of shape (n_events,) or (n_events, n_columns), default=None
            Events to draw, in the units of X. The columns of data frames must have the same names
            in the same order as those of X.
        threshold : float, default=None
            Events per unit of exposure, positive. The default for maps is the mean of the rate,
            weighted by area. It is taken over the drawn cells that the estimator was fitted to, or
            over all drawn cells if it was fitted to none of them. If you give a threshold for a
            curve, there is a dotted line at this rate.
        confidence_levels : sequence of float, default=(0.5, 0.9)
            Posterior probabilities of a curve's intervals.
        feature_names : sequence of str, default=None
            Labels of the axes, with units. The default is the names of the columns that `fit` has
            seen, or ``"date"`` for dates.
        unit : str, default="events per unit of exposure"
            Unit of the rate, such as ``"trees per hectare"`` or ``"trees per km$^2$"``.
        convert : callable, default=None
            A function from the values of a single column to what its axis shows, such as dates. For
            a map it takes rows of two columns, and returns what the axis of one of them shows, with
            shape (n_rows,). `EventGrid.to_dates` does both.
        ax : matplotlib Axes, or array of two for a map, default=None
            Where to draw. The default is a new figure.

        Returns
        -------
        display : IntensityDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator is of another class.
        ValueError
            If there are more than two columns, or columns that are not those of `fit`. If the rows
            are not the centres of cells (less than a fifth of their grid). If the threshold is not
            positive, events are dates, or `convert` returns something that an axis cannot show.

        Warns
        -----
        UserWarning
            If the cells of a map have several sizes, and no edges are given.

        Notes
        -----
        If a curve leaves the data that the estimator was fitted to, by more than half a cell,
        dotted lines show where.

        On a map, a unit of one column is as long as a unit of the other, if their ranges differ by
        a factor of at most 3 and nothing is converted.

        To draw predictions also in cells that nobody observed, pass the centres of all cells. Those
        of an `EventGrid` are
        ``list(itertools.product(*((e[1:] + e[:-1]) / 2 for e in cells.edges)))``. ``cells.X`` has
        only the cells that were observed.

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
        points = rate_points(fitted, X)
        n_columns = points.shape[1]
        check_number_of_columns(n_columns)
        if events is not None:
            events = check_events(fitted, X, events, n_columns)
        if X is None:
            points = points_covering(points, events)
        what: dict[str, Any] = {
            "threshold": check_threshold(threshold),
            "events": events,
            "feature_names": axis_labels(X, points, estimator, feature_names),
            "unit": unit,
        }
        # What it refuses, it refuses before anything is computed.
        if n_columns == 1:
            check_curve(points, convert)
        else:
            what["edges"] = edges = X.edges if isinstance(X, EventGrid) else None
            drawn = make_map(points, convert, edges)
            if edges is None:
                warn_of_sizes(drawn.grid.axes)
        with no_warning_of_names(X):
            if n_columns == 1:
                points, what["training_edges"] = fine_curve(fitted, X, points)
            new = transformed(fitted, X, points)
            mean = fitted.estimator.predict(new)
            if n_columns == 2:
                weights = drawn.areas * were_fitted(fitted, new)
                average = float(np.average(mean, weights=weights))
                what["threshold_is_mean"] = what["threshold"] is None
                what["threshold"] = level = what["threshold"] or average
                what["exceedance"] = fitted.estimator.predict_exceedance(new, level)
            else:
                ends = [fitted.estimator.predict_interval(new, level) for level in levels]
                what |= {"intervals": np.array(ends), "confidence_levels": levels}
        display = cls(points, mean, **what)
        return display.plot(ax, convert=convert)

    def plot(
        self, ax: Any = None, *, convert: Callable[[Array], Any] | None = None
    ) -> IntensityDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or array of two for a map, default=None
            A single Axes, which must be part of a grid, is divided for both maps. If it is the only
            one of its figure, the figure grows. The default is a new figure.
        convert : callable, default=None
            As in `from_estimator`.

        Returns
        -------
        display : IntensityDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        self.bands_: list[Any] = []
        self.edge_lines_: list[Any] = []
        self.meshes_: list[Any] = []
        self.colorbars_: list[Any] = []
        self.points_: list[Any] = []
        if self.X.shape[1] == 1:
            self._plot_curve(ax, convert)
        else:
            self._plot_maps(ax, convert)
        return self

    def _plot_curve(self, ax: Any, convert: Convert) -> None:
        panel = single_axes(ax, (10.5, 4.2))
        self.figure_, self.axes_ = panel.figure, np.array([panel], dtype=object)
        (self.line_,), self.bands_, self.points_ = draw_rate(panel, self, convert)
        self.edge_lines_ = draw_training_edges(panel, self, convert)
        is_date = are_dates(self.line_.get_xdata(orig=True))
        if is_date:
            concise_dates(panel.xaxis)
        panel.set(xlabel=self._label(0, is_date), ylabel=f"rate ({self.unit})")
        draw_legend(panel, beside=ax is None)
        hide_frame(panel)

    def _plot_maps(self, ax: Any, convert: Convert) -> None:
        drawn = make_map(self.X, convert, self.edges)
        self.figure_, self.axes_ = make_panels(ax, drawn)
        xlabel, ylabel = (self._label(i, drawn.is_date[i]) for i in range(2))
        xlabel += "\n(hatched: left out)" if drawn.has_gaps else ""
        labels = [f"rate ({self.unit})", f"P(rate > {self._describe_threshold()})"]
        values = [self.mean, self.exceedance]
        self.meshes_, self.colorbars_ = draw_maps(self.axes_, drawn, values, labels)
        for panel in self.axes_:
            panel.set(xlabel=xlabel, ylabel=ylabel)
        if self.events is not None:
            self.points_ += draw_events(self.axes_, drawn, self.events, convert)

    def _describe_threshold(self) -> str:
        assert self.threshold is not None
        if self.threshold_is_mean:
            return f"its mean, about {short_number(self.threshold, 3)} {self.unit}"
        return f"{self.threshold:.10g} {self.unit}"

    def _label(self, column: int, is_date: bool) -> str:
        if self.feature_names is not None:
            return as_label(self.feature_names[column], _LONGEST_LABEL)
        return "date" if is_date else f"x{column}"
