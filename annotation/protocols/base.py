"""A protocol of the site, and the texts and units that several protocols share.

A protocol is one folder: `__init__.py` makes its items, `guideline.md` is for people and judges,
and `prompt.md` is there where the generic prompt does not fit. It imports neither Django nor any
database model. The first line of a prompt file is its version, `version: 2`, and the prompt itself
begins after it.

No text names the system or setting behind a report. The report's id is not shown either, since it
often contains such a name.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

from tandem.protocols import material
from tandem.protocols.base import Declaration, ItemSpec, Text, UnitSpec, Variable
from tandem.protocols.shipped import FILES

SHARED_PROMPT = "shared"
MakeItems = Callable[[material.Query, Sequence[Variable]], Iterable[ItemSpec]]

Needs = Literal["questions", "passages", "key_points", "nuggets", "reports"]
NEEDS: tuple[Needs, ...] = get_args(Needs)


@dataclass(frozen=True, kw_only=True)
class Protocol(Declaration):
    """One annotation task: what it declares, and how its items, guideline and prompt are made.

    `make_items(query, variables)` returns the items of a query with every unit that may be asked. A
    campaign's sampling may ask fewer. `needs` are the parts of the material that it reads. Unless
    the campaign's options say otherwise, `sampled` protocols ask a seeded sample of the units of
    each item, and `shuffled` protocols show the units in a random order, recorded for each rater.
    `readings` are protocols of the same name that ask about other points, by the value of the
    option `points`. `earlier` are the declarations of earlier versions. A campaign keeps the
    declaration under which it was created. `sections` maps headings of the guideline to the
    variables that the section is about, unless the heading is a variable's question. `lacks` says
    why a batch with all `needs` may still give no items. `stored` is the `uid` of a team's
    file that declares it.
    """

    make_items: MakeItems
    needs: tuple[Needs, ...]
    sampled: bool = False
    shuffled: bool = False
    folder: Path = Path(__file__).parent
    sections: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    own_guideline: str = ""
    readings: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    earlier: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    lacks: str = ""
    stored: uuid.UUID | None = None

    @classmethod
    def of(cls, declaration: Declaration, **own: Any) -> Self:
        """Return the protocol of a declaration: `own` are the fields that are the site's."""
        declared = {f.name: getattr(declaration, f.name) for f in dataclasses.fields(Declaration)}
        return cls(**{**declared, "readings": {}, "earlier": {}, **own})

    def read_as(self, points: str) -> Protocol:
        """Return the reading for the option `points`. Raises KeyError if there is none."""
        return self.readings[points] if points else self

    def as_of(self, version: str) -> Protocol:
        """Return the declaration of a version: this one, unless an earlier one differs."""
        return self.earlier.get(version, self)

    @property
    def guideline(self) -> str:
        """The campaign's own guideline, if it has one, or the protocol's."""
        return self.own_guideline or (self.folder / "guideline.md").read_text("utf-8")

    def guideline_in(self, language: str) -> str:
        """Return the guideline as people read it in a language, if there is a translation.

        A campaign's own guideline is not translated, and judges read the original.
        """
        translated = self.folder / f"guideline.{language}.md"
        if self.own_guideline or not translated.exists():
            return self.guideline
        return translated.read_text("utf-8")

    def worded_in(self, language: str) -> Self:
        """Return the protocol with the texts in a language that its file has.

        Texts of the site's own protocols are in its catalogues.
        """
        return self

    @property
    def prompt(self) -> str:
        return self._versioned_prompt[1]

    @property
    def prompt_name(self) -> str:
        """The slug of the protocol that the prompt belongs to, or `shared`."""
        return self.slug if self._prompt_folder == self.folder else SHARED_PROMPT

    @property
    def prompt_version(self) -> str:
        """The version in the prompt's file, or an empty string."""
        return self._versioned_prompt[0]

    @property
    def _prompt_folder(self) -> Path:
        own = (self.folder / "prompt.md").exists()
        return self.folder if own else Path(__file__).parent

    @property
    def _versioned_prompt(self) -> tuple[str, str]:
        return split_version((self._prompt_folder / "prompt.md").read_text("utf-8"))


def split_version(text: str) -> tuple[str, str]:
    """Return the version of a prompt, or an empty text, and the prompt itself."""
    first, _, rest = text.partition("\n")
    if not first.startswith("version:"):
        return "", text
    return first.removeprefix("version:").strip(), rest.lstrip("\n")


USE = FILES["grounding-relevance"].variable("use")
OPENING = 80
OR = " / "
"""Separates the codes of a `use` on which people tie."""
TOO_LITTLE = ("the writer found", "too little for an answer")


def dated_passages(passages: Sequence[material.Passage], used: bool = False) -> Iterator[Text]:
    """Yield passages as fields `passage:ID`, with source, date and age where they are known.

    With `used`, the use that people assigned to each passage is one of its facts.
    """
    for p in passages:
        use = OR.join(map(_use, p.use.split(OR))) if used and p.use else None
        known = (("source", p.source), ("date", p.published_at), ("age", p.age), ("use", use))
        facts = tuple((name, value) for name, value in known if value)
        yield Text(f"passage:{p.id}", p.text, p.title or "Passage", facts)


def _use(code: str) -> str:
    return USE.word(code) if code in USE.codes else code


def report_texts(reports: Sequence[material.Report]) -> Iterator[Text]:
    """Yield reports as fields `report:ID`, all under the same heading."""
    for report in reports:
        yield Text(f"report:{report.id}", report.text, "Answer")


def reference_texts(references: Sequence[material.Reference]) -> Iterator[Text]:
    """Yield the reference answers as fields `reference:N`, from 1. Deflections are marked."""
    for number, reference in enumerate(references, start=1):
        facts = (TOO_LITTLE,) if reference.deflected else ()
        yield Text(f"reference:{number}", reference.text, "Reference answer", facts)


def passage_units(query: material.Query) -> Iterator[UnitSpec]:
    for p in query.passages:
        yield UnitSpec("passage", passage_key(query, p), p.title or first_words(p.text))


def source_units(query: material.Query) -> Iterator[UnitSpec]:
    """Yield the units of a query that a rater may select as sources.

    They are the sentences of its passages, keyed `query/passage#1`, from 1. A passage without
    sentences is one unit, keyed `query/passage`.
    """
    for unit, passage in zip(passage_units(query), query.passages, strict=True):
        for number, sentence in enumerate(passage.sentences or (), start=1):
            yield UnitSpec("passage-sentence", f"{unit.key}#{number}", sentence)
        if not passage.sentences:
            yield unit


def report_units(query: material.Query) -> Iterator[UnitSpec]:
    for report in query.reports:
        yield UnitSpec("report", report.id, first_words(report.text))


def report_passage_units(query: material.Query) -> Iterator[UnitSpec]:
    """Yield each pair of a report and a passage, keyed `report/passage`."""
    for report in query.reports:
        for p in query.passages:
            yield report_passage_unit(report, p, (f"report:{report.id}", f"passage:{p.id}"))


def report_passage_unit(
    report: material.Report, passage: material.Passage, of: tuple[str, str]
) -> UnitSpec:
    """Return the unit that joins a report and a passage, whose texts have these fields."""
    title = passage.title or first_words(passage.text)
    words = passage_with_answer(title, first_words(report.text))
    return UnitSpec("report-passage", f"{report.id}/{passage.id}", words, of)


def sentence_units(query: material.Query) -> Iterator[UnitSpec]:
    """Yield the sentences of all reports of a query, keyed `report#1`, from 1."""
    for report in query.reports:
        for number, sentence in enumerate(report.sentences or (), start=1):
            yield UnitSpec("sentence", f"{report.id}#{number}", sentence)


def question_units(query: material.Query) -> tuple[UnitSpec, ...]:
    return tuple(UnitSpec("question", q.id, q.text) for q in query.questions)


def key_point_units(query: material.Query) -> tuple[UnitSpec, ...]:
    return tuple(UnitSpec("key-point", k.id, k.text) for k in query.key_points)


def passage_key(query: material.Query, passage: material.Passage) -> str:
    return f"{query.id}/{passage.id}"


def passage_with_answer(passage: str, answer: str) -> str:
    """Return the text of a unit that joins a passage and an answer."""
    return f"{passage}, for the answer “{answer}”"


def first_words(text: str) -> str:
    """Return the first words of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= OPENING else line[: OPENING - 1].rstrip() + "…"
