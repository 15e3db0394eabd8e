"""The paper's results figure: bars of effective samples per unit of cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .agreement import has_converged, slowest_ess
from .problems import EXPERIMENTS, METHODS, PROBLEMS
from .report import FIGURE, METROPOLIS_FIGURE, Method, load
from .results import COSTS, efficiency

# Okabe and Ito's colours, which people with any colour vision tell apart; each also has its
# own place in the group, in the order of the legend.
_COLOURS = dict(
    zip(METHODS, ["#999999", "#E69F00", "#0072B2", "#56B4E9", "#D55E00", "#F0A0C0"], strict=True)
)
_UPDATES = {
    "slice": "#0072B2",
    "M-H narrow": "#F0E442",
    "M-H tuned": "#009E73",
    "M-H wide": "#D55E00",
}
_WIDTH = 0.8 / len(METHODS)
_TITLES = ["likelihood evaluation", "covariance construction", "second"]
BASELINE = PROBLEMS["mining"].baseline


def draw_figures(results: Path) -> None:
    """Draw whatever has results; without matplotlib, say so."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        print("matplotlib is not installed, and no figure is drawn: install the extra `plot`.")
        return
    found = {n: load(results, n) for n in EXPERIMENTS if (results / f"{n}.csv").exists()}
    found = {name: tables for name, tables in found.items() if BASELINE in tables[0]}
    if found:
        _draw_experiments(found, results / FIGURE)
    if (results / "mining-metropolis.csv").exists():
        _draw_metropolis(*load(results, "mining-metropolis"), results / METROPOLIS_FIGURE)


def _draw_experiments(found: dict[str, tuple[Method, Method]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.6), dpi=150, layout="constrained")
    for axes, cost, unit in zip(figure.subplots(1, len(COSTS)), COSTS, _TITLES, strict=True):
        _draw_panel(axes, found, cost)
        axes.set_title(f"Effective samples per {unit}", fontsize=11)
    _add_legend(figure, _COLOURS)
    figure.savefig(path)


def _draw_panel(axes: Any, found: dict[str, tuple[Method, Method]], cost: str) -> None:
    labels = []
    for place, (name, (chains, posterior)) in enumerate(found.items()):
        unit, _ = efficiency(chains[BASELINE], cost)
        for method, rows in chains.items():
            rate, error = efficiency(rows, cost)
            left = place + _WIDTH * (METHODS.index(method) - (len(METHODS) - 1) / 2)
            converged = all(map(has_converged, posterior[method]))
            axes.bar(
                left,
                rate / unit,
                _WIDTH,
                yerr=error / unit,
                color=_COLOURS[method],
                edgecolor="black",
                linewidth=0.6,
                hatch=None if converged else "////",
                error_kw={"elinewidth": 1.0, "capsize": 2.0},
            )
        labels.append(f"{name}\n{unit:.2g}")
    axes.set_xticks(range(len(found)), labels)
    axes.set_xlim(-0.5, len(found) - 0.5)
    axes.axhline(1.0, color="black", linewidth=0.6, linestyle=":", zorder=0)
    axes.set_ylabel(f"relative to {BASELINE}")
    axes.spines[["top", "right"]].set_visible(False)


def _add_legend(figure: Any, colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=c, edgecolor="black", label=n) for n, c in colours.items()]
    handles.append(Patch(facecolor="white", edgecolor="black", hatch="////", label="not converged"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def _draw_metropolis(chains: Method, posterior: Method, path: Path) -> None:
    """Draw the effective samples of the slowest quantity: a stuck chain cannot feign these."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), dpi=150, layout="constrained")
    axes = figure.subplots()
    groups = list(dict.fromkeys(method.split()[0] for method in chains))
    for method, rows in chains.items():
        group, _, update = method.partition(" ")
        place = groups.index(group) + 0.2 * (list(_UPDATES).index(update) - 1.5)
        slowest = slowest_ess(posterior[method])
        hatch = None if all(map(has_converged, posterior[method])) else "////"
        rate = slowest / sum(row["seconds"] for row in rows)
        axes.bar(place, rate, 0.2, color=_UPDATES[update], edgecolor="black", hatch=hatch)
    axes.set_yscale("log")
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel("smallest bulk ESS per second")
    axes.set_title("Mining: slice sampling beside random-walk proposals", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    _add_legend(figure, _UPDATES)
    figure.savefig(path)
