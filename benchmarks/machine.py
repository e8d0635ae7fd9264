"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> dict[str, Any]:
    return {
        "processors": processors(),
        "processor": _processor(),
        "memory_gb": round(_memory() / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor()
    lines = information.read_text("utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
