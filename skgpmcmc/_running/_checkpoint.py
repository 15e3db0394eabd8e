"""Draws and states of chains on disk, from which a process that was killed goes on."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import _serialization
from .._model._model import LatentGaussianModel
from .._sampling._chain import ChainSnapshot
from .._sampling._latent_functions import GroupSnapshot
from .._serialization import is_part, load_arrays, register, remove_parts, replace_file, save_arrays
from ..likelihoods import Sites
from ..representations._site_rules import FrozenSites
from ..trace import ChainDraws, Costs
from ..updates import HamiltonianTuner, WidthAdapter

_FORMAT = 4
# Digits of the hash in the names of directories, which differ between fits.
_N_DIGITS = 10
_DESCRIPTION, _STATE = "checkpoint.json", "state.npz"
# The shortest time between two saves, in seconds and as a share of the time since the start, so
# that a long run does not leave thousands of files.
_SECONDS_BETWEEN_SAVES, _SHARE_BETWEEN_SAVES = 1.0, 0.02

register(ChainSnapshot, Costs, FrozenSites, GroupSnapshot, HamiltonianTuner, Sites, WidthAdapter)


def checkpoint_directory(path: str | os.PathLike) -> Path:
    """Return the absolute path of a directory, in which ~ is the user's own.

    Raises
    ------
    ValueError
        If there can be none of that name.
    """
    try:
        name = os.fsdecode(path)
        if not name or "\0" in name:
            raise ValueError("no name has null characters" if name else "no directory has no name")
        directory = Path(name).expanduser().absolute()
        os.fsencode(directory)
    except (ValueError, RuntimeError, OSError) as error:
        raise ValueError(
            f"checkpoint must be the path of a directory; got {path!r} ({error}). Pass a directory "
            "that is new, or None."
        ) from error
    return directory


def needed_seed(random_state: Any) -> str:
    """Return, for a message, a note if the next call needs a new `random_state`."""
    if not isinstance(random_state, np.random.RandomState):
        return ""
    return " (random_state has moved on: pass a new RandomState of the same seed)"


def differences(
    new: Mapping[str, str], old: Mapping[str, str], depends: Mapping[str, Set[str]]
) -> list[str]:
    """Return the names that differ, without those that differ only because another one does.

    Parameters
    ----------
    new, old : dict
        Name -> string.
    depends : dict
        Name -> names of what the string of it depends on; those without any may be missing.
    """
    changed = [name for name, value in new.items() if old.get(name) != value]
    return [name for name in changed if depends.get(name, set()).isdisjoint(changed)]


@dataclass(frozen=True)
class Checkpoint:
    """A directory with draws and states of the chains of one fit.

    Attributes
    ----------
    path : Path
        The directory; `open` makes it.
    description : dict
        What the user knows it as -> string; all that the draws depend on but the seed.
    depends : dict
        Which entries of it depend on which others; see `differences`.
    """

    path: Path
    description: dict[str, str]
    depends: Mapping[str, Set[str]] = field(default_factory=dict)

    def open(self, entropy: list[int], *, seed_is_given: bool) -> list[int]:
        """Return the entropy of the chains that are there; a new directory gets the given one.

        Parameters
        ----------
        entropy : list of int
            What all generators are made from.
        seed_is_given : bool
            Whether it must be that of the chains that are there.

        Raises
        ------
        ValueError
            If the directory has something else, or anything differs; it says what.
        """
        file = self.path / _DESCRIPTION
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            remove_parts(self.path)
            if not file.exists():
                self._refuse_other_files()
                text = json.dumps(self._content(entropy), indent=1)
                replace_file(file, lambda f: f.write(text.encode()))
                return entropy
        except OSError as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} cannot be written to ({error}). Pass another "
                "directory, or None."
            ) from error
        old = self._read(file)
        changed = [
            f"{name} (was {old.get(name)})" if name.startswith("version") else name
            for name in self._differences(old)
        ]
        if seed_is_given and old["entropy"] != entropy:
            changed.append("random_state")
        if changed:
            raise ValueError(
                f"checkpoint={str(self.path)!r} has the chains of another fit: these differ from "
                f"it: {'; '.join(changed)}. Pass the same values, or another directory, or "
                "delete this one to start afresh. (Inside a search or cross-validation use "
                "checkpoint=None: each fit would need its own directory.)"
            )
        return list(old["entropy"])

    def _differences(self, old: dict[str, Any]) -> list[str]:
        """Return what differs; that there are entries of other names means another estimator."""
        changed = differences(self.description, old, self.depends)
        return changed if all(name in old for name in changed) else ["the estimator"]

    def _content(self, entropy: list[int]) -> dict[str, Any]:
        return {"format": _FORMAT, "entropy": entropy, **self.description}

    def _refuse_other_files(self) -> None:
        if not all(is_part(path) for path in self.path.iterdir()):
            raise ValueError(
                f"checkpoint must be a directory that is new, empty or has a checkpoint of the "
                f"same fit; got {str(self.path)!r}, which has other files."
            )

    def _read(self, file: Path) -> dict[str, Any]:
        try:
            old = json.loads(file.read_bytes())
            if old["format"] != _FORMAT:
                raise ValueError(f"its format is {old['format']}, not {_FORMAT}")
            np.random.SeedSequence(old["entropy"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} cannot be read ({error}). Pass another directory, "
                "or delete this one to start afresh."
            ) from error
        return old

    def chain(self, number: int, entropy: list[int]) -> ChainFile:
        """Return where one chain's draws are kept.

        What its files hold depends on their names alone: others that write them at the same
        time, for this fit or another, do no harm.
        """
        content = json.dumps(self._content(entropy)).encode()
        digest = hashlib.sha256(content).hexdigest()[:_N_DIGITS]
        return ChainFile(self.path / f"chain-{number}-{digest}")


class ChainFile:
    """Draws and state of one chain, of one latent function or of several coupled ones.

    Draws are added in files of their own; the state, written after them, says how many
    of them belong to it.

    Parameters
    ----------
    directory : Path
        Of this chain alone.

    Attributes
    ----------
    trouble : str or None
        Why the last draws could not be written, if they could not.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # The first draw of each file of draws, and the end of the last.
        self._bounds = [0]
        self._began = self._last = time.monotonic()
        self._is_saved = True
        self.trouble: str | None = None

    def save_if_due(self, draws: Sequence[ChainDraws]) -> None:
        """Write the draws of a round, unless others were written a short time ago."""
        self._is_saved = False
        now = time.monotonic()
        wait = max(_SECONDS_BETWEEN_SAVES, _SHARE_BETWEEN_SAVES * (now - self._began))
        if now - self._last >= wait:
            self.save_rest(draws)

    def save_rest(self, draws: Sequence[ChainDraws]) -> None:
        """Write what is new, then the state; if that fails, the chain is still good."""
        if self._is_saved:
            return
        try:
            self._save(draws)
            self._is_saved, self.trouble = True, None
        except OSError as error:
            self.trouble = str(error)
        self._last = time.monotonic()

    def _save(self, draws: Sequence[ChainDraws]) -> None:
        self._directory.mkdir(exist_ok=True)
        first, end = self._bounds[-1], draws[0].n_kept
        if end > first:
            arrays = {
                f"{name}-{c}": values[first:end]
                for c, drawn in enumerate(draws)
                for name, values in drawn.arrays().items()
            }
            replace_file(self._file_of(first, end), lambda file: save_arrays(file, arrays))
            self._bounds.append(end)
        state = {
            "bounds": self._bounds,
            "snapshots": draws[0].snapshots[-1:],
            "functions": [(d.moved, d.gave_up, d.n_warmup, d.warmup, d.sampling) for d in draws],
        }
        _serialization.save(self._directory / _STATE, state)

    def load(self, models: Sequence[LatentGaussianModel], n_draws: int) -> list[ChainDraws] | None:
        """Return the draws that were saved, with room for more; None if there are none.

        Parameters
        ----------
        models : sequence of LatentGaussianModel
            One for each latent function.
        n_draws : int
            Draws that there is to be room for.

        Raises
        ------
        ValueError
            If a file is damaged, or there are more draws.
        """
        self._began = self._last = time.monotonic()
        self._bounds = [0]
        if not (self._directory / _STATE).exists():
            return None
        try:
            state = _serialization.load(self._directory / _STATE)
            n_saved = state["bounds"][-1]
            draws = self._read(state, models, max(n_saved, n_draws))
        except MemoryError:
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, ValueError | OSError) else repr(error)
            raise ValueError(
                f"the checkpoint's {str(self._directory)!r} is damaged ({reason}). Delete that "
                "directory: its chain begins anew, to the same draws."
            ) from error
        if n_saved > n_draws:
            raise ValueError(
                f"n_draws={n_draws} must be at least {n_saved}, the draws that a chain has in the "
                "checkpoint. Raise it, or pass another directory."
            )
        self._bounds = state["bounds"]
        return draws

    def _read(
        self, state: dict[str, Any], models: Sequence[LatentGaussianModel], n_draws: int
    ) -> list[ChainDraws]:
        bounds = state["bounds"]
        draws = [ChainDraws.for_model(model, n_draws) for model in models]
        for drawn, costs in zip(draws, state["functions"], strict=True):
            drawn.moved, drawn.gave_up, drawn.n_warmup, drawn.warmup, drawn.sampling = costs
            drawn.n_kept = bounds[-1]
        draws[0].snapshots = state["snapshots"]
        for first, end in itertools.pairwise(bounds):
            saved = load_arrays(self._file_of(first, end))
            for c, drawn in enumerate(draws):
                for name, values in drawn.arrays().items():
                    values[first:end] = saved[f"{name}-{c}"]
        return draws

    def _file_of(self, first: int, end: int) -> Path:
        return self._directory / f"draws-{first:09d}-{end:09d}.npz"
