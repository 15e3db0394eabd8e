"""The parts of the latent function along one column of X."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from .._linalg import Array
from ..estimators import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor
from ..estimators._inputs import interval_ends
from ..estimators._monte_carlo import random_rows
from ._along import Line
from ._checks import check_levels, unwrap
from ._columns import column_names
from ._conversions import are_dates, check_convert, convert_numbers
from ._curves import draw_training_edges
from ._figures import panels, require_matplotlib
from ._frames import like
from ._predictive import check_resolution
from ._style import BLUE, PALE_GREY, concise_dates, draw_bands, draw_legend, hide_frame
from ._text import as_label, as_legend_label, short_number
from ._training import training_rows

_WIDTH, _HEIGHT, _MARGIN = 9.0, 2.1, 0.8
_LONGEST_NAME = 40
# Training rows that parts average to zero over, at most.
_N_CENTRE = 200
# A part that varies by a smaller share of its size is the same everywhere: its quantiles are found
# to about 1e-8, and no picture shows less than this.
_ROUNDING = 1e-6


class ComponentsDisplay:
    """The parts of the latent function along one column of X, a panel for each.

    It is recommended to use `from_estimator`. Each panel has the posterior mean of a part, such as
    the trend or the season, and its posterior intervals, on a scale of its own. Parts that are the
    same everywhere, such as the mean, have no panel but a note below the last one.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Values of the column.
    mean : dict of str to ndarray of shape (n_points,)
        Name of a part -> its posterior mean.
    intervals : dict of str to ndarray of shape (n_levels, n_points, 2)
        Lower and upper ends.
    confidence_levels : sequence of float
        Of the intervals, the widest one first.
    shares : dict of str to tuple of three float, default=None
        Name of a part -> its share of the variance, and the ends of the 90 % interval, for titles.
    xlabel : str, default="x"
        Label of the horizontal axis.
    ylabel : str, default="latent function"
        Label of the vertical axes.
    training_edges : sequence of float, default=()
        Values of the column at which the training data end, and the curves go on.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds the axes.
    axes_ : ndarray of Axes of shape (n_panels,)
        A panel for each part.
    lines_ : list of Line2D
        Means, one for each panel.
    bands_ : list of list of PolyCollection
        Intervals of each panel.
    edge_lines_ : list of Line2D
        Where the training data end, in all panels.

    See Also
    --------
    PredictiveDisplay : Predictions along one column, all parts together.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skgpmcmc.displays import ComponentsDisplay
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> mean = {"trend": x, "season": np.sin(6.0 * x)}
    >>> intervals = {name: np.stack([m - 1.0, m + 1.0], -1)[None] for name, m in mean.items()}
    >>> display = ComponentsDisplay(x, mean, intervals, confidence_levels=[0.9])
    >>> len(display.plot().axes_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        x: Array,
        mean: Mapping[str, Array],
        intervals: Mapping[str, Array],
        *,
        confidence_levels: Sequence[float],
        shares: Mapping[str, tuple[float, float, float]] | None = None,
        xlabel: str = "x",
        ylabel: str = "latent function",
        training_edges: Sequence[float] = (),
    ) -> None:
        self.x = x
        self.mean = mean
        self.intervals = intervals
        self.confidence_levels = confidence_levels
        self.shares = shares
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.training_edges = training_edges

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        feature: int | str = 0,
        held: str | Mapping[int | str, Any] = "median",
        labels: Sequence[str] | None = None,
        target: Any = None,
        confidence_levels: Sequence[float] = (0.5, 0.9),
        grid_resolution: int | None = None,
        feature_names: Sequence[str] | None = None,
        ylabel: str | None = None,
        convert: Callable[[Array], Any] | None = None,
        ax: Any = None,
    ) -> ComponentsDisplay:
        """Draw the parts of a fitted estimator's latent function along one column.

        Parameters
        ----------
        estimator : estimator instance
            Any fitted estimator of this package, or a Pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Rows that say how far the curves go, and what the other columns are held at. Where
            they go beyond the data that the estimator was fitted to, such as into the future, there
            are dotted lines.
        feature : int or str, default=0
            The column that varies, by its number or name.
        held : {"median", "mean"} or dict, default="median"
            What the other columns are held at; see `PredictiveDisplay.from_estimator`.
        labels : list of str, default=None
            What the summands of the kernel are called; see `predict_components`.
        target : label, default=None
            Which class, if there are several latent functions.
        confidence_levels : sequence of float, default=(0.5, 0.9)
            Posterior probabilities of the intervals.
        grid_resolution : int, default=None
            Number of points of a curve, at least 2. None is 100, or as many as the shortest length
            scale or period needs, up to 1000.
        feature_names : sequence of str, default=None
            Names of the columns of X; by default those of the data frame, or those that `fit`
            has seen.
        ylabel : str, default=None
            Label of the vertical axes; by default ``"y"`` for a regressor, ``"log rate"`` for
            counts, and ``"latent function"`` for classes.
        convert : callable, default=None
            From values of the column that varies to what the axis shows, such as dates:
            `EventGrid.to_dates` for example.
        ax : matplotlib Axes, or array of one for each panel, default=None
            A single Axes, of a grid, makes room for all panels. By default a new figure.

        Returns
        -------
        display : ComponentsDisplay
            Each part averages to zero over the training rows (up to 200, at random): the data
            do not say to which of them a constant belongs. Titles have the share of each part in
            the variance of the latent function over these rows (`component_shares`), and its 90 %
            interval.

        Raises
        ------
        ImportError
            Without matplotlib.
        NotFittedError
            For an estimator that is not fitted.
        TypeError
            For an estimator of another package, and dates in X, as `predict` has it.
        ValueError
            For an unknown column or class, a column of a single value, another number of labels
            than of summands, and what `convert` cannot mean.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import matplotlib.pyplot as plt
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> from skgpmcmc.displays import ComponentsDisplay
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> kernel = 1.0 * RBF(40.0) + 0.1 * RBF(3.0)
        >>> model = MCMCCoxProcessRegressor(kernel, n_warmup=50, n_draws=50, random_state=0)
        >>> display = ComponentsDisplay.from_estimator(model.fit(X, y), X, labels=["slow", "fast"])
        >>> len(display.axes_), display.axes_[0].get_ylabel()
        (2, 'log rate')
        >>> plt.close(display.figure_)
        """
        caller = f"{cls.__name__}.from_estimator"
        require_matplotlib(caller)
        fitted = unwrap(caller, estimator)
        check_resolution(grid_resolution)
        check_convert(convert)
        levels = check_levels(confidence_levels)
        function, prefix = _function(fitted.estimator, target)
        names = column_names(X, estimator, feature_names)
        line = Line.through(fitted, X, names, feature, held)
        x, seen = line.points(grid_resolution)
        is_date = are_dates(convert_numbers(x, convert))
        ends = np.ravel([interval_ends(level) for level in levels])
        centre = random_rows(training_rows(fitted), _N_CENTRE, np.random.RandomState(0))
        rows = like(seen, centre)  # with the names of columns that fit has seen
        parts = fitted.estimator.predict_components(seen, ends, labels, centre_on=rows)
        shares = fitted.estimator.component_shares(rows, labels=labels, random_state=0)
        display = cls(
            x,
            {name: _of_function(part.mean, function) for name, part in parts.items()},
            {
                name: _of_function(part.quantiles, function)
                .reshape(len(x), len(levels), 2)
                .swapaxes(0, 1)
                for name, part in parts.items()
            },
            confidence_levels=levels,
            shares={
                name: (row["share"], row["5%"], row["95%"])
                for name in parts
                if (row := shares.get(prefix + name)) is not None
            },
            xlabel=line.label(seen, is_date),
            ylabel=latent_label(fitted.estimator) if ylabel is None else ylabel,
            training_edges=line.edges(x, seen),
        )
        return display.plot(ax, convert=convert)

    def plot(
        self, ax: Any = None, *, convert: Callable[[Array], Any] | None = None
    ) -> ComponentsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or array of one for each panel, default=None
            As in `from_estimator`.
        convert : callable, default=None
            As in `from_estimator`.

        Returns
        -------
        display : ComponentsDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        check_convert(convert)
        x = convert_numbers(self.x, convert)
        drawn = [name for name in self.mean if not self._is_constant(name)] or list(self.mean)
        size = (_WIDTH, _HEIGHT * len(drawn) + _MARGIN)
        self.figure_, axes = panels(ax, np.ones((len(drawn), 1), dtype=bool), size)
        self.axes_ = axes[:, 0]
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.edge_lines_: list[Any] = []
        for name, panel in zip(drawn, self.axes_, strict=True):
            self._draw(name, panel, x)
            self.edge_lines_ += draw_training_edges(panel, self, convert)
        for panel in self.axes_[:-1]:
            panel.tick_params(labelbottom=False)
        self.figure_.align_ylabels(self.axes_)
        notes = [self._note_on(name) for name in self.mean if name not in drawn]
        self.axes_[-1].set_xlabel("\n".join([self.xlabel, *notes]))
        draw_legend(self.axes_[0], beside=ax is None)
        return self

    def _draw(self, name: str, panel: Any, x: Any) -> None:
        """Draw one part."""
        panel.axhline(0.0, color=PALE_GREY, linewidth=0.8, zorder=0)
        of_what = "posterior interval"
        self.bands_.append(
            draw_bands(panel, x, self.intervals[name], self.confidence_levels, of_what)
        )
        style = {"color": BLUE, "linewidth": 2.0, "label": as_legend_label("posterior mean")}
        self.lines_ += panel.plot(x, self.mean[name], **style)
        panel.set_title(self._title(name), fontsize="medium", loc="left")
        panel.set_ylabel(self.ylabel)
        panel.set_xlim(x[0], x[-1])
        if are_dates(self.lines_[-1].get_xdata(orig=True)):
            concise_dates(panel.xaxis)
        hide_frame(panel)

    def _title(self, name: str) -> str:
        title = as_label(name, _LONGEST_NAME)
        if self.shares is None or name not in self.shares or len(self.shares) == 1:
            return title
        share, low, high = (100.0 * value for value in self.shares[name])
        return f"{title}: {share:.0f} % of the variance (90 % interval: {low:.0f} to {high:.0f} %)"

    def _is_constant(self, name: str) -> bool:
        ends = np.asarray(self.intervals[name])
        return bool(np.ptp(ends, axis=1).max() <= _ROUNDING * np.abs(ends).max())

    def _note_on(self, name: str) -> str:
        """Return in words what a part is that is the same everywhere."""
        low, high = (short_number(end, 3) for end in self.intervals[name][0, 0])
        level = f"{100.0 * self.confidence_levels[0]:g} % interval: {low} to {high}"
        value = short_number(self.mean[name][0], 3)
        return f"({as_label(name, _LONGEST_NAME)} everywhere: {value}; {level})"


@singledispatch
def latent_label(estimator: Any) -> str:
    """Return what the vertical axis of latent functions shows."""
    return "latent function"


@latent_label.register
def _(estimator: MCMCGaussianProcessRegressor) -> str:
    return "y"


@latent_label.register
def _(estimator: MCMCCoxProcessRegressor) -> str:
    return "log rate"


def _function(estimator: Any, target: Any) -> tuple[int | None, str]:
    """Return which latent function is that of the target, and what names of its parts begin with.

    None and nothing if there is only one.
    """
    if not isinstance(estimator.trace_, list):
        if target is not None:
            raise ValueError(
                f"target is for estimators with a latent function for each class; got {target!r}. "
                "Leave it out: there is one latent function."
            )
        return None, ""
    labels = estimator.classes_.tolist()
    if target not in labels:
        raise ValueError(f"target must be one of the classes, {labels}; got {target!r}.")
    return labels.index(target), f"{target}: "


def _of_function(values: Array, function: int | None) -> Array:
    return values if function is None else values[:, function]
