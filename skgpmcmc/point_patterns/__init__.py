"""From events, in time, in space or both, to the counts that a Cox process is fitted to."""

from ._bin_events import bin_events
from ._event_grid import EventGrid

__all__ = ["EventGrid", "bin_events"]
