"""Conversion of objects to numbers, strings and arrays, which can be saved.

Pickles, and files of skops, then hold none of the package's own classes but the estimators', no
functions, and no distributions, whose classes are private to scipy. Checkpoints are files of
arrays and JSON, each there whole or not at all.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import stats

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
        If the file is not an npz file, or holds other objects than arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (MemoryError, OSError):
        raise
    except Exception:
        # numpy's own message says how to read a file that may run code.
        raise ValueError(f"{path.name} holds no plain arrays") from None


# ---------------------------------------------------------------- objects as dictionaries

# The entry of a dictionary that stands for an object: the name of its class.
_KIND = "skgpmcmc"
_DISTRIBUTION = "distribution"
_FROZEN = type(stats.norm())
# Classes of the package whose instances are saved, by name.
_classes: dict[str, type] = {}


def register(*classes: type) -> None:
    """Register classes: only their instances can be saved and loaded."""
    _classes.update({cls.__name__: cls for cls in classes})


_Convert = Callable[[Any], Any]
_Change = Callable[[Any, _Convert], Any]


def to_plain(value: Any) -> Any:
    """Return a value with dictionaries in place of the package's objects, wherever they are.

    Arrays, kernels, and distributions that are not scipy's own are left as they are.
    """
    return _convert(value, _as_dictionary, {})


def from_plain(value: Any) -> Any:
    """Return what `to_plain` was given.

    Raises
    ------
    ValueError
        If the value holds an unknown class or distribution.
    """
    return _convert(value, _as_object, {})


def _convert(value: Any, change: _Change, done: dict[int, tuple[Any, Any]]) -> Any:
    """Return what a value, or what is in it, is changed to; what is one object stays one."""
    if id(value) not in done:
        # With the value itself: a number of an object is not given twice while that exists.
        done[id(value)] = value, change(value, lambda part: _convert(part, change, done))
    return done[id(value)][1]


def _in_containers(value: Any, convert: _Convert) -> Any:
    """Convert the items of lists, tuples and dictionaries."""
    if type(value) not in (dict, list, tuple):
        return value
    items = list(value.values()) if isinstance(value, dict) else value
    converted = [convert(item) for item in items]
    if all(new is old for new, old in zip(converted, items, strict=True)):
        return value
    if isinstance(value, dict):
        return dict(zip(value, converted, strict=True))
    return type(value)(converted)


def _as_dictionary(value: Any, convert: _Convert) -> Any:
    name = type(value).__name__
    if _classes.get(name) is type(value):
        return {_KIND: name, "fields": convert(_fields(value))}
    if type(value) is _FROZEN and _is_scipys_own(value.dist):
        fields = {"name": value.dist.name, "args": value.args, "kwds": value.kwds}
        return {_KIND: _DISTRIBUTION, "fields": fields}
    return _in_containers(value, convert)


def _fields(value: Any) -> Any:
    """Return the fields of an object."""
    if isinstance(value, dict):
        return {"items": dict(value), "attributes": vars(value)}
    fields = value._asdict() if hasattr(value, "_asdict") else value.__getstate__()
    return {} if fields is None else fields  # Python has None for an object without attributes


def _is_scipys_own(family: Any) -> bool:
    own: Any = getattr(stats, family.name, None)
    return type(own) is type(family) and (own.a, own.b) == (family.a, family.b)


def _as_object(value: Any, convert: _Convert) -> Any:
    if type(value) is not dict or _KIND not in value:
        return _in_containers(value, convert)
    name, fields = value[_KIND], convert(value["fields"])
    if name == _DISTRIBUTION:
        return _distribution(**fields)
    if name not in _classes:
        raise ValueError(
            f"the state of the estimator has an object of the kind {name!r}, which this version of "
            "skgpmcmc does not have. Load it with the version that saved it."
        )
    cls = _classes[name]
    if issubclass(cls, tuple):
        return cls(**fields)
    instance = cls.__new__(cls)
    if isinstance(instance, dict):
        dict.update(instance, fields["items"])  # also of tables that refuse changes
        fields = fields["attributes"]
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(fields)
    else:
        vars(instance).update(fields)
    return instance


def _distribution(name: str, args: tuple, kwds: dict[str, Any]) -> Any:
    family = getattr(stats, name, None)
    if not isinstance(family, stats.rv_continuous):
        raise ValueError(
            f"the state of the estimator has a distribution {name!r}, which scipy.stats does not "
            "have. Load it with the version of scipy that saved it."
        )
    return family(*args, **kwds)


# ---------------------------------------------------------------- files

# The entry of a file that is no array of the object.
_TREE = "tree"


def save(path: Path, value: Any) -> None:
    """Write an object to a file, which is there whole or not at all.

    Parameters
    ----------
    path : Path
        Of an npz file; one that is there is replaced.
    value : object
        Numbers, strings, None, arrays; lists, tuples and dictionaries of them; and
        instances of classes that are registered, whose attributes are such values.

    Raises
    ------
    TypeError
        For anything else.
    """
    arrays: dict[str, Array] = {}
    tree = _encode(to_plain(value), arrays)
    arrays[_TREE] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    replace_file(path, lambda file: save_arrays(file, arrays))


def load(path: Path) -> Any:
    """Read what `save` wrote, to the last bit.

    Parameters
    ----------
    path : Path
        Of the file.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If the file is not of this kind.
    """
    arrays = load_arrays(path)
    tree = json.loads(arrays.pop(_TREE).tobytes())
    return from_plain(_decode(tree, arrays))


def own_copy(value: Any) -> Any:
    """Return a copy of what `save` takes, in whose memory no file or other process has a share."""
    arrays: dict[str, Array] = {}
    tree = _encode(to_plain(value), arrays)
    return from_plain(_decode(tree, {name: np.array(array) for name, array in arrays.items()}))


def _encode(value: Any, arrays: dict[str, Array]) -> Any:
    """Return JSON of a plain value, in which arrays are names of entries of `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {"dict": [_encode(item, arrays) for item in value.items()]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(item, arrays) for item in value]}
    raise TypeError(f"cannot write a {type(value).__name__} as plain arrays and JSON")


def _decode(tree: Any, arrays: dict[str, Array]) -> Any:
    """Return the value that `_encode` was given."""
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return arrays[content]
    items = [_decode(item, arrays) for item in content]
    return {"dict": dict, "list": list, "tuple": tuple}[kind](items)
