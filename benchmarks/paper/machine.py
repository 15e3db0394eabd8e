"""What the figures in seconds depend on: versions and processor, and nothing about the host."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import scipy

import skgpmcmc


def describe_machine() -> dict[str, str | int]:
    """Return versions, architecture, processor, and the number of threads."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "skgpmcmc": skgpmcmc.__version__,
        "machine": platform.machine(),
        "processor": _processor(),
        "threads": 1,
    }


def _processor() -> str:
    """Return the processor's model; Linux says it in a file only."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor()
