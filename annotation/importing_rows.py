"""Labels made elsewhere that a script sends: as those of a file, but never in the name of anybody
who answers here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db.models import Exists, OuterRef, Q

from annotation.importing import ImportReport, import_labels
from annotation.models import Assignment, Campaign, Rater, Response
from datasets.rows import InputError, Place

NAME = "labels"


def import_rows(
    rows: Sequence[dict[str, Any]], campaign: Campaign, rater: str | None = None
) -> ImportReport:
    """Loads rows of the labels format, all or nothing. Raises InputError, with the row as line."""
    _check_raters(rows, rater)
    with TemporaryDirectory(prefix="tandem-labels-") as folder:
        path = Path(folder, f"{NAME}.jsonl")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            report = import_labels([path], campaign, rater, "labels")
        except InputError as error:
            raise InputError(Place(NAME, error.place.line), error.wrong, error.mend) from error
        report.warnings = [each.replace(str(path), NAME) for each in report.warnings]
    return report


def _check_raters(rows: Sequence[dict[str, Any]], stand_in: str | None) -> None:
    said = [row.get("rater") or stand_in for row in rows]
    taken = taken_names({name for name in said if isinstance(name, str)})
    for line, name in enumerate(said, start=1):
        if name in taken:
            raise InputError(
                Place(NAME, line),
                f"rater {name!r} answers here, and nobody else may in that name",
                "give the labels another rater",
            )


def taken_names(names: Iterable[str]) -> set[str]:
    """Those of raters with an account, a place that they took, or an answer by another door."""
    asked = Assignment.objects.filter(rater=OuterRef("pk"))
    here = Response.objects.filter(assignment__rater=OuterRef("pk")).exclude(door="import")
    theirs = (
        Q(user__isnull=False)
        | Exists(asked.filter(slot__isnull=False))
        | Exists(asked.filter(status=Assignment.Status.LEASED))
        | Exists(here)
    )
    found = Rater.objects.filter(theirs, name__in=list(names))
    return set(found.values_list("name", flat=True))
