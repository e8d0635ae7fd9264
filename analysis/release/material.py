"""The input of a paper's tables from a release's files: its protocols, labels and batches.

Frames, samples and answers are those of the database: `analysis.papers.stored` reads the same from
there. Releases of earlier versions lack some of the files.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from analysis.campaigns.written_rounds import (
    FirstAnswers,
    Units,
    WrittenFact,
    by_question,
    round_in,
    text_in,
    with_rounds,
)
from analysis.evaluation.inputs import AskedContent, QuerySample, SampledQuery
from analysis.papers.base import Paper
from analysis.papers.material import Material, WholeAnswer
from analysis.papers.sources import HUMAN, JUDGE, BatchFacts, CampaignFacts, Part
from analysis.release import layout
from analysis.release.layout import ITEMS, LABELS, REFUSALS, RESPONSES, SAMPLING
from analysis.release.measures import asked_content, read_options
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.declared import protocol_of
from datasets.readers import read
from tandem.files.rows import InputError, Place, Query
from tandem.labels.evaluators import Evaluator, evaluators_from_json
from tandem.labels.facts import LabelFact, LabelKey, Scale, scale_of
from tandem.labels.file.frames import fact_of
from tandem.labels.file.reader import read_labels
from tandem.labels.file.rows import LabelRow
from tandem.labels.frame import EVALUATION, Frame, selected_frame
from tandem.labels.joined import UnitKey, first_labels, not_replaced
from tandem.labels.judge_metadata import with_judge_metadata
from tandem.labels.selection import ReportOptions
from tandem.protocols.base import Variable, WrittenText
from tandem.protocols.file_structure import ProtocolFileError
from tandem.protocols.protocol_file import read_path
from tandem.scores.options import TableOptions
from tandem.sections.written import WrittenAnswers
from tandem.types import JSON

Label = tuple[str, str, str, str]
"""Unit, kind, variable and rater of a label."""


def released_task(folder: Path, facts: Mapping[str, Any]) -> Protocol | None:
    """Return the task of a released campaign, or None for one that is not known here.

    A team's is read from the release. Raises InputError if it is not the one that was used.
    """
    name, version = facts["protocol"], facts["protocol_version"]
    if (named := facts.get("protocol_file")) is None:
        points = facts.get("options", {}).get("points") or ""
        return PROTOCOLS[name].as_of(version).read_as(points) if name in PROTOCOLS else None
    place = Place(str(named))
    path = folder / str(named)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(place, "is not in the release", "name a file of it")
    try:
        file = read_path(path)
    except OSError as error:
        raise InputError(place, "is missing", "restore the file") from error
    except ProtocolFileError as error:
        first = error.problems[0]
        raise InputError(Place(str(named), first.place.line), first.wrong, first.remedy) from error
    declared = file.declaration
    if (declared.name, declared.version) != (name, version):
        wrong = f"declares {declared.name} {declared.version}, and not {name} {version}"
        raise InputError(place, wrong, "restore the file")
    if file.digest != facts.get("protocol_sha256"):
        wrong = "is not the file that the labels were given by, or a text beside it is not"
        raise InputError(place, wrong, "restore both")
    return protocol_of(file)


def contradictions(
    task: Protocol, facts: Mapping[str, Any], report: JSON, labels: Mapping[Label, str]
) -> Iterator[str]:
    """Yield where a release says otherwise than the team's protocol that it carries.

    The codes and levels of each variable are compared, and every label has to be one of the codes.
    """
    declared = {(v.name, v.kind): v for v in task.variables}
    for of in facts["variables"]:
        variable = declared.get((of["name"], of["unit"]))
        if variable is None:
            yield f"{of['name']} of a {of['unit']} is not in {facts['protocol_file']}"
            continue
        for what, now in _stated(variable).items():
            if of[what] != now:
                yield (
                    f"{variable.name}: {what} is {of[what]!r} in {layout.FACTS}, and {now!r} in "
                    f"{facts['protocol_file']}"
                )
    levels = {v.name: scale_of(v).level for v in task.variables}
    for name, of in report["variables"].items():
        if name in levels and of["measurement"] != levels[name]:
            yield (
                f"{name}: measurement is {of['measurement']!r} in {layout.REPORT}, and "
                f"{levels[name]!r} in {facts['protocol_file']}"
            )
    for (unit, kind, name, rater), value in labels.items():
        variable = declared.get((name, kind))
        if variable is not None and not variable.takes(value):
            yield (
                f"{name} of unit {unit!r} by {rater} is {value!r}, which {facts['protocol_file']} "
                "does not allow"
            )


def _stated(variable: Variable) -> JSON:
    return {
        "codes": list(variable.answers),
        "escapes": list(variable.escapes),
        "level": variable.level,
        "several": variable.several,
    }


GAP = "gap"


class ReleasedMaterial(Material):
    """The study of a release. `facts` are those of the release, and `report` its tables.

    `tokens` names the tokenizer, if it is not the one that the tables state.
    """

    def __init__(
        self, folder: Path, facts: JSON, paper: Paper, report: JSON, tokens: str = ""
    ) -> None:
        options = ReportOptions(seed=report["seed"], resamples=report["resamples"])
        usual = TableOptions.of(paper.name)
        said = read_options(report, folder / REFUSALS, tokens, TableOptions)
        tables = replace(usual, **said)
        super().__init__(facts["study"], paper.name, options, tables)
        self.folder, self.report = folder, report
        self._batch_facts = {each["name"]: each for each in facts["batches"]}
        self._facts = {each["name"]: each for each in facts["campaigns"]}
        self._rows: dict[str, list[LabelRow]] = {}
        self._items: dict[str, list[JSON]] = {}

    @cached_property
    def own_campaigns(self) -> Sequence[CampaignFacts]:
        missing = [name for name in self.report["campaigns"] if name not in self._facts]
        if missing:
            raise ValueError(f"campaign {missing[0]} is not in the release")
        return [self._campaign(of) for of in self._facts.values()]

    def _campaign(self, of: JSON) -> CampaignFacts:
        return CampaignFacts(
            of["name"],
            of["protocol"],
            of["protocol_version"],
            self._batch(of["batch"]),
            of["options"],
            tuple(of["continues"]),
            of["asks_people"],
            of["created_at"],
            released_task(self.folder, of) if of.get("protocol_file") else None,
        )

    def _batch(self, name: str) -> BatchFacts:
        if name not in self._batch_facts:
            raise ValueError(f"batch {name} is not in the release")
        of = self._batch_facts[name]
        return BatchFacts(name, of["origin"], tuple(of["rules"]))

    @cached_property
    def own_batches(self) -> Sequence[BatchFacts]:
        return [self._batch(name) for name in self._batch_facts]

    def read_queries(self, batch: BatchFacts) -> tuple[Query, ...]:
        path = self._there(self.folder / self._batch_facts[batch.name]["file"])
        return tuple(each.query for each in read([path], "native"))

    def items(self, campaign: CampaignFacts) -> Mapping[str, str]:
        return {line["item"]: line["query"] for line in self._item_lines(campaign)}

    def units(self, campaign: CampaignFacts) -> frozenset[UnitKey]:
        return frozenset(self._positions(campaign))

    def labels(self, campaign: CampaignFacts) -> list[LabelFact]:
        """Return the labels in the database's order: by units, and the missing ones at the end."""
        place = self._positions(campaign)
        last = len(place)

        def order(fact: LabelFact) -> tuple[bool, int]:
            return fact.value is None, place.get((fact.item, fact.kind, fact.unit), last)

        return sorted(map(fact_of, self._label_rows(campaign)), key=order)

    def excluded(self, campaign: CampaignFacts) -> Mapping[str, str]:
        raters = self._facts[campaign.name]["raters"]
        return {rater["name"]: rater["excluded"] for rater in raters if rater["excluded"]}

    def read_frame(self, campaign: CampaignFacts, parts: Sequence[Part]) -> Frame:
        scales: dict[str, Scale] = {}
        out: dict[str, str] = {}
        metas: list[tuple[LabelKey, Mapping[str, Any]]] = []
        labels = []
        for part in parts or (Part(campaign),):
            scales |= {of["name"]: _scale(of) for of in self._variables(part.campaign)}
            out |= self.excluded(part.campaign)
            metas += self._metas(part)
            labels.append(not_replaced(self.labels(part.campaign), part.replaced))
        frame = selected_frame(list(first_labels(labels)), self.options, {}, scales, None, out)
        return with_judge_metadata(frame, metas)

    def _metas(self, part: Part) -> Iterator[tuple[LabelKey, Mapping[str, Any]]]:
        for row in self._label_rows(part.campaign):
            if row.rater_kind != JUDGE or row.replicate or not (meta := row.stored_meta):
                continue
            key = LabelKey(row.item, row.kind or "", row.unit, row.variable, row.rater)
            if key[:3] not in part.replaced:
                yield key, meta

    def evaluators_among(
        self, labels: Sequence[tuple[CampaignFacts, Frame]]
    ) -> tuple[Evaluator, ...]:
        """Return the evaluators that the tables name, since servers of judges are not released."""
        return evaluators_from_json(self.report)

    def variables(self, campaign: CampaignFacts) -> Sequence[str]:
        return [of["name"] for of in self._variables(campaign)]

    def asked(self, campaign: CampaignFacts) -> AskedContent:
        facts = self._facts[campaign.name]
        found = asked_content(facts, released_task(self.folder, facts))
        assert found is not None
        return found

    def sample(self, campaign: CampaignFacts) -> QuerySample:
        lines = self._sampling(campaign)
        rows = [SampledQuery(*(line[name] for name in SampledQuery._fields)) for line in lines]
        unfinished = {line["query"] for line in lines if not line["finished"]}
        return QuerySample.of(rows, unfinished, bool(campaign.options.get("chosen")))

    def splits(self, campaign: CampaignFacts) -> Mapping[str, str]:
        roles = {line["query"]: line["role"] for line in self._sampling(campaign)}
        found = self.items(campaign).items()
        return {item: roles.get(query, EVALUATION) for item, query in found}

    def written_answers(self, campaign: CampaignFacts) -> WrittenAnswers | None:
        rule, kinds = campaign.task.written, {v["unit"] for v in self._variables(campaign)}
        if rule is None or rule.kind != "query" or "query" not in kinds:
            return None
        rounds = self._rounds(campaign)
        facts = [
            WrittenFact(answer.query, answer.rater, text, rounds.get((item, answer.rater)))
            for item, answer, exposed in self._answers(campaign)
            if answer.kind == HUMAN and (self.options.exposed or not exposed)
            if (text := text_in(answer.units)) is not None
        ]
        first = campaign.options.get("prerequisite")
        # How many people skipped is not in the tables.
        return with_rounds(facts, self._first(campaign, first) if first else None, lambda: 0)

    def _rounds(self, campaign: CampaignFacts) -> dict[tuple[str, str], int | None]:
        """Return the round of each answer by item and rater, as imported labels name it."""
        metas: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for row in self._label_rows(campaign):
            if row.meta and not row.replicate:
                metas[row.item, row.rater].append(row.meta)
        return {place: round_in(of) for place, of in metas.items()}

    def _first(self, campaign: CampaignFacts, prerequisite: str) -> FirstAnswers:
        """Return the answers of an earlier campaign that this one may show."""
        if prerequisite not in self._facts:
            raise ValueError(f"campaign {prerequisite} is not in the release")
        earlier = self._campaign(self._facts[prerequisite])
        rule = earlier.task.written
        assert rule is not None
        asked = self.variables(earlier)
        places = {line["item"]: _places(line) for line in self._item_lines(earlier)}
        return by_question(
            (answer.query, answer.rater, answer.units)
            for item, answer, _ in self._answers(earlier, every=True)
            if answer.kind == HUMAN and _is_usable(answer.units, rule, asked)
            if campaign.options.get("gate") != GAP or _has_gap(answer.units, places[item])
        )

    def whole_answers(self, campaign: CampaignFacts) -> Iterator[WholeAnswer]:
        return (answer for _, answer, _ in self._answers(campaign))

    def _answers(
        self, campaign: CampaignFacts, every: bool = False
    ) -> Iterator[tuple[str, WholeAnswer, bool]]:
        """Yield first answers, with their items and whether a part was exposed.

        Unless `every` one counts, excluded raters and assisted answers are left out. Answers to an
        item are in the order in which their raters were asked.
        """
        items = self._item_lines(campaign)
        of_item = {line["item"]: line for line in items}
        turn = {(i["item"], r): n for i in items for n, r in enumerate(i["raters"])}
        place = {line["item"]: n for n, line in enumerate(items)}
        out = self.excluded(campaign)
        lines = [
            line
            for line in self._lines(campaign, RESPONSES)
            if not line["replicate"]
            if every or not (line["assisted_by"] or line["rater"] in out)
        ]
        lines.sort(key=lambda each: (place[each["item"]], turn[each["item"], each["rater"]]))
        for line in lines:
            query = of_item[line["item"]]["query"]
            answer = WholeAnswer(query, line["rater"], line["rater_kind"], line["units"])
            yield line["item"], answer, bool(line["exposed"])

    def _variables(self, campaign: CampaignFacts) -> list[JSON]:
        found: list[JSON] = self._facts[campaign.name]["variables"]
        return found

    def _label_rows(self, campaign: CampaignFacts) -> list[LabelRow]:
        if campaign.name not in self._rows:
            path = self._path(campaign, LABELS)
            self._rows[campaign.name] = list(read_labels(path)) if path.stat().st_size else []
        return self._rows[campaign.name]

    def _positions(self, campaign: CampaignFacts) -> dict[UnitKey, int]:
        """Return the place of each unit among all of a campaign, in its order."""
        lines = self._item_lines(campaign)
        units = ((line["item"], of["kind"], of["unit"]) for line in lines for of in line["units"])
        return {unit: n for n, unit in enumerate(units)}

    def _item_lines(self, campaign: CampaignFacts) -> list[JSON]:
        if campaign.name not in self._items:
            self._items[campaign.name] = self._lines(campaign, ITEMS)
        return self._items[campaign.name]

    def _sampling(self, campaign: CampaignFacts) -> list[JSON]:
        return self._lines(campaign, SAMPLING)

    def _lines(self, campaign: CampaignFacts, name: str) -> list[JSON]:
        path = self._path(campaign, name)
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def _path(self, campaign: CampaignFacts, name: str) -> Path:
        return self._there(self.folder / self._facts[campaign.name]["folder"] / name)

    def _there(self, path: Path) -> Path:
        if not path.is_file():
            raise InputError(Place(str(path)), "is missing", "restore the file")
        return path


def _scale(of: JSON) -> Scale:
    codes = tuple(code for code in of["codes"] if code not in of["escapes"])
    return Scale(codes, of["level"], tuple(of["escapes"]))


def _is_usable(units: Units, rule: WrittenText, asked: Sequence[str]) -> bool:
    """Return whether an answer was given under the rule's conditions, as `usable_answers` says."""
    for variable, codes in rule.asked_if.items():
        said = {answer[variable] for answer in units.values() if answer.get(variable)}
        if said - set(codes):
            return False
    answering = any(answer.get("deflected") == "no" for answer in units.values())
    return answering or "deflected" not in asked


def _places(item: JSON) -> dict[str, int]:
    """Return the place of each unit of an item, by its key, and by its kind and key."""
    units = list(enumerate(item["units"]))
    named = {f"{of['kind']}:{of['unit']}": n for n, of in units}
    return {of["unit"]: n for n, of in units} | named


def _has_gap(units: Units, place: Mapping[str, int]) -> bool:
    """Return whether two or more selected sentences do not all follow each other."""
    chosen = [place[name] for name, answer in units.items() if answer.get("selected") == "yes"]
    return bool(chosen) and max(chosen) >= min(chosen) + len(chosen)
