"""Sampling by earlier labels matches cases worked by hand, and can be repeated."""

from __future__ import annotations

import hashlib

import pytest

from annotation.prerequisites.rubric_passage import alternating, majority, votes_by_rater

NAMES = ["a", "b", "c", "d", "e"]
SAID = {"a": "yes", "b": "no", "c": "yes", "d": "no"}


def digest(seed: int, purpose: str, key: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{purpose}\0{key}".encode()).digest()


class TestVotes:
    def test_a_rater_votes_yes_if_any_text_answered_the_question(self) -> None:
        labels = [(1, "q", "no"), (1, "q", "yes"), (1, "r", "no"), (1, "r", "invalid")]
        assert votes_by_rater(labels) == {1: {"q": "yes", "r": "no"}}

    def test_a_rater_who_found_only_nonsense_does_not_vote(self) -> None:
        assert votes_by_rater([(1, "q", "invalid")]) == {1: {}}

    def test_a_majority_counts_people_and_not_their_labels(self) -> None:
        labels = [(1, "q", "yes"), (1, "q", "yes"), (1, "q", "yes"), (2, "q", "no"), (3, "q", "no")]
        assert majority(labels) == {"q": "no"}

    def test_a_tie_decides_nothing(self) -> None:
        assert majority([(1, "q", "yes"), (2, "q", "no"), (1, "r", "yes")]) == {"r": "yes"}

    def test_raters_without_an_opinion_have_no_vote(self) -> None:
        assert majority([(1, "q", "invalid"), (2, "q", "invalid"), (3, "q", "no")]) == {"q": "no"}


class TestAlternating:
    def test_the_sample_matches_the_documented_rule_computed_independently(self) -> None:
        """The first of each stratum in the order of the digests, computed separately here."""
        for seed in range(20):
            order = sorted(NAMES, key=lambda name: digest(seed, "units of x", name))
            yes = next(n for n in order if SAID.get(n) == "yes")
            no = next(n for n in order if SAID.get(n) == "no")
            drawn = alternating(NAMES, SAID, 2, seed, "units of x")
            assert drawn == sorted([yes, no])

    def test_with_a_single_unit_the_seed_chooses_the_stratum(self) -> None:
        found = set()
        for seed in range(20):
            odd = digest(seed, "p", "")[0] % 2
            (drawn,) = alternating(NAMES, SAID, 1, seed, "p")
            assert SAID[drawn] == ("no" if odd else "yes")
            found.add(odd)
        assert found == {0, 1}

    @pytest.mark.parametrize(("count", "yes", "no"), [(2, 1, 1), (4, 2, 2)])
    def test_half_is_from_yes_and_half_from_no(self, count: int, yes: int, no: int) -> None:
        drawn = [SAID[name] for name in alternating(NAMES, SAID, count, 7, "p")]
        assert (drawn.count("yes"), drawn.count("no")) == (yes, no)

    def test_an_exhausted_stratum_is_replaced_by_the_other(self) -> None:
        said = {"a": "yes", "b": "no", "c": "no", "d": "no"}
        for seed in range(10):
            drawn = alternating(NAMES, said, 3, seed, "p")
            assert "a" in drawn
            assert "e" not in drawn

    def test_undecided_units_come_last(self) -> None:
        assert alternating(NAMES, {"b": "no"}, 1, 3, "p") == ["b"]
        assert set(alternating(NAMES, {"b": "no"}, 2, 3, "p")) > {"b"}

    def test_no_unit_is_sampled_twice_or_beyond_what_exists(self) -> None:
        assert alternating(NAMES, SAID, 99, 0, "p") == NAMES
        assert alternating([], {}, 2, 0, "p") == []

    def test_another_purpose_gives_another_sample(self) -> None:
        many = [str(n) for n in range(50)]
        said = {name: "yes" if int(name) % 2 else "no" for name in many}
        draws = {tuple(alternating(many, said, 2, 0, f"units of {key}")) for key in "abcdef"}
        assert len(draws) == 6
