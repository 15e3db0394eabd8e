"""Arrays of a fit that are not its own: read-only, or on a file."""

import numpy as np


def arrays_of(thing, path="", seen=None):
    """Yield every array that an object holds, with its place."""
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing  # kept alive: its identity is not given to another
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, dict):
        for name, value in thing.items():
            yield from arrays_of(value, f"{path}[{name!r}]", seen)
    elif isinstance(thing, list | tuple):
        for number, value in enumerate(thing):
            yield from arrays_of(value, f"{path}[{number}]", seen)
    elif hasattr(thing, "__dict__"):
        for name, value in vars(thing).items():
            yield from arrays_of(value, f"{path}.{name}", seen)


def borrowed(thing):
    """Return the places of arrays that are read-only, or are on a file."""
    places = []
    for path, array in arrays_of(thing):
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        if not array.flags.writeable or isinstance(base, np.memmap) or isinstance(array, np.memmap):
            places.append(path)
    return places
