"""What files hold, without keeping anything of it: read and checked as a load reads and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets.lines import Digest, as_line
from datasets.loading import check_content, checked
from datasets.readers import read, recognise
from datasets.rows import InputError, Place, Query, ReadNotes

PARTS = ("questions", "key_points", "reports", "rankings")
FIRST, FIRST_PARTS, FIRST_CHARACTERS = 3, 3, 400
MOST_QUERIES = 500_000


@dataclass
class Understood:
    """`counts` are those that a load would report; `first` the first queries, their texts cut."""

    format: str
    digest: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    first: list[dict[str, Any]] = field(default_factory=list)


def understand(
    paths: Sequence[Path], format: str | None, progress: Callable[[int], None]
) -> Understood:
    """Reads files through. Raises InputError, in the words in which the command refuses them."""
    found = Understood(format or recognise(paths))
    notes, digest, counts = ReadNotes(), Digest(), Counter[str]()
    passages: set[str] = set()
    for query in checked(read(paths, found.format, notes), notes, digest, progress):
        counts["queries"] += 1
        counts.update({part: len(getattr(query, part)) for part in PARTS})
        passages.update(passage.id for passage in query.passages)
        if len(found.first) < FIRST:
            found.first.append(_cut(query))
        if counts["queries"] > MOST_QUERIES:
            wrong = f"holds more than {MOST_QUERIES:,} queries"
            raise InputError(Place(str(paths[0])), wrong, "load it with manage.py load_batch")
    check_content(paths, counts["queries"], digest)
    counts["passages"] = len(passages)
    found.digest, found.counts = digest.hexdigest(), dict(counts)
    found.warnings, found.skipped = notes.warnings, notes.skipped
    return found


def _cut(query: Query) -> dict[str, Any]:
    """A query as its line holds it, of each kind of part the first few, and `more` of the rest."""
    line = as_line(query)
    more: dict[str, int] = {}
    for name, value in line.items():
        if isinstance(value, list):
            more[name] = max(0, len(value) - FIRST_PARTS)
            line[name] = [_short(part) for part in value[:FIRST_PARTS]]
    line.pop("meta", None)
    return _short(line) | {"more": {name: count for name, count in more.items() if count}}


def _short(part: Any) -> Any:
    if isinstance(part, str):
        return part if len(part) <= FIRST_CHARACTERS else part[:FIRST_CHARACTERS] + "…"
    if isinstance(part, dict):
        kept = (
            "id",
            "text",
            "title",
            "system",
            "source",
            "asked_at",
            "passages",
            "references",
            *PARTS,
        )
        return {k: v if isinstance(v, list) else _short(v) for k, v in part.items() if k in kept}
    return part
