"""The labels file that a scripted judge replays, and the raters whose answers are made up.

The file has the form of the labels export, as JSON Lines or CSV, with the labels of one rater. The
columns `item`, `unit`, `kind`, `replicate`, `variable`, `value`, `missing`, `spans` and `grade` are
used, and `reason` and `written` in `meta`. The labels are stored with the judge, which therefore
never changes. With a judge file, they are stored as completions that the file reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from annotation.models import Campaign
from judging.backends.scripted import COMPLETION, Line, pack, unpack
from judging.models import Judge
from tandem.files.rows import InputError
from tandem.grouping import grouped
from tandem.labels.file.reader import StandIn, read_labels
from tandem.labels.file.rows import LabelRow
from tandem.verbs import verb_of

SCRIPTED = "scripted"
REASON = "reason"
"""The key in a line's meta of why the judge answered so, for judges without a judge file."""
WRITTEN = "written"
"""The key in a line's meta of the texts and lists that the judge writes for the unit, by their keys
in the answer, for judges without a judge file."""
ANSWERS, DIGEST = "answers", "answers_sha256"
"""The parameters of a scripted judge: its labels, and their SHA-256."""
MAX_PACKED = 2_000_000
"""In characters; about 200,000 labels without evidence."""
FAKE = "Its answers are replayed from a file. No model was asked, so its figures describe no judge."


class AnswerFileError(ValueError):
    """A labels file cannot be replayed. The message says what is wrong and what to do."""


Unit = Sequence[LabelRow]
Write = Callable[[Unit], Iterable[tuple[int, str]]]
"""Returns the completions of a unit from its labels, by replicate. Raises ValueError."""


def read_answers(path: Path, write: Write | None = None) -> dict[str, str]:
    """Return the parameters of a judge that replays a labels file. Raises AnswerFileError.

    With `write`, it replays the completions of each unit.
    """
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
    packed, digest = pack(map(_line, rows) if write is None else _completions(path, rows, write))
    if len(packed) > MAX_PACKED:
        raise AnswerFileError(
            f"{path}: is too large to replay; load it with {verb_of('import_labels')}"
        )
    return {ANSWERS: packed, DIGEST: digest}


def _completions(path: Path, rows: Iterable[LabelRow], write: Write) -> Iterator[Line]:
    """Yield the completion of each unit that has one, and the missing labels of the others."""
    units = grouped(((row.item, row.unit, row.kind, row.replicate), row) for row in rows)
    alone = {key[:3] for key in units if key[3]}
    for (item, unit, kind, replicate), of in units.items():
        if lost := [row for row in of if row.value is None]:
            yield from map(_line, lost)
            continue
        try:
            written = list(write(of))
        except ValueError as error:
            raise AnswerFileError(f"{path}: unit {unit!r} of item {item!r}: {error}") from error
        for number, completion in written:
            # The file's own replicates get no generated completions.
            if number == replicate or (item, unit, kind) not in alone:
                yield Line(item, unit, kind, number, COMPLETION, completion, None)


def _line(row: LabelRow) -> Line:
    quotes = tuple(span.text for span in row.spans or ())
    reason, written = (row.meta or {}).get(REASON), (row.meta or {}).get(WRITTEN)
    return Line(
        row.item,
        row.unit,
        row.kind,
        row.replicate,
        row.variable,
        row.value,
        row.missing,
        quotes,
        reason if isinstance(reason, str) else "",
        written if isinstance(written, dict) else {},
    )


def writes(packed: str) -> bool:
    """Whether the stored answers hold texts or lists, which other units of an item may refer to."""
    return any(line.written for lines in unpack(packed).lines.values() for line in lines)


def replays_other_items(judge: Judge, campaign: Campaign) -> bool:
    """Whether a judge replays a file without an answer to any unit of a campaign.

    Raises SetupError.
    """
    if judge.backend != SCRIPTED:
        return False
    answered = {key[:2] for key in unpack(str(judge.params.get(ANSWERS, ""))).lines}
    units = campaign.items.order_by().values_list("key", "units__key")
    return answered.isdisjoint(units.iterator(chunk_size=5000))


def scripted_among(names: Collection[str]) -> list[str]:
    """Return the names of the raters that are scripted judges or trials of one."""
    found = Judge.objects.filter(rater__name__in=names, backend=SCRIPTED)
    return sorted(found.values_list("rater__name", flat=True))
