"""Public classes own their methods: messages of Python name the class that the user knows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

_PACKAGE = __name__.partition(".")[0]

Estimator = TypeVar("Estimator", bound=type)
#: Method -> parameter that it does not have -> what gives the same.
Hints = Mapping[str, Mapping[str, str]]


def with_own_methods(hints: Hints) -> Callable[[Estimator], Estimator]:
    """Decorate a public class: its inherited public methods are called after it.

    Python's errors about arguments begin with the name of the class where a method was written,
    and no user knows that one.

    Parameters
    ----------
    hints : mapping
        What users of scikit-learn may look for: method -> parameter that it does not have -> what
        to do instead.
    """

    def decorate(cls: Estimator) -> Estimator:
        for name in dir(cls):
            owner = next(base for base in cls.__mro__ if name in vars(base))
            method = vars(owner)[name]
            is_ours = owner.__module__.startswith(_PACKAGE) and isinstance(method, FunctionType)
            if name.startswith("_") or not is_ours:
                continue
            own = method if owner is cls else _renamed(method, cls)
            setattr(cls, name, _with_hints(own, hints[name]) if name in hints else own)
        return cls

    return decorate


def _renamed(method: FunctionType, cls: type) -> FunctionType:
    """Return a copy of a method that says it is one of this class."""
    parts = method.__code__, method.__globals__, method.__name__, method.__defaults__
    copy = FunctionType(*parts, method.__closure__)
    copy.__dict__.update(method.__dict__)
    copy.__doc__, copy.__annotations__ = method.__doc__, method.__annotations__
    copy.__kwdefaults__ = method.__kwdefaults__
    copy.__module__, copy.__qualname__ = cls.__module__, f"{cls.__qualname__}.{method.__name__}"
    return copy


def _with_hints(method: FunctionType, hints: Mapping[str, str]) -> Callable[..., Any]:
    """Return a method that says what to do instead of passing these parameters."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in hints.keys() & kwargs.keys():
            raise TypeError(f"{method.__qualname__}() has no parameter {name!r}. {hints[name]}")
        return method(self, *args, **kwargs)

    return wrapper
