"""Reader of GaRAGe's benchmark (Sorodoc and others 2025): a question with dated, tagged passages.

The tags of passages are lists with one entry for each passage. The other keys of a question become
the query's `meta`: values from the paper in the codes of the protocol `question-typing`, other
values verbatim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tandem.files.fields import Fields, part_id
from tandem.files.jsonl import describe_type
from tandem.files.rows import InputError, Located, Passage, Place, Query, ReadNotes, Reference
from tandem.files.tables import object_rows

SUMMARY = "GaRAGe: JSON Lines, or a list, with sample_id, question and grounding"

DEFLECTION = "There is not enough grounding for an answer."
"""The text in place of an answer if an annotator declined to write one."""

YES, NO = ("yes", "true", "1", "cited"), ("no", "false", "0", "not-cited")
_YES_NO = dict.fromkeys(YES, "yes") | dict.fromkeys(NO, "no")
_SENSITIVITY = ("static", "slow-changing", "fast-changing")
_COMPLEXITY = ("simple", "set", "comparison", "aggregation", "multi-hop")
_LONGER = {
    "simple w. condition": "simple-with-condition",
    "post-processing heavy": "post-processing",
}
META: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "question_valid": ("valid", _YES_NO),
    "question_false_premise": ("false_premise", _YES_NO),
    "question_seeking": ("information_seeking", _YES_NO),
    "question_sensitive": ("time_sensitive", _YES_NO),
    "question_type": ("sensitivity", {code: code for code in _SENSITIVITY}),
    "question_complexity": ("complexity", {code: code for code in _COMPLEXITY} | _LONGER),
    "question_popularity": ("popularity", {code: code for code in ("head", "torso", "tail")}),
    "question_category": ("category", {}),
}
"""By field of the release: the key in `meta`, and the codes of values in lower case."""

SOURCES = {"ent": "private"}
_TAGS = ("evidence_relevant", "evidence_correct", "evidence_cited")
_OF_ANSWER = ("answer_related_info", "answer_validate", "comments")
_KEYS = {
    "sample_id",
    "question",
    "question_date",
    "grounding",
    "answer_generate",
    *_TAGS,
    *_OF_ANSWER,
}


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    return first is not None and {"sample_id", "question", "grounding"} <= first.keys()


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """Yield each sample of the files as a query with its passages and reference, if any.

    Raises InputError for a missing key, a value of the wrong type, or a number of tags other than
    that of passages. Warnings count dates of questions that are not ISO dates, which are kept in
    `meta`, and tags that are neither YES nor NO, which are left out.
    """
    undated = strange = 0
    for path in paths:
        for number, record in object_rows(path):
            sample = _Sample(Fields(record, Place(str(path), number)))
            query = sample.query()
            undated += "question_date" in (query.meta or {})
            strange += sample.strange
            yield Located(query, sample.fields.place)
    if undated:
        wrong = f"the dates of {undated} questions are not ISO dates"
        notes.warnings.append(f"{wrong}; they are kept in meta")
    if strange:
        notes.warnings.append(f"{strange} tags are neither YES nor NO; they were left out")


class _Sample:
    """One line of the release; `strange` counts its tags that are neither yes nor no."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.name = _text(fields, "sample_id") or fields.id("sample_id")
        self.passages = fields.objects("grounding", "passage")
        self.ids = [
            part_id(self.name, f"p{n}", fields.place) for n in range(1, 1 + len(self.passages))
        ]
        self.relevant, self.uses, self.cited = (self._tags(tag) for tag in _TAGS)
        flags = (*self.relevant, *self.cited)
        self.strange = sum(1 for tag in flags if tag and tag not in _YES_NO)

    def query(self) -> Query:
        date = _text(self.fields, "question_date")
        dated = date is not None and _is_date(date, self.fields.place)
        undated = {} if dated or date is None else {"question_date": date}
        return Query(
            id=self.name,
            text=self.fields.filled("question"),
            asked_at=date if dated else None,
            passages=tuple(map(self._passage, range(len(self.passages)))),
            references=tuple(self._references()),
            meta=_meta(self.fields.raw) | undated or None,
        )

    def _passage(self, n: int) -> Passage:
        fields, use = self.passages[n], self.uses[n]
        provider = _text(fields, "provider")
        return Passage(
            id=self.ids[n],
            text=fields.string("text"),
            source=SOURCES.get((provider or "").lower(), provider),
            published_at=_text(fields, "date"),
            age=_text(fields, "age"),
            relevant=_flag(self.relevant[n]),
            meta={"use": use} if use else None,
        )

    def _references(self) -> Iterator[Reference]:
        answer = self.fields.optional_string("answer_generate") or ""
        raw = self.fields.raw
        if answer.strip():
            yield Reference(
                text=answer,
                citations=tuple(self.ids[n] for n, tag in enumerate(self.cited) if _flag(tag)),
                deflected=answer.strip() == DEFLECTION,
                meta={key: raw[key] for key in _OF_ANSWER if raw.get(key) is not None} or None,
            )

    def _tags(self, key: str) -> list[str | None]:
        """Return the tag of each passage in lower case; None for each without a list of tags."""
        tags = self.fields.raw.get(key) or []
        place = self.fields.place
        if not isinstance(tags, list):
            raise InputError(place, f'"{key}" is {describe_type(tags)}, not a list', "write a list")
        if tags and len(tags) != len(self.passages):
            wrong = f'"{key}" has {len(tags)} tags for {len(self.passages)} passages'
            raise InputError(place, wrong, "give each passage its tag")
        return [_plain(tag) for tag in tags] or [None] * len(self.passages)


def _meta(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of the question, and all keys that a query has no field for."""
    meta: dict[str, Any] = {}
    for key, value in raw.items():
        if key in _KEYS or value is None or value == "":
            continue
        name, codes = META.get(key, (key, {}))
        meta[name] = codes.get(_plain(value) or "", value)
    if meta.get("time_sensitive") == "no":
        meta.setdefault("sensitivity", "static")
    return meta


def _plain(value: Any) -> str | None:
    """Return a tag in lower case; None for a blank tag or another type."""
    return str(value).strip().lower() or None if isinstance(value, str | int) else None


def _flag(tag: str | None) -> bool | None:
    return {"yes": True, "no": False}.get(_YES_NO.get(tag or "", ""))


def _text(fields: Fields, key: str) -> str | None:
    """Return a string, or a number as a string; None if absent or blank."""
    value = fields.raw.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    text = fields.optional_string(key)
    return text if text and text.strip() else None


def _is_date(date: str, place: Place) -> bool:
    try:
        Fields({"date": date}, place).date("date")
    except InputError:
        return False
    return True
