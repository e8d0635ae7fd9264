"""The report of labels files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..data.selection import Choices
from ..report.build import frame_report
from ..statistics import Level
from ..types import JSON
from .frames import file_frame


def labels_report(paths: list[Path], levels: Mapping[str, Level], choices: Choices) -> JSON:
    """Create the report of labels files, without a campaign. Raises InputError and ChoiceError."""
    frame, protocols = file_frame(paths, levels, choices)
    protocol = next(iter(protocols)) if len(protocols) == 1 else None
    head = {"campaign": None, "protocol": protocol, "batch": None}
    return {**frame_report(head, frame, choices, list(frame.variables), sampled=None), "hints": []}
