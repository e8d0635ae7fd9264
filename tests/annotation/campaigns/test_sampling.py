"""Sampling functions keep shares at their limits, and give orders, chances and splits."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from annotation.campaigns.design import Design
from annotation.campaigns.sampling import (
    Split,
    rank,
    sample,
    sample_queries,
    sample_shared_items,
    sample_splits,
    sample_units,
    sampling_kind,
    share_of,
    shuffle_fields,
    shuffle_units,
    shuffled,
)
from annotation.registry import DECLARED
from tandem.protocols.base import UnitSpec

KEYS = [f"k{n}" for n in range(10)]
ALL: Any = SimpleNamespace(sampled=False)
DRAWN: Any = SimpleNamespace(sampled=True)


def by_hand(seed: int, purpose: str, keys: list[str]) -> list[str]:
    """The order as the docs describe it."""
    return sorted(keys, key=lambda k: hashlib.sha256(f"{seed}\0{purpose}\0{k}".encode()).digest())


def units(*keys: str, kind: str = "question") -> list[UnitSpec]:
    return [UnitSpec(kind, key, "") for key in keys]


class TestOrders:
    def test_a_rank_is_the_hash_of_seed_purpose_and_key(self) -> None:
        assert rank(3, "p", "k") == hashlib.sha256(b"3\0p\0k").digest()
        assert shuffled(KEYS, 3, "p") == by_hand(3, "p", KEYS)

    @pytest.mark.every_case
    @pytest.mark.parametrize("count", [0, 1, 4, 10, 11])
    def test_a_sample_keeps_the_given_order(self, count: int) -> None:
        first = set(by_hand(5, "p", KEYS)[:count])
        assert sample(KEYS, count, 5, "p") == [key for key in KEYS if key in first]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("total", "share", "count"),
        [
            (10, 0.0, 0), (0, 0.5, 0), (0, 0.0, 0), (10, 0.01, 1), (10, 0.24, 2), (10, 0.26, 3),
            (10, 1.0, 10), (1, 0.1, 1), (10, 0.95, 10),
        ],
    )  # fmt: skip
    def test_a_share_is_rounded_and_at_least_one(
        self, total: int, share: float, count: int
    ) -> None:
        assert share_of(total, share) == count

    def test_sentences_follow_their_text_in_reading_order(self) -> None:
        texts = [f"r{n}" for n in range(6)]
        asked = [
            UnitSpec(kind, f"{key}#{n}" if n else key, "")
            for key in texts
            for n, kind in enumerate(("report", "sentence", "passage-sentence"))
        ]
        order = [unit.key for unit in shuffle_units(asked, 4, "p")]
        assert order == [
            f"{key}{end}" for key in by_hand(4, "p", texts) for end in ("", "#1", "#2")
        ]

    def test_only_a_sentences_key_names_its_text_before_the_hash(self) -> None:
        keys = [f"r#{n}" for n in range(6)]
        assert [u.key for u in shuffle_units(units(*keys), 4, "p")] == by_hand(4, "p", keys)
        inner = units(*(f"a#b#{n}" for n in range(3)), kind="sentence")
        others = units("x#1", "y#1", kind="sentence")
        order = shuffle_units([*inner, *others], 4, "p")
        assert [u for u in order if u in inner] == inner

    def test_passages_asked_about_per_answer_follow_the_order_of_answers_and_passages(self) -> None:
        reports, passages = [f"r{n}" for n in range(4)], [f"p{n}" for n in range(4)]
        asked = units(*reports, *(f"q/{p}" for p in passages)) + [
            UnitSpec("report-passage", f"{r}/{p}", "", (f"report:{r}", f"passage:{p}"))
            for r in reports
            for p in passages
        ]
        order = [unit.key for unit in shuffle_units(asked, 6, "p", "q")]
        beside = by_hand(6, "p", reports)
        assert [key for key in order if key in reports] == beside
        for key in by_hand(6, "p", [f"q/{p}" for p in passages]):
            place = order.index(key)
            own = [f"{report}/{key.removeprefix('q/')}" for report in beside]
            assert order[place : place + 5] == [key, *own]

    def test_fields_stay_grouped_by_kind_and_passages_are_ranked_with_their_query(self) -> None:
        reports, passages = [f"r{n}" for n in range(5)], [f"p{n}" for n in range(5)]
        fields = [f"report:{key}" for key in reports] + [f"passage:{key}" for key in passages]
        with_query = [
            key.removeprefix("q/") for key in by_hand(2, "p", [f"q/{p}" for p in passages])
        ]
        expected = [f"report:{key}" for key in by_hand(2, "p", reports)]
        assert shuffle_fields(fields, 2, "p", "q") == [
            *expected, *(f"passage:{key}" for key in with_query),
        ]  # fmt: skip
        assert shuffle_fields(fields, 2, "p") == [
            *expected, *(f"passage:{key}" for key in by_hand(2, "p", passages)),
        ]  # fmt: skip
        assert shuffle_fields(["query", "report:a:b"], 2, "p", "q") == ["query", "report:a:b"]

    def test_reference_answers_are_not_shuffled_fields(self) -> None:
        fields = ["reference:1", "report:reference", "reference", "references:2"]
        assert shuffle_fields(fields, 2, "p") == ["report:reference", "references:2"]


class TestQueries:
    def test_a_share_of_the_queries_is_for_people(self) -> None:
        found = sample_queries(KEYS, Design(human_share=0.3, seed=8))
        asked = set(by_hand(8, "queries for people", KEYS)[:3])
        assert {key for key, each in found.items() if each.drawn} == asked
        assert {(each.kind, each.probability) for each in found.values()} == {("simple", 0.3)}
        assert list(found) == KEYS

    def test_if_all_queries_are_asked_nothing_is_sampled(self) -> None:
        found = sample_queries(KEYS, Design())
        assert {(e.kind, e.drawn, e.probability) for e in found.values()} == {("all", True, 1.0)}
        assert sample_queries([], Design()) == {}
        assert sample_queries(["k"], Design())["k"].probability == 1.0

    def test_queries_of_chosen_items_are_not_sampled(self) -> None:
        design = Design(chosen=("i",), development=0.5, seed=3)
        found = sample_queries(KEYS[:3], design, chosen=["k0", "k2"])
        assert {key: each[:3] for key, each in found.items()} == {
            "k0": ("chosen", True, 1.0), "k1": ("chosen", False, 0.0), "k2": ("chosen", True, 1.0),
        }  # fmt: skip
        asked = sample_splits(KEYS[:3], {"k0", "k2"}, 0.5, 0.0, 3)
        assert {key: each.role for key, each in found.items()} == asked

    def test_splits_of_the_prerequisite_are_taken_over(self) -> None:
        roles = {key: Split("audit", 0.25) for key in KEYS}
        found = sample_queries(KEYS, Design(human_share=0.5), roles)
        assert {each.role for each in found.values()} == {Split("audit", 0.25)}

    def test_without_a_prerequisite_splits_are_sampled_by_the_design(self) -> None:
        found = sample_queries(KEYS, Design(human_share=0.5, development=0.4, audit=0.2, seed=3))
        asked = {key for key, each in found.items() if each.drawn}
        assert {k: e.role for k, e in found.items()} == sample_splits(KEYS, asked, 0.4, 0.2, 3)


class TestSplits:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("total", "development", "audit", "counts"),
        [
            (10, 0.2, 0.3, {"development": 2, "audit": 3, "evaluation": 5}),
            (10, 0.0, 0.0, {"evaluation": 10}),
            (10, 0.0, 0.1, {"audit": 1, "evaluation": 9}),
            (1, 0.1, 0.1, {"development": 1}),
            (2, 0.1, 0.1, {"development": 1, "audit": 1}),
            (3, 0.5, 0.4, {"development": 2, "audit": 1}),
        ],
    )
    def test_development_is_filled_before_audit_and_the_rest_is_for_evaluation(
        self, total: int, development: float, audit: float, counts: dict[str, int]
    ) -> None:
        keys = KEYS[:total]
        for asked, purpose in ((keys, "queries for people"), ([], "other queries")):
            found = sample_splits(keys, asked, development, audit, 6)
            names = [name for name, number in counts.items() for _ in range(number)]
            order = by_hand(6, f"roles of {purpose}", keys)
            assert {key: found[key].name for key in order} == dict(zip(order, names, strict=True))
            assert all(e.probability == counts[e.name] / total for e in found.values())

    def test_asked_and_other_queries_are_split_separately(self) -> None:
        found = sample_splits(KEYS, KEYS[:4], 0.5, 0.0, 1)
        development = {key for key, role in found.items() if role.name == "development"}
        first = by_hand(1, "roles of queries for people", KEYS[:4])[:2]
        assert development == {*first, *by_hand(1, "roles of other queries", KEYS[4:])[:3]}


class TestItems:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("overlap", "raters", "count"), [(1.0, 3, 10), (0.3, 3, 3), (0.3, 1, 10), (0.01, 2, 1)]
    )
    def test_a_share_of_the_items_gets_all_slots(
        self, overlap: float, raters: int, count: int
    ) -> None:
        several = sample_shared_items(KEYS, Design(overlap=overlap, raters_per_item=raters, seed=2))
        assert several == set(by_hand(2, "items for several people", KEYS)[:count])


class TestUnits:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("protocol", "sampling", "prerequisite", "kind"),
        [
            (ALL, None, "", "all"), (ALL, "shared", "first", "all"), (DRAWN, "all", "first", "all"),
            (DRAWN, None, "", "simple"), (DRAWN, "own", "", "simple"),
            (DRAWN, "own", "first", "own"), (DRAWN, "shared", "first", "turns"),
            (DRAWN, None, "first", "turns"),
        ],
    )  # fmt: skip
    def test_design_and_protocol_determine_how_units_are_sampled(
        self, protocol: Any, sampling: Any, prerequisite: str, kind: str
    ) -> None:
        design = Design(sampling=sampling, prerequisite=prerequisite)
        assert sampling_kind(design, protocol) == kind
        sampled = sample_units("i", units("a", "b"), design, protocol)
        later = kind in ("own", "turns")
        assert {(u.kind, u.wave) for u in sampled} == {(kind, 2 if later else 1)}
        if later:
            assert {(u.drawn, u.probability) for u in sampled} == {(None, None)}

    @pytest.mark.every_case
    @pytest.mark.parametrize(("count", "chance"), [(1, 0.25), (3, 0.75), (4, 1.0), (9, 1.0)])
    def test_a_simple_sample_takes_a_fixed_number_of_units_per_item(
        self, count: int, chance: float
    ) -> None:
        names = ["a", "b", "c", "d"]
        sampled = sample_units("i/1", units(*names), Design(per_passage=count, seed=7), DRAWN)
        assert [unit.name for unit in sampled] == names
        assert {unit.probability for unit in sampled} == {chance}
        first = set(by_hand(7, "units of i/1", names)[:count])
        assert {unit.name for unit in sampled if unit.drawn} == first
        assert all(unit.drawn is not None for unit in sampled)

    def test_units_that_are_all_asked_have_probability_one(self) -> None:
        sampled = sample_units("i", units("a", "b"), Design(), ALL)
        assert [(unit.probability, unit.drawn) for unit in sampled] == [(1.0, True)] * 2
        (one,) = sample_units("i", units("a"), Design(), ALL)
        assert (one.probability, one.drawn) == (1.0, True)
        assert sample_units("i", [], Design(), DRAWN) == []

    def test_some_protocols_sample_units_and_others_do_not(self) -> None:
        assert {each.sampled for each in DECLARED.values()} == {True, False}
