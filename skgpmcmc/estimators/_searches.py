"""Ctrl-C in a search over parameters or a cross-validation, which make many fits one by one."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Here scikit-learn fits once for each split and candidate; the last fit of a search is elsewhere.
_ONE_OF_MANY = "sklearn.model_selection._validation"


def _is_one_of_many() -> bool:
    """Whether the fit that runs was called for a split of a search or a cross-validation."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == _ONE_OF_MANY:
            return True
        frame = frame.f_back
    return False


def _raise(number: int, frame: FrameType | None) -> None:
    signal.default_int_handler(number, frame)


@contextmanager
def interrupts_end_searches() -> Iterator[None]:
    """Let the first Ctrl-C raise KeyboardInterrupt if the fit is one of many.

    With a handler that is not Python's own in place, chains leave Ctrl-C to it: the draws of a
    fit that was cut short would be scored like those of the others, and the search would go on.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    own = signal.default_int_handler
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not own or not _is_one_of_many():
        yield
        return
    signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, own)
