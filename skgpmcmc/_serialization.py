"""Objects to plain files and back: arrays and JSON, each file there whole or not at all."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ._linalg import Array

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


# The entry of a file that is no array of the object.
_TREE = "tree"


def save(path: Path, value: Any, classes: Collection[type]) -> None:
    """Write an object to a file, which is there whole or not at all.

    Parameters
    ----------
    path : Path
        Of an npz file; one that is there is replaced.
    value : object
        Numbers, strings, None, arrays; lists, tuples and dictionaries of them; and
        instances of `classes` whose attributes are such values.
    classes : collection of type
        What `load` will accept.
    """
    arrays: dict[str, Array] = {}
    tree = _encode(value, arrays, {c.__name__: c for c in classes})
    arrays[_TREE] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    replace_file(path, lambda file: save_arrays(file, arrays))


def load(path: Path, classes: Collection[type]) -> Any:
    """Read what `save` wrote, to the last bit.

    Parameters
    ----------
    path : Path
        Of the file.
    classes : collection of type
        Of which there may be instances.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If the file is not of this kind.
    """
    arrays = load_arrays(path)
    tree = json.loads(arrays.pop(_TREE).tobytes())
    return _decode(tree, arrays, {c.__name__: c for c in classes})


def _encode(value: Any, arrays: dict[str, Array], classes: dict[str, type]) -> Any:
    """Return JSON of a value, in which arrays are names of entries of `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    name = type(value).__name__
    if classes.get(name) is type(value):
        return {"class": name, "fields": _encode(_fields(value), arrays, classes)}
    if isinstance(value, dict):
        return {"dict": [_encode(item, arrays, classes) for item in value.items()]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(item, arrays, classes) for item in value]}
    raise TypeError(f"cannot write a {name} as plain arrays and JSON")


def _fields(value: Any) -> dict[str, Any]:
    return value._asdict() if hasattr(value, "_asdict") else dict(vars(value))


def _decode(tree: Any, arrays: dict[str, Array], classes: dict[str, type]) -> Any:
    """Return the value that `_encode` was given."""
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "class" in tree:
        return _instance(classes[tree["class"]], _decode(tree["fields"], arrays, classes))
    if "dict" in tree:
        return dict(_decode(item, arrays, classes) for item in tree["dict"])
    ((kind, items),) = tree.items()
    decoded = [_decode(item, arrays, classes) for item in items]
    return tuple(decoded) if kind == "tuple" else decoded


def _instance(cls: type, fields: dict[str, Any]) -> Any:
    """Return an instance with these attributes; `__init__` may want others."""
    if issubclass(cls, tuple):
        return cls(**fields)
    instance = cls.__new__(cls)
    vars(instance).update(fields)
    return instance
