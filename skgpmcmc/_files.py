"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

_PART = ".part"
# A file that was last written to so long ago is not being written.
_SECONDS_OF_WRITING = 3600.0


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside `path`, and move it there once it is on the disk.

    A process that is killed leaves the old file or the new one, and at worst a part of one
    beside it (`remove_parts`).

    Parameters
    ----------
    path : Path
        Where the file is to be.
    write : callable
        Takes the open file.
    """
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}{_PART}")
    try:
        with open(part, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def is_part(path: Path) -> bool:
    """Return whether a file is what a process that was killed left behind, or is being written."""
    return path.suffix == _PART


def remove_parts(directory: Path) -> None:
    """Delete what processes that were killed left behind, but not what others are writing."""
    for path in filter(is_part, directory.rglob("*")):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _SECONDS_OF_WRITING:
                path.unlink()


def save_arrays(file: BinaryIO, arrays: dict[str, Any]) -> None:
    """Write named arrays as an npz file, uncompressed."""
    np.savez(file, **arrays)


def load_arrays(path: Path) -> dict[str, Any]:
    """Read what `save_arrays` wrote.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no such file, or holds anything else.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (MemoryError, OSError):
        raise
    except Exception:
        # numpy's own message says how to read a file that may run code.
        raise ValueError(f"{path.name} holds no plain arrays") from None
