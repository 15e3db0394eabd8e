"""Which columns matter: length scales in units of the columns' standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from .._checks import check_whole
from .._linalg import Array
from ..estimators._inputs import interval_ends
from ..priors._data_scaled import column_std
from ..trace import Trace
from ._checks import Fitted, as_matrix, check_levels, unwrap
from ._figures import require_matplotlib, single_axes
from ._style import PALE_GREY, colours_of, hide_frame, label_log_axis
from ._text import as_label, as_legend_label, quote_levels, wrap

_LONGEST_NAME = 32
# Letters of classes of which four fit in a line of the legend.
_FOUR_IN_A_LINE = 14
# Line widths of intervals: of the widest interval, and the largest increase for each further one
# and for all of them.
_THIN, _STEP, _STEPS = 1.2, 1.8, 5.4
# Inches of a row, and of each further function in it.
_ROW, _FUNCTION = 0.24, 0.14
# Vertical space that the lines of the several classes of one column share.
_SHARED, _BAR_HEIGHT = 0.6, 0.7


@dataclass(repr=False, eq=False)
class RelevanceDisplay:
    """Relevance of the columns of X, the most relevant one first.

    It is recommended to use `from_estimator`. The relevance of a column is its standard deviation
    divided by its length scale. It says how many length scales fit into a typical step along the
    column. It does not depend on the column's unit, and so columns can be compared. For a squared
    exponential, ``exp(-relevance^2 / 2)`` is the correlation of the latent function at two points
    that are one standard deviation of that column apart. A column with a relevance far below 1
    hardly matters.

    Parameters
    ----------
    relevance : ndarray of shape (n_functions, n_draws, n_features)
        Draws, for one function or one for each class. Columns that are constant in X, or were
        constant in `fit`, have no relevance: they are NaN, and are drawn last.
    feature_names : list of str
        One for each column.
    labels : list of str, default=None
        Names of the functions, if there are several.
    prior : ndarray of shape (n_features, 2), default=None
        Prior interval of the widest confidence level. It is drawn behind the posterior intervals.
    confidence_levels : sequence of float, default=(0.5, 0.9)
        Levels of the intervals around the medians.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds the axes.
    ax_ : matplotlib Axes
        Axes with a row for each column of X.
    order_ : ndarray of int
        Columns that are drawn, from top to bottom. They are sorted by the logarithm of their median
        relevance, averaged over the functions.
    points_ : list of Line2D
        Medians, for each function.
    intervals_ : list of list of LineCollection
        For each function, the intervals of each confidence level, the widest first.
    prior_bars_ : BarContainer or None
        Prior intervals.

    See Also
    --------
    HyperparameterDisplay : Posteriors of single length scales.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skgpmcmc.displays import RelevanceDisplay
    >>> draws = np.random.default_rng(0).lognormal([0.0, 2.0], size=(1, 100, 2))
    >>> display = RelevanceDisplay(draws, feature_names=["age", "height"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['height', 'age']
    >>> plt.close(display.figure_)
    """

    relevance: Array
    _: KW_ONLY
    feature_names: Sequence[str]
    labels: Sequence[str] | None = None
    prior: Array | None = None
    confidence_levels: Sequence[float] = (0.5, 0.9)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        hyperparameter: str | None = None,
        confidence_levels: Sequence[float] = (0.5, 0.9),
        max_features: int = 40,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> RelevanceDisplay:
        """Draw the relevance of the columns by the length scales of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            Any fitted estimator of this package whose kernel has a length scale for each
            column, or a Pipeline that ends in one.
        X : array-like of shape (n_samples, n_features), default=None
            Data whose standard deviations are used. The default is the distinct rows that the
            estimator was fitted to.
        hyperparameter : str, default=None
            Name of the length scales. It is needed if the kernel has several such vectors.
        confidence_levels : sequence of float, default=(0.5, 0.9)
            Posterior probabilities of the intervals around the medians.
        max_features : int, default=40
            The largest number of columns that are drawn.
        feature_names : sequence of str, default=None
            Names of the columns. The default is the names that `fit` has seen.
        ax : matplotlib Axes, default=None
            Where to draw. The default is a new figure.

        Returns
        -------
        display : RelevanceDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator is of another package.
        ValueError
            If the kernel has no length scale for each column, or several of them. If columns are
            not those of `fit`, or if no column varies.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from skgpmcmc import MCMCGaussianProcessRegressor
        >>> from skgpmcmc.displays import RelevanceDisplay
        >>> X = np.random.default_rng(0).uniform(size=(30, 2))
        >>> model = MCMCGaussianProcessRegressor(n_warmup=100, n_draws=100, random_state=0)
        >>> model = model.fit(X, np.sin(9 * X[:, 1]))
        >>> display = RelevanceDisplay.from_estimator(model, feature_names=["noise", "phase"])
        >>> [display.feature_names[i] for i in display.order_]
        ['phase', 'noise']
        >>> plt.close(display.figure_)
        """
        caller = f"{cls.__name__}.from_estimator"
        require_matplotlib(caller)
        check_whole("max_features", max_features, 1)
        levels = check_levels(confidence_levels)
        fitted = unwrap(caller, estimator)
        traces, labels = fitted.functions()
        name = _length_scales(fitted, traces[0], hyperparameter)
        std = _column_std(fitted, X)
        where = traces[0].layout.groups[name]
        tails = interval_ends(levels[0])
        priors = traces[0].layout.priors[where]
        longest_first = [[np.exp(prior.quantile(p)) for p in tails[::-1]] for prior in priors]
        display = cls(
            np.array([std / np.exp(trace.all_theta()[:, where]) for trace in traces]),
            feature_names=fitted.columns(feature_names),
            labels=labels,
            prior=std[:, None] / np.array(longest_first),
            confidence_levels=levels,
        )
        return display.plot(ax, max_features=max_features)

    def plot(self, ax: Any = None, *, max_features: int = 40) -> RelevanceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. The default is a new figure.
        max_features : int, default=40
            The largest number of columns that are drawn.

        Returns
        -------
        display : RelevanceDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        medians = np.median(self.relevance, axis=1)
        order = np.argsort(-np.log(medians).mean(axis=0), kind="stable")
        self.order_ = order[:max_features]
        n_rows, n_functions = len(self.order_), len(self.relevance)
        height = (_ROW + _FUNCTION * (n_functions - 1)) * n_rows + 1.6
        self.ax_ = single_axes(ax, (7.5, height))
        self.figure_ = self.ax_.figure
        rows = np.arange(n_rows)
        self.prior_bars_ = None
        if self.prior is not None:
            low, high = self.prior[self.order_].T
            style = {"height": _BAR_HEIGHT, "color": PALE_GREY, "label": self._prior_label()}
            self.prior_bars_ = self.ax_.barh(rows, high - low, left=low, zorder=1, **style)
        self.points_: list[Any] = []
        self.intervals_: list[list[Any]] = []
        shifts = (np.arange(n_functions) - 0.5 * (n_functions - 1)) * _SHARED / n_functions
        for k, shift in enumerate(shifts):
            self._draw_function(k, rows + shift, medians[k])
        self._label(len(order))
        return self

    def _draw_function(self, k: int, rows: Array, medians: Array) -> None:
        colour = colours_of(len(self.relevance))[k]
        intervals = []
        levels = check_levels(self.confidence_levels)
        step = min(_STEP, _STEPS / len(levels))
        for i, level in enumerate(levels):
            relevance = self.relevance[k][:, self.order_]
            ends = np.quantile(relevance, interval_ends(level), axis=0)
            style = {"color": colour, "linewidth": _THIN + step * i, "zorder": 2}
            intervals.append(self.ax_.hlines(rows, *ends, **style))
        label = "median" if self.labels is None else as_legend_label(self.labels[k])
        style = {"color": colour, "markersize": 5.5, "markeredgecolor": "white", "zorder": 3}
        self.points_ += self.ax_.plot(medians[self.order_], rows, "o", label=label, **style)
        self.intervals_.append(intervals)

    def _label(self, n_features: int) -> None:
        ax, n_rows = self.ax_, len(self.order_)
        constant = np.isnan(self.relevance[0, 0])
        names = [
            as_label(self.feature_names[i], _LONGEST_NAME) + " (constant)" * bool(constant[i])
            for i in self.order_
        ]
        ax.set_yticks(np.arange(n_rows), names)
        ax.set_ylim(n_rows - 0.4, -0.6)
        ax.set_xscale("log")
        label_log_axis(ax.xaxis, *ax.get_xlim())
        lines = [
            "relevance: standard deviation of the column / its length scale",
            f"(median, {quote_levels(self.confidence_levels)} intervals; logarithmic axis)",
        ]
        if n_rows < n_features:
            lines.append(wrap(f"The {n_rows} most relevant of {n_features} columns."))
        ax.set_xlabel("\n".join(lines))
        is_wide = any(len(str(label)) > _FOUR_IN_A_LINE for label in self.labels or ())
        n_columns = 2 if is_wide else 4
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": n_columns}
        ax.legend(frameon=False, fontsize="small", **above)
        ax.grid(axis="x", color="0.92", zorder=0)
        hide_frame(ax)

    def _prior_label(self) -> str:
        return f"prior, {100 * max(self.confidence_levels):g} % interval"


def _length_scales(fitted: Fitted, trace: Trace, wanted: str | None) -> str:
    """Return the name of the hyperparameter that has a length scale for each column."""
    n_features = getattr(fitted.estimator, "n_features_in_", 0)
    if not n_features:
        raise ValueError(
            f"RelevanceDisplay needs inputs with columns; the kernel {fitted.estimator.kernel_} "
            "takes objects. HyperparameterDisplay draws any hyperparameter."
        )
    found = [
        name
        for name, where in trace.layout.groups.items()
        if name.endswith("length_scale") and where.stop - where.start == n_features
    ]
    if wanted is not None and wanted not in found:
        raise ValueError(
            f"hyperparameter must name a length scale for each of the {n_features} columns: "
            f"{', '.join(map(repr, found)) or 'there is none'}; got {wanted!r}."
        )
    if not found:
        raise ValueError(
            f"RelevanceDisplay needs a kernel with a sampled length scale for each of the "
            f"{n_features} columns, such as kernel=None or RBF(np.ones({n_features})); got "
            f"{fitted.estimator.kernel_}. HyperparameterDisplay draws any hyperparameter."
        )
    if wanted is None and len(found) > 1:
        raise ValueError(
            f"the kernel has several vectors of length scales: choose one by hyperparameter=, out "
            f"of {', '.join(map(repr, found))}."
        )
    return found[0] if wanted is None else wanted


def _column_std(fitted: Fitted, X: Any) -> Array:
    """Return the standard deviation of each column; NaN for one that is, or was, constant."""
    estimator = fitted.estimator
    rows = estimator.X_train_
    if X is not None:
        rows = fitted.transform(X)
        as_matrix("X", rows)  # in our words; scikit-learn compares the columns with those of fit
        rows = validate_data(estimator, rows, dtype=np.float64, reset=False)
    std = column_std(as_matrix("X", rows))
    assert std is not None  # it is a matrix of numbers
    # The posterior of a length scale is its prior where `fit` saw a constant, whatever varies now.
    learnt = column_std(as_matrix("X", estimator.X_train_))
    assert learnt is not None
    varies = (std > 0.0) & (learnt > 0.0)
    if not varies.any():
        n_rows = f"{len(rows)} row{'s' * (len(rows) > 1)}"
        raise ValueError(
            f"X must have a column that varies in X and in the rows of fit, because the relevance "
            f"of a column is in units of its standard deviation; got {n_rows} without one."
        )
    return np.where(varies, std, np.nan)
