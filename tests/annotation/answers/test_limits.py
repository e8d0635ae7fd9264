"""Each check of an answer accepts its limit, and refuses the first value beyond it."""

from __future__ import annotations

import hashlib
import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import QueryDict
from rest_framework.exceptions import ParseError

from annotation.answers.drafts import check_draft
from annotation.answers.evidence import LocatedQuote, locate
from annotation.answers.payloads import from_api, from_form
from annotation.answers.types import Detail, _same_spans
from annotation.api import answers
from annotation.imports.importer import details_of, merge_payloads
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from annotation.provenance import Bases, Basis, basis_of, guideline_digest
from annotation.views.answers import find_changes, read_key, read_number, read_seconds
from datasets.api import concurrency
from datasets.api.base import StateConflictError
from tandem.protocols.base import ItemSpec, Payload, Text, UnitSpec
from tandem.protocols.consistency import passage_of
from tandem.protocols.points import Quote, read_quote
from tandem.protocols.schema import UnknownVariableError
from tandem.protocols.validation import Entry, Prose, RefusedError, check

COVERAGE = schema_of(PROTOCOLS["report-coverage"])
ANSWERS = schema_of(PROTOCOLS["grounded-answer"])
QUESTION = {"q1": UnitSpec("question", "q1", "When?")}
SPEC = ItemSpec(
    "q", tuple(QUESTION.values()),
    (Text("report", "It opened in 1901. It opened."), Text("passage:p", "Ghent 🌉 is old.")),
)  # fmt: skip


def problems(act: Any) -> list[tuple[str, str, str]]:
    """The messages of a refusal, by unit and key."""
    try:
        act()
    except RefusedError as error:
        return [(p.unit, p.key, p.message) for p in error.problems]
    return []


class TestLimits:
    @pytest.mark.every_case
    @pytest.mark.parametrize(("length", "fits"), [(10_000, True), (10_001, False)])
    def test_a_comment_is_limited_in_length(self, length: int, fits: bool) -> None:
        wrong = [("", "comment", "is longer than 10,000 characters; shorten it")]
        messages = problems(lambda: from_api({"units": {}, "comment": "x" * length}))
        assert messages == ([] if fits else wrong)

    @pytest.mark.every_case
    @pytest.mark.parametrize("door", ["page", "api", "judge", "import"])
    @pytest.mark.parametrize("count", [200, 201])
    def test_the_number_of_quotes_is_limited(self, door: Any, count: int) -> None:
        quotes = [{"quote": "x", "start": None}] * count
        answer = {"q1": {"answerable": "yes", "evidence": quotes}}
        messages = problems(lambda: check(COVERAGE, QUESTION, answer, door))
        too_many = count > 200 and door != "import"
        said = "contains more than 200 quotes; keep the most important"
        assert messages[:1] == ([("q1", "evidence", said)] if too_many else [])

    @pytest.mark.every_case
    @pytest.mark.parametrize("door", ["page", "import"])
    @pytest.mark.parametrize(
        ("length", "citations", "fits"),
        [(50_000, 200, True), (50_001, 0, False), (1, 201, False)],
    )
    def test_a_written_answer_is_limited_in_length(
        self, door: Any, length: int, citations: int, fits: bool
    ) -> None:
        rule = ANSWERS.protocol.written
        assert rule is not None
        unit, name = {"a": UnitSpec(rule.kind, "a", "?")}, rule.name
        codes = {v.name: v.answers[0] for v in ANSWERS.variables_of(rule.kind)}
        codes |= {n: found[0] for n, found in rule.asked_if.items() if n in codes}
        prose = {"text": "x" * length, "citations": ["p"] * citations}
        messages = problems(lambda: check(ANSWERS, unit, {"a": {**codes, name: prose}}, door))
        excess = [
            key for _, key, message in messages if "more than" in message or "longer" in message
        ]
        assert excess == ([] if fits or door == "import" else [name])

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            ({}, "was not asked"),
            ({"evidence": "x"}, "is not a list of {quote, start}"),
            ({"evidence": [{"quote": "x", "start": None}]}, ""),
            ({"evidence": [{"quote": "x", "start": 0}]}, ""),
            ({"evidence": [{"quote": "x", "start": -1}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": 2**31 - 1}]}, ""),
            ({"evidence": [{"quote": "x", "start": 2**31}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": True}]}, "is not a list"),
            ({"evidence": [{"quote": "x"}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": 1, "field": "y" * 300}]}, ""),
            ({"evidence": [{"quote": "x", "start": 1, "field": None}]}, ""),
            ({"evidence": [{"quote": "x", "start": 1, "field": "y" * 301}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": 1, "field": "\0"}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": 1, "field": 1}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": 1, "variable": "y"}]}, "is not a list"),
            ({"evidence": [{"quote": 1, "start": 1}]}, "is not a list"),
            ({"evidence": ["x"]}, "is not a list"),
            ({"evidence": [{"quote": "\0", "start": 1}]}, "is not a list"),
            ({"evidence": [{"quote": "x" * 200_000, "start": 1}]}, ""),
            ({"evidence": [{"quote": "x" * 200_001, "start": 1}]}, "is not a list"),
            ({"evidence": [{"quote": "x", "start": 1}] * 200}, ""),
            ({"evidence": [{"quote": "x", "start": 1}] * 201}, "contains more than 200 quotes"),
            ({"evidence": [{"quote": "x", "start": 1}, 1]}, "is not a list"),
            ({"a": None}, ""),
            ({"a": "x" * 50_000}, ""),
            ({"a": "x" * 50_001}, "is longer than 50,000"),
            ({"a": "x\0"}, "contains a character"),
            ({"a": {"text": "x" * 50_001, "citations": []}}, "is longer than 50,000"),
            ({"a": {"text": "x", "citations": ["\ud800"]}}, "contains a character"),
            ({"a": {"text": "x", "citations": ["x" * 50_001]}}, "is longer than 50,000"),
            ({"a": [1, 2]}, ""),
            ({"a": ["x"]}, "is not a list of"),
        ],
    )
    def test_a_draft_is_limited_in_size(self, answer: dict[str, Any], said: str) -> None:
        messages = problems(lambda: check_draft({"units": {"fine": {"a": None}, "q1": answer}}))
        assert [unit for unit, *_ in messages] == (["q1"] if said else [])
        assert [key for _, key, _ in messages] == ([next(iter(answer), "")] if said else [])
        assert all(said in message for *_, message in messages)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("given", "lenient", "found"),
        [
            ({"quote": "x"}, False, Quote("v", "f", "x")),
            ({"quote": "x", "start": None}, False, Quote("v", "f", "x", None)),
            ({"quote": "x", "start": 0}, False, Quote("v", "f", "x", 0)),
            ({"quote": "x", "start": -1}, False, None),
            ({"quote": "x", "start": False}, False, None),
            ({"quote": "x", "start": 1.0}, False, None),
            ({"quote": " "}, False, None),
            ({"quote": "\0"}, False, None),
            ({"quote": 1}, False, None),
            ({"start": 1}, False, None),
            ([], False, None),
            ({"quote": "x", "field": "g"}, False, None),
            ({"quote": "x", "field": "g"}, True, Quote("v", "g", "x")),
            ({"quote": "x", "variable": "w"}, False, None),
            ({"quote": "x", "variable": "w", "start": 3}, True, Quote("w", "f", "x", 3)),
            ({"quote": "x", "variable": 1}, True, None),
            ({"quote": "x", "field": None}, True, None),
            ({"quote": "x", "more": 1}, True, None),
        ],
    )
    def test_a_quote_is_limited_in_length(
        self, given: object, lenient: bool, found: Quote | None
    ) -> None:
        assert read_quote(given, "v", "f", lenient) == found


class TestWhatAPageSends:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("text", "number"),
        [("0", 0), ("7", 7), ("999999999", 999999999), ("1000000000", "refused"),
         ("-1", "refused"), ("", "refused"), ("1.0", "refused"), ("x", "refused"), (None, None)],
    )  # fmt: skip
    def test_whole_numbers_in_a_form_have_bounds(self, text: str | None, number: object) -> None:
        form = QueryDict(mutable=True)
        if text is not None:
            form["n"] = text
        if number == "refused":
            assert problems(lambda: read_number(form, "n")) == [("", "n", "is not a whole number")]
        else:
            assert read_number(form, "n") == number

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("0", 0.0), ("1.5", 1.5), ("604800", 604800), ("604801", 604800), ("-0.1", None),
         ("nan", None), ("inf", None), ("x", None), ("", None)],
    )  # fmt: skip
    def test_seconds_in_a_form_have_bounds(self, text: str, seconds: float | None) -> None:
        assert read_seconds(QueryDict(f"seconds={text}")) == seconds
        assert read_seconds(QueryDict("")) is None

    def test_a_save_key_must_be_a_uuid(self) -> None:
        uid = "00000000-0000-0000-0000-00000000000a"
        assert read_key(QueryDict(f"key={uid.replace('-', '').upper()}")) == uid
        assert read_key(QueryDict("")) is None
        assert problems(lambda: read_key(QueryDict("key=x"))) == [("", "key", "is not a UUID")]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("body", "key", "said"),
        [
            ("unit-0-evidence=%7B%7D", "", ""),
            ("unit-0-evidence=%5B", "evidence", "is not JSON"),
            ("unit-0-answerable=", "", ""),
            ("unit-0-citations=p", "citations", "is not a field of this unit"),
            ("unit-0-0=x", "0", "is not a field of this unit"),
            ("unit-1-answerable=yes", "unit-1-answerable", "is a field of no unit"),
            ("other=x", "", ""),
        ],
    )
    def test_a_form_field_must_belong_to_its_unit(self, body: str, key: str, said: str) -> None:
        form = QueryDict(f"unit-0=q1&{body}")
        messages = problems(lambda: from_form(COVERAGE, QUESTION, form))
        assert [(k, message) for _, k, message in messages] == ([(key, said)] if said else [])

    def test_fields_of_unasked_units_are_left_to_the_payload_check(self) -> None:
        payload = from_form(COVERAGE, QUESTION, QueryDict("unit-0=x&unit-0-y=1&comment=%20"))
        assert payload == {"units": {"x": {}}, "comment": None}


class TestSameSpans:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("given", "stored", "same"),
        [
            ([], [], True), ([(0, 2)], [], False), ([], [(0, 2)], False),
            ([(0, 2)], [(0, 2)], True), ([(0, 2)], [(0, 3)], False), ([(1, 2)], [(0, 2)], False),
            ([(0, 2)], [(None, None)], True), ([(None, None)], [(0, 2)], False),
            ([(0, 2), (3, 4)], [(0, 2), (3, 5)], False),
        ],
    )  # fmt: skip
    def test_spans_are_compared_by_location_unless_one_had_none(
        self, given: Any, stored: Any, same: bool
    ) -> None:
        def spans(places: Any, quote: str = "x", field: str = "f") -> Any:
            return [LocatedQuote(field, at, end, quote, "exact") for at, end in places]

        assert _same_spans(spans(given), spans(stored)) is same
        if given and same:
            assert not _same_spans(spans(given, "y"), spans(stored))
            assert not _same_spans(spans(given, field="g"), spans(stored))


class TestBasis:
    def digest(self, thing: object) -> str:
        return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()[:12]

    def test_the_basis_covers_texts_of_item_units_and_first_answer(self) -> None:
        texts = sorted(text.text for text in SPEC.texts)
        units = [UnitSpec("question", "q2", "Who?"), *SPEC.units]
        for beside, more in (("", []), ("first", ["first"])):
            found = basis_of(COVERAGE, SPEC, units, beside)
            assert found.texts == self.digest([texts + more, ["When?", "Who?"]])
            assert found.guideline == guideline_digest(COVERAGE.protocol.guideline)
            assert str(found) == f"{found.questions}-{found.texts}-{found.guideline}"

    def test_the_basis_covers_questions_regardless_of_order(self) -> None:
        words = [[v.name, v.question, dict(v.words), dict(v.asked_if)]
                 for v in COVERAGE.variables_of("question")]  # fmt: skip
        digest = self.digest([["question", COVERAGE.unit_schema("question"), words]])
        assert basis_of(COVERAGE, SPEC, SPEC.units).questions == digest
        assert basis_of(COVERAGE, SPEC, [*SPEC.units] * 2).questions == digest
        assert basis_of(COVERAGE, SPEC, []).questions == self.digest([])

    def test_bases_computed_together_equal_those_computed_alone(self) -> None:
        many, other = Bases(COVERAGE), ItemSpec("r", SPEC.units, SPEC.texts[:1])
        for spec, units, beside in (
            (SPEC, SPEC.units, ""), (SPEC, (), ""), (SPEC, SPEC.units, "x"), (other, (), "x"),
            (SPEC, SPEC.units, "x"), (SPEC, SPEC.units, ""),
        ):  # fmt: skip
            assert many.of(spec, units, beside) == basis_of(COVERAGE, spec, units, beside)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("seen", "changed"),
        [
            (f"{'a' * 12}-{'b' * 12}-{'c' * 12}", []),
            (f"{'0' * 12}-{'b' * 12}-{'c' * 12}", ["questions"]),
            (f"{'a' * 12}-{'0' * 12}-{'c' * 12}", ["texts"]),
            (f"{'a' * 12}-{'b' * 12}-{'0' * 12}", ["guideline"]),
            (f"{'0' * 12}-{'0' * 12}-{'0' * 12}", ["questions", "texts", "guideline"]),
            ("x", ["questions", "texts", "guideline"]),
            (f"{'a' * 12}-{'b' * 12}", ["questions", "texts", "guideline"]),
        ],
    )
    def test_a_differing_basis_names_what_differs(self, seen: str, changed: list[str]) -> None:
        basis = Basis("a" * 12, "b" * 12, "c" * 12)
        assert basis.differs(seen) == changed
        assert find_changes(basis, seen) == [each for each in changed if each != "guideline"]
        assert find_changes(basis, None) == []


class TestQuoteLocations:
    def found(self, door: Any, quote: Quote, **more: Any) -> Any:
        entry = Entry("q1", SPEC.units[0], {}, (quote,), **more)
        return locate([entry], SPEC, door)

    @pytest.mark.every_case
    @pytest.mark.parametrize("door", ["page", "api"])
    @pytest.mark.parametrize(
        ("quote", "start", "place"),
        [("It", None, (0, 2)), ("It", 0, (0, 2)), ("It", 19, (19, 21)), ("It", 1, None),
         ("opened.", None, (22, 29)), ("Nobody", None, None), ("opened.", 23, None)],
    )  # fmt: skip
    def test_quotes_of_people_must_be_exact(
        self, door: Any, quote: str, start: int | None, place: Any
    ) -> None:
        asked = Quote("answerable", "report", quote, start)
        if place is None:
            said = f"'{quote}' was not found in the report"
            assert problems(lambda: self.found(door, asked)) == [("q1", "evidence", said)]
        else:
            spans, doubts = self.found(door, asked)
            assert spans == {
                ("q1", "answerable"): [LocatedQuote("report", place[0], place[1], quote, "exact")]
            }
            assert doubts == []

    def test_unfound_quotes_of_models_and_files_are_kept_with_a_warning(self) -> None:
        for door in ("judge", "import"):
            spans, doubts = self.found(door, Quote("answerable", "report", "Zebras 123", 3))
            ((lost,),) = spans.values()
            assert (lost.start, lost.end, lost.quote, lost.method) == (
                None, None, "Zebras 123", "none",
            )  # fmt: skip
            assert [str(each) for each in doubts] == [
                "unit 'q1' evidence: 'Zebras 123' was not found in the report"
            ]
            spans, doubts = self.found(door, Quote("answerable", "report", "it OPENED", None))
            assert [(s.start, s.end) for s in spans["q1", "answerable"]] == [(0, 9)]
            assert doubts == []

    def test_a_quote_is_located_in_the_text_that_matches_best(self) -> None:
        texts = (Text("passage:a", "Oh, it OPENED."), Text("passage:b", "It opened. It opened."))

        def found(words: str, *shown: Text) -> LocatedQuote:
            entry = Entry("q1", SPEC.units[0], {}, (Quote("v", "passage", words),))
            spans, _ = locate([entry], ItemSpec("q", SPEC.units, shown), "judge")
            (one,) = spans["q1", "v"]
            return one

        exact = LocatedQuote("passage:b", 0, 9, "It opened", "exact")
        assert found("It opened", *texts) == found("It opened", *texts[::-1]) == exact
        folded = LocatedQuote("passage:a", 4, 13, "it OPENED", "folded")
        twin = Text("passage:c", texts[0].text)
        assert found("IT opened", texts[0], twin) == folded
        assert found("Zebras 123", *texts) == LocatedQuote(
            "passage", None, None, "Zebras 123", "none"
        )
        lost = LocatedQuote("passage:a", None, None, "Zebras 123", "none")
        assert found("Zebras 123", texts[0]) == lost

    def test_a_quote_of_an_unknown_text_is_reported(self) -> None:
        asked = Quote("answerable", "nowhere", "It", 0)
        spans, doubts = self.found("import", asked)
        assert spans["q1", "answerable"] == [LocatedQuote("nowhere", None, None, "It", "none")]
        assert [each.message for each in doubts] == ["'nowhere' is not a text of this item"]
        assert problems(lambda: self.found("page", asked))
        assert self.found("import", Quote("v", "", "It", 0))[0]["q1", "v"][0].field == "report"

    @pytest.mark.every_case
    @pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 57 + "…")])
    def test_a_long_quote_is_cut_in_the_message(self, length: int, shown: str) -> None:
        _, doubts = self.found("judge", Quote("v", "report", "x" * length))
        assert doubts[0].message.startswith(f"'{shown}' was")

    def test_a_citation_must_be_a_passage_of_the_item(self) -> None:
        written = Prose("x", ("p", "other"))
        _, doubts = self.found("judge", Quote("v", "report", "It", 0), written=written)
        assert [(each.key, each.message) for each in doubts] == [
            ("citations", "'other' is not a passage of this item")
        ]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("kind", "key", "passage"),
        [("passage", "q/p#1", "p#1"), ("passage-sentence", "q/p#1#3", "p#1"),
         ("passage", "p", "p"), ("passage-sentence", "q/q/p#0", "q/p")],
    )  # fmt: skip
    def test_a_sentence_unit_belongs_to_its_passage(
        self, kind: str, key: str, passage: str
    ) -> None:
        assert passage_of("q", kind, key) == passage


class TestMerging:
    OLD: Payload = {
        "units": {"a": {"v": "yes", "w": "no", "evidence": [{"quote": "x"}]}, "b": {"v": "no"}},
        "comment": "old",
        "details": {"a": {"v": {"score": 1.0}, "w": {"score": 2.0}}},
    }

    def test_an_import_without_an_earlier_answer_is_taken_unchanged(self) -> None:
        new: Payload = {"units": {}, "comment": None}
        assert merge_payloads(None, new, "v") is new

    def test_merging_keeps_quotes_and_details_only_of_equal_values(self) -> None:
        same = merge_payloads(self.OLD, {"units": {"a": {"v": "yes"}}, "comment": None}, "v")
        assert same == self.OLD
        other = merge_payloads(self.OLD, {"units": {"a": {"v": "no"}}, "comment": "new"}, "v")
        assert other["units"]["a"] == {"v": "no", "w": "no", "evidence": []}
        assert other["details"] == {"a": {"w": {"score": 2.0}}}
        assert other["comment"] == "new"
        assert other["units"]["b"] == {"v": "no"}

    def test_imported_quotes_replace_those_of_the_same_variable(self) -> None:
        quote = {"variable": "v", "quote": "y"}
        new = {"units": {"a": {"v": "yes", "evidence": [quote]}}, "comment": None}
        assert merge_payloads(self.OLD, new, "v")["units"]["a"]["evidence"] == [quote]
        assert merge_payloads(self.OLD, new, "w")["units"]["a"]["evidence"] == [
            {"quote": "x"},
            quote,
        ]
        assert merge_payloads(self.OLD, new, None)["units"]["a"]["evidence"] == [
            {"quote": "x"},
            quote,
        ]

    def test_imported_details_override_the_old_ones(self) -> None:
        details: dict[str, Any] = {"a": {"v": {"score": 9.0, "meta": {"n": 1}}}, "b": {"v": {}}}
        new = {"units": {"a": {"v": "yes"}, "b": {"w": "1"}}, "comment": None, "details": details}
        found = merge_payloads(self.OLD, new, "v")
        assert found["details"]["a"] == {"v": details["a"]["v"], "w": {"score": 2.0}}
        assert found["units"]["b"] == {"v": "no", "w": "1"}
        assert details_of(found)["a", "v"] == Detail(9.0, {"n": 1})
        assert details_of(found)["b", "v"] == Detail(None, None)
        assert details_of({"units": {}}) == {}
        plain: Payload = {"units": {"a": {}}, "comment": None}
        assert "details" not in merge_payloads(plain, {"units": {"a": {}}, "comment": None}, None)


class TestSchema:
    def test_a_variable_is_found_by_name_and_kind(self) -> None:
        assert COVERAGE.variable("answerable", "question") is COVERAGE.variable("answerable")
        assert COVERAGE.variable("answerable", "passage") is None
        assert COVERAGE.variable("nothing") is None

    def test_optional_variables_are_asked_only_if_named(self) -> None:
        protocol = PROTOCOLS["report-coverage"]
        assert [v.name for v in COVERAGE.variables] == [
            v.name for v in protocol.variables if not v.optional
        ]
        assert [v.name for v in schema_of(protocol, ["rating"]).variables] == ["rating"]
        with pytest.raises(UnknownVariableError, match="has no variable 'nothing'"):
            schema_of(protocol, ["rating", "nothing"])

    @pytest.mark.every_case
    @pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
    def test_a_campaign_may_replace_the_categories(self, protocol: str) -> None:
        everything = [v.name for v in PROTOCOLS[protocol].variables]
        plain = schema_of(PROTOCOLS[protocol], everything)
        own = schema_of(PROTOCOLS[protocol], everything, ["x", "y"])
        for before, after in zip(plain.variables, own.variables, strict=True):
            if before.name == "category":
                assert (after.codes, after.words, after.meanings) == (("x", "y"), {}, {})
            else:
                assert after is before


KEPT = "4d8ff6f64cd6fcbecb68688f26b48cf42ee78141399d7ecef5a7b3eaf12d3f45"


def asking(*, data: Any = None, **headers: str) -> Any:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(
        headers=names, data=data, method="POST", get_full_path=lambda: "/x?y=1", user=None
    )


class TestHeaders:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("key", "fits"),
        [("x", True), ("!~", True), ("x" * 64, True), ("x" * 65, False), ("", False),
         ("a b", False), ("é", False)],
    )  # fmt: skip
    def test_a_key_is_short_and_printable(self, key: str, fits: bool) -> None:
        request = asking(Idempotency_Key=key)
        if fits:
            assert concurrency.key_of(request) == key
        else:
            with pytest.raises(ParseError, match="is not 1 to 64 printable ASCII characters"):
                concurrency.key_of(request)
        assert concurrency.key_of(asking()) is None

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("sent", "body", "seen"),
        [(None, {}, 0), (None, {"revision": 3}, 3), ('"2"', {}, 2), ('W/"2"', {}, 2),
         (' "2" ', {"revision": 2}, 2), ('"2"', {"revision": 3}, None), ("2", {}, None),
         ('"x"', {}, None), ('"1234567890"', {}, None), ('"0"', {}, 0),
         ('"2"', {"revision": 0}, None)],
    )  # fmt: skip
    def test_the_seen_revision_is_read_from_the_header(
        self, sent: str | None, body: dict[str, Any], seen: int | None
    ) -> None:
        request = asking(**({} if sent is None else {"If_Match": sent}))
        if seen is None:
            with pytest.raises(ParseError):
                answers._read_revision(request, body)
        else:
            assert answers._read_revision(request, body) == seen

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("sent", "how"),
        [(None, "fresh"), ("*", "fresh"), (" * ", "fresh"), ('"a"', "fresh"), ('W/"a"', "fresh"),
         ('"b", "a"', "fresh"), ('"b"', "stale"), ('"b","c"', "stale"), ("a", "none"),
         ('"a", b', "none"), ('""', "none"), (f'"{"x" * 80}"', "stale"), (f'"{"x" * 81}"', "none")],
    )  # fmt: skip
    def test_the_seen_etag_is_compared(self, sent: str | None, how: str) -> None:
        request = asking(**({} if sent is None else {"If_Match": sent}))
        kinds: dict[str, Any] = {"stale": StateConflictError, "none": ParseError}
        if how == "fresh":
            concurrency.check_etag(request, '"a"', dict)
        else:
            with pytest.raises(kinds[how]):
                concurrency.check_etag(request, '"a"', dict)

    def test_an_etag_is_equal_for_equal_versions(self) -> None:
        tag = concurrency.etag_of({"b": 1, "a": None})
        assert tag == concurrency.etag_of({"a": None, "b": 1})
        assert tag != concurrency.etag_of({"a": None, "b": 2})
        assert (len(tag), tag[0], tag[-1]) == (22, '"', '"')

    def test_a_request_digest_covers_the_address_and_the_whole_body(self) -> None:
        def digest(**changes: Any) -> str:
            request = asking(data={"a": 1, "b": 2})
            vars(request).update(changes)
            return concurrency.digest_of(request)

        same = digest()
        assert same == KEPT, "another one would refuse the repeats of what came before an update"
        assert digest(data={"b": 2, "a": 1}) == same
        others = {
            digest(data={"a": 1}), digest(method="PUT"), digest(get_full_path=lambda: "/x?y=2"),
            digest(data=QueryDict("a=1&b=2")), digest(data=QueryDict("a=1&a=2")),
            digest(data=QueryDict("a=12")), digest(data=QueryDict("a1=2")),
        }  # fmt: skip
        assert len(others) == 7
        assert same not in others
        assert digest(data=QueryDict("b=2&a=1")) == digest(data=QueryDict("a=1&b=2"))
