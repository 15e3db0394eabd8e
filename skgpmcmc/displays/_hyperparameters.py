"""Posteriors of hyperparameters, with their priors behind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from .._checks import check_whole
from .._linalg import Array
from ..priors import HyperPrior
from ._checks import unwrap
from ._figures import panels, require_matplotlib
from ._quantities import choose, first, pooled, quantities_of
from ._style import BLUE, BLUES, ORANGE, SMALL, hide_frame, label_log_axis, thinned
from ._text import in_lines, wrap

_KINDS = ("marginals", "pairs")
_DEFAULT_MOST = {"marginals": 12, "pairs": 5}
_N_COLUMNS = 4
# Letters that fit on a panel, of pairs and of marginals.
_NARROW, _WIDE = 20, 30
_MOST_BINS = 40
_MOST_POINTS = 1000
# So few are drawn larger.
_FEW_POINTS = 150
_N_CURVE = 200
# Central share of the prior that is shown, as far as the axis goes that way.
_PRIOR_TAIL = 0.025
# The axis goes at most so many times the draws' range beyond them.
_BEYOND = 1.0


@dataclass(repr=False, eq=False)
class HyperparameterDisplay:
    """Posteriors of hyperparameters with their priors, one by one or in pairs.

    It is recommended to use `from_estimator`. The logarithm of a positive hyperparameter is
    sampled. So its axis is logarithmic, and the densities of prior and posterior are per unit of
    the natural logarithm. Areas under the curves are then probabilities.

    Parameters
    ----------
    draws : ndarray of shape (n_quantities, n_draws)
        Draws of all chains on the natural scale.
    names : list of str
        One for each hyperparameter.
    log_scale : list of bool, default=None
        Which hyperparameters have a logarithmic axis. The default is none.
    priors : list of HyperPrior, default=None
        One for each hyperparameter. By default no prior is drawn.
    kind : {"marginals", "pairs"}, default="marginals"
        ``"marginals"`` draws histograms. ``"pairs"`` also draws each pair, below the diagonal.
    note : str, default=""
        Text below the panels, such as what is left out.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds all panels.
    axes_ : ndarray of Axes
        The panels. An entry is None where there is no panel. The shape for pairs is (n_quantities,
        n_quantities).
    histograms_ : list of StepPatch
        One for each hyperparameter.
    prior_lines_ : list of Line2D
        Prior densities, one for each hyperparameter that has a prior.
    points_ : list of Line2D
        Draws of the pairs, row by row. It is empty for marginals.

    See Also
    --------
    TraceDisplay : Whether the chains have converged.
    RelevanceDisplay : Length scales of many columns.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skgpmcmc.displays import HyperparameterDisplay
    >>> draws = np.random.default_rng(0).lognormal(size=(2, 100))
    >>> display = HyperparameterDisplay(draws, names=["a", "b"], log_scale=[True, True])
    >>> display.plot().axes_.shape
    (1, 2)
    >>> plt.close(display.figure_)
    """

    draws: Array
    _: KW_ONLY
    names: Sequence[str]
    log_scale: Sequence[bool] | None = None
    priors: Sequence[HyperPrior] | None = None
    kind: str = "marginals"
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: str = "marginals",
        quantities: str | Sequence[str] | None = None,
        max_quantities: int | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> HyperparameterDisplay:
        """Draw the posterior of a fitted estimator's hyperparameters.

        Parameters
        ----------
        estimator : estimator instance
            Any fitted estimator of this package, or a Pipeline that ends in one.
        kind : {"marginals", "pairs"}, default="marginals"
            ``"marginals"`` draws histograms with priors. ``"pairs"`` also draws each pair.
        quantities : str or sequence of str, default=None
            Which quantities to draw: keys of `diagnostics_`, or names as in the picture. The name
            of a vector means all of its elements. The default is all hyperparameters.
        max_quantities : int, default=None
            If there are more quantities, the first ones are drawn, and a note says how many are
            left out. None means 12 for marginals, and 5 for pairs.
        feature_names : sequence of str, default=None
            Names of the columns. The default is the names that `fit` has seen.
        ax : matplotlib Axes, or array of one for each panel, default=None
            Where to draw. The default is a new figure.

        Returns
        -------
        display : HyperparameterDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator is of another package.
        ValueError
            If the kind or a quantity is unknown, or if nothing was sampled.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import matplotlib.pyplot as plt
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> from skgpmcmc.displays import HyperparameterDisplay
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0)
        >>> display = HyperparameterDisplay.from_estimator(model.fit(X, y))
        >>> display.names
        ['k1__constant_value', 'k2__length_scale', 'mean']
        >>> plt.close(display.figure_)
        """
        caller = f"{cls.__name__}.from_estimator"
        require_matplotlib(caller)
        _check_kind(kind)
        n_most = _DEFAULT_MOST[kind] if max_quantities is None else max_quantities
        check_whole("max_quantities", n_most, 1)
        fitted = unwrap(caller, estimator)
        chosen = [q for q in quantities_of(fitted, feature_names) if q.prior is not None]
        if not chosen:
            raise ValueError(
                f"{caller} has nothing to draw: all hyperparameters are fixed. Give some bounds."
            )
        chosen, note = first(choose(chosen, quantities), n_most)
        display = cls(
            np.array([pooled(q.draws) for q in chosen]),
            names=[q.name for q in chosen],
            log_scale=[q.log_scale for q in chosen],
            priors=[q.prior for q in chosen if q.prior is not None],
            kind=kind,
            note=note,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> HyperparameterDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or array of one for each panel, default=None
            A single Axes, which must be part of a grid, is divided into all panels. If it is the
            only one of its figure, the figure grows. The default is a new figure.

        Returns
        -------
        display : HyperparameterDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        _check_kind(self.kind)
        n = len(self.draws)
        self.histograms_: list[Any] = []
        self.prior_lines_: list[Any] = []
        self.points_: list[Any] = []
        if self.kind == "pairs":
            if n < 2:
                raise ValueError("kind='pairs' needs two hyperparameters or more; got 1.")
            used = np.tri(n, dtype=bool)
            self.figure_, self.axes_ = panels(ax, used, (2.2 * n + 0.6, 2.0 * n + 0.6))
            self._plot_pairs()
        else:
            n_columns = min(_N_COLUMNS, n)
            n_rows = math.ceil(n / n_columns)
            used = np.arange(n_rows * n_columns).reshape(n_rows, n_columns) < n
            self.figure_, self.axes_ = panels(ax, used, (3.1 * n_columns, 2.5 * n_rows + 0.5))
            self._plot_marginals(self.axes_[used], n_columns)
        return self

    def _plot_marginals(self, axes: Any, n_columns: int) -> None:
        for i, ax in enumerate(axes):
            self._draw_marginal(i, ax)
            ax.set_xlim(self._limits(i))
            ax.set_title(in_lines(self.names[i], _WIDE), loc="left", fontsize="medium")
            ax.set_xlabel("value, logarithmic axis" if self._is_log(i) else "value")
            unit = "per unit of ln(value)" if self._is_log(i) else "per unit of value"
            ax.set_ylabel(f"density\n({unit})" if i % n_columns == 0 else f"({unit})")
        axes[0].legend(fontsize=SMALL, frameon=False)
        if self.note:
            axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{wrap(self.note, _WIDE)}")

    def _plot_pairs(self) -> None:
        n = len(self.draws)
        for row in range(n):
            self._draw_marginal(row, self.axes_[row, row])
            self.axes_[row, row].set_yticks([])
            for column in range(row):
                self._draw_pair(column, row, self.axes_[row, column])
            for column in range(row + 1):
                ax = self.axes_[row, column]
                ax.set_xlim(self._limits(column))
                if row == n - 1:
                    ax.set_xlabel(in_lines(self.names[column], _NARROW), fontsize="small")
                else:
                    ax.tick_params(labelbottom=False)
                if column > 0:
                    ax.tick_params(labelleft=False)
            if row > 0:
                self.axes_[row, 0].set_ylabel(in_lines(self.names[row], _NARROW), fontsize="small")
        self.axes_[0, 0].set_ylabel("density", fontsize="small")
        # It stands where no panel is.
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
        legend = self.axes_[0, 0].legend(title=self.note.replace("; ", ";\n"), **place)
        legend.set_in_layout(False)

    def _draw_marginal(self, i: int, ax: Any) -> None:
        """Draw a histogram, and the prior's density, per unit of the sampling scale."""
        values = self._on_sampling_scale(i)
        n_bins = int(np.clip(math.sqrt(len(values)), 5, _MOST_BINS))
        density, edges = np.histogram(values, n_bins, density=True)
        edges = np.exp(edges) if self._is_log(i) else edges
        style = {"fill": True, "facecolor": BLUES[1], "edgecolor": BLUE, "linewidth": 0.8}
        self.histograms_.append(ax.stairs(density, edges, label="posterior", **style))
        self._set_scale(i, ax, "x")
        if self.priors is not None:
            x = np.linspace(*self._sampling_limits(i), _N_CURVE)
            prior = np.exp([self.priors[i].log_density(value) for value in x.tolist()])
            x = np.exp(x) if self._is_log(i) else x
            style = {"color": ORANGE, "linewidth": 1.5, "label": "prior"}
            self.prior_lines_ += ax.plot(x, prior, **style)
        ax.set_ylim(bottom=0.0)
        hide_frame(ax)

    def _draw_pair(self, i: int, j: int, ax: Any) -> None:
        points = thinned(self.draws[[i, j]].T, _MOST_POINTS)
        size, alpha = (2.0, 0.4) if len(points) > _FEW_POINTS else (4.0, 0.7)
        style = {"color": BLUE, "markersize": size, "alpha": alpha, "markeredgewidth": 0.0}
        self.points_ += ax.plot(points[:, 0], points[:, 1], "o", **style)
        self._set_scale(i, ax, "x")
        self._set_scale(j, ax, "y")
        ax.set_ylim(self._limits(j))

    def _set_scale(self, i: int, ax: Any, which: str) -> None:
        if self._is_log(i):
            ax.set(**{f"{which}scale": "log"})
            label_log_axis(getattr(ax, f"{which}axis"), *self._limits(i))

    def _is_log(self, i: int) -> bool:
        return self.log_scale is not None and self.log_scale[i]

    def _on_sampling_scale(self, i: int) -> Array:
        return np.log(self.draws[i]) if self._is_log(i) else np.asarray(self.draws[i])

    def _limits(self, i: int) -> tuple[float, float]:
        low, high = self._sampling_limits(i)
        return (math.exp(low), math.exp(high)) if self._is_log(i) else (low, high)

    def _sampling_limits(self, i: int) -> tuple[float, float]:
        """Return what an axis shows: all draws, and the prior where it is not far away."""
        values = self._on_sampling_scale(i)
        low, high = float(values.min()), float(values.max())
        width = (high - low) or 1.0
        ends = [low, high]
        if self.priors is not None:
            ends = [self.priors[i].quantile(p) for p in (_PRIOR_TAIL, 1.0 - _PRIOR_TAIL)]
        left = min(low, max(ends[0], low - _BEYOND * width))
        right = max(high, min(ends[1], high + _BEYOND * width))
        return left - 0.03 * width, right + 0.03 * width


def _check_kind(kind: Any) -> None:
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, _KINDS))}; got {kind!r}.")
