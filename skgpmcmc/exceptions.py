"""Exceptions raised by skgpmcmc."""


class MissingCapabilityError(ValueError):
    """A likelihood, kernel and representation were combined that do not go together.

    Raised before sampling starts. The message names what is missing, why it
    cannot exist for this combination, and what to use instead.
    """


class ChainDiedError(RuntimeError):
    """The process in which a chain ran died, again and again, and no chain is left."""
