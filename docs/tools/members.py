"""Which members of a class its page in the reference has."""

from __future__ import annotations

import inspect

# They decide about what their base classes bring, and describe it on their own pages.
FOREIGN = ("sklearn", "builtins", "collections", "abc", "typing")


def is_foreign(member) -> bool:
    """Whether another package defines a member."""
    function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "func", member))
    owner = getattr(function, "__objclass__", function)
    return (getattr(owner, "__module__", None) or "").split(".")[0] in FOREIGN


def skip(app, kind: str, name: str, member, leave_out: bool, options) -> bool | None:
    """Leave out what is inherited from others, and the fields, which "Attributes" describes."""
    is_field = not (inspect.isroutine(member) or isinstance(member, property | classmethod))
    is_part = inspect.isroutine(member) and (member.__doc__ or "").startswith("Alias for field")
    return True if is_foreign(member) or is_field or is_part else None
