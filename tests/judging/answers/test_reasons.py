"""The reason of a judge's answer is what the model gave as one, for the unit that is shown."""

from __future__ import annotations

import pytest

from judging.answers.reasons import reason_in

PROSE = "The report names the year, but not the owner. Verdict: no"


@pytest.mark.parametrize(
    ("completion", "reasoning", "reason"),
    [
        ('{"q1": {"answerable": "no"}}', " It never says so. \n", "It never says so."),
        ('{"reason": "names the year", "verdict": 1}', "", "names the year"),
        ('Sure:\n```json\n{"rationale": "two\nlines"}\n```', "", "two\nlines"),
        ('{"units": {"q1": {"reason": "for q1"}, "q2": {"reason": "for q2"}}}', "", "for q1"),
        ('{"q2": {"reason": "for q2"}}', "", ""),
        ('{"reason": {"of": "no text"}, "verdict": 1}', "", ""),
        (PROSE, "", PROSE),
        ("Yes", "", ""),
        ('{"reason": "cut o', "", ""),
        (None, "", ""),
    ],
)
def test_the_reason_is_read_from_the_answer(
    completion: str | None, reasoning: str, reason: str
) -> None:
    assert reason_in(completion, reasoning, "q1") == reason
