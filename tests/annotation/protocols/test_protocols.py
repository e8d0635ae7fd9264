"""The protocols match the table of formats.md line by line."""

from __future__ import annotations

from itertools import pairwise

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.declared import FileProtocol
from annotation.protocols.schema import schema_of
from tandem.protocols.answer_rating import QUALITIES
from tandem.protocols.base import Variable
from tandem.protocols.schema import UnknownVariableError

GATE = {"valid": ("yes",), "false_premise": ("no",), "information_seeking": ("yes",)}
LET_THROUGH = ("sensitivity", "complexity", "popularity", "category")

TABLE = """
report-coverage        | question         | answerable          | yes no + invalid | nominal
report-coverage        | question         | rating              | 0 1 2 3 4 5 | ordinal
rubric-passage         | question         | rating              | 0 1 2 3 4 5 | ordinal
key-point-verification | key-point        | grounded            | yes no | nominal
key-point-verification | key-point        | key                 | agree neutral disagree | ordinal
key-point-recall       | key-point        | entailed            | yes no neutral | nominal
key-point-recall       | key-point        | failure             | incomplete general missing | nominal
grounding-relevance    | passage          | relevant            | yes no | nominal
grounding-relevance    | passage          | use                 | answer-the-question related-information outdated unknown | nominal
question-typing        | query            | valid               | yes no | nominal
question-typing        | query            | false_premise       | yes no | nominal
question-typing        | query            | information_seeking | yes no | nominal
question-typing        | query            | sensitivity         | static slow-changing fast-changing | ordinal
question-typing        | query            | complexity          | simple simple-with-condition set comparison aggregation multi-hop post-processing | nominal
question-typing        | query            | popularity          | head torso tail | ordinal
grounded-answer        | query            | descriptor          | complete partial too-difficult ill-formed bad-passage no-answer | nominal
grounded-answer        | query            | deflected           | yes no | nominal
grounded-answer        | query            | action              | keep modify skip | nominal
grounded-answer        | passage-sentence | selected            | yes no | nominal
grounded-answer        | passage          | selected            | yes no | nominal
grounded-answer        | sentence         | grounded            | yes no | nominal
answer-rating          | query            | certainty           | 1 2 3 4 | ordinal
answer-rating          | report           | appropriate         | 1 2 3 4 | ordinal
answer-rating          | report           | faithful            | 1 2 3 4 | ordinal
answer-rating          | report           | natural             | 1 2 3 4 | ordinal
answer-rating          | report           | abstains            | yes no | nominal
answer-rating          | report           | irrelevant          | yes no | nominal
answer-rating          | report           | eligibility         | none minor major | ordinal
answer-rating          | report           | correct             | 1 2 3 4 | ordinal
answer-rating          | report           | useful              | 1 2 3 4 | ordinal
answer-rating          | report           | objective           | 1 2 3 4 | ordinal
answer-rating          | report           | helpful             | 1 2 3 4 | ordinal
answer-rating          | sentence         | support             | supported unsupported contradictory no-rad | nominal
answer-rating          | passage          | needed_question     | yes no | nominal
answer-rating          | report-passage   | needed_answer       | yes no | nominal
answer-preference      | pair             | preferred           | first second tie-good tie-bad | nominal
key-point-writing      | passage          | holds_points        | yes no | nominal
key-point-writing      | key-point        | matched             | yes no | nominal
nugget-importance      | nugget           | importance          | okay vital + not-a-nugget | ordinal
nugget-assignment      | report-nugget    | assignment          | none partial support | ordinal
citation-support       | sentence-citation | support            | none partial full + cannot-tell | ordinal
""".strip().splitlines()  # noqa: E501

CONDITIONS = {
    ("key-point-verification", "key"): {"grounded": ("yes",)},
    ("key-point-recall", "failure"): {"entailed": ("no", "neutral")},
    ("grounding-relevance", "use"): {"relevant": ("yes",)},
    **{("question-typing", name): GATE for name in LET_THROUGH},
}
OPTIONAL = {
    ("report-coverage", "rating"),
    ("grounded-answer", "action"),
    ("grounded-answer", "grounded"),
    *(("answer-rating", name) for name in ("certainty", *QUALITIES)),
}
EVIDENCE = {
    "report-coverage": ("answerable", "report", "yes"),
    "rubric-passage": ("rating", "passage", None),
    "key-point-verification": ("grounded", "passage", None),
    "key-point-recall": ("entailed", "report", "yes"),
    "nugget-assignment": ("assignment", "report", "partial"),
    "citation-support": ("support", "report", "partial"),
}
ALL = [pytest.param(protocol, id=name) for name, protocol in PROTOCOLS.items()]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def declared(protocol: str, kind: str, name: str) -> Variable:
    found = [v for v in PROTOCOLS[protocol].variables if (v.kind, v.name) == (kind, name)]
    assert len(found) == 1
    return found[0]


def test_the_variables_match_the_documented_table_in_order():
    table = [tuple(cells(line)[:3]) for line in TABLE]
    all_of = [(p.name, v.kind, v.name) for p in PROTOCOLS.values() for v in p.variables]
    assert [row for row in all_of if row[2] != "category"] == table


@pytest.mark.every_case
@pytest.mark.parametrize("line", TABLE, ids=lambda line: " ".join(cells(line)[:3]))
def test_each_variable_has_the_documented_codes_level_and_escapes(line):
    protocol, kind, name, codes, level = cells(line)
    real, _, escapes = codes.partition(" + ")
    variable = declared(protocol, kind, name)
    assert variable.codes == tuple(real.split())
    assert variable.escapes == tuple(escapes.split())
    assert variable.level == level
    assert dict(variable.asked_if) == CONDITIONS.get((protocol, name), {})
    assert variable.optional == ((protocol, name) in OPTIONAL)


def test_the_category_has_25_codes_unless_a_campaign_brings_its_own():
    variable = declared("question-typing", "query", "category")
    assert len(set(variable.codes)) == len(variable.codes) == 25
    assert dict(variable.asked_if) == GATE
    swapped = schema_of(PROTOCOLS["question-typing"], categories=("tea", "coffee"))
    category = swapped.variable("category")
    assert category is not None
    assert category.codes == ("tea", "coffee")
    assert dict(category.words) == {}
    assert swapped.variable("popularity") == declared("question-typing", "query", "popularity")


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", ALL)
def test_evidence_is_required_as_the_table_says(protocol):
    rule = protocol.evidence
    found = (rule.variable, rule.field, next(iter(rule.owed_if), None)) if rule else None
    assert found == EVIDENCE.get(protocol.name)


def test_a_citations_support_has_quotes_of_the_sentence_and_of_the_passage():
    rule = PROTOCOLS["citation-support"].evidence
    assert rule is not None
    assert rule.within
    assert rule.beside is not None
    assert (rule.beside.field, rule.beside.several) == ("passage", True)
    assert (rule.owed_if, rule.beside.owed_if) == (("partial",), ("partial", "full"))


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", ALL)
def test_conditions_refer_to_earlier_variables_of_the_same_unit(protocol):
    rules = [(v.kind, v.asked_if, i) for i, v in enumerate(protocol.variables)]
    if protocol.written:
        rules.append((protocol.written.kind, protocol.written.asked_if, len(protocol.variables)))
    for kind, asked_if, position in rules:
        earlier = {v.name: v.codes for v in protocol.variables[:position] if v.kind == kind}
        for name, codes in asked_if.items():
            assert set(codes) < set(earlier[name])


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", ALL)
def test_words_are_given_for_known_codes_only(protocol):
    for variable in protocol.variables:
        assert set(variable.words) <= set(variable.answers)
        assert len(set(variable.words.values())) == len(variable.words)


def test_a_written_answer_is_asked_only_if_the_passages_suffice():
    rule = PROTOCOLS["grounded-answer"].written
    assert rule is not None
    assert (rule.name, rule.kind) == ("written", "query")
    assert dict(rule.asked_if) == {
        "descriptor": ("complete", "partial"),
        "deflected": ("no",),
        "action": ("keep", "modify"),
    }
    assert [p.name for p in PROTOCOLS.values() if p.written] == ["grounded-answer"]


def test_a_list_is_asked_if_a_passage_has_points_and_extracted_ones_are_matched_to_it():
    rule = PROTOCOLS["key-point-writing"].listed
    assert rule is not None
    assert (rule.name, rule.kind, rule.field) == ("points", "passage", "passage")
    assert dict(rule.asked_if) == {"holds_points": ("yes",)}
    assert (rule.match_kind, rule.match, rule.match_code) == ("key-point", "matched", "yes")
    assert [p.name for p in PROTOCOLS.values() if p.listed] == ["key-point-writing"]


def test_only_rubric_passage_samples_units_and_only_three_protocols_shuffle():
    assert [p.name for p in PROTOCOLS.values() if p.sampled] == ["rubric-passage"]
    shuffled = [p.name for p in PROTOCOLS.values() if p.shuffled]
    assert set(shuffled) == {"answer-rating", "answer-preference", "grounding-relevance"}


def test_an_unknown_variable_is_refused_by_name():
    with pytest.raises(UnknownVariableError, match="answer-rating has no variable 'beauty'"):
        schema_of(PROTOCOLS["answer-rating"], ["faithful", "beauty"])


def test_a_campaign_keeps_the_declaration_of_its_version():
    now = PROTOCOLS["answer-rating"]
    first = now.as_of("1")
    assert (now.version, first.version) == ("2", "1")
    assert (now.prompt_version, first.prompt_version) == ("2", "1")
    assert now.as_of("2") is now
    changed = [(v.name, v.kind) for v in first.variables if v not in now.variables]
    assert changed == [("needed_answer", "passage")]
    assert "if an answer draws on it" in first.guideline
    assert "if this answer draws on it" in now.guideline
    for name, protocol in PROTOCOLS.items():
        if name != "answer-rating":
            assert protocol.as_of("1") is protocol


def test_every_protocol_is_declared_completely():
    for name, protocol in PROTOCOLS.items():
        assert name == protocol.name
        if not isinstance(protocol, FileProtocol):
            assert protocol.folder.name == name.replace("-", "_")
        assert protocol.title
        assert protocol.summary
        assert protocol.variables
        pairs = [(v.kind, v.name) for v in protocol.variables]
        assert len(set(pairs)) == len(pairs)
        assert all(len(set(v.answers)) == len(v.answers) for v in protocol.variables)
        assert all(a != b for a, b in pairwise(pairs))
