"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside `path`, and move it there once it is on the disk.

    A process that is killed leaves the old file or the new one, and at worst one with its
    number in the name beside it.

    Parameters
    ----------
    path : Path
        Where the file is to be.
    write : callable
        Takes the open file.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def save_arrays(file: BinaryIO, arrays: dict[str, Any]) -> None:
    """Write named arrays as an npz file, uncompressed."""
    np.savez(file, **arrays)
