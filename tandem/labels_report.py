"""The report of labels files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from .labels.file.frames import file_frame
from .labels.file.scales import DeclaredScale
from .labels.selection import ReportOptions, UnknownOptionError
from .protocols.base import Declaration
from .sections.build import frame_report
from .statistics import Level
from .types import JSON

NO_BACKGROUND = (
    "A labels file does not contain people's background; leave --background out, or name a "
    "campaign."
)


def labels_report(
    paths: list[Path],
    levels: Mapping[str, Level],
    options: ReportOptions,
    scales: Mapping[str, DeclaredScale] = MappingProxyType({}),
    wide: str | None = None,
    protocol: Declaration | None = None,
) -> JSON:
    """Create the report of labels files, without a campaign. The arguments are `file_frame`'s.

    Raises InputError and UnknownOptionError.
    """
    if options.background:
        raise UnknownOptionError({"background": NO_BACKGROUND})
    frame, protocols = file_frame(paths, levels, options, scales, wide, protocol)
    if protocol is not None:
        protocols = {protocol.name}
    named = next(iter(protocols)) if len(protocols) == 1 else None
    head = {"campaign": None, "protocol": named, "batch": None}
    return {**frame_report(head, frame, options, list(frame.variables), draw=None), "hints": []}
