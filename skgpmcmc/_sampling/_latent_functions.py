"""Gibbs sampling of several latent functions that share a likelihood: one chain for each."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._linalg import Array
from .._model._model import LatentGaussianModel
from ..trace import ChainDraws, Costs
from ._chain import Chain, ChainSnapshot
from ._settings import SamplerSettings


@dataclass(frozen=True, repr=False)
class GroupSnapshot:
    """Everything that the later draws of the chains of several latent functions depend on.

    Attributes
    ----------
    iteration : int
        How many iterations after the warm-up were done.
    n_warmup : int
        How many iterations the warm-up had, or has had so far.
    rng_state : dict
        Of their common generator.
    chains : list of ChainSnapshot
        One for each latent function.
    """

    iteration: int
    n_warmup: int
    rng_state: Any
    chains: list[ChainSnapshot]


class LatentFunctionsGibbs:
    """One or several latent functions, each updated given the others.

    Parameters
    ----------
    chains : list of Chain
        One for each latent function.
    rng : numpy.random.Generator
        Their common stream.
    n_warmup : int
        How many iterations of warm-up are behind them.
    """

    def __init__(self, chains: list[Chain], rng: np.random.Generator, n_warmup: int = 0) -> None:
        self.chains = chains
        self._rng = rng
        self.n_warmup = n_warmup
        self._n_begun = 0

    @classmethod
    def start(
        cls,
        models: Sequence[LatentGaussianModel],
        settings: SamplerSettings,
        seed: np.random.SeedSequence,
        theta: Array | None = None,
    ) -> LatentFunctionsGibbs:
        """Start the chains at theta, or at draws from the priors."""
        rng = np.random.default_rng(seed)
        chains = [Chain.start(model, settings, rng, theta) for model in _own_likelihoods(models)]
        return cls(chains, rng)

    @classmethod
    def restore(
        cls,
        models: Sequence[LatentGaussianModel],
        settings: SamplerSettings,
        snapshot: GroupSnapshot,
    ) -> LatentFunctionsGibbs:
        """Return the chains as they were when the snapshot was taken, bit for bit."""
        rng = np.random.default_rng()
        rng.bit_generator.state = snapshot.rng_state
        pairs = zip(_own_likelihoods(models), snapshot.chains, strict=True)
        chains = [Chain.restore(model, settings, rng, chain) for model, chain in pairs]
        return cls(chains, rng, snapshot.n_warmup)

    def snapshot(self, iteration: int) -> GroupSnapshot | None:
        """Return what later draws depend on, None if a chain cannot; see `Chain.snapshot`."""
        chains = []
        for chain in self.chains:
            snapshot = chain.snapshot()
            if snapshot is None:
                return None
            chains.append(snapshot)
        return GroupSnapshot(iteration, self.n_warmup, self._rng.bit_generator.state, chains)

    def begin_warm_up(self, n_warmup: int) -> None:
        """Begin a warm-up of so many iterations; it may be the second or a later one."""
        self._n_begun = n_warmup
        if self.n_warmup > 0:
            for chain in self.chains:
                chain.warm_up_again(n_warmup)

    def warm_up(self, iteration: int) -> None:
        """Run one iteration of the warm-up."""
        for chain in self._in_turn():
            chain.warm_up(iteration)

    def end_warm_up(self) -> None:
        """End all adaptation."""
        self.n_warmup += self._n_begun
        for chain in self.chains:
            chain.end_warm_up()

    def forget_warm_up(self) -> None:
        """Forget what only the warm-up needed."""
        for chain in self.chains:
            chain.recent.clear()

    def iterate(self) -> None:
        """Run one iteration of every chain."""
        for chain in self._in_turn():
            chain.iterate()

    def _in_turn(self) -> Any:
        """Yield the chains, each with its likelihood given the present state of the others."""
        for chain in self.chains:
            if len(self.chains) > 1:
                chain.condition_on([c.state.latent for c in self.chains if c is not chain])
            yield chain

    def record(self, draws: Sequence[ChainDraws], index: int) -> None:
        """Write the current states into preallocated draws."""
        for chain, drawn in zip(self.chains, draws, strict=True):
            chain.record(drawn, index)

    def share_moved(self, n_iterations: int) -> float:
        """Return the mean share of that many iterations in which a hyperparameter moved."""
        moved = np.concatenate([chain.n_moved for chain in self.chains])
        return float(moved.mean() / n_iterations) if len(moved) else math.nan

    def costs(self) -> list[Costs]:
        """Return the costs of each chain so far."""
        return [chain.costs() for chain in self.chains]


def _own_likelihoods(models: Sequence[LatentGaussianModel]) -> list[LatentGaussianModel]:
    """Return the models, each with its own copy of the likelihood, which conditioning changes."""
    if len(models) == 1:
        return list(models)
    copies = [copy.copy(model) for model in models]
    for model in copies:
        model.likelihood = copy.copy(model.likelihood)
    return copies
