"""The parsers of judge files read answers as the files' authors intended."""

from __future__ import annotations

import pytest

from judging.backends.base import Answer, AskedUnit, AskedVariable
from judging.parsers.base import ExpectedAnswer, Parser, Reading, UnreadError
from judging.parsers.codes import Verdicts
from judging.parsers.first_token import FirstTokenParser
from judging.parsers.json_path import JsonParser, as_text, read_path, values_at
from judging.parsers.letter import LetterParser
from judging.parsers.lines import LinesParser
from judging.parsers.regex import RegexParser, compile_pattern
from judging.parsers.tags import TagsParser
from tests.judging.answers.test_logprobs import logprobs_of

RELEVANT = AskedVariable("relevant", ("yes", "no"), "nominal")
USE = AskedVariable("use", ("answers", "related"), "nominal", {"relevant": ("yes",)})
PREFERRED = AskedVariable("preferred", ("first", "second", "tie-good", "tie-bad"), "nominal")
UNITS = tuple(AskedUnit(f"passage {n}", "passage", "", (RELEVANT, USE)) for n in (1, 2, 3))
PAIR = AskedUnit("pair 1", "pair", "", (PREFERRED,))
GRADES = {"relevant": {"0": "no", "1": "no", "2": "yes", "3": "yes"}}
SCORE = r"(?i)final score:\s*([0-3])"


def read(parser: Parser, text: str, units: int = 1) -> Reading:
    return parser.read(Answer(text), ExpectedAnswer(UNITS[:units], by_unit=units == 1))


def label(parser: Parser, text: str) -> object:
    return read(parser, text).units["passage 1"]["relevant"]


def preferred(parser: Parser, text: str) -> object:
    return parser.read(Answer(text), ExpectedAnswer((PAIR,), True)).units["pair 1"]["preferred"]


def fault(parser: Parser, text: str, *units: AskedUnit) -> str:
    with pytest.raises(UnreadError) as raised:
        parser.read(Answer(text), ExpectedAnswer(units or UNITS[:1], not units))
    return raised.value.fault


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("parser", "text"),
    [
        (RegexParser(SCORE, ("relevant",), Verdicts(GRADES)), "Final score: 2"),
        (TagsParser({"relevant": ("[[", "]]")}, Verdicts(GRADES)), "[[2]]"),
        (
            JsonParser({"relevant": read_path("$.s")}, verdicts=Verdicts(GRADES)),
            '{"s": 2.0}',
        ),
        (LetterParser(("relevant",), Verdicts(GRADES)), "Answer: 2"),
        (LinesParser("relevant", verdicts=Verdicts(GRADES)), "1. 2"),
    ],
)
def test_if_several_verdicts_map_to_one_code_the_verdict_is_kept_as_the_grade(
    parser: Parser, text: str
) -> None:
    found = read(parser, text)
    assert found.units["passage 1"]["relevant"] == "yes"
    assert found.grades == {("passage 1", "relevant"): "2"}


def test_a_lossless_map_and_differing_verdicts_give_no_grades() -> None:
    plain = Verdicts({"relevant": {"A": "yes", "a": "yes", "B": "no"}})
    assert read(LetterParser(("relevant",), plain), "A").grades == {}
    twice = RegexParser(SCORE, ("relevant",), Verdicts(GRADES))
    assert read(twice, "Final score: 2, or final score: 3").grades == {}


class TestRegex:
    GRADE = RegexParser(SCORE, ("relevant",), Verdicts(GRADES))

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("Final score: 2", "yes"),
            ("It matches the intent.\nfinal SCORE:   0", "no"),
            ("<think>Final score: 0?</think>Final score: 3", "yes"),
            ("```\nFinal score: 1\n```", "no"),
            ("Final score: 2. Yes, final score: 3.", "yes"),
        ],
    )
    def test_the_captured_text_is_mapped_to_a_code(self, text: str, code: str) -> None:
        assert label(self.GRADE, text) == code

    def test_differing_verdicts_are_ambiguous_unless_the_first_or_last_is_chosen(self) -> None:
        text = "final score: 0. Or rather: final score: 3"
        assert fault(self.GRADE, text) == "ambiguous"
        first, last = Verdicts(GRADES, "first"), Verdicts(GRADES, "last")
        assert label(RegexParser(SCORE, ("relevant",), first), text) == "no"
        assert label(RegexParser(SCORE, ("relevant",), last), text) == "yes"

    @pytest.mark.every_case
    @pytest.mark.parametrize("text", ["", "Relevant.", "final score: 7", "<think>final score: 2"])
    def test_a_text_without_a_match_is_unreadable(self, text: str) -> None:
        assert fault(self.GRADE, text) == "unreadable"

    def test_a_refusal_is_recognised_and_together_with_a_verdict_ambiguous(self) -> None:
        verdicts = Verdicts(GRADES, refusal=("(?i)cannot assess",))
        parser = RegexParser(SCORE, ("relevant",), verdicts)
        assert fault(parser, "I cannot assess this.") == "refused"
        assert fault(parser, "I cannot assess it. Final score: 2") == "ambiguous"

    def test_named_groups_are_variables_and_unasked_ones_are_left_out(self) -> None:
        parser = RegexParser(r"R: (?P<relevant>\w+)(?:, U: (?P<use>\w+))?", ("relevant", "use"))
        assert read(parser, "R: yes, U: related").units == {
            "passage 1": {"relevant": "yes", "use": "related"}
        }
        assert read(parser, "R: no, U: related").units == {"passage 1": {"relevant": "no"}}

    @pytest.mark.every_case
    @pytest.mark.parametrize("pattern", [r"(?=a)b", r"(a)\1", "(", r"(?<!x)y"])
    def test_a_pattern_with_unbounded_backtracking_is_refused(self, pattern: str) -> None:
        with pytest.raises(ValueError, match=r"\S"):
            compile_pattern(pattern)

    def test_a_pattern_of_nested_repeats_terminates(self) -> None:
        parser = RegexParser(r"((a+)+)+(b)$", ("relevant",))
        assert fault(parser, "a" * 50_000) == "unreadable"


class TestLetter:
    PAIRWISE = LetterParser(
        ("preferred",),
        Verdicts(
            {"preferred": {"A": "first", "B": "second", "C": "tie-good", "Answer A": "first"}}
        ),
    )

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("A", "first"),
            ("b", "second"),
            ("(B)", "second"),
            ("**C**", "tie-good"),
            ("Answer: B.", "second"),
            ("The final answer is: A", "first"),
            ("B. It is more complete", "second"),
            ("A) since it cites", "first"),
            ("Answer A", "first"),
            ("A. Answer A", "first"),
            ("<think>B?</think>\nA", "first"),
        ],
    )
    def test_a_single_option_is_read(self, text: str, code: str) -> None:
        assert preferred(self.PAIRWISE, text) == code

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "text",
        [
            "A. It is complete.\nFinal answer: B",
            "B) unlike A, it cites",
            "A. The first\nB. The second",
        ],
    )
    def test_two_different_options_are_ambiguous(self, text: str) -> None:
        assert fault(self.PAIRWISE, text, PAIR) == "ambiguous"

    @pytest.mark.every_case
    @pytest.mark.parametrize("text", ["", "D", "A or B", "A good question", "Both. A and B", "AB"])
    def test_text_without_an_option_is_unreadable(self, text: str) -> None:
        assert fault(self.PAIRWISE, text, PAIR) == "unreadable"


class TestTags:
    BRACKETS = TagsParser(
        {"preferred": ("[[", "]]")},
        Verdicts({"preferred": {"A": "first", "B": "second", "C": "tie-good"}}),
    )

    def test_a_verdict_between_tags_is_read(self) -> None:
        assert preferred(self.BRACKETS, "Assistant A is better, so: [[A]]") == "first"
        assert preferred(self.BRACKETS, "[[B]] … [[B]]") == "second"

    def test_two_different_tagged_verdicts_are_ambiguous(self) -> None:
        assert fault(self.BRACKETS, "[[A]] or [[B]]", PAIR) == "ambiguous"

    @pytest.mark.every_case
    @pytest.mark.parametrize("text", ["A", "[A]", "[[D]]", f"[[{'x' * 500}]]"])
    def test_a_text_without_a_tagged_verdict_is_unreadable(self, text: str) -> None:
        assert fault(self.BRACKETS, text, PAIR) == "unreadable"

    def test_tags_of_several_variables_are_read_independently(self) -> None:
        parser = TagsParser({"relevant": ("<verdict>", "</verdict>"), "use": ("<use>", "</use>")})
        text = "<verdict> Yes </verdict>\n<use>answers</use>"
        assert read(parser, text).units["passage 1"] == {"relevant": "yes", "use": "answers"}


class TestLines:
    SUPPORT = LinesParser(
        "relevant", " - ", Verdicts({"relevant": {"support": "yes", "no support": "no"}})
    )

    def test_each_numbered_line_is_the_verdict_of_a_unit(self) -> None:
        text = "Verdicts:\n1. support\n2) **no support** - it says nothing\n(3): Support."
        units = read(self.SUPPORT, text, units=3).units
        assert [units[f"passage {n}"]["relevant"] for n in (1, 2, 3)] == ["yes", "no", "yes"]

    def test_lines_may_end_as_windows_ends_them(self) -> None:
        units = read(self.SUPPORT, "1. support.\r\n2. *no support*\r\n3. support", units=3).units
        assert [unit["relevant"] for unit in units.values()] == ["yes", "no", "yes"]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("text", "fault_of_it"),
        [
            ("1. support\n2. no support", "unreadable"),
            ("1. support\n2. support\n3. perhaps", "unreadable"),
            ("1. support\n2. support\n3. support\n4. support", "unreadable"),
            ("1. support\n2. support\n2. no support\n3. support", "ambiguous"),
        ],
    )
    def test_every_number_is_required_exactly_once(self, text: str, fault_of_it: str) -> None:
        assert fault(self.SUPPORT, text, *UNITS) == fault_of_it


class TestJson:
    SCORE = JsonParser({"relevant": read_path("$.result.score")}, verdicts=Verdicts(GRADES))

    @pytest.mark.parametrize(
        "text",
        [
            '{"result": {"score": 2}}',
            '```json\n{"result": {"score": "2", "why": "…"}}\n```',
            'See {"note": 1}. {"result": {"score": 2.0,},}',
        ],
    )
    def test_a_value_is_read_at_its_path(self, text: str) -> None:
        assert label(self.SCORE, text) == "yes"

    def test_two_different_objects_are_ambiguous_unless_one_is_chosen(self) -> None:
        text = '{"result": {"score": 0}} {"result": {"score": 2}}'
        assert fault(self.SCORE, text) == "ambiguous"
        last = JsonParser(self.SCORE.paths, verdicts=Verdicts(GRADES, "last"))
        assert label(last, text) == "yes"

    @pytest.mark.every_case
    @pytest.mark.parametrize("text", ["2", '{"score": 2}', '{"result": {"score": null}}', "[]"])
    def test_a_path_without_a_value_is_unreadable(self, text: str) -> None:
        assert fault(self.SCORE, text) == "unreadable"

    def test_a_variable_that_is_not_asked_may_be_left_out(self) -> None:
        both = JsonParser({"relevant": read_path("$.r"), "use": read_path("$.u")})
        assert read(both, '{"r": "no"}').units == {"passage 1": {"relevant": "no"}}
        assert read(both, '{"r": "yes", "u": "related"}').units == {
            "passage 1": {"relevant": "yes", "use": "related"}
        }
        assert [as_text(value) for value in (True, False, 2.0, 2.5, "a", None, [1])] == [
            "true", "false", "2", "2.5", "a", None, None,
        ]  # fmt: skip

    def test_an_array_has_an_element_for_each_unit(self) -> None:
        parser = JsonParser({"relevant": read_path("$.v")}, read_path("$.verdicts"))
        text = 'Sure: {"verdicts": [{"v": "yes"}, {"v": "no"}, {"v": "no"}]}'
        units = read(parser, text, units=3).units
        assert [units[f"passage {n}"]["relevant"] for n in (1, 2, 3)] == ["yes", "no", "no"]
        assert fault(parser, '{"verdicts": [{"v": "yes"}]}', *UNITS) == "unreadable"

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("$.a", [{"b": [1, 2]}]),
            ("$.a.b[1]", [2]),
            ("$['a'].b[*]", [1, 2]),
            ("$.c", []),
            ("$[0]", []),
            ("$.a.b[0][0]", []),
            ("$.a.b[2]", []),
        ],
    )
    def test_a_path_leads_to_values(self, path: str, found: list[object]) -> None:
        assert list(values_at({"a": {"b": [1, 2]}}, read_path(path))) == found

    @pytest.mark.every_case
    @pytest.mark.parametrize("path", ["", "a", "$.", "$.a..b", "$a", "$.a[b]", "$.a "])
    def test_a_malformed_path_is_refused(self, path: str) -> None:
        with pytest.raises(ValueError, match="is not a path"):
            read_path(path)


class TestFirstToken:
    AB = FirstTokenParser("relevant", Verdicts({"relevant": {"A": "yes", "B": "no", "C": "no"}}))
    RATING = AskedVariable("rating", tuple("012345"), "ordinal")

    def answer(self, *pieces: str | tuple[str, dict[str, float]]) -> Answer:
        text = "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)
        return Answer(text, logprobs=logprobs_of(*pieces))

    def test_the_probabilities_of_a_codes_options_are_summed_and_the_mass_kept(self) -> None:
        given = self.answer(("A", {"A": 0.5, "B": 0.2, "C": 0.2}))
        reading = self.AB.read(given, ExpectedAnswer(UNITS[:1], True))
        score = reading.scores["passage 1", "relevant"]
        assert score.value == pytest.approx(5 / 9)
        assert score.meta["mass"] == pytest.approx(0.9)
        assert score.meta["probabilities"] == pytest.approx({"yes": 5 / 9, "no": 4 / 9})

    def test_the_most_probable_code_is_the_label_even_if_another_option_was_written(self) -> None:
        given = self.answer("**", ("A", {"A": 0.4, "B": 0.3, "C": 0.25}), "**")
        reading = self.AB.read(given, ExpectedAnswer(UNITS[:1], True))
        assert reading.units["passage 1"]["relevant"] == "no"
        assert reading.scores["passage 1", "relevant"].value == pytest.approx(0.4 / 0.95)

    def test_a_low_label_mass_is_off_label(self) -> None:
        given = self.answer(("A", {"A": 0.2, "B": 0.1, "Hm": 0.7}))
        with pytest.raises(UnreadError) as raised:
            self.AB.read(given, ExpectedAnswer(UNITS[:1], True))
        assert raised.value.fault == "off-label"

    def test_the_score_of_a_scale_is_its_expected_level(self) -> None:
        parser = FirstTokenParser("rating", Verdicts())
        unit = AskedUnit("passage 1", "passage", "", (self.RATING,))
        given = self.answer(("4", {"4": 0.5, "2": 0.25, "5": 0.25}))
        reading = parser.read(given, ExpectedAnswer((unit,), True))
        assert reading.units["passage 1"]["rating"] == "4"
        assert reading.scores["passage 1", "rating"].value == pytest.approx(3.75)

    @pytest.mark.every_case
    @pytest.mark.parametrize("text", ["Hm, A", "AB", "a"])
    def test_an_answer_that_does_not_begin_with_an_option_is_unreadable(self, text: str) -> None:
        with pytest.raises(UnreadError):
            self.AB.read(self.answer(text), ExpectedAnswer(UNITS[:1], True))

    def test_another_word_is_unreadable_even_if_an_option_was_more_probable(self) -> None:
        given = self.answer(("D", {"A": 0.97, "D": 0.03}), ".")
        with pytest.raises(UnreadError, match="does not begin with one of the options"):
            self.AB.read(given, ExpectedAnswer(UNITS[:1], True))

    def test_an_answer_without_probabilities_is_unreadable(self) -> None:
        assert fault(self.AB, "A") == "unreadable"


@pytest.mark.parametrize(
    "text",
    ["1. a" + " " * 200_000 + "b", "1. " * 60_000, "[[" * 100_000, "(" * 200_000,
     "answer " * 28_000, "```\n" * 50_000, "the final correct " * 10_000,
     "final score: 3\n" * 13_000, "<b " * 60_000, "A\n" * 90_000],
)  # fmt: skip
def test_a_text_designed_to_be_slow_is_read_quickly(text: str) -> None:
    lines = LinesParser("relevant")
    for parser in (lines, TestLetter.PAIRWISE, TestTags.BRACKETS, TestRegex.GRADE, TestJson.SCORE):
        unit = PAIR if parser in (TestLetter.PAIRWISE, TestTags.BRACKETS) else UNITS[0]
        assert fault(parser, text, unit) == "unreadable"
