"""What an item of a second round shows beside what every item shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from annotation.follows.grounded_answer import first_answer
from annotation.models import Assignment


class FirstAnswerShape(serializers.Serializer[Any]):
    """Another person's answer, to keep, to modify or to skip in a second round."""

    text = serializers.CharField()
    citations = serializers.ListField(child=serializers.CharField(), help_text="ids of passages")
    selected = serializers.ListField(
        child=serializers.CharField(), help_text="names of the units that were selected for it"
    )


def first_answer_of(assignment: Assignment) -> dict[str, Any] | None:
    """The first answer as `FirstAnswerShape` takes it; None but in a second round."""
    found = first_answer(assignment.item, assignment.rater)
    return asdict(found) | {"selected": sorted(found.selected)} if found else None
