"""The report of labels files, and the check of their judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from .labels.file.frames import file_frame
from .labels.file.scales import DeclaredScale
from .labels.frame import Frame
from .labels.selection import ReportOptions, UnknownOptionError
from .protocols.base import Declaration
from .sections.build import frame_report
from .sections.check import check_report
from .statistics import Level
from .trust.check import Draw
from .trust.options import HOW_DRAWN, CheckOptions
from .types import JSON

NO_BACKGROUND = (
    "A labels file does not contain people's background; leave --background out, or name a "
    "campaign."
)
NOT_SAID = (
    f"Give --drawn, which says {HOW_DRAWN}. A bound depends on it, and on the judge’s answers to "
    "all queries, labelled or not."
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
    frame, head = _read(paths, levels, options, scales, wide, protocol)
    return {**frame_report(head, frame, options, list(frame.variables), sampled=None), "hints": []}


def labels_check(
    paths: list[Path],
    levels: Mapping[str, Level],
    options: ReportOptions,
    wanted: CheckOptions,
    scales: Mapping[str, DeclaredScale] = MappingProxyType({}),
    wide: str | None = None,
    protocol: Declaration | None = None,
) -> JSON:
    """Check in labels files how wrong judges are where they are surest.

    The arguments are `file_frame`'s. Raises as `labels_report`, also if nobody said how the
    labelled queries were drawn.
    """
    if wanted.drawn is None:
        raise UnknownOptionError({"drawn": NOT_SAID})
    frame, head = _read(paths, levels, options, scales, wide, protocol)
    return check_report(head, frame, options, Draw(wanted.drawn), wanted)


def _read(
    paths: list[Path],
    levels: Mapping[str, Level],
    options: ReportOptions,
    scales: Mapping[str, DeclaredScale],
    wide: str | None,
    protocol: Declaration | None,
) -> tuple[Frame, JSON]:
    """Return the frame of labels files, and the head of their report."""
    frame, protocols = file_frame(paths, levels, options, scales, wide, protocol)
    if protocol is not None:
        protocols = {protocol.name}
    named = next(iter(protocols)) if len(protocols) == 1 else None
    return frame, {"campaign": None, "protocol": named, "batch": None}
