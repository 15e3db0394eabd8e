"""Objects as plain arrays and JSON, so that a file of them can hold no code."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ._files import load_arrays, replace_file, save_arrays
from ._linalg import Array

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
