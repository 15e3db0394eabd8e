"""Chains over their draws, and how their ranks mix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .._checks import check_whole
from .._linalg import Array
from ._checks import unwrap
from ._figures import panels, require_matplotlib
from ._quantities import choose, quantities_of, worst
from ._style import GREY, SMALL, colours_of, hide_frame, label_log_axis, whole_numbers
from ._text import as_label, wrap

_LONGEST_TITLE = 55
# The legend: chains in a line, inches of a line, and points from the axis that its label takes.
_LEGEND_COLUMNS, _LEGEND_LINE, _BELOW_LABEL = 4, 0.2, 34.0
# Draws that a bin of ranks holds on average, at least; and bins, at most.
_DRAWS_PER_BIN, _MOST_BINS = 10, 20
# Chains of so many draws have dots.
_FEW_DRAWS = 50


@dataclass(repr=False, eq=False)
class TraceDisplay:
    """Chains over their draws, and histograms of their ranks.

    It is recommended to use `from_estimator`. The left panels have the draws of each chain, in the
    order in which they were made. The right panels have, for each chain, the ranks of its draws
    among the draws of all chains. If chains explore the same distribution, the ranks are spread
    evenly, about the dotted line [1]_.

    Parameters
    ----------
    draws : ndarray of shape (n_quantities, n_chains, n_draws)
        Draws on the natural scale.
    names : list of str
        One for each quantity.
    log_scale : list of bool, default=None
        Which quantities have a logarithmic axis. The default is none.
    diagnostics : list of dict, default=None
        For each quantity ``rhat``, ``ess_bulk`` and ``ess_tail``. By default they are not shown.
    note : str, default=""
        Text below the panels, such as what is left out.

    Attributes
    ----------
    figure_ : matplotlib Figure
        Figure that holds all panels.
    axes_ : ndarray of Axes of shape (n_quantities, 2)
        Panels.
    lines_ : list of list of Line2D
        For each quantity the line of each chain.
    ranks_ : list of list of StepPatch
        For each quantity the histogram of the ranks of each chain.

    See Also
    --------
    HyperparameterDisplay : Posteriors of hyperparameters, and their priors.

    References
    ----------
    .. [1] Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), Rank-normalization, folding,
       and localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis
       16(2).

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from skgpmcmc.displays import TraceDisplay
    >>> draws = np.random.default_rng(0).lognormal(size=(1, 4, 100))
    >>> display = TraceDisplay(draws, names=["length_scale"], log_scale=[True]).plot()
    >>> display.axes_.shape, len(display.lines_[0])
    ((1, 2), 4)
    >>> plt.close(display.figure_)
    """

    draws: Array
    _: KW_ONLY
    names: Sequence[str]
    log_scale: Sequence[bool] | None = None
    diagnostics: Sequence[dict[str, float]] | None = None
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        quantities: str | Sequence[str] | None = None,
        max_quantities: int = 6,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> TraceDisplay:
        """Draw the chains of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            Any fitted estimator of this package, or a Pipeline that ends in one.
        quantities : str or sequence of str, default=None
            Which quantities to draw: keys of `diagnostics_`, or names as in the picture. The name
            of a vector means all of its elements. The default is all of them: the hyperparameters,
            the latent variable that the chains agree on least, and the complete-data log
            likelihood.
        max_quantities : int, default=6
            If there are more quantities, those with the worst R-hat and effective sample size are
            drawn, and a note says what is left out.
        feature_names : sequence of str, default=None
            Names of the columns. The default is the names that `fit` has seen.
        ax : matplotlib Axes, or array of shape (n_quantities, 2), default=None
            Where to draw. The default is a new figure.

        Returns
        -------
        display : TraceDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator is of another package.
        ValueError
            If a quantity is unknown.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import matplotlib.pyplot as plt
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> from skgpmcmc.displays import TraceDisplay
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0)
        >>> display = TraceDisplay.from_estimator(model.fit(X, y))
        >>> display.names[:2]
        ['k1__constant_value', 'k2__length_scale']
        >>> plt.close(display.figure_)
        """
        caller = f"{cls.__name__}.from_estimator"
        require_matplotlib(caller)
        check_whole("max_quantities", max_quantities, 1)
        fitted = unwrap(caller, estimator)
        chosen = choose(quantities_of(fitted, feature_names), quantities)
        chosen, note = worst(chosen, max_quantities)
        display = cls(
            np.array([q.draws for q in chosen]),
            names=[q.name for q in chosen],
            log_scale=[q.log_scale for q in chosen],
            diagnostics=[q.diagnostics for q in chosen],
            note=note,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> TraceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or array of shape (n_quantities, 2), default=None
            A single Axes, which must be part of a grid, is divided into all panels. If it is the
            only one of its figure, the figure grows. The default is a new figure.

        Returns
        -------
        display : TraceDisplay
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        n_quantities = len(self.draws)
        used = np.ones((n_quantities, 2), dtype=bool)
        n_lines = math.ceil(self.draws.shape[1] / _LEGEND_COLUMNS)
        height = 1.9 * n_quantities + 0.8 + _LEGEND_LINE * n_lines
        self.figure_, self.axes_ = panels(ax, used, (11.0, height))
        self.lines_, self.ranks_ = [], []
        for i, (left, right) in enumerate(self.axes_):
            self.lines_.append(self._draw_chains(i, left))
            self.ranks_.append(_draw_ranks(self.draws[i], right))
            title = as_label(self.names[i], _LONGEST_TITLE)
            left.set_title(title, loc="left", fontsize="medium")
            right.set_title(self._diagnosis(i), loc="left", fontsize="medium")
            hide_frame(left)
            hide_frame(right)
        left, right = self.axes_[-1]
        left.set_xlabel("\n".join(["draw", wrap(self.note)]).strip())
        right.set_xlabel("rank among the draws of all chains")
        _place_legend_below(right)
        return self

    def _draw_chains(self, i: int, ax: Any) -> list[Any]:
        lines = []
        is_short = self.draws.shape[2] <= _FEW_DRAWS
        style: dict[str, Any] = {"linewidth": 0.5}
        if is_short:  # of lines alone one would not see where the draws are
            style = {"linewidth": 1.0, "marker": "o", "markersize": 3.0}
        for chain, colour in zip(self.draws[i], colours_of(len(self.draws[i])), strict=True):
            number = np.arange(1, len(chain) + 1)
            lines += ax.plot(number, chain, color=colour, alpha=0.8, **style)
        if self.log_scale is not None and self.log_scale[i]:
            ax.set_yscale("log")
            label_log_axis(ax.yaxis, self.draws[i].min(), self.draws[i].max())
        whole_numbers(ax.xaxis)
        return lines

    def _diagnosis(self, i: int) -> str:
        if self.diagnostics is None:
            return ""
        row = self.diagnostics[i]
        return (
            f"R-hat {row['rhat']:.3f}, ESS {row['ess_bulk']:.0f} (bulk), "
            f"{row['ess_tail']:.0f} (tail)"
        )


def _draw_ranks(draws: Array, ax: Any) -> list[Any]:
    """Draw how the draws of each chain rank among all; return the histograms."""
    n_draws = draws.shape[1]
    ranks = rankdata(draws).reshape(draws.shape)
    n_bins = int(np.clip(n_draws // _DRAWS_PER_BIN, 2, _MOST_BINS))
    edges = np.linspace(0.5, draws.size + 0.5, n_bins + 1)
    histograms = []
    for c, (row, colour) in enumerate(zip(ranks, colours_of(len(ranks)), strict=True)):
        counts = np.histogram(row, edges)[0]
        style = {"color": colour, "linewidth": 1.2, "label": f"chain {c + 1}"}
        histograms.append(ax.stairs(counts, edges, baseline=None, **style))
    ax.axhline(n_draws / n_bins, color=GREY, linestyle=":", linewidth=1.0)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("draws in bin")
    whole_numbers(ax.xaxis)
    whole_numbers(ax.yaxis)
    return histograms


def _place_legend_below(ax: Any) -> None:
    """Put the legend of the chains below the label of an axis, however high the panel is."""
    from matplotlib.transforms import offset_copy

    below = offset_copy(ax.transAxes, ax.figure, y=-_BELOW_LABEL, units="points")
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
    ax.legend(ncols=_LEGEND_COLUMNS, fontsize=SMALL, frameon=False, borderaxespad=0.0, **place)
