"""`schema`: the JSON object that the protocol's schema asks for, with a key for each unit."""

from __future__ import annotations

from judging.backends.base import Answer
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.ladder import find_json


class SchemaParser:
    """Reads every key that the schema has."""

    whole = several = True
    reads = ()

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        found = find_json(answer.text, expected.fits)
        if not isinstance(found.value, dict):
            raise UnreadError("the completion is not a JSON object")
        units = {expected.units[0].name: found.value} if expected.by_unit else found.value
        return Reading(units, found.part.steps, found.part.text, found.part.start)


SCHEMA = SchemaParser()
