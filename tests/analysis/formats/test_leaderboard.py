"""Leaderboards have the form that the AutoJudge kit reads at any blank."""

from __future__ import annotations

from tandem.formats.facts import Score, leaderboard_lines


def test_a_run_has_the_mean_of_its_topics() -> None:
    scores = [
        Score("heron", "31", "V-strict", 0.5),
        Score("heron", "32", "V-strict", 1),
        Score("otter", "31", "V-strict", 0.25),
    ]
    assert list(leaderboard_lines(scores)) == [
        "heron\t31\tV-strict\t0.5\n",
        "heron\t32\tV-strict\t1.0\n",
        "otter\t31\tV-strict\t0.25\n",
        "heron\tall\tV-strict\t0.75\n",
        "otter\tall\tV-strict\t0.25\n",
    ]


def test_names_have_no_blanks() -> None:
    (line, _) = leaderboard_lines([Score("my run 100%", "a\tb", "A@ann\u00a0lee", 0)])
    assert line.split() == ["my%20run%20100%25", "a%09b", "A@ann%C2%A0lee", "0.0"]


def test_without_scores_there_is_no_line() -> None:
    assert list(leaderboard_lines([])) == []
