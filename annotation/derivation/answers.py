"""People's written answers to the queries of a batch, from one round or from several.

An answer is a text or a deflection. Equal texts are one answer, such as a first answer that the
second person kept. A validation round removes answers with a sentence that is not grounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from annotation.derivation.base import Job, Work
from annotation.derivation.decisions import NO
from annotation.derivation.labels import LabelledUnit, LabelReader, UnitReader
from annotation.models import Campaign, Exclusion, Rater, Response
from annotation.prerequisites.base import prerequisite_of
from annotation.presentation import PREFIX, schema, validates_answers
from annotation.trust.roles import without_certify
from datasets.derivation import UnitDigests
from tandem.files import rows
from tandem.protocols.base import Payload

SKIP, DEFLECTING = "skip", "no-answer"
REFERENCES = "references"


@dataclass(frozen=True)
class WrittenAnswer:
    """One answer. `selected` are keys of passages, or of sentences such as `query/passage#1`.

    `people` are the raters who wrote, kept or validated it. `source` is its response.
    """

    text: str
    citations: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    deflected: bool = False
    descriptor: str | None = None
    people: frozenset[int] = frozenset()
    sources: frozenset[int] = field(default=frozenset(), compare=False)


class AnswerWork(Work):
    """The work of a rule that uses people's written answers."""

    plural = "sentences"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._rounds = list(_rounds(job.campaigns))
        validated = [c for c in job.campaigns if validates_answers(c, schema(c))]
        readers = [LabelReader(each, ("grounded",), job.rater) for each in validated]
        self._validation = UnitReader(readers) if readers else None
        self.digests = self._validation.digests if self._validation else UnitDigests()
        self._validators = [each.pk for each in validated]
        self._answers: dict[int, list[WrittenAnswer]] = {}
        self._sentences: dict[int, list[LabelledUnit]] = {}

    def read(self, queries: Sequence[int]) -> None:
        found: dict[int, list[WrittenAnswer]] = defaultdict(list)
        rater = self.job.rater.pk if self.job.rater and self._validation is None else None
        for campaign in self._rounds:
            for query, item, response in people_responses(campaign, queries, rater):
                answer = read_answer(response)
                self.digests.add([campaign.name, item, response.payload["units"]])
                if answer is not None:
                    found[query].append(answer)
        self._answers = {query: merge_answers(answers) for query, answers in found.items()}
        self._sentences = self._validation.read(queries) if self._validation else {}
        self._validated_by = _validators(self._validators, queries)

    def answers(self, pk: int) -> list[WrittenAnswer]:
        """Return the valid answers to a query, each text once, in the order of writing."""
        answers = self._answers.get(pk, [])
        by_response: dict[int, list[LabelledUnit]] = defaultdict(list)
        for unit in self._sentences.get(pk, []):
            source = unit.key.rpartition("#")[0].removeprefix(PREFIX)
            if unit.kind == "sentence" and source.isdigit():
                by_response[int(source)].append(unit)
        stands = []
        for answer in answers:
            units = [unit for each in answer.sources for unit in by_response.get(each, ())]
            if not units:
                stands.append(answer)
            elif reason := self._reason(units):
                self.tally.drop(REFERENCES, units[0].key.rpartition("#")[0], reason)
            else:
                people = answer.people | self._validated_by.get(pk, frozenset())
                stands.append(replace(answer, people=people))
        return stands

    def _reason(self, units: Iterable[LabelledUnit]) -> str:
        """Return why a validated answer is rejected, or an empty text."""
        for unit in units:
            grounded = self.job.decider.decide(unit, "grounded")
            if grounded.value == NO:
                return "a sentence is not grounded"
            if not grounded:
                self.job.decider.note(grounded.state, unit.key)
                if self.job.decider.ties != "keep":
                    return "a sentence is undecided"
        return ""


def _rounds(campaigns: Iterable[Campaign]) -> Iterable[Campaign]:
    """Yield the campaigns in which answers are written, for a validation its first round."""
    seen: set[int] = set()
    for campaign in campaigns:
        validates = validates_answers(campaign, schema(campaign))
        if validates:
            campaign = Campaign.objects.get(name=prerequisite_of(campaign))
        if campaign.pk not in seen:
            seen.add(campaign.pk)
            yield campaign


def people_responses(
    campaign: Campaign, queries: Sequence[int], rater: int | None
) -> Iterable[tuple[int, str, Response]]:
    """Yield the current answers of people with their query and item, oldest first."""
    excluded = Exclusion.objects.filter(campaign=campaign, undone_at=None)
    found = Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__item__use="study",
        assignment__item__query__in=queries,
        assignment__rater__kind=Rater.Kind.HUMAN,
        assignment__replicate=0,
    ).exclude(assignment__rater__in=list(excluded.values_list("rater", flat=True)))
    if rater is not None:
        found = found.filter(assignment__rater=rater)
    found = without_certify(found, campaign, "assignment")
    rows_ = found.select_related("assignment__item").order_by("created_at", "pk")
    for response in rows_:
        yield response.assignment.item.query_id, response.assignment.item.key, response


def _validators(campaigns: Sequence[int], queries: Sequence[int]) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    rows_ = Response.objects.filter(
        current=True,
        assignment__item__campaign__in=campaigns,
        assignment__item__query__in=queries,
        assignment__rater__kind=Rater.Kind.HUMAN,
    )
    for query, rater in rows_.values_list("assignment__item__query", "assignment__rater"):
        found[query].add(rater)
    return {query: frozenset(raters) for query, raters in found.items()}


def read_answer(response: Response) -> WrittenAnswer | None:
    """Return the answer in a response, or None if the person skipped the query."""
    units: Payload = response.payload["units"]
    own = next((a for a in units.values() if "descriptor" in a or "written" in a), None)
    if own is None or own.get("action") == SKIP:
        return None
    people, source = frozenset({response.assignment.rater_id}), frozenset({response.pk})
    descriptor = own.get("descriptor")
    if own.get("deflected") == "yes" or descriptor == DEFLECTING:
        return WrittenAnswer(
            "", deflected=True, descriptor=descriptor, people=people, sources=source
        )
    written = own.get("written")
    if not written or not written["text"].strip():
        return None
    selected = tuple(name for name, answer in units.items() if answer.get("selected") == "yes")
    return WrittenAnswer(
        written["text"],
        tuple(written.get("citations") or ()),
        selected,
        False,
        descriptor,
        people,
        source,
    )


def merge_answers(answers: Iterable[WrittenAnswer]) -> list[WrittenAnswer]:
    """Return the answers with each text once, in order of writing; deflections are one answer.

    Answers written at the same time are ordered by their texts.
    """
    found: dict[tuple[str, bool], WrittenAnswer] = {}
    for answer in answers:
        key = answer.text, answer.deflected
        if before := found.get(key):
            people, sources = before.people | answer.people, before.sources | answer.sources
            selected = before.selected or answer.selected
            found[key] = replace(before, people=people, sources=sources, selected=selected)
        else:
            found[key] = answer
    return list(found.values())


def sentences_of(query: rows.Query, answer: WrittenAnswer) -> tuple[str, ...] | None:
    """Return the selected sentences of the query's passages in reading order, or None."""
    chosen = set(answer.selected)
    found = []
    for passage in query.passages:
        key = f"{query.id}/{passage.id}"
        for number, sentence in enumerate(passage.sentences or (), start=1):
            if {f"{key}#{number}", f"passage-sentence:{key}#{number}"} & chosen:
                found.append(sentence)
    return tuple(found) or None
