"""What conditions apply to: labels, reports, comparisons and certificates, from files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..arguments import levels_of, protocol_in, scales_of
from ..files import names_a_file
from ..labels.file.frames import file_frame
from ..labels.frame import Frame
from ..labels.selection import ALL_LABELS
from ..labels_report import labels_report
from ..types import JSON
from .certified import Claim, claim_of, is_certificate
from .findings import GateError


@dataclass(frozen=True)
class Labels:
    """The labels of files or of a campaign, each read when a condition needs it.

    A campaign also has the `claims` of its plans about a judge, by name, and the committed
    `comparison` of two systems, if there is one.
    """

    report: Callable[[], JSON]
    frame: Callable[[], Frame]
    claims: Callable[[str], list[Claim]] = lambda judge: []
    comparison: Callable[[str, str], JSON | None] = lambda new, old: None


OfCampaign = Callable[[str], Labels]


@dataclass(frozen=True)
class Sources:
    """What a command line names: at most one of each."""

    labels: Labels | None = None
    report: JSON | None = None
    comparison: JSON | None = None
    certificate: Claim | None = None

    def whole_report(self) -> JSON:
        """Return the report given, or that of the labels. Raises GateError."""
        if self.report is not None:
            return self.report
        return self.need_labels("--min", "a report or its labels").report()

    def need_labels(self, option: str, what: str) -> Labels:
        """Return the labels. Raises GateError if none are given."""
        if self.labels is None:
            raise GateError(f"{option} needs {what}: name a file, or a campaign.")
        return self.labels


@dataclass(frozen=True)
class Reading:
    """How words are read: labels files with the options of a command line, campaigns by a site."""

    options: Mapping[str, Any]
    of_campaign: OfCampaign

    def sources(self, words: Iterable[str]) -> Sources:
        """Read what the words of a command line name. Raises GateError and InputError."""
        found = Sources()
        files: list[Path] = []
        for word in words:
            if not names_a_file(word):
                found = _with(found, word, labels=self.of_campaign(word))
                continue
            document = _document(Path(word))
            if document is None:
                files.append(Path(word))
            elif is_certificate(document):
                claim = claim_of(document, self.options["digest"])
                found = _with(found, word, certificate=claim)
            elif "pairs" in document:
                found = _with(found, word, comparison=document)
            else:
                found = _with(found, word, report=document)
        if files:
            found = _with(found, str(files[0]), labels=self.files(files))
        return found

    def labels(self, word: str) -> Labels:
        """Return the labels of a file or a campaign."""
        return self.files([Path(word)]) if names_a_file(word) else self.of_campaign(word)

    def files(self, paths: list[Path]) -> Labels:
        levels = levels_of(self.options["level"])
        scales = scales_of(self.options["scale"], levels)
        wide, protocol = self.options["wide"], protocol_in(self.options["protocol"])
        return Labels(
            lambda: labels_report(paths, levels, ALL_LABELS, scales, wide, protocol),
            lambda: file_frame(paths, levels, ALL_LABELS, scales, wide, protocol)[0],
        )


def _with(sources: Sources, word: str, **found: Any) -> Sources:
    (kind,) = found
    if getattr(sources, kind) is not None:
        raise GateError(f"{word} is the second {kind}; a gate reads one.")
    return replace(sources, **found)


def _document(path: Path) -> JSON | None:
    """Return a report, a comparison or a certificate in JSON; None for a labels file."""
    if path.suffix.lower() != ".json":
        return None
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        # The reader of labels says what is wrong.
        return None
    known = isinstance(document, dict) and (
        is_certificate(document)
        or {"pairs", "drawn"} <= document.keys()
        or {"variables", "scores"} <= document.keys()
    )
    return document if known else None
