"""TREC run files: topic, Q0, document, rank, score, tag, with blanks between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from datasets.readers.jsonl import lines
from datasets.rows import InputError, Place


@dataclass(frozen=True, slots=True)
class RunLine:
    """One retrieved document. Rank and score are left out: CRUX's say nothing."""

    topic: str
    document: str
    tag: str
    place: Place


def run_lines(path: Path) -> Iterator[RunLine]:
    """The lines of a run file in their order. Raises InputError for one without six columns."""
    for number, line in lines(path):
        columns, place = line.split(), Place(str(path), number)
        if len(columns) != 6:
            raise InputError(
                place,
                f"{len(columns)} columns where a TREC run has 6",
                "write topic Q0 document rank score tag, with blanks between",
            )
        yield RunLine(columns[0], columns[2], columns[5], place)


def rankings(paths: Iterable[Path]) -> dict[str, dict[str, list[str]]]:
    """topic -> tag -> documents, ranked by the order of the lines.

    Raises InputError for a document that one run names twice for a topic.
    """
    ranked: dict[str, dict[str, list[str]]] = {}
    seen: dict[tuple[str, str, str], Place] = {}
    for path in paths:
        for line in run_lines(path):
            before = seen.setdefault((line.topic, line.tag, line.document), line.place)
            if before is not line.place:
                raise InputError(
                    line.place,
                    f"the document {line.document} stands already at {before} for this topic",
                    "keep its first rank only",
                )
            ranked.setdefault(line.topic, {}).setdefault(line.tag, []).append(line.document)
    return ranked
