"""What an export is: of which campaign and batch, made when and by which version, file by file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from annotation.exports.forms import FORMS, Subject
from annotation.exports.registry import EXPORTS
from annotation.models import Assignment, Campaign, Label, Rater, Response, Span, Unit
from annotation.presenting import schema

Tick = Callable[[int], None]


@dataclass(frozen=True)
class ExportedFile:
    """A file as it was written; `defused` where cells that a spreadsheet would run are quoted."""

    path: str
    what: str
    form: str
    rows: int
    bytes: int
    sha256: str
    columns: tuple[str, ...]
    defused: bool


class Exporting:
    """One file on its way: its pieces, once, and then what was written."""

    def __init__(
        self, campaign: Campaign, path: str, what: str, form: str, tick: Tick = lambda rows: None
    ) -> None:
        self.campaign, self.path, self.what, self.form = campaign, path, what, form
        self.rows = self.bytes = 0
        self._tick, self._hash = tick, hashlib.sha256()

    def pieces(self) -> Iterator[bytes]:
        """The file. Raises NoGradesError and BlankError, as the export and its form do."""
        export = EXPORTS[self.what]
        subject = Subject(self.what, export.columns, self.campaign.name)
        for piece in FORMS[self.form].write(subject, self._counted(export.lines(self.campaign))):
            self.bytes += len(piece)
            self._hash.update(piece)
            yield piece

    def written(self) -> ExportedFile:
        return ExportedFile(
            self.path, self.what, self.form, self.rows, self.bytes, self._hash.hexdigest(),
            EXPORTS[self.what].columns, self.form == "csv",
        )  # fmt: skip

    def _counted(self, lines: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for line in lines:
            self.rows += 1
            self._tick(self.rows)
            yield line


def manifest(campaign: Campaign, files: list[ExportedFile]) -> dict[str, Any]:
    """The manifest of some files. Counts are of what stands at this moment in the database."""
    guideline, batch = schema(campaign).protocol.guideline, campaign.batch
    return {
        "version": settings.TANDEM_VERSION,
        "generated_at": timezone.now().isoformat(),
        "campaign": {
            "name": campaign.name,
            "protocol": campaign.protocol,
            "protocol_version": campaign.protocol_version,
            "guideline_sha256": hashlib.sha256(guideline.encode("utf-8")).hexdigest(),
            "raters_per_item": campaign.raters_per_item,
            "overlap": campaign.overlap,
            "human_share": campaign.human_share,
            "seed": campaign.seed,
            "options": campaign.options,
        },
        "batch": {"name": batch.name, "format": batch.format, "digest": batch.digest},
        "counts": counts(campaign),
        "files": [asdict(file) for file in files],
    }


def counts(campaign: Campaign) -> dict[str, Any]:
    """How much a campaign holds; raters by kind, trials of judges left out."""
    current = Response.objects.filter(current=True, assignment__item__campaign=campaign).exclude(
        assignment__rater__kind=Rater.Kind.TRIAL
    )
    said = Assignment.objects.filter(item__campaign=campaign, status="done").order_by()
    kinds = said.exclude(rater__kind=Rater.Kind.TRIAL).values_list("rater__kind")
    return {
        "items": campaign.items.count(),
        "units": Unit.objects.filter(item__campaign=campaign).count(),
        "responses": current.count(),
        "labels": Label.objects.filter(response__in=current).count(),
        "spans": Span.objects.filter(label__response__in=current).count(),
        "raters": dict(kinds.annotate(raters=Count("rater", distinct=True))),
    }
