"""Predictions along one column of X."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from ._predictions import curves, exposure_range, observed
from ._style import concise_dates, draw_legend, hide_frame


class PredictiveDisplay:
    """Predictions along one column of X: means, intervals, and data.

    It is recommended to use `from_estimator`.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Values of the column.
    mean : ndarray of shape (n_curves, n_points)
        Predictions; a curve for each class, if there are several.
    intervals : ndarray of shape (n_curves, n_levels, n_points, 2)
        Lower and upper ends.
    confidence_levels : sequence of float
        Of the intervals, the widest one first.
    labels : list of str
        One for each curve.
    x_observed : ndarray of shape (n_samples,), default=None
        Values of the column in the data.
    y_observed : ndarray of shape (n_curves, n_samples), default=None
        What was observed there; 1 or 0 for probabilities.
    is_probability : bool, default=False
        Whether the curves are probabilities. Data are then drawn outside of [0, 1]: above
        where a row is of the curve's class, below where it is not.
    xlabel, ylabel : str, default="x", "y"
        Labels of the axes.
    title : str, default=""
        Above the axes; of several classes there is one anyway.
    of_what : str, default="interval"
        What the intervals are of, in the legend, after their percentage.
    new_interval : ndarray of shape (n_points, 2), default=None
        Of a single curve: where new data lie with the probability of the widest level, if the
        intervals are of something else, such as the rate of counts. Drawn in grey.
    of_new : str, default="of new data"
        What that is of, in the legend.
    data_label : str, default="data"
        What the points are, in the legend.
    training_edges : sequence of float, default=()
        Values of the column at which the training data end, and the curve goes on.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds the axes.
    ax_ : matplotlib Axes
        Axes with the curves.
    lines_ : list of Line2D
        Means, one for each curve.
    bands_ : list of PolyCollection
        Intervals: all of a single curve, the narrowest one of several (others would cover each
        other).
    new_band_ : PolyCollection or None
        Interval of new data, where the others are of something else.
    edge_lines_ : list of Line2D
        Where the training data end.
    points_ : list of Line2D
        Data, for each curve; empty without.

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

    def __init__(
        self,
        x: Array,
        mean: Array,
        intervals: Array,
        *,
        confidence_levels: Sequence[float],
        labels: Sequence[str],
        x_observed: Array | None = None,
        y_observed: Array | None = None,
        is_probability: bool = False,
        xlabel: str = "x",
        ylabel: str = "y",
        title: str = "",
        of_what: str = "interval",
        new_interval: Array | None = None,
        of_new: str = "of new data",
        data_label: str = "data",
        training_edges: Sequence[float] = (),
    ) -> None:
        self.x = x
        self.mean = mean
        self.intervals = intervals
        self.confidence_levels = confidence_levels
        self.labels = labels
        self.x_observed = x_observed
        self.y_observed = y_observed
        self.is_probability = is_probability
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.title = title
        self.of_what = of_what
        self.new_interval = new_interval
        self.of_new = of_new
        self.data_label = data_label
        self.training_edges = training_edges

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

        Of a regressor the mean of y, and intervals of new observations, noise and all, but for
        noise that `fit` was given as `noise_variance` or `alpha`; of a classifier the probability
        of a class and its posterior intervals; of a Cox process the mean rate, its posterior
        intervals, and in grey the widest interval of new counts.

        Parameters
        ----------
        estimator : estimator instance
            Any fitted estimator of this package, or a Pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Data. They say how far the curve goes, what the other columns are held at, and
            where the points are. For a Pipeline a data frame may have columns that are no numbers.
            Where the curve leaves the data that the estimator was fitted to, there are dotted
            lines.
        y : array-like of shape (n_samples,), default=None
            Targets, labels or counts to draw; none by default. With several columns a point
            need not lie near the curve: its other columns have other values.
        feature : int or str, default=0
            The column that varies, by its number or name.
        held : {"median", "mean"} or dict, default="median"
            What the other columns are held at: their medians or means in X, or number or name
            of a column -> value (those left out are at their medians). Columns that are no
            numbers are held at their most frequent value.
        target : label, default=None
            Which class. By default the second one of two, and all of more.
        exposure : float or array-like of shape (n_samples,), default=None
            Of counts; points and the interval of new counts are divided by it. With exposures
            that differ there is no such interval, because a small exposure has a wide one. By
            default that of `fit`; a y needs it, if `fit` had other exposures than 1.
        confidence_levels : sequence of float, default=(0.5, 0.9)
            Probabilities of the intervals. Of several classes only the narrowest are drawn.
        grid_resolution : int, default=None
            Number of points of a curve, at least 2. None is 100, or 8 for each length scale, the
            posterior's shortest (its 5 % quantile; of a periodic kernel some 50 for each period),
            up to 1000.
        feature_names : sequence of str, default=None
            Names of the columns of X; by default those of the data frame, or those that `fit`
            has seen.
        ylabel : str, default=None
            Label of the vertical axis, for the unit; by default it says what is drawn.
        convert : callable, default=None
            From values of the column that varies to what the axis shows, such as dates:
            `EventGrid.to_dates` for example.
        ax : matplotlib Axes, default=None
            Where to draw; by default a new figure.

        Returns
        -------
        display : PredictiveDisplay

        Raises
        ------
        ImportError
            Without matplotlib.
        NotFittedError
            For an estimator that is not fitted.
        TypeError
            For an estimator of another package, and dates in X, as `predict` has it.
        ValueError
            For an unknown column or class, one that has a single value, columns that are not
            those of `fit`, data of the wrong shape, missing values in y, or in X unless a
            Pipeline fills them in, counts without the exposure that they need, and what
            `convert` cannot mean.

        Warns
        -----
        UserWarning
            Where 1000 points are too few for the shortest length scale or period.

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
        found = curves(fitted.estimator, seen, levels, target, exposures)
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
            By default that of a new figure.
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
