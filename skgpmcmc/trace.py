"""The results of chains: draws, statistics, costs."""

from __future__ import annotations

import copy
import operator
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import diagnostics
from ._linalg import Array
from ._model._layout import ParameterLayout
from ._model._model import LatentGaussianModel
from .diagnostics._summary import with_quantiles
from .diagnostics._worst import least_agreed
from .likelihoods._checks import check_quantiles

#: The quantities of `Trace.quantities` that are not hyperparameters.
OTHER_QUANTITIES = ("latent[worst]", "complete_data_log_likelihood")
# The largest number of latent variables that are examined.
_MOST_LATENTS = 50


@dataclass
class Costs:
    """The costs of a phase of a chain.

    Attributes
    ----------
    n_covariances : int
        Hyperparameter settings of the kernel that were considered: what M&A count as
        covariance constructions. Where only the signal variance differs, none is built.
    n_likelihoods : int
        Evaluations of the log likelihood of all data.
    n_failures : int
        Proposals rejected because a matrix was not positive definite, or because a
        proposal of the caller's was NaN.
    seconds : float
        CPU time of the process.
    """

    n_covariances: int = 0
    n_likelihoods: int = 0
    n_failures: int = 0
    seconds: float = 0.0

    def __sub__(self, other: Costs) -> Costs:
        """Return the costs of a phase from those at its end and at its beginning."""
        return Costs(*map(operator.sub, astuple(self), astuple(other)))

    def __add__(self, other: Costs) -> Costs:
        """Return the costs of two phases together."""
        return Costs(*map(operator.add, astuple(self), astuple(other)))


class ChainDraws:
    """Preallocated draws of one chain.

    Parameters
    ----------
    n_draws, n_parameters, n_latent : int
        Sizes.
    has_collapsed_mean : bool
        Whether a mean offset is drawn beside theta.

    Attributes
    ----------
    n_kept : int
        How many draws there are by now.
    """

    def __init__(
        self, n_draws: int, n_parameters: int, n_latent: int, has_collapsed_mean: bool
    ) -> None:
        self.theta = np.empty((n_draws, n_parameters))
        self.latent = np.empty((n_draws, n_latent))
        self.log_likelihood = np.empty(n_draws)
        self.complete_data_log_likelihood = np.empty(n_draws)
        self.collapsed_mean = np.empty(n_draws) if has_collapsed_mean else None
        self.n_kept = 0
        self.moved = np.zeros(n_parameters)
        self.gave_up = False
        self.n_warmup = 0
        self.warmup = Costs()
        self.sampling = Costs()
        # Snapshots from which the chain can be continued, the latest last; only the sampler uses
        # them.
        self.snapshots: list[Any] = []

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that have a row for each draw, by name."""
        names = ("theta", "latent", "log_likelihood", "complete_data_log_likelihood")
        arrays = {name: getattr(self, name) for name in names}
        if self.collapsed_mean is not None:
            arrays["collapsed_mean"] = self.collapsed_mean
        return arrays

    def with_room(self, n_draws: int) -> ChainDraws:
        """Return the draws kept so far in arrays of their own, with room for `n_draws` in all.

        Draws that came from another process may be read-only: Dask hands out the bytes that it
        received.
        """
        draws = copy.copy(self)
        for name, values in self.arrays().items():
            own = np.empty((n_draws, *values.shape[1:]))
            own[: self.n_kept] = values[: self.n_kept]
            setattr(draws, name, own)
        draws.snapshots = list(self.snapshots)
        return draws

    def add(self, new: ChainDraws, first: int) -> None:
        """Add the draws and costs of a round, and the point where it ended.

        The point where it began is kept too: another chain may have been stopped before its end.

        Parameters
        ----------
        new : ChainDraws
            The draws of the round; what is drawn again was there before.
        first : int
            Number of the first of them.
        """
        end = first + new.n_kept
        added = new.arrays()
        for name, values in self.arrays().items():
            values[first:end] = added[name][: new.n_kept]
        self.n_kept = max(self.n_kept, end)
        self.moved, self.gave_up, self.n_warmup = new.moved, new.gave_up, new.n_warmup
        self.warmup, self.sampling = self.warmup + new.warmup, self.sampling + new.sampling
        self.snapshots = self.snapshots[-1:] + new.snapshots

    @classmethod
    def for_model(cls, model: LatentGaussianModel, n_draws: int) -> ChainDraws:
        """Preallocate draws of a model."""
        has_collapsed_mean = model.mean_prior is not None
        return cls(n_draws, len(model.layout), model.n_kept, has_collapsed_mean)


@dataclass(repr=False)
class Trace:
    """Draws of several chains.

    Attributes
    ----------
    layout : ParameterLayout
        Names and scales of theta.
    theta : ndarray of shape (n_chains, n_draws, n_parameters)
        Hyperparameters on their sampling scale (logarithms; the mean as it is).
    latent : ndarray of shape (n_chains, n_draws, n_latent)
        Latent variables at the training inputs; or, of a `LowRankStructure`, the latent function at
        its points.
    log_likelihood : ndarray of shape (n_chains, n_draws)
        log L(f).
    complete_data_log_likelihood : ndarray of shape (n_chains, n_draws)
        log L(f) + log N(f; m, K_theta), the quantity whose mixing M&A report.
    collapsed_mean : ndarray of shape (n_chains, n_draws) or None
        The mean offset, where it was integrated out and drawn afterwards.
    moved : ndarray of shape (n_chains, n_parameters)
        Share of the iterations after the warm-up in which each element of theta moved.
    warmup, sampling : list of Costs
        For each chain.
    snapshots : list
        What each chain can be continued from.
    entropy : list of int
        What the generators of all chains were made from.
    settings : dict
        How the chains ran: `SamplerSettings` without the number of draws; of a proposal, only
        whether there was one.
    gave_up : list of bool
        Whether each chain went on with slices because its trajectories failed in the warm-up.
    n_warmup : int
        Iterations of the warm-up of each chain.
    """

    layout: ParameterLayout
    theta: Array
    latent: Array
    log_likelihood: Array
    complete_data_log_likelihood: Array
    collapsed_mean: Array | None
    moved: Array
    warmup: list[Costs] = field(default_factory=list)
    sampling: list[Costs] = field(default_factory=list)
    snapshots: list[Any] = field(default_factory=list)
    entropy: list[int] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    gave_up: list[bool] = field(default_factory=list)
    n_warmup: int = 0

    @classmethod
    def from_chains(
        cls,
        layout: ParameterLayout,
        chains: list[ChainDraws],
        n_draws: int,
        settings: dict[str, Any],
        entropy: list[int],
    ) -> Trace:
        """Stack the first draws of chains, which may have more if they were stopped.

        Parameters
        ----------
        layout : ParameterLayout
            Names and scales of theta.
        chains : list of ChainDraws
            At least `n_draws` of each.
        n_draws : int
            Draws of each chain.
        settings : dict
            How the chains ran.
        entropy : list of int
            What the generators of all chains were made from.
        """
        arrays = [chain.arrays() for chain in chains]
        stacked: dict[str, Any] = {
            name: np.stack([a[name][:n_draws] for a in arrays]) for name in arrays[0]
        }
        return cls(
            layout=layout,
            **{"collapsed_mean": None, **stacked},
            moved=np.stack([c.moved for c in chains]),
            gave_up=[c.gave_up for c in chains],
            n_warmup=chains[0].n_warmup,
            warmup=[c.warmup for c in chains],
            sampling=[c.sampling for c in chains],
            # Dask hands out read-only arrays.
            snapshots=copy.deepcopy(
                [_last_within(c.snapshots, n_draws * settings["thin"]) for c in chains]
            ),
            entropy=entropy,
            settings=settings,
        )

    def chain(self, index: int) -> ChainDraws:
        """Return one chain's draws, from which it can be continued."""
        collapsed = self.collapsed_mean is not None
        draws = ChainDraws(self.n_draws, self.theta.shape[2], self.latent.shape[2], collapsed)
        for name, values in draws.arrays().items():
            values[:] = getattr(self, name)[index]
        draws.n_kept = self.n_draws
        draws.moved, draws.gave_up = self.moved[index], self.gave_up[index]
        draws.n_warmup = self.n_warmup
        draws.warmup, draws.sampling = self.warmup[index], self.sampling[index]
        draws.snapshots = [s for s in [self.snapshots[index]] if s is not None]
        return draws

    def __repr__(self) -> str:
        """Return one line: how many draws there are, and of what."""
        mean = [] if self.collapsed_mean is None else ["mean"]
        names = ", ".join([*self.layout.groups, *mean]) or "no hyperparameters"
        return (
            f"<Trace of {self.n_chains} chains with {self.n_draws} draws each: {names}; "
            f"{self.latent.shape[2]} latent variables>"
        )

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.theta.shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws that each chain kept."""
        return self.theta.shape[1]

    def posterior(self) -> dict[str, Array]:
        """Return the draws by name, on the natural scale.

        Returns
        -------
        posterior : dict
            Name -> array of shape (n_chains, n_draws), or (n_chains, n_draws, size)
            for a hyperparameter with several elements.
        """
        natural = self.layout.natural(self.theta)
        draws = {name: natural[..., where] for name, where in self.layout.groups.items()}
        draws = {name: d[..., 0] if d.shape[-1] == 1 else d for name, d in draws.items()}
        if self.collapsed_mean is not None:
            draws["mean"] = self.collapsed_mean
        return draws

    def all_theta(self) -> Array:
        """Return theta of all chains' draws, shape (n_chains * n_draws, n_parameters)."""
        return self.theta.reshape(self.n_chains * self.n_draws, len(self.layout))

    def mean_offset(self) -> Array:
        """Return the mean offset of each draw, shape (n_chains, n_draws)."""
        if self.collapsed_mean is not None:
            return self.collapsed_mean
        means = np.array([self.layout.mean(theta) for theta in self.all_theta()])
        return means.reshape(self.theta.shape[:2])

    def quantities(self) -> dict[str, Array]:
        """Return the draws of all quantities in `summary`, by name.

        Returns
        -------
        quantities : dict
            What `posterior` returns; ``latent[worst]``, of shape (n_chains, n_draws), the latent
            variable that the chains agree on least, out of up to 50 that are evenly spread over
            those in `latent`; and the complete-data log likelihood.
        """
        some = some_latents(self.latent.shape[2])
        worst = some[least_agreed(self.latent[..., some])]
        others = (self.latent[..., worst], self.complete_data_log_likelihood)
        return self.posterior() | dict(zip(OTHER_QUANTITIES, others, strict=True))

    def summary(self, quantiles: Any = (0.05, 0.5, 0.95)) -> diagnostics.SummaryTable:
        """Return a table of the posterior: a row for each scalar of `quantities`.

        Parameters
        ----------
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Probabilities in [0, 1], a column for each.

        Returns
        -------
        table : SummaryTable
            A dictionary: name of a quantity -> mean, sd, quantiles (named as in ``"5%"``), mcse,
            ess_bulk, ess_tail, rhat. It prints as a table, in notebooks too, and has a method
            `to_frame`.

        Raises
        ------
        ValueError
            For quantiles outside [0, 1].
        """
        probabilities = check_quantiles(quantiles)
        quantities = self.quantities()
        return with_quantiles(diagnostics.summarize(quantities), quantities, probabilities)


def some_latents(n_latent: int) -> NDArray[np.intp]:
    """Return the numbers of the latent variables whose convergence is examined."""
    return np.unique(np.linspace(0, n_latent - 1, min(n_latent, _MOST_LATENTS)).astype(int))


def _last_within(snapshots: list[Any], n_iterations: int) -> Any:
    """Return the last snapshot after which all draws were kept; None if there is none."""
    return next((s for s in reversed(snapshots) if s.iteration <= n_iterations), None)
