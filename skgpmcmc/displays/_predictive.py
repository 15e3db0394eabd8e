"""Predictions along one column of X."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_consistent_length

from .._checks import check_given
from .._linalg import Array
from ._along import Line
from ._checks import check_levels, unwrap
from ._columns import column_names
from ._conversions import are_dates, check_convert, convert_numbers
from ._curves import draw_new, draw_several, draw_single, draw_training_edges
from ._figures import require_matplotlib, single_axes
from ._predictions import Wanted, curves, exposure_range, observed
from ._style import concise_dates, draw_legend, hide_frame


@dataclass(repr=False, eq=False)
class PredictiveDisplay:
    """Predictions along one column of X: means, intervals, and data.

    It is recommended to use `from_estimator`.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Values of the column.
    mean : ndarray of shape (n_curves, n_points)
        Predictions. If there are several classes, there is a curve for each.
    intervals : ndarray of shape (n_curves, n_levels, n_points, 2)
        Lower and upper ends.
    confidence_levels : sequence of float
        Levels of the intervals, the widest one first.
    labels : list of str
        One for each curve.
    x_observed : ndarray of shape (n_samples,), default=None
        Values of the column in the data.
    y_observed : ndarray of shape (n_curves, n_samples), default=None
        What was observed there, NaN for nothing. For probabilities it is 1 or 0.
    is_probability : bool, default=False
        Whether the curves are probabilities. Data are then drawn outside of [0, 1]. A row of the
        curve's class is drawn above, and another row below.
    xlabel, ylabel : str, default="x", "y"
        Labels of the axes.
    title : str, default=""
        Title above the axes. If there are several classes, there is always a title.
    of_what : str, default="interval"
        What the legend says after the percentage of an interval.
    new_interval : ndarray of shape (n_points, 2), default=None
        For a single curve: the interval of new data with the probability of the widest level. It is
        used if the other intervals are about something else, such as the rate of counts. It is
        drawn in grey.
    of_new : str, default="of new data"
        What the legend says after the percentage of `new_interval`.
    data_label : str, default="data"
        What the legend calls the points.
    training_edges : sequence of float, default=()
        Values of the column at which the training data end, while the curve continues.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds the axes.
    ax_ : matplotlib Axes
        Axes with the curves.
    lines_ : list of Line2D
        Means, one for each curve.
    bands_ : list of PolyCollection
        Intervals. A single curve has all of them. Several curves have only the narrowest one each,
        because wider ones would cover each other.
    new_band_ : PolyCollection or None
        Interval of new data, if the other intervals are about something else.
    edge_lines_ : list of Line2D
        Where the training data end.
    points_ : list of Line2D
        Data, for each curve. It is empty if there are no data.

    See Also
    --------
    IntensityDisplay : The rate of a Cox process over time or on a map.
    sklearn.inspection.PartialDependenceDisplay : Averages over the other columns.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skgpmcmc.displays import PredictiveDisplay
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> interval = np.stack([x - 1.0, x + 1.0], axis=-1)[None, None]
    >>> display = PredictiveDisplay(
    ...     x, x[None], interval, confidence_levels=[0.9], labels=["mean"]
    ... )
    >>> len(display.plot().lines_)
    1
    >>> plt.close(display.figure_)
    """

    x: Array
    mean: Array
    intervals: Array
    _: KW_ONLY
    confidence_levels: Sequence[float]
    labels: Sequence[str]
    x_observed: Array | None = None
    y_observed: Array | None = None
    is_probability: bool = False
    xlabel: str = "x"
    ylabel: str = "y"
    title: str = ""
    of_what: str = "interval"
    new_interval: Array | None = None
    of_new: str = "of new data"
    data_label: str = "data"
    training_edges: Sequence[float] = ()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        feature: int | str = 0,
        held: str | Mapping[int | str, Any] = "median",
        target: Any = None,
        exposure: Any = None,
        confidence_levels: Sequence[float] = (0.5, 0.9),
        grid_resolution: int | None = None,
        feature_names: Sequence[str] | None = None,
        ylabel: str | None = None,
        convert: Callable[[Array], Any] | None = None,
        ax: Any = None,
    ) -> PredictiveDisplay:
        """Draw the predictions of a fitted estimator along one column.

        For a regressor the picture has the mean of y, and intervals of new observations. They
        include noise, except noise that `fit` was given as `noise_variance` or `alpha`. For a
        classifier it has the probability of a class and its posterior intervals. For a Cox process
        it has the mean rate, its posterior intervals, and in grey the widest interval of new
        counts.

        Parameters
        ----------
        estimator : estimator instance
            Any fitted estimator of this package, or a Pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Data. They decide the range of the curve, the values at which the other columns are
            held, and where the points are. For a Pipeline a data frame may have columns that are
            not numbers. If the curve leaves the data that the estimator was fitted to, dotted lines
            show where.
        y : array-like of shape (n_samples,), default=None
            Targets, labels or counts to draw. By default none are drawn. Targets and counts may be
            NaN in rows without data, such as those of the future: no point is drawn there. If there
            are several columns, a point may be far from the curve, because its other columns have
            other values.
        feature : int or str, default=0
            The column that varies, by its number or name.
        held : {"median", "mean"} or dict, default="median"
            The values at which the other columns are held: their medians or means in X. A
            dictionary has the number or name of a column -> its value. Columns that it leaves out
            are held at their medians. Columns that are not numbers are held at their most frequent
            value.
        target : label, default=None
            Which class to draw. If there are two classes, the default is the second one. If there
            are more, the default is all of them.
        exposure : float or array-like of shape (n_samples,), default=None
            Exposure of counts. Points and the interval of new counts are divided by it. If
            exposures differ, there is no such interval, because it would be wider for a small
            exposure. The default is the exposure of `fit`. If you pass y, and `fit` had exposures
            other than 1, you must pass it.
        confidence_levels : sequence of float, default=(0.5, 0.9)
            Probabilities of the intervals. For several classes only the narrowest interval is
            drawn.
        grid_resolution : int, default=None
            Number of points of a curve, at least 2. None means 100, or more if the curve needs
            them, up to 1000. It needs 8 points for each length scale, where the 5 % quantile of the
            posterior is taken, and about 50 for each period of a periodic kernel.
        feature_names : sequence of str, default=None
            Names of the columns of X. The default is the names of the data frame, or those that
            `fit` has seen.
        ylabel : str, default=None
            Label of the vertical axis, for the unit. By default it says what is drawn.
        convert : callable, default=None
            A function from values of the column that varies to what the axis shows, such as dates.
            An example is `EventGrid.to_dates`.
        ax : matplotlib Axes, default=None
            Where to draw. The default is a new figure.

        Returns
        -------
        display : PredictiveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator is of another package, or if X has dates (as in `predict`).
        ValueError
            If the column or class is unknown, or the column has a single value. If columns are not
            those of `fit`, or data have the wrong shape. If labels are missing, or values of X that
            no Pipeline fills in. If counts need an exposure and have none. If `convert`
            returns something that an axis cannot show.

        Warns
        -----
        UserWarning
            If 1000 points are too few for the shortest length scale or period.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from skgpmcmc import MCMCGaussianProcessRegressor
        >>> from skgpmcmc.displays import PredictiveDisplay
        >>> X = np.linspace(0.0, 6.0, 30)[:, None]
        >>> y = np.sin(X[:, 0])
        >>> model = MCMCGaussianProcessRegressor(n_warmup=100, n_draws=100, random_state=0)
        >>> display = PredictiveDisplay.from_estimator(model.fit(X, y), X, y)
        >>> display.mean.shape, display.intervals.shape
        ((1, 100), (1, 2, 100, 2))
        >>> plt.close(display.figure_)
        """
        caller = f"{cls.__name__}.from_estimator"
        require_matplotlib(caller)
        fitted = unwrap(caller, estimator)
        check_resolution(grid_resolution)
        check_convert(convert)
        levels = check_levels(confidence_levels)
        names = column_names(X, estimator, feature_names)
        line = Line.through(fitted, X, names, feature, held)
        exposures = exposure_range(fitted.estimator, exposure, len(line.observed()))
        y_observed = None
        if y is not None:
            check_given("y", y)
            check_consistent_length(X, y)
            y_observed = observed(fitted.estimator, y, exposure, target)
        x, seen = line.points(grid_resolution)
        is_date = are_dates(convert_numbers(x, convert))
        found = curves(fitted.estimator, seen, Wanted(levels, target, exposures))
        display = cls(
            x,
            found.mean,
            found.intervals,
            confidence_levels=levels,
            x_observed=None if y is None else line.observed(),
            y_observed=y_observed,
            xlabel=line.label(seen, is_date),
            ylabel=found.ylabel if ylabel is None else ylabel,
            data_label=line.describe_data(found),
            training_edges=line.edges(x, seen),
            **found.for_display(),
        )
        return display.plot(ax, convert=convert)

    def plot(
        self, ax: Any = None, *, convert: Callable[[Array], Any] | None = None
    ) -> PredictiveDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. The default is a new figure.
        convert : callable, default=None
            As in `from_estimator`.

        Returns
        -------
        display : PredictiveDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        check_convert(convert)
        self.ax_ = single_axes(ax, (9.0, 4.8))
        self.figure_ = self.ax_.figure
        if self.title:
            self.ax_.set_title(self.title, fontsize="medium", loc="left")
        self.new_band_ = draw_new(self.ax_, self, convert)
        draw = draw_single if len(self.mean) == 1 else draw_several
        self.lines_, self.bands_, self.points_ = draw(self.ax_, self, convert)
        self.edge_lines_ = draw_training_edges(self.ax_, self, convert)
        self.ax_.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.is_probability:
            self.ax_.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        if are_dates(self.lines_[0].get_xdata(orig=True)):
            concise_dates(self.ax_.xaxis)
        hide_frame(self.ax_)
        draw_legend(self.ax_, beside=ax is None)
        return self


def check_resolution(grid_resolution: Any) -> None:
    if grid_resolution is None:
        return
    is_whole = isinstance(grid_resolution, Integral) and not isinstance(grid_resolution, bool)
    if not is_whole or grid_resolution < 2:
        raise ValueError(
            f"grid_resolution must be a whole number, at least 2; got {grid_resolution!r}. None "
            "is as many points as the curve needs."
        )
