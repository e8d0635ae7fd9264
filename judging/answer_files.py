"""The labels file that a scripted judge replays, and the raters whose answers are made up.

The file has the form of the labels export, as JSON Lines or CSV, with the labels of one rater. The
columns `item`, `unit`, `kind`, `replicate`, `variable`, `value`, `missing` and `spans` are used.
The labels are stored with the judge, which therefore never changes.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from annotation.imports.labels import StandIn, read_labels
from annotation.label_rows import LabelRow
from datasets.rows import InputError
from judging.backends.scripted import Line, pack
from judging.models import Judge

SCRIPTED = "scripted"
ANSWERS, DIGEST = "answers", "answers_sha256"
"""The parameters of a scripted judge: its labels, and their SHA-256."""
MAX_PACKED = 2_000_000
"""In characters; about 200,000 labels without evidence."""
FAKE = "Its answers are replayed from a file. No model was asked, so its figures describe no judge."


class AnswerFileError(ValueError):
    """A labels file cannot be replayed. The message says what is wrong and what to do."""


def read_answers(path: Path) -> dict[str, str]:
    """Return the parameters of a judge that replays a labels file. Raises AnswerFileError."""
    try:
        rows = list(read_labels(path, StandIn("scripted")))
    except InputError as error:
        raise AnswerFileError(str(error)) from error
    except OSError as error:
        raise AnswerFileError(f"{path}: cannot be read ({error.strerror}); correct it") from error
    raters = sorted({row.rater for row in rows})
    if len(raters) > 1:
        raise AnswerFileError(
            f"{path}: has labels from {len(raters)} raters, {raters[0]!r} and {raters[1]!r} among "
            "them; keep one rater's lines"
        )
    packed, digest = pack(_line(row) for row in rows)
    if len(packed) > MAX_PACKED:
        raise AnswerFileError(f"{path}: is too large to replay; load it with import_labels")
    return {ANSWERS: packed, DIGEST: digest}


def _line(row: LabelRow) -> Line:
    quotes = tuple(span.text for span in row.spans or ())
    return Line(
        row.item, row.unit, row.kind, row.replicate, row.variable, row.value, row.missing, quotes
    )


def scripted_among(names: Collection[str]) -> list[str]:
    """Return which of these raters are scripted judges, or trials of one, by name."""
    found = Judge.objects.filter(rater__name__in=names, backend=SCRIPTED)
    return sorted(found.values_list("rater__name", flat=True))
