"""Serializers of a person's assignments and answers, with examples."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from annotation.answers.types import LONGEST_SECONDS
from annotation.models import Assignment
from annotation.prerequisites.grounded_answer import first_answer
from datasets.api.base import Number, PageParameters, Positive, ProblemSerializer, Strict
from tandem.protocols.base import Evidence

ASSISTANT = "the judge whose labels you see and confirm or correct; null in most campaigns"


class Assistant(serializers.CharField):
    """The name of a judge, or null. No judge is stored as an empty name."""

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


class CitedSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="the text of the quote")
    quote = serializers.CharField()
    start = serializers.IntegerField(
        allow_null=True, help_text="in code points; null if the quote is not in the text"
    )


class VerdictSerializer(serializers.Serializer[Any]):
    """The judge's labels to confirm or correct."""

    judge = serializers.CharField()
    answer = serializers.DictField(help_text="the unit's answer if you confirm everything")
    scores = serializers.DictField(
        child=serializers.FloatField(), help_text="by variable, for those with a score"
    )
    quotes = CitedSerializer(many=True)


class FirstAnswerSerializer(serializers.Serializer[Any]):
    """Another person's answer, to keep, to change or to skip in a second round."""

    text = serializers.CharField()
    citations = serializers.ListField(child=serializers.CharField(), help_text="ids of passages")
    selected = serializers.ListField(
        child=serializers.CharField(), help_text="names of the units selected for it"
    )


def first_answer_of(assignment: Assignment) -> dict[str, Any] | None:
    """Return the first answer for `FirstAnswerSerializer`; None except in a second round."""
    found = first_answer(assignment.item, assignment.rater)
    return asdict(found) | {"selected": sorted(found.selected)} if found else None


STATUSES = ("open", "done")


class AssignmentParameters(PageParameters):
    campaign = Positive(required=False, help_text="only assignments in this campaign")
    status = serializers.ChoiceField(STATUSES, required=False, help_text="only these")


class AssignmentSerializer(serializers.Serializer[Assignment]):
    uid = serializers.UUIDField()
    campaign = serializers.IntegerField(source="item.campaign_id")
    status = serializers.ChoiceField(STATUSES)
    query = serializers.CharField(source="item.query.text", help_text="the query's text")
    revision = serializers.IntegerField(
        source="standing_revision", help_text="the revision of your answer; 0 without one"
    )
    submitted_at = serializers.DateTimeField(allow_null=True)
    has_draft = serializers.BooleanField(help_text="whether the page has an unfinished draft")
    assisted_by = Assistant(allow_null=True, help_text=ASSISTANT)


class FactSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()


class TextSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="the text's name in spans")
    heading = serializers.CharField(allow_blank=True)
    text = serializers.CharField(help_text="verbatim; spans count its Unicode code points from 0")
    facts = FactSerializer(many=True)
    suggested = serializers.ListField(
        child=serializers.CharField(), help_text="quotes from the batch, which may be wrong"
    )


class CodeSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    word = serializers.CharField(help_text="the label on the page")


class ScaleSerializer(serializers.Serializer[Any]):
    first = serializers.CharField()
    last = serializers.CharField()
    step = serializers.CharField()


class AskedSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    question = serializers.CharField()
    codes = CodeSerializer(many=True, help_text="on a scale, the escapes alone")
    several = serializers.BooleanField(help_text="whether a list of any of the codes is the answer")
    scale = ScaleSerializer(allow_null=True, help_text="the numbers that are the codes, if any")
    asked_if = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="variables of this unit, with the codes for which this one is asked",
    )


class QuotedSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    codes = serializers.ListField(
        child=serializers.CharField(), source="owed_if", help_text="codes that need a quote of it"
    )
    within = serializers.BooleanField(
        help_text="whether only the unit's own words in it may be quoted"
    )


class EvidenceSerializer(serializers.Serializer[Any]):
    variable = serializers.CharField()
    field = serializers.CharField(help_text="the text to quote from")
    owed_if = serializers.SerializerMethodField(help_text="the first code that needs a quote")
    codes = serializers.ListField(
        child=serializers.CharField(), help_text="all codes that need a quote"
    )
    several = serializers.BooleanField(
        source="names_texts",
        help_text="whether several texts may be quoted; a quote may then name its `field`",
    )
    quotes = QuotedSerializer(
        many=True, source="rules", help_text="for each kind of text that may be quoted"
    )

    @staticmethod
    def get_owed_if(rule: Evidence) -> str | None:
        return next(iter(rule.codes), None)


class WrittenSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    question = serializers.CharField()
    asked_if = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    sources = serializers.ListField(
        child=serializers.CharField(), help_text="the ids that it may cite"
    )


class ListedSerializer(serializers.Serializer[Any]):
    """A list of points to write: `[{text, evidence: [{quote, start}]}]`."""

    name = serializers.CharField(help_text="the key of the list in the unit's answer")
    question = serializers.CharField()
    field = serializers.CharField(help_text="the text that points quote")
    asked_if = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))


class MatchingSerializer(serializers.Serializer[Any]):
    """The numbers of the points in that list, from 1, to which this unit is matched."""

    name = serializers.CharField(help_text="the key of the numbers in the unit's answer")
    variable = serializers.CharField(help_text="the variable that says whether any point matches")
    code = serializers.CharField(help_text="the code for which the numbers are needed")


class UnitSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="the key of its answer")
    text = serializers.CharField(
        allow_blank=True, help_text="empty until your own list is complete"
    )
    heading = serializers.CharField(
        allow_blank=True, help_text="set at the first unit of each kind"
    )
    texts = serializers.ListField(
        child=serializers.CharField(), help_text="fields of the texts that it joins, if it does"
    )
    facts = FactSerializer(many=True, help_text="attributes that the protocol shows with it")
    variables = AskedSerializer(many=True)
    evidence = EvidenceSerializer(allow_null=True)
    written = WrittenSerializer(allow_null=True)
    listed = ListedSerializer(allow_null=True)
    matching = MatchingSerializer(allow_null=True)
    verdict = VerdictSerializer(
        allow_null=True, help_text="null unless the campaign validates a judge's labels"
    )


class GivenSerializer(serializers.Serializer[Any]):
    units = serializers.DictField()
    comment = serializers.CharField(allow_null=True)


class DraftSerializer(GivenSerializer):
    """An unfinished answer on the page."""

    version = serializers.IntegerField()
    saved_at = serializers.DateTimeField()


class AnswerSerializer(GivenSerializer):
    """Your own answer."""

    revision = serializers.IntegerField(help_text="from 1; also the ETag")
    current = serializers.BooleanField(help_text="false if there is a newer answer")
    saved_at = serializers.DateTimeField()
    assisted_by = Assistant(allow_null=True, help_text=ASSISTANT)


class SavedSerializer(AnswerSerializer):
    warnings = ProblemSerializer(many=True)


class PresentedSerializer(serializers.Serializer[Any]):
    """An item as on its page, with your answer and draft."""

    uid = serializers.UUIDField()
    campaign = serializers.IntegerField()
    protocol = serializers.CharField()
    title = serializers.CharField()
    is_open = serializers.BooleanField(help_text="whether the campaign takes answers")
    status = serializers.ChoiceField(STATUSES)
    assisted_by = Assistant(allow_null=True, help_text=ASSISTANT)
    query = serializers.CharField()
    texts = TextSerializer(many=True)
    units = UnitSerializer(many=True, help_text="the units in the order of the page")
    first_answer = FirstAnswerSerializer(allow_null=True, help_text="null except in a second round")
    answer_schema = serializers.DictField(help_text="the JSON Schema of an answer's `units`")
    seconds = serializers.FloatField(allow_null=True, help_text="time on task so far")
    response = AnswerSerializer(allow_null=True)
    draft = DraftSerializer(allow_null=True)


class GuidelineSerializer(serializers.Serializer[Any]):
    markdown = serializers.CharField(help_text="as people see it")
    whole = serializers.CharField(
        help_text="including the parts about variables that are not asked"
    )


class NewAnswerSerializer(Strict):
    units = serializers.DictField(
        child=serializers.DictField(), help_text="by unit name, as in the `answer_schema`"
    )
    comment = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, trim_whitespace=False
    )
    revision = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="the revision that you read, 0 (the default) for none; or use `If-Match`",
    )
    draft = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="the version of the page's draft that you read, 0 (the default) for none",
    )
    seconds = Number(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=LONGEST_SECONDS,
        help_text="time on task",
    )


class CurrentSerializer(serializers.Serializer[Any]):
    """Your current work: the newer of your answer and your draft."""

    revision = serializers.IntegerField()
    draft = serializers.IntegerField(help_text="the version of the draft, 0 for none")
    saved_at = serializers.DateTimeField(allow_null=True)
    units = serializers.DictField()
    comment = serializers.CharField(allow_null=True)
