"""Serializers of a person's assignments and answers, with examples."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from annotation.answers.types import LONGEST_SECONDS
from annotation.models import Assignment
from annotation.prerequisites.grounded_answer import first_answer
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import UnitSpec
from annotation.protocols.schema import schema_of
from datasets.api.base import ErrorSerializer, Number, PageParameters, ProblemSerializer, Strict

ASSISTANT = "the judge whose verdicts one sees and confirms or corrects; null in most campaigns"


class Assistant(serializers.CharField):
    """A judge's name; nobody's is stored as an empty one."""

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


class CitedSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="the text that it is of")
    quote = serializers.CharField()
    start = serializers.IntegerField(
        allow_null=True, help_text="in code points; null where it stands nowhere in the text"
    )


class VerdictSerializer(serializers.Serializer[Any]):
    """What the judge said that one confirms or corrects."""

    judge = serializers.CharField()
    answer = serializers.DictField(help_text="the unit's answer of somebody who confirms all of it")
    scores = serializers.DictField(
        child=serializers.FloatField(), help_text="by variable, where the judge gave one"
    )
    quotes = CitedSerializer(many=True)


class FirstAnswerSerializer(serializers.Serializer[Any]):
    """Another person's answer, to keep, to modify or to skip in a second round."""

    text = serializers.CharField()
    citations = serializers.ListField(child=serializers.CharField(), help_text="ids of passages")
    selected = serializers.ListField(
        child=serializers.CharField(), help_text="names of the units that were selected for it"
    )


def first_answer_of(assignment: Assignment) -> dict[str, Any] | None:
    """The first answer as `FirstAnswerSerializer` takes it; None but in a second round."""
    found = first_answer(assignment.item, assignment.rater)
    return asdict(found) | {"selected": sorted(found.selected)} if found else None


UID = "2f1c8a4e-6d0b-4c1e-9a55-0c6f8f3b7e21"
QUESTION = UnitSpec("question", "q1:1", "When did it open?")
UNITS = {"q1:1": {"evidence": [{"quote": "opened in 1901", "start": 3}], "answerable": "yes"}}
ANSWER: dict[str, Any] = {"units": UNITS, "comment": None, "revision": 0, "seconds": 41.5}
GIVEN: dict[str, Any] = {
    "units": UNITS,
    "comment": None,
    "revision": 1,
    "current": True,
    "saved_at": "2026-11-20T09:31:00Z",
    "assisted_by": None,
}
SAVED: dict[str, Any] = {**GIVEN, "warnings": []}
LISTED: dict[str, Any] = {
    "uid": UID,
    "campaign": 1,
    "status": "done",
    "query": "How was the bridge built?",
    "revision": 1,
    "submitted_at": "2026-11-20T09:31:00Z",
    "has_draft": False,
    "assisted_by": None,
}
PRESENTED: dict[str, Any] = {
    "uid": UID,
    "campaign": 1,
    "protocol": "report-coverage",
    "title": "Does the report answer this question?",
    "is_open": True,
    "status": "open",
    "assisted_by": None,
    "query": "How was the bridge built?",
    "texts": [
        {
            "field": "report",
            "heading": "",
            "text": "It opened in 1901.",
            "facts": [],
            "suggested": [],
        }
    ],
    "units": [
        {
            "name": "q1:1",
            "text": QUESTION.text,
            "heading": "",
            "variables": [
                {
                    "name": "answerable",
                    "question": "Does the report answer this question?",
                    "codes": [
                        {"code": "yes", "word": "Yes"},
                        {"code": "no", "word": "No"},
                        {"code": "invalid", "word": "Invalid"},
                    ],
                    "asked_if": {},
                }
            ],
            "evidence": {
                "variable": "answerable",
                "field": "report",
                "owed_if": "yes",
                "several": False,
            },
            "written": None,
            "verdict": None,
            "listed": None,
            "matching": None,
        }
    ],
    "first_answer": None,
    "answer_schema": schema_of(PROTOCOLS["report-coverage"]).item_schema({"q1:1": QUESTION}),
    "seconds": None,
    "response": None,
    "draft": None,
}


STATUSES = ("open", "done")


class AssignmentParameters(PageParameters):
    campaign = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False, help_text="only those of this campaign"
    )
    status = serializers.ChoiceField(STATUSES, required=False, help_text="only these")


class AssignmentSerializer(serializers.Serializer[Assignment]):
    uid = serializers.UUIDField()
    campaign = serializers.IntegerField(source="item.campaign_id")
    status = serializers.ChoiceField(STATUSES)
    query = serializers.CharField(source="item.query.text", help_text="the request's text")
    revision = serializers.IntegerField(
        source="standing_revision", help_text="of one's answer; 0 where there is none yet"
    )
    submitted_at = serializers.DateTimeField(allow_null=True)
    has_draft = serializers.BooleanField(help_text="whether unfinished work waits on the page")
    assisted_by = Assistant(allow_null=True, help_text=ASSISTANT)


class FactSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()


class TextSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="what spans call this text")
    heading = serializers.CharField(allow_blank=True)
    text = serializers.CharField(help_text="verbatim; spans count its Unicode code points from 0")
    facts = FactSerializer(many=True)
    suggested = serializers.ListField(
        child=serializers.CharField(), help_text="quotes that came with the batch; may be wrong"
    )


class CodeSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    word = serializers.CharField(help_text="what people read for it")


class AskedSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    question = serializers.CharField()
    codes = CodeSerializer(many=True)
    asked_if = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="variables of this unit, and the codes of each with which this one is asked",
    )


class EvidenceSerializer(serializers.Serializer[Any]):
    variable = serializers.CharField()
    field = serializers.CharField(help_text="the text that is quoted")
    owed_if = serializers.CharField(allow_null=True, help_text="the code that owes a quote")
    several = serializers.BooleanField(
        help_text="whether there are several texts `FIELD:ID`; a quote may then name its `field`"
    )


class WrittenSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    question = serializers.CharField()
    asked_if = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    sources = serializers.ListField(
        child=serializers.CharField(), help_text="the ids that its citations may hold"
    )


class ListedSerializer(serializers.Serializer[Any]):
    """A list of points that is written: `[{text, evidence: [{quote, start}]}]`."""

    name = serializers.CharField(help_text="the key of the list in the unit's answer")
    question = serializers.CharField()
    field = serializers.CharField(help_text="the text that each point quotes")
    asked_if = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))


class MatchingSerializer(serializers.Serializer[Any]):
    """Numbers of points of that list, from 1, which this unit is matched to."""

    name = serializers.CharField(help_text="the key of the numbers in the unit's answer")
    variable = serializers.CharField(help_text="the variable that says whether any matches")
    code = serializers.CharField(help_text="its code with which the numbers are given")


class UnitSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="the key of its answer")
    text = serializers.CharField(
        allow_blank=True, help_text="empty where it waits for one's own list to stand"
    )
    heading = serializers.CharField(allow_blank=True, help_text="given where a new kind begins")
    variables = AskedSerializer(many=True)
    evidence = EvidenceSerializer(allow_null=True)
    written = WrittenSerializer(allow_null=True)
    listed = ListedSerializer(allow_null=True)
    matching = MatchingSerializer(allow_null=True)
    verdict = VerdictSerializer(
        allow_null=True, help_text="null unless the campaign validates a judge"
    )


class GivenSerializer(serializers.Serializer[Any]):
    units = serializers.DictField()
    comment = serializers.CharField(allow_null=True)


class DraftSerializer(GivenSerializer):
    """Unfinished work of the page."""

    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()


class AnswerSerializer(GivenSerializer):
    """One's own answer."""

    revision = serializers.IntegerField(help_text="from 1; also the ETag")
    current = serializers.BooleanField(help_text="false where a newer one has taken its place")
    saved_at = serializers.DateTimeField()
    assisted_by = Assistant(allow_null=True, help_text=ASSISTANT)


class SavedSerializer(AnswerSerializer):
    warnings = ProblemSerializer(many=True)


class PresentedSerializer(serializers.Serializer[Any]):
    """An item as its page shows it, and what stands for it."""

    uid = serializers.UUIDField()
    campaign = serializers.IntegerField()
    protocol = serializers.CharField()
    title = serializers.CharField()
    is_open = serializers.BooleanField(help_text="whether the campaign takes answers")
    status = serializers.ChoiceField(STATUSES)
    assisted_by = Assistant(allow_null=True, help_text=ASSISTANT)
    query = serializers.CharField()
    texts = TextSerializer(many=True)
    units = UnitSerializer(many=True, help_text="what is asked, in the order in which it is shown")
    first_answer = FirstAnswerSerializer(allow_null=True, help_text="null but in a second round")
    answer_schema = serializers.DictField(help_text="the JSON Schema of `units` in an answer")
    seconds = serializers.FloatField(allow_null=True, help_text="time on task so far")
    response = AnswerSerializer(allow_null=True)
    draft = DraftSerializer(allow_null=True)


class GuidelineSerializer(serializers.Serializer[Any]):
    markdown = serializers.CharField()


class NewAnswerSerializer(Strict):
    units = serializers.DictField(
        child=serializers.DictField(), help_text="by unit name, as the `answer_schema` says"
    )
    comment = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, trim_whitespace=False
    )
    revision = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="the revision that one had seen, 0 (the default) for none; or `If-Match`",
    )
    draft = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="the version of the page's draft that one had seen, 0 (the default) for none",
    )
    seconds = Number(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=LONGEST_SECONDS,
        help_text="time on task",
    )


class CurrentSerializer(serializers.Serializer[Any]):
    """What stands: the newer of one's own answer and draft."""

    revision = serializers.IntegerField()
    draft = serializers.IntegerField(help_text="the version of the draft, 0 for none")
    saved_at = serializers.DateTimeField(allow_null=True)
    units = serializers.DictField()
    comment = serializers.CharField(allow_null=True)


class ConflictSerializer(ErrorSerializer):
    current = CurrentSerializer()
