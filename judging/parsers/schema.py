"""`schema`: the JSON object that the protocol's schema asks for, with a key for each unit."""

from __future__ import annotations

from judging.backends.base import Answer
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError
from judging.parsers.codes import PLAIN
from judging.parsers.json_path import check_after
from judging.parsers.ladder import find_json


class SchemaParser:
    """Reads every key that the schema has."""

    whole = several = True
    reads = ()

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        variables = [variable for unit in expected.units for variable in unit.variables]
        if expected.by_unit:
            keys = [variable.name for variable in variables]
        else:
            keys = [unit.name for unit in expected.units]
        found = find_json(answer.text, expected.fits, keys)
        if not isinstance(found.value, dict):
            raise UnreadError("the completion is not a JSON object")
        entries = [found.value] if expected.by_unit else found.value.values()
        codes = {code for variable in variables for code in variable.codes}
        words = [
            str(value)
            for entry in entries
            if isinstance(entry, dict)
            for given in entry.values()
            for value in (given if isinstance(given, list) else [given])
            if isinstance(value, str | int) and str(value) in codes
        ]
        check_after(PLAIN, variables, answer.text, found.part.end, words)
        units = {expected.units[0].name: found.value} if expected.by_unit else found.value
        return Reading(units, found.part.steps, found.part.text, found.part.start)


SCHEMA = SchemaParser()
