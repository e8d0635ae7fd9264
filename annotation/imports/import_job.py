"""The job that imports a labels file uploaded on a campaign's page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings

from annotation.imports.importer import import_labels
from annotation.imports.index import ImportOptions, name_options
from annotation.models import Campaign, Response, User
from datasets.work import JobError, Options, Progress, Result
from tandem.files.rows import InputError

IMPORT = "import"
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
MOST_WARNINGS = 20
GONE = "the file is no longer there; choose it again"


def question(
    campaign: Campaign, key: str, name: str, rater: str, user: User, options: ImportOptions
) -> dict[str, Any]:
    """Return the question of an import, for `datasets.work.ask`. Each person has their own."""
    asked = {"campaign": campaign.pk, "file": key, "name": name, "rater": rater, "user": user.pk}
    return {**asked, "leave_out": asdict(options)}


def keep(chunks: Iterable[bytes], name: str) -> str:
    """Keep an uploaded file until it is imported, and return its key.

    A file is kept under the digest of its content, since an uploaded name is not trusted as a path.
    """
    folder = _folder()
    suffix = PurePath(name).suffix.lower()
    digest, partial = hashlib.sha256(), folder / f"{hashlib.sha256(name.encode()).hexdigest()}.part"
    with partial.open("wb") as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
    key = f"{digest.hexdigest()}{suffix if suffix in SUFFIXES else SUFFIXES[0]}"
    partial.replace(folder / key)
    return key


def _folder() -> Path:
    found = Path(settings.DATA_DIR) / "imports"
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def state(options: Options) -> Any:
    """Return the newest answer, so that a second import of the same file is a new job."""
    answers = Response.objects.filter(assignment__item__campaign=options["campaign"])
    return answers.order_by("-pk").values_list("pk", flat=True).first()


def carry_out(options: Options, progress: Progress) -> Result:
    """Import the whole file or nothing; return the counts, or why nothing was imported."""
    campaign = Campaign.objects.select_related("batch").get(pk=options["campaign"])
    path, rater = _folder() / PurePath(options["file"]).name, options["rater"] or None
    if not path.is_file():
        raise JobError(GONE)
    try:
        report = import_labels(
            [path],
            campaign,
            rater,
            progress=lambda done: progress(done, 0),
            options=ImportOptions(**options.get("leave_out", {})),
            is_foreign=True,
        )
    except InputError as error:
        return Result.of({"refused": _describe_error(error)})
    finally:
        path.unlink(missing_ok=True)
    more = max(0, len(report.warnings) - MOST_WARNINGS)
    shown = [text.replace(str(path), options["name"]) for text in report.warnings[:MOST_WARNINGS]]
    return Result.of({**asdict(report), "warnings": shown, "more_warnings": more})


def _describe_error(error: InputError) -> str:
    where = f"Line {error.place.line}: " if error.place.line else ""
    return name_options(f"{where}{error.wrong}; {error.remedy}.", "page")
