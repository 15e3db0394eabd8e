"""Ctrl-C: chains end after the iteration that they are in, wherever they run."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any


class StopSignal:
    """Tells chains to stop, also those in other processes of this machine.

    Parameters
    ----------
    path : Path, optional
        Of a file that stands for the signal in other processes, to which this object is
        pickled, in a directory that was made for it. Without it the signal reaches chains of
        this process only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._is_set = False
        self._maker = os.getpid()
        self._parent: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive in another process, which is to stop too when its parent has died."""
        vars(self).update(state)
        self._parent = os.getppid()

    def set(self) -> None:
        """Tell the chains to stop."""
        self._is_set = True
        if self._path is not None:
            # Where that fails, a second Ctrl-C ends the chains of other processes.
            with suppress(OSError):
                self._path.touch()

    def is_set(self) -> bool:
        """Return whether the chains are to stop."""
        if not self._is_set and self._parent is not None:
            # In the process where it was made `set` is enough: no file is looked for.
            orphaned = self._parent != os.getppid()
            if orphaned:
                self._remove_directory()
            self._is_set = orphaned or (self._path is not None and self._path.exists())
        return self._is_set

    def leave_interrupts(self) -> None:
        """Ignore Ctrl-C from now on, but where the signal was made: terminals send it to all.

        Also in processes that wait for their next chain: joblib takes a worker that ends for a
        crash, and kills the others.
        """
        in_main_thread = threading.current_thread() is threading.main_thread()
        if os.getpid() != self._maker and in_main_thread:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _remove_directory(self) -> None:
        """Delete the directory of the signal if the process that made it has died."""
        if self._path is not None and self._parent == self._maker:
            shutil.rmtree(self._path.parent, ignore_errors=True)


@contextmanager
def stops_on_interrupt(stop: StopSignal) -> Iterator[None]:
    """Let the first Ctrl-C set the signal, and a second one raise KeyboardInterrupt.

    Only where Python's own handler is in place, in the main thread: whoever has installed
    another one, or runs this in a thread, knows better.
    """
    own = signal.default_int_handler
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not own:
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, own)
        stop.set()

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, own)
