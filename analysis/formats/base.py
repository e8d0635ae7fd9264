"""What a format of the report is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """A way to write a report: its name on the command line, its file's ending, its media type."""

    name: str
    label: str
    suffix: str
    media_type: str
    render: Callable[[JSON], str]
