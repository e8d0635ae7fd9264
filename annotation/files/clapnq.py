"""CLAPnq's released answers as what each annotator said of a question (Rosenthal and others 2025).

An output that two annotators share is the first one's answer, which the second one kept: identical
answers of the two rounds are merged in the release. Its flag `non_consecutive` is wrong for the
second round (see `datasets.readers.clapnq`); whether sentences were selected with a gap between
them follows from the labels.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from datasets.readers.clapnq import NO_ANSWER
from datasets.readers.fields import Fields
from datasets.readers.jsonl import records
from datasets.rows import InputError, Place

Action = Literal["keep", "modify", "skip"]
_META = ("round", "has_minimal_answer", "non_consecutive")


@dataclass(frozen=True, slots=True)
class Released:
    """What one annotator said of one question. `rater` is None where no annotator is named.

    `output` is the place of the answer among the question's outputs, from 0. `action` is what
    became of the first answer in the second round; None in the first one.
    """

    item: str
    rater: str | None
    replicate: int
    output: int
    round: int
    action: Action | None
    text: str
    selected: tuple[str, ...]
    meta: Mapping[str, Any]
    place: Place

    @property
    def skipped(self) -> bool:
        return self.action == "skip"

    @property
    def usable(self) -> bool:
        return self.text.strip() not in NO_ANSWER


@dataclass(frozen=True, slots=True)
class _Output:
    """One output as it stands in the file."""

    number: int
    answer: str
    selected: tuple[str, ...]
    raters: tuple[str, ...]
    round: int
    skip: bool
    meta: Mapping[str, Any]


def read_clapnq(path: Path) -> Iterator[Released]:
    """Every annotator's answer to every question of a file. Raises InputError."""
    for line, raw in records(path):
        fields = Fields(raw, Place(os.fspath(path), line))
        yield from _answers(fields)


def _answers(fields: Fields) -> Iterator[Released]:
    item, had = fields.id(), Counter[str | None]()
    outputs = [_output(each, n) for n, each in enumerate(fields.objects("output", "output"))]
    rounds = {output.round for output in outputs}
    for output in outputs:
        for place, rater in enumerate(output.raters or (None,)):
            second = output.round == 2 and (place > 0 or 1 in rounds)
            # Who of two wrote it, the release does not say: its order is taken.
            yield Released(
                item, rater, had[rater], output.number,
                round=1 if output.round == 2 and not second else output.round,
                action=_action(output, place) if second else None,
                text=output.answer, selected=output.selected, meta=output.meta, place=fields.place,
            )  # fmt: skip
            had[rater] += 1


def _action(output: _Output, place: int) -> Action:
    return "skip" if output.skip else "keep" if place else "modify"


def _output(fields: Fields, number: int) -> _Output:
    meta = fields.object("meta") or {}
    raters, turn = meta.get("annotator") or [], meta.get("round", 0)
    if not isinstance(raters, list) or not isinstance(turn, int):
        wrong = f'the meta of output {number + 1} lacks a list "annotator" or a number "round"'
        raise InputError(fields.place, wrong, "give the file as it was released")
    return _Output(
        number,
        fields.string("answer"),
        tuple(fields.strings("selected_sentences") or ()),
        tuple(str(rater) for rater in raters),
        turn,
        bool(meta.get("skip")),
        {"released_" + name: meta[name] for name in _META if name in meta},
    )
