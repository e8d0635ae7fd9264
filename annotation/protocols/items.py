"""The items of a protocol that a file declares: what stands on a page, from its form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from annotation.protocols.base import (
    NEEDS,
    MakeItems,
    Needs,
    dated_passages,
    first_words,
    key_point_units,
    passage_key,
    passage_units,
    question_units,
    reference_texts,
    report_passage_unit,
    report_texts,
    report_units,
    source_units,
)
from tandem.grouping import grouped
from tandem.protocols import material
from tandem.protocols.base import (
    ItemForm,
    ItemSpec,
    Text,
    UnitPlace,
    UnitSpec,
    Variable,
    kinds_of,
)

CITATION = "sentence-citation"
SENTENCES = ("sentence", CITATION)
PARTS: Mapping[str, Needs] = {
    "question": "questions",
    "questions": "questions",
    "key-point": "key_points",
    "key-points": "key_points",
    "nugget": "nuggets",
    "report-nugget": "nuggets",
    "passage": "passages",
    "passages": "passages",
    "passage-sentence": "passages",
    "cited": "passages",
    "report-passage": "passages",
    "sentence-citation": "passages",
    "report": "reports",
    "reports": "reports",
    "sentence": "reports",
    "pair": "reports",
}
"""The part of the material that an item, a text or a unit of a kind is made from."""


def needs_of(form: ItemForm, variables: Sequence[Variable]) -> tuple[Needs, ...]:
    """Return the parts of the material that items of this form are made from."""
    kinds = [variable.kind for variable in variables]
    names = [form.each, *form.shows, *kinds]
    if {"report-passage", "sentence-citation", "report-nugget", "cited"} & set(names):
        names.append("report")
    if form.each == "key-point":
        names.append("passage")  # Only points of passages that the query has become items.
    found = {PARTS[name] for name in names if name in PARTS}
    return tuple(need for need in NEEDS if need in found)


def build_items(form: ItemForm) -> MakeItems:
    """Return the function that makes the items of a query, with every unit of the kinds asked."""

    def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
        kinds = kinds_of(variables)
        for bare in _bare_items(form, query):
            item = replace(bare, texts=tuple(_texts(form, query, bare)))
            if units := tuple(_units(query, item, kinds)):
                yield replace(item, units=units)

    return make_items


def judge_once(query: material.Query, items: Iterable[ItemSpec]) -> list[ItemSpec]:
    """Return the items of a query with each citation that repeats another one marked as such.

    Two citations are equal if their sentences are the same to the letter, and all that is shown of
    their passages is. The first of them is asked, in the order of items and units.
    """
    made = list(items)
    passages = {f"passage:{p.id}": (p.title, p.text, p.age, _of_passage(p)) for p in query.passages}
    first: dict[object, UnitPlace] = {}
    same: dict[UnitPlace, UnitPlace] = {}
    citations = [(each.key, u) for each in made for u in each.units if u.kind == CITATION]
    for key, unit in citations:
        asked = first.setdefault((unit.text, passages[unit.of[1]]), (key, unit.key))
        if asked != (key, unit.key):
            same[key, unit.key] = asked
    also = grouped((asked, place) for place, asked in same.items())

    def marked(item: ItemSpec, unit: UnitSpec) -> UnitSpec:
        place = item.key, unit.key
        if unit.kind != CITATION:
            return unit
        return replace(unit, same_as=same.get(place), also=tuple(also.get(place, ())))

    return [replace(item, units=tuple(marked(item, u) for u in item.units)) for item in made]


def _bare_items(form: ItemForm, query: material.Query) -> Iterator[ItemSpec]:
    """Yield the items of a query with their keys and parts, without units and texts."""
    match form.each:
        case "query":
            yield ItemSpec(query.id, (), ())
        case "report":
            for report in query.reports:
                yield _of_report(report.id, report)
        case "passage":
            for p in query.passages:
                yield ItemSpec(passage_key(query, p), (), (), passage=p.id)
        case "report-passage":
            for report in query.reports:
                for p in query.passages:
                    key = f"{report.id}/{p.id}"
                    yield replace(_of_report(key, report), passage=p.id)
        case "key-point":
            known = {p.id for p in query.passages}
            for point in query.key_points:
                if point.passage in known:
                    yield ItemSpec(point.id, (), (), passage=point.passage, key_point=point.id)
        case "pair":
            for first, second in combinations(query.reports, 2):
                yield ItemSpec(f"{first.id}/{second.id}", (), tuple(report_texts((first, second))))


def _of_report(key: str, report: material.Report) -> ItemSpec:
    return ItemSpec(key, (), (), report=report.id, system=report.system, setting=report.setting)


def _texts(form: ItemForm, query: material.Query, item: ItemSpec) -> Iterator[Text]:
    """Yield what an item shows, in the order of its form."""
    report = _report_of(query, item)
    for shown in form.shows:
        match shown:
            case "report" if report:
                yield Text("report", report.text, "Report")
            case "reports":
                yield from item.texts or report_texts(query.reports)
            case "passage":
                for p in _own_passages(query, item):
                    point = next((k for k in query.key_points if k.id == item.key_point), None)
                    suggested = tuple(point.spans or ()) if point else ()
                    yield Text("passage", p.text, p.title or "Passage", suggested=suggested)
            case "passages":
                yield from dated_passages(query.passages)
            case "cited" if report:
                cited = dict.fromkeys(chain.from_iterable(_citations(report)))
                known = {p.id: p for p in query.passages}
                yield from dated_passages([known[each] for each in cited if each in known])
            case "references":
                yield from reference_texts(query.references)
            case "key-points":
                yield from _listed("key-points", "Key points", query.key_points)
            case "questions":
                yield from _listed("questions", "Questions", query.questions)
            case _ if shown.startswith("meta."):
                name = shown.removeprefix("meta.")
                value = (query.meta or {}).get(name)
                if value is not None:
                    yield Text(f"meta:{name}", str(value), name.replace("_", " ").capitalize())


def _listed(
    field: str, heading: str, parts: Sequence[material.Question | material.KeyPoint]
) -> Iterator[Text]:
    if parts:
        yield Text(field, "\n".join(f"- {part.text}" for part in parts), heading)


def _units(query: material.Query, item: ItemSpec, kinds: Collection[str]) -> Iterator[UnitSpec]:
    """Yield the units of an item, by kind in the order in which a page asks them."""
    makers = _Makers(query, item, _report_of(query, item))
    for kind in KINDS:
        if kind in kinds:
            yield from makers.units(kind)


KINDS = (
    "item",
    "query",
    "pair",
    "report",
    "question",
    "key-point",
    "nugget",
    "report-nugget",
    "sentence",
    "sentence-citation",
    "passage",
    "passage-sentence",
    "report-passage",
)


@dataclass(frozen=True)
class _Makers:
    """Makes the units of an item: those of its report or passage, or else of its query."""

    query: material.Query
    item: ItemSpec
    report: material.Report | None

    def units(self, kind: str) -> Iterator[UnitSpec]:
        query, item = self.query, self.item
        match kind:
            case "item":
                yield UnitSpec("item", item.key, first_words(query.text))
            case "query":
                yield UnitSpec("query", query.id, query.text)
            case "pair":
                yield UnitSpec("pair", item.key, "The first answer and the second")
            case "report":
                shown = {report.id for report in self.reports}
                yield from (unit for unit in report_units(query) if unit.key in shown)
            case "question":
                yield from question_units(query)
            case "key-point":
                yield from (
                    unit for unit in key_point_units(query) if item.key_point in (None, unit.key)
                )
            case "nugget":
                for nugget in query.nuggets:
                    yield UnitSpec("nugget", nugget.id, nugget.text, fields=_of_nugget(nugget))
            case "report-nugget" if self.report:
                for nugget in query.nuggets:
                    key = f"{self.report.id}/{nugget.id}"
                    yield UnitSpec("report-nugget", key, nugget.text, fields=_of_nugget(nugget))
            case "sentence":
                for report in self.reports:
                    yield from (unit for unit, _ in self.sentences(report))
            case "sentence-citation" if self.report:
                yield from self.citations(self.report)
            case "passage" | "passage-sentence":
                yield from self.passages(kind)
            case "report-passage":
                yield from self.report_passages()

    @property
    def reports(self) -> Sequence[material.Report]:
        return self.query.reports if self.report is None else (self.report,)

    def sentences(self, report: material.Report) -> Iterator[tuple[UnitSpec, Sequence[str]]]:
        """Yield each sentence of a report with the passages that it cites."""
        field = "report" if self.report else f"report:{report.id}"
        cited = report.sentence_citations or ()
        at = 0
        for number, sentence in enumerate(report.sentences or (), start=1):
            start = report.text.find(sentence, at)
            place = None
            if start >= 0:
                at = start + len(sentence)
                place = field, start, at
            unit = UnitSpec("sentence", f"{report.id}#{number}", sentence, place=place)
            yield unit, cited[number - 1] if cited else ()

    def citations(self, report: material.Report) -> Iterator[UnitSpec]:
        """Yield each sentence with each passage that it cites and that the batch has."""
        known = {p.id: p for p in self.query.passages}
        for sentence, cited in self.sentences(report):
            for each in dict.fromkeys(cited):
                if each in known:
                    yield replace(
                        sentence,
                        kind="sentence-citation",
                        key=f"{sentence.key}/{each}",
                        of=("report", f"passage:{each}"),
                        fields=_of_passage(known[each]),
                    )

    def passages(self, kind: str) -> Iterator[UnitSpec]:
        own = {passage_key(self.query, p): p for p in _own_passages(self.query, self.item)}
        found = passage_units(self.query) if kind == "passage" else source_units(self.query)
        for unit in found:
            key = unit.key if unit.key in own else unit.key.rpartition("#")[0]
            if key in own and unit.kind == kind:
                yield replace(unit, fields=_of_passage(own[key]) if kind == "passage" else ())

    def report_passages(self) -> Iterator[UnitSpec]:
        name = "passage" if self.item.passage is not None else ""
        for report in self.reports:
            answer = "report" if self.report else f"report:{report.id}"
            for p in _own_passages(self.query, self.item):
                unit = report_passage_unit(report, p, (answer, name or f"passage:{p.id}"))
                yield replace(unit, fields=_of_passage(p))


def _report_of(query: material.Query, item: ItemSpec) -> material.Report | None:
    return next((each for each in query.reports if each.id == item.report), None)


def _own_passages(query: material.Query, item: ItemSpec) -> Sequence[material.Passage]:
    """Return the passage that an item is about, or all of the query."""
    return [p for p in query.passages if item.passage in (None, p.id)]


def _citations(report: material.Report) -> Iterator[Sequence[str]]:
    yield from report.sentence_citations or (report.citations or (),)


def _of_nugget(nugget: material.Nugget) -> tuple[tuple[str, str], ...]:
    known = (("importance", nugget.importance), ("sources", ", ".join(nugget.sources or ())))
    return tuple((name, value) for name, value in known if value)


def _of_passage(passage: material.Passage) -> tuple[tuple[str, str], ...]:
    known = (("source", passage.source), ("date", passage.published_at))
    return tuple((name, value) for name, value in known if value)
