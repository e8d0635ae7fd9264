"""Replies as models write them, through the library's files: what is read, and what is not."""

from __future__ import annotations

import pytest

from judging import library
from judging.backends.base import Answer
from judging.judge_file.fixtures import asked_unit
from judging.parsers.base import ExpectedAnswer, Reading, UnreadError

GRADED, COVERAGE, RUBRIC = "graded-relevance", "report-coverage", "passage-rubric"
RESULT, CITATION, NUGGETS = "rubric-with-reference", "citation-support", "nugget-assignment"
FACTS, RECALL, PAIR = "factuality", "key-point-recall", "pairwise-preference"
PRECISION, TYPES, ELIGIBLE = "context-precision", "question-type", "eligibility"


def read(name: str, text: str, units: int = 1) -> Reading:
    file = library.files()[name]
    asked = tuple(asked_unit(file, number) for number in range(1, units + 1))
    return file.parser.read(Answer(text), ExpectedAnswer(asked, by_unit=units == 1))


def value(name: str, text: str) -> str:
    """Return the first label of a reply, or its missing reason."""
    try:
        (entry,) = read(name, text).units.values()
    except UnreadError as error:
        return error.fault
    return str(next(iter(entry.values())))


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "text", "label", "step"),
    [
        (GRADED, "**Final score:** 3", "yes", "markdown"),
        (GRADED, "### Final Score: `3`", "yes", "markdown"),
        (GRADED, "Final score: **3**", "yes", "markdown"),
        (GRADED, "> Final score: 0", "no", "markdown"),
        (GRADED, "- *Final score:* 2.", "yes", "markdown"),
        (GRADED, "Final score: $\\boxed{3}$", "yes", "latex"),
        (GRADED, "Final score: \\textbf{1}", "no", "latex"),
        (GRADED, "<p><b>Final score:</b> 3</p>", "yes", "html"),
        (GRADED, "Final score:&nbsp;3", "yes", "html"),
        (GRADED, "Ｆｉｎａｌ ｓｃｏｒｅ：３", "yes", "width"),
        (GRADED, "Final score:\u00a0𝟑", "yes", "width"),
        (GRADED, "Final\u200b score: \u200e3\u200f", "yes", "invisible"),
        (GRADED, "FINAL_SCORE = 3", "yes", "as-is"),
        (GRADED, "Final score: 3/3", "yes", "as-is"),
        (GRADED, "Final score: 2 out of 3", "yes", "as-is"),
        (GRADED, "Final score: 3.0", "yes", "as-is"),
        (GRADED, "The final score is 2.", "yes", "as-is"),
        (GRADED, 'Final score: "3"', "yes", "as-is"),
        (GRADED, "Final score: (1)", "no", "as-is"),
        (GRADED, "Final score: 1\n\nThe passage does not give the height.", "no", "as-is"),
        (RESULT, "Feedback: sound. **[RESULT]** 4", "4", "markdown"),
        (RESULT, "Feedback: sound. \\[RESULT\\]: 4", "4", "markdown"),
        (RUBRIC, "3/5", "3", "as-is"),
        (RUBRIC, "**Rating: 4**", "4", "markdown"),
        (RUBRIC, "Rating: 4 - completely, but without detail", "4", "as-is"),
        (RUBRIC, "Rating (0-5): 2", "2", "as-is"),
        (RUBRIC, "I would rate this passage a 5.", "5", "as-is"),
        (RUBRIC, "4分", "4", "as-is"),
        (FACTS, "The correct option is **(B)**.", "unsupported", "markdown"),
        (FACTS, "B: the passages do not support it, and do not contradict it", "unsupported",
         "as-is"),
        (FACTS, "\\boxed{C}", "contradictory", "latex"),
        (FACTS, "Option D", "no-rad", "as-is"),
        (RECALL, "No. The report does not say when.", "no", "as-is"),
        (RECALL, "Yes, the report states it.", "yes", "as-is"),
        (RECALL, "The year is given in the second sentence.\n\n**yes**", "yes", "markdown"),
        (CITATION, "[[**full**]]", "supported", "markdown"),
        (CITATION, "\\[\\[none\\]\\]", "unsupported", "markdown"),
        (CITATION, "［［full］］", "supported", "width"),
        (PAIR, "**[[A]]**", "first", "markdown"),
        (PAIR, "[[Verdict: B]]", "second", "as-is"),
        (ELIGIBLE, "It helps. <eligibility>**minor**</eligibility>", "minor", "markdown"),
        (ELIGIBLE, "&lt;eligibility&gt;none&lt;/eligibility&gt;", "none", "html"),
        (NUGGETS, "**1.** support", "yes", "markdown"),
        (NUGGETS, "1. **Support**", "yes", "markdown"),
        (NUGGETS, "| 1 | partial |", "neutral", "as-is"),
        (NUGGETS, "Fact 1: none", "no", "as-is"),
        (NUGGETS, "1. The bridge opened in 1932: support", "yes", "as-is"),
        (NUGGETS, "1. support (second sentence)", "yes", "as-is"),
        (NUGGETS, "1. none (it is not mentioned)", "no", "as-is"),
        (PRECISION, '{"reason": "two\nlines\tand a tab", "verdict": 1}', "yes", "line-breaks"),
        (PRECISION, "{'reason': 'it\\'s \"so\"', 'verdict': 0}", "no", "python"),
        (PRECISION, '{"reason": "x", "verdict": false}', "no", "boolean"),
        (PRECISION, '{"reason": "x", "verdict": "**1**"}', "yes", "markdown"),
        (PRECISION, '{"reason": "x", // why\n "verdict": 1}', "yes", "comments"),
        (PRECISION, '**{"reason": "x", "verdict": 1}**', "yes", "prose"),
        (PRECISION, '{"Reason": "x", "Verdict": "0"}', "no", "keys"),
        (PRECISION, '{"answer": {"reason": "x", "verdict": 1}}', "yes", "wrapper"),
        (PRECISION, '[{"reason": "x", "verdict": 0}]', "no", "wrapper"),
        (PRECISION, '{"reason"："x"，"verdict"：１}', "yes", "width"),
        (PRECISION, r'{"reason"："C:\\"，"verdict"：１}', "yes", "width"),
        (GRADED, "Final score: ~~1~~ 3", "yes", "struck-out"),
        (PAIR, "~~[[B]]~~ [[A]]", "first", "as-is"),
        (NUGGETS, "1. ~~support~~ none", "no", "struck-out"),
        (CITATION, "【【full】】", "supported", "width"),
        (PAIR, "[[Answer A]]", "first", "as-is"),
        (RUBRIC, "5\ufe0f\u20e3", "5", "invisible"),
        (RUBRIC, "我的评分是：4。答得很好。", "4", "width"),
        (RUBRIC, "Rating - 2", "2", "as-is"),
        (ELIGIBLE, "<eligibility>none: it does what was asked, without issues</eligibility>",
         "none", "as-is"),
    ],
)  # fmt: skip
def test_a_verdict_in_another_dress_is_read_and_the_step_is_named(
    name: str, text: str, label: str, step: str
) -> None:
    assert value(name, text) == label
    assert read(name, text).steps == (step,)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        (GRADED, "Draft final score: 1\nFinal score: **3**", "yes"),
        (RESULT, "Draft [RESULT] 2\nSo [RESULT]: 4", "4"),
        (PAIR, "[[A]] at first sight. On balance: [[B]]", "second"),
        (GRADED, "<thought>final score: 1</thought>Good. Final score: **3**", "yes"),
        (GRADED, "<analysis>Final score: 0</analysis>\nFinal score: 2", "yes"),
        (GRADED, "◁think▷Final score: 0◁/think▷Final score: 2", "yes"),
        (GRADED, "[THINK]Final score: 0[/THINK]Final score: 2", "yes"),
        (GRADED, "<seed:think>Final score: 0</seed:think>Final score: 2", "yes"),
        (
            GRADED,
            "<|channel|>analysis<|message|>Final score: 0?<|end|><|start|>assistant<|channel|>"
            "final<|message|>Final score: 3<|return|>",
            "yes",
        ),
        (GRADED, "analysisMaybe final score: 0.assistantfinalFinal score: 3", "yes"),
        (FACTS, "<Thinking>A?</Thinking>\nC", "contradictory"),
        (NUGGETS, "<reasoning>\n1. none\n</reasoning>\n1. support", "yes"),
        (PRECISION, '<think>{"verdict": 0}</think>{"reason": "x", "verdict": 1}', "yes"),
    ],
)
def test_of_drafts_and_reasoning_only_the_last_statement_counts(
    name: str, text: str, label: str
) -> None:
    assert value(name, text) == label


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Withdrawn, corrected or qualified after the verdict.
        (GRADED, "Final score: 1\nActually: 3"),
        (GRADED, "Final score: 1. Wait, that is too low."),
        (GRADED, "Final score: 3\nHowever, it lacks the date."),
        (GRADED, "Final score: 1 (revised: 3)"),
        (GRADED, "Final score: 2 or 3"),
        (GRADED, "Final score: 2, maybe"),
        (GRADED, "Final score: 3\nNo."),
        (GRADED, "Final score: 1\nNein."),
        (GRADED, "Final score: 1\nKorrektur: 3"),
        (GRADED, "Final score: 1。等等，应该是3"),
        (CITATION, '[[none]] is wrong here; the sentence is covered: "full".'),
        (CITATION, "[[full]] … if the date did not matter; otherwise [none]."),
        (PAIR, "[[A]], but B is close"),
        (ELIGIBLE, "<eligibility>none</eligibility> That is wrong, it is major."),
        (FACTS, "A. Not quite: none of the passages mention it."),
        (FACTS, "A\n\nOn second thought, C."),
        (RECALL, "No. Wait, it does."),
        (RECALL, "No, not exactly: it is in the second sentence."),
        (RECALL, "Yes, but only in part."),
        (NUGGETS, "1. support not found"),
        (NUGGETS, "1. support - no, none"),
        (NUGGETS, "1. support\n\nCorrection: it is none."),
        (NUGGETS, "1. none\n\nNote: it is there, so line 1 should read support."),
        (PAIR, "[[A]] or [[B]]"),
        (PAIR, "[[A]] if A is better, [[B]] if B is, [[good]] if both are good"),
        (CITATION, "[[full]]\nWith the other date it would be [[none]]"),
        (GRADED, "Final score: 3\n\nQuery: Who?\nPassage: Anna.\nFinal score: 1"),
        (PRECISION, '{"reason":"x","verdict":1} Correction: the verdict should be 0.'),
        (PRECISION, '{"reason":"x","verdict":1}\n\nVerdict: 0'),
        # A statement that cannot be read beside one that can.
        (GRADED, "Final score: N\nFinal score: 2"),
        (GRADED, "Final score: 2\nFinal score: to be decided"),
        (CITATION, "[[…]] [[full]]"),
        (ELIGIBLE, "<eligibility>none. <eligibility>minor</eligibility>"),
        (PRECISION, '{"verdict": maybe} {"reason": "x", "verdict": 1}'),
        (PRECISION, '{"verdict": null} {"reason": "x", "verdict": 1}'),
        (PRECISION, '{"reason": "…", "verdict": 1}\n{"reason": "off", "verdict": 0}'),
        (NUGGETS, "1. support\n1. none"),
    ],
)
def test_a_verdict_that_may_have_been_changed_is_ambiguous(name: str, text: str) -> None:
    assert value(name, text) == "ambiguous"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text) for name in (COVERAGE, RUBRIC) for text in (
            "-1", "−1", "- 3", ".5", ",5", "< 3", "&lt; 3", "<= 3", "≥3", "> 3", "~3", "4+", "+4",
            "3-4", "3 – 4", "3½", "3²", "3%", "4/10", "4 out of 10", "10", "3.5", "3,5", "3rd",
            "3:1", "3?", "about 3", "Rating: -1", "Rating: < 3", "between 2 and 3",
        )),
        *((GRADED, f"Final score: {text}") for text in (
            "-1", "< 2", "2.5", "2+", "2-3", "2/10", "~~1~~", "N/A", "two", "2²", "not 2",
        )),
        (RESULT, "[RESULT] 4/5"),
        (RESULT, "[RESULT] -2"),
        (PAIR, "Not [[B]]"),
        (RECALL, "No. 1 is covered."),
        (PRECISION, '{"reason": "…", "verdict": 1}'),
        (FACTS, "A/B"),
        (FACTS, "A or B"),
        (FACTS, "A-"),
        (RECALL, "not stated"),
        (RECALL, "yes/no"),
        (RECALL, "no-one says so"),
        (CITATION, "[[full/partial]]"),
        (CITATION, "[[not full]]"),
        (NUGGETS, "1. unsupported"),
        (NUGGETS, "1. no support"),
        (NUGGETS, "1. support?"),
        (GRADED, "<think>Final score: 3"),
        (GRADED, "Good. <thought>Final score: 3"),
        (PRECISION, '{"reason": "x", "verdict": 1'),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_verdict_is_missing(name: str, text: str) -> None:
    assert value(name, text) in ("unreadable", "ambiguous")


def test_reasons_and_quotes_are_never_changed() -> None:
    text = '{"valid": "yes", "false_premise": "no", "information_seeking": "yes", "why": "**ﬀ**²"}'
    found = read(TYPES, f"Sure:\n{text}")
    assert found.units["query 1"]["valid"] == "yes"
    assert found.steps == ("prose",)


def test_the_place_of_a_verdict_leads_back_to_the_completion() -> None:
    text = "👩‍👩‍👧 <b>Good</b>\u200b. **Final score:** **3**\r\n"
    (place,) = read(GRADED, text).places.values()
    assert text[slice(*place)] == "Final score:** **3"


def test_an_unreadable_line_is_named() -> None:
    with pytest.raises(UnreadError, match=r"line 2: 'not' follows the verdict"):
        read(NUGGETS, "1. none\n2. support not found", units=2)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (GRADED, "Final score: 1. On reflection, it is better than that."),
        (GRADED, "Final score: 1\nScrap that: it is highly relevant."),
        (GRADED, "Final score: 0\nNope, it is relevant after all."),
        (GRADED, "Final score: 1\nJust kidding."),
        (GRADED, "Final score: 1\nI take that back."),
        (GRADED, "Final score: 1\nThat is too low."),
        (GRADED, "Final score: 1\nI should have said three"),
        (GRADED, "Final score: 1\nthree is better"),
        (GRADED, "Final score: 3 (out of 10)"),
        (CITATION, "I would not say [[full]]."),
        (CITATION, "[[full]]... nah"),
        (CITATION, "[[full]] ← this is too generous"),
        (CITATION, "[[none]] is too harsh."),
        (CITATION, "[[none]] does not fit."),
        (CITATION, "[[none]] fails here"),
        (CITATION, "[[none]] seems unfair"),
        (CITATION, "[[full]]: the support is weak"),
        (PAIR, "[[A]] loses."),
        (PAIR, "[[A]] is worse."),
        (PRECISION, '{"verdict": 1, "Verdict": 0}'),
        (NUGGETS, "1. support missing"),
        (NUGGETS, "1. support is lacking"),
        (NUGGETS, "1. support insufficient"),
        (NUGGETS, "1. support 50%"),
        (NUGGETS, "1. support\nActually none"),
        (NUGGETS, "1. support\nHowever it lacks the year"),
        (NUGGETS, "1. support\n\nSorry, 1 is none"),
    ],
)
def test_a_verdict_that_the_reply_goes_on_to_deny_is_missing(name: str, text: str) -> None:
    assert value(name, text) in ("ambiguous", "unreadable")


def test_a_withdrawal_between_two_lines_makes_them_ambiguous() -> None:
    with pytest.raises(UnreadError, match="Actually"):
        read(NUGGETS, "1. support\nActually none\n2. partial", units=2)


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        (GRADED, "Final score: 3 (out of 3)", "yes"),
        (GRADED, "Final score: 2 (on a scale of 0 to 3)", "yes"),
        (GRADED, "Final score: 2\nIt names two of the three years.", "yes"),
        (GRADED, "Final score: 3</s>", "yes"),
        (GRADED, "Final score: 3<end_of_turn>", "yes"),
        (CITATION, "[[full]] is my final verdict.", "supported"),
        (CITATION, "[[none]]: the year is missing.", "unsupported"),
        (FACTS, "C. Passage 1 says otherwise.", "contradictory"),
        (PAIR, "[[A]] is clearly the better answer.", "first"),
        (PRECISION, '{"verdict": 1, "reason": "x", "Reason": "y"}', "yes"),
        (NUGGETS, "1. support\n\nThe report names the year, however briefly.", "yes"),
        (NUGGETS, "1. none (the year is missing)", "no"),
    ],
)
def test_a_verdict_with_its_reason_or_in_another_dress_is_read(
    name: str, text: str, label: str
) -> None:
    assert value(name, text) == label
